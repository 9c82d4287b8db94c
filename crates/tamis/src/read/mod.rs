//! From files to rows: what to open, how to unpack it, where a bad line stands, and how to keep rows for another pass.
//!
//! [`expand`] turns what the user typed into [`Source`]s; a [`RowStream`] reads them as one stream, parsing blocks on
//! several threads and handing them on in order; [`MatrixRows`] does so for a matrix in memory. Both are a [`RowSource`].
//! [`Held`] keeps rows for several passes, in memory or beyond it.

mod blocks;
mod choice;
mod error;
mod held;
mod input;
mod matrix;
mod memory;
mod open;
mod packed;
mod rows;
mod source;
mod stream;

pub use choice::{RowChoice, fold_of};
pub use error::ReadError;
pub use held::{Held, HeldOptions};
pub use matrix::{Csr, Dense, Labels, Matrix, MatrixRows};
pub use memory::memory_of_this_machine;
pub use rows::RowSource;
pub use source::{Compression, Format, Source, expand, recognise};
pub use stream::{Block, ReadOptions, RowStream};
