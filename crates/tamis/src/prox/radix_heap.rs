//! A monotone radix heap: entries are taken in ascending order, up to rising limits.
//!
//! Source: after Ahuja, Mehlhorn, Orlin & Tarjan, *Faster Algorithms for the Shortest Path Problem* (J. ACM 37, 1990),
//! section 2. An entry is stored in the bucket given by the highest bit in which it differs from the last limit. A
//! higher limit empties the buckets below the highest bit in which the two limits differ, and splits that bucket:
//! entries that stay move to a lower bucket, so an entry moves at most once per bit.
//!
//! Departures: entries may be added that are not above the last limit (if a planned projection is cancelled); they are
//! kept in a separate list, which is scanned each time.
//!
//! Cost: O(1) to add, a few moves along consecutive memory to take; no comparisons across memory as in a binary heap.

use crate::data::FeatureId;

/// The absolute value of a key, as bits (positive floats order as their bits), and its feature.
pub type Entry = (u64, FeatureId);

/// A heap whose smallest entries are taken first.
#[derive(Clone, Debug)]
pub struct RadixHeap {
    last: u64,
    early: Vec<Entry>,
    piles: Vec<Vec<Entry>>,
    length: usize,
}

impl RadixHeap {
    /// An empty heap.
    pub fn new() -> Self {
        RadixHeap { last: 0, early: Vec::new(), piles: vec![Vec::new(); 64], length: 0 }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Removes all entries but keeps the memory.
    pub fn clear(&mut self) {
        self.early.clear();
        self.piles.iter_mut().for_each(Vec::clear);
        (self.last, self.length) = (0, 0);
    }

    /// Adds an entry.
    #[inline]
    pub fn put(&mut self, entry: Entry) {
        self.length += 1;
        self.place(entry);
    }

    #[inline]
    fn place(&mut self, entry: Entry) {
        match entry.0 > self.last {
            true => self.piles[highest_bit(entry.0 ^ self.last)].push(entry),
            false => self.early.push(entry),
        }
    }

    /// Removes and returns all entries up to a limit, in order; duplicates once.
    pub fn take(&mut self, limit: u64, taken: &mut Vec<Entry>) {
        taken.clear();
        self.early.retain(|&entry| {
            if entry.0 <= limit {
                taken.push(entry);
            }
            entry.0 > limit
        });
        if limit > self.last {
            let parted = highest_bit(limit ^ self.last);
            self.piles[..parted].iter_mut().for_each(|pile| taken.append(pile));
            self.last = limit;
            let mut pile = std::mem::take(&mut self.piles[parted]);
            for entry in pile.drain(..) {
                match entry.0 <= limit {
                    true => taken.push(entry),
                    false => self.place(entry),
                }
            }
            // The remaining entries share this bit with the limit: the bucket is empty, and keeps its memory.
            self.piles[parted] = pile;
        }
        self.length -= taken.len();
        taken.sort_unstable();
        taken.dedup();
    }
}

/// The number of the highest bit that is set.
fn highest_bit(bits: u64) -> usize {
    63 - bits.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{RngStream, generator, uniform_below};

    #[test]
    fn gives_what_a_sorted_list_gives() {
        let mut random = generator(2, RngStream::PassOrder, 0);
        let (mut soon, mut list, mut taken) = (RadixHeap::new(), Vec::new(), Vec::new());
        let mut limit: f64 = 1.0;
        for round in 0..2000 {
            for _ in 0..uniform_below(&mut random, 30) {
                // Mostly above the limit, now and then not; some twice.
                let size = limit * (0.99 + uniform_below(&mut random, 1000) as f64 / 3000.0);
                let entry = (size.to_bits(), uniform_below(&mut random, 5) as FeatureId);
                soon.put(entry);
                list.push(entry);
            }
            limit *= 1.0 + (uniform_below(&mut random, 40) as f64 - 5.0) / 1000.0;
            soon.take(limit.to_bits(), &mut taken);
            let mut expected: Vec<Entry> = list.iter().copied().filter(|entry| entry.0 <= limit.to_bits()).collect();
            list.retain(|entry| entry.0 > limit.to_bits());
            expected.sort_unstable();
            expected.dedup();
            assert_eq!((&taken, soon.len()), (&expected, list.len()), "round {round}");
        }
    }

    #[test]
    fn takes_everything_and_nothing() {
        let (mut soon, mut taken) = (RadixHeap::new(), Vec::new());
        soon.take(5, &mut taken);
        assert!(taken.is_empty());
        [7, 6, u64::MAX, 3].into_iter().for_each(|bits| soon.put((bits, 1)));
        soon.take(u64::MAX, &mut taken);
        assert_eq!((taken.len(), soon.len()), (4, 0));
        soon.put((9, 2));
        soon.clear();
        soon.take(u64::MAX, &mut taken);
        assert!(taken.is_empty());
    }
}
