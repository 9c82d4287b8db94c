//! Everything that a trainer may use while it learns.

use std::path::PathBuf;

use super::checkpoint::{Position, write_checkpoint};
use super::error::TrainError;
use super::observer::Observer;
use super::options::{CheckpointPlan, FitOptions};
use super::training_data::TrainingData;
use crate::data::State;
use crate::threads::Threads;

/// Everything that a trainer may use while it learns.
pub(crate) struct Session<'a> {
    pub(crate) data: &'a mut TrainingData,
    pub(crate) options: &'a FitOptions,
    pub(crate) threads: &'a Threads,
    pub(crate) observer: &'a mut dyn Observer,
    /// Bytes of input read so far.
    pub(crate) bytes_read: u64,
    /// The number of other threads that read the rows to come.
    pub(crate) reading_threads: usize,
    /// The number of features for which memory is reserved.
    pub(crate) width: usize,
    /// Whether rows come in small pieces and a model is needed after each: rows are then learned at once.
    pub(crate) is_incremental: bool,
}

impl Session<'_> {
    /// Whether checkpoints are wanted.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.options.checkpoint.is_some()
    }

    /// Writes a checkpoint if one is wanted; returns its path.
    pub(crate) fn save(&self, trainer: (Position, State), is_complete: bool) -> Result<Option<PathBuf>, TrainError> {
        let Some(CheckpointPlan { path, .. }) = &self.options.checkpoint else { return Ok(None) };
        let (position, state) = trainer;
        write_checkpoint(path, self.data, position, is_complete, &state)?;
        Ok(Some(path.clone()))
    }

    /// Refuses to go on if `learner` bytes, the names and the scaling take more memory than is allowed.
    pub(crate) fn check_memory(
        &self,
        learner: usize,
        state: impl FnOnce() -> Option<(Position, State)>,
    ) -> Result<(), TrainError> {
        let needed = (learner + self.data.vocabulary.bytes() + self.data.scale.bytes()) as u64;
        let Some(allowed) = self.options.max_memory.filter(|&allowed| needed > allowed) else { return Ok(()) };
        let saved = state().map_or(Ok(None), |state| self.save(state, false))?;
        Err(TrainError::TooMuchMemory { features: self.data.vocabulary.len(), needed, allowed, saved })
    }

    /// Writes a checkpoint that is due. If that fails (a full disk), the one before is still there: the training goes
    /// on, and the user is told.
    pub(crate) fn save_and_go_on(&mut self, trainer: (Position, State)) -> Result<(), TrainError> {
        match self.save(trainer, false) {
            Err(error @ TrainError::CheckpointWrite { .. }) => {
                self.observer.note(&format!("{error}; the training goes on"));
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

impl Session<'_> {
    /// Notes that the model has fewer features than requested.
    pub(crate) fn note_fewer_features(&mut self, found: usize) {
        if let Some(k) = self.data.recipe.k.filter(|&k| found < k) {
            let seen = self.data.vocabulary.len();
            self.observer.note(&format!(
                "{k} features were asked for, but only {found} of the {seen} features seen have a non-zero weight"
            ));
        }
    }
}
