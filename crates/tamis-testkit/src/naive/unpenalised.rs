//! The closed forms of the learners that are not plain SGD when their penalty is zero.
//!
//! They contain no thresholds, multipliers or proximal terms:
//!
//! | method | without penalty |
//! |---|---|
//! | `rda` | w = −(Σ g)/(γ√t) |
//! | `ftrl` | w_j ← w_j − g_j·α/(β + √(Σ g_j²)), the sum with the new g_j (McMahan 2011: FTRL-proximal is SGD) |
//! | `sadmm` | w ← w − g·η/(1 + ρη): z = w and u = 0 throughout; the intercept keeps η |
//! | `two-stage` | Σ of the gradients of each epoch so far, w_t = c − η_k Σ_{i<t} g_i; its mean Σ_i (T_k − i)/T_k of them |
//! | `sofs` | w ← w − d·sign(g)·Σx/(r + xᵀΣx), Σ_jj = 1/(1 + Σ x_j²/r) over the errors, no weight dropped |

use super::{Oracle, Signed, Task, dense, margin};
use tamis::data::Example;
use tamis::loss::{AnyLoss, Loss};
use tamis::recipe::{MethodParams, Recipe, ScheduleKind};

/// The closed form of a method without a penalty, or `None` if that is plain SGD.
pub fn unpenalised(recipe: &Recipe, loss: AnyLoss, p: usize) -> Option<Box<dyn Oracle>> {
    let signs = Signed::of(recipe.method.signs());
    let task = Task { loss, intercept: recipe.intercept, p, k: recipe.k, signs };
    let rule = match &recipe.method {
        MethodParams::Rda(params) => Rule::Rda { gamma: params.gamma() },
        MethodParams::Ftrl(params) => Rule::Ftrl { alpha: params.learning_rate(), beta: params.beta },
        MethodParams::Sadmm(params) => {
            let steps = params.steps();
            let power = match steps.schedule {
                ScheduleKind::Constant => 0.0,
                ScheduleKind::Inverse => 1.0,
                ScheduleKind::Power => steps.power,
                _ => 0.5,
            };
            Rule::Sadmm { start: steps.learning_rate, power, rho: params.admm_rho }
        }
        MethodParams::TwoStage(params) => {
            let (rate, length) = (params.learning_rate(), params.first_epoch_steps.unwrap_or(0) as f64);
            return Some(Box::new(Free {
                task,
                rate,
                length,
                centre: vec![0.0; p + 1],
                gradients: Vec::new(),
                later: false,
            }));
        }
        MethodParams::Sofs(params) => Rule::Sofs { r: params.sofs_r },
        _ => return None,
    };
    Some(Box::new(Unpenalised { task, rule, t: 0.0, w: vec![0.0; p + 1], memory: vec![0.0; p + 1] }))
}

enum Rule {
    Rda { gamma: f64 },
    Ftrl { alpha: f64, beta: f64 },
    Sadmm { start: f64, power: f64, rho: f64 },
    Sofs { r: f64 },
}

struct Unpenalised {
    task: Task,
    rule: Rule,
    t: f64,
    /// The intercept is at the last position.
    w: Vec<f64>,
    /// Σ g for `rda`, Σ g² for `ftrl`, Σ x²/r for `sofs`.
    memory: Vec<f64>,
}

impl Unpenalised {
    fn second_order(&mut self, x: &[f64], f: f64, example: Example<'_>, r: f64) {
        let slope = self.task.loss.slope(f, example.target);
        if slope == 0.0 || example.weight == 0.0 {
            return;
        }
        let r = r / example.weight;
        let sigma: Vec<f64> = self.memory.iter().map(|sum| 1.0 / (1.0 + sum)).collect();
        let variance: f64 = x.iter().zip(&sigma).map(|(x, sigma)| x * x * sigma).sum();
        let shortfall = self.task.loss.shortfall(f, example.target);
        for j in 0..x.len() {
            self.w[j] -= shortfall * slope.signum() * sigma[j] * x[j] / (r + variance);
            self.memory[j] += x[j] * x[j] / r;
        }
    }
}

impl Oracle for Unpenalised {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let p = self.task.p;
        let mut x = dense(example.row, p);
        let f = margin(&self.w[..p], self.w[p], &x);
        x.push(if self.task.intercept { 1.0 } else { 0.0 });
        let slope = self.task.slope(f, example);
        self.t += 1.0;
        for (j, x) in x.iter().enumerate() {
            let g = slope * x;
            match self.rule {
                Rule::Rda { gamma } => {
                    self.memory[j] += g;
                    self.w[j] = -self.memory[j] / (gamma * self.t.sqrt());
                }
                Rule::Ftrl { alpha, beta } if g != 0.0 => {
                    self.memory[j] += g * g;
                    self.w[j] -= g * alpha / (beta + self.memory[j].sqrt());
                }
                Rule::Sadmm { start, power, rho } => {
                    let eta = start / self.t.powf(power);
                    self.w[j] -= g * if j == p { eta } else { eta / (1.0 + rho * eta) };
                }
                Rule::Ftrl { .. } | Rule::Sofs { .. } => {}
            }
        }
        if let Rule::Sofs { r } = self.rule {
            self.second_order(&x, f, example, r);
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

/// Epochs without balls. A gradient moves all later steps of its epoch, and the mean in proportion to their number.
struct Free {
    task: Task,
    rate: f64,
    length: f64,
    centre: Vec<f64>,
    gradients: Vec<Vec<f64>>,
    later: bool,
}

impl Free {
    /// c − η Σ share(i)·g_i, where the i-th gradient (from 1) has the given share.
    fn moved(&self, share: impl Fn(f64) -> f64) -> Vec<f64> {
        let sum =
            |j: usize| -> f64 { self.gradients.iter().enumerate().map(|(i, g)| share((i + 1) as f64) * g[j]).sum() };
        self.centre.iter().enumerate().map(|(j, c)| c - self.rate * sum(j)).collect()
    }

    fn model(&self) -> Vec<f64> {
        let t = self.gradients.len() as f64;
        let of = if self.later { self.length } else { t.max(1.0) };
        self.moved(|i| (t - i) / of)
    }
}

impl Oracle for Free {
    fn learn(&mut self, example: Example<'_>) -> f64 {
        let p = self.task.p;
        let mut x = dense(example.row, p);
        let (model, w) = (self.model(), self.moved(|_| 1.0));
        let margin_before = margin(&model[..p], model[p], &x);
        let slope = self.task.slope(margin(&w[..p], w[p], &x), example);
        x.push(if self.task.intercept { 1.0 } else { 0.0 });
        self.gradients.push(x.iter().map(|x| slope * x).collect());
        if self.gradients.len() as f64 == self.length {
            self.centre = self.moved(|i| (self.length - i) / self.length);
            self.gradients.clear();
            (self.later, self.length, self.rate) = (true, 2.0 * self.length, self.rate / 2.0);
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
