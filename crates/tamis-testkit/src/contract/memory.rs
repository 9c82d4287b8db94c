//! Law 7: memory grows with the features, never with the stream, and idle features can be freed.

use tamis::data::FeatureId;
use tamis::learners::Learner;
use tamis::loss::LossKind;

use super::{Case, CheckResult, SHORT, ensure, fresh, learn, weights};
use crate::generators::{Shape, stream};

/// The largest number of bytes for each feature: its cell, its mean, its place in a tree, and vectors of twice the size
/// used.
const CEILING: usize = 2 * (48 + 16 + 40);

/// Law 7, first half: once all features have occurred, ten times the rows do not change the memory by a byte.
pub fn bounded_memory(case: &Case, kind: LossKind) -> CheckResult {
    let (least, most) = bytes_over_ten_passes(case, kind);
    ensure(least > 0, || "a learner that has learned holds something".into())?;
    ensure(least == most, || format!("between {least} and {most} bytes for the same features"))
}

/// For learners whose memory depends on the number of non-zeros: it stays below a limit for each feature.
pub fn memory_below_a_ceiling(case: &Case, kind: LossKind) -> CheckResult {
    let (_, most) = bytes_over_ten_passes(case, kind);
    let ceiling = CEILING * SHORT.features;
    ensure(most <= ceiling, || format!("{most} bytes for {} features, at most {ceiling}", SHORT.features))
}

/// The least and the most bytes used from the end of the first pass to the end of the tenth.
fn bytes_over_ten_passes(case: &Case, kind: LossKind) -> (usize, usize) {
    let batch = stream(SHORT, kind);
    let mut learner = fresh(&case.recipe, kind);
    learn(&mut learner, &batch, 0..batch.len());
    let (mut least, mut most) = (learner.bytes(), learner.bytes());
    for _ in 1..10 {
        for example in batch.examples() {
            learner.learn(example);
            (least, most) = (least.min(learner.bytes()), most.max(learner.bytes()));
        }
    }
    (least, most)
}

/// Law 7, second half: features whose weight returned to zero become idle, and forgetting them has no effect.
pub fn forgetting(case: &Case, kind: LossKind) -> CheckResult {
    let died = forgetting_is_harmless(case, kind)?;
    ensure(died > 0, || "no feature that once had a weight ever became idle".into())
}

/// Forgets every idle feature after every third row and compares with a learner that forgets nothing: the numbers are
/// the same, except for the sign of zeros. Returns how many of the forgotten features once had a weight.
pub fn forgetting_is_harmless(case: &Case, kind: LossKind) -> Result<usize, String> {
    let shape = Shape { rows: 2 * SHORT.rows, ..SHORT };
    let batch = stream(shape, kind);
    let (mut hoarder, mut frugal) = (fresh(&case.recipe, kind), fresh(&case.recipe, kind));
    let mut lived = vec![false; shape.features];
    let mut died = 0;
    for start in (0..batch.len()).step_by(3) {
        let end = batch.len().min(start + 3);
        let expected = learn(&mut hoarder, &batch, start..end);
        let got = learn(&mut frugal, &batch, start..end);
        ensure(got == expected, || format!("margins of rows {start}..{end} differ after forgetting"))?;
        lived.iter_mut().zip(weights(&frugal, shape.features)).for_each(|(lived, weight)| *lived |= weight != 0.0);
        for id in (0..shape.features as FeatureId).filter(|&id| frugal.is_idle(id)).collect::<Vec<_>>() {
            ensure(frugal.weight(id) == 0.0, || format!("feature {id} is idle but has a weight"))?;
            died += usize::from(std::mem::take(&mut lived[id as usize]));
            frugal.forget(id);
            ensure(frugal.is_idle(id), || format!("feature {id} is not idle after it was forgotten"))?;
        }
        let same = weights(&frugal, shape.features) == weights(&hoarder, shape.features);
        ensure(same && frugal.bias() == hoarder.bias(), || format!("weights differ at row {end} after forgetting"))?;
    }
    Ok(died)
}
