//! A map from feature numbers of a file to dense ids, in memory that grows with the numbers *seen*.
//!
//! Small or dense numbers are stored in a table, isolated large numbers in a hash map: a lookup is usually one read,
//! and a feature with number four billion costs a few bytes, not gigabytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use super::prefetch;
use super::shared_ids::{IdTable, KnownIds, NO_ID, SharedIds, empty_table};

/// The table is free to cover this many numbers before any were seen (4 MiB).
const FREE_SPAN: usize = 1 << 20;
/// Beyond that it may cover this many numbers for each one seen.
const SPAN_PER_ENTRY: usize = 16;

/// A map from `u32` to `u32` for keys that are mostly dense.
#[derive(Debug)]
pub struct SparseIndexMap {
    table: IdTable,
    /// The same table, for other threads.
    shared: Arc<SharedIds>,
    strays: FxHashMap<u32, u32>,
    len: usize,
}

impl Default for SparseIndexMap {
    fn default() -> Self {
        Self::with_table(empty_table(0))
    }
}

/// The copy has a table of its own.
impl Clone for SparseIndexMap {
    fn clone(&self) -> Self {
        let ids = self.table.iter().map(|id| AtomicU32::new(id.load(Ordering::Relaxed)));
        SparseIndexMap { strays: self.strays.clone(), len: self.len, ..Self::with_table(ids.collect()) }
    }
}

impl SparseIndexMap {
    /// No id: the result of [`SparseIndexMap::peek`] for an index that is not in the table.
    pub const EMPTY: u32 = NO_ID;

    fn with_table(table: IdTable) -> Self {
        let shared = Arc::new(SharedIds::new(table.clone()));
        SparseIndexMap { table, shared, strays: FxHashMap::default(), len: 0 }
    }

    /// The ids in the table, for other threads.
    pub(super) fn shared(&self) -> &Arc<SharedIds> {
        &self.shared
    }

    /// Ids that another thread found, if they are still right.
    pub(super) fn if_valid(&self, known: Option<KnownIds>) -> Option<KnownIds> {
        known.filter(|known| self.shared.are_valid(known))
    }

    /// The id stored for `index`.
    #[inline]
    pub fn get(&self, index: u32) -> Option<u32> {
        match self.table.get(index as usize) {
            Some(id) => Some(id.load(Ordering::Relaxed)).filter(|&id| id != NO_ID),
            None if self.strays.is_empty() => None,
            None => self.strays.get(&index).copied(),
        }
    }

    /// The id stored for `index` in the plain table, or [`SparseIndexMap::EMPTY`] if it is not there.
    #[inline]
    pub fn peek(&self, index: u32) -> u32 {
        self.table.get(index as usize).map_or(NO_ID, |id| id.load(Ordering::Relaxed))
    }

    /// Prefetches the ids of these indices.
    #[inline]
    pub(super) fn fetch(&self, indices: &[u32]) {
        prefetch(&self.table, indices);
    }

    /// Stores `id` for `index`.
    ///
    /// # Panics
    /// If `id` is `u32::MAX`, which marks an empty place.
    pub fn insert(&mut self, index: u32, id: u32) {
        assert_ne!(id, NO_ID, "the largest id is reserved");
        let before = self.get(index);
        self.len += usize::from(before.is_none());
        let place = index as usize;
        if place >= self.table.len() {
            self.widen(place);
        }
        match self.table.get(place) {
            Some(slot) => slot.store(id, Ordering::Relaxed),
            None => drop(self.strays.insert(index, id)),
        }
        // After the change: a thread that looks up between the two would find the old id with the new version.
        if before.is_some_and(|before| before != id) {
            self.shared.invalidate();
        }
    }

    /// The id stored for `index`. If there is none, `id` is stored and returned.
    ///
    /// # Panics
    /// If `id` is `u32::MAX`, which marks an empty place.
    #[inline]
    pub fn get_or_insert(&mut self, index: u32, id: u32) -> u32 {
        let Some(slot) = self.table.get(index as usize) else {
            return self.get(index).unwrap_or_else(|| {
                self.insert(index, id);
                id
            });
        };
        let found = slot.load(Ordering::Relaxed);
        if found != NO_ID {
            return found;
        }
        assert_ne!(id, NO_ID, "the largest id is reserved");
        self.len += 1;
        slot.store(id, Ordering::Relaxed);
        id
    }

    /// Removes `index`.
    pub fn remove(&mut self, index: u32) {
        if self.get(index).is_some() {
            self.len -= 1;
            match self.table.get(index as usize) {
                Some(slot) => slot.store(NO_ID, Ordering::Relaxed),
                None => drop(self.strays.remove(&index)),
            }
            self.shared.invalidate();
        }
    }

    /// Calls back with each index and its id: those of the table ascending, then the others.
    pub(super) fn each(&self, mut see: impl FnMut(u32, u32)) {
        self.each_slot(|index, id| {
            if id != NO_ID {
                see(index, id);
            }
        });
    }

    /// Calls back with each index and its id, and with [`SparseIndexMap::EMPTY`] for an index of the table that has none. The caller
    /// can do without a branch for these, which are so irregular that it could not be predicted.
    pub(super) fn each_slot(&self, mut see: impl FnMut(u32, u32)) {
        for (index, id) in (0..).zip(self.table.iter()) {
            see(index, id.load(Ordering::Relaxed));
        }
        self.strays.iter().for_each(|(&index, &id)| see(index, id));
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.table.len() * 4 + self.strays.capacity() * 9
    }

    /// Extends the table to indices up to `largest`, if it is free to cover so many.
    pub(super) fn reserve(&mut self, largest: usize) {
        if (self.table.len()..FREE_SPAN).contains(&largest) {
            self.extend_to(largest + 1);
        }
    }

    /// Extends the table to `place` if enough numbers were seen to make this cheap.
    fn widen(&mut self, place: usize) {
        let mut span = (place + 1).next_power_of_two().min(1 << 32);
        // The last doublings of the free span are one.
        if (FREE_SPAN / 8..FREE_SPAN).contains(&span) {
            span = FREE_SPAN;
        }
        if span <= FREE_SPAN.max(SPAN_PER_ENTRY * self.len) {
            self.extend_to(span);
        }
    }

    fn extend_to(&mut self, span: usize) {
        let table = empty_table(span);
        for (slot, id) in table.iter().zip(self.table.iter()) {
            slot.store(id.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.strays.retain(|&index, id| match table.get(index as usize) {
            Some(slot) => {
                slot.store(*id, Ordering::Relaxed);
                false
            }
            None => true,
        });
        self.shared.widen(table.clone());
        self.table = table;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_plain_map() {
        let mut table = SparseIndexMap::default();
        let mut plain = std::collections::BTreeMap::new();
        let mut state = 1u32;
        for id in 0..20_000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let index = if id % 3 == 0 { state } else { state >> 10 };
            if id % 7 == 0 {
                table.remove(index);
                plain.remove(&index);
            } else if id % 5 == 0 {
                assert_eq!(table.get_or_insert(index, id), *plain.entry(index).or_insert(id));
            } else {
                table.insert(index, id);
                plain.insert(index, id);
            }
        }
        assert_eq!(table.len, plain.len());
        assert!(plain.iter().all(|(&index, &id)| table.get(index) == Some(id)));
        assert_eq!(table.get(3_999_999_999), plain.get(&3_999_999_999).copied());
    }

    #[test]
    fn one_huge_index_costs_little() {
        let mut table = SparseIndexMap::default();
        table.insert(u32::MAX - 1, 0);
        assert_eq!(table.get(u32::MAX - 1), Some(0));
        assert!(table.bytes() < 1000);
    }
}
