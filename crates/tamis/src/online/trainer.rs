//! Online learners as a [`Trainer`].

use super::calibration::calibrate_rare_class;
use super::initial_step::{cap_initial_step, max_squared_norm};
use super::learner_trainer::LearnerTrainer;
use super::refit::refit;
use crate::data::{RawRows, State};
use crate::io::Block;
use crate::learners::AnyLearner;
use crate::model::Model;
use crate::param::names;
use crate::recipe::{Provenance, Recipe, RecipeError};
use crate::trainer::{BufferedRows, Checkpoint, Position, Session, TrainError, Trainer, TrainingData};

/// A training of an online learner.
pub(crate) struct OnlineTrainer {
    learners: LearnerTrainer<AnyLearner>,
}

impl OnlineTrainer {
    /// A training of the recipe's learner, from the start or from a checkpoint.
    pub(crate) fn start(
        session: &mut Session<'_>,
        rows: &mut BufferedRows,
        resume: Option<Checkpoint>,
    ) -> Result<Self, TrainError> {
        let saved = resume.as_ref().map_or(0.0, |checkpoint| checkpoint.header.position.max_squared_norm);
        let norm = if saved > 0.0 { saved } else { max_squared_norm(session.data, rows)? };
        let outputs = resume.as_ref().map_or_else(|| session.data.targets.outputs(), |saved| saved.targets().outputs());
        check_signs(session.data, outputs)?;
        let mut trainer = Self::with_norm(session, rows, norm, outputs);
        if let Some(checkpoint) = resume {
            trainer.learners.restore(checkpoint, session, rows)?;
        }
        Ok(trainer)
    }

    fn with_norm(session: &Session<'_>, rows: &BufferedRows, norm: f64, outputs: usize) -> Self {
        let data = &*session.data;
        let recipe: Recipe = cap_initial_step(&data.recipe, data.targets.loss, norm);
        let start = AnyLearner::new(&recipe, data.targets.loss_fn);
        let mut learners = LearnerTrainer::new(start, session, rows, outputs);
        learners.set_max_squared_norm(norm);
        OnlineTrainer { learners }
    }

    /// An incremental training restored from a checkpoint: no rows are needed.
    pub(crate) fn reopen(
        session: &Session<'_>,
        rows: &BufferedRows,
        checkpoint: &mut Checkpoint,
    ) -> Result<Self, TrainError> {
        let position = checkpoint.header.position.clone();
        let outputs = session.data.targets.outputs();
        let mut trainer = Self::with_norm(session, rows, position.max_squared_norm, outputs);
        let invalid = checkpoint.invalid_state();
        trainer.learners.load(&mut checkpoint.state).map_err(invalid)?;
        trainer.learners.set_position(position, session);
        let streamed = session.data.fingerprint.0 - session.data.buffered_rows.min(session.data.fingerprint.0);
        trainer.learners.set_streamed_rows(streamed);
        Ok(trainer)
    }
}

/// Signs of weights need a single output.
fn check_signs(data: &TrainingData, outputs: usize) -> Result<(), TrainError> {
    if data.recipe.method.signs().is_some() && outputs > 1 {
        let reason = "with more than two classes, each has weights of its own";
        let method = data.recipe.method.name();
        return Err(RecipeError::Unsupported { method, param: names::SIGN.into(), reason }.into());
    }
    Ok(())
}

impl Trainer for OnlineTrainer {
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        self.learners.learn_buffered(session, rows)
    }

    fn learn_block(&mut self, session: &mut Session<'_>, block: Block) -> Result<(), TrainError> {
        self.learners.learn_block(session, block)
    }

    fn flush(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        self.learners.flush(session)
    }

    fn model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        self.learners.current_model(data)
    }

    fn finish(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<Model, TrainError> {
        self.learners.end_stream(session)?;
        for name in self.learners.absent_features(session.data) {
            session.observer.note(&format!("a sign is given for {name:?}, but no row has such a feature"));
        }
        let support = self.learners.support(session.data)?;
        session.note_fewer_features(support.ids.len());
        // The rows of a training that is continued are not there any more.
        let has_all_rows = session.data.rows_before == 0;
        let is_refitted = session.data.recipe.refits() && (has_all_rows || session.data.recipe.refit == Some(true));
        let mut outputs = if is_refitted {
            refit(session, rows, &support.ids)?
        } else {
            support.outputs(self.learners.state().learners.learners(), session.data)
        };
        calibrate_rare_class(session.data, rows, &mut outputs)?;
        let mut model = self.learners.model(session.data, outputs);
        if let Provenance::Fit(recipe) = &mut model.recipe
            && recipe.refits() != is_refitted
        {
            recipe.refit = Some(is_refitted);
        }
        Ok(model)
    }

    fn margins(&self, data: &TrainingData, rows: &RawRows) -> Option<Result<Vec<f64>, TrainError>> {
        data.recipe.k.is_none().then(|| self.learners.margins(data, rows))
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
