//! Proximal operators and projections: what makes weights sparse.
//!
//! After each step (or every K-th) a proximal operator shrinks all weights. Applying it to a million weights for every
//! row would be hopeless, so it is applied lazily ([`LazyProx`]): a global clock says how much shrinkage is due since
//! the start, and each weight has a timestamp, the clock when it was last brought up to date. This is exact, because
//! every operator here obeys `prox(prox(w, a), b) = prox(w, a + b)`, and because nothing is pending for a weight of
//! zero (E15).
//!
//! Projections act on whole vectors and are idempotent: the k largest weights (`top_k.rs`), the ℓ₁ and the ℓ₂ ball
//! (`l1_l2_ball.rs`), and a vector with a shared threshold that stays in an ℓ₁ ball ([`L1BallVector`]).
//!
//! | operator | one application with step size η | used by |
//! |---|---|---|
//! | [`NoProx`] | w | `sgd` |
//! | [`TruncatedL1`] | sign(w)·max(\|w\| − ηg, 0) if \|w\| ≤ θ, else w | `truncated-gradient`, `fobos` with L1 |
//! | [`ElasticNetProx`] | sign(w)·max(\|w\| − ηλ₁, 0)/(1 + ηλ₂) | `fobos` with elastic net |
//! | [`Rounding`] | 0 if \|w\| < θ, else w | `rounding` |
//!
//! [`SignBounds`] keeps weights on one side of zero.

mod elastic_net;
mod l1_ball_vector;
mod l1_l2_ball;
mod none;
mod radix_heap;
mod rounding;
mod sign_bounds;
mod top_k;
mod truncated_l1;

pub use elastic_net::{ElasticNetProx, ElasticNetTimestamp};
pub use l1_ball_vector::{Keyed, L1BallVector, Projection};
pub use l1_l2_ball::{l1_threshold, project_l1_l2};
pub use none::NoProx;
pub use rounding::Rounding;
pub use sign_bounds::{FREE, SignBounds};
pub use top_k::{by_size, keep_largest, l2_ball_factor};
pub use truncated_l1::TruncatedL1;

use crate::data::ToF64s;

/// sign(w)·max(|w| − amount, 0): the soft threshold every sparse learner is built on (Ma & Zheng 2016, eq. 5).
///
/// Without branches, because it is hard to predict which weights are zero.
#[inline]
pub fn soft_threshold(weight: f64, amount: f64) -> f64 {
    (weight.abs() - amount).max(0.0).copysign(weight)
}

/// A proximal operator that is applied lazily, with its clock.
pub trait LazyProx {
    /// The timestamp of a weight.
    type Timestamp: Copy + Default + PartialEq + ToF64s;

    /// Advances the clock by one step with the global step size `h`. The operator decides whether it is applied.
    fn advance(&mut self, h: f64);

    /// The clock now.
    fn timestamp(&self) -> Self::Timestamp;

    /// The weight after all events since its timestamp. `factor` is the weight's own part of the step size.
    fn apply_pending(&self, weight: f64, mark: &Self::Timestamp, factor: f64) -> f64;

    /// Σ of the weight's values after each of the steps from `history`'s step `from` to its last, the weight being
    /// `weight` with mark `mark` when step `from` was made. This is what lazy averaging needs.
    fn trajectory_sum(
        &self,
        weight: f64,
        mark: &Self::Timestamp,
        factor: f64,
        from: u64,
        history: &ClockHistory,
    ) -> f64;

    /// Resets the clock to zero, to keep its precision. All weights must be up to date and get new timestamps.
    fn reset_clock(&mut self);

    /// The clock as numbers, for checkpoints.
    fn save(&self) -> Vec<f64>;

    /// Sets the clock from [`LazyProx::save`]; false if it does not fit.
    fn load(&mut self, clock: &[f64]) -> bool;

    /// Whether the clock has run so far that [`LazyProx::reset_clock`] is due. Depends on the steps made only.
    fn needs_reset(&self) -> bool {
        false
    }

    /// A reading of the clock for [`ClockHistory`]: the amount due so far, and the decay so far.
    fn reading(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

/// Clock readings of recent steps, with running sums: the memory of lazy averaging.
///
/// Entry i belongs to step `first + i`; `due` is the clock after that step, `decay` the factor S of [`ElasticNetProx`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockHistory {
    /// The step of the first entry.
    pub first: u64,
    due: Vec<f64>,
    /// Σ S and Σ S·due up to and including each entry.
    sums: Vec<(f64, f64)>,
}

impl ClockHistory {
    /// No readings yet; the first will be of step `first`.
    pub fn starting_at(first: u64) -> Self {
        ClockHistory { first, ..ClockHistory::default() }
    }

    /// Records the clock after a step.
    pub fn push(&mut self, (due, decay): (f64, f64)) {
        let (sum, product) = self.sums.last().copied().unwrap_or_default();
        self.due.push(due);
        self.sums.push((sum + decay, product + decay * due));
    }

    /// The number of steps remembered.
    pub fn len(&self) -> u64 {
        self.due.len() as u64
    }

    /// Whether no step is remembered.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Removes all steps; the next entry is for step `first`.
    pub fn restart(&mut self, first: u64) {
        *self = ClockHistory::starting_at(first);
    }

    /// Steps from `from` to the last.
    pub fn count_since(&self, from: u64) -> u64 {
        (self.first + self.len()).saturating_sub(from)
    }

    /// Σ over steps s ≥ `from` of S_s·max(size − factor·(due_s − due), 0): the sum of a shrinking weight.
    pub fn shrinking_sum(&self, size: f64, due: f64, factor: f64, from: u64) -> f64 {
        let start = (from - self.first) as usize;
        let readings = &self.due[start..];
        let alive = readings.partition_point(|&d| factor * (d - due) < size);
        // The weight is constant until the next event. That part is not multiplied by `factor`, which can be so large
        // (if all gradients of the weight were tiny) that it would amplify the rounding errors of the sums.
        let still = readings.partition_point(|&d| d <= due).min(alive);
        let sums_to = |count: usize| if start + count == 0 { (0.0, 0.0) } else { self.sums[start + count - 1] };
        let (begin, rest, end) = (sums_to(0), sums_to(still), sums_to(alive));
        let whole = size * (end.0 - begin.0);
        if still == alive { whole } else { whole - factor * (end.1 - rest.1 - (end.0 - rest.0) * due) }
    }

    /// The entries, for checkpoints.
    pub fn save(&self) -> Vec<f64> {
        let sums = self.sums.iter().flat_map(|&(sum, product)| [sum, product]);
        std::iter::once(self.first as f64).chain(self.due.iter().copied()).chain(sums).collect()
    }

    /// The history that [`ClockHistory::save`] stored.
    pub fn load(fields: &[f64]) -> Option<Self> {
        let (first, rest) = fields.split_first()?;
        let n = rest.len() / 3;
        let (due, sums) = rest.split_at(n);
        let sums: Vec<_> = sums.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        (rest.len() == 3 * n).then(|| ClockHistory { first: *first as u64, due: due.to_vec(), sums })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_threshold_by_hand() {
        assert_eq!(soft_threshold(0.5, 0.2), 0.3);
        assert_eq!(soft_threshold(-0.5, 0.2), -0.3);
        assert_eq!(soft_threshold(0.1, 0.2), 0.0);
        assert_eq!(soft_threshold(-0.2, 0.2), 0.0);
    }

    #[test]
    fn path_of_a_shrinking_weight() {
        let mut history = ClockHistory::starting_at(1);
        for due in [0.1, 0.2, 0.3, 0.4] {
            history.push((due, 1.0));
        }
        // from step 2 with 0.25 left and the clock at 0.1: 0.15 + 0.05 + 0
        let sum = history.shrinking_sum(0.25, 0.1, 1.0, 2);
        assert!((sum - 0.20).abs() < 1e-15, "{sum}");
        assert_eq!(ClockHistory::load(&history.save()), Some(history));
    }
}
