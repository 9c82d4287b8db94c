//! Pulling single weights towards zero, now or later.
//!
//! After each step (or every K-th) all weights are shrunk. Doing that to a million weights a row would be hopeless,
//! so a weight is *settled* only when it is looked at: a global clock says how much shrinkage has been due since the
//! start, and each weight carries a mark, the clock when it was last settled. This is exact, because every rule here
//! obeys `pull(pull(w, a), b) = pull(w, a + b)`, and because a weight of zero owes nothing (E15).
//!
//! | rule | one event with rate η | used by |
//! |---|---|---|
//! | [`Nothing`] | w | `sgd` |
//! | [`Gravity`] | sign(w)·max(\|w\| − ηg, 0) if \|w\| ≤ θ, else w | `truncated-gradient`, `fobos` with L1 |
//! | [`Elastic`] | sign(w)·max(\|w\| − ηλ₁, 0)/(1 + ηλ₂) | `fobos` with elastic net |
//! | [`Rounding`] | 0 if \|w\| < θ, else w | `rounding` |

mod elastic;
mod gravity;
mod nothing;
mod rounding;

pub use elastic::{Elastic, ElasticMark};
pub use gravity::Gravity;
pub use nothing::Nothing;
pub use rounding::Rounding;

use crate::learn::Packed;

/// sign(w)·max(|w| − amount, 0): the soft threshold every sparse learner is built on (Ma & Zheng 2016, eq. 5).
///
/// Without branches: which weights are zero is not to be guessed, and a wrong guess costs more than the sum.
#[inline]
pub fn soft_threshold(weight: f64, amount: f64) -> f64 {
    (weight.abs() - amount).max(0.0).copysign(weight)
}

/// A rule that pulls weights towards zero, with its clock.
pub trait Shrink {
    /// What a weight remembers of the clock.
    type Mark: Copy + Default + PartialEq + Packed;

    /// One step has been made with global rate `h`; whether an event follows is the rule's own affair.
    fn tick(&mut self, h: f64);

    /// The clock now.
    fn now(&self) -> Self::Mark;

    /// The weight after all events since `mark`. `factor` is the weight's own part of the rate.
    fn settle(&self, weight: f64, mark: &Self::Mark, factor: f64) -> f64;

    /// Σ of the weight's values after each of the steps from `history`'s step `from` to its last, the weight being
    /// `weight` with mark `mark` when step `from` was made. This is what lazy averaging needs.
    fn path_sum(&self, weight: f64, mark: &Self::Mark, factor: f64, from: u64, history: &History) -> f64;

    /// Starts the clock again at zero, to keep its digits. All weights must be settled and marked anew.
    fn rebase(&mut self);

    /// The clock as numbers, for checkpoints.
    fn save(&self) -> Vec<f64>;

    /// Sets the clock from [`Shrink::save`]; false if it does not fit.
    fn load(&mut self, clock: &[f64]) -> bool;

    /// Whether the clock has run so far that [`Shrink::rebase`] is due. Depends on the steps made only.
    fn is_worn(&self) -> bool {
        false
    }

    /// A reading of the clock for [`History`]: the amount due so far, and the decay so far.
    fn reading(&self) -> (f64, f64) {
        (0.0, 1.0)
    }
}

/// Clock readings of recent steps, with running sums: the memory of lazy averaging.
///
/// Entry i belongs to step `first + i`; `due` is the clock after that step, `decay` the factor S of [`Elastic`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The step of the first entry.
    pub first: u64,
    due: Vec<f64>,
    /// Σ S and Σ S·due up to and including each entry.
    sums: Vec<(f64, f64)>,
}

impl History {
    /// No readings yet; the first will be of step `first`.
    pub fn starting_at(first: u64) -> Self {
        History { first, ..History::default() }
    }

    /// Takes down the clock after a step.
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

    /// Forgets all steps; the next entry is for step `first`.
    pub fn restart(&mut self, first: u64) {
        *self = History::starting_at(first);
    }

    /// Steps from `from` to the last.
    pub fn count_since(&self, from: u64) -> u64 {
        (self.first + self.len()).saturating_sub(from)
    }

    /// Σ over steps s ≥ `from` of S_s·max(size − factor·(due_s − due), 0): the path of a shrinking weight.
    pub fn shrinking_sum(&self, size: f64, due: f64, factor: f64, from: u64) -> f64 {
        let start = (from - self.first) as usize;
        let readings = &self.due[start..];
        let alive = readings.partition_point(|&d| factor * (d - due) < size);
        // Until the next event the weight rests. That part must not meet `factor`, which can be so large (a weight whose
        // gradients were all tiny) that it would blow up the rounding of the sums.
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

    /// The history that [`History::save`] stored.
    pub fn load(fields: &[f64]) -> Option<Self> {
        let (first, rest) = fields.split_first()?;
        let n = rest.len() / 3;
        let (due, sums) = rest.split_at(n);
        let sums: Vec<_> = sums.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        (rest.len() == 3 * n).then(|| History { first: *first as u64, due: due.to_vec(), sums })
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
        let mut history = History::starting_at(1);
        for due in [0.1, 0.2, 0.3, 0.4] {
            history.push((due, 1.0));
        }
        // from step 2 with 0.25 left and the clock at 0.1: 0.15 + 0.05 + 0
        let sum = history.shrinking_sum(0.25, 0.1, 1.0, 2);
        assert!((sum - 0.20).abs() < 1e-15, "{sum}");
        assert_eq!(History::load(&history.save()), Some(history));
    }
}
