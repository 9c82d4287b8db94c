//! Online learners: linear models updated one example at a time.
//!
//! Every learner satisfies the contract of [`Learner`]; `tamis-testkit` checks it, and compares each learner with a
//! naive version of the same algorithm. Learners do not fail and do no I/O: their input is finite, and all results are
//! in their state.
//!
//! | file | methods |
//! |---|---|
//! | `lazy_sgd.rs` | `sgd`, `truncated-gradient`, `rounding`, `fobos`: a gradient step, then a lazy proximal operator |
//! | `dual_averaging.rs` | `rda` |
//! | `ftrl.rs` | `ftrl` |
//! | `averaging.rs` | averaged weights of `lazy_sgd.rs` and `ftrl.rs` |
//! | `dispatch.rs` | any of the learners, made from a recipe |
//! | `baselines/topk_sgd.rs` | `tsgd`, `fofs`: the k largest weights |
//! | `baselines/topk_arow.rs` | `sofs`: the k most certain weights |
//! | `baselines/admm.rs` | `sadmm` |
//! | `baselines/projected_sgd.rs` | `single-stage`: projection on an ℓ₁ ball |

mod averaging;
pub mod baselines;
mod dispatch;
mod dual_averaging;
mod ftrl;
mod lazy_sgd;

pub use dispatch::AnyLearner;
pub use dual_averaging::DualAveraging;
pub use ftrl::Ftrl;
pub use lazy_sgd::LazySgd;

use crate::data::{Example, FeatureId, Row, State, StateError};

/// Prediction and loss of an example before the learner was updated, for progressive validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The prediction before the update.
    pub margin: f64,
    /// Its loss, times the example's weight.
    pub loss: f64,
}

/// Learns a linear model from a stream.
///
/// Contract, for any stream: the model does not depend on batches; predicting changes nothing; after [`Learner::save`]
/// and [`Learner::load`], training continues bit for bit; memory grows with the features seen.
pub trait Learner {
    /// b + w·x with all pending shrinkage applied. Changes nothing.
    fn margin(&self, row: Row<'_>) -> f64;

    /// Predicts, then learns. The target is a number or one of the loss's class codes.
    fn learn(&mut self, example: Example<'_>) -> Step;

    /// Learns many examples and calls back with each [`Step`].
    fn learn_all<'a>(&mut self, examples: impl Iterator<Item = Example<'a>>, mut seen: impl FnMut(Example<'a>, Step)) {
        let mut examples = examples.peekable();
        let ids = |example: Option<&Example<'a>>| example.map_or(&[][..], |example| example.row.ids);
        self.fetch(ids(examples.peek()));
        while let Some(example) = examples.next() {
            let step = self.learn_before(example, ids(examples.peek()));
            seen(example, step);
        }
    }

    /// Learns an example, and prefetches the state of the features of the next one.
    fn learn_before(&mut self, example: Example<'_>, next: &[FeatureId]) -> Step {
        self.fetch(next);
        self.learn(example)
    }

    /// Reserves memory for this many features, if it can be had.
    fn reserve(&mut self, _features: usize) {}

    /// Prefetches the state of these features, before their row is learned. Changes nothing.
    fn fetch(&self, _ids: &[FeatureId]) {}

    /// The weight of a feature now, zero for one never seen. Changes nothing.
    fn weight(&self, id: FeatureId) -> f64;

    /// The intercept.
    fn bias(&self) -> f64;

    /// One more than the largest id seen.
    fn span(&self) -> usize;

    /// Whether the learner would behave the same if it had never seen this feature. Such features can be freed.
    fn is_idle(&self, id: FeatureId) -> bool;

    /// Resets the state of a feature.
    fn forget(&mut self, id: FeatureId);

    /// Bytes of state.
    fn bytes(&self) -> usize;

    /// Writes the whole state.
    fn save(&self, state: &mut State);

    /// Reads the whole state.
    fn load(&mut self, state: &mut State) -> Result<(), StateError>;

    /// Calls back with every weight, in the order of ids.
    fn each_weight(&self, mut show: impl FnMut(FeatureId, f64)) {
        (0..self.span() as FeatureId).for_each(|id| show(id, self.weight(id)));
    }

    /// Calls back with every weight that is not zero, in the order of ids.
    fn each_nonzero(&self, mut show: impl FnMut(FeatureId, f64)) {
        self.each_weight(|id, weight| {
            if weight != 0.0 {
                show(id, weight);
            }
        });
    }

    /// The number of non-zero weights.
    fn nonzeros(&self) -> usize {
        let mut count = 0;
        self.each_nonzero(|_, _| count += 1);
        count
    }
}
