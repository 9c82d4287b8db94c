//! Hashed rows, and the subsample of the rows that each path learns from.

use crate::data::{Batch, Example, fold_of_hash};
use crate::rng::splitmix64;

use super::path_block::LANES;

/// Rows over the active set: ids are positions in it, values are scaled, targets are numbers or class numbers.
#[derive(Clone, Debug, Default)]
pub struct HashedRows {
    /// The rows.
    pub batch: Batch,
    /// The hash of each row; it does not depend on the order of the rows.
    pub row_hashes: Vec<u64>,
}

impl HashedRows {
    /// Adds a row.
    pub fn push(&mut self, example: Example<'_>, row_hash: u64) {
        self.batch.push(example);
        self.row_hashes.push(row_hash);
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.row_hashes.clear();
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.row_hashes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.row_hashes.is_empty()
    }

    /// The rows with their hashes.
    pub fn iter(&self) -> impl Iterator<Item = (Example<'_>, u64)> {
        self.batch.examples().zip(self.row_hashes.iter().copied())
    }

    /// A row with its hash.
    pub fn row(&self, number: usize) -> (Example<'_>, u64) {
        (self.batch.example(number), self.row_hashes[number])
    }

    /// The rows over the features that `keep` names.
    pub fn filtered(&self, keep: impl Fn(u32) -> bool) -> HashedRows {
        let mut rows = HashedRows::default();
        rows.batch.reserve(self.len(), self.batch.entries());
        self.batch.examples().for_each(|example| rows.batch.push_some(example, &keep, |_, value| value));
        rows.row_hashes.clone_from(&self.row_hashes);
        rows
    }

    /// The rows over a smaller active set: `places` gives the new position of each old one, or `None`.
    pub fn restricted_to(&self, places: &[Option<u32>]) -> HashedRows {
        let mut rows = HashedRows::default();
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        for (example, row_hash) in self.iter() {
            ids.clear();
            values.clear();
            for (position, value) in example.row.iter() {
                if let Some(place) = places[position as usize] {
                    ids.push(place);
                    values.push(value);
                }
            }
            let row = crate::data::Row { ids: &ids, values: &values };
            rows.push(Example { row, ..example }, row_hash);
        }
        rows
    }
}

/// The subsample of each path: a share of the rows, chosen by a hash of the row's hash. It depends on the data alone,
/// so that the subsamples are the same whatever the order of the rows and the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subsamples {
    limit: u64,
    /// A fold that no subsample contains, and the number of folds.
    excluded: Option<(u32, u32)>,
}

impl Subsamples {
    /// Each path learns from this share of the rows.
    pub fn new(share: f64) -> Self {
        Subsamples { limit: (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64, excluded: None }
    }

    /// Each path learns from this share of the rows, all of them outside of fold `fold` of `folds`.
    pub fn excluding_fold(share: f64, fold: u32, folds: u32) -> Self {
        let outside = 1.0 - 1.0 / f64::from(folds);
        Subsamples { excluded: Some((fold, folds)), ..Subsamples::new(share / outside) }
    }

    /// Whether the subsample of a path contains a row.
    #[inline]
    pub fn contains(&self, path: usize, row_hash: u64) -> bool {
        if self.excluded.is_some_and(|(fold, folds)| fold_of_hash(row_hash, folds) == fold) {
            return false;
        }
        splitmix64(row_hash ^ (path as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)) <= self.limit
    }

    /// Whether the subsamples of the `count` paths `first`, `first + 1`, … of a block contain a row.
    #[inline]
    pub fn block(&self, first: usize, count: usize, row_hash: u64) -> [bool; LANES] {
        std::array::from_fn(|path| path < count && self.contains(first + path, row_hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_own_subsample() {
        let subsamples = Subsamples::new(0.5);
        let owned = |path: usize| (0..10_000u64).filter(|&row| subsamples.contains(path, splitmix64(row))).count();
        let both = (0..10_000u64)
            .filter(|&row| subsamples.contains(0, splitmix64(row)) && subsamples.contains(1, splitmix64(row)))
            .count();
        assert!((0..32).all(|path| (4_800..5_200).contains(&owned(path))));
        assert!((2_300..2_700).contains(&both), "subsamples are independent: {both}");
    }

    #[test]
    fn restricted_rows_keep_the_remaining_entries() {
        let mut rows = HashedRows::default();
        let row = crate::data::Row { ids: &[0, 2, 3], values: &[1.0, 2.0, 3.0] };
        rows.push(Example { row, target: 1.0, weight: 2.0 }, 7);
        let narrow = rows.restricted_to(&[None, None, Some(0), Some(1)]);
        assert_eq!((narrow.batch.row(0).ids, narrow.batch.row(0).values), (&[0, 1][..], &[2.0, 3.0][..]));
        assert_eq!((narrow.batch.example(0).weight, narrow.row_hashes[0]), (2.0, 7));
    }
}
