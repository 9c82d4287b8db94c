//! `preset = "paper"`: the published algorithm over rows in memory, one run for each output.

use super::sieve::Sieve;
use super::{Job, TrainError};
use crate::data::{Batch, Example, FeatureId};
use crate::learn::stabilized::Rows;
use crate::learn::stabilized::paper::{Outcome, Settings, run};
use crate::model::{Feature, Model, Output, Seen};
use crate::read::Held;
use crate::train::fit::Fitted;
use crate::train::head::Decoder;
use crate::train::progress::Observer;
use crate::train::task::Kind;

/// Learns a model as the paper does.
pub(super) fn learn(
    mut job: Job<'_>,
    mut held: Held,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    let mut sieve = Sieve::new(&job.dictionary, &job.scale, job.recipe);
    let active: Vec<FeatureId> = job.dictionary.ids().filter(|&id| !sieve.is_key(id)).collect();
    sieve.set_active(&active);
    let rows = rows(&mut job, &mut held, &mut sieve)?;
    let settings = Settings {
        intercept: job.recipe.intercept && settings.intercept,
        passes: job.recipe.passes.unwrap_or(settings.passes),
        ..settings.clone()
    };
    let needed = settings.bytes(rows.len(), active.len(), rows.entries());
    if needed > job.options.memory.max(super::MEMORY_AT_LEAST) {
        return Err(TrainError::TooManyFeatures { features: active.len(), needed, memory: job.options.memory });
    }
    let mut outcomes = Vec::new();
    for output in 0..job.targets.learners() {
        let mut coded = Batch::new();
        for example in rows.examples() {
            coded.push(Example { target: job.targets.code(example.target, output), ..example });
        }
        outcomes.push(run(&coded, job.targets.built, &settings, job.recipe.seed, job.options.read.threads)?);
        observer.tick(output as u64 + 1, Some(job.targets.learners() as u64), 0);
    }
    let rows_learned = outcomes.iter().map(|outcome| outcome.examples).sum();
    let model = model(&job, &sieve, &active, &outcomes, settings.passes);
    if let Some(path) = &job.options.model {
        model.save(path)?;
    }
    Ok(Fitted { model, rows_learned, memory: needed as usize, skipped: job.skipped.1 })
}

/// All rows, scaled, with targets that are numbers or class numbers.
fn rows(job: &mut Job<'_>, held: &mut Held, sieve: &mut Sieve) -> Result<Batch, TrainError> {
    let texts = job.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let mut rows = Rows::default();
    held.pass(0, |group| {
        for example in group.examples() {
            let target = decoder.target(example.target, &mut job.targets)?;
            sieve.press(Example { target, ..example }, 0, &mut rows);
        }
        Ok::<bool, TrainError>(true)
    })?;
    Ok(rows.batch)
}

fn model(job: &Job<'_>, sieve: &Sieve, active: &[FeatureId], outcomes: &[Outcome], passes: u32) -> Model {
    let (middle, unit) = match job.targets.kind {
        Kind::Numbers { centre, spread } => (centre, spread),
        Kind::Classes { .. } => (0.0, 1.0),
    };
    let class = |number: usize| match &job.targets.kind {
        Kind::Classes { classes, single: false, .. } => Some(classes[number].clone()),
        _ => None,
    };
    let output = |(number, outcome): (usize, &Outcome)| {
        let weighted = outcome.weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let feature = |(position, weight): (usize, &f64)| {
            let id = active[position];
            let (scale, centre) = sieve.column(id);
            let (name, bucket) = (job.dictionary.name(id), job.dictionary.bucket(id));
            let stability = Some(outcome.frequency[position]);
            Feature { name, weight: weight * unit / scale, scale, centre, stability, evidence: None, bucket }
        };
        let mut features: Vec<Feature> = weighted.map(feature).collect();
        let effect = |feature: &Feature| (feature.weight * feature.scale).abs();
        features.sort_by(|a, b| effect(b).total_cmp(&effect(a)).then_with(|| a.name.cmp(&b.name)));
        let centred: f64 = features.iter().map(|feature| feature.weight * feature.centre).sum();
        Output { class: class(number), intercept: middle + unit * outcome.bias - centred, features }
    };
    let last = |outcome: &Outcome| outcome.history.last().map_or(0.0, |stage| stage.loss);
    let loss = outcomes.iter().map(last).sum::<f64>() / outcomes.len().max(1) as f64;
    Model {
        recipe: job.recipe.clone().into(),
        loss: job.targets.loss,
        row_scale: job.recipe.row_scaling(),
        task: job.targets.task(),
        columns: job.columns.clone(),
        seen: Seen {
            rows: job.rows,
            passes,
            features: job.dictionary.len() as u64,
            skipped: job.skipped.0,
            progressive_loss: loss * job.targets.loss_unit(),
            progressive_error: None,
        },
        outputs: outcomes.iter().enumerate().map(output).collect(),
        selection: None,
    }
}
