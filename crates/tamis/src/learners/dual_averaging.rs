//! `rda`: regularised dual averaging.
//!
//! Source: Xiao, *Dual Averaging Methods for Regularized Stochastic Learning and Online Optimization* (JMLR 11, 2010),
//! as stated in Ma & Zheng 2016, eq. (18) and below; elastic-net form as in Sun et al. 2018, section 5.1.
//!
//! After t steps with gradient sum G_t, per weight:
//! ```text
//! λ_t = λ₁ + γρ/√t
//! w = 0                                              if |G_t/t| ≤ λ_t
//! w = −(G_t/t − λ_t sign(G_t)) / (λ₂ + γ/√t)         otherwise
//! ```
//! A weight that must have a sign is this w, or 0 if w has the other sign.
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | λ₁ | `l1` | 1e-4 | ours |
//! | λ₂ | `l2` | 0 | Ma & Zheng 2016: plain L1 |
//! | γ | `gamma` | 2, larger for regression (`online/initial_step.rs`) | ours, on scaled rows; 5000 in Ma & Zheng 2016, on columns of unit variance |
//! | ρ | `rho` | 0 | ours; 0.005 in Ma & Zheng 2016 |
//!
//! Departures: the printed average ḡ_t = (t−1)/t·g_{t−1} + g_t/t must read ḡ_{t−1}, and the printed "equivalent"
//! T(ḡ, λ) drops the factor √t/γ (E10). The intercept is not penalised.
//!
//! Cost: O(non-zeros) per step. The state is the gradient sum alone: a weight is a function of it and of t, so absent
//! features need no update. Memory: 8 bytes per feature seen.

use super::{Learner, Step};
use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::loss::{AnyLoss, Loss};
use crate::prox::{SignBounds, soft_threshold};

/// Regularised dual averaging.
#[derive(Clone, Debug)]
pub struct DualAveraging {
    loss: AnyLoss,
    l1: f64,
    l2: f64,
    gamma: f64,
    rho: f64,
    intercept: bool,
    sums: Vec<f64>,
    bias_sum: f64,
    steps: u64,
    signs: SignBounds,
}

impl DualAveraging {
    /// A new learner.
    pub fn new(loss: AnyLoss, l1: f64, l2: f64, gamma: f64, rho: f64, intercept: bool) -> Self {
        let signs = SignBounds::default();
        DualAveraging { loss, l1, l2, gamma, rho, intercept, sums: Vec::new(), bias_sum: 0.0, steps: 0, signs }
    }

    /// The learner with bounds on its weights.
    pub fn bounded(self, signs: SignBounds) -> Self {
        DualAveraging { signs, ..self }
    }

    /// λ_t and the factor of the thresholded mean gradient at the current step.
    fn terms(&self) -> (f64, f64, f64) {
        let t = self.steps.max(1) as f64;
        let pull = self.gamma / t.sqrt();
        (1.0 / t, self.l1 + pull * self.rho, -1.0 / (self.l2 + pull))
    }

    fn bias_now(&self) -> f64 {
        if self.intercept { -self.bias_sum / (self.gamma * (self.steps.max(1) as f64).sqrt()) } else { 0.0 }
    }
}

impl Learner for DualAveraging {
    fn margin(&self, row: Row<'_>) -> f64 {
        let (share, lambda, factor) = self.terms();
        row.iter().fold(self.bias_now(), |margin, (id, value)| {
            let sum = self.sums.get(id as usize).copied().unwrap_or(0.0);
            margin + self.signs.clip(id, factor * soft_threshold(sum * share, lambda)) * value
        })
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        let margin = self.margin(row);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        self.sums.resize(self.sums.len().max(row.span()), 0.0);
        for (id, value) in row.iter() {
            self.sums[id as usize] += slope * value;
        }
        self.bias_sum += slope;
        self.steps += 1;
        Step { margin, loss: self.loss.value(margin, example.target) * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        let (share, lambda, factor) = self.terms();
        let sum = self.sums.get(id as usize).copied().unwrap_or(0.0);
        self.signs.clip(id, factor * soft_threshold(sum * share, lambda)) + 0.0 // −0 becomes 0
    }

    fn bias(&self) -> f64 {
        self.bias_now()
    }

    fn span(&self) -> usize {
        self.sums.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        self.sums.get(id as usize).is_none_or(|&sum| sum == 0.0) && !self.signs.belongs(id)
    }

    fn forget(&mut self, id: FeatureId) {
        if let Some(sum) = self.sums.get_mut(id as usize) {
            *sum = 0.0;
        }
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * 8
    }

    fn save(&self, state: &mut State) {
        state.put_all("sums", &self.sums);
        state.put("bias", vec![self.bias_sum]);
        state.put_count("steps", self.steps);
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.sums = state.take_all("sums")?;
        [self.bias_sum] = state.take_fixed("bias")?;
        self.steps = state.take_count("steps")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn two_steps_by_hand() {
        let mut rda = DualAveraging::new(LossKind::Hinge.build(1.0), 0.1, 0.0, 2.0, 0.05, false);
        let row = Row { ids: &[0], values: &[1.0] };
        for _ in 0..2 {
            rda.learn(Example { row, target: 1.0, weight: 1.0 });
        }
        // mean gradient −1 (hinge still wanting), λ₂ = 0.1 + 0.1/√2, w = (√2/2)(1 − λ)
        let root = 2f64.sqrt();
        assert!((rda.weight(0) - root / 2.0 * (1.0 - 0.1 - 0.1 / root)).abs() < 1e-15);
    }
}
