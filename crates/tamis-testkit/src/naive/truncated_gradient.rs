//! Truncated gradient (Langford et al. 2009, eq. 3): a step, and every K steps w ← T₁(w, g·Ση, θ), where the sum
//! runs over those K steps (E11) and a step size of each weight counts as it is at the event.
//! T₁(v, a, θ) is max(v − a, 0) on [0, θ], min(v + a, 0) on [−θ, 0], and v elsewhere.

use super::Oracle;
use super::Task;
use super::sgd::Sgd;
use tamis::data::Example;
use tamis::recipe::TruncatedGradientParams;

pub(super) struct TruncatedGradient {
    sgd: Sgd,
    gravity: f64,
    threshold: f64,
    period: u64,
    steps: u64,
    /// Σ h over the steps since the last event.
    rate_sum: f64,
}

impl TruncatedGradient {
    pub fn new(task: Task, params: &TruncatedGradientParams) -> Self {
        TruncatedGradient {
            sgd: Sgd::new(task, params.steps()),
            gravity: params.l1(task.k),
            threshold: params.threshold(),
            period: params.period,
            steps: 0,
            rate_sum: 0.0,
        }
    }
}

fn t1(v: f64, a: f64, threshold: f64) -> f64 {
    if (0.0..=threshold).contains(&v) {
        (v - a).max(0.0)
    } else if (-threshold..=0.0).contains(&v) {
        (v + a).min(0.0)
    } else {
        v
    }
}

impl Oracle for TruncatedGradient {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let f = self.sgd.learn(example);
        self.steps += 1;
        self.rate_sum += self.sgd.rates.global();
        if self.steps.is_multiple_of(self.period) {
            for j in 0..self.sgd.w.len() {
                let amount = self.gravity * self.rate_sum * self.sgd.rates.own(j);
                self.sgd.w[j] = t1(self.sgd.w[j], amount, self.threshold);
            }
            self.rate_sum = 0.0;
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
