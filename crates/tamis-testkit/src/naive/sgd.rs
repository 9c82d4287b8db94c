//! Stochastic gradient descent: w ← w − η g x, b ← b − η g with g = c·ℓ'(b + w·x, y); weights that must have a sign are
//! projected.

use super::rates::Rates;
use super::{Oracle, Task, dense, margin};
use tamis::data::Example;
use tamis::recipe::Steps;

/// Plain SGD; also the first half of each step of several other methods.
pub(super) struct Sgd {
    pub task: Task,
    pub rates: Rates,
    pub w: Vec<f64>,
    pub b: f64,
}

impl Sgd {
    pub fn new(task: Task, steps: Steps) -> Self {
        Sgd { task, rates: Rates::new(steps, task.p), w: vec![0.0; task.p], b: 0.0 }
    }
}

impl Oracle for Sgd {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let x = dense(example.row, self.task.p);
        self.rates.carry(&x, &mut self.w);
        let f = margin(&self.w, self.b, &x);
        let g = self.task.slope(f, example);
        self.rates.observe(&x, g);
        for (j, w) in self.w.iter_mut().enumerate() {
            *w = self.task.signs.project(j, *w - self.rates.of(j) * g * x[j]);
        }
        if self.task.intercept {
            self.b -= self.rates.of(self.task.p) * g;
        }
        f
    }

    fn weights(&self) -> Vec<f64> {
        self.w.clone()
    }

    fn bias(&self) -> f64 {
        self.b
    }
}
