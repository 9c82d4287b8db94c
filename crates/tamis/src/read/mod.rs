//! From files to rows: what to open, how to decompress it, and where a bad line stands.
//!
//! [`expand`] turns what the user typed into [`Source`]s; a [`RowStream`] reads them as one stream, parsing blocks on
//! several threads and handing them on in order; [`MatrixRows`] does so for a matrix in memory. Both are a [`RowSource`].

mod block;
mod blocks;
mod error;
mod input;
mod matrix;
mod memory;
mod open;
mod rows;
mod source;
mod stream;

pub use block::{Block, BlockPlace};
pub use error::ReadError;
pub use matrix::{Csr, Dense, Labels, Matrix, MatrixRows};
pub use memory::memory_of_this_machine;
pub use rows::RowSource;
pub use source::{Compression, Format, Source, expand, recognise};
pub use stream::{ReadOptions, RowStream};
