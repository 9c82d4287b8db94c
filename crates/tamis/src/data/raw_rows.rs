//! Parsed rows before interning: features by number or name, labels as written. `intern_rows.rs` gives them ids.

use std::sync::Arc;

use thiserror::Error;

use super::names::{ColumnNames, Names, NamesMark};
use super::{FeatureKey, FeatureNumbers, Label, SharedIds};

/// A feature occurs twice in a row.
#[derive(Debug, Error, PartialEq)]
#[error("{place}: feature {name:?} occurs twice in one row")]
pub struct DuplicateFeature {
    /// The position of the row.
    pub place: String,
    /// The name.
    pub name: String,
}

/// Values that are looked through for zeros at once.
const PART: usize = 256;

/// The feature keys of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    /// Numbers, ascending within a row.
    Index(FeatureNumbers),
    /// Names, in any order within a row.
    Name(Names),
}

/// Rows of one block, or of one columnar batch.
#[derive(Clone, Debug, PartialEq)]
pub struct RawRows {
    pub(super) offsets: Vec<usize>,
    pub(super) keys: Keys,
    pub(super) values: Vec<f64>,
    /// The label of each row.
    pub labels: Vec<Label>,
    /// The line of each row within its block, from 0 (or the row within a columnar batch).
    pub lines: Vec<u32>,
    /// The tag of each row (Vowpal Wabbit, JSON lines, the id column of a table); empty if no row has one.
    pub tags: Vec<Box<str>>,
    /// The lines of rows that were left out because a value was missing, ascending.
    pub left_out: Vec<u32>,
    pub(super) weights: Vec<f64>,
    /// Whether values of a repeated name are summed (Vowpal Wabbit); otherwise it is an error.
    pub adds_duplicates: bool,
}

/// The arrays of rows.
#[derive(Clone, Copy, Debug)]
pub struct RawParts<'a> {
    /// Where the entries of each row begin, and where those of the last one end.
    pub offsets: &'a [usize],
    /// The features of all entries.
    pub keys: &'a Keys,
    /// The values of all entries.
    pub values: &'a [f64],
    /// The weight of each row.
    pub weights: &'a [f64],
}

/// The state before a row was started, to roll it back.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    entries: usize,
    names: NamesMark,
}

impl RawRows {
    /// No rows, features by number.
    pub fn by_index() -> Self {
        Self::with_keys(Keys::Index(FeatureNumbers::default()))
    }

    /// No rows, features by number, with room for what `bytes` of text usually hold.
    pub fn for_text(bytes: usize) -> Self {
        Self::for_entries(bytes / 10)
    }

    /// No rows, features by number, with room for `entries` entries, and for rows that are not short.
    pub fn for_entries(entries: usize) -> Self {
        let mut rows = Self::with_keys(Keys::Index(FeatureNumbers::with_capacity(entries)));
        rows.values.reserve(entries);
        rows.reserve_rows(entries / 32);
        rows
    }

    fn reserve_rows(&mut self, rows: usize) {
        self.offsets.reserve(rows);
        self.labels.reserve(rows);
        self.lines.reserve(rows);
        self.weights.reserve(rows);
    }

    /// No rows, features by name.
    pub fn by_name() -> Self {
        Self::with_keys(Keys::Name(Names::default()))
    }

    /// No rows, features by name, with room for `entries` entries. The names of columns have the first numbers.
    pub fn of_columns(columns: Arc<ColumnNames>, entries: usize) -> Self {
        let mut names = Names::with_columns(columns);
        names.reserve(entries);
        let mut rows = Self::with_keys(Keys::Name(names));
        rows.values.reserve(entries);
        rows
    }

    pub(super) fn with_keys(keys: Keys) -> Self {
        RawRows {
            offsets: vec![0],
            keys,
            values: Vec::new(),
            labels: Vec::new(),
            lines: Vec::new(),
            tags: Vec::new(),
            left_out: Vec::new(),
            weights: Vec::new(),
            adds_duplicates: false,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Looks up the ids of numbered features that are known now, for a later [`RawRows::intern`].
    pub fn look_up_ids(&mut self, ids: &SharedIds) {
        if let Keys::Index(numbers) = &mut self.keys {
            numbers.look_up(ids);
        }
    }

    /// Whether features have names; otherwise they have numbers.
    pub fn has_names(&self) -> bool {
        matches!(self.keys, Keys::Name(_))
    }

    /// The number of different features, at most.
    pub fn most_features(&self) -> usize {
        match &self.keys {
            Keys::Index(indices) => indices.len(),
            Keys::Name(names) => names.stored().min(names.len()),
        }
    }

    /// Where the next row begins.
    pub fn mark(&self) -> Savepoint {
        let names = match &self.keys {
            Keys::Index(_) => NamesMark::default(),
            Keys::Name(names) => names.mark(),
        };
        Savepoint { entries: self.values.len(), names }
    }

    /// Removes an incomplete row.
    pub fn rollback(&mut self, mark: Savepoint) {
        self.values.truncate(mark.entries);
        match &mut self.keys {
            Keys::Index(indices) => indices.to_mut().truncate(mark.entries),
            Keys::Name(names) => names.rollback(mark.entries, mark.names),
        }
    }

    /// Adds a numbered feature to the current row. A zero is dropped: absent and zero are the same.
    ///
    /// # Panics
    /// If features have names.
    #[inline]
    pub fn push_index(&mut self, index: u32, value: f64) {
        let Keys::Index(indices) = &mut self.keys else { panic!("features of this block go by name") };
        if value != 0.0 {
            indices.to_mut().push(index);
            self.values.push(value);
        }
    }

    /// Adds numbered features to the current row. Zeros are dropped.
    ///
    /// # Panics
    /// If features have names.
    pub fn push_indices(&mut self, numbers: impl ExactSizeIterator<Item = u32>, values: &[f64]) {
        let Keys::Index(indices) = &mut self.keys else { panic!("features of this block go by name") };
        let indices = indices.to_mut();
        let (start, has_zeros) = (indices.len(), values.iter().fold(false, |any, value| any | (*value == 0.0)));
        indices.extend(numbers);
        if !has_zeros {
            self.values.extend_from_slice(values);
            return;
        }
        let mut end = start;
        for (at, &value) in (start..).zip(values) {
            indices[end] = indices[at];
            end += usize::from(value != 0.0);
        }
        indices.truncate(end);
        self.values.extend(values.iter().filter(|value| **value != 0.0));
    }

    /// The numbers and values of all rows, to add to: the fast path of svmlight text. Zeros must be left out.
    ///
    /// # Panics
    /// If features have names.
    pub fn index_columns(&mut self) -> (&mut Vec<u32>, &mut Vec<f64>) {
        let Keys::Index(indices) = &mut self.keys else { panic!("features of this block go by name") };
        (indices.to_mut(), &mut self.values)
    }

    /// Adds a named feature, its name given in parts (column, `=`, category). A zero is dropped.
    ///
    /// # Panics
    /// If features have numbers.
    pub fn push_name(&mut self, parts: &[&str], value: f64) {
        let Keys::Name(names) = &mut self.keys else { panic!("features of this block go by number") };
        if value != 0.0 {
            let number = names.store(parts);
            names.push(number);
            self.values.push(value);
        }
    }

    /// Adds a feature with the name of a column. A zero is dropped.
    ///
    /// # Panics
    /// If features have numbers.
    #[inline]
    pub fn push_column(&mut self, number: u32, value: f64) {
        let Keys::Name(names) = &mut self.keys else { panic!("features of this block go by number") };
        if value != 0.0 {
            names.push(number);
            self.values.push(value);
        }
    }

    /// Adds features with the names of neighbouring columns, of which `first` is the number of the first. Zeros are dropped.
    ///
    /// # Panics
    /// If features have numbers.
    pub fn push_columns(&mut self, first: u32, values: &[f64]) {
        let Keys::Name(names) = &mut self.keys else { panic!("features of this block go by number") };
        for (number, part) in (first..).step_by(PART).zip(values.chunks(PART)) {
            // Without a branch for each value: zeros are rare in most tables.
            if part.iter().fold(false, |any, value| any | (*value == 0.0)) {
                for (number, &value) in (number..).zip(part).filter(|(_, value)| **value != 0.0) {
                    names.push(number);
                    self.values.push(value);
                }
            } else {
                names.push_all(number..number + part.len() as u32);
                self.values.extend_from_slice(part);
            }
        }
    }

    /// Ends the current row.
    pub fn end_row(&mut self, label: Label, weight: f64, line: u32) {
        self.end_row_at(self.values.len(), label, weight, line);
    }

    /// Ends the current row behind this many entries of all rows; those after them belong to the rows that follow.
    pub fn end_row_at(&mut self, entries: usize, label: Label, weight: f64, line: u32) {
        self.offsets.push(entries);
        self.labels.push(label);
        self.lines.push(line);
        self.weights.push(weight);
    }

    /// Values of row `i` with their keys, as written.
    pub fn entries(&self, i: usize) -> impl Iterator<Item = (FeatureKey<'_>, f64)> {
        (self.offsets[i]..self.offsets[i + 1]).map(|at| (self.key(at), self.values[at]))
    }

    /// The number of entries of row `i`, and its first and last: enough to distinguish most rows.
    pub fn first_and_last(&self, i: usize) -> (usize, Option<[(FeatureKey<'_>, f64); 2]>) {
        let (start, end) = (self.offsets[i], self.offsets[i + 1]);
        let entry = |at: usize| (self.key(at), self.values[at]);
        (end - start, (start < end).then(|| [entry(start), entry(end - 1)]))
    }

    fn key(&self, at: usize) -> FeatureKey<'_> {
        match &self.keys {
            Keys::Index(indices) => FeatureKey::Index(indices[at]),
            Keys::Name(names) => FeatureKey::from_name(names.name(names.number(at))),
        }
    }

    /// The arrays, to be stored elsewhere.
    pub fn parts(&self) -> RawParts<'_> {
        let RawRows { offsets, keys, values, weights, .. } = self;
        RawParts { offsets, keys, values, weights }
    }

    /// The importance weight of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights[i]
    }

    /// Sets the importance weight of row `i`.
    pub fn set_weight(&mut self, i: usize, weight: f64) {
        self.weights[i] = weight;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::data) fn named(rows: &[&[(&str, f64)]]) -> RawRows {
        let mut parsed = RawRows::by_name();
        for (line, row) in rows.iter().enumerate() {
            row.iter().for_each(|(name, value)| parsed.push_name(&[name], *value));
            parsed.end_row(Label::Number(1.0), 1.0, line as u32);
        }
        parsed
    }

    #[test]
    fn names_of_columns_are_those_of_all_their_entries() {
        let mut stored = RawRows::of_columns(ColumnNames::new(["a", "bc"].into_iter()), 4);
        let numbers = [0, 1];
        let rows = [[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]];
        for (line, values) in rows.iter().enumerate() {
            numbers.iter().zip(values).for_each(|(&number, &value)| stored.push_column(number, value));
            stored.push_name(&["own", "=", "x"], 5.0);
            let mark = stored.mark();
            stored.push_name(&["gone"], 6.0);
            stored.push_column(numbers[0], 7.0);
            stored.rollback(mark);
            stored.end_row(Label::Number(1.0), 1.0, line as u32);
        }
        let plain = named(&[
            &[("a", 1.0), ("bc", 2.0), ("own=x", 5.0)],
            &[("bc", 3.0), ("own=x", 5.0)],
            &[("a", 4.0), ("own=x", 5.0)],
        ]);
        assert_eq!(stored, plain);
        assert_eq!(stored.keep(|row| row > 0), plain.keep(|row| row > 0));
        for at in 0..=3 {
            let [mut one, mut other] = [stored.clone(), plain.clone()];
            assert_eq!(one.split_off(at), other.split_off(at));
            assert_eq!(one, other);
        }
        let mut joined = stored.clone();
        joined.append(stored.clone(), 3);
        let mut by_name = plain.clone();
        by_name.append(stored.clone(), 3);
        assert_eq!(joined, by_name, "whether names are shared or not");
        let [one, other] = [stored, plain].map(|rows| {
            let hashes: Vec<u64> = rows.row_hashes().collect();
            let mut vocabulary = crate::data::Vocabulary::new(None);
            (hashes, rows.intern(&mut vocabulary).unwrap().0)
        });
        assert_eq!(one, other);
    }
}
