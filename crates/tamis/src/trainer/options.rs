//! The input of a training, its files and its limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::data::TaskKind;
use crate::io::{ReadOptions, Source};

/// The input of a training, its files and its limits. The recipe says what is learned.
#[derive(Clone, Debug, Default)]
pub struct FitOptions {
    /// The data.
    pub sources: Vec<Source>,
    /// How to read it.
    pub read: ReadOptions,
    /// The kind of the labels.
    pub task: TaskKind,
    /// The seed of the random order of rows, if it is not that of the recipe: the same learner sees the rows in another
    /// order. It has no effect on methods that visit rows in an order of their own.
    pub order: Option<u64>,
    /// The rows by which the number of passes is chosen, if the recipe leaves it open; `None` is those of this fit. Fits to
    /// parts of some data have the rows of all of it here, so that they make as many passes as the fit to all rows: some
    /// penalties depend on the number of steps, and a value that was chosen for two passes may be wrong for one.
    pub passes_for_rows: Option<u64>,
    /// Bytes of rows that may stay in memory between passes.
    pub memory: u64,
    /// Bytes that the learner, the names of the features and the scaling may take; `None` is no limit.
    pub max_memory: Option<u64>,
    /// The folder for rows beyond that limit.
    pub cache_folder: Option<PathBuf>,
    /// Where to save the model, if the training saves it. It is saved before the checkpoint that marks the training as
    /// complete: after a kill between the two, a resumed training gives the same model and learns nothing twice.
    pub model: Option<PathBuf>,
    /// Whether and when to save the state.
    pub checkpoint: Option<CheckpointPlan>,
    /// Whether rows that a complete training began with may be learned again when it is continued.
    pub again: bool,
    /// Whether the training is returned with the model, to be continued: see [`crate::train::Fitted::training`].
    pub keep_open: bool,
    /// Set from outside to stop the training after the current rows.
    pub stop: Arc<AtomicBool>,
}

impl FitOptions {
    /// Whether the training should stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Rows between two checkpoints.
    pub fn checkpoint_every(&self) -> Option<u64> {
        self.checkpoint.as_ref().and_then(|plan| plan.every)
    }
}

/// Where and how often to save.
#[derive(Clone, Debug)]
pub struct CheckpointPlan {
    /// The file.
    pub path: PathBuf,
    /// Rows between two checkpoints; `None` saves only at the end and on an interrupt.
    pub every: Option<u64>,
}
