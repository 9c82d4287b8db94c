//! The mean of all models so far: ŵ = (w₀ + w₁ + … + w_T)/(T + 1), w₀ = 0 (Langford et al. 2009, Theorem 1.2).

use super::{Oracle, dense, margin};
use tamis::data::Example;

/// Another oracle, whose models are summed after every step.
pub(super) struct Averaged {
    inner: Box<dyn Oracle>,
    sums: Vec<f64>,
    bias_sum: f64,
    models: u64,
}

impl Averaged {
    pub fn new(inner: Box<dyn Oracle>, p: usize) -> Self {
        Averaged { inner, sums: vec![0.0; p], bias_sum: 0.0, models: 1 }
    }
}

impl Oracle for Averaged {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let margin_before = margin(&self.weights(), self.bias(), &dense(example.row, self.sums.len()));
        self.inner.learn(example);
        for (sum, w) in self.sums.iter_mut().zip(self.inner.weights()) {
            *sum += w;
        }
        self.bias_sum += self.inner.bias();
        self.models += 1;
        margin_before
    }

    fn weights(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum / self.models as f64).collect()
    }

    fn bias(&self) -> f64 {
        self.bias_sum / self.models as f64
    }
}
