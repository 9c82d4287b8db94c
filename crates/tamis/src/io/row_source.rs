//! Where rows come from, whatever that is: files, or what is in memory already.

use super::{Block, ReadError, RowStream};
use crate::parse::schema::ModelSchema;

/// A stream of blocks of rows.
pub trait RowSource {
    /// The next block, in order, or `None` at the end.
    fn next_block(&mut self) -> Result<Option<Block>, ReadError>;

    /// What it is called in messages.
    fn name(&self) -> String;

    /// The roles of the columns, if a table is read.
    fn columns(&self) -> Option<ModelSchema> {
        None
    }

    /// Bytes taken from disk so far.
    fn bytes_read(&self) -> u64 {
        0
    }

    /// Bad rows left out so far.
    fn skipped(&self) -> u64 {
        0
    }

    /// The first few complaints about rows left out.
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

    fn bytes_read(&self) -> u64 {
        RowStream::bytes_read(self)
    }

    fn skipped(&self) -> u64 {
        RowStream::skipped(self)
    }

    fn first_skipped(&self) -> &[String] {
        RowStream::first_skipped(self)
    }
}
