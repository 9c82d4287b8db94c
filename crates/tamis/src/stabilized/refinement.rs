//! How far the weights of a size are refined: as far as the held-out loss falls.
//!
//! Each fold ensemble refines its own weights on the rows it may see, for one ridge after the other, from strong to
//! weak ([`RIDGES`]), and is evaluated on its fold. When the held-out loss rises, the best ridge so far is taken, and
//! the weights of the model are refined with it on the rows of all folds. If the gain is less than a standard error, or
//! more rows are misclassified, the weights stay as they are. [`crate::refine`] defines the objective,
//! `docs/why-these-weights.md` reports the gain.

use rayon::prelude::*;

use super::cross_fit::CrossFit;
use super::ensemble::SizeStep;
use super::feature_order::LARGEST;
use super::folded_ensemble::FoldedEnsemble;
use super::holdout::{HoldoutScore, evaluate};
use super::params::params_of;
use super::rows_in_use::RowsInUse;
use super::setup::hash_limit;
use super::stage::{ClassCoding, PathMeans};
use super::subsamples::HashedRows;
use crate::data::Batch;
use crate::loss::{AnyLoss, LossKind};
use crate::platt::Calibration;
use crate::refine::{Prepared, Refinement, margins};
use crate::rng::splitmix64;
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// λ, from strong to weak: the search starts at the weights of the paths and stops at the first minimum.
const RIDGES: [f64; 6] = [1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2];
/// Weaker ridges are tried until the loss has risen by this share of its standard error.
const MAX_RISE: f64 = 0.05;
/// The tolerance of [`Refit::with_ridge`], which many sizes need: the loss of a row, where the noise is that of √n rows.
const CLOSE: f64 = 1.0;
/// With fewer rows for each feature, the weights would be fitted to noise.
const ROWS_PER_FEATURE: usize = 2;
/// Entries that a size is refined with, at most: the hash of a row decides whether it is used.
const MAX_ENTRIES: u64 = 1 << 19;

/// The weights of the fold ensembles at a size.
pub(super) struct FoldWeights {
    /// The means of each fold ensemble.
    pub(super) means: Vec<Vec<PathMeans>>,
    /// The ridge that they were refined with, if they were.
    pub(super) ridge: Option<f64>,
}

/// Whether the paths know rows of earlier trainings. These are not available, and a fit without them would lose what
/// the paths have learned from them.
pub(super) fn has_memory(data: &TrainingData) -> bool {
    data.rows_before > 0 && params_of(&data.recipe).warm_start_decay < 1.0
}

/// Refines the weights of a size if the held-out loss falls by more than chance; its score is then that of the new
/// weights. Returns the weights of the fold ensembles, whose means are given.
pub(super) fn refine(
    data: &TrainingData,
    ensembles: &CrossFit,
    rows: &RefinementRows,
    step: &mut SizeStep,
    means: Vec<Vec<PathMeans>>,
) -> FoldWeights {
    let unchanged = FoldWeights { means, ridge: None };
    let is_empty = step.outputs.iter().all(PathMeans::has_no_weights);
    if has_memory(data) || is_empty || !rows.are_enough_for(step.active.len()) {
        return unchanged;
    }
    let refit = Refit { data, ensembles, rows, calibrations: &step.holdout.calibrations };
    let folds = refit.folds(&unchanged.means);
    let found = ensembles.threads.install(|| best_ridge(ensembles, &folds));
    let Some((ridge, changes, holdout)) = found.filter(|(_, _, holdout)| gains(&step.holdout, holdout)) else {
        return unchanged;
    };
    let main = refit.main(&step.outputs);
    let moved =
        ensembles.threads.install(|| main.moved(&main.problem(Refinement::TOLERANCE).solve(ridge, &main.no_change())));
    if !are_finite(&moved) {
        return unchanged;
    }
    let means = moved_by(&folds, &changes);
    step.outputs = moved;
    step.before_refinement = Some(std::mem::replace(&mut step.holdout, holdout));
    FoldWeights { means, ridge: Some(ridge) }
}

/// The outputs of each member with changed weights.
fn moved_by(members: &[Member<'_>], changes: &[Changes]) -> Vec<Vec<PathMeans>> {
    members.iter().zip(changes).map(|(member, changes)| member.moved(changes)).collect()
}

fn are_finite(outputs: &[PathMeans]) -> bool {
    outputs.iter().all(|means| means.bias.is_finite() && means.weights.iter().all(|weight| weight.is_finite()))
}

/// Weights after a refinement, or as they were, and their held-out score.
pub(super) struct Refitted {
    pub(super) main: Vec<PathMeans>,
    pub(super) folds: Vec<Vec<PathMeans>>,
    pub(super) holdout: HoldoutScore,
}

/// Weights of a size that may be fitted anew.
pub(super) struct Refit<'a> {
    pub(super) data: &'a TrainingData,
    pub(super) ensembles: &'a CrossFit,
    pub(super) rows: &'a RefinementRows,
    /// The calibrations of the size.
    pub(super) calibrations: &'a [Calibration],
}

impl<'a> Refit<'a> {
    fn main(&self, outputs: &[PathMeans]) -> Member<'a> {
        self.member(&self.ensembles.main, outputs, &self.rows.main)
    }

    fn folds(&self, outputs: &[Vec<PathMeans>]) -> Vec<Member<'a>> {
        let folds = self.ensembles.folds.iter().zip(outputs).zip(&self.rows.folds);
        folds.map(|((fold, outputs), rows)| self.member(fold, outputs, rows)).collect()
    }

    fn member(&self, member: &'a FoldedEnsemble, outputs: &[PathMeans], rows: &'a Batch) -> Member<'a> {
        Member::new(self.ensembles, member, outputs, rows, self.calibrations, &self.data.recipe)
    }

    /// The weights of the main ensemble and of the fold ensembles after one refinement with a given ridge, and their
    /// held-out score; without refinement if there is no ridge, or if the loss does not fall.
    pub(super) fn with_ridge(&self, main: &[PathMeans], folds: &[Vec<PathMeans>], ridge: Option<f64>) -> Refitted {
        let (main, folds) = (self.main(main), self.folds(folds));
        let before: Vec<Changes> = folds.iter().map(Member::no_change).collect();
        let score = holdout_score(self.ensembles, &folds, &before);
        if let Some(ridge) = ridge {
            let changes = |member: &Member<'_>, start: &Changes| member.problem(CLOSE).solve(ridge, start);
            let after: Vec<Changes> =
                folds.par_iter().zip(&before).map(|(member, start)| changes(member, start)).collect();
            let refined = holdout_score(self.ensembles, &folds, &after);
            if refined.loss < score.loss {
                let moved = main.moved(&changes(&main, &main.no_change()));
                if are_finite(&moved) {
                    return Refitted { main: moved, folds: moved_by(&folds, &after), holdout: refined };
                }
            }
        }
        let folds = folds.into_iter().map(|fold| fold.outputs).collect();
        Refitted { main: main.outputs, folds, holdout: score }
    }
}

/// The rows that a size is refined with.
#[derive(Default)]
pub(super) struct RefinementRows {
    main: Batch,
    /// Those of the fold ensembles, each without its fold.
    folds: Vec<Batch>,
}

impl RefinementRows {
    /// Whether so many weights may be fitted to them.
    pub(super) fn are_enough_for(&self, features: usize) -> bool {
        self.main.len() >= ROWS_PER_FEATURE * features
    }
}

/// The rows that the present size is refined with; none if they are too few for a large size.
pub(super) fn gather(
    ensembles: &mut CrossFit,
    rows: &mut BufferedRows,
    in_use: &mut RowsInUse,
    all_rows: u64,
) -> Result<RefinementRows, TrainError> {
    let main = &ensembles.main;
    let features = main.ensemble.active().len();
    let limit = hash_limit(MAX_ENTRIES, main.transform.entries(main.ensemble.active(), all_rows));
    let limit = limit.min(ensembles.sample_limit);
    let count = ensembles.row_hashes.iter().filter(|&row_hash| splitmix64(row_hash ^ 2) <= limit).count();
    if features > LARGEST && count < ROWS_PER_FEATURE * features {
        return Ok(RefinementRows::default());
    }
    let sample = sample(ensembles, rows, in_use)?;
    let CrossFit { main, folds, threads, .. } = ensembles;
    let restrict = |member: &mut FoldedEnsemble| {
        let mut rows = HashedRows::default();
        for (example, row_hash) in sample.iter() {
            if splitmix64(row_hash ^ 2) <= limit && member.trains_on(row_hash) {
                member.transform.restrict(example, row_hash, &mut rows);
            }
        }
        rows.batch
    };
    let (main, folds) =
        threads.install(|| rayon::join(|| restrict(main), || folds.par_iter_mut().map(restrict).collect()));
    ensembles.sample = Some(sample);
    Ok(RefinementRows { main, folds })
}

/// The sampled rows over the features in use: those of the size before, or of the row store for the first size that needs them.
fn sample(ensembles: &mut CrossFit, rows: &mut BufferedRows, in_use: &mut RowsInUse) -> Result<HashedRows, TrainError> {
    let features = ensembles.features_in_use();
    if let Some(sample) = ensembles.sample.take() {
        return Ok(sample.filtered(|id| features.contains(id)));
    }
    let mut sample = HashedRows::default();
    for order in rows.store.orders(0) {
        let chunk = in_use.chunk(&mut rows.store, order, &features, &ensembles.preparation())?;
        in_use.keep(&chunk, &features, &rows.store);
        for (example, row_hash) in chunk.rows_from(0) {
            if splitmix64(row_hash ^ 2) <= ensembles.sample_limit {
                sample.batch.push_mapped(example, |_, value| value);
                sample.row_hashes.push(row_hash);
            }
        }
    }
    Ok(sample)
}

/// The change of each weight and, last, of the intercept, for each output.
type Changes = Vec<Vec<f64>>;

/// An ensemble's calibrated weights, and the rows they may be fitted to.
struct Member<'a> {
    rows: &'a Batch,
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
        outputs: &[PathMeans],
        rows: &'a Batch,
        calibrations: &[Calibration],
        recipe: &crate::recipe::Recipe,
    ) -> Self {
        let mut outputs = outputs.to_vec();
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

    /// What its weights may be fitted to, ready to be solved for several ridges.
    fn problem(&self, tolerance: f64) -> Problem {
        let prepared = |(means, coding)| self.refinement(means, coding, tolerance).prepare();
        Problem {
            outputs: self.outputs.par_iter().zip(self.codings).map(prepared).collect(),
            weight: self.rows.weights().iter().sum(),
            rows: self.rows.len().max(1) as f64,
        }
    }

    fn refinement(&self, means: &PathMeans, coding: &ClassCoding, tolerance: f64) -> Refinement<'_> {
        let is_selected = means.weights.iter().map(|&weight| weight != 0.0);
        Refinement {
            rows: self.rows,
            targets: self.rows.examples().map(|example| coding.output.code(example.target)).collect(),
            margins: margins(self.rows, &means.weights, means.bias).collect(),
            is_free: is_selected.chain([self.intercept]).collect(),
            loss: self.loss,
            tolerance,
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

/// The refinement problem of each output of a member.
struct Problem {
    outputs: Vec<Prepared>,
    /// The sum of the importance weights of the rows, and their number.
    weight: f64,
    rows: f64,
}

impl Problem {
    /// The changes of all outputs for a ridge, starting from given changes. The ridge assumes rows of mean weight 1, so
    /// that only ratios of weights matter.
    fn solve(&self, ridge: f64, start: &[Vec<f64>]) -> Changes {
        let ridge = ridge * self.weight / self.rows;
        self.outputs.par_iter().zip(start).map(|(output, start)| output.solve(ridge, start)).collect()
    }
}

/// The ridge with the least held-out loss before the loss rises, the changes of the folds, and its score.
fn best_ridge(ensembles: &CrossFit, folds: &[Member<'_>]) -> Option<(f64, Vec<Changes>, HoldoutScore)> {
    let mut changes: Vec<Changes> = folds.iter().map(Member::no_change).collect();
    let (mut best, mut least) = (None, holdout_score(ensembles, folds, &changes).loss);
    let problems: Vec<Problem> = folds.par_iter().map(|member| member.problem(Refinement::TOLERANCE)).collect();
    for ridge in RIDGES {
        changes = problems.par_iter().zip(&changes).map(|(problem, start)| problem.solve(ridge, start)).collect();
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
    let gain = before.loss_above(after);
    gain.mean > gain.standard_error && after.error <= before.error
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
