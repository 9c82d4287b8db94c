//! The names of the features of parsed rows. Those of the columns of a table are shared by all of its blocks; a name that
//! many entries of a block have is stored once.

use std::ops::Range;
use std::sync::Arc;

use super::FeatureKey;
use super::row_hash::key_hash;

/// The names of columns of a table, made once for all blocks.
#[derive(Clone, Debug, Default)]
pub struct ColumnNames {
    names: Vec<Box<str>>,
    hashes: Vec<u64>,
}

impl ColumnNames {
    /// Numbers for names: 0, 1, 2 and so on.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Arc<Self> {
        let names: Vec<Box<str>> = names.map(Into::into).collect();
        let hashes = names.iter().map(|name| key_hash(FeatureKey::from_name(name))).collect();
        Arc::new(ColumnNames { names, hashes })
    }

    /// The names of some columns of a table, and by column the number of its name.
    pub fn of_some<'a>(columns: impl Iterator<Item = Option<&'a str>>) -> (Arc<Self>, Vec<Option<u32>>) {
        let (mut names, mut numbers) = (Vec::new(), Vec::new());
        for column in columns {
            numbers.push(column.map(|_| names.len() as u32));
            names.extend(column);
        }
        (Self::new(names.into_iter()), numbers)
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The runs of neighbouring columns with names and without, and the number of the first name; `numbers` are those of
/// [`ColumnNames::of_some`].
pub fn name_runs(numbers: &[Option<u32>]) -> Vec<(Range<usize>, Option<u32>)> {
    let mut runs: Vec<(Range<usize>, Option<u32>)> = Vec::new();
    for (at, number) in numbers.iter().enumerate() {
        match runs.last_mut() {
            Some((columns, first)) if first.is_some() == number.is_some() => columns.end += 1,
            _ => runs.push((at..at + 1, *number)),
        }
    }
    runs
}

/// The name of each entry.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names with the first numbers.
    columns: Arc<ColumnNames>,
    /// All other names, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// The number of the name of each entry.
    entries: Vec<u32>,
}

/// The hashes of stored names.
pub(super) struct NameHashes<'a> {
    columns: &'a [u64],
    own: Vec<u64>,
}

impl NameHashes<'_> {
    /// The hash of a name by its number.
    #[inline]
    pub(super) fn of(&self, number: usize) -> u64 {
        self.columns.get(number).copied().unwrap_or_else(|| self.own[number - self.columns.len()])
    }
}

/// The sizes of the lists, to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NamesMark {
    text: usize,
    names: usize,
}

impl Names {
    /// No entries; the names of columns have the first numbers.
    pub(super) fn with_columns(columns: Arc<ColumnNames>) -> Self {
        Names { columns, ..Self::default() }
    }

    /// The names of columns, which have the first numbers.
    pub(super) fn columns(&self) -> &Arc<ColumnNames> {
        &self.columns
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of stored names. Some may have no entry.
    pub fn stored(&self) -> usize {
        self.columns.len() + self.ends.len()
    }

    /// The number of the name of an entry.
    #[inline]
    pub fn number(&self, entry: usize) -> usize {
        self.entries[entry] as usize
    }

    /// The numbers of the names of some entries.
    #[inline]
    pub(super) fn numbers(&self, entries: std::ops::Range<usize>) -> &[u32] {
        &self.entries[entries]
    }

    /// A stored name.
    #[inline]
    pub fn name(&self, number: usize) -> &str {
        if let Some(name) = self.columns.names.get(number) {
            return name;
        }
        let own = number - self.columns.len();
        let start = if own == 0 { 0 } else { self.ends[own - 1] };
        &self.text[start..self.ends[own]]
    }

    /// The hashes of the stored names.
    pub(super) fn hashes(&self) -> NameHashes<'_> {
        let own = (self.columns.len()..self.stored()).map(|number| key_hash(FeatureKey::from_name(self.name(number))));
        NameHashes { columns: &self.columns.hashes, own: own.collect() }
    }

    /// The name of each entry.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|&number| self.name(number as usize))
    }

    /// Makes room for entries.
    pub(super) fn reserve(&mut self, entries: usize) {
        self.entries.reserve(entries);
    }

    /// Stores a name, given in parts, and returns its number.
    #[inline]
    pub(super) fn store(&mut self, parts: &[&str]) -> u32 {
        parts.iter().for_each(|part| self.text.push_str(part));
        self.ends.push(self.text.len());
        self.stored() as u32 - 1
    }

    /// Adds an entry with a stored name.
    #[inline]
    pub(super) fn push(&mut self, number: u32) {
        self.entries.push(number);
    }

    /// Adds entries with stored names that have these numbers.
    #[inline]
    pub(super) fn push_all(&mut self, numbers: Range<u32>) {
        self.entries.extend(numbers);
    }

    pub(super) fn mark(&self) -> NamesMark {
        NamesMark { text: self.text.len(), names: self.ends.len() }
    }

    /// Removes entries from number `entries` on, and the names stored since.
    pub(super) fn rollback(&mut self, entries: usize, mark: NamesMark) {
        self.entries.truncate(entries);
        self.text.truncate(mark.text);
        self.ends.truncate(mark.names);
    }

    /// Splits off the entries from number `at` on, with their names.
    pub(super) fn split_off(&mut self, at: usize) -> Names {
        let mut rest = Names::with_columns(self.columns.clone());
        rest.extend(self, at..self.len());
        self.entries.truncate(at);
        rest
    }

    /// Adds some entries of others, and the names of these.
    pub(super) fn extend(&mut self, others: &Names, entries: std::ops::Range<usize>) {
        let mut numbers = self.numbers_of(others);
        self.extend_with(others, entries, &mut numbers);
    }

    /// For each name of others, its number here if it is known: shared names have the same numbers.
    pub(super) fn numbers_of(&self, others: &Names) -> Vec<Option<u32>> {
        let mut numbers = vec![None; others.stored()];
        if Arc::ptr_eq(&self.columns, &others.columns) {
            numbers.iter_mut().zip(0..self.columns.len() as u32).for_each(|(number, shared)| *number = Some(shared));
        }
        numbers
    }

    /// Adds some entries of others; `numbers` are the numbers here of the names there that are stored already.
    pub(super) fn extend_with(&mut self, others: &Names, entries: std::ops::Range<usize>, numbers: &mut [Option<u32>]) {
        for &old in &others.entries[entries] {
            let number = *numbers[old as usize].get_or_insert_with(|| self.store(&[others.name(old as usize)]));
            self.entries.push(number);
        }
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_names_and_without_are_runs() {
        let columns = [None, Some("a"), Some("b"), None, None, Some("c")];
        let (names, numbers) = ColumnNames::of_some(columns.into_iter());
        let expected = [(0..1, None), (1..3, Some(0)), (3..5, None), (5..6, Some(2))];
        assert_eq!((names.len(), name_runs(&numbers)), (3, expected.to_vec()));
        assert!(name_runs(&[]).is_empty());
    }
}
