//! A map from feature numbers of a file to dense ids, in memory that grows with the numbers *seen*.
//!
//! Small or dense numbers are stored in a table, isolated large numbers in a hash map: a lookup is usually one read,
//! and a feature with number four billion costs a few bytes, not gigabytes.

use rustc_hash::FxHashMap;

/// The table is free to cover this many numbers before any were seen (4 MiB).
const FREE_SPAN: usize = 1 << 20;
/// Beyond that it may cover this many numbers for each one seen.
const SPAN_PER_ENTRY: usize = 16;
const EMPTY: u32 = u32::MAX;

/// A map from `u32` to `u32` for keys that are mostly dense.
#[derive(Clone, Debug, Default)]
pub struct SparseIndexMap {
    table: Vec<u32>,
    strays: FxHashMap<u32, u32>,
    len: usize,
}

impl SparseIndexMap {
    /// No id: the result of [`SparseIndexMap::peek`] for an index that is not in the table.
    pub const EMPTY: u32 = EMPTY;

    /// The id stored for `index`.
    #[inline]
    pub fn get(&self, index: u32) -> Option<u32> {
        match self.table.get(index as usize) {
            Some(&EMPTY) => None,
            Some(&id) => Some(id),
            None if self.strays.is_empty() => None,
            None => self.strays.get(&index).copied(),
        }
    }

    /// The id stored for `index` in the plain table, or [`SparseIndexMap::EMPTY`] if it is not there.
    #[inline]
    pub fn peek(&self, index: u32) -> u32 {
        self.table.get(index as usize).copied().unwrap_or(EMPTY)
    }

    /// Stores `id` for `index`.
    ///
    /// # Panics
    /// If `id` is `u32::MAX`, which marks an empty place.
    pub fn insert(&mut self, index: u32, id: u32) {
        assert_ne!(id, EMPTY, "the largest id is reserved");
        self.len += usize::from(self.get(index).is_none());
        let place = index as usize;
        if place >= self.table.len() {
            self.widen(place);
        }
        match self.table.get_mut(place) {
            Some(slot) => *slot = id,
            None => drop(self.strays.insert(index, id)),
        }
    }

    /// Removes `index`.
    pub fn remove(&mut self, index: u32) {
        if self.get(index).is_some() {
            self.len -= 1;
            match self.table.get_mut(index as usize) {
                Some(slot) => *slot = EMPTY,
                None => drop(self.strays.remove(&index)),
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.table.capacity() * 4 + self.strays.capacity() * 9
    }

    /// Extends the table to `place` if enough numbers were seen to make this cheap.
    fn widen(&mut self, place: usize) {
        let span = (place + 1).next_power_of_two().min(1 << 32);
        if span > FREE_SPAN.max(SPAN_PER_ENTRY * self.len) {
            return;
        }
        self.table.resize(span, EMPTY);
        let table = &mut self.table;
        self.strays.retain(|&index, id| match table.get_mut(index as usize) {
            Some(slot) => {
                *slot = *id;
                false
            }
            None => true,
        });
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
