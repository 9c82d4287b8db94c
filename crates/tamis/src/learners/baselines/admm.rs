//! `sadmm`: stochastic alternating direction method of multipliers for L1.
//!
//! Source: Ouyang, He, Tran & Gray, *Stochastic Alternating Direction Method of Multipliers* (ICML 2013), Algorithm 1,
//! for min E ℓ(w) + λ‖z‖₁ subject to w = z; a baseline of Sun et al. 2018.
//!
//! Step t, η = c/√t, for every coordinate (u is the scaled multiplier):
//! ```text
//! w ← (ρ(z − u) + w/η − g) / (ρ + 1/η)
//! z ← soft(w + u, λ/ρ)
//! u ← u + w − z
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | λ | `l1` | 1e-4 | ours |
//! | ρ | `rho` | 1 | Ouyang et al. |
//! | c | `rate` | 0.5, smaller for regression (`online/initial_step.rs`) | ours, on scaled rows |
//!
//! Departures: none; gradients are taken at w, the model is the sparse z. The intercept takes plain gradient steps.
//!
//! Cost: O(features seen) per step, as in the source: a coordinate that has moved once moves at every step, so an exact
//! lazy update is not possible. It is a baseline of papers; prefer `fobos` or `ftrl` for wide data. Memory: 24 bytes
//! per feature seen.

use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::learners::{Learner, Step};
use crate::loss::{AnyLoss, Loss};
use crate::prox::soft_threshold;
use crate::step_size::{Schedule, StepSize};

/// Stochastic ADMM.
#[derive(Clone, Debug)]
pub struct StochasticAdmm {
    loss: AnyLoss,
    rate: Schedule,
    l1: f64,
    rho: f64,
    intercept: bool,
    /// w: where gradients are taken.
    primal: Vec<f64>,
    /// z: the sparse copy, the model.
    sparse: Vec<f64>,
    /// u: the multiplier over ρ.
    dual: Vec<f64>,
    gradient: Vec<f64>,
    bias: f64,
    steps: u64,
}

impl StochasticAdmm {
    /// A new learner.
    pub fn new(loss: AnyLoss, rate: Schedule, l1: f64, rho: f64, intercept: bool) -> Self {
        StochasticAdmm {
            loss,
            rate,
            l1,
            rho,
            intercept,
            primal: Vec::new(),
            sparse: Vec::new(),
            dual: Vec::new(),
            gradient: Vec::new(),
            bias: 0.0,
            steps: 0,
        }
    }

    fn iterate(&mut self, rate: f64) {
        let (inverse, cut) = (1.0 / rate, self.l1 / self.rho);
        let total = self.rho + inverse;
        let coordinates = self.primal.iter_mut().zip(&mut self.sparse).zip(&mut self.dual).zip(&self.gradient);
        for (((w, z), u), g) in coordinates {
            *w = (self.rho * (*z - *u) + *w * inverse - g) / total;
            *z = soft_threshold(*w + *u, cut);
            *u += *w - *z;
        }
    }
}

impl Learner for StochasticAdmm {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter().fold(self.bias, |margin, (id, value)| margin + self.weight(id) * value)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        let span = self.primal.len().max(row.span());
        for column in [&mut self.primal, &mut self.sparse, &mut self.dual, &mut self.gradient] {
            column.resize(span, 0.0);
        }
        let predicted = self.margin(row);
        let margin = row.iter().fold(self.bias, |margin, (id, value)| margin + self.primal[id as usize] * value);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        self.steps += 1;
        let rate = self.rate.at(self.steps);
        row.iter().for_each(|(id, value)| self.gradient[id as usize] = slope * value);
        self.iterate(rate);
        row.ids.iter().for_each(|&id| self.gradient[id as usize] = 0.0);
        if self.intercept {
            self.bias -= rate * slope;
        }
        Step { margin: predicted, loss: self.loss.value(predicted, example.target) * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        self.sparse.get(id as usize).copied().unwrap_or(0.0)
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn span(&self) -> usize {
        self.primal.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        let zero = |column: &[f64]| column.get(id as usize).is_none_or(|&number| number == 0.0);
        zero(&self.primal) && zero(&self.sparse) && zero(&self.dual)
    }

    fn forget(&mut self, id: FeatureId) {
        for column in [&mut self.primal, &mut self.sparse, &mut self.dual] {
            if let Some(number) = column.get_mut(id as usize) {
                *number = 0.0;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.primal.capacity() * 32
    }

    fn save(&self, state: &mut State) {
        state.put_all("primal", &self.primal);
        state.put_all("sparse", &self.sparse);
        state.put_all("dual", &self.dual);
        state.put("bias", vec![self.bias]);
        state.put_count("steps", self.steps);
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.primal = state.take_all("primal")?;
        self.sparse = state.take_all("sparse")?;
        self.dual = state.take_all("dual")?;
        if self.sparse.len() != self.primal.len() || self.dual.len() != self.primal.len() {
            return Err(state.wrong_shape("sparse"));
        }
        self.gradient = vec![0.0; self.primal.len()];
        [self.bias] = state.take_fixed("bias")?;
        self.steps = state.take_count("steps")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn one_step_by_hand() {
        let rate = Schedule { start: 0.5, power: 0.5 };
        let mut admm = StochasticAdmm::new(LossKind::Squared.build(1.0), rate, 0.1, 1.0, false);
        admm.learn(Example { row: Row { ids: &[0], values: &[1.0] }, target: 1.0, weight: 1.0 });
        // g = −2, w = 2/(1 + 2), z = w − 0.1, u = 0.1
        assert!((admm.weight(0) - (2.0 / 3.0 - 0.1)).abs() < 1e-15);
        assert!((admm.dual[0] - 0.1).abs() < 1e-15);
    }
}
