//! Many feature numbers become ids at a time: the fast path of svmlight input and of matrices.
//!
//! Numbers are looked up before those without an id are interned, and no branch depends on what is found: a lookup usually misses the
//! cache, and a mispredicted branch would wait for the miss and discard the lookups after it.

use super::shared_ids::KnownIds;
use super::{FeatureId, FeatureKey, SparseIndexMap, Vocabulary};

/// Numbers that are looked up together, while those after them are prefetched: one for each bit of a word.
const MANY: usize = u64::BITS as usize;

impl Vocabulary {
    /// Replaces numbers by ids and interns new ones.
    pub fn intern_indices(&mut self, indices: &mut [u32]) {
        if self.hash_bits().is_some() {
            indices.iter_mut().for_each(|index| *index = self.intern(FeatureKey::Index(*index)));
            return;
        }
        let (groups, rest) = indices.as_chunks_mut::<MANY>();
        for at in 0..groups.len() {
            self.by_index.fetch(groups.get(at + 1).map_or(&*rest, |next| next));
            self.intern_group(&mut groups[at]);
        }
        self.intern_group(rest);
    }

    /// Replaces the numbers of one group by ids. Inlined where the length is known, so that the copy is a few vectors.
    #[inline(always)]
    fn intern_group(&mut self, group: &mut [u32]) {
        let mut numbers = [0; MANY];
        let numbers = &mut numbers[..group.len()];
        numbers.copy_from_slice(group);
        group.iter_mut().for_each(|id| *id = self.by_index.peek(*id));
        let is_new = |id: u32| u64::from(id == SparseIndexMap::EMPTY);
        // A bit for each number without an id, the first one lowest.
        let mut new = group.iter().rev().fold(0, |new, &id| new << 1 | is_new(id));
        while new != 0 {
            let place = new.trailing_zeros() as usize;
            group[place] = self.intern_index(numbers[place]);
            new &= new - 1;
        }
    }

    /// The ids of numbers that may have been looked up by another thread.
    pub(super) fn intern_looked_up(&mut self, mut numbers: Vec<u32>, known: Option<KnownIds>) -> Vec<FeatureId> {
        let Some(known) = self.by_index.if_valid(known).filter(|_| self.hash_bits().is_none()) else {
            self.intern_indices(&mut numbers);
            return numbers;
        };
        let KnownIds { mut ids, unknown, .. } = known;
        let mut found = [0; MANY];
        for places in unknown.chunks(MANY) {
            let found = &mut found[..places.len()];
            found.iter_mut().zip(places).for_each(|(number, &place)| *number = numbers[place as usize]);
            self.intern_indices(found);
            found.iter().zip(places).for_each(|(&id, &place)| ids[place as usize] = id);
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_a_time_are_one_by_one() {
        let numbers: Vec<u32> = (0..5000u32).map(|i| i.wrapping_mul(2_654_435_761) >> (i % 25)).collect();
        for bits in [None, Some(8)] {
            let (mut one, mut many) = (Vocabulary::new(bits), Vocabulary::new(bits));
            let expected: Vec<u32> = numbers.iter().map(|&number| one.intern(FeatureKey::Index(number))).collect();
            let mut ids = numbers.clone();
            many.intern_indices(&mut ids);
            assert_eq!(ids, expected);
            assert!(many.export().eq(one.export()));
        }
    }
}
