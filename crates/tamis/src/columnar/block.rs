//! A block of rows, and the limits of its size.

use super::error::ColumnarError;
use crate::data::RawRows;

/// The largest number of rows in a block.
pub const BLOCK_ROWS: usize = 8192;
/// A block with this many features or more takes no further row.
pub const BLOCK_ENTRIES: usize = 1 << 20;

/// The good rows of a block, an error for each bad one, and the file's row it begins with.
pub(super) struct Block {
    pub rows: RawRows,
    pub refused: Vec<ColumnarError>,
    pub first_row: u64,
}
