//! The key of each feature, by its id.
//!
//! As long as all features have numbers and none was removed, nothing is stored but their count: the table from numbers to ids says
//! the rest, and is inverted when a key is asked for. So a stream of millions of numbered features keeps names only for those of
//! its model.

use std::sync::OnceLock;

use super::{FeatureId, SparseIndexMap};

/// The key of an id, in 8 bytes. Names are stored in a separate table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Entry {
    Index(u32),
    /// By a name, at this place of the names.
    Text(u32),
    /// Freed; the id can be reused.
    Free,
}

/// The entries of ids 0, 1, 2, …
#[derive(Clone, Debug, Default)]
pub(super) struct FeatureKeys {
    /// The number of ids.
    count: usize,
    /// Their entries. While they are not listed, all are numbers.
    listed: OnceLock<Vec<Entry>>,
}

impl FeatureKeys {
    /// The number of ids.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether an entry other than a number may be among them.
    pub(super) fn is_listed(&self) -> bool {
        self.listed.get().is_some()
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.listed.get().map_or(0, Vec::capacity) * size_of::<Entry>()
    }

    /// All entries. `numbers` is the table from numbers to ids.
    pub(super) fn all(&self, numbers: &SparseIndexMap) -> &[Entry] {
        self.listed.get_or_init(|| {
            let mut entries = vec![Entry::Free; self.count];
            numbers.each(|index, id| entries[id as usize] = Entry::Index(index));
            entries
        })
    }

    /// The entries of these ids, in their order.
    pub(super) fn some(&self, ids: &[FeatureId], numbers: &SparseIndexMap) -> Vec<Entry> {
        if let Some(listed) = self.listed.get() {
            return ids.iter().map(|&id| listed[id as usize]).collect();
        }
        let mut places: Vec<usize> = (0..ids.len()).collect();
        places.sort_unstable_by_key(|&place| ids[place]);
        // A bit for each id, and after them one that is never set, for slots without an id.
        let mut wanted = vec![0u64; self.count / 64 + 1];
        ids.iter().for_each(|&id| wanted[id as usize / 64] |= 1 << (id % 64));
        let mut entries = vec![Entry::Free; ids.len()];
        numbers.each_slot(|index, id| {
            let bit = (id as usize).min(self.count);
            if wanted[bit / 64] >> (bit % 64) & 1 == 1 {
                let first = places.partition_point(|&place| ids[place] < id);
                let same = places[first..].iter().take_while(|&&place| ids[place] == id);
                same.for_each(|&place| entries[place] = Entry::Index(index));
            }
        });
        entries
    }

    /// Adds an entry, with the next id.
    pub(super) fn push(&mut self, entry: Entry, numbers: &SparseIndexMap) {
        if !matches!(entry, Entry::Index(_)) {
            self.all(numbers);
        }
        if let Some(listed) = self.listed.get_mut() {
            listed.push(entry);
        }
        self.count += 1;
    }

    /// Replaces an entry; returns the one before.
    pub(super) fn replace(&mut self, id: FeatureId, entry: Entry, numbers: &SparseIndexMap) -> Entry {
        self.all(numbers);
        let listed = self.listed.get_mut().expect("just listed");
        std::mem::replace(&mut listed[id as usize], entry)
    }
}
