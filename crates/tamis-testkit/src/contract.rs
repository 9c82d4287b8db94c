//! The contract: ten laws that every learner keeps, checked on every case.
//!
//! | law | checks | what |
//! |---|---|---|
//! | 1 | [`batch_cut`] | the model does not depend on how the stream is split into batches |
//! | 2 | [`entry_order`], [`explicit_zero`] | order inside a row is irrelevant, an explicit zero is an absent feature |
//! | 3 | [`late_and_vanishing`] | features may appear late and vanish |
//! | 4 | [`predicting_is_pure`] | predicting changes nothing, and gives the margin that learning returns |
//! | 5 | [`save_and_load`] | save, load and continue equals an uninterrupted run |
//! | 6 | [`same_bits`] | same input, same bits, on any thread |
//! | 7 | [`bounded_memory`], [`forgetting`] | memory grows with features, idle ones can be freed |
//! | 8 | [`no_penalty`], [`huge_penalty`] | no penalty is plain SGD, a huge one gives the empty model |
//! | 9 | [`returns_to_zero`], [`counts_nonzeros`] | a weight can return to exactly zero; non-zeros are counted exactly |
//! | 10 | [`fast_equals_naive`] | the fast learner equals the literal one to 1e-9 |
//!
//! A check returns an error message. Learners that do not keep a law by design are listed in [`OPT_OUTS`] with the
//! reason; if a weaker law holds, [`Check::instead`] checks that.

mod bits;
mod cases;
mod memory;
mod opt_outs;
mod rows;
mod weights;

pub use bits::{batch_cut, predicting_is_pure, same_bits, save_and_load};
pub use cases::{Case, learners, loss};
pub use memory::{bounded_memory, forgetting, forgetting_is_harmless, memory_below_a_ceiling};
pub use opt_outs::{OPT_OUTS, OptOut, opted_out};
pub use rows::{entry_order, explicit_zero, late_and_vanishing};
pub use weights::{
    Pair, closed_form_without_penalty, compare, counts_nonzeros, exactly_one_feature, fast_equals_naive, huge_penalty,
    no_penalty, returns_to_zero, stays_in_the_ball,
};

use std::collections::BTreeMap;

use crate::learner::TestLearner;
use tamis::data::State;
use tamis::data::{Batch, FeatureId};
use tamis::learners::Learner;
use tamis::loss::LossKind;
use tamis::recipe::{Method, Recipe};

use crate::generators::Shape;

/// The result of a check: an error message if it fails.
pub type CheckResult = Result<(), String>;

/// One check of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each arm is named for the function it calls")]
pub enum Check {
    BatchCut,
    EntryOrder,
    ExplicitZero,
    LateAndVanishing,
    PredictingIsPure,
    SaveAndLoad,
    SameBits,
    BoundedMemory,
    Forgetting,
    NoPenalty,
    HugePenalty,
    ReturnsToZero,
    CountsNonzeros,
    FastEqualsNaive,
}

impl Check {
    /// Checks the law on a case.
    pub fn run(self, case: &Case, kind: LossKind) -> CheckResult {
        match self {
            Check::BatchCut => batch_cut(case, kind),
            Check::EntryOrder => entry_order(case, kind),
            Check::ExplicitZero => explicit_zero(case, kind),
            Check::LateAndVanishing => late_and_vanishing(case, kind),
            Check::PredictingIsPure => predicting_is_pure(case, kind),
            Check::SaveAndLoad => save_and_load(case, kind),
            Check::SameBits => same_bits(case, kind),
            Check::BoundedMemory => bounded_memory(case, kind),
            Check::Forgetting => forgetting(case, kind),
            Check::NoPenalty => no_penalty(case, kind),
            Check::HugePenalty => huge_penalty(case, kind),
            Check::ReturnsToZero => returns_to_zero(case, kind),
            Check::CountsNonzeros => counts_nonzeros(case, kind),
            Check::FastEqualsNaive => fast_equals_naive(case, kind),
        }
    }

    /// Checks the weaker law of a case that opts out.
    pub fn instead(self, case: &Case, kind: LossKind) -> CheckResult {
        match (self, case.recipe.method.kind()) {
            (Check::BoundedMemory, _) => memory_below_a_ceiling(case, kind),
            (Check::Forgetting, _) => forgetting_is_harmless(case, kind).map(|_| ()),
            (Check::NoPenalty, _) => closed_form_without_penalty(case, kind),
            (Check::HugePenalty, Method::Tsgd | Method::Fofs | Method::Sofs) => exactly_one_feature(case, kind),
            (Check::HugePenalty, Method::SingleStage) => stays_in_the_ball(case, kind, 1.0),
            // The mean of an epoch is inside the ball if its steps are on the surface, on several sides.
            (Check::HugePenalty, Method::TwoStage) => stays_in_the_ball(case, kind, 0.1),
            _ => Ok(()),
        }
    }
}

/// The stream of laws 1 to 9: short, because it is used many times.
pub const SHORT: Shape = Shape { rows: 700, features: 40, longest: 6, seed: 11 };

/// The stream of comparisons with the oracles.
pub const LONG: Shape = Shape { rows: 3000, features: 60, longest: 8, seed: 12 };

/// A learner in its initial state.
pub fn fresh(recipe: &Recipe, kind: LossKind) -> TestLearner {
    TestLearner::new(recipe, loss(kind))
}

/// Learns the rows of `range` and returns their margins.
pub fn learn(learner: &mut TestLearner, batch: &Batch, range: std::ops::Range<usize>) -> Vec<f64> {
    let mut margins = Vec::with_capacity(range.len());
    learner.learn_all(range.map(|i| batch.example(i)), |_, step| margins.push(step.margin));
    margins
}

/// The whole state as bits, for comparisons.
pub fn bits(learner: &TestLearner) -> BTreeMap<String, Vec<u64>> {
    let mut state = State::default();
    learner.save(&mut state);
    let to_bits = |numbers: &Vec<f64>| numbers.iter().map(|number| number.to_bits()).collect();
    state.arrays().iter().map(|(name, numbers)| (name.clone(), to_bits(numbers))).collect()
}

/// The weights of features `0..features`, zero for unknown features.
pub fn weights(learner: &TestLearner, features: usize) -> Vec<f64> {
    (0..features as FeatureId).map(|id| learner.weight(id)).collect()
}

/// An error unless `got` is `expected` up to `tolerance`, relative to 1 + |expected|. NaN is never close.
fn near(what: impl FnOnce() -> String, got: f64, expected: f64, tolerance: f64) -> CheckResult {
    if (got - expected).abs() <= tolerance * (1.0 + expected.abs()) {
        return Ok(());
    }
    Err(format!("{}: got {got:e}, expected {expected:e}", what()))
}

/// An error unless the condition holds.
fn ensure(so: bool, message: impl FnOnce() -> String) -> CheckResult {
    if so { Ok(()) } else { Err(message()) }
}
