//! Truncated stochastic gradient descent (Sun et al. 2018, section 5.1): w ← Truncate(w − η g x, k).

use super::sgd::Sgd;
use super::{Oracle, Task, keep_largest};
use tamis::data::Example;
use tamis::recipe::Recipe;

pub(super) struct Tsgd {
    sgd: Sgd,
    k: usize,
}

impl Tsgd {
    pub fn new(task: Task, recipe: &Recipe) -> Self {
        Tsgd { sgd: Sgd::new(task, recipe), k: recipe.k.unwrap_or(usize::MAX) }
    }
}

impl Oracle for Tsgd {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let f = self.sgd.learn(example);
        keep_largest(&mut self.sgd.w, self.k);
        f
    }

    fn weights(&self) -> Vec<f64> {
        self.sgd.weights()
    }

    fn bias(&self) -> f64 {
        self.sgd.bias()
    }
}
