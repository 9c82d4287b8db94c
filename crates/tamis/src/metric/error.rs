//! What can go wrong between rows, a metric and its file.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::param::{Message, names};
use crate::read::ReadError;
use crate::train::TrainError;

/// A metric cannot be learned, saved, loaded or used.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum MetricError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Labels(#[from] TrainError),
    #[error("{0}")]
    Choice(Message),
    #[error("the labels are numbers to be predicted, and a metric needs classes: use {} if they are", names::TASK.with("multiclass"))]
    Numbers,
    #[error("class {label} has {}; {}", rows_of(*found), needs(*needed))]
    FewRows { label: String, found: usize, needed: usize },
    #[error("no variable varies: there is nothing to measure distances by")]
    NothingVaries,
    #[error(
        "{rows} rows of {variables} variables need {} MiB, and {} MiB are allowed: take fewer rows or columns \
         (a fit with {} finds which), or raise {}", needed >> 20, limit >> 20, names::K, names::MEMORY
    )]
    TooLarge { rows: usize, variables: usize, needed: u64, limit: u64 },
    #[error("{place}: label {found} is not one the metric knows ({known})")]
    UnknownLabel { place: String, found: String, known: String },
    #[error("no rows to measure on")]
    NoRows,
    #[error("{}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}; what was there before is unchanged", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: not a file of a tamis metric: {reason}", path.display())]
    NotAMetric { path: PathBuf, reason: String },
    #[error("{}: damaged: its checksum does not fit", path.display())]
    Damaged { path: PathBuf },
    #[error("{}: written by format {version}, this build reads up to {newest}; upgrade tamis", path.display())]
    Newer { path: PathBuf, version: u32, newest: u32 },
    #[error("stopped; nothing was written")]
    Interrupted,
}

fn rows_of(count: usize) -> String {
    if count == 1 { "one row".into() } else { format!("{count} rows") }
}

fn needs(count: usize) -> String {
    match count {
        2 => "every class needs two: a row has no neighbour of its own class otherwise; leave the class out".into(),
        _ => format!(
            "cross-validation needs {count} of every class: leave the class out, or learn one family without it ({})",
            names::PRESET.with("order-1")
        ),
    }
}
