//! The errors of a run.

use thiserror::Error;

use crate::param::names;
use crate::recipe::RecipeError;

/// A run could not start, or was stopped.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PublishedError {
    /// A parameter is outside its interval.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// Row numbers are kept in 32 bits.
    #[error("stabilized-published holds at most 4294967295 rows in memory, got {rows}; give it a part of them")]
    TooManyRows {
        /// The number of rows.
        rows: usize,
    },
    /// Weights or losses are no longer finite.
    #[error(
        "stabilized-published, stage {stage}: the weights are no longer finite; lower {} (now {rate}) or scale the data",
        names::LEARNING_RATE
    )]
    Diverged {
        /// The stage in which it happened.
        stage: u64,
        /// η.
        rate: f64,
    },
}
