//! What the first rows say about one column: its numbers, its other texts, and its empty cells.

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::missing_cells::{Among, is_missing};
use super::number;
use super::survey::CellPlace;
use crate::data::TextMap;

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
    /// A hash of all cells in their order.
    cells: u64,
}

impl ColumnSurvey {
    pub(super) fn new(name: &str) -> Self {
        let name = name.to_string();
        ColumnSurvey { name, numbers: Vec::new(), texts: TextMap::default(), empty: 0, is_date: false, cells: 0 }
    }

    pub(super) fn number(&mut self, value: f64) {
        self.chain(value.to_bits());
        self.numbers.push(value);
    }

    pub(super) fn empty(&mut self) {
        self.chain(0);
        self.empty += 1;
    }

    fn chain(&mut self, cell: u64) {
        self.cells = FxBuildHasher.hash_one((self.cells, cell));
    }

    pub(super) fn text(&mut self, text: &str, place: impl FnOnce() -> CellPlace) {
        self.chain(if text.is_empty() { 0 } else { FxBuildHasher.hash_one(text) });
        match self.texts.get_mut(text) {
            _ if text.is_empty() => self.empty += 1,
            Some(cell) => cell.count += 1,
            None => drop(self.texts.insert(text.into(), TextCell { count: 1, place: place() })),
        }
    }

    /// Moves texts that mean a missing value among such columns to the empty cells.
    pub(super) fn without_missing(mut self, among: Among, na: &[String]) -> Self {
        let empty = &mut self.empty;
        self.texts.retain(|text, cell| {
            let missing = is_missing(text, among, na);
            *empty += if missing { cell.count } else { 0 };
            !missing
        });
        let marked = |value: &f64| na.iter().any(|text| number::whole(text.as_bytes()) == Some(*value));
        let before = self.numbers.len();
        self.numbers.retain(|value| !marked(value));
        self.empty += (before - self.numbers.len()) as u64;
        self
    }

    /// A hash of all cells in their order.
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
