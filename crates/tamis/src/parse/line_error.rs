//! Errors of a line, with advice.

use thiserror::Error;

use crate::param::names;

/// The longest name in files whose text is stored once and repeated for every row. In lines of text, the longest line
/// is the limit.
pub const LONGEST_NAME: usize = 1 << 16;

/// A line error: its position in the block, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseError {
    /// The line within the block, from 0.
    pub line: u32,
    /// The byte within the line, from 1.
    pub column: u32,
    /// The reason.
    pub problem: LineError,
}

/// The reason of a line error.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum LineError {
    #[error("{what} {found:?} is not a number")]
    NotANumber { what: &'static str, found: String },
    #[error("{what} {found:?} is not finite; remove it, or use {} or {} for NaN", names::MISSING.with("zero"), names::MISSING.with("skip-row"))]
    NotFinite { what: &'static str, found: String },
    #[error("{what} {found:?} is too large for a floating-point number")]
    TooLarge { what: &'static str, found: String },
    #[error("a name of {length} bytes is too long; names may have {} bytes", LONGEST_NAME)]
    LongName { length: usize },
    #[error("the row has {entries} entries, and {limit} are allowed; {} allows more", names::MAX_LINE)]
    LongRow { entries: u64, limit: u64 },
    #[error("expected index:value, found {found:?}")]
    NoColon { found: String },
    #[error("feature index {found:?} is not a whole number")]
    BadIndex { found: String },
    #[error("feature index 0 in a 1-based file; use {} if indices start at 0", names::ZERO_BASED)]
    IndexZero,
    #[error("feature index {found} is larger than 4294967294")]
    IndexTooLarge { found: String },
    #[error("feature index {found} occurs twice")]
    DuplicateIndex { found: u32 },
    #[error("feature index {found} after {before}: indices must ascend")]
    DescendingIndex { found: u32, before: u32 },
    #[error("feature {name:?} occurs twice")]
    DuplicateName { name: String },
    #[error("the line has no label")]
    NoLabel,
    #[error("label {found:?} is a list; rows with several labels are not supported")]
    ManyLabels { found: String },
    #[error("importance weight {found:?} is not a number of at least 0")]
    BadWeight { found: String },
    #[error("expected '|' before the features")]
    NoBar,
    #[error("an initial prediction ({found:?}) is not supported; remove it")]
    Base { found: String },
    #[error("a quotation mark opens this field, and none closes it")]
    OpenQuote,
    #[error("{found} fields where the header has {expected}")]
    Ragged { expected: usize, found: usize },
    #[error(
        "column {column:?}: {found:?} is not a number; use {} if it means a missing value, or {} if the column holds \
         categories",
        names::NA.with(found), names::CATEGORICAL.with(column)
    )]
    NotNumeric { column: String, found: String },
    #[error(
        "column {column:?}: {found:?} is not a date; use {} if it means a missing value, or {} if the column holds \
         categories",
        names::NA.with(found), names::CATEGORICAL.with(column)
    )]
    NotADate { column: String, found: String },
    #[error("column {column:?} is empty; use {}, {} or {}", names::MISSING.with("mean"), names::MISSING.with("zero"), names::MISSING.with("skip-row"))]
    Empty { column: String },
    #[error("the label {column:?} is missing; use {} to leave such rows out", names::MISSING.with("skip-row"))]
    NoLabelCell { column: String },
    #[error("not valid UTF-8; use {} for other encodings", names::ENCODING)]
    NotUtf8,
    #[error("not a JSON object {{\"y\": …, \"x\": {{name: value}}}}: {reason}")]
    Json { reason: String },
    #[error("not a flat JSON object {{\"column\": value, …}}: {reason}")]
    FlatJson { reason: String },
    #[error("{0}")]
    Other(String),
}
