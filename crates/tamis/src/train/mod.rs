//! Trainings: learn rows in passes, return a model, save and load the state.
//!
//! [`Training`] drives all methods. [`fit`] reads a whole stream through it; incremental training (`partial_fit`) gives
//! it rows as they arrive. A [`Checkpoint`] restores an interrupted training, or continues a complete one with new data
//! (warm start).

mod batches;
mod checkpoint_model;
mod continued;
mod fit;
mod fitted;
mod incremental;
mod narrowed;
#[cfg(test)]
mod tests;
mod training;

pub use batches::{Batches, LearnedBatch, RowBatch};
pub use fit::{fit, fit_rows};
pub use fitted::Fitted;
pub use incremental::TargetSpec;
pub(crate) use narrowed::{NarrowedColumns, fit_narrowed};
pub use training::Training;

pub use crate::trainer::{Checkpoint, CheckpointPlan, FitOptions, Observer, Progress, SizeReport, TrainError};
