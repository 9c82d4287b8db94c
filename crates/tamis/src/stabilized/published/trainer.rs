//! The published algorithm over rows in memory, one run for each output, as a [`Trainer`].

use std::ops::ControlFlow;

use super::{Outcome, bytes, run_watched};
use crate::data::{Batch, Example, FeatureId, State};
use crate::io::Block;
use crate::model::{Model, TrainingSummary};
use crate::recipe::{MethodParams, PublishedParams};
use crate::stabilized::params::check_bytes;
use crate::stabilized::row_transform::RowTransform;
use crate::stabilized::subsamples::HashedRows;
use crate::trainer::{BufferedRows, Position, ScaledWeight, Session, TrainError, Trainer, TrainingData, output};

/// A training of the published algorithm.
#[derive(Default)]
pub(crate) struct PublishedTrainer {
    /// The active features, with divisor and mean of their columns.
    active: Vec<(FeatureId, (f64, f64))>,
    outcomes: Vec<Outcome>,
    passes: u32,
    bytes: u64,
}

impl PublishedTrainer {
    /// Learns one output. If there is only one, the observer is shown each stage.
    fn run_output(
        &self,
        session: &mut Session<'_>,
        number: usize,
        rows: &Batch,
        params: &PublishedParams,
    ) -> Result<Outcome, TrainError> {
        let (data, options) = (&*session.data, session.options);
        let (observer, threads) = (&mut *session.observer, session.threads);
        let outputs = data.targets.outputs();
        let one = rows.len() as u64 * u64::from(params.passes);
        let all = one * outputs as u64;
        let mut stopped_at = None;
        let (loss, seed) = (data.targets.loss_fn, data.recipe.seed);
        let outcome = run_watched(rows, loss, params, seed, threads, &mut |now| {
            let steps = now.stage.steps;
            observer.tick((number as u64 * one + steps).min(all), Some(all), 0);
            if observer.wants_models() && outputs == 1 {
                let (weights, bias) = now.model();
                let outcome = Outcome { weights, bias, ..Outcome::default() };
                observer.model(steps, &self.model_of(data, &[outcome]));
            }
            if options.is_stopped() {
                stopped_at = Some(steps);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        let outcome = outcome
            .map_err(|error| TrainError::Method { method: data.recipe.method.name(), reason: error.to_string() })?;
        match stopped_at {
            Some(rows) => Err(TrainError::Interrupted { rows, saved: None }),
            None => Ok(outcome),
        }
    }

    fn model_of(&self, data: &TrainingData, outcomes: &[Outcome]) -> Model {
        let of_outcome = |(number, outcome): (usize, &Outcome)| {
            let weighted = |(position, &weight): (usize, &f64)| ScaledWeight {
                id: self.active[position].0,
                weight,
                column: self.active[position].1,
                // Between stages there is no selection frequency yet.
                frequency: outcome.frequency.get(position).copied(),
                evidence: None,
            };
            let weights = outcome.weights.iter().enumerate().map(weighted);
            output(&data.targets, &data.vocabulary, number, outcome.bias, weights)
        };
        let last = |outcome: &Outcome| outcome.history.last().map_or(0.0, |stage| stage.loss);
        let loss = outcomes.iter().map(last).sum::<f64>() / outcomes.len().max(1) as f64;
        let summary = TrainingSummary {
            passes: self.passes,
            progressive_loss: loss * data.targets.loss_unit(),
            progressive_error: None,
            ..TrainingSummary::default()
        };
        data.model(outcomes.iter().enumerate().map(of_outcome).collect(), summary)
    }
}

/// All rows, scaled, with targets that are numbers or class numbers.
fn scaled_rows(rows: &mut BufferedRows, transform: &mut RowTransform) -> Result<Batch, TrainError> {
    let mut scaled = HashedRows::default();
    for chunk in rows.store.chunks(0) {
        chunk?.examples().for_each(|example| transform.scale_and_restrict(example, 0, &mut scaled));
    }
    Ok(scaled.batch)
}

impl Trainer for PublishedTrainer {
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        let data = &*session.data;
        let mut transform = RowTransform::new(&data.vocabulary, &data.scale, &data.recipe);
        let active: Vec<FeatureId> = data.vocabulary.ids().collect();
        transform.set_active(&active);
        let rows = scaled_rows(rows, &mut transform)?;
        self.active = active.into_iter().map(|id| (id, transform.column(id))).collect();
        let MethodParams::StabilizedPublished(params) = &data.recipe.method else {
            unreachable!("{} is not stabilized-published", data.recipe.method.name())
        };
        let params = PublishedParams {
            intercept: data.recipe.intercept && params.intercept,
            passes: data.recipe.passes.unwrap_or(params.passes),
            ..params.clone()
        };
        self.passes = params.passes;
        self.bytes = bytes(&params, rows.len(), self.active.len(), rows.entries());
        check_bytes(session, self.active.len(), self.bytes)?;
        for number in 0..session.data.targets.outputs() {
            let coding = session.data.targets.coding(number);
            let mut coded = Batch::new();
            rows.examples().for_each(|row| coded.push(Example { target: coding.code(row.target), ..row }));
            let outcome = self.run_output(session, number, &coded, &params)?;
            self.outcomes.push(outcome);
        }
        Ok(())
    }

    fn learn_block(&mut self, _session: &mut Session<'_>, _block: Block) -> Result<(), TrainError> {
        unreachable!("all rows are buffered")
    }

    fn flush(&mut self, _session: &mut Session<'_>) -> Result<(), TrainError> {
        Ok(())
    }

    fn model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        Ok(self.model_of(data, &self.outcomes))
    }

    fn finish(&mut self, session: &mut Session<'_>, _rows: &mut BufferedRows) -> Result<Model, TrainError> {
        self.model(session.data)
    }

    fn save(&self, _is_complete: bool) -> (Position, State) {
        (Position { done: self.rows_learned(), ..Position::default() }, State::default())
    }

    fn rows_learned(&self) -> u64 {
        self.outcomes.iter().map(|outcome| outcome.examples).sum()
    }

    fn bytes(&self) -> usize {
        self.bytes as usize
    }
}
