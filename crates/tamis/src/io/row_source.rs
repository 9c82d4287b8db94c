//! The trait of all sources of rows: files, matrices and tables in memory.

use std::sync::Arc;

use super::{Block, ReadError, RowStream};
use crate::data::SharedIds;
use crate::parse::schema::ModelSchema;
use crate::parse::survey::ColumnNote;

/// A stream of blocks of rows.
pub trait RowSource {
    /// The next block, in order, or `None` at the end.
    fn next_block(&mut self) -> Result<Option<Block>, ReadError>;

    /// The name in messages.
    fn name(&self) -> String;

    /// The schema, if a table is read.
    fn columns(&self) -> Option<ModelSchema> {
        None
    }

    /// The number of columns of a matrix, or 0. Memory for a feature of each is reserved, and used as features appear.
    fn width(&self) -> usize {
        0
    }

    /// What was found out about the columns of a table.
    fn notes(&self) -> Vec<ColumnNote> {
        Vec::new()
    }

    /// Bytes read from disk so far.
    fn bytes_read(&self) -> u64 {
        0
    }

    /// The number of threads that read, beside the one that asks for blocks.
    fn threads(&self) -> usize {
        0
    }

    /// Lets the threads that read look up the ids of features: see [`RawRows::look_up_ids`](crate::data::RawRows::look_up_ids).
    fn share_ids(&mut self, _ids: Arc<SharedIds>) {}

    /// The number of malformed rows skipped so far.
    fn skipped(&self) -> u64 {
        0
    }

    /// The first few messages about skipped rows.
    fn first_skipped(&self) -> &[String] {
        &[]
    }
}

impl RowSource for RowStream {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        RowStream::next_block(self)
    }

    fn name(&self) -> String {
        RowStream::name(self)
    }

    fn columns(&self) -> Option<ModelSchema> {
        RowStream::columns(self)
    }

    fn notes(&self) -> Vec<ColumnNote> {
        RowStream::notes(self)
    }

    fn bytes_read(&self) -> u64 {
        RowStream::bytes_read(self)
    }

    fn threads(&self) -> usize {
        RowStream::threads(self)
    }

    fn share_ids(&mut self, ids: Arc<SharedIds>) {
        RowStream::share_ids(self, ids);
    }

    fn skipped(&self) -> u64 {
        RowStream::skipped(self)
    }

    fn first_skipped(&self) -> &[String] {
        RowStream::first_skipped(self)
    }
}
