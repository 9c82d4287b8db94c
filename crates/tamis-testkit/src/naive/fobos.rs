//! Forward-backward splitting (Duchi & Singer 2009): a step, then the minimiser of ½(v − w)² + η(λ₁|v| + ½λ₂v²), which is
//! v = sign(w)·max(|w| − ηλ₁, 0)/(1 + ηλ₂). With λ₂ = 0 it is the soft threshold of Ma & Zheng 2016, eq. (19).

use super::Task;
use super::sgd::Sgd;
use super::{Oracle, soft};
use tamis::data::Example;
use tamis::recipe::Recipe;

pub(super) struct Fobos {
    sgd: Sgd,
    l1: f64,
    l2: f64,
}

impl Fobos {
    pub fn new(task: Task, recipe: &Recipe) -> Self {
        Fobos { sgd: Sgd::new(task, recipe), l1: recipe.number("penalty"), l2: recipe.number("l2") }
    }
}

impl Oracle for Fobos {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let f = self.sgd.learn(example);
        for j in 0..self.sgd.w.len() {
            let eta = self.sgd.rates.of(j);
            self.sgd.w[j] = soft(self.sgd.w[j], eta * self.l1) / (1.0 + eta * self.l2);
        }
        f
    }

    fn weights(&self) -> Vec<f64> {
        self.sgd.weights()
    }

    fn bias(&self) -> f64 {
        self.sgd.bias()
    }
}
