//! What the first rows say about one column: its numbers, its other texts, and its empty cells.

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::missing_cells::{Among, is_missing};
use super::number;
use super::schema::SchemaOptions;
use super::survey::CellPlace;
use crate::data::TextMap;
use crate::rng::splitmix64;

/// The fewest cells beside the most frequent one in columns that are called copies.
const FEWEST_OTHERS: u64 = 20;

/// A text that is not a plain number.
#[derive(Clone, Debug)]
pub(super) struct TextCell {
    pub(super) count: u64,
    pub(super) place: CellPlace,
}

/// Statistics of a column.
#[derive(Clone, Debug)]
pub(super) struct ColumnSurvey {
    pub(super) name: String,
    /// Plain numbers.
    pub(super) numbers: Vec<f64>,
    /// Other cells, by their text.
    pub(super) texts: TextMap<Box<str>, TextCell>,
    pub(super) empty: u64,
    /// Whether the file says that the column holds dates.
    pub(super) is_date: bool,
    /// The mean of the numbers, if it is known.
    pub(super) mean: Option<f64>,
    /// A hash of all cells, each with its number: those of texts are added when they are met, those of numbers later.
    cells: u64,
    /// The number of cells, without those of rows that are pending.
    seen: u64,
}

/// The key of the hashes of the cells of a row.
pub(super) fn row_key(row: u64) -> u64 {
    splitmix64(row) | 1
}

/// A hash of a cell, by the key of its row. The sum over rows is a hash of a column, whatever the order in which they are added.
#[inline(always)]
pub(super) fn cell_hash(row_key: u64, cell: u64) -> u64 {
    // Short numbers have zeros in their low bits, where a product has nothing but these bits.
    (cell ^ (cell >> 32)).wrapping_mul(row_key)
}

impl ColumnSurvey {
    pub(super) fn new(name: &str) -> Self {
        ColumnSurvey {
            name: name.to_string(),
            numbers: Vec::new(),
            texts: TextMap::default(),
            empty: 0,
            is_date: false,
            mean: None,
            cells: 0,
            seen: 0,
        }
    }

    /// The number of cells, without those of rows that are pending.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Adds a number as the next cell.
    pub(super) fn number(&mut self, value: f64) {
        self.hash_cell(self.seen, value.to_bits());
        self.numbers.push(value);
        self.seen += 1;
    }

    /// Adds the numbers of pending rows; NaN where there is none.
    pub(super) fn pending_numbers(&mut self, rows: impl ExactSizeIterator<Item = f64>) {
        let seen = self.seen;
        self.seen += rows.len() as u64;
        for (row, value) in (seen..).zip(rows).filter(|(_, value)| !value.is_nan()) {
            self.hash_cell(row, value.to_bits());
            self.numbers.push(value);
        }
    }

    /// Adds the hash of numbers that are added later, or not at all.
    pub(super) fn hash_numbers(&mut self, hash: u64) {
        self.cells = self.cells.wrapping_add(hash);
    }

    /// Adds an empty cell. Its row is one that is pending, or there is none and it is the next cell.
    pub(super) fn empty(&mut self, pending_row: Option<usize>) {
        self.row_of(pending_row);
        self.empty += 1;
    }

    /// Adds a text, as with empty cells.
    pub(super) fn text(&mut self, text: &str, pending_row: Option<usize>, place: impl FnOnce() -> CellPlace) {
        let row = self.row_of(pending_row);
        self.hash_cell(row, if text.is_empty() { 0 } else { FxBuildHasher.hash_one(text) });
        match self.texts.get_mut(text) {
            _ if text.is_empty() => self.empty += 1,
            Some(cell) => cell.count += 1,
            None => drop(self.texts.insert(text.into(), TextCell { count: 1, place: place() })),
        }
    }

    fn row_of(&mut self, pending_row: Option<usize>) -> u64 {
        match pending_row {
            Some(row) => self.seen + row as u64,
            None => {
                self.seen += 1;
                self.seen - 1
            }
        }
    }

    fn hash_cell(&mut self, row: u64, cell: u64) {
        self.cells = self.cells.wrapping_add(cell_hash(row_key(row), cell));
    }

    /// Moves texts that mean a missing value among such columns to the empty cells.
    pub(super) fn without_missing(mut self, among: Among, na: &[String]) -> Self {
        let empty = &mut self.empty;
        self.texts.retain(|text, cell| {
            let missing = is_missing(text, among, na);
            *empty += if missing { cell.count } else { 0 };
            !missing
        });
        let marked: Vec<f64> = na.iter().filter_map(|text| number::whole(text.as_bytes())).collect();
        if !marked.is_empty() {
            let before = self.numbers.len();
            self.numbers.retain(|value| !marked.contains(value));
            self.empty += (before - self.numbers.len()) as u64;
            self.mean = None;
        }
        self
    }

    /// Whether neither the user nor the file says how the column is read, or which of its numbers are missing values.
    pub(super) fn is_open(&self, options: &SchemaOptions) -> bool {
        let named = [&options.text, &options.keep, &options.categorical];
        !self.is_date && options.na.is_empty() && !named.iter().any(|list| list.contains(&self.name))
    }

    /// A hash of all cells, each with its number.
    pub(super) fn cells(&self) -> u64 {
        self.cells
    }

    /// Whether all cells are those of another column. Where nearly all cells are alike, as in two columns of zeros with a
    /// few ones, this says little about the rows to come.
    pub(super) fn is_copy_of(&self, other: &ColumnSurvey) -> bool {
        let most = self.texts.values().map(|cell| cell.count).max().unwrap_or(0).max(self.most_frequent_number());
        let is_same = |text: &str, count: u64| other.texts.get(text).is_some_and(|cell| cell.count == count);
        self.cells == other.cells
            && self.numbers == other.numbers
            && self.texts.len() == other.texts.len()
            && self.texts.iter().all(|(text, cell)| is_same(text, cell.count))
            && self.present() - most >= FEWEST_OTHERS
    }

    fn most_frequent_number(&self) -> u64 {
        let mut counts: FxHashMap<u64, u64> = FxHashMap::default();
        self.numbers.iter().for_each(|value| *counts.entry(value.to_bits()).or_default() += 1);
        counts.into_values().max().unwrap_or(0)
    }

    pub(super) fn present(&self) -> u64 {
        self.numbers.len() as u64 + self.texts.values().map(|cell| cell.count).sum::<u64>()
    }

    /// The texts and their counts, in an order of their own.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, u64)> + Clone {
        let mut all: Vec<(&str, u64)> = self.texts.iter().map(|(text, cell)| (&**text, cell.count)).collect();
        all.sort_unstable();
        all.into_iter()
    }
}

/// The number of different values.
pub(super) fn different(values: &[f64]) -> usize {
    values.iter().map(|value| (value + 0.0).to_bits()).collect::<FxHashSet<u64>>().len()
}
