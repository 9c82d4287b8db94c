//! The reader of columnar files.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use super::block::Block;
use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::limits::ColumnarLimits;
use super::schema::{Layout, Purpose};
use super::{arrow, ipc, npz, parquet};
use crate::data::RawRows;
use crate::parse::schema::{Schema as RowSchema, SchemaOptions};
use crate::parse::survey::Survey;

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
    ready: Option<(RawRows, u64)>,
    first_row: u64,
    ended: bool,
}

impl ColumnarReader {
    /// Opens a seekable file and checks roles, types and sizes.
    pub fn open(
        file: File,
        kind: ColumnarKind,
        options: &SchemaOptions,
        limits: ColumnarLimits,
    ) -> Result<Self, ColumnarError> {
        Self::open_for(Purpose::Rows, file, kind, options, limits)
    }

    /// Opens a seekable file for [`ColumnarReader::survey`]: sparse vectors are not read.
    pub fn open_for_survey(
        file: File,
        kind: ColumnarKind,
        options: &SchemaOptions,
        limits: ColumnarLimits,
    ) -> Result<Self, ColumnarError> {
        Self::open_for(Purpose::Survey, file, kind, options, limits)
    }

    fn open_for(
        purpose: Purpose,
        file: File,
        kind: ColumnarKind,
        options: &SchemaOptions,
        limits: ColumnarLimits,
    ) -> Result<Self, ColumnarError> {
        let source = guarded(kind, || {
            Ok(match kind {
                ColumnarKind::Parquet => Source::Table(Box::new(parquet::open(file, options, limits, purpose)?)),
                ColumnarKind::Ipc => Source::Table(Box::new(ipc::open(file, options, limits, purpose)?)),
                ColumnarKind::Npz => Source::Npz(Box::new(npz::Csr::open(file, options, limits)?)),
                ColumnarKind::Memory => unreachable!("batches in memory have no file"),
            })
        })?;
        Ok(ColumnarReader { source, refused: VecDeque::new(), ready: None, first_row: 0, ended: false })
    }

    /// Reads record batches in memory, all with this schema.
    pub fn from_batches(
        schema: &Schema,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
        options: &SchemaOptions,
    ) -> Result<Self, ColumnarError> {
        let kind = ColumnarKind::Memory;
        let layout = Layout::new(schema, options)?;
        let schema = Arc::new(schema.clone());
        let used = layout.used.clone();
        let project = move |batch: RecordBatch| batch.project(&used);
        let batches = batches.map(move |batch| batch.and_then(&project).map_err(|e| ColumnarError::damaged(kind, e)));
        let source = Source::Table(Box::new(arrow::Table::new(
            kind,
            schema,
            layout,
            options,
            ColumnarLimits::default(),
            Box::new(batches),
        )));
        Ok(ColumnarReader { source, refused: VecDeque::new(), ready: None, first_row: 0, ended: false })
    }

    /// The named columns, without those of sparse vectors, and their roles; `None` if there are none, as in an npz.
    pub fn columns(&self) -> Option<&RowSchema> {
        match &self.source {
            Source::Table(table) => table.columns(),
            Source::Npz(_) => None,
        }
    }

    /// Observes the rows until the survey has enough; the reader is used up then. An npz has no columns to survey.
    pub fn survey(&mut self, file: &str, survey: &mut Survey) -> Result<(), ColumnarError> {
        match &mut self.source {
            Source::Table(table) => guarded(table.kind(), || table.survey(file, survey)),
            Source::Npz(_) => Ok(()),
        }
    }

    /// The reader of all rows from the first on, by the schema that a survey has decided. What was decoded for the survey is not decoded
    /// again. `None` if other columns are to be read than those surveyed: the file is to be opened again.
    pub fn after_survey(self, options: &SchemaOptions) -> Result<Option<Self>, ColumnarError> {
        let Source::Table(table) = self.source else { return Ok(None) };
        let table = guarded(table.kind(), || table.after_survey(options))?;
        let ready = |table| ColumnarReader {
            source: Source::Table(Box::new(table)),
            refused: VecDeque::new(),
            ready: None,
            first_row: 0,
            ended: false,
        };
        Ok(table.map(ready))
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
    type Item = Result<RawRows, ColumnarError>;

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
                    let has_rows = !block.rows.is_empty() || !block.rows.left_out.is_empty();
                    self.ready = has_rows.then_some((block.rows, block.first_row));
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

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread decodes a file, so that a panic will become an error: a panic hook need not print it.
pub fn is_decoding() -> bool {
    IS_DECODING.get()
}

/// The decoders may panic on a damaged file; a panic becomes an error.
fn guarded<T>(kind: ColumnarKind, read: impl FnOnce() -> Result<T, ColumnarError>) -> Result<T, ColumnarError> {
    let before = IS_DECODING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    IS_DECODING.set(before);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let reason = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder failed");
        Err(ColumnarError::damaged(kind, reason))
    })
}
