//! Stochastic ADMM (Ouyang, He, Tran & Gray 2013, Algorithm 1) for min E ℓ(w) + λ‖z‖₁ subject to w = z, with the scaled
//! multiplier u. The gradient g is taken at w; each line is the minimiser of its part of the augmented Lagrangian:
//! w ← argmin g·w + (ρ/2)‖w − z + u‖² + ‖w − w_old‖²/(2η), z ← argmin λ‖z‖₁ + (ρ/2)‖w − z + u‖², u ← u + w − z.
//! The model is z; the intercept takes plain steps.

use super::rates::Rates;
use super::{Oracle, Task, dense, margin, soft};
use tamis::data::Example;
use tamis::recipe::SadmmParams;

pub(super) struct Sadmm {
    task: Task,
    rates: Rates,
    lambda: f64,
    rho: f64,
    w: Vec<f64>,
    z: Vec<f64>,
    u: Vec<f64>,
    b: f64,
}

impl Sadmm {
    pub fn new(task: Task, params: &SadmmParams) -> Self {
        let zeros = vec![0.0; task.p];
        Sadmm {
            task,
            rates: Rates::new(params.steps(), task.p),
            lambda: params.l1(task.k),
            rho: params.admm_rho,
            w: zeros.clone(),
            z: zeros.clone(),
            u: zeros,
            b: 0.0,
        }
    }
}

impl Oracle for Sadmm {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let x = dense(example.row, self.task.p);
        let margin_before = margin(&self.z, self.b, &x);
        let g = self.task.slope(margin(&self.w, self.b, &x), example);
        self.rates.observe(&x, g);
        let eta = self.rates.global();
        for (j, x) in x.iter().enumerate() {
            let pulled = self.rho * (self.z[j] - self.u[j]) + self.w[j] / eta - g * x;
            self.w[j] = pulled / (self.rho + 1.0 / eta);
            self.z[j] = soft(self.w[j] + self.u[j], self.lambda / self.rho);
            self.u[j] += self.w[j] - self.z[j];
        }
        if self.task.intercept {
            self.b -= eta * g;
        }
        margin_before
    }

    fn weights(&self) -> Vec<f64> {
        self.z.clone()
    }

    fn bias(&self) -> f64 {
        self.b
    }
}
