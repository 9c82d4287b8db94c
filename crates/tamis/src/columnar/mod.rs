//! Reads and writes columnar files: Parquet, Arrow IPC (file or stream) and scipy's npz.
//!
//! A dense table is read like CSV: a column of numbers is a feature with the name of the column, a column of strings holds
//! categories `column=value`, and so does a column of lists of strings; a list of as many numbers in each row gives features
//! `column.0`, `column.1`, … A table may hold sparse vectors instead: a column `struct<indices, values>` (also as
//! Spark writes its vectors), or `struct<names, values>`, or two list columns `indices` and `values`. An npz is a CSR
//! matrix; its column `j` is feature `j + 1`, as in the svmlight file of the same matrix.
//!
//! Without the cargo feature `columnar`, opening such a file is an error.
//!
//! Memory is bounded: rows come in blocks of at most [`BLOCK_ROWS`] rows and about [`BLOCK_ENTRIES`] features.

#[cfg(feature = "columnar")]
mod arrow;
#[cfg(feature = "columnar")]
mod arrow_chunk;
#[cfg(feature = "columnar")]
mod arrow_survey;
#[cfg(feature = "columnar")]
mod block;
#[cfg(feature = "columnar")]
mod cells;
#[cfg(not(feature = "columnar"))]
mod disabled;
#[cfg(feature = "columnar")]
mod distinct;
mod error;
#[cfg(feature = "columnar")]
mod ipc;
#[cfg(feature = "columnar")]
mod ipc_validate;
mod kind;
mod limits;
#[cfg(feature = "columnar")]
mod list_columns;
#[cfg(feature = "columnar")]
mod npy;
#[cfg(feature = "columnar")]
mod npy_header;
#[cfg(feature = "columnar")]
mod npz;
#[cfg(feature = "columnar")]
mod npz_arrays;
#[cfg(feature = "columnar")]
mod parquet;
#[cfg(feature = "columnar")]
mod parquet_file;
#[cfg(feature = "columnar")]
mod parquet_numbers;
#[cfg(feature = "columnar")]
mod parquet_vectors;
#[cfg(feature = "columnar")]
mod reader;
#[cfg(feature = "columnar")]
mod schema;
#[cfg(feature = "columnar")]
mod sparse_columns;
#[cfg(feature = "columnar")]
mod transpose;
#[cfg(feature = "columnar")]
mod write;
#[cfg(feature = "columnar")]
mod write_npz;

#[cfg(all(test, feature = "columnar"))]
mod fixtures;

#[cfg(feature = "columnar")]
pub use block::{BLOCK_ENTRIES, BLOCK_ROWS};
#[cfg(not(feature = "columnar"))]
pub use disabled::ColumnarReader;
pub use error::ColumnarError;
pub use kind::ColumnarKind;
pub use limits::ColumnarLimits;
#[cfg(feature = "columnar")]
pub use reader::{ColumnarReader, is_decoding};
#[cfg(feature = "columnar")]
pub use write::{ColumnarWriter, writer};
