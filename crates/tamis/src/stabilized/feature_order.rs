//! The order of the features at small sizes.
//!
//! Evidence ranks many features well. Among a few hundred, it depends on which neighbours of a feature are still active:
//! features that go together divide their evidence, and small changes of the rows decide which of them stays. From the
//! first size of at most [`LARGEST`] features on, an ensemble therefore has an order of the [`CANDIDATES`] features with
//! the most evidence, from the rows it may see. Two orders compete:
//!
//! - that of entry into an elastic-net path (`entry_order.rs`). It is the more stable one, because features that go
//!   together enter together.
//! - that of backward elimination (`backward_elimination.rs`). It drops what other features already say, and so finds
//!   few true features among correlated ones. Where many sets of features predict alike, chance chooses among them.
//!
//! Held-out rows decide. Ridge regressions on the first features of each order, fitted without a fold, predict that fold.
//! Backward elimination is taken if its best size k* is small, and there predicts better than the first k* features to
//! enter, and not worse than any number of these: then few features say all that there is to say. It is followed as long
//! as it predicts no worse than the order of entry; then the features follow in that order, and those that do not enter
//! by evidence.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | k* | [`LARGEST_SPARSE`], [`FEATURES_EACH`] | at most 64, and a fifth of the features | with most features, both orders predict alike, and chance would choose |
//! | gain in held-out loss at k* | [`MIN_GAIN`], [`MIN_RATIO`] | 3 %, and 1.5 standard errors over the folds | |
//! | loss against the best size of the other order | [`MAX_LOSS`] | 1 % | |
//!
//! The numbers separate planted sparse data from real data, where elimination is seldom taken (2 of 64 fits): see
//! `docs/why-this-size.md`. Compared and not taken: forward selection (taken more often on small real data) and the mean
//! rank over subsamples (less stable).
//!
//! Cost: one pass over the rows, or a sample of at most 2²² entries and 2³¹ products; then the cube of the candidates.

use rayon::prelude::*;

use super::backward_elimination::{elimination_order, ridge_weights};
use super::cross_fit::{CrossFit, FOLDS, FoldedEnsemble};
use super::entry_order::{MOST_ENTERED, entry_order};
use super::regression_moments::{CrossProducts, RegressionMoments};
use super::setup::hash_limit;
use super::sizes::sizes_between;
use super::stage::top_by_evidence;
use super::subsamples::HashedRows;
use crate::data::{Batch, FeatureId, fold_of_hash};
use crate::rng::splitmix64;
use crate::select::Estimate;
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// The largest size whose features have an order.
pub(super) const LARGEST: usize = 512;
/// The features with the most evidence that may have a place in it.
const CANDIDATES: usize = 256;
/// The largest k*.
const LARGEST_SPARSE: usize = 64;
/// Features for each of the k*, at least.
const FEATURES_EACH: usize = 5;
/// The gain at k* as a share of the loss, and as a multiple of its standard error.
const MIN_GAIN: f64 = 0.03;
const MIN_RATIO: f64 = 1.5;
/// The share by which the loss at k* may exceed that of the best size in order of entry.
const MAX_LOSS: f64 = 0.01;
/// Entries of the rows, and products of them, at most.
const MAX_ENTRIES: u64 = 1 << 22;
const MAX_PRODUCTS: u64 = 1 << 31;

/// Determines the order of every ensemble.
pub(super) fn set_orders(
    data: &TrainingData,
    ensembles: &mut CrossFit,
    rows: &mut BufferedRows,
) -> Result<(), TrainError> {
    let mut candidates: Vec<Vec<FeatureId>> = members(ensembles).map(candidates).collect();
    // Of equal columns, names decide: ids depend on the order of the rows.
    candidates.iter_mut().for_each(|ids| ids.sort_by_cached_key(|&id| data.vocabulary.name(id)));
    let mut columns: Vec<FeatureId> = candidates.concat();
    columns.sort_unstable();
    columns.dedup();
    let folds = gather(ensembles, rows, &columns)?;
    let codings = &ensembles.codings;
    let orders: Vec<Orders> = ensembles.threads.install(|| {
        let products: Vec<CrossProducts> =
            folds.par_iter().map(|rows| CrossProducts::of(rows, columns.len(), codings)).collect();
        let orders = |(number, candidates): (usize, &Vec<FeatureId>)| {
            let place = |id: &FeatureId| columns.binary_search(id).expect("candidates are gathered");
            let places: Vec<usize> = candidates.iter().map(place).collect();
            Orders::new(&products, number.checked_sub(1), &places)
        };
        candidates.par_iter().enumerate().map(orders).collect()
    });
    let sparse = sparse_size(&orders[1..], ensembles.entered);
    let all = std::iter::once(&mut ensembles.main).chain(&mut ensembles.folds);
    for ((member, orders), candidates) in all.zip(orders).zip(&candidates) {
        member.order = orders.merged(sparse).into_iter().map(|position| candidates[position]).collect();
    }
    Ok(())
}

fn members(ensembles: &CrossFit) -> impl Iterator<Item = &FoldedEnsemble> {
    std::iter::once(&ensembles.main).chain(&ensembles.folds)
}

/// The features of an ensemble with the most evidence, ascending.
fn candidates(member: &FoldedEnsemble) -> Vec<FeatureId> {
    let (positions, _) = top_by_evidence(&member.ensemble.means(), CANDIDATES);
    positions.iter().map(|&position| member.ensemble.active()[position as usize]).collect()
}

/// The rows of each fold, scaled, over some columns: all rows, or a sample by hash.
fn gather(ensembles: &CrossFit, rows: &mut BufferedRows, columns: &[FeatureId]) -> Result<Vec<Batch>, TrainError> {
    let mut transform = ensembles.main.transform.clone();
    transform.set_active(columns);
    let entries = transform.entries(columns, rows.rows);
    let per_row = (entries / rows.rows.max(1)).max(1) + ensembles.codings.len() as u64;
    let limit = hash_limit(MAX_ENTRIES.min(MAX_PRODUCTS / per_row), entries);
    let mut folds = vec![HashedRows::default(); FOLDS as usize];
    for chunk in rows.store.chunks(0) {
        let chunk = chunk?;
        for (number, example) in chunk.numbers().zip(chunk.examples()) {
            let row_hash = ensembles.row_hashes[number];
            if splitmix64(row_hash ^ 4) <= limit && example.weight > 0.0 {
                transform.scale_and_restrict(example, row_hash, &mut folds[fold_of_hash(row_hash, FOLDS) as usize]);
            }
        }
    }
    Ok(folds.into_iter().map(|fold| fold.batch).collect())
}

/// Both orders of the candidates of an ensemble, by position, and their losses on its held-out rows.
struct Orders {
    entry: Vec<usize>,
    elimination: Vec<usize>,
    entry_losses: Vec<f64>,
    elimination_losses: Vec<f64>,
}

/// The sizes at which the orders are compared, ascending.
fn compared_sizes() -> Vec<usize> {
    let mut sizes = sizes_between(MOST_ENTERED + 1, 0);
    sizes.reverse();
    sizes
}

impl Orders {
    /// The orders of an ensemble that learns from all folds but one, which is held out.
    fn new(folds: &[CrossProducts], held_out: Option<usize>, places: &[usize]) -> Self {
        let own = folds.iter().enumerate().filter(|&(fold, _)| Some(fold) != held_out).map(|(_, products)| products);
        let total = CrossProducts::total(own);
        let standardisation = total.standardisation();
        let moments = total.moments(&standardisation, places);
        let held_out = held_out.map(|fold| folds[fold].moments(&standardisation, places));
        let losses = |order: &[usize]| held_out.as_ref().map_or(Vec::new(), |test| losses(&moments, test, order));
        let (entry, elimination) = (entry_order(&moments), elimination_order(&moments));
        let (entry_losses, elimination_losses) = (losses(&entry), losses(&elimination));
        Orders { entry, elimination, entry_losses, elimination_losses }
    }

    /// One order: the first features of the elimination, then those that enter.
    fn merged(&self, sparse: Option<usize>) -> Vec<usize> {
        let first = &self.elimination[..sparse.unwrap_or(0).min(self.elimination.len())];
        first.iter().chain(self.entry.iter().filter(|position| !first.contains(position))).copied().collect()
    }
}

/// The held-out loss of ridge regressions on the first columns of an order.
fn losses(train: &RegressionMoments, test: &RegressionMoments, order: &[usize]) -> Vec<f64> {
    let loss = |size: usize| {
        let first = &order[..size.min(order.len())];
        test.restricted_to(first).loss(&ridge_weights(&train.restricted_to(first)))
    };
    compared_sizes().into_iter().map(loss).collect()
}

/// The number of features that are taken from backward elimination, if any; `entered` is the number of features of the training.
fn sparse_size(folds: &[Orders], entered: usize) -> Option<usize> {
    let sizes = compared_sizes();
    let mean = |losses: &dyn Fn(&Orders) -> f64| Estimate::over_folds(folds.iter().map(|fold| (1.0, losses(fold))));
    let best = |losses: &dyn Fn(&Orders, usize) -> f64| {
        let means = (0..sizes.len()).map(|place| mean(&|fold| losses(fold, place)).mean);
        means.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (_, entry) = best(&|fold, place| fold.entry_losses[place])?;
    let (place, elimination) = best(&|fold, place| fold.elimination_losses[place])?;
    let gain = mean(&|fold| fold.entry_losses[place] - fold.elimination_losses[place]);
    let is_taken = gain.mean > 0.0
        && sizes[place] <= LARGEST_SPARSE.min(entered / FEATURES_EACH)
        && gain.mean >= MIN_GAIN * (elimination + gain.mean)
        && gain.mean >= MIN_RATIO * gain.standard_error
        && elimination <= (1.0 + MAX_LOSS) * entry;
    // Beyond its best size, as long as it predicts no worse than the other order.
    let is_worse = |place: &usize| mean(&|fold| fold.elimination_losses[*place] - fold.entry_losses[*place]).mean > 0.0;
    let end = (place..sizes.len()).find(is_worse).unwrap_or(sizes.len());
    (is_taken && end > place).then(|| sizes[end - 1].min(LARGEST_SPARSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(entry: &[f64], elimination: &[f64]) -> Orders {
        let pad = |losses: &[f64]| {
            let last = *losses.last().unwrap_or(&0.0);
            compared_sizes().iter().enumerate().map(|(place, _)| *losses.get(place).unwrap_or(&last)).collect()
        };
        Orders {
            entry: vec![4, 2, 0],
            elimination: vec![3, 0, 1, 2, 4],
            entry_losses: pad(entry),
            elimination_losses: pad(elimination),
        }
    }

    #[test]
    fn elimination_is_taken_where_few_features_predict_better() {
        let folds = |entry: &[f64], elimination: &[f64]| {
            [0.0, 0.01, -0.01].map(|shift: f64| {
                let shifted = |losses: &[f64]| losses.iter().map(|loss| loss + shift).collect::<Vec<_>>();
                orders(&shifted(entry), &shifted(elimination))
            })
        };
        assert_eq!(sparse_size(&folds(&[0.9, 0.8, 0.7, 0.6], &[0.9, 0.7, 0.5, 0.65]), 1000), Some(3));
        assert_eq!(
            sparse_size(&folds(&[0.9, 0.8, 0.7, 0.4], &[0.9, 0.7, 0.5, 0.65]), 1000),
            None,
            "more features predict better"
        );
        assert_eq!(
            sparse_size(&folds(&[0.9, 0.7, 0.51, 0.6], &[0.9, 0.7, 0.5, 0.65]), 1000),
            None,
            "no gain worth a change"
        );
        let falling: Vec<f64> = (0..compared_sizes().len()).map(|place| 1.0 / (2.0 + place as f64)).collect();
        let slower: Vec<f64> = falling.iter().map(|loss| 1.2 * loss).collect();
        assert_eq!(sparse_size(&folds(&slower, &falling), 1000), None, "many features are needed");
        let noisy =
            [orders(&[0.9, 0.9], &[0.9, 0.5]), orders(&[0.9, 0.6], &[0.9, 0.8]), orders(&[0.9, 0.7], &[0.9, 0.7])];
        assert_eq!(sparse_size(&noisy, 1000), None, "the folds do not agree");
        assert_eq!(sparse_size(&[], 1000), None);
        assert_eq!(
            sparse_size(&folds(&[0.9, 0.8, 0.7, 0.6], &[0.9, 0.7, 0.5, 0.65]), 14),
            None,
            "three of fourteen are not few"
        );
    }

    #[test]
    fn features_that_enter_follow_those_of_the_elimination() {
        let orders = orders(&[], &[]);
        assert_eq!(orders.merged(None), [4, 2, 0]);
        assert_eq!(orders.merged(Some(2)), [3, 0, 4, 2]);
        assert_eq!(orders.merged(Some(9)), [3, 0, 1, 2, 4]);
    }
}
