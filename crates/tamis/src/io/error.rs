//! Errors of reading data.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::columnar::ColumnarError;
use crate::param::names;
use crate::parse::LineError;
use crate::parse::row_log::RowLogError;
use crate::parse::schema::SchemaError;

/// Reading failed.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ReadError {
    #[error("{}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{file}: {source}")]
    Io { file: String, source: io::Error },
    #[error("{file}: the compressed data ends early or is damaged ({source})")]
    Damaged { file: String, source: io::Error },
    #[error("{file}: it was compressed with a window above 128 MiB; compress it again with a smaller window")]
    LargeWindow { file: String },
    #[error("{file}: the extension says {named}, but the content is not {named}")]
    NotCompressed { file: String, named: &'static str },
    #[error("{file}: this build cannot read {compression} files: the cargo feature `compression` is off")]
    CompressionOff { file: String, compression: &'static str },
    #[error("{file}: the format is not known from the file name; use {}", names::FORMAT.with(super::Format::ALL.map(super::Format::name).join("|")))]
    UnknownFormat { file: String },
    #[error("{}: no data files in this directory (looked for {})", path.display(), super::source::known_extensions())]
    EmptyDirectory { path: PathBuf },
    #[error("{pattern}: no file matches")]
    NoMatch { pattern: String },
    #[error("{pattern}: not a valid pattern: {reason}")]
    BadPattern { pattern: String, reason: String },
    #[error("{file}:{line}:{column}: {problem}")]
    Line { file: String, line: u64, column: u32, problem: LineError },
    #[error("{file}: {source}")]
    Schema { file: String, source: SchemaError },
    #[error("{file}: {source}")]
    Columnar { file: String, source: ColumnarError },
    #[error("{file}: {source}")]
    Log { file: String, source: RowLogError },
    #[error("{file}: the file is empty; expected a header line")]
    NoHeader { file: String },
    #[error("{file}: its lines end with carriage returns alone (old Mac); write them with tr '\\r' '\\n'")]
    OldLineEnds { file: String },
    #[error(
        "{file}: a line is longer than {limit} bytes; is this a text file with one row per line? {} allows more",
        names::MAX_LINE
    )]
    LongLine { file: String, limit: u64 },
    #[error("{file}: a record is longer than {limit} bytes; is a quote not closed? {} allows more", names::MAX_LINE)]
    LongRecord { file: String, limit: u64 },
    #[error("{file}: it needs more than {limit} bytes on disk when decompressed; {} allows more", names::MAX_UNPACKED)]
    LargeUnpacked { file: String, limit: u64 },
    #[error("stopped while reading")]
    Interrupted,
    #[error("{file}:{line}: the name {name:?} is already in line {first}")]
    NameTwice { file: String, line: usize, name: String, first: usize },
    #[error("{file}:{line}: there is no label; expected a class or a finite number")]
    EmptyLabel { file: String, line: u64 },
    #[error("{file}: it has {labels} labels, and there are more rows")]
    FewLabels { file: String, labels: u64 },
    #[error("{file}: there are {rows} rows, and it has more labels")]
    ManyLabels { file: String, rows: u64 },
    #[error("{file}: rows that cannot be read have no place among the labels of {}; mend the file", names::LABELS)]
    UnplacedLabels { file: String },
    #[error("the matrix cannot be read: {problem}")]
    Matrix { problem: String },
    #[error("row {row}: {problem}")]
    Row { row: u64, problem: String },
    #[error("no rows in {files}")]
    NoRows { files: String },
    #[error("a temporary copy of compressed data cannot be {action}: {source}")]
    Spool { action: &'static str, source: io::Error },
}

/// The error of a matrix, its labels or its weights that cannot be read.
pub(super) fn bad_shape(problem: String) -> ReadError {
    ReadError::Matrix { problem }
}
