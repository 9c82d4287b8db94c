//! A block of rows and its position in the input.

use std::sync::Arc;

use crate::data::{Batch, DuplicateFeature, Label, RawRows, Vocabulary};

/// A block of rows and its position.
#[derive(Clone, Debug)]
pub struct Block {
    /// The rows.
    pub rows: RawRows,
    /// The file.
    pub file: Arc<str>,
    /// The line of the file (or row, in columnar files) with the block's line 0, from 1.
    pub first_line: u64,
}

impl Block {
    /// Interns all features: returns the rows with target 0, their labels and their positions.
    pub fn intern(self, vocabulary: &mut Vocabulary) -> Result<(Batch, Vec<Label>, BlockPlace), DuplicateFeature> {
        let Block { rows, file, first_line } = self;
        let place = BlockPlace { file, first_line, lines: rows.lines.clone() };
        let duplicate = |(row, name)| DuplicateFeature { place: place.of(row), name };
        let (batch, labels) = rows.intern(vocabulary).map_err(duplicate)?;
        Ok((batch, labels, place))
    }

    /// The block without its rows of weight 0, which must have no influence.
    pub fn without_weightless_rows(self) -> Block {
        let has_weight = |row: usize| self.rows.weight(row) != 0.0;
        if (0..self.rows.len()).all(has_weight) {
            return self;
        }
        Block { rows: self.rows.keep(has_weight), ..self }
    }

    /// Splits off the rows from number `at` on and returns them.
    pub fn split_off(&mut self, at: usize) -> Block {
        Block { rows: self.rows.split_off(at), file: self.file.clone(), first_line: self.first_line }
    }
}

/// The positions of the rows of a block.
#[derive(Clone, Debug)]
pub struct BlockPlace {
    file: Arc<str>,
    first_line: u64,
    lines: Vec<u32>,
}

impl BlockPlace {
    /// File and line of a row, for messages.
    pub fn of(&self, row: usize) -> String {
        format!("{}:{}", self.file, self.first_line + u64::from(self.lines[row]))
    }

    /// Other rows of the same block.
    pub fn block(&self, rows: RawRows) -> Block {
        Block { rows, file: self.file.clone(), first_line: self.first_line }
    }
}
