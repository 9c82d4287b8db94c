//! Tables of columns to rows and back: Parquet, Arrow IPC (file or stream) and scipy's npz.
//!
//! A dense table is read as CSV is: a column of numbers is a feature called by the column, a column of strings holds
//! categories `column=value`. A table may hold sparse vectors instead: a column `struct<indices, values>` (also as
//! Spark writes its vectors), or `struct<names, values>`, or two list columns `indices` and `values`. An npz is a CSR
//! matrix; its column `j` is feature `j + 1`, as in the svmlight file of the same matrix.
//!
//! Memory is bounded: rows come in blocks of at most [`BLOCK_ROWS`] rows and about [`BLOCK_ENTRIES`] features.

mod arrow;
mod cells;
mod error;
mod ipc;
mod layout;
mod message;
mod npy;
mod npz;
mod parquet;
mod vectors;
mod write;
mod write_npz;

#[cfg(test)]
mod testing;

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::arrow::array::RecordBatch;
use ::arrow::datatypes::Schema;
use ::arrow::error::ArrowError;

pub use error::ColumnarError;
pub use write::{ColumnarWriter, writer};

use self::layout::Layout;
use crate::data::ParsedRows;
use crate::parse::columns::{ColumnOptions, Columns};

/// Rows a block holds at most.
pub const BLOCK_ROWS: usize = 8192;
/// Features after which a block takes no further row.
pub const BLOCK_ENTRIES: usize = 1 << 20;

/// The columnar formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnarKind {
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC: the file format (Feather version 2) or the stream format.
    Ipc,
    /// A CSR matrix as `scipy.sparse.save_npz` writes it.
    Npz,
    /// Record batches in memory.
    Memory,
}

impl fmt::Display for ColumnarKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnarKind::Parquet => "Parquet",
            ColumnarKind::Ipc => "Arrow IPC",
            ColumnarKind::Npz => "npz",
            ColumnarKind::Memory => "Arrow",
        })
    }
}

/// Rows made, rows refused, and where in the file they began.
struct Block {
    rows: ParsedRows,
    refused: Vec<ColumnarError>,
    first_row: u64,
}

enum Source {
    Table(Box<arrow::Table>),
    Npz(Box<npz::Csr>),
}

/// Reads a columnar file block by block.
///
/// The bad rows of a block come first, one [`ColumnarError::Row`] each, then its good rows: a caller may stop at the
/// first error or skip bad rows. After any other error the reader is at its end.
pub struct ColumnarReader {
    source: Source,
    refused: VecDeque<ColumnarError>,
    ready: Option<(ParsedRows, u64)>,
    first_row: u64,
    ended: bool,
}

impl ColumnarReader {
    /// Opens a seekable file. What needs no data is checked here: roles, types, sizes.
    pub fn open(file: File, kind: ColumnarKind, options: &ColumnOptions) -> Result<Self, ColumnarError> {
        let source = guarded(kind, || {
            Ok(match kind {
                ColumnarKind::Parquet => Source::Table(Box::new(parquet::open(file, options)?)),
                ColumnarKind::Ipc => Source::Table(Box::new(ipc::open(file, options)?)),
                ColumnarKind::Npz => Source::Npz(Box::new(npz::Csr::open(file, options)?)),
                ColumnarKind::Memory => unreachable!("batches in memory have no file"),
            })
        })?;
        Ok(ColumnarReader { source, refused: VecDeque::new(), ready: None, first_row: 0, ended: false })
    }

    /// Reads record batches that come from elsewhere, all of this schema.
    pub fn from_batches(
        schema: &Schema,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
        options: &ColumnOptions,
    ) -> Result<Self, ColumnarError> {
        let kind = ColumnarKind::Memory;
        let layout = Layout::new(schema, options)?;
        let used = layout.used.clone();
        let project = move |batch: RecordBatch| batch.project(&used);
        let batches = batches.map(move |batch| batch.and_then(&project).map_err(|e| ColumnarError::damaged(kind, e)));
        let source = Source::Table(Box::new(arrow::Table::new(kind, layout, options, Box::new(batches))));
        Ok(ColumnarReader { source, refused: VecDeque::new(), ready: None, first_row: 0, ended: false })
    }

    /// The named columns (a sparse column is none of them) and their roles; `None` if there are none, as in an npz.
    pub fn columns(&self) -> Option<&Columns> {
        match &self.source {
            Source::Table(table) => table.columns(),
            Source::Npz(_) => None,
        }
    }

    /// The row of the file, from 0, that is line 0 of the block returned last.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    fn block(&mut self) -> Result<Option<Block>, ColumnarError> {
        match &mut self.source {
            Source::Table(table) => guarded(table.kind(), || table.block()),
            Source::Npz(matrix) => matrix.block(),
        }
    }
}

impl Iterator for ColumnarReader {
    type Item = Result<ParsedRows, ColumnarError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.refused.pop_front() {
                return Some(Err(error));
            }
            if let Some((rows, first_row)) = self.ready.take() {
                self.first_row = first_row;
                return Some(Ok(rows));
            }
            if self.ended {
                return None;
            }
            match self.block() {
                Ok(Some(block)) => {
                    self.refused.extend(block.refused);
                    self.ready = (!block.rows.is_empty()).then_some((block.rows, block.first_row));
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The decoders may panic on a damaged file; for a user that is a damaged file all the same.
fn guarded<T>(kind: ColumnarKind, read: impl FnOnce() -> Result<T, ColumnarError>) -> Result<T, ColumnarError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let reason = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder gave up");
        Err(ColumnarError::damaged(kind, reason))
    })
}
