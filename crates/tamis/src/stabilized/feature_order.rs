//! The order of the features at small sizes.
//!
//! Evidence ranks many features well. Among a few hundred, it depends on which neighbours of a feature are still active:
//! features that go together divide their evidence, and small changes of the rows decide which of them stays. From the
//! first size of at most [`LARGEST`] features on, an ensemble therefore has an order of the [`CANDIDATES`] features with
//! the most evidence, from the rows it may see. Two orders compete:
//!
//! - that of entry into an elastic-net path (`entry_order.rs`). It is the more stable one, because features that go
//!   together enter together.
//! - a sparse one: the features that forward selection takes first (`forward_selection.rs`), in the order in which backward
//!   elimination misses them (`backward_elimination.rs`). It leaves out what other features already say, and so finds few
//!   true features among correlated ones. Where many sets of features predict alike, chance chooses among them.
//!
//! Elimination starts from twice as many features as forward selection needs for its least held-out loss. Held-out rows
//! decide whether the sparse order is taken (`order_choice.rs`). After its features follow those that enter, and those that
//! do not enter by evidence.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | features of the elimination | [`START`] | twice those of the least loss | 1.5 and 3 find as many true features; all candidates are too many for few rows |
//!
//! Compared and not taken: elimination from all candidates, or from those with the most evidence; exchanging features one by
//! one; an adaptive lasso; the mean rank over subsamples (`docs/why-this-size.md`).
//!
//! Cost: one pass over the rows, or a sample of at most 2²² entries and 2³¹ products; then the cube of the candidates.

use std::sync::Arc;

use rayon::prelude::*;

use super::backward_elimination::{elimination_order, ridge_weights};
use super::cross_fit::CrossFit;
use super::entry_order::{MOST_ENTERED, entry_order};
use super::folded_ensemble::{FOLDS, FoldedEnsemble};
use super::forward_selection::selection_order;
use super::order_choice::{FoldOrder, best_size, compared_sizes, sparse_size};
use super::regression_moments::{CrossProducts, RegressionMoments};
use super::row_transform::FeatureSet;
use super::rows_in_use::RowsInUse;
use super::setup::hash_limit;
use super::stage::{PathMeans, top_by_evidence};
use super::subsamples::HashedRows;
use crate::data::{Batch, FeatureId, fold_of_hash};
use crate::rng::splitmix64;
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// The largest size whose features have an order.
pub(super) const LARGEST: usize = 512;
/// The features with the most evidence that may have a place in it.
const CANDIDATES: usize = 256;
/// Features that elimination starts from, for each that forward selection needs.
const START: usize = 2;
/// Entries of the rows, and products of them, at most.
const MAX_ENTRIES: u64 = 1 << 22;
const MAX_PRODUCTS: u64 = 1 << 31;

/// Determines the order of every ensemble, given the means of the main ensemble and of the folds.
pub(super) fn set_orders(
    data: &TrainingData,
    ensembles: &mut CrossFit,
    rows: &mut BufferedRows,
    in_use: &RowsInUse,
    (main, folds): (&[PathMeans], &[Vec<PathMeans>]),
) -> Result<(), TrainError> {
    let means = std::iter::once(main).chain(folds.iter().map(Vec::as_slice));
    let mut candidates: Vec<Vec<FeatureId>> =
        members(ensembles).zip(means).map(|(member, means)| candidates(member, means)).collect();
    // Of equal columns, names decide: ids depend on the order of the rows.
    candidates.iter_mut().for_each(|ids| ids.sort_by_cached_key(|&id| data.vocabulary.name(id)));
    let mut columns: Vec<FeatureId> = candidates.concat();
    columns.sort_unstable();
    columns.dedup();
    let folds = gather(ensembles, rows, in_use, &columns)?;
    let codings = &ensembles.codings;
    let sizes = compared_sizes(MOST_ENTERED);
    let place = |id: &FeatureId| columns.binary_search(id).expect("candidates are gathered");
    let orders: Vec<Orders> = ensembles.threads.install(|| {
        let products: Vec<CrossProducts> =
            folds.par_iter().map(|rows| CrossProducts::of(rows, columns.len(), codings)).collect();
        let places: Vec<Vec<usize>> = candidates.iter().map(|ids| ids.iter().map(place).collect()).collect();
        let all = candidates.par_iter().zip(&places).enumerate();
        let views: Vec<View<'_>> =
            all.map(|(number, (ids, places))| View::new(&products, number.checked_sub(1), ids, places)).collect();
        let forward: Vec<Vec<usize>> =
            views.par_iter().map(|view| selection_order(&view.moments, MOST_ENTERED)).collect();
        let start = START * best_forward_size(&views[1..], &forward[1..], &sizes);
        views.par_iter().zip(forward).map(|(view, forward)| Orders::new(view, forward, start, &sizes)).collect()
    });
    let (sparse, entry): (Vec<FoldOrder>, Vec<FoldOrder>) =
        orders[1..].iter().map(|orders| (orders.sparse.clone(), orders.entry.clone())).unzip();
    let first = sparse_size(&sparse, &entry, &sizes, ensembles.entered).unwrap_or(0);
    let all = std::iter::once(&mut ensembles.main).chain(&mut ensembles.folds);
    all.zip(orders).for_each(|(member, orders)| member.order = orders.merged(first));
    Ok(())
}

fn members(ensembles: &CrossFit) -> impl Iterator<Item = &FoldedEnsemble> {
    std::iter::once(&ensembles.main).chain(&ensembles.folds)
}

/// The features of an ensemble with the most evidence, ascending.
fn candidates(member: &FoldedEnsemble, means: &[PathMeans]) -> Vec<FeatureId> {
    let (positions, _) = top_by_evidence(means, CANDIDATES);
    positions.iter().map(|&position| member.ensemble.active()[position as usize]).collect()
}

/// The rows of each fold, scaled, over some columns: all rows, or a sample by hash.
fn gather(
    ensembles: &CrossFit,
    rows: &mut BufferedRows,
    in_use: &RowsInUse,
    columns: &[FeatureId],
) -> Result<Vec<Batch>, TrainError> {
    let mut transform = ensembles.main.transform.clone();
    transform.set_active(columns);
    let entries = transform.entries(columns, rows.rows);
    let per_row = (entries / rows.rows.max(1)).max(1) + ensembles.codings.len() as u64;
    let limit = hash_limit(MAX_ENTRIES.min(MAX_PRODUCTS / per_row), entries);
    let mut folds = vec![HashedRows::default(); FOLDS as usize];
    let features = Arc::new(FeatureSet::new(columns.iter().copied(), transform.span()));
    for order in rows.store.orders(0) {
        let chunk = in_use.chunk(&mut rows.store, order, &features, &ensembles.preparation())?;
        for (example, row_hash) in chunk.rows_from(0) {
            if splitmix64(row_hash ^ 4) <= limit && example.weight > 0.0 {
                transform.restrict(example, row_hash, &mut folds[fold_of_hash(row_hash, FOLDS) as usize]);
            }
        }
    }
    Ok(folds.into_iter().map(|fold| fold.batch).collect())
}

/// The candidates of an ensemble that learns from all folds but one, which is held out, and what their orders depend on.
struct View<'a> {
    candidates: &'a [FeatureId],
    moments: RegressionMoments,
    held_out: Option<RegressionMoments>,
}

impl<'a> View<'a> {
    fn new(folds: &[CrossProducts], held_out: Option<usize>, candidates: &'a [FeatureId], places: &[usize]) -> Self {
        let own = folds.iter().enumerate().filter(|&(fold, _)| Some(fold) != held_out).map(|(_, products)| products);
        let total = CrossProducts::total(own);
        let standardisation = total.standardisation();
        View {
            candidates,
            moments: total.moments(&standardisation, places),
            held_out: held_out.map(|fold| folds[fold].moments(&standardisation, places)),
        }
    }

    /// An order of the candidates by position, and its held-out losses: those of ridge regressions on its first columns.
    fn order(&self, positions: &[usize], sizes: &[usize]) -> FoldOrder {
        let loss = |test: &RegressionMoments, size: usize| {
            let first = &positions[..size.min(positions.len())];
            test.restricted_to(first).loss(&ridge_weights(&self.moments.restricted_to(first)))
        };
        let losses = self.held_out.iter().flat_map(|test| sizes.iter().map(move |&size| loss(test, size))).collect();
        FoldOrder { features: positions.iter().map(|&position| self.candidates[position]).collect(), losses }
    }
}

/// The size at which the first features of forward selection have the least held-out loss.
fn best_forward_size(views: &[View<'_>], forward: &[Vec<usize>], sizes: &[usize]) -> usize {
    let folds: Vec<FoldOrder> =
        views.par_iter().zip(forward).map(|(view, positions)| view.order(positions, sizes)).collect();
    best_size(&folds).map_or(0, |(place, _)| sizes[place])
}

/// Both orders of the candidates of an ensemble.
struct Orders {
    entry: FoldOrder,
    sparse: FoldOrder,
}

impl Orders {
    /// `forward` is the order of forward selection; the first `start` of it are ordered by elimination.
    fn new(view: &View<'_>, forward: Vec<usize>, start: usize, sizes: &[usize]) -> Self {
        let (first, rest) = forward.split_at(start.min(forward.len()));
        let eliminated = elimination_order(&view.moments.restricted_to(first));
        let sparse: Vec<usize> = eliminated.iter().map(|&place| first[place]).chain(rest.iter().copied()).collect();
        Orders { entry: view.order(&entry_order(&view.moments), sizes), sparse: view.order(&sparse, sizes) }
    }

    /// One order: the first features of the sparse one, then those that enter.
    fn merged(&self, sparse: usize) -> Vec<FeatureId> {
        let first = &self.sparse.features[..sparse.min(self.sparse.features.len())];
        let others = self.entry.features.iter().filter(|id| !first.contains(id));
        first.iter().chain(others).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_that_enter_follow_those_of_the_sparse_order() {
        let order = |features: &[FeatureId]| FoldOrder { features: features.to_vec(), losses: Vec::new() };
        let orders = Orders { entry: order(&[4, 2, 0]), sparse: order(&[3, 0, 1, 2, 4]) };
        assert_eq!(orders.merged(0), [4, 2, 0]);
        assert_eq!(orders.merged(2), [3, 0, 4, 2]);
        assert_eq!(orders.merged(9), [3, 0, 1, 2, 4]);
    }

    #[test]
    fn the_first_features_of_forward_selection_are_ordered_by_elimination() {
        // The target is the sum of columns 0 and 1; column 2 is their mean with noise, and forward selection takes it first.
        let columns = vec![1.0, 0.0, 0.65, 0.0, 1.0, 0.65, 0.65, 0.65, 1.0];
        let half = 0.5_f64.sqrt();
        let targets = vec![vec![half, half, 1.3 * half]];
        let moments = RegressionMoments { columns, targets, target_squares: vec![1.0] };
        let view = View { candidates: &[5, 7, 9], held_out: Some(moments.clone()), moments };
        let forward = selection_order(&view.moments, 9);
        assert_eq!(forward[0], 2);
        let orders = Orders::new(&view, forward.clone(), 3, &[1, 2, 3]);
        assert_eq!(orders.sparse.features[2], 9);
        let losses = &orders.sparse.losses;
        assert!(losses[1] < losses[0] && losses[1] < orders.entry.losses[1], "{losses:?}");
        assert_eq!(Orders::new(&view, forward, 0, &[]).sparse.features[0], 9, "not if none are eliminated");
    }
}
