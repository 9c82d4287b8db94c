//! Errors of moments and their files.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::data::tensor_file::TensorFileError;
use crate::data::{DuplicateFeature, TargetError};
use crate::io::ReadError;
use crate::param::{Message, names};

/// Moments cannot be computed, merged, saved or loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum MomentsError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Duplicate(#[from] DuplicateFeature),
    #[error("{0}")]
    Choice(Message),
    #[error(
        "{columns} columns need {} of memory{}, but the limit is {}: {}", size(*needed), copies(*folds), size(*limit),
        advice(*fits)
    )]
    TooWide { columns: u64, folds: usize, needed: u64, limit: u64, fits: u64 },
    #[error("a fold of the moments has more than 2^48 rows, which no file can hold")]
    TooManyRows,
    #[error("no column {name:?} in the data{}", if near.is_empty() { String::new() } else { format!("; there are {near}") })]
    NoColumn { name: String, near: String },
    #[error("cannot {verb} moments of {} and of {} folds: make both with the same {}", folds[0], folds[1], names::MOMENTS_FOLDS)]
    OtherFolds { verb: String, folds: [usize; 2] },
    #[error("cannot {verb}: one has a numeric target and the other has classes; set {}", names::TASK)]
    OtherTask { verb: String },
    #[error("cannot {verb}: the column {name:?} is in one table and not in the other")]
    OtherTable { verb: String, name: String },
    #[error("{name:?} is a column of one and not of the other{}", same_features(*screened))]
    OtherColumn { name: String, screened: bool },
    #[error("{0}")]
    Differ(String),
    #[error(
        "cannot subtract {part} rows from {whole} rows (weight {weight} would remain); the subtracted rows must be a proper part"
    )]
    NothingLeft { whole: u64, part: u64, weight: f64 },
    #[error("the variance of {column} would be negative: the subtracted rows are not among those of these moments")]
    NotAPart { column: String },
    #[error(
        "{rows} rows are to be subtracted, and some of them were never added to these moments, or were subtracted before"
    )]
    NeverAdded { rows: u64 },
    #[error(
        "these {rows} rows are in the moments already: they would count twice; use {} if they should",
        names::AGAIN
    )]
    Twice { rows: u64 },
    #[error(
        "the squares of {column:?} add up to more than a floating-point number holds; look for values that are far too \
         large, or scale the column"
    )]
    NotFinite { column: String },
    #[error("the weights of the rows add up to more than a floating-point number holds; scale them")]
    WeightsNotFinite,
    #[error("{}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}; the old file is unchanged", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: not a tamis-moments file: {reason}", path.display())]
    NotMoments { path: PathBuf, reason: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: TensorFileError },
    #[error("stopped after {rows} rows; nothing was written")]
    Interrupted { rows: u64 },
}

/// A number of bytes with a unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

fn same_features(screened: bool) -> String {
    if screened {
        format!("; both need the same features: use {} for the second", names::FEATURES_OF)
    } else {
        String::new()
    }
}

fn copies(folds: usize) -> String {
    if folds > 1 { format!(" ({folds} folds)") } else { String::new() }
}

fn advice(fits: u64) -> String {
    format!(
        "{} keeps the {fits} columns most correlated with the target, {} allows more, and a fit with {} learns online \
         without this memory",
        names::SCREEN.with(fits),
        names::MEMORY,
        names::K
    )
}
