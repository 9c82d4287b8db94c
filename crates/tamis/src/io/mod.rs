//! Input: opening and decompressing sources, and reading them as one stream of rows.
//!
//! [`expand`] turns names, directories and patterns into [`Source`]s. A [`RowStream`] reads them as one stream: it
//! parses blocks on several threads and returns them in order. [`MatrixRows`] does the same for a matrix in memory.
//! Both implement [`RowSource`].

mod block;
mod block_source;
mod decompress;
mod encoding;
mod error;
mod label_file;
mod line_blocks;
mod log_file;
mod matrix;
mod matrix_labels;
mod memory;
mod pipe;
mod read_options;
mod row_source;
mod row_stream;
mod source;
mod table_survey;
mod vocabulary_file;

pub use block::{Block, BlockPlace};
pub use encoding::Encoding;
pub use error::ReadError;
pub use matrix::{Csr, Dense, Matrix, MatrixRows};
pub use matrix_labels::Labels;
pub use memory::memory_of_this_machine;
pub use read_options::{LARGEST_UNPACKED, LONGEST_LINE, ReadOptions, TableSyntax};
pub use row_source::RowSource;
pub use row_stream::RowStream;
pub use source::{Compression, Format, Source, expand, recognise};
pub use vocabulary_file::read_vocabulary;
