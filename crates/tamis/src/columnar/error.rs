//! What can be wrong with a columnar file, in words a user can act on.

use thiserror::Error;

use super::ColumnarKind;
use crate::param::names;
use crate::parse::Problem;
use crate::parse::columns::ColumnError;

/// Why a columnar file could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ColumnarError {
    /// A bad cell. `row` counts from 1 within the file; reading may go on after it.
    #[error("{}", row_text(*row, column.as_deref(), problem))]
    Row { row: u64, column: Option<String>, problem: Problem },
    #[error(transparent)]
    Columns(#[from] ColumnError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("not a readable {kind} file: {reason}")]
    Damaged { kind: ColumnarKind, reason: String },
    #[error(
        "column {column:?} is of type {found}; a feature is a number, a boolean or a string: leave the column out with \
         {}", names::IGNORE.with(column)
    )]
    UnsupportedType { column: String, found: String },
    #[error("the {role}'s column {column:?} is of type {found}; expected {expected}")]
    RoleType { role: &'static str, column: String, found: String, expected: &'static str },
    #[error("columns {first:?} and {second:?} both hold sparse vectors; leave one out with {}", names::IGNORE.with(second))]
    ManySparse { first: String, second: String },
    #[error("the matrix is stored as {format:?}, not \"csr\"; convert with .tocsr() first")]
    NotCsr { format: String },
    #[error("no array {name:?}; expected what scipy.sparse.save_npz writes: data, indices, indptr, shape and format")]
    NoArray { name: String },
    #[error(
        "the npz has no labels; add an array `y`, e.g. numpy.savez_compressed(\"train.npz\", data=X.data, \
         indices=X.indices, indptr=X.indptr, shape=X.shape, format=b\"csr\", y=y)"
    )]
    NoLabels,
    #[error("array {name:?}: {reason}")]
    Array { name: String, reason: String },
    #[error("row {row}: feature {name:?} has a name, and npz has none; convert to .parquet or .arrow")]
    NameInNpz { row: u64, name: String },
    #[error("row {row}: feature index 0; columns of an npz are numbered from 1")]
    ZeroInNpz { row: u64 },
    #[error("row {row}: label {label:?} is not a number, and an npz holds numbers; convert to .parquet or .arrow")]
    TextInNpz { row: u64, label: String },
    #[error("{entries} values are too many for one npz; convert to .parquet or .arrow")]
    LargeNpz { entries: usize },
    #[error("row {row}: feature {name:?} comes twice")]
    Twice { row: u64, name: String },
    #[error("row {row}: feature {name:?} has a name, but those of the rows before had numbers")]
    LateName { row: u64, name: String },
    #[error("row {row}: label {label:?} is not a number, but those of the rows before were")]
    LateText { row: u64, label: String },
}

impl ColumnarError {
    pub(super) fn damaged(kind: ColumnarKind, reason: impl std::fmt::Display) -> Self {
        ColumnarError::Damaged { kind, reason: reason.to_string() }
    }

    pub(super) fn array(name: &str, reason: impl std::fmt::Display) -> Self {
        ColumnarError::Array { name: name.to_string(), reason: reason.to_string() }
    }

    /// Whether only a row is bad, and reading may go on.
    pub fn is_row(&self) -> bool {
        matches!(self, ColumnarError::Row { .. })
    }
}

fn row_text(row: u64, column: Option<&str>, problem: &Problem) -> String {
    let names_column = matches!(problem, Problem::Empty { .. } | Problem::NotNumeric { .. });
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
        let infinite = Problem::NotFinite { what: "cell", found: "inf".into() };
        let error = ColumnarError::Row { row: 7, column: Some("age".into()), problem: infinite };
        assert!(error.to_string().starts_with("row 7, column \"age\": cell \"inf\" is not finite"));
        let empty = Problem::Empty { column: "age".into() };
        let error = ColumnarError::Row { row: 7, column: Some("age".into()), problem: empty };
        assert!(error.to_string().starts_with("row 7: column \"age\" is empty"));
    }
}
