//! What can stop a run.

use thiserror::Error;

use crate::param::names;
use crate::recipe::RecipeError;

/// The run was not started, or stopped.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PaperError {
    /// A parameter is outside its interval.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// Row numbers are kept in 32 bits.
    #[error("stabilized-published holds at most 4294967295 rows in memory, got {rows}; give it a part of them")]
    TooManyRows {
        /// How many came.
        rows: usize,
    },
    /// Weights or losses are no longer finite.
    #[error(
        "stabilized-published, stage {stage}: the weights are no longer finite; lower {} (now {rate}) or scale the data",
        names::LEARNING_RATE
    )]
    Diverged {
        /// The stage that saw it.
        stage: u64,
        /// η.
        rate: f64,
    },
}
