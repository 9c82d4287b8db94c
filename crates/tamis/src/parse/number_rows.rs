//! The numbers of the first rows of a table, as a survey parsed them. They are kept in rows, so that a cell of a wide table
//! touches no memory of other columns, and so that no cell is parsed again once the roles of the columns are known.

use std::sync::Arc;

use crate::data::LargeVec;

/// The numbers of some rows of a table, row by row; NaN where a cell is no plain number.
#[derive(Clone, Debug, Default)]
pub struct NumberRows {
    columns: usize,
    rows: usize,
    values: LargeVec<f64>,
    /// The line of each row within its block, ascending; empty if rows have no lines.
    lines: Vec<u32>,
}

impl NumberRows {
    /// The rows in their order.
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.len()).map(|row| self.row(row))
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// The numbers of a row.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// The numbers of the row in this line, if it is the one after `before` rows or a later one; `before` is then
    /// its number. Lines must be asked for in their order.
    pub(super) fn in_line(&self, line: u32, before: &mut usize) -> Option<&[f64]> {
        while self.lines.get(*before).is_some_and(|&one| one < line) {
            *before += 1;
        }
        (self.lines.get(*before) == Some(&line)).then(|| self.row(*before))
    }

    /// The last rows, one after the other.
    pub(crate) fn last_rows(&mut self, rows: usize) -> &mut [f64] {
        let start = self.values.len() - rows * self.columns;
        &mut self.values[start..]
    }

    /// A list to which the numbers of the next row are added, and its length: [`NumberRows::end_row`] ends the row.
    pub(super) fn begin_row(&mut self, columns: usize) -> (usize, &mut Vec<f64>) {
        self.columns = columns;
        let values = self.values.make_vec();
        values.reserve(columns);
        (values.len(), values)
    }

    /// Ends a row, which is in this line of its block. Returns false, and removes the row, if it has another number of
    /// cells than the others.
    pub(super) fn end_row(&mut self, line: u32) -> bool {
        let is_whole = self.values.len() == (self.rows + 1) * self.columns;
        if is_whole {
            self.rows += 1;
            self.lines.push(line);
        } else {
            self.values.make_vec().truncate(self.rows * self.columns);
        }
        is_whole
    }

    /// Makes room for rows, if there are none yet.
    fn reserve(&mut self, columns: usize, rows: usize) {
        if self.rows == 0 {
            self.values = LargeVec::with_capacity(rows.saturating_mul(columns));
        }
    }

    /// Adds rows without numbers, and without lines.
    fn add_rows(&mut self, columns: usize, rows: usize) {
        self.columns = columns;
        self.rows += rows;
        self.values.resize(self.rows * columns, f64::NAN);
    }
}

/// The rows of a table that are not with its columns yet.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingRows {
    /// The rows of the block that is being read.
    pub(super) open: NumberRows,
    closed: Vec<Arc<NumberRows>>,
    closed_rows: usize,
}

impl PendingRows {
    pub(super) fn len(&self) -> usize {
        self.closed_rows + self.open.rows
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes room for rows of a new block.
    pub(super) fn reserve(&mut self, columns: usize, rows: usize) {
        self.open.reserve(columns, rows);
    }

    /// Adds rows without numbers.
    pub(super) fn add_rows(&mut self, columns: usize, rows: usize) {
        self.open.add_rows(columns, rows);
    }

    /// Ends a block and returns its rows.
    pub(super) fn end_block(&mut self) -> Arc<NumberRows> {
        let block = Arc::new(std::mem::take(&mut self.open));
        self.closed_rows += block.rows;
        self.closed.push(block.clone());
        block
    }

    /// All rows in their order.
    pub(super) fn rows(&self) -> Vec<&[f64]> {
        self.closed.iter().flat_map(|block| block.rows()).chain(self.open.rows()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_lines() {
        let mut pending = PendingRows::default();
        for (line, cells) in [(0, &[1.0, 2.0][..]), (1, &[3.0]), (4, &[f64::NAN, 5.0])] {
            pending.open.begin_row(2).1.extend_from_slice(cells);
            assert_eq!(pending.open.end_row(line), cells.len() == 2);
        }
        let block = pending.end_block();
        pending.add_rows(2, 1);
        pending.open.last_rows(1)[1] = 6.0;
        assert_eq!((pending.len(), block.rows), (3, 2));
        let mut before = 0;
        let found: Vec<Option<f64>> = (0..6).map(|line| block.in_line(line, &mut before).map(|row| row[1])).collect();
        assert_eq!(found, [Some(2.0), None, None, None, Some(5.0), None]);
        assert_eq!(pending.rows().iter().map(|row| row[1]).collect::<Vec<_>>(), [2.0, 5.0, 6.0]);
    }
}
