//! `stabilized-published`: the published algorithm over rows in memory, one run for each output.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use super::sieve::Sieve;
use super::{Job, TrainError};
use crate::data::{Batch, Example, FeatureId};
use crate::learn::stabilized::Rows;
use crate::learn::stabilized::paper::{Outcome, bytes, run_watched};
use crate::model::Model;
use crate::read::Held;
use crate::recipe::PublishedParams;
use crate::train::choose::{Weighted, output};
use crate::train::fit::Fitted;
use crate::train::head::Decoder;
use crate::train::progress::Observer;

/// Learns a model as the paper does.
pub(super) fn learn(
    mut job: Job<'_>,
    mut held: Held,
    settings: &PublishedParams,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    let mut sieve = Sieve::new(&job.dictionary, &job.scale, job.recipe);
    let active: Vec<FeatureId> = job.dictionary.ids().filter(|&id| !sieve.is_key(id)).collect();
    sieve.set_active(&active);
    let rows = rows(&mut job, &mut held, &mut sieve)?;
    let settings = PublishedParams {
        intercept: job.recipe.intercept && settings.intercept,
        passes: job.recipe.passes.unwrap_or(settings.passes),
        ..settings.clone()
    };
    let needed = bytes(&settings, rows.len(), active.len(), rows.entries());
    if needed > job.options.memory.max(super::MEMORY_AT_LEAST) {
        return Err(TrainError::TooManyFeatures { features: active.len(), needed, memory: job.options.memory });
    }
    let mut outcomes = Vec::new();
    for output in 0..job.targets.learners() {
        let mut coded = Batch::new();
        for example in rows.examples() {
            coded.push(Example { target: job.targets.code(example.target, output), ..example });
        }
        outcomes.push(run_output(&job, &sieve, (output, &active), &coded, &settings, observer)?);
    }
    let rows_learned = outcomes.iter().map(|outcome| outcome.examples).sum();
    let model = model(&job, &sieve, &active, &outcomes, settings.passes);
    if let Some(path) = &job.options.model {
        model.save(path)?;
    }
    Ok(Fitted { model, rows_learned, memory: needed as usize, skipped: job.skipped.1, open: None })
}

/// Learns one output. A single one is shown stage by stage to who wants to see it.
fn run_output(
    job: &Job<'_>,
    sieve: &Sieve,
    (output, active): (usize, &[FeatureId]),
    rows: &Batch,
    settings: &PublishedParams,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    let one = rows.len() as u64 * u64::from(settings.passes);
    let all = one * job.targets.learners() as u64;
    let mut stopped_at = None;
    let outcome =
        run_watched(rows, job.targets.built, settings, job.recipe.seed, job.options.read.threads, &mut |now| {
            let steps = now.stage.steps;
            observer.tick((output as u64 * one + steps).min(all), Some(all), 0);
            if observer.wants_models() && job.targets.learners() == 1 {
                let (weights, bias) = now.model();
                let outcome = Outcome { weights, bias, ..Outcome::default() };
                observer.model(steps, &model(job, sieve, active, &[outcome], settings.passes));
            }
            match job.options.stop.load(Ordering::Relaxed) {
                true => {
                    stopped_at = Some(steps);
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            }
        })?;
    match stopped_at {
        Some(rows) => Err(TrainError::Interrupted { rows, saved: None }),
        None => Ok(outcome),
    }
}

/// All rows, scaled, with targets that are numbers or class numbers.
fn rows(job: &mut Job<'_>, held: &mut Held, sieve: &mut Sieve) -> Result<Batch, TrainError> {
    let texts = job.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let mut rows = Rows::default();
    held.pass(0, |group| {
        for example in group.examples() {
            let target = decoder.target(example.target, &mut job.targets)?;
            sieve.strain(Example { target, ..example }, 0, &mut rows);
        }
        Ok::<bool, TrainError>(true)
    })?;
    Ok(rows.batch)
}

fn model(job: &Job<'_>, sieve: &Sieve, active: &[FeatureId], outcomes: &[Outcome], passes: u32) -> Model {
    let of_outcome = |(number, outcome): (usize, &Outcome)| {
        let weighted = |(position, &weight): (usize, &f64)| Weighted {
            id: active[position],
            weight,
            column: sieve.column(active[position]),
            // Between stages nobody has counted yet.
            stability: outcome.frequency.get(position).copied(),
            evidence: None,
        };
        output(&job.targets, &job.dictionary, number, outcome.bias, outcome.weights.iter().enumerate().map(weighted))
    };
    let last = |outcome: &Outcome| outcome.history.last().map_or(0.0, |stage| stage.loss);
    let loss = outcomes.iter().map(last).sum::<f64>() / outcomes.len().max(1) as f64;
    job.model(outcomes.iter().enumerate().map(of_outcome).collect(), passes, (loss, None))
}
