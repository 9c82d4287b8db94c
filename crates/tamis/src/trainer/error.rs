//! The errors of a training.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::data::tensor_file::TensorFileError;
use crate::data::{DuplicateFeature, RowStoreError, StateError, TargetError};
use crate::io::ReadError;
use crate::model::{ModelError, ProductError};
use crate::param::{Mention, names};
use crate::recipe::RecipeError;

/// Why a training stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum TrainError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error("{method}: {reason}")]
    Method { method: &'static str, reason: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Duplicate(#[from] DuplicateFeature),
    #[error(transparent)]
    RowStore(#[from] RowStoreError),
    #[error(
        "row {row}: the weight of {feature} is no longer a finite number; lower {} or scale the data",
        names::LEARNING_RATE
    )]
    Diverged { row: u64, feature: String },
    #[error(
        "{features} features need {} of memory, and {} are allowed{}. Use {} to bound the number of features, or {} to \
         allow more",
        size(*needed),
        size(*allowed),
        match saved { Some(path) => format!("; the state is saved in {}", path.display()), None => String::new() },
        names::HASH_BITS,
        names::MAX_MEMORY
    )]
    TooMuchMemory { features: usize, needed: u64, allowed: u64, saved: Option<PathBuf> },
    #[error("the training gives no model: {problem}")]
    NoModel { problem: String },
    #[error(
        "{features} features need {} for the paths of the stabilized learner, and {} are allowed; lower {}, raise {}, \
         or use {} or {}",
        size(*needed),
        size(*memory),
        names::N_PATHS,
        names::MEMORY,
        names::HASH_BITS,
        names::METHOD.with("ftrl")
    )]
    TooManyFeatures { features: usize, needed: u64, memory: u64 },
    #[error(
        "a label lies {largest} standard deviations ({}) from the mean, and two-stage needs {} to be as much; it is \
         {radius}. Leave it out",
        largest * spread,
        names::RADIUS
    )]
    BeyondRadius { largest: f64, spread: f64, radius: f64 },
    #[error(
        "{rows} rows are fewer than the first epoch of two-stage, {first}; give {} or less, or more {}",
        names::FIRST_EPOCH_STEPS.with(rows),
        names::PASSES
    )]
    NoEpoch { rows: u64, first: u64 },
    #[error("after {rows} rows all weights are zero: there is nothing to draw features from")]
    NothingLearned { rows: u64 },
    #[error("stopped after {rows} rows{}", match saved { Some(path) => format!("; continue with {}", names::RESUME.with(path.display())), None => String::new() })]
    Interrupted { rows: u64, saved: Option<PathBuf> },
    #[error("{}: {source}", path.display())]
    CheckpointRead { path: PathBuf, source: io::Error },
    #[error("{}: the checkpoint cannot be written: {source}; the one before is unchanged", path.display())]
    CheckpointWrite { path: PathBuf, source: io::Error },
    #[error(
        "{}: the checkpoint is not written, and the one before is unchanged: the loss of the training is not a finite \
         number; look for labels, values or weights that are far too large",
        path.display()
    )]
    CheckpointNotFinite { path: PathBuf },
    #[error("{}: another training writes this checkpoint; wait for its end, or name another file", path.display())]
    CheckpointInUse { path: PathBuf },
    #[error("{}: {source}", path.display())]
    CheckpointFile { path: PathBuf, source: TensorFileError },
    #[error("{}: {source}", path.display())]
    CheckpointState { path: PathBuf, source: StateError },
    #[error("{param} needs classes, and the labels are numbers; leave it out, or use {}", names::TASK.with("multiclass"))]
    ClassWeightOfNumbers { param: Mention },
    #[error("{} names {name:?}, which is no class; the classes are {classes}", names::CLASS_WEIGHT)]
    NoSuchClass { name: String, classes: String },
    #[error("{place}: the offset {offset} is too large; for poisson loss it is the logarithm of the exposure")]
    LargeOffset { place: String, offset: f64 },
    #[error("{place}: {source}")]
    Products { place: String, source: ProductError },
    #[error("{method} needs all rows at once: it cannot learn them as they come")]
    NotIncremental { method: &'static str },
    #[error("{param} needs all rows before learning: it cannot be used with rows that come one by one")]
    NeedsAllRows { param: Mention },
    #[error("{}: the training is not complete; give it the rest of its data first, with {}", path.display(), names::RESUME)]
    NotComplete { path: PathBuf },
    #[error(
        "{file}: the log goes on with row {first}, and the training has {rows} rows: rows are missing, or this is another \
         log"
    )]
    LogGap { file: String, first: u64, rows: u64 },
    #[error("{}: made with {was}, so it cannot continue with {now}; leave the option out", path.display())]
    OtherRecipe { path: PathBuf, was: String, now: String },
    #[error(
        "the training is complete, and the data begin with the same {rows} rows: they would be learned a second time; \
         give new data, or {} to learn them again",
        names::AGAIN
    )]
    AlreadyLearned { rows: u64 },
    #[error("{}: the data are not those the checkpoint saw: row {row}, or one before it, differs or is missing", path.display())]
    OtherData { path: PathBuf, row: u64 },
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}
