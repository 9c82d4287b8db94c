//! Sizes between those that the paths learn, and below the smallest of them.
//!
//! The paths learn sizes that halve. At the end of a stage of at most 512 features, the sizes down to the next
//! one are made of it: the main ensemble and each fold ensemble keep their own first features (`feature_order.rs`), and
//! the weights of these are refined with the ridge of the size they come from (`refinement.rs`). Each is evaluated on the
//! held-out rows like any other size. Below the last size they go down to a single feature. The sizes that are left are
//! evaluated without a refinement (`cut_sizes.rs`).
//!
//! Cost: one refinement with one ridge for each size, at most 2¹⁹ entries of rows.

use rayon::prelude::*;

use super::cross_fit::CrossFit;
use super::cut_sizes::cut_scores;
use super::ensemble::SizeStep;
use super::folded_ensemble::FoldedEnsemble;
use super::refinement::{FoldWeights, RefinementRows, Refit, Refitted, has_memory};
use super::sizes::sizes_between;
use super::stage::PathMeans;
use crate::trainer::TrainingData;

/// The ridge of sizes whose next larger size was not refined: without some features, the weights of the others must move.
const RIDGE: f64 = 10.0;

/// The sizes between a finished one and the next; `next` is that.
pub(super) fn intermediate_sizes(
    data: &TrainingData,
    ensembles: &CrossFit,
    rows: &RefinementRows,
    step: &SizeStep,
    weights: &FoldWeights,
    next: usize,
) -> Vec<SizeStep> {
    if step.outputs.iter().all(PathMeans::has_no_weights) {
        // All smaller sizes predict the same.
        return Vec::new();
    }
    let sizes = sizes_between(step.active.len(), next);
    let refit = Refit { data, ensembles, rows, calibrations: &step.holdout.calibrations };
    let size = |(number, &size): (usize, &usize)| {
        let (positions, _) = ensembles.main.first(&step.outputs, size);
        let main = masked(&step.outputs, &positions);
        let fold = |(fold, means): (&FoldedEnsemble, &Vec<PathMeans>)| masked(means, &fold.first(means, size).0);
        let folds: Vec<Vec<PathMeans>> = ensembles.folds.iter().zip(&weights.means).map(fold).collect();
        let may_refine = rows.are_enough_for(size) && !has_memory(data);
        let ridge = may_refine.then_some(weights.ridge.unwrap_or(RIDGE));
        let Refitted { main, folds, holdout } = refit.with_ridge(&main, &folds, ridge);
        let step = SizeStep {
            active: positions.iter().map(|&position| step.active[position as usize]).collect(),
            gravity: step.gravity,
            outputs: main.iter().map(|means| restricted(means, &positions)).collect(),
            holdout,
            before_refinement: None,
            cuts: Vec::new(),
        };
        let cuts = cut_scores(ensembles, &step, &folds, sizes.get(number + 1).copied().unwrap_or(next));
        SizeStep { cuts, ..step }
    };
    ensembles.threads.install(|| sizes.par_iter().enumerate().map(size).collect())
}

/// The means with weights at some positions (ascending) only.
fn masked(outputs: &[PathMeans], positions: &[u32]) -> Vec<PathMeans> {
    let masked = |means: &PathMeans| {
        let mut weights = vec![0.0; means.weights.len()];
        positions.iter().for_each(|&position| weights[position as usize] = means.weights[position as usize]);
        PathMeans { weights, ..means.clone() }
    };
    outputs.iter().map(masked).collect()
}

/// The means at some positions.
fn restricted(means: &PathMeans, positions: &[u32]) -> PathMeans {
    let at = |list: &[f64]| positions.iter().map(|&position| list[position as usize]).collect();
    PathMeans {
        bias: means.bias,
        weights: at(&means.weights),
        evidence: at(&means.evidence),
        spread: at(&means.spread),
        frequency: at(&means.frequency),
    }
}
