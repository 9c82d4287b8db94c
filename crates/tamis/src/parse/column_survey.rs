//! What the first rows say about one column: its numbers, its other texts, and its empty cells.

use rustc_hash::{FxHashMap, FxHashSet};

use super::missing_cells::{Among, is_missing};
use super::number;
use super::survey::CellPlace;

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
    pub(super) texts: FxHashMap<Box<str>, TextCell>,
    pub(super) empty: u64,
    /// Whether the file says that the column holds dates.
    pub(super) is_date: bool,
    /// Whether the text of numbers is kept, too.
    pub(super) keeps_text: bool,
}

impl ColumnSurvey {
    pub(super) fn new(name: &str) -> Self {
        let name = name.to_string();
        ColumnSurvey {
            name,
            numbers: Vec::new(),
            texts: FxHashMap::default(),
            empty: 0,
            is_date: false,
            keeps_text: false,
        }
    }

    pub(super) fn number(&mut self, value: f64) {
        self.numbers.push(value);
    }

    pub(super) fn empty(&mut self) {
        self.empty += 1;
    }

    pub(super) fn text(&mut self, text: &str, place: impl FnOnce() -> CellPlace) {
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
