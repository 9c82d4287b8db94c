//! `tsgd` and `fofs`: a gradient step, then all but the k largest weights are set to zero.
//!
//! Sources. `tsgd`: Sun et al. 2018, *A Novel Framework for Online Supervised Learning with Feature Selection*,
//! section 5.1 (after Fan et al. 2018). `fofs`: Wang, Zhao, Hoi & Jin, *Online Feature Selection and Its Applications*
//! (TKDE 26, 2014), Algorithm 2; the first-order baseline of Wu et al. (2017).
//!
//! ```text
//! tsgd   w ← keep_k(w − η g x)                                        g = ℓ'(w·x + b, y)
//! fofs   if g ≠ 0:  w ← (1 − λη)w − η g x;  w ← w·min(1, 1/(√λ‖w‖));  w ← keep_k(w)
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | k | `k` | all | given, as in Sun et al. 2018 |
//! | η | `rate` | 0.2 for `fofs`, c/√t for `tsgd`; smaller for regression (`online/initial_step.rs`) | 0.2: Wang et al. section 5 |
//! | λ | `decay` | 0.01 | Wang et al. section 5 |
//!
//! Departures: any loss can be used (the sources use squared loss for `tsgd`, hinge for `fofs`; our squared loss has
//! slope 2(f − y), so the source's η is twice ours). The intercept is neither decayed, projected nor counted.
//!
//! When not to use `fofs`: its step does not shrink, so that a weight is as noisy as one step is long. Where a row has many
//! features, each step moves them all, and noise displaces the k kept ones (10 of 60 normal columns: 22 % error, where
//! `tsgd` has 16 %); a smaller step or the schedule inverse-sqrt helps there.
//!
//! Cost: O(non-zeros + k) per step. Memory: 8 bytes per feature seen; the memory of zero weights can be freed.

use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::learners::{Learner, Step};
use crate::loss::{AnyLoss, Loss};
use crate::prox::{keep_largest, l2_ball_factor};
use crate::step_size::{Schedule, StepSize};

/// Gradient descent that keeps the k largest weights.
#[derive(Clone, Debug)]
pub struct TopKSgd {
    loss: AnyLoss,
    rate: Schedule,
    /// λ; `None` for `tsgd`.
    decay: Option<f64>,
    k: usize,
    intercept: bool,
    weights: Vec<f64>,
    support: Vec<FeatureId>,
    bias: f64,
    steps: u64,
}

impl TopKSgd {
    /// A new learner. With `decay` it is `fofs`, without `tsgd`.
    pub fn new(loss: AnyLoss, rate: Schedule, decay: Option<f64>, k: usize, intercept: bool) -> Self {
        TopKSgd { loss, rate, decay, k, intercept, weights: Vec::new(), support: Vec::new(), bias: 0.0, steps: 0 }
    }

    fn descend(&mut self, row: Row<'_>, slope: f64, rate: f64) {
        if let Some(decay) = self.decay {
            let keep = 1.0 - decay * rate;
            self.support.iter().for_each(|&id| self.weights[id as usize] *= keep);
            self.support.retain(|&id| self.weights[id as usize] != 0.0);
        }
        for (id, value) in row.iter() {
            let weight = &mut self.weights[id as usize];
            if *weight == 0.0 {
                self.support.push(id);
            }
            *weight -= rate * slope * value;
        }
        if let Some(decay) = self.decay {
            self.support.sort_unstable(); // a norm must not depend on the order of arrival
            let norm = self.support.iter().map(|&id| self.weights[id as usize].powi(2)).sum::<f64>().sqrt();
            let keep = l2_ball_factor(norm, 1.0 / decay.sqrt());
            self.support.iter().for_each(|&id| self.weights[id as usize] *= keep);
        }
        keep_largest(&mut self.weights, &mut self.support, self.k);
        self.support.retain(|&id| self.weights[id as usize] != 0.0);
        if self.intercept {
            self.bias -= rate * slope;
        }
    }
}

impl Learner for TopKSgd {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter().fold(self.bias, |margin, (id, value)| margin + self.weight(id) * value)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        self.weights.resize(self.weights.len().max(row.span()), 0.0);
        let margin = self.margin(row);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        self.steps += 1;
        if slope != 0.0 {
            self.descend(row, slope, self.rate.at(self.steps));
        }
        Step { margin, loss: self.loss.value(margin, example.target) * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        self.weights.get(id as usize).copied().unwrap_or(0.0)
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn span(&self) -> usize {
        self.weights.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        self.weight(id) == 0.0
    }

    fn forget(&mut self, id: FeatureId) {
        if self.weight(id) != 0.0 {
            self.weights[id as usize] = 0.0;
            self.support.retain(|&kept| kept != id);
        }
    }

    fn bytes(&self) -> usize {
        self.weights.capacity() * 8 + self.support.capacity() * 4
    }

    fn save(&self, state: &mut State) {
        state.put_all("weights", &self.weights);
        state.put("bias", vec![self.bias]);
        state.put_count("steps", self.steps);
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.weights = state.take_all("weights")?;
        [self.bias] = state.take_fixed("bias")?;
        self.steps = state.take_count("steps")?;
        self.support = (0..self.weights.len() as FeatureId).filter(|&id| self.weights[id as usize] != 0.0).collect();
        Ok(())
    }

    fn nonzeros(&self) -> usize {
        self.support.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn tsgd_by_hand() {
        let rate = Schedule { start: 0.1, power: 0.0 };
        let mut tsgd = TopKSgd::new(LossKind::Squared.build(1.0), rate, None, 2, false);
        let row = Row { ids: &[0, 1, 2], values: &[1.0, 3.0, -2.0] };
        tsgd.learn(Example { row, target: 1.0, weight: 1.0 });
        assert_eq!(tsgd.weight(0), 0.0, "the smallest of three goes");
        assert!((tsgd.weight(1) - 0.6).abs() < 1e-15 && (tsgd.weight(2) + 0.4).abs() < 1e-15);
    }

    #[test]
    fn fofs_stays_in_its_ball() {
        let rate = Schedule { start: 1.0, power: 0.0 };
        let mut fofs = TopKSgd::new(LossKind::Hinge.build(1.0), rate, Some(0.25), 9, false);
        let row = Row { ids: &[0, 1], values: &[3.0, 4.0] };
        fofs.learn(Example { row, target: 1.0, weight: 1.0 });
        // step (3, 4) has norm 5, the ball has radius 2
        assert!((fofs.weight(0) - 1.2).abs() < 1e-15 && (fofs.weight(1) - 1.6).abs() < 1e-15);
    }
}
