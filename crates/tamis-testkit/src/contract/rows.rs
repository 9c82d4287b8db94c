//! Laws 2 and 3: rows are sets of entries, and features appear and vanish.

use tamis::data::{Batch, FeatureId, Row};
use tamis::learners::Learner;
use tamis::loss::LossKind;

use super::{Case, CheckResult, SHORT, bits, compare, ensure, fresh, learn, near, weights};
use crate::generators::{Life, relabelled, shuffled_entries, stream, with_explicit_zeros};

/// Sums in another order round differently; nothing else may differ.
const ROUNDING: f64 = 1e-12;

/// Law 2, first half: the order of the entries in a row does not matter, up to the rounding of sums.
pub fn entry_order(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    same_model(case, kind, &batch, &shuffled_entries(&batch, 5), |id| id)
}

/// Law 2, second half: an explicit zero is an absent feature, bit for bit.
pub fn explicit_zero(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let (mut without, mut with) = (fresh(&case.recipe, kind), fresh(&case.recipe, kind));
    learn(&mut without, &batch, 0..batch.len());
    learn(&mut with, &with_explicit_zeros(&batch, 2 * SHORT.features), 0..batch.len());
    ensure(bits(&with) == bits(&without), || "explicit zeros changed the state".into())
}

/// Law 3: the weight of an unknown feature is exactly zero, its id and the time of its first occurrence do not matter,
/// and a feature that vanished is treated as by the oracle.
pub fn late_and_vanishing(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let half = batch.len() / 2;
    let mut learner = fresh(&case.recipe, kind);
    learn(&mut learner, &batch, 0..half);
    for id in (0..SHORT.features as FeatureId).filter(|&id| Life::of(id).from == 0.5).chain([4000]) {
        ensure(learner.weight(id) == 0.0, || format!("feature {id} has a weight before it was seen"))?;
        let (with, without) = (Row { ids: &[0, id], values: &[0.7, 3.0] }, Row { ids: &[0], values: &[0.7] });
        ensure(learner.margin(with) == learner.margin(without), || format!("unseen feature {id} moves a margin"))?;
    }
    let last = SHORT.features as FeatureId - 1;
    same_model(case, kind, &batch, &relabelled(&batch, SHORT.features), |id| last - id)?;
    compare(&case.recipe, &case.recipe, kind, SHORT)
}

/// Both streams must give the same model, where feature `id` of the first is `rename(id)` in the second.
fn same_model(
    case: &Case,
    kind: LossKind,
    one: &Batch,
    other: &Batch,
    rename: impl Fn(FeatureId) -> FeatureId,
) -> CheckResult {
    let (mut first, mut second) = (fresh(&case.recipe, kind), fresh(&case.recipe, kind));
    let expected = learn(&mut first, one, 0..one.len());
    let got = learn(&mut second, other, 0..other.len());
    for (i, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
        near(|| format!("margin of row {i}"), got, expected, ROUNDING)?;
    }
    near(|| "bias".into(), second.bias(), first.bias(), ROUNDING)?;
    for (id, expected) in weights(&first, SHORT.features).into_iter().enumerate() {
        near(|| format!("weight {id}"), second.weight(rename(id as FeatureId)), expected, ROUNDING)?;
    }
    Ok(())
}
