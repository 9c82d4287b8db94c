//! From files to rows: what to open, how to decompress it, and where a bad line stands.
//!
//! [`expand`] turns what the user typed into [`Source`]s; a [`RowStream`] reads them as one stream, parsing blocks on
//! several threads and handing them on in order; [`MatrixRows`] does so for a matrix in memory. Both are a [`RowSource`].

mod block;
mod block_source;
mod decompress;
mod error;
mod line_blocks;
mod matrix;
mod memory;
mod row_source;
mod row_stream;
mod source;

pub use block::{Block, BlockPlace};
pub use error::ReadError;
pub use matrix::{Csr, Dense, Labels, Matrix, MatrixRows};
pub use memory::memory_of_this_machine;
pub use row_source::RowSource;
pub use row_stream::{ReadOptions, RowStream};
pub use source::{Compression, Format, Source, expand, recognise};
