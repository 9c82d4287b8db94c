//! FTRL-proximal (McMahan et al. 2013, Algorithm 1), with n itself and not its root. The intercept is one more
//! coordinate with λ₁ = λ₂ = 0.

use super::{Oracle, Task, dense, margin};
use tamis::data::Example;
use tamis::recipe::FtrlParams;

pub(super) struct Ftrl {
    task: Task,
    alpha: f64,
    beta: f64,
    l1: f64,
    l2: f64,
    /// z, n and w; the intercept is in the last place.
    z: Vec<f64>,
    n: Vec<f64>,
    w: Vec<f64>,
}

impl Ftrl {
    pub fn new(task: Task, params: &FtrlParams) -> Self {
        Ftrl {
            task,
            alpha: params.learning_rate(),
            beta: params.beta,
            l1: params.l1(task.k),
            l2: params.l2,
            z: vec![0.0; task.p + 1],
            n: vec![0.0; task.p + 1],
            w: vec![0.0; task.p + 1],
        }
    }

    fn solve(&self, j: usize) -> f64 {
        let (l1, l2) = if j == self.task.p { (0.0, 0.0) } else { (self.l1, self.l2) };
        if self.z[j].abs() <= l1 {
            return 0.0;
        }
        let w = -(self.z[j] - self.z[j].signum() * l1) / ((self.beta + self.n[j].sqrt()) / self.alpha + l2);
        if j == self.task.p { w } else { self.task.signs.project(j, w) }
    }
}

impl Oracle for Ftrl {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let mut x = dense(example.row, self.task.p);
        let f = margin(&self.weights(), self.bias(), &x);
        x.push(if self.task.intercept { 1.0 } else { 0.0 });
        let slope = self.task.slope(f, example);
        for (j, x) in x.iter().enumerate() {
            let g = slope * x;
            let sigma = ((self.n[j] + g * g).sqrt() - self.n[j].sqrt()) / self.alpha;
            self.z[j] += g - sigma * self.w[j];
            self.n[j] += g * g;
            self.w[j] = self.solve(j);
        }
        f
    }

    fn weights(&self) -> Vec<f64> {
        self.w[..self.task.p].to_vec()
    }

    fn bias(&self) -> f64 {
        self.w[self.task.p]
    }
}
