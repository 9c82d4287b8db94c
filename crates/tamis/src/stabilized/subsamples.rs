//! HashedRows as the paths see them, and which path contains which row.

use crate::data::{Batch, Example};
use crate::rng::splitmix64;

use super::path_block::LANES;

/// HashedRows over the active set: ids are positions in it, values are scaled, targets are numbers or class numbers.
#[derive(Clone, Debug, Default)]
pub struct HashedRows {
    /// The rows.
    pub batch: Batch,
    /// What each row is known by, whatever the order of the rows.
    pub row_hashes: Vec<u64>,
}

impl HashedRows {
    /// Adds a row.
    pub fn push(&mut self, example: Example<'_>, row_hash: u64) {
        self.batch.push(example);
        self.row_hashes.push(row_hash);
    }

    /// Forgets all rows, keeps the memory.
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

    /// The rows with their row_hashes.
    pub fn iter(&self) -> impl Iterator<Item = (Example<'_>, u64)> {
        self.batch.examples().zip(self.row_hashes.iter().copied())
    }

    /// The rows over a smaller active set: `places` gives each position's new one, or `None`.
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

/// Which rows a path learns from: a share of them, by hash of their row_hash. A function of the data and of nothing
/// else, so that the halves are the same whatever the order of the rows and the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subsamples {
    limit: u64,
    /// A fold that belongs to nobody, and the number of folds.
    excluded: Option<(u64, u64)>,
}

impl Subsamples {
    /// Every path contains this share of the rows.
    pub fn new(share: f64) -> Self {
        Subsamples { limit: (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64, excluded: None }
    }

    /// Every path contains this share of the rows, all from outside of fold `fold` of `folds`.
    pub fn excluding_fold(share: f64, fold: u64, folds: u64) -> Self {
        let outside = 1.0 - 1.0 / folds as f64;
        Subsamples { excluded: Some((fold, folds)), ..Subsamples::new(share / outside) }
    }

    /// The fold a row belongs to.
    pub fn fold(row_hash: u64, folds: u64) -> u64 {
        ((u128::from(splitmix64(row_hash)) * u128::from(folds)) >> 64) as u64
    }

    /// Whether a path contains a row.
    #[inline]
    pub fn contains(&self, path: usize, row_hash: u64) -> bool {
        if self.excluded.is_some_and(|(fold, folds)| Self::fold(row_hash, folds) == fold) {
            return false;
        }
        splitmix64(row_hash ^ (path as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)) <= self.limit
    }

    /// Ownership of the paths `first`, `first + 1`, … of a block, of which there are `count`.
    #[inline]
    pub fn block(&self, first: usize, count: usize, row_hash: u64) -> [bool; LANES] {
        std::array::from_fn(|path| path < count && self.contains(first + path, row_hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_owns_its_own_half() {
        let subsamples = Subsamples::new(0.5);
        let owned = |path: usize| (0..10_000u64).filter(|&row| subsamples.contains(path, splitmix64(row))).count();
        let both = (0..10_000u64)
            .filter(|&row| subsamples.contains(0, splitmix64(row)) && subsamples.contains(1, splitmix64(row)))
            .count();
        assert!((0..32).all(|path| (4_800..5_200).contains(&owned(path))));
        assert!((2_300..2_700).contains(&both), "halves are independent: {both}");
    }

    #[test]
    fn narrowed_rows_keep_what_stays() {
        let mut rows = HashedRows::default();
        let row = crate::data::Row { ids: &[0, 2, 3], values: &[1.0, 2.0, 3.0] };
        rows.push(Example { row, target: 1.0, weight: 2.0 }, 7);
        let narrow = rows.restricted_to(&[None, None, Some(0), Some(1)]);
        assert_eq!((narrow.batch.row(0).ids, narrow.batch.row(0).values), (&[0, 1][..], &[2.0, 3.0][..]));
        assert_eq!((narrow.batch.example(0).weight, narrow.row_hashes[0]), (2.0, 7));
    }
}
