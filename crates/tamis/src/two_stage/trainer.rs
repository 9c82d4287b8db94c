//! The two stages as a [`Trainer`]: hyper-parameters from the buffered rows, SGD in epochs, then feature sampling.

use std::collections::BTreeMap;

use super::epoch_sgd::EpochSgd;
use super::hyperparams::{Found, find_hyperparams};
use super::params::params_of;
use super::sampled_model::{FeatureSubset, SampledModel, gather};
use super::sampling::{Size, draw, expected_support};
use super::size::{SizeFacts, feature_scores, given_size, size_by_theorem};
use crate::data::State;
use crate::io::Block;
use crate::model::{Model, Sampling};
use crate::online::{LearnerTrainer, linear_output, refit};
use crate::param::names;
use crate::rng::{RngStream, generator};
use crate::trainer::{BufferedRows, Checkpoint, Position, Session, TrainError, Trainer, TrainingData};

/// A training in two stages.
pub(crate) struct TwoStageTrainer {
    learners: LearnerTrainer<EpochSgd>,
    /// The number of features to sample, where held-out rows chose it.
    size: Option<Size>,
    /// The parameters of the training, as the model file lists them; empty if it continues an earlier one.
    settings: BTreeMap<String, f64>,
}

impl TwoStageTrainer {
    /// A training from the start or from a checkpoint.
    pub(crate) fn start(
        session: &mut Session<'_>,
        rows: &mut BufferedRows,
        resume: Option<Checkpoint>,
    ) -> Result<Self, TrainError> {
        let Found { recipe, size, settings } = find_hyperparams(session, rows)?;
        let start = EpochSgd::for_recipe(&recipe, session.data.targets.loss_fn);
        let outputs = resume.as_ref().map_or_else(|| session.data.targets.outputs(), |saved| saved.targets().outputs());
        let learners = LearnerTrainer::new(start, session, rows, outputs);
        let mut trainer = TwoStageTrainer { learners, size, settings };
        if let Some(checkpoint) = resume {
            if checkpoint.is_complete() {
                // A continued training keeps its parameters, and its earlier rows cannot be fitted again.
                trainer.settings.clear();
            }
            trainer.learners.restore(checkpoint, session, rows)?;
        }
        Ok(trainer)
    }

    /// The strength of refinement (τ).
    fn refinement(&self) -> f64 {
        self.settings.get(names::REFINE.name).copied().unwrap_or(0.0)
    }

    /// The number of features to sample.
    fn size(&self, data: &TrainingData, scores: &[f64]) -> Size {
        let (recipe, targets) = (&data.recipe, &data.targets);
        let loss = self.learners.state().progressive.mean_loss();
        let facts = SizeFacts { scores, outputs: targets.outputs(), loss };
        given_size(recipe, targets, facts).or(self.size).unwrap_or_else(|| size_by_theorem(recipe, targets, facts))
    }

    /// Samples the features of the model, after announcing their expected number.
    fn sample(&self, session: &mut Session<'_>) -> Result<(SampledModel, Sampling), TrainError> {
        let recipe = &session.data.recipe;
        let learners = self.learners.state().learners.learners();
        let (epochs, rows) = (learners[0].epochs(), self.learners.rows_learned());
        if epochs == 0 {
            return Err(TrainError::NoEpoch { rows, first: learners[0].epoch_length() });
        }
        let law = params_of(recipe).sampling;
        let scores = feature_scores(learners, law);
        let candidates = scores.iter().filter(|score| **score != 0.0).count();
        if candidates == 0 {
            return Err(TrainError::NothingLearned { rows });
        }
        let size = self.size(session.data, &scores);
        let expected = expected_support(&scores, size);
        let draws = if let Size::Draws(draws) = size { Some(draws) } else { None };
        let sampling = Sampling { law, draws, expected, candidates, epochs, settings: self.settings.clone() };
        session.observer.before_sampling(&sampling);
        let drawn = draw(&scores, size, &mut generator(recipe.seed, RngStream::SampleFeatures, 0));
        Ok((SampledModel::of(learners, &drawn), sampling))
    }
}

impl Trainer for TwoStageTrainer {
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        self.learners.learn_buffered(session, rows)
    }

    fn needs_buffered_rows(&self) -> bool {
        self.refinement() > 0.0
    }

    fn learn_block(&mut self, session: &mut Session<'_>, block: Block) -> Result<(), TrainError> {
        self.learners.learn_block(session, block)
    }

    fn flush(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        self.learners.flush(session)
    }

    /// The model of the first stage.
    fn model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        self.learners.current_model(data)
    }

    fn finish(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<Model, TrainError> {
        self.learners.end_stream(session)?;
        if self.learners.state().learners.not_finite().is_some() {
            return Err(self.learners.divergence(session.data));
        }
        let (sampled, sampling) = self.sample(session)?;
        session.note_fewer_features(sampled.ids.len());
        let ids = sampled.ids.clone();
        let data = &*session.data;
        let outputs = if data.recipe.refits() {
            refit(session, rows, &ids)?
        } else {
            let linear = if self.refinement() > 0.0 {
                let subset = FeatureSubset::of(ids.iter().copied(), data.vocabulary.span());
                let rows = gather(data, rows, &subset, |_| true)?;
                sampled.refined(&rows, &data.targets, data.recipe.intercept, self.refinement())
            } else {
                sampled.outputs
            };
            let outputs = linear.iter().enumerate();
            outputs.map(|(number, one)| linear_output(data, number, &ids, &one.weights, one.bias)).collect()
        };
        Ok(Model { sampling: Some(sampling), ..self.learners.model(session.data, outputs) })
    }

    fn save(&self, _is_complete: bool) -> (Position, State) {
        self.learners.save()
    }

    fn rows_learned(&self) -> u64 {
        self.learners.rows_learned()
    }

    fn bytes(&self) -> usize {
        self.learners.bytes()
    }
}
