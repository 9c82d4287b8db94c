//! The choice between the order of entry and a sparse order of the features: how many features the sparse one gives.
//!
//! A sparse order finds few true features among correlated ones. Where many sets of features predict alike, chance
//! chooses among them, and it is less stable than the order of entry. Four fold ensembles have made both orders, each
//! without its fold. Let L_X(k) and L_E(k) be the losses on that fold of ridge regressions on the first k features of the
//! sparse order and of the order of entry, and k* the size where the mean of L_X over the folds is least:
//! ```text
//! few:     k* ≤ 64 and a fifth of the features
//! enough:  L_X(k*) ≤ 1.05·min L_E                           no number of features to enter predicts much better
//! A        L_X(largest) − L_X(k*) ≥ 3 standard errors       more features harm: the truth is sparse
//! B        L_E(k*) − L_X(k*) ≥ 3 standard errors and 3 %    as many features to enter predict worse
//! stable:  agreement of the folds' X − that of their E, mean over k*/2 ≤ k ≤ k*, ≥ −0.1
//! ```
//! The sparse order is taken if it is few, enough and stable, and A or B; its first 1.5·k* features then come first, because
//! k* is often less than the number of true features. The agreement of two folds is the share of their first k features
//! that both have, corrected for chance.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | limits of k* | [`LARGEST_SPARSE`], [`FEATURES_EACH`] | 64, a fifth | with most features, both orders predict alike, and chance would choose |
//! | standard errors | [`MIN_RATIO`] | 3 | 2 takes the sparse order on small real data |
//! | gain | [`MIN_GAIN`] | 3 % | |
//! | loss against entry | [`MAX_LOSS`] | 5 % | a guard: any limit from 2 % on gives the same choices |
//! | stability | [`MAX_UNSTABLE`] | 0.1 | 0.05 loses 4 % of planted data; 0.15 takes more real data |
//! | features for each of k* | [`FOLLOWED`] | 1.5 | 1 misses true features; 2 is no better |
//!
//! `docs/why-this-size.md` has what was compared.

use super::sizes::sizes_between;
use crate::data::FeatureId;
use crate::select::Estimate;

/// The largest k*.
const LARGEST_SPARSE: usize = 64;
/// Features for each of the k*, at least.
const FEATURES_EACH: usize = 5;
/// Differences count from this multiple of their standard error on.
const MIN_RATIO: f64 = 3.0;
/// The gain at k* as a share of the loss.
const MIN_GAIN: f64 = 0.03;
/// The share by which the loss at k* may exceed that of the best size in order of entry.
const MAX_LOSS: f64 = 0.05;
/// How much less the folds may agree on the sparse order.
const MAX_UNSTABLE: f64 = 0.1;
/// The share of k* that is taken from the sparse order.
const FOLLOWED: f64 = 1.5;

/// An order of a fold ensemble.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldOrder {
    /// The first features.
    pub(super) features: Vec<FeatureId>,
    /// The loss on the fold at each of the compared sizes.
    pub(super) losses: Vec<f64>,
}

/// The sizes at which orders are compared, ascending, up to `most`.
pub(super) fn compared_sizes(most: usize) -> Vec<usize> {
    let mut sizes = sizes_between(most + 1, 0);
    sizes.reverse();
    sizes
}

/// The place of the compared size of least mean loss, and that loss.
pub(super) fn best_size(folds: &[FoldOrder]) -> Option<(usize, f64)> {
    let places = folds.first()?.losses.len();
    let means = (0..places).map(|place| over_folds(folds.len(), |fold| folds[fold].losses[place]).mean);
    means.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
}

fn over_folds(folds: usize, value: impl Fn(usize) -> f64 + Clone) -> Estimate {
    Estimate::over_folds((0..folds).map(|fold| (1.0, value(fold))))
}

/// The number of features that are taken from the sparse order, if any; `entered` is the number of features of the training.
pub(super) fn sparse_size(sparse: &[FoldOrder], entry: &[FoldOrder], sizes: &[usize], entered: usize) -> Option<usize> {
    let (place, loss) = best_size(sparse)?;
    let (_, entry_loss) = best_size(entry)?;
    let size = sizes[place];
    let is_few = size <= LARGEST_SPARSE.min(entered / FEATURES_EACH);
    let difference =
        |more: &dyn Fn(usize) -> f64| over_folds(sparse.len(), |fold| more(fold) - sparse[fold].losses[place]);
    let rise = difference(&|fold| *sparse[fold].losses.last().expect("as many losses as sizes"));
    let gain = difference(&|fold| entry[fold].losses[place]);
    let counts = |estimate: Estimate| estimate.mean > 0.0 && estimate.mean >= MIN_RATIO * estimate.standard_error;
    let is_better = counts(gain) && gain.mean >= MIN_GAIN * (loss + gain.mean);
    let compared = sizes.iter().copied().filter(|&other| 2 * other >= size && other <= size);
    let (count, sum) = compared.fold((0, 0.0), |(count, sum), size| {
        (count + 1, sum + agreement(sparse, size, entered) - agreement(entry, size, entered))
    });
    let is_stable = sum >= -MAX_UNSTABLE * f64::from(count);
    let is_taken = is_few && loss <= (1.0 + MAX_LOSS) * entry_loss && (counts(rise) || is_better) && is_stable;
    is_taken.then_some((FOLLOWED * size as f64).ceil() as usize)
}

/// The mean share of the first features that two folds have in common, corrected for chance.
fn agreement(folds: &[FoldOrder], size: usize, entered: usize) -> f64 {
    let first = |fold: &FoldOrder| {
        let mut first = fold.features[..size.min(fold.features.len())].to_vec();
        first.sort_unstable();
        first
    };
    let firsts: Vec<Vec<FeatureId>> = folds.iter().map(first).collect();
    let (mut pairs, mut shares) = (0, 0.0);
    for (number, one) in firsts.iter().enumerate() {
        for other in &firsts[..number] {
            let common = one.iter().filter(|id| other.binary_search(id).is_ok()).count();
            pairs += 1;
            shares += common as f64 / one.len().min(other.len()).max(1) as f64;
        }
    }
    let chance = (size as f64 / entered.max(1) as f64).min(0.999);
    (shares / f64::from(pairs.max(1)) - chance) / (1.0 - chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 5] = [1, 2, 3, 4, 10];

    /// Four folds with these losses, each a little off, and these features.
    fn folds(losses: [f64; 5], features: [&[FeatureId]; 4]) -> Vec<FoldOrder> {
        let shifts = [0.0, 0.01, -0.01, 0.005];
        let fold = |(features, shift): (&[FeatureId], f64)| FoldOrder {
            features: features.to_vec(),
            losses: losses.iter().map(|loss| loss + shift).collect(),
        };
        features.into_iter().zip(shifts).map(fold).collect()
    }

    const SAME: [&[FeatureId]; 4] = [&[3, 7, 9, 4]; 4];
    const OTHERS: [&[FeatureId]; 4] = [&[3, 7, 9, 4], &[3, 8, 1, 2], &[5, 7, 6, 0], &[2, 3, 8, 9]];

    fn choice(sparse: [f64; 5], entry: [f64; 5], features: [[&[FeatureId]; 4]; 2], entered: usize) -> Option<usize> {
        sparse_size(&folds(sparse, features[0]), &folds(entry, features[1]), &SIZES, entered)
    }

    #[test]
    fn a_sparse_order_is_taken_where_few_features_predict_best() {
        let (sparse, entry) = ([0.9, 0.7, 0.5, 0.55, 0.65], [0.9, 0.8, 0.7, 0.6, 0.52]);
        assert_eq!(choice(sparse, entry, [SAME, SAME], 1000), Some(5), "one and a half times three, rounded up");
        assert_eq!(choice(sparse, entry, [OTHERS, SAME], 1000), None, "the folds do not agree on it");
        assert_eq!(choice(sparse, entry, [OTHERS, OTHERS], 1000), Some(5), "nor on the order of entry");
        assert_eq!(choice(sparse, entry, [SAME, SAME], 14), None, "three of fourteen are not few");
        assert_eq!(choice(sparse, [0.9, 0.8, 0.7, 0.6, 0.4], [SAME, SAME], 1000), None, "more features predict better");
        let falling = [0.9, 0.7, 0.6, 0.55, 0.5];
        assert_eq!(choice(falling, falling, [SAME, SAME], 10_000), None, "no features harm, and nothing is gained");
        assert_eq!(
            choice(falling, falling.map(|loss| 1.05 * loss), [SAME, SAME], 10_000),
            Some(15),
            "a gain is enough"
        );
        assert_eq!(choice(falling, falling.map(|loss| 1.02 * loss), [SAME, SAME], 10_000), None, "a small one is not");
        assert_eq!(sparse_size(&[], &[], &SIZES, 1000), None);
    }

    #[test]
    fn differences_within_the_noise_of_the_folds_do_not_count() {
        let mut sparse = folds([0.9, 0.7, 0.5, 0.55, 0.56], SAME);
        for (fold, rise) in sparse.iter_mut().zip([0.2, -0.1, 0.15, -0.05]) {
            fold.losses[4] += rise;
        }
        let entry = folds([0.9, 0.75, 0.505, 0.55, 0.56], SAME);
        assert_eq!(sparse_size(&sparse, &entry, &SIZES, 1000), None);
    }

    #[test]
    fn agreement_is_one_for_equal_orders_and_zero_by_chance() {
        assert_eq!(agreement(&folds([0.0; 5], SAME), 3, 1000), 1.0);
        let halves: Vec<FoldOrder> =
            [[0, 1], [0, 2], [3, 1], [2, 3]].map(|ids| FoldOrder { features: ids.to_vec(), losses: Vec::new() }).into();
        // Four of six pairs have one of two in common, and so would random pairs of four features.
        assert!((agreement(&halves, 2, 4) - (4.0 / 12.0 - 0.5) / 0.5).abs() < 1e-15);
    }

    #[test]
    fn all_small_sizes_are_compared() {
        let sizes = compared_sizes(128);
        assert_eq!(sizes[..12], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert!(sizes.is_sorted() && sizes.last().is_some_and(|&last| last > 100 && last <= 128));
    }
}
