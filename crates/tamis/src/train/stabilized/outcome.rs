//! From rungs to a model: which one is taken, and its weights in raw units.

use super::Job;
use super::walk::Walk;
use crate::data::{Dictionary, FeatureId};
use crate::learn::stabilized::{Rung, Verdict};
use crate::model::{Model, Output, Selection, Step};
use crate::train::choose::{Weighted, output};
use crate::train::task::Targets;

/// Rungs up to this many times the chosen size keep their weights in the model, to cut it again without data.
const KEPT_SIZES: usize = 4;

/// The rung that becomes the model: the last one if a size was asked for; else the smallest that is as good as the best,
/// going down from the best and stopping where one is not. As good means an error within the standard error of a
/// difference of two errors.
pub(super) fn choose(rungs: &[Rung], k: Option<usize>) -> usize {
    let last = rungs.len() - 1;
    if k.is_some() {
        return last;
    }
    let worth: Vec<(f64, f64)> = rungs.iter().map(|rung| error_and_spread(&rung.verdict)).collect();
    let best = (0..=last).min_by(|&a, &b| worth[a].0.total_cmp(&worth[b].0)).expect("there is a rung");
    let limit = worth[best].0 + std::f64::consts::SQRT_2 * worth[best].1;
    (best..=last).take_while(|&rung| worth[rung].0 <= limit).last().expect("the best is within its own limit")
}

/// The error of a rung (the loss for numbers) and its standard error.
fn error_and_spread(verdict: &Verdict) -> (f64, f64) {
    let number = |row: &crate::learn::stabilized::RowVerdict| match verdict.error {
        Some(_) => f64::from(u8::from(row.wrong)),
        None => row.loss,
    };
    let weight: f64 = verdict.rows.iter().map(|row| row.weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = verdict.rows.iter().map(|row| row.weight * number(row)).sum::<f64>() / weight;
    let squares: f64 = verdict.rows.iter().map(|row| (row.weight * (number(row) - mean)).powi(2)).sum();
    (mean, squares.sqrt() / weight)
}

/// The model of a rung, with the ladder it stands on.
pub(super) fn finish(job: &Job<'_>, walk: &Walk, chosen: usize) -> Model {
    let rung = &walk.rungs[chosen];
    let largest = rung.active.len().saturating_mul(KEPT_SIZES);
    let kept = |rung: &Rung| if rung.active.len() <= largest { outputs(job, walk, rung) } else { Vec::new() };
    let ladder: Vec<Step> = walk.rungs.iter().map(|rung| step(rung, &job.targets, kept(rung))).collect();
    let outputs = ladder[chosen].outputs.clone();
    let selection = Selection { paths: walk.main.engine.paths(), chosen, ladder };
    Model { selection: Some(selection), ..model_of(job, walk, rung, outputs) }
}

/// A rung as a step of the ladder in the model's file.
pub(super) fn step(rung: &Rung, targets: &Targets, outputs: Vec<Output>) -> Step {
    let (unit, (_, spread)) = (targets.loss_unit(), error_and_spread(&rung.verdict));
    Step {
        size: rung.active.len(),
        gravity: rung.gravity,
        loss: rung.verdict.loss * unit,
        error: rung.verdict.error,
        standard_error: if rung.verdict.error.is_some() { spread } else { spread * unit },
        selected: rung.outputs.iter().map(|means| means.votes.iter().sum::<f64>()).fold(0.0, f64::max),
        outputs,
    }
}

/// The model of a rung by itself, with its [`outputs`].
pub(super) fn model_of(job: &Job<'_>, walk: &Walk, rung: &Rung, outputs: Vec<Output>) -> Model {
    let passes = walk.done.div_ceil(job.rows) as u32;
    job.model(outputs, passes, (rung.verdict.loss, rung.verdict.error))
}

/// The outputs of a rung as those of a model.
pub(super) fn outputs(job: &Job<'_>, walk: &Walk, rung: &Rung) -> Vec<Output> {
    raw_outputs(rung, &job.targets, &job.dictionary, |id| walk.main.sieve.column(id))
}

/// The outputs of a rung in raw units; `column` tells what a column was divided by, and the mean taken off first.
pub(super) fn raw_outputs(
    rung: &Rung,
    targets: &Targets,
    dictionary: &Dictionary,
    column: impl Fn(FeatureId) -> (f64, f64),
) -> Vec<Output> {
    let of_rung = |number: usize| {
        let (means, fit) = (&rung.outputs[number], rung.verdict.calibrations[number]);
        let weighted = |(position, &id): (usize, &FeatureId)| Weighted {
            id,
            weight: fit.slope * means.weights[position],
            column: column(id),
            stability: Some(means.votes[position]),
            evidence: Some([means.evidence[position], means.spread[position]]),
        };
        let weights = rung.active.iter().enumerate().map(weighted);
        output(targets, dictionary, number, fit.apply(means.bias), weights)
    };
    (0..rung.outputs.len()).map(of_rung).collect()
}
