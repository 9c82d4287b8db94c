//! How a stream of rows is read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Encoding;
use crate::data::RowFilter;
use crate::parse::schema::SchemaOptions;

/// The default of [`ReadOptions::max_line`]: rows of several million features are shorter.
pub const LONGEST_LINE: u64 = 64 << 20;
/// The default of [`ReadOptions::max_unpacked`].
pub const LARGEST_UNPACKED: u64 = 16 << 30;

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The schema of tables, and missing values.
    pub columns: SchemaOptions,
    /// The syntax of tables in text.
    pub syntax: TableSyntax,
    /// Whether svmlight indices start at 0.
    pub zero_based: bool,
    /// A file of labels, one a line in the order of the rows, instead of those of the data.
    pub labels: Option<PathBuf>,
    /// The names of svmlight indices, in their order.
    pub vocabulary: Option<Arc<Vec<String>>>,
    /// Whether malformed lines are skipped and counted instead of ending the stream.
    pub skip_bad: bool,
    /// Threads that parse, the consumer included; 0 counts as 1.
    pub threads: usize,
    /// Whether rows are handed on as they come instead of in blocks of some size: for input that somebody is still
    /// writing.
    pub live: bool,
    /// Filters: a row is returned if all of them contain it.
    pub rows: Vec<RowFilter>,
    /// The largest number of bytes of a line, or of the entries of a columnar row (12 each); [`LONGEST_LINE`] if it is
    /// not given.
    pub max_line: Option<u64>,
    /// The largest size that a compressed Parquet, Arrow or npz file may have on disk when it is decompressed;
    /// [`LARGEST_UNPACKED`] if it is not given. Also the largest size of a compressed batch of Arrow in memory: if it is
    /// not given, that is half of the memory of this machine.
    pub max_unpacked: Option<u64>,
    /// The folder for such decompressed files; the system's temporary folder if it is not given.
    pub cache_folder: Option<PathBuf>,
    /// Set from outside to end the stream with [`ReadError::Interrupted`](super::ReadError::Interrupted), also while it waits for input.
    pub stop: Arc<AtomicBool>,
}

/// The syntax of tables in text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableSyntax {
    /// The byte between fields; `None` lets the header decide.
    pub delimiter: Option<u8>,
    /// Whether the first line is data: columns are called 1, 2, …
    pub no_header: bool,
    /// The encoding.
    pub encoding: Encoding,
}
