//! Parsed rows before interning: features by number or name, labels as written. `intern_rows.rs` gives them ids.

use std::sync::Arc;

use thiserror::Error;

use super::names::{ColumnNames, Names, NamesMark};
use super::{FeatureKey, Label};

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
    Index(Vec<u32>),
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
        Self::with_keys(Keys::Index(Vec::new()))
    }

    /// No rows, features by number, with room for what `bytes` of text usually hold.
    pub fn for_text(bytes: usize) -> Self {
        Self::for_entries(bytes / 10)
    }

    /// No rows, features by number, with room for `entries` entries.
    pub fn for_entries(entries: usize) -> Self {
        let mut rows = Self::with_keys(Keys::Index(Vec::with_capacity(entries)));
        rows.values.reserve(entries);
        rows
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

    fn with_keys(keys: Keys) -> Self {
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
            Keys::Index(indices) => indices.truncate(mark.entries),
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
            indices.push(index);
            self.values.push(value);
        }
    }

    /// Adds numbered features to the current row. Zeros are dropped.
    ///
    /// # Panics
    /// If features have names.
    pub fn push_indices(&mut self, numbers: impl ExactSizeIterator<Item = u32>, values: &[f64]) {
        let Keys::Index(indices) = &mut self.keys else { panic!("features of this block go by name") };
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
        (indices, &mut self.values)
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
        self.offsets.push(self.values.len());
        self.labels.push(label);
        self.lines.push(line);
        self.weights.push(weight);
    }

    /// Splits off the rows from number `at` on and returns them.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn split_off(&mut self, at: usize) -> RawRows {
        let cut = self.offsets[at];
        let mut offsets = self.offsets.split_off(at);
        offsets.iter_mut().for_each(|offset| *offset -= cut);
        self.offsets.push(cut);
        let keys = match &mut self.keys {
            Keys::Index(indices) => Keys::Index(indices.split_off(cut)),
            Keys::Name(names) => Keys::Name(names.split_off(cut)),
        };
        RawRows {
            offsets,
            keys,
            values: self.values.split_off(cut),
            labels: self.labels.split_off(at),
            lines: self.lines.split_off(at),
            tags: self.tags.split_off(at.min(self.tags.len())),
            left_out: Vec::new(),
            weights: self.weights.split_off(at),
            adds_duplicates: self.adds_duplicates,
        }
    }

    /// Appends rows of the same kind, whose lines come `shift` lines later.
    ///
    /// # Panics
    /// If some features have names and others numbers.
    pub fn append(&mut self, rows: RawRows, shift: u32) {
        let (entries, before) = (self.values.len(), self.len());
        match (&mut self.keys, rows.keys) {
            (Keys::Index(to), Keys::Index(from)) => to.extend(from),
            (Keys::Name(to), Keys::Name(from)) => to.extend(&from, 0..from.len()),
            _ => panic!("features of this block go by another kind of key"),
        }
        if !self.tags.is_empty() || !rows.tags.is_empty() {
            self.tags.resize(before, "".into());
            self.tags.extend(rows.tags);
            self.tags.resize(before + rows.labels.len(), "".into());
        }
        self.values.extend(rows.values);
        self.offsets.extend(rows.offsets.into_iter().skip(1).map(|offset| offset + entries));
        self.labels.extend(rows.labels);
        self.weights.extend(rows.weights);
        self.lines.extend(rows.lines.into_iter().map(|line| line + shift));
        self.left_out.extend(rows.left_out.into_iter().map(|line| line + shift));
    }

    /// The selected rows in their order, with lines, labels, weights and tags.
    pub fn keep(&self, wanted: impl Fn(usize) -> bool) -> RawRows {
        let (keys, mut numbers) = match &self.keys {
            Keys::Index(_) => (Keys::Index(Vec::new()), Vec::new()),
            Keys::Name(names) => {
                let kept = Names::with_columns(names.columns().clone());
                let numbers = kept.numbers_of(names);
                (Keys::Name(kept), numbers)
            }
        };
        let mut kept = RawRows { adds_duplicates: self.adds_duplicates, ..Self::with_keys(keys) };
        for row in (0..self.len()).filter(|&row| wanted(row)) {
            let span = self.offsets[row]..self.offsets[row + 1];
            match (&mut kept.keys, &self.keys) {
                (Keys::Index(to), Keys::Index(from)) => to.extend_from_slice(&from[span.clone()]),
                (Keys::Name(to), Keys::Name(from)) => to.extend_with(from, span.clone(), &mut numbers),
                _ => unreachable!("made of the same kind"),
            }
            kept.values.extend_from_slice(&self.values[span]);
            kept.tags.extend(self.tags.get(row).cloned());
            kept.end_row(self.labels[row].clone(), self.weights[row], self.lines[row]);
        }
        kept
    }

    /// The rows with names in place of numbers; a number without a name stays.
    pub fn named<'a>(&self, name: impl Fn(u32) -> Option<&'a str>) -> RawRows {
        let mut named = RawRows { adds_duplicates: self.adds_duplicates, tags: self.tags.clone(), ..Self::by_name() };
        for i in 0..self.len() {
            for (key, value) in self.entries(i) {
                match key {
                    FeatureKey::Index(index) => match name(index) {
                        Some(text) => named.push_name(&[text], value),
                        None => named.push_name(&[&index.to_string()], value),
                    },
                    FeatureKey::Name(text) => named.push_name(&[text], value),
                }
            }
            named.end_row(self.labels[i].clone(), self.weights[i], self.lines[i]);
        }
        named
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
    fn rows_can_be_cut_anywhere() {
        let rows: [&[(&str, f64)]; 3] = [&[("a", 1.0), ("bc", 2.0)], &[], &[("7", 3.0)]];
        for at in 0..=3 {
            let mut first = named(&rows);
            let second = first.split_off(at);
            assert_eq!((first.len(), second.len()), (at, 3 - at));
            let all = (0..at).map(|i| (&first, i)).chain((0..3 - at).map(|i| (&second, i)));
            for ((part, i), row) in all.zip(rows) {
                let keys: Vec<_> = row.iter().map(|&(name, value)| (FeatureKey::from_name(name), value)).collect();
                assert_eq!(part.entries(i).collect::<Vec<_>>(), keys);
            }
        }
    }

    #[test]
    fn cut_rows_can_be_joined_again() {
        let mut whole = named(&[&[("a", 1.0), ("bc", 2.0)], &[], &[("7", 3.0)], &[("a", 4.0)]]);
        whole.tags = ["p", "", "r", "s"].map(Into::into).into();
        for at in 0..=4 {
            let mut first = whole.clone();
            let mut second = first.split_off(at);
            second.lines.iter_mut().for_each(|line| *line -= at as u32);
            first.append(second, at as u32);
            assert_eq!(first, whole);
        }
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

    #[test]
    fn rows_can_be_picked() {
        let mut parsed = named(&[&[("a", 1.0), ("bc", 2.0)], &[], &[("7", 3.0)], &[("a", 4.0)]]);
        parsed.tags = ["p", "q", "r", "s"].map(Into::into).into();
        let kept = parsed.keep(|row| row != 1);
        assert_eq!((kept.lines.as_slice(), kept.labels.len()), ([0, 2, 3].as_slice(), 3));
        assert_eq!(kept.tags.concat(), "prs");
        for (row, old) in [0, 2, 3].into_iter().enumerate() {
            assert_eq!(kept.entries(row).collect::<Vec<_>>(), parsed.entries(old).collect::<Vec<_>>());
        }
        assert_eq!(parsed.keep(|_| true), parsed);
        let mut numbered = RawRows::by_index();
        for row in 0..3 {
            (0..=row).for_each(|index| numbered.push_index(index, 1.0 + f64::from(row)));
            numbered.end_row(Label::Absent, 2.0, row);
        }
        let kept = numbered.keep(|row| row == 1);
        assert_eq!(kept.entries(0).collect::<Vec<_>>(), [(FeatureKey::Index(0), 2.0), (FeatureKey::Index(1), 2.0)]);
        assert_eq!(kept.weight(0), 2.0);
    }
}
