//! `single-stage`: gradient descent projected on an ℓ₁ ball after every step.
//!
//! Source: Li, Yang, Zhang & Jin, *Two-stage sparse online learning with sharp excess risk* (AAAI 2017), the rival of
//! Figure 2. The projection and its search tree: Duchi, Shalev-Shwartz, Singer & Chandra, *Efficient Projections onto the
//! l1-Ball for Learning in High Dimensions* (ICML 2008), section 5.
//!
//! ```text
//! w ← w − η g x,  then if ‖w‖₁ > B:  w ← soft(w, τ) with τ such that ‖w‖₁ = B
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | B | `radius` | 100 | ours, on scaled rows and targets; 004 tunes it |
//! | η | `rate` | c/√t | 004 Figure 1 |
//!
//! Departures: none. The intercept is outside the ball.
//!
//! Cost: O(non-zeros · log(non-zero weights)) a step for any number of features (E31): all weights share one threshold
//! Θ, the sum of all τ so far; a weight is stored as |w| + Θ at the time of storing, so lowering every weight is adding to
//! Θ, and the first to reach zero is the smallest key of the tree. Memory: 8 bytes a feature seen, 40 a non-zero.

use std::collections::BTreeSet;

use super::{Learner, State, StateError, Step};
use crate::data::{Example, FeatureId, Row};
use crate::loss::{AnyLoss, Loss};
use crate::rate::{Rate, Schedule};

/// Steps after which keys are written anew: Θ stays small and keeps its digits.
const LIFE: u64 = 1 << 16;

/// Gradient descent in an ℓ₁ ball.
#[derive(Clone, Debug)]
pub struct Ball {
    loss: AnyLoss,
    rate: Schedule,
    radius: f64,
    intercept: bool,
    /// sign(w)·(|w| + Θ when stored); 0 for a weight of zero.
    stored: Vec<f64>,
    /// (bits of |stored|, id) of the non-zero weights. Positive floats order as their bits.
    tree: BTreeSet<(u64, FeatureId)>,
    /// Θ.
    offset: f64,
    /// Σ |stored|.
    total: f64,
    bias: f64,
    steps: u64,
}

impl Ball {
    /// A learner that knows nothing yet.
    pub fn new(loss: AnyLoss, rate: Schedule, radius: f64, intercept: bool) -> Self {
        Ball {
            loss,
            rate,
            radius,
            intercept,
            stored: Vec::new(),
            tree: BTreeSet::new(),
            offset: 0.0,
            total: 0.0,
            bias: 0.0,
            steps: 0,
        }
    }

    fn put(&mut self, id: FeatureId, weight: f64) {
        let old = self.stored[id as usize].abs();
        if old > 0.0 {
            self.tree.remove(&(old.to_bits(), id));
            self.total -= old;
        }
        // A weight lost in the rounding beside Θ is zero, or the tree would count what `weight` does not show.
        let size = weight.abs() + self.offset;
        let size = if size > self.offset { size } else { 0.0 };
        self.stored[id as usize] = size.copysign(weight);
        if size > 0.0 {
            self.tree.insert((size.to_bits(), id));
            self.total += size;
        }
    }

    /// Raises Θ until ‖w‖₁ ≤ B; weights that reach zero leave the tree.
    fn project(&mut self) {
        while let Some(&(bits, id)) = self.tree.first() {
            let excess = self.total - self.tree.len() as f64 * self.offset - self.radius;
            if excess <= 0.0 {
                return;
            }
            let threshold = self.offset + excess / self.tree.len() as f64;
            let smallest = f64::from_bits(bits);
            if smallest > threshold {
                self.offset = threshold;
                return;
            }
            self.tree.pop_first();
            self.total -= smallest;
            self.stored[id as usize] = 0.0;
        }
        self.total = 0.0;
    }

    /// Writes all keys anew with Θ = 0.
    fn rebase(&mut self) {
        let weights: Vec<(FeatureId, f64)> = self.tree.iter().map(|&(_, id)| (id, self.weight(id))).collect();
        self.tree.clear();
        (self.offset, self.total) = (0.0, 0.0);
        for (id, weight) in weights {
            self.stored[id as usize] = 0.0;
            self.put(id, weight);
        }
    }
}

impl Learner for Ball {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter().fold(self.bias, |margin, (id, value)| margin + self.weight(id) * value)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        if let Some(&largest) = row.ids.iter().max() {
            self.stored.resize(self.stored.len().max(largest as usize + 1), 0.0);
        }
        let margin = self.margin(row);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        self.steps += 1;
        if slope != 0.0 {
            let rate = self.rate.at(self.steps);
            for (id, value) in row.iter() {
                self.put(id, self.weight(id) - rate * slope * value);
            }
            if self.intercept {
                self.bias -= rate * slope;
            }
            self.project();
        }
        if self.steps.is_multiple_of(LIFE) {
            self.rebase();
        }
        Step { margin, loss: self.loss.value(margin, example.target) * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        match self.stored.get(id as usize) {
            Some(&stored) if stored != 0.0 => (stored.abs() - self.offset).max(0.0).copysign(stored),
            _ => 0.0,
        }
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn span(&self) -> usize {
        self.stored.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        self.stored.get(id as usize).is_none_or(|&stored| stored == 0.0)
    }

    fn forget(&mut self, id: FeatureId) {
        if (id as usize) < self.stored.len() {
            self.put(id, 0.0);
        }
    }

    fn bytes(&self) -> usize {
        self.stored.capacity() * 8 + self.tree.len() * 40
    }

    fn save(&self, state: &mut State) {
        state.put_all("stored", &self.stored);
        state.put("scalars", vec![self.offset, self.total, self.bias]);
        state.put_count("steps", self.steps);
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.stored = state.take_all("stored")?;
        [self.offset, self.total, self.bias] = state.take_fixed("scalars")?;
        self.steps = state.take_count("steps")?;
        let nonzero = self.stored.iter().enumerate().filter(|(_, stored)| **stored != 0.0);
        self.tree = nonzero.map(|(id, stored)| (stored.abs().to_bits(), id as FeatureId)).collect();
        Ok(())
    }

    fn nonzeros(&self) -> usize {
        self.tree.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn projects_on_the_ball_by_hand() {
        let rate = Schedule { start: 0.5, power: 0.0 };
        let mut ball = Ball::new(LossKind::Squared.build(1.0), rate, 2.0, false);
        let row = Row { ids: &[0, 1, 2], values: &[3.0, -2.0, 0.4] };
        ball.learn(Example { row, target: 1.0, weight: 1.0 });
        // step (3, −2, 0.4); τ = 1.5 leaves (1.5, −0.5, 0)
        assert_eq!([0, 1, 2].map(|id| ball.weight(id)), [1.5, -0.5, 0.0]);
        assert_eq!(ball.nonzeros(), 2);
    }
}
