//! Simple rounding (Langford et al. 2009, eq. 2, as corrected by E13): a step, and every K steps w ← w·1(|w| ≥ θ).

use super::Oracle;
use super::Task;
use super::sgd::Sgd;
use tamis::data::Example;
use tamis::recipe::Recipe;

pub(super) struct Rounding {
    sgd: Sgd,
    threshold: f64,
    period: u64,
    steps: u64,
}

impl Rounding {
    pub fn new(task: Task, recipe: &Recipe) -> Self {
        let (threshold, period) = (recipe.number("threshold"), recipe.number("period") as u64);
        Rounding { sgd: Sgd::new(task, recipe), threshold, period, steps: 0 }
    }
}

impl Oracle for Rounding {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let f = self.sgd.learn(example);
        self.steps += 1;
        if self.steps.is_multiple_of(self.period) {
            self.sgd.w.iter_mut().filter(|w| w.abs() < self.threshold).for_each(|w| *w = 0.0);
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
