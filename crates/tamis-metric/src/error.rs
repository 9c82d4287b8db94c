//! Errors of learning, saving, loading and using a metric.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use tamis::data::tensor_file::TensorFileError;
use tamis::data::{DuplicateFeature, TargetError};
use tamis::io::ReadError;
use tamis::train::TrainError;

use super::param::Param;

/// A metric cannot be learned, saved, loaded or used.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum MetricError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Duplicate(#[from] DuplicateFeature),
    #[error("{} must be {}", .0.name(), .0.range())]
    OutOfRange(Param),
    #[error("unknown candidate {name:?}; the candidates are {}", known.join(", "))]
    UnknownCandidate { name: String, known: &'static [&'static str] },
    #[error("no candidate was given")]
    NoCandidate,
    #[error("{0}")]
    Invalid(String),
    #[error("the labels are numeric targets; a metric needs classes")]
    Numbers,
    #[error("class {label} has {}; {}", rows_of(*found), needs(*needed))]
    FewRows { label: String, found: usize, needed: usize },
    #[error("all variables are constant")]
    NothingVaries,
    #[error(
        "{rows} rows of {variables} variables need {} MiB of memory; the limit is {} MiB", needed >> 20, limit >> 20
    )]
    TooLarge { rows: usize, variables: usize, needed: u64, limit: u64 },
    #[error("{place}: label {found} is not a class of the metric ({known})")]
    UnknownLabel { place: String, found: String, known: String },
    #[error("there are no rows to evaluate")]
    NoRows,
    #[error("{}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}; the old file is unchanged", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: not written, and an old file is unchanged: {reason}", path.display())]
    NotSaved { path: PathBuf, reason: String },
    #[error("{}: not a tamis metric file: {reason}", path.display())]
    NotAMetric { path: PathBuf, reason: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: TensorFileError },
    #[error("stopped; nothing was written")]
    Interrupted,
}

fn rows_of(count: usize) -> String {
    if count == 1 { "one row".into() } else { format!("{count} rows") }
}

fn needs(count: usize) -> String {
    match count {
        2 => "every class needs at least two rows".into(),
        _ => format!("cross-validation needs at least {count} rows of every class"),
    }
}
