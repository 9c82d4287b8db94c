//! SGD in an ℓ₁ ball (Li et al. 2017, Figure 2): a step, then the Euclidean projection on ‖w‖₁ ≤ B by sorting (Duchi,
//! Shalev-Shwartz, Singer & Chandra 2008, Figure 1).

use super::sgd::Sgd;
use super::{Oracle, Task, soft};
use tamis::data::Example;
use tamis::recipe::SingleStageParams;

pub(super) struct SingleStage {
    sgd: Sgd,
    radius: f64,
}

impl SingleStage {
    pub fn new(task: Task, params: &SingleStageParams) -> Self {
        SingleStage { sgd: Sgd::new(task, params.steps()), radius: params.radius() }
    }
}

/// The nearest point of the ball of radius B: soft(w, τ), with τ from the absolute values in decreasing order.
pub(super) fn into_l1_ball(weights: &mut [f64], radius: f64) {
    if weights.iter().map(|w| w.abs()).sum::<f64>() <= radius {
        return;
    }
    let mut sizes: Vec<f64> = weights.iter().map(|w| w.abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut tau) = (0.0, 0.0);
    for (j, size) in sizes.iter().enumerate() {
        sum += size;
        let candidate = (sum - radius) / (j + 1) as f64;
        if size - candidate > 0.0 {
            tau = candidate;
        }
    }
    weights.iter_mut().for_each(|w| *w = soft(*w, tau));
}

impl Oracle for SingleStage {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let f = self.sgd.learn(example);
        into_l1_ball(&mut self.sgd.w, self.radius);
        f
    }

    fn weights(&self) -> Vec<f64> {
        self.sgd.weights()
    }

    fn bias(&self) -> f64 {
        self.sgd.bias()
    }
}
