//! First-order online feature selection (Wang, Zhao, Hoi & Jin 2014, Algorithm 2). Only on an error (slope g ≠ 0):
//! w ← (1 − λη)w − η g x; w ← min(1, (1/√λ)/‖w‖)·w; w ← Truncate(w, k).

use super::rates::Rates;
use super::{Oracle, Task, dense, keep_largest, margin};
use tamis::data::Example;
use tamis::recipe::FofsParams;

pub(super) struct Fofs {
    task: Task,
    rates: Rates,
    lambda: f64,
    k: usize,
    w: Vec<f64>,
    b: f64,
}

impl Fofs {
    pub fn new(task: Task, params: &FofsParams) -> Self {
        Fofs {
            task,
            rates: Rates::new(params.steps(), task.p),
            lambda: params.fofs_lambda,
            k: task.k.unwrap_or(usize::MAX),
            w: vec![0.0; task.p],
            b: 0.0,
        }
    }
}

impl Oracle for Fofs {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let x = dense(example.row, self.task.p);
        let f = margin(&self.w, self.b, &x);
        let g = self.task.slope(f, example);
        self.rates.observe(&x, g);
        if g == 0.0 {
            return f;
        }
        let eta = self.rates.global();
        for (w, x) in self.w.iter_mut().zip(&x) {
            *w = (1.0 - self.lambda * eta) * *w - eta * g * x;
        }
        let norm = self.w.iter().map(|w| w * w).sum::<f64>().sqrt();
        let scale = (1.0 / self.lambda.sqrt() / norm).min(1.0);
        self.w.iter_mut().for_each(|w| *w *= scale);
        keep_largest(&mut self.w, self.k);
        if self.task.intercept {
            self.b -= eta * g;
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
