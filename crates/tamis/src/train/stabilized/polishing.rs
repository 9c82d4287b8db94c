//! How far a rung's weights are moved towards the plain fit: as far as rows gain that its features were chosen without.
//!
//! Each shadow moves its own weights, fitting the rows it may see, for one ridge after the other, from endless down
//! ([`RIDGES`]). Its fold tells what that is worth. When the loss rises, the best ridge so far is taken, and the model's
//! weights are moved with it, by the rows of all folds; if it gains less than a standard error, or more rows are wrong,
//! nothing is moved.
//! See [`crate::learn::polish`] for what is minimised, and `docs/why-these-weights.md` for what it is worth.

use rayon::prelude::*;

use super::Job;
use super::prepare::share_of;
use super::walk::{Runner, Walk};
use crate::data::Batch;
use crate::learn::polish::{Problem, margins};
use crate::learn::stabilized::{Calibration, Coding, Means, Rows, Rung, Verdict, judge};
use crate::loss::{AnyLoss, LossKind};
use crate::random::mix;

/// λ, from strong to weak: the paths' weights are the first guess, and the nearest better one will do.
const RIDGES: [f64; 6] = [1e3, 1e2, 1e1, 1e0, 1e-1, 1e-2];
/// A weaker ridge is tried until the loss has risen by this share of its standard error.
const NOTICED: f64 = 0.05;
/// With fewer rows than this for each feature a plain fit says more of the rows than of the features.
const ROWS_A_FEATURE: usize = 2;
/// Entries that a rung is fitted by, at most: rows of the sample beyond are left out by their identity.
const MOST_ENTRIES: u64 = 1 << 19;

/// Moves the weights of a rung, if that is worth more than chance; its verdict is then that on the moved weights.
pub(super) fn polish(job: &Job<'_>, walk: &mut Walk, rung: &mut Rung) {
    // Rows of earlier days are not here to be fitted: what the paths remember of them would be lost.
    let remembers = job.rows_before > 0 && super::params_of(job.recipe).warm_start_decay < 1.0;
    if remembers || rung.outputs.iter().all(|means| means.weights.iter().all(|&weight| weight == 0.0)) {
        return;
    }
    let Some((main, shadows)) = gather(walk, job.rows) else { return };
    let walk = &*walk;
    let base = Base { walk, fits: rung.verdict.calibrations.clone(), intercept: job.recipe.intercept };
    let shadows = walk.shadows.iter().zip(shadows);
    let shadows: Vec<Side<'_>> = shadows.map(|(shadow, rows)| base.side(shadow, shadow.engine.means(), rows)).collect();
    let Some((ridge, verdict)) = walk.threads.install(|| best_ridge(walk, &shadows)) else { return };
    if !gains(&rung.verdict, &verdict) {
        return;
    }
    let main = base.side(&walk.main, rung.outputs.clone(), main);
    let moved = walk.threads.install(|| main.moved(&main.changes(ridge, &main.unchanged())));
    let finite = |means: &Means| means.bias.is_finite() && means.weights.iter().all(|weight| weight.is_finite());
    if moved.iter().all(finite) {
        rung.outputs = moved;
        rung.unmoved = Some(std::mem::replace(&mut rung.verdict, verdict));
    }
}

/// The rows that the model's engine is fitted by, and those of the shadows, each without its fold; `None` if they are too
/// few for their features.
fn gather(walk: &mut Walk, all_rows: u64) -> Option<(Batch, Vec<Batch>)> {
    let Walk { main, shadows, sample, threads, .. } = walk;
    let limit = share_of(MOST_ENTRIES, main.sieve.entries(main.engine.active(), all_rows));
    let rows = sample.identities.iter().filter(|&identity| mix(identity ^ 2) <= limit).count();
    if rows < ROWS_A_FEATURE * main.engine.active().len() {
        return None;
    }
    let press = |runner: &mut Runner| {
        let mut rows = Rows::default();
        for (example, identity) in sample.iter() {
            if mix(identity ^ 2) <= limit && runner.may_see(identity) {
                runner.sieve.press(example, identity, &mut rows);
            }
        }
        rows.batch
    };
    Some(threads.install(|| rayon::join(|| press(main), || shadows.par_iter_mut().map(press).collect())))
}

/// What all engines of a rung have in common.
struct Base<'a> {
    walk: &'a Walk,
    fits: Vec<Calibration>,
    intercept: bool,
}

/// An engine's weights, calibrated, and the rows they may be fitted to.
struct Side<'a> {
    rows: Batch,
    outputs: Vec<Means>,
    codings: &'a [Coding],
    judges: &'a Rows,
    loss: AnyLoss,
    intercept: bool,
}

impl<'a> Base<'a> {
    fn side(&self, runner: &'a Runner, mut outputs: Vec<Means>, rows: Batch) -> Side<'a> {
        for (means, fit) in outputs.iter_mut().zip(&self.fits) {
            means.weights.iter_mut().for_each(|weight| *weight *= fit.slope);
            means.bias = fit.apply(means.bias);
        }
        let codings = &self.walk.codings[..];
        let loss = if codings[0].class.is_some() { LossKind::Logistic.build(1.0) } else { self.walk.loss };
        Side { rows, outputs, codings, judges: runner.judges(), loss, intercept: self.intercept }
    }
}

impl Side<'_> {
    fn unchanged(&self) -> Vec<Vec<f64>> {
        self.outputs.iter().map(|means| vec![0.0; means.weights.len() + 1]).collect()
    }

    /// The changes of all outputs for a ridge, from changes near by. A ridge is that of rows of importance 1 on average, so
    /// that only ratios of importance count.
    fn changes(&self, ridge: f64, start: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let importance: f64 = self.rows.examples().map(|example| example.weight).sum();
        let ridge = ridge * importance / self.rows.len().max(1) as f64;
        let outputs = self.outputs.par_iter().zip(self.codings).zip(start);
        outputs.map(|((means, coding), start)| self.problem(means, coding).solve(ridge, start)).collect()
    }

    fn problem(&self, means: &Means, coding: &Coding) -> Problem<'_> {
        let moves = means.weights.iter().map(|&weight| weight != 0.0);
        Problem {
            rows: &self.rows,
            targets: self.rows.examples().map(|example| coding.code(example.target)).collect(),
            margins: margins(&self.rows, &means.weights, means.bias).collect(),
            free: moves.chain([self.intercept]).collect(),
            loss: self.loss,
            tolerance: Problem::TOLERANCE,
        }
    }

    /// The outputs with their weights and intercepts moved.
    fn moved(&self, changes: &[Vec<f64>]) -> Vec<Means> {
        let moved = |(means, change): (&Means, &Vec<f64>)| {
            let mut means = means.clone();
            means.weights.iter_mut().zip(change).for_each(|(weight, change)| *weight += change);
            means.bias += change[means.weights.len()];
            means
        };
        self.outputs.iter().zip(changes).map(moved).collect()
    }
}

/// The ridge of least loss before the shadows' loss rises, and the verdict on it.
fn best_ridge(walk: &Walk, shadows: &[Side<'_>]) -> Option<(f64, Verdict)> {
    let mut changes: Vec<Vec<Vec<f64>>> = shadows.iter().map(Side::unchanged).collect();
    let (mut best, mut least) = (None, told(walk, shadows, &changes).loss);
    for ridge in RIDGES {
        changes = shadows.par_iter().zip(&changes).map(|(side, start)| side.changes(ridge, start)).collect();
        let verdict = told(walk, shadows, &changes);
        // A loss that is no number ends it too.
        let rise = (verdict.loss - least) / verdict.loss_deviation();
        if rise.is_nan() || rise > NOTICED {
            break;
        }
        if verdict.loss < least {
            least = verdict.loss;
            best = Some((ridge, verdict));
        }
    }
    best
}

/// What the shadows' folds say of their moved weights.
fn told(walk: &Walk, shadows: &[Side<'_>], changes: &[Vec<Vec<f64>>]) -> Verdict {
    let mut scores: Vec<Vec<f64>> = vec![Vec::new(); walk.codings.len()];
    let mut targets = Vec::new();
    for (side, changes) in shadows.iter().zip(changes) {
        for (scores, means) in scores.iter_mut().zip(&side.moved(changes)) {
            scores.extend(margins(&side.judges.batch, &means.weights, means.bias));
        }
        targets.extend(side.judges.batch.examples().map(|example| (example.target, example.weight)));
    }
    judge(&scores, &walk.codings, &targets, walk.loss)
}

/// Whether the loss falls by more than a standard error of the difference, row by row, and no more rows are wrong.
fn gains(before: &Verdict, after: &Verdict) -> bool {
    let rows = || before.rows.iter().zip(&after.rows).map(|(before, after)| (before.weight, before.loss - after.loss));
    let total: f64 = rows().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = rows().map(|(weight, gain)| weight * gain).sum::<f64>() / total;
    let squares: f64 = rows().map(|(weight, gain)| (weight * (gain - mean)).powi(2)).sum();
    mean > squares.sqrt() / total && after.error <= before.error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::stabilized::RowVerdict;

    fn verdict(losses: &[f64]) -> Verdict {
        let rows = losses.iter().map(|&loss| RowVerdict { loss, wrong: false, weight: 1.0 }).collect();
        Verdict { calibrations: Vec::new(), loss: losses.iter().sum::<f64>() / losses.len() as f64, error: None, rows }
    }

    #[test]
    fn a_gain_counts_beyond_its_standard_error() {
        // Gains 3, 1, 1, −1: mean 1, standard error √8/4 = 0.71.
        assert!(gains(&verdict(&[4.0, 2.0, 2.0, 2.0]), &verdict(&[1.0, 1.0, 1.0, 3.0])));
        // Gains 3, 0, 0, −1: mean ½, standard error √9/4 = 0.75.
        assert!(!gains(&verdict(&[4.0, 2.0, 2.0, 2.0]), &verdict(&[1.0, 2.0, 2.0, 3.0])));
        assert!(!gains(&verdict(&[1.0, 2.0]), &verdict(&[1.0, 2.0])), "nothing gained");
        assert!(!gains(&verdict(&[1.0, 2.0]), &verdict(&[f64::NAN, 2.0])));
        let wrong = |error, verdict| Verdict { error: Some(error), ..verdict };
        let (high, low) = (|| verdict(&[4.0, 4.0]), || verdict(&[1.0, 1.0]));
        assert!(gains(&wrong(0.2, high()), &wrong(0.2, low())));
        assert!(!gains(&wrong(0.2, high()), &wrong(0.3, low())), "more rows are wrong");
    }
}
