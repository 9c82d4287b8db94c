//! A block of rows, and the limits of its size.

use super::error::ColumnarError;
use crate::data::RawRows;

/// The largest number of rows in a block.
pub const BLOCK_ROWS: usize = 8192;
/// A block with this many features or more takes no further row.
pub const BLOCK_ENTRIES: usize = 1 << 20;

/// Rows of a wide table without vectors that are decoded at once, and the largest number of their cells: to decode a column costs more
/// than to decode a few more of its cells.
const WIDE_ROWS: usize = 1024;
const WIDE_CELLS: usize = 1 << 25;

/// The number of rows to decode at once if each has this many values.
pub(super) fn rows_of_values(values: usize) -> usize {
    (BLOCK_ENTRIES / values.max(1)).clamp(1, BLOCK_ROWS)
}

/// The number of rows to decode at once if each value of a row has a column of its own.
pub(super) fn rows_of_columns(columns: usize) -> usize {
    let columns = columns.max(1);
    rows_of_values(columns).max((WIDE_CELLS / columns).clamp(1, WIDE_ROWS))
}

/// The good rows of a block, an error for each bad one, and the file's row it begins with.
pub(super) struct Block {
    pub rows: RawRows,
    pub refused: Vec<ColumnarError>,
    pub first_row: u64,
}
