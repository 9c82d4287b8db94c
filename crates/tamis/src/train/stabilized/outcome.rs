//! From rungs to a model: which one is taken, and its weights in raw units.

use super::Job;
use super::walk::Walk;
use crate::data::{Dictionary, FeatureId};
use crate::learn::stabilized::{Rung, smallest_as_good};
use crate::model::{Model, Output, Selection, Step};
use crate::train::choose::{Weighted, output};
use crate::train::task::Targets;

/// Rungs up to this many times the chosen size keep their weights in the model, to cut it again without data.
const KEPT_SIZES: usize = 4;

/// The rung that becomes the model: the last one if a size was asked for, else the smallest that is as good as the best,
/// by what the paths themselves made of it. Fitted weights make more of weak features; how few are wanted is not their say.
pub(super) fn choose(rungs: &[Rung], k: Option<usize>) -> usize {
    match k {
        Some(_) => rungs.len() - 1,
        None => smallest_as_good(
            &rungs.iter().map(|rung| rung.unmoved.as_ref().unwrap_or(&rung.verdict)).collect::<Vec<_>>(),
        ),
    }
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
    let (unit, deviation) = (targets.loss_unit(), rung.verdict.deviation());
    Step {
        size: rung.active.len(),
        gravity: rung.gravity,
        loss: rung.verdict.loss * unit,
        error: rung.verdict.error,
        standard_error: if rung.verdict.error.is_some() { deviation } else { deviation * unit },
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
