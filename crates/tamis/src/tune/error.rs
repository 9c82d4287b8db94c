//! What can stop a search or a repetition.

use thiserror::Error;

use crate::eval::EvalError;
use crate::io::ReadError;
use crate::param::names;
use crate::recipe::RecipeError;
use crate::train::TrainError;

/// Tuning or repeating stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum TuneError {
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Eval(#[from] EvalError),
    #[error("{name}={value}: {reason}")]
    GridPoint { name: String, value: String, reason: String },
    #[error("{name}={value}: {reason}")]
    Value { name: String, value: String, reason: Box<RecipeError> },
    #[error("{setting}: {reason}")]
    Clash { setting: String, reason: Box<RecipeError> },
    #[error("{name} is given twice: put all its values into one list")]
    AxisTwice { name: String },
    #[error("{settings} settings are more than {most}; shorten the lists")]
    TooManySettings { settings: usize, most: usize },
    #[error("{file} can be read only once, but several passes are needed: save it to a file first")]
    ReadOnce { file: String },
    #[error("{what} must lie between {low} and {high}, got {found}")]
    Range { what: &'static str, low: f64, high: f64, found: f64 },
    #[error("fold {fold} of {folds} has no rows ({rows} rows in all): use fewer folds or another seed")]
    EmptyFold { fold: u32, folds: u32, rows: u64 },
    #[error("run {run} has no rows {where_}: use another share or seed, or name a file to evaluate on")]
    EmptyShare { run: u64, where_: &'static str },
    #[error("{measure} does not apply: {reason}")]
    NotMeasured { measure: &'static str, reason: &'static str },
    #[error("labels look like classes in some folds and like numbers in others: set {}", names::TASK)]
    MixedTasks,
    #[error("no setting could be fitted: the weights of all of them diverged; lower the learning rate")]
    AllDiverged,
}
