//! SGD in epochs inside two balls (Li et al. 2017, Algorithm 1), every weight at every step; the projection is
//! Algorithm 3 as printed: bisection for α, the ℓ₁ ball by sorting.

use super::single_stage::into_l1_ball;
use super::{Oracle, Task, dense, margin};
use tamis::data::Example;
use tamis::recipe::TwoStageParams;

pub(super) struct TwoStage {
    task: Task,
    radius: f64,
    rate: f64,
    reach: f64,
    length: usize,
    /// Whether an epoch is finished.
    later: bool,
    /// Weights, the start of the epoch, Σ w_t over its steps and their number; the intercept is at the last position.
    w: Vec<f64>,
    centre: Vec<f64>,
    sum: Vec<f64>,
    t: usize,
}

impl TwoStage {
    pub fn new(task: Task, params: &TwoStageParams) -> Self {
        let radius = params.radius();
        TwoStage {
            task,
            radius,
            rate: params.learning_rate(),
            reach: radius,
            length: params.first_epoch_steps.unwrap_or(0) as usize,
            later: false,
            w: vec![0.0; task.p + 1],
            centre: vec![0.0; task.p + 1],
            sum: vec![0.0; task.p + 1],
            t: 0,
        }
    }

    /// The mean over the steps of the epoch, where later steps count as its start; in the first epoch, over the steps
    /// so far.
    fn model(&self) -> Vec<f64> {
        let of = if self.later { self.length } else { self.t.max(1) };
        let rest = if self.later { (self.length - self.t) as f64 } else { 0.0 };
        self.sum.iter().zip(&self.centre).map(|(sum, c)| (sum + rest * c) / of as f64).collect()
    }
}

impl Oracle for TwoStage {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let p = self.task.p;
        let x = dense(example.row, p);
        let model = self.model();
        let margin_before = margin(&model[..p], model[p], &x);
        let slope = self.task.slope(margin(&self.w[..p], self.w[p], &x), example);
        self.t += 1;
        self.sum.iter_mut().zip(&self.w).for_each(|(sum, w)| *sum += w);
        for (w, x) in self.w.iter_mut().zip(&x) {
            *w -= self.rate * slope * x;
        }
        if self.task.intercept {
            self.w[p] -= self.rate * slope;
        }
        let projected = project_l1_l2(&self.w[..p], &self.centre[..p], self.radius, self.reach);
        self.w[..p].copy_from_slice(&projected);
        if self.t == self.length {
            self.centre = self.sum.iter().map(|sum| sum / self.length as f64).collect();
            self.w = self.centre.clone();
            self.sum = vec![0.0; p + 1];
            (self.t, self.later) = (0, true);
            self.length *= 2;
            self.rate /= 2.0;
            self.reach /= 2f64.sqrt();
        }
        margin_before
    }

    fn weights(&self) -> Vec<f64> {
        self.model()[..self.task.p].to_vec()
    }

    fn bias(&self) -> f64 {
        self.model()[self.task.p]
    }
}

/// Algorithm 3: the nearest point with ‖w‖₁ ≤ B and ‖w − c‖₂ ≤ r.
pub fn project_l1_l2(weights: &[f64], centre: &[f64], radius: f64, reach: f64) -> Vec<f64> {
    let at = |alpha: f64| {
        let mut between: Vec<f64> = weights.iter().zip(centre).map(|(w, c)| alpha * w + (1.0 - alpha) * c).collect();
        into_l1_ball(&mut between, radius);
        let distance = between.iter().zip(centre).map(|(w, c)| (w - c) * (w - c)).sum::<f64>().sqrt();
        (between, distance)
    };
    let (point, distance) = at(1.0);
    if distance <= reach {
        return point;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if at(middle).1 < reach { low = middle } else { high = middle }
    }
    at(0.5 * (low + high)).0
}
