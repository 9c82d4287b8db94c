//! How far the weights of a size are refined: as far as the held-out loss falls.
//!
//! Each fold ensemble refines its own weights on the rows it may see, for one ridge after the other, from strong to
//! weak ([`RIDGES`]), and is evaluated on its fold. When the held-out loss rises, the best ridge so far is taken, and
//! the weights of the model are refined with it on the rows of all folds. If the gain is less than a standard error, or
//! more rows are misclassified, the weights stay as they are. [`crate::refine`] defines the objective,
//! `docs/why-these-weights.md` reports the gain.

use rayon::prelude::*;

use super::cross_fit::{CrossFit, FoldedEnsemble};
use super::ensemble::SizeStep;
use super::holdout::{HoldoutScore, evaluate};
use super::params::params_of;
use super::platt::Calibration;
use super::setup::hash_limit;
use super::stage::{ClassCoding, PathMeans};
use super::subsamples::HashedRows;
use crate::data::Batch;
use crate::loss::{AnyLoss, LossKind};
use crate::refine::{Refinement, margins};
use crate::rng::splitmix64;
use crate::select::Estimate;
use crate::trainer::TrainingData;

/// λ, from strong to weak: the search starts at the weights of the paths and stops at the first minimum.
const RIDGES: [f64; 6] = [1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2];
/// Weaker ridges are tried until the loss has risen by this share of its standard error.
const MAX_RISE: f64 = 0.05;
/// With fewer rows for each feature, the weights would be fitted to noise.
const ROWS_PER_FEATURE: usize = 2;
/// Entries that a size is refined with, at most: the hash of a row decides whether it is used.
const MAX_ENTRIES: u64 = 1 << 19;

/// Refines the weights of a size if the held-out loss falls by more than chance; its score is then that of the new
/// weights. Returns the refined means of the fold ensembles.
pub(super) fn refine(
    data: &TrainingData,
    ensembles: &mut CrossFit,
    step: &mut SizeStep,
) -> Option<Vec<Vec<PathMeans>>> {
    // Rows of earlier trainings are not available, and a fit without them would lose what the paths have learned from
    // them.
    let has_memory = data.rows_before > 0 && params_of(&data.recipe).warm_start_decay < 1.0;
    if has_memory || step.outputs.iter().all(|means| means.weights.iter().all(|&weight| weight == 0.0)) {
        return None;
    }
    let (main, folds) = gather(ensembles, data.fingerprint.0)?;
    let ensembles = &*ensembles;
    let calibrations = &step.holdout.calibrations[..];
    let member = |member, outputs, rows| Member::new(ensembles, member, outputs, rows, calibrations, &data.recipe);
    let folds = ensembles.folds.iter().zip(folds);
    let folds: Vec<Member<'_>> = folds.map(|(fold, rows)| member(fold, fold.ensemble.means(), rows)).collect();
    let (ridge, changes, holdout) = ensembles.threads.install(|| best_ridge(ensembles, &folds))?;
    if !gains(&step.holdout, &holdout) {
        return None;
    }
    let main = member(&ensembles.main, step.outputs.clone(), main);
    let moved = ensembles.threads.install(|| main.moved(&main.changes(ridge, &main.no_change())));
    let finite = |means: &PathMeans| means.bias.is_finite() && means.weights.iter().all(|weight| weight.is_finite());
    if !moved.iter().all(finite) {
        return None;
    }
    step.outputs = moved;
    step.before_refinement = Some(std::mem::replace(&mut step.holdout, holdout));
    Some(folds.iter().zip(&changes).map(|(fold, changes)| fold.moved(changes)).collect())
}

/// The rows that the main ensemble is refined with, and those of the fold ensembles, each without its fold; `None` if
/// they are too few for their features.
fn gather(ensembles: &mut CrossFit, all_rows: u64) -> Option<(Batch, Vec<Batch>)> {
    let CrossFit { main, folds, sample, threads, .. } = ensembles;
    let limit = hash_limit(MAX_ENTRIES, main.transform.entries(main.ensemble.active(), all_rows));
    let rows = sample.row_hashes.iter().filter(|&row_hash| splitmix64(row_hash ^ 2) <= limit).count();
    if rows < ROWS_PER_FEATURE * main.ensemble.active().len() {
        return None;
    }
    let restrict = |member: &mut FoldedEnsemble| {
        let mut rows = HashedRows::default();
        for (example, row_hash) in sample.iter() {
            if splitmix64(row_hash ^ 2) <= limit && member.trains_on(row_hash) {
                member.transform.restrict(example, row_hash, &mut rows);
            }
        }
        rows.batch
    };
    Some(threads.install(|| rayon::join(|| restrict(main), || folds.par_iter_mut().map(restrict).collect())))
}

/// An ensemble's calibrated weights, and the rows they may be fitted to.
struct Member<'a> {
    rows: Batch,
    outputs: Vec<PathMeans>,
    codings: &'a [ClassCoding],
    holdout_rows: &'a HashedRows,
    loss: AnyLoss,
    intercept: bool,
}

impl<'a> Member<'a> {
    fn new(
        ensembles: &'a CrossFit,
        member: &'a FoldedEnsemble,
        mut outputs: Vec<PathMeans>,
        rows: Batch,
        calibrations: &[Calibration],
        recipe: &crate::recipe::Recipe,
    ) -> Self {
        for (means, calibration) in outputs.iter_mut().zip(calibrations) {
            means.weights.iter_mut().for_each(|weight| *weight *= calibration.slope);
            means.bias = calibration.apply(means.bias);
        }
        let codings = &ensembles.codings[..];
        let is_classes = codings[0].output.class.is_some();
        let loss = if is_classes { LossKind::Logistic.build(1.0) } else { ensembles.loss };
        Member { rows, outputs, codings, holdout_rows: member.holdout_rows(), loss, intercept: recipe.intercept }
    }

    fn no_change(&self) -> Vec<Vec<f64>> {
        self.outputs.iter().map(|means| vec![0.0; means.weights.len() + 1]).collect()
    }

    /// The changes of all outputs for a ridge, starting from given changes. The ridge assumes rows of mean weight 1, so
    /// that only ratios of weights matter.
    fn changes(&self, ridge: f64, start: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let importance: f64 = self.rows.examples().map(|example| example.weight).sum();
        let ridge = ridge * importance / self.rows.len().max(1) as f64;
        let outputs = self.outputs.par_iter().zip(self.codings).zip(start);
        outputs.map(|((means, coding), start)| self.refinement(means, coding).solve(ridge, start)).collect()
    }

    fn refinement(&self, means: &PathMeans, coding: &ClassCoding) -> Refinement<'_> {
        let is_selected = means.weights.iter().map(|&weight| weight != 0.0);
        Refinement {
            rows: &self.rows,
            targets: self.rows.examples().map(|example| coding.output.code(example.target)).collect(),
            margins: margins(&self.rows, &means.weights, means.bias).collect(),
            is_free: is_selected.chain([self.intercept]).collect(),
            loss: self.loss,
            tolerance: Refinement::TOLERANCE,
        }
    }

    /// The outputs with changed weights and intercepts.
    fn moved(&self, changes: &[Vec<f64>]) -> Vec<PathMeans> {
        let moved = |(means, change): (&PathMeans, &Vec<f64>)| {
            let mut means = means.clone();
            means.weights.iter_mut().zip(change).for_each(|(weight, change)| *weight += change);
            means.bias += change[means.weights.len()];
            means
        };
        self.outputs.iter().zip(changes).map(moved).collect()
    }
}

/// The ridge with the least held-out loss before the loss rises, the changes of the folds, and its score.
fn best_ridge(ensembles: &CrossFit, folds: &[Member<'_>]) -> Option<(f64, Vec<Vec<Vec<f64>>>, HoldoutScore)> {
    let mut changes: Vec<Vec<Vec<f64>>> = folds.iter().map(Member::no_change).collect();
    let (mut best, mut least) = (None, holdout_score(ensembles, folds, &changes).loss);
    for ridge in RIDGES {
        changes = folds.par_iter().zip(&changes).map(|(member, start)| member.changes(ridge, start)).collect();
        let holdout = holdout_score(ensembles, folds, &changes);
        // A loss that is NaN ends the search, too.
        let rise = (holdout.loss - least) / holdout.loss_standard_error();
        if rise.is_nan() || rise > MAX_RISE {
            break;
        }
        if holdout.loss < least {
            least = holdout.loss;
            best = Some((ridge, changes.clone(), holdout));
        }
    }
    best
}

/// The score of changed weights on the held-out rows of all folds.
fn holdout_score(ensembles: &CrossFit, folds: &[Member<'_>], changes: &[Vec<Vec<f64>>]) -> HoldoutScore {
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); ensembles.codings.len()];
    let mut targets = Vec::new();
    for (member, changes) in folds.iter().zip(changes) {
        for (scores, means) in scores.iter_mut().zip(&member.moved(changes)) {
            scores.extend(margins(&member.holdout_rows.batch, &means.weights, means.bias));
        }
        targets.extend(member.holdout_rows.batch.examples().map(|example| (example.target, example.weight)));
    }
    evaluate(&scores, &ensembles.codings, &targets, ensembles.loss)
}

/// Whether the loss falls by more than a standard error of the difference, row by row, and no more rows are
/// misclassified.
fn gains(before: &HoldoutScore, after: &HoldoutScore) -> bool {
    let gain = |(before, after): (&super::holdout::RowScore, &super::holdout::RowScore)| {
        (before.weight, before.loss - after.loss)
    };
    let Estimate { mean, standard_error } = Estimate::of(before.rows.iter().zip(&after.rows).map(gain));
    mean > standard_error && after.error <= before.error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stabilized::holdout::RowScore;

    fn score(losses: &[f64]) -> HoldoutScore {
        let rows = losses.iter().map(|&loss| RowScore { loss, wrong: false, weight: 1.0 }).collect();
        HoldoutScore {
            calibrations: Vec::new(),
            loss: losses.iter().sum::<f64>() / losses.len() as f64,
            error: None,
            rows,
        }
    }

    #[test]
    fn a_gain_counts_beyond_its_standard_error() {
        // Gains 3, 1, 1, −1: mean 1, standard error √8/4 = 0.71.
        assert!(gains(&score(&[4.0, 2.0, 2.0, 2.0]), &score(&[1.0, 1.0, 1.0, 3.0])));
        // Gains 3, 0, 0, −1: mean ½, standard error √9/4 = 0.75.
        assert!(!gains(&score(&[4.0, 2.0, 2.0, 2.0]), &score(&[1.0, 2.0, 2.0, 3.0])));
        assert!(!gains(&score(&[1.0, 2.0]), &score(&[1.0, 2.0])), "nothing gained");
        assert!(!gains(&score(&[1.0, 2.0]), &score(&[f64::NAN, 2.0])));
        let wrong = |error, score| HoldoutScore { error: Some(error), ..score };
        let (high, low) = (|| score(&[4.0, 4.0]), || score(&[1.0, 1.0]));
        assert!(gains(&wrong(0.2, high()), &wrong(0.2, low())));
        assert!(!gains(&wrong(0.2, high()), &wrong(0.3, low())), "more rows are wrong");
    }
}
