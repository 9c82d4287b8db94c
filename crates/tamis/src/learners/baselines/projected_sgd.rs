//! `single-stage`: gradient descent projected on an ℓ₁ ball after every step.
//!
//! Source: Li et al. 2017, *A Two-Stage Approach for Learning a Sparse Model with Sharp Excess Risk Analysis* (AAAI
//! 2017), the baseline of Figure 2. The projection: Duchi, Shalev-Shwartz, Singer & Chandra (ICML 2008), section 5.
//!
//! ```text
//! w ← w − η g x,  then if ‖w‖₁ > B:  w ← soft(w, τ) with τ such that ‖w‖₁ = B
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | B | `radius` | 10 | ours, on scaled rows and targets; Li et al. 2017 try several |
//! | η | `rate` | c/√t | Li et al. 2017, Figure 1 |
//!
//! Departures: none. The intercept is outside the ball.
//!
//! Cost: O(non-zeros) per step, amortised, for any number of features (E31; see [`L1BallVector`]), times a logarithm
//! for weights that are about to reach zero. Memory: 8 bytes per feature seen, about 40 per non-zero weight.

use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::learners::{Learner, Step};
use crate::loss::{AnyLoss, Loss};
use crate::prox::L1BallVector;
use crate::step_size::{Schedule, StepSize};

/// Steps after which keys are rewritten, so that Θ stays small and keeps its digits.
const LIFE: u64 = 1 << 16;

/// Gradient descent in an ℓ₁ ball.
#[derive(Clone, Debug)]
pub struct ProjectedSgd {
    loss: AnyLoss,
    rate: Schedule,
    radius: f64,
    intercept: bool,
    weights: L1BallVector<f64>,
    bias: f64,
    steps: u64,
}

impl ProjectedSgd {
    /// A new learner.
    pub fn new(loss: AnyLoss, rate: Schedule, radius: f64, intercept: bool) -> Self {
        ProjectedSgd { loss, rate, radius, intercept, weights: L1BallVector::new(), bias: 0.0, steps: 0 }
    }
}

impl Learner for ProjectedSgd {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter().fold(self.bias, |margin, (id, value)| margin + self.weights.weight(id) * value)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        self.weights.grow(row.span());
        let margin = self.margin(row);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        self.steps += 1;
        if slope != 0.0 {
            let rate = self.rate.at(self.steps);
            for (id, value) in row.iter() {
                self.weights.put(id, self.weights.weight(id) - rate * slope * value);
            }
            if self.intercept {
                self.bias -= rate * slope;
            }
            if let Some(projection) = self.weights.plan(self.radius) {
                self.weights.commit(projection);
            }
        }
        if self.steps.is_multiple_of(LIFE) {
            self.weights.rewrite(|weight, _| weight);
        }
        Step { margin, loss: self.loss.value(margin, example.target) * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        self.weights.weight(id)
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn span(&self) -> usize {
        self.weights.cells.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        self.weight(id) == 0.0
    }

    fn forget(&mut self, id: FeatureId) {
        if (id as usize) < self.span() {
            self.weights.put(id, 0.0);
        }
    }

    fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    fn save(&self, state: &mut State) {
        self.weights.save(state);
        state.put("bias", vec![self.bias]);
        state.put_count("steps", self.steps);
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.weights.load(state)?;
        [self.bias] = state.take_fixed("bias")?;
        self.steps = state.take_count("steps")?;
        Ok(())
    }

    fn nonzeros(&self) -> usize {
        self.weights.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn projects_on_the_ball_by_hand() {
        let rate = Schedule { start: 0.5, power: 0.0 };
        let mut ball = ProjectedSgd::new(LossKind::Squared.build(1.0), rate, 2.0, false);
        let row = Row { ids: &[0, 1, 2], values: &[3.0, -2.0, 0.4] };
        ball.learn(Example { row, target: 1.0, weight: 1.0 });
        // step (3, −2, 0.4); τ = 1.5 leaves (1.5, −0.5, 0)
        assert_eq!([0, 1, 2].map(|id| ball.weight(id)), [1.5, -0.5, 0.0]);
        assert_eq!(ball.nonzeros(), 2);
    }
}
