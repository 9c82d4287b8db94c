//! Second-order online feature selection (Wu, Hoi, Mei & Yu 2017) with a diagonal confidence Σ, starting at 1. Only on
//! an error, d being the distance of the margin from zero loss: β = 1/(r + xᵀΣx), w ← w − βd·sign(g)·Σx, Σ⁻¹_jj ←
//! Σ⁻¹_jj + x_j²/r; then only the weights of the k smallest Σ_jj stay (the smaller id if there are ties), among those
//! learned about at all (Σ < 1). An example's weight divides r. The intercept is one more coordinate, always 1 and
//! always kept.

use super::{Oracle, Task, dense, margin};
use tamis::data::Example;
use tamis::loss::Loss;
use tamis::recipe::SofsParams;

pub(super) struct Sofs {
    task: Task,
    r: f64,
    k: usize,
    /// w and Σ⁻¹; the intercept is in the last place.
    w: Vec<f64>,
    certainty: Vec<f64>,
}

impl Sofs {
    pub fn new(task: Task, params: &SofsParams) -> Self {
        Sofs {
            task,
            r: params.sofs_r,
            k: task.k.unwrap_or(usize::MAX),
            w: vec![0.0; task.p + 1],
            certainty: vec![1.0; task.p + 1],
        }
    }

    fn keep_the_most_confident(&mut self) {
        let confidence: Vec<f64> = self.certainty.iter().map(|c| 1.0 / c).collect();
        let mut order: Vec<usize> = (0..self.task.p).filter(|&j| confidence[j] < 1.0).collect();
        order.sort_by(|&a, &b| confidence[a].total_cmp(&confidence[b]).then(a.cmp(&b)));
        order.iter().skip(self.k).for_each(|&j| self.w[j] = 0.0);
    }
}

impl Oracle for Sofs {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let mut x = dense(example.row, self.task.p);
        let f = margin(&self.weights(), self.bias(), &x);
        let slope = self.task.loss.slope(f, example.target);
        if slope == 0.0 || example.weight == 0.0 {
            return f;
        }
        x.push(if self.task.intercept { 1.0 } else { 0.0 });
        let r = self.r / example.weight;
        let variance: f64 = x.iter().zip(&self.certainty).map(|(x, c)| x * x / c).sum();
        let step = self.task.loss.shortfall(f, example.target) * slope.signum() / (r + variance);
        for (j, x) in x.iter().enumerate() {
            self.w[j] -= step * x / self.certainty[j];
            self.certainty[j] += x * x / r;
        }
        self.keep_the_most_confident();
        f
    }

    fn weights(&self) -> Vec<f64> {
        self.w[..self.task.p].to_vec()
    }

    fn bias(&self) -> f64 {
        self.w[self.task.p]
    }
}
