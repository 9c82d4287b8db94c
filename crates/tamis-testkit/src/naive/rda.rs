//! Regularised dual averaging (Xiao 2010; Ma & Zheng 2016, eq. 18 with E10): ḡ_t = (t−1)/t·ḡ_{t−1} + g_t/t and
//! w_{t+1} = argmin ḡ_t·w + λ₁‖w‖₁ + (λ₂/2)‖w‖² + (γ/√t)(½‖w‖² + ρ‖w‖₁), solved coordinate by coordinate. The intercept
//! takes part with λ₁ = λ₂ = ρ = 0.

use super::{Oracle, Task, dense, margin, soft};
use tamis::data::Example;
use tamis::recipe::RdaParams;

pub(super) struct Rda {
    task: Task,
    l1: f64,
    l2: f64,
    gamma: f64,
    rho: f64,
    t: f64,
    /// ḡ.
    mean: Vec<f64>,
    bias_mean: f64,
    w: Vec<f64>,
    b: f64,
}

impl Rda {
    pub fn new(task: Task, params: &RdaParams) -> Self {
        Rda {
            task,
            l1: params.l1(task.k),
            l2: params.l2,
            gamma: params.gamma(),
            rho: params.rda_rho,
            t: 0.0,
            mean: vec![0.0; task.p],
            bias_mean: 0.0,
            w: vec![0.0; task.p],
            b: 0.0,
        }
    }
}

impl Oracle for Rda {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let x = dense(example.row, self.task.p);
        let f = margin(&self.w, self.b, &x);
        let g = self.task.slope(f, example);
        self.t += 1.0;
        let (t, pull) = (self.t, self.gamma / self.t.sqrt());
        for (j, x) in x.iter().enumerate() {
            self.mean[j] = (t - 1.0) / t * self.mean[j] + g * x / t;
            self.w[j] = self.task.signs.project(j, -soft(self.mean[j], self.l1 + pull * self.rho) / (self.l2 + pull));
        }
        self.bias_mean = (t - 1.0) / t * self.bias_mean + g / t;
        if self.task.intercept {
            self.b = -self.bias_mean / pull;
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
