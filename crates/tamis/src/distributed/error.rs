//! The errors of a distributed fit.

use thiserror::Error;

use crate::data::TargetError;
use crate::param::Mention;
use crate::train::TrainError;

/// Why a distributed fit stopped.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum DistributedError {
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(
        "the plan was made by Tamis {theirs}, and this worker has Tamis {ours}; install the same version on the driver \
         and all workers"
    )]
    OtherVersion { theirs: String, ours: &'static str },
    #[error("a plan or its tallies are damaged: {reason}")]
    Damaged { reason: String },
    #[error("only the method stabilized is distributed, and this is {method}")]
    Method { method: &'static str },
    #[error("{param} is not available in a distributed fit: {reason}")]
    Unsupported { param: Mention, reason: &'static str },
    #[error("the number of buckets is a power of two up to 4096, and not {found}")]
    Buckets { found: u32 },
    #[error("{what} is at least {least}, and not {found}")]
    TooSmall { what: &'static str, least: u64, found: u64 },
    #[error("there are no rows")]
    NoRows,
    #[error("no row has a value other than zero: there is nothing to learn from")]
    NoColumns,
    #[error("row {row}: feature {name:?} occurs twice")]
    Duplicate { row: usize, name: String },
    #[error(
        "bucket {bucket} gave different tallies for block {block} in two attempts: its rows have changed between them"
    )]
    Differing { block: u32, bucket: u32 },
    #[error("the tallies are those of another plan, or not all of them are there: {reason}")]
    OtherTallies { reason: String },
    #[error("the plan of the stage {kind} has no {wanted}")]
    WrongStage { kind: &'static str, wanted: &'static str },
}
