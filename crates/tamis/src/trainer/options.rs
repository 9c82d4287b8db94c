//! Where rows come from, and what happens on the way.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::data::TaskKind;
use crate::io::{ReadOptions, Source};

/// Where the rows come from and what happens on the way. What is learned is in the recipe.
#[derive(Clone, Debug, Default)]
pub struct FitOptions {
    /// The data.
    pub sources: Vec<Source>,
    /// How to read it.
    pub read: ReadOptions,
    /// What the labels are.
    pub task: TaskKind,
    /// The seed of the random order of rows, where it is not the recipe's: the same learner sees the rows in another order.
    /// It has no effect on a method that visits rows in an order of its own.
    pub order: Option<u64>,
    /// Bytes of rows that may stay in memory between passes.
    pub memory: u64,
    /// The folder for rows beyond that.
    pub cache_folder: Option<PathBuf>,
    /// Where the model is saved, if the training is to save it. It is saved before the checkpoint that marks the training
    /// as complete: after a kill between the two, a resumed training ends in the same model and learns nothing twice.
    pub model: Option<PathBuf>,
    /// Whether and when to save the state.
    pub checkpoint: Option<CheckpointPlan>,
    /// Whether the training itself is returned with the model, to continue: see [`crate::train::Fitted::training`].
    pub keep_open: bool,
    /// Set from outside to stop after the current rows.
    pub stop: Arc<AtomicBool>,
}

impl FitOptions {
    /// Whether the training is asked to stop.
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
    /// Rows between two saves; `None` saves at the end and on an interrupt only.
    pub every: Option<u64>,
}
