//! The errors of columnar files.

use thiserror::Error;

use super::kind::ColumnarKind;
use crate::param::names;
use crate::parse::LineError;
use crate::parse::schema::SchemaError;

/// An error while reading or writing a columnar file.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ColumnarError {
    /// A bad cell. `row` counts from 1 within the file; reading may continue after it.
    #[error("{}", row_text(*row, column.as_deref(), problem))]
    Row { row: u64, column: Option<String>, problem: LineError },
    #[error(transparent)]
    Columns(#[from] SchemaError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("this build cannot read {kind} files: the cargo feature `columnar` is off")]
    FeatureOff { kind: ColumnarKind },
    #[error("not a readable {kind} file: {reason}")]
    Damaged { kind: ColumnarKind, reason: String },
    #[error(
        "column {column:?} has type {found}; a feature is a number, a boolean, a string or a date: ignore the column with {}", names::IGNORE.with(column)
    )]
    UnsupportedType { column: String, found: String },
    #[error("the {role} column {column:?} has type {found}, but {expected} are expected")]
    RoleType { role: &'static str, column: String, found: String, expected: &'static str },
    #[error("columns {first:?} and {second:?} both hold sparse vectors; ignore one with {}", names::IGNORE.with(second))]
    ManySparse { first: String, second: String },
    #[error("the matrix is stored as {format:?}, not \"csr\"; convert with .tocsr() first")]
    NotCsr { format: String },
    #[error("the file has no array {name:?}; scipy.sparse.save_npz writes data, indices, indptr, shape and format")]
    NoArray { name: String },
    #[error(
        "the npz has no labels; add an array `y`, e.g. numpy.savez_compressed(\"train.npz\", data=X.data, \
         indices=X.indices, indptr=X.indptr, shape=X.shape, format=b\"csr\", y=y)"
    )]
    NoLabels,
    #[error("row {row} has {entries} entries, and {limit} are allowed; {} allows more", names::MAX_LINE)]
    LongRow { row: u64, entries: u64, limit: u64 },
    #[error(
        "a batch needs {needed} bytes when decompressed, and {limit} are allowed; {} allows more",
        names::MAX_UNPACKED
    )]
    LargeBatch { needed: u64, limit: u64 },
    #[error("array {name:?}: {reason}")]
    Array { name: String, reason: String },
    #[error("row {row}: feature {name:?} has a name, but an npz stores no names; convert to .parquet or .arrow")]
    NameInNpz { row: u64, name: String },
    #[error("row {row}: the feature index is 0, but npz columns are numbered from 1")]
    ZeroInNpz { row: u64 },
    #[error(
        "row {row}: label {label:?} is not a number, but an npz stores only numbers; convert to .parquet or .arrow"
    )]
    TextInNpz { row: u64, label: String },
    #[error("{entries} values are too many for one npz; convert to .parquet or .arrow")]
    LargeNpz { entries: usize },
    #[error("row {row}: feature {name:?} occurs twice")]
    Twice { row: u64, name: String },
    #[error("row {row}: feature {name:?} has a name, but the features of earlier rows had numbers")]
    LateName { row: u64, name: String },
    #[error("row {row}: label {label:?} is not a number, but the labels of earlier rows were")]
    LateText { row: u64, label: String },
}

#[cfg(feature = "columnar")]
impl ColumnarError {
    pub(super) fn damaged(kind: ColumnarKind, reason: impl std::fmt::Display) -> Self {
        ColumnarError::Damaged { kind, reason: reason.to_string() }
    }

    pub(super) fn array(name: &str, reason: impl std::fmt::Display) -> Self {
        ColumnarError::Array { name: name.to_string(), reason: reason.to_string() }
    }
}

impl ColumnarError {
    /// Whether only one row is bad, so that reading may continue.
    pub fn is_row(&self) -> bool {
        matches!(self, ColumnarError::Row { .. })
    }
}

fn row_text(row: u64, column: Option<&str>, problem: &LineError) -> String {
    let names_column = matches!(problem, LineError::Empty { .. } | LineError::NotNumeric { .. });
    match column.filter(|_| !names_column) {
        Some(column) => format!("row {row}, column {column:?}: {problem}"),
        None => format!("row {row}: {problem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_named_once() {
        let infinite = LineError::NotFinite { what: "cell", found: "inf".into() };
        let error = ColumnarError::Row { row: 7, column: Some("age".into()), problem: infinite };
        assert!(error.to_string().starts_with("row 7, column \"age\": cell \"inf\" is not finite"));
        let empty = LineError::Empty { column: "age".into() };
        let error = ColumnarError::Row { row: 7, column: Some("age".into()), problem: empty };
        assert!(error.to_string().starts_with("row 7: column \"age\" is empty"));
    }
}
