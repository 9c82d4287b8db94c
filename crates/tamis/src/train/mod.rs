//! Trainings: rows in, passes, model out, state saved and loaded.
//!
//! [`Training`] is the one driver of all methods. [`fit`] reads a whole stream through it; incremental training
//! (`partial_fit`) gives it rows whenever they come. A [`Checkpoint`] brings an interrupted training back, or continues a
//! complete one with new data (warm start).

mod checkpoint_model;
mod fit;
mod incremental;
#[cfg(test)]
mod tests;
mod training;

pub use fit::{Fitted, fit, fit_rows};
pub use incremental::TargetSpec;
pub use training::Training;

pub use crate::trainer::{Checkpoint, CheckpointPlan, FitOptions, Observer, Progress, SizeReport, TrainError};
