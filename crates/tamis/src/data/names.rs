//! The names of the features of parsed rows: a name that many entries have is stored once.

/// The name of each entry.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// All names, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// The number of the name of each entry.
    entries: Vec<u32>,
}

/// The sizes of the lists, to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NamesMark {
    text: usize,
    names: usize,
}

impl Names {
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
        self.ends.len()
    }

    /// The number of the name of an entry.
    #[inline]
    pub fn number(&self, entry: usize) -> usize {
        self.entries[entry] as usize
    }

    /// A stored name.
    #[inline]
    pub fn name(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
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
        self.ends.len() as u32 - 1
    }

    /// Adds an entry with a stored name.
    #[inline]
    pub(super) fn push(&mut self, number: u32) {
        self.entries.push(number);
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
        let mut rest = Names::default();
        rest.extend(self, at..self.len());
        self.entries.truncate(at);
        rest
    }

    /// Adds some entries of others, and the names of these.
    pub(super) fn extend(&mut self, others: &Names, entries: std::ops::Range<usize>) {
        let mut numbers = vec![None; others.stored()];
        self.extend_with(others, entries, &mut numbers);
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
