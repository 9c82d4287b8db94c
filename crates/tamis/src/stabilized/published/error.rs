//! What can stop a run.

use thiserror::Error;

/// The run was not started, or stopped.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PaperError {
    /// A setting is outside its interval.
    #[error("preset paper: {name} must be {expected}, got {found}")]
    Setting {
        /// The field.
        name: &'static str,
        /// What was given.
        found: f64,
        /// Its interval in words.
        expected: &'static str,
    },
    /// Row numbers are kept in 32 bits.
    #[error("preset paper holds at most 4294967295 rows in memory, got {rows}; give it a part of them")]
    TooManyRows {
        /// How many came.
        rows: usize,
    },
    /// Weights or losses are no longer finite.
    #[error("preset paper, stage {stage}: the weights are no longer finite; lower rate (now {rate}) or scale the data")]
    Diverged {
        /// The stage that saw it.
        stage: u64,
        /// η.
        rate: f64,
    },
}
