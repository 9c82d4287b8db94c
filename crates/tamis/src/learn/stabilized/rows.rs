//! Rows as the paths see them, and which path owns which row.

use crate::data::{Batch, Example};
use crate::random::mix;

use super::lanes::LANES;

/// Rows over the active set: ids are positions in it, values are scaled, targets are numbers or class numbers.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The rows.
    pub batch: Batch,
    /// What each row is known by, whatever the order of the rows.
    pub identities: Vec<u64>,
}

impl Rows {
    /// Adds a row.
    pub fn push(&mut self, example: Example<'_>, identity: u64) {
        self.batch.push(example);
        self.identities.push(identity);
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.identities.clear();
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// The rows with their identities.
    pub fn iter(&self) -> impl Iterator<Item = (Example<'_>, u64)> {
        self.batch.examples().zip(self.identities.iter().copied())
    }

    /// The rows over a smaller active set: `places` gives each position's new one, or `None`.
    pub fn narrowed(&self, places: &[Option<u32>]) -> Rows {
        let mut rows = Rows::default();
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        for (example, identity) in self.iter() {
            ids.clear();
            values.clear();
            for (position, value) in example.row.iter() {
                if let Some(place) = places[position as usize] {
                    ids.push(place);
                    values.push(value);
                }
            }
            let row = crate::data::Row { ids: &ids, values: &values };
            rows.push(Example { row, ..example }, identity);
        }
        rows
    }
}

/// Which rows a path learns from: a share of them, by hash of their identity. A function of the data and of nothing
/// else, so that the halves are the same whatever the order of the rows and the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Owners {
    limit: u64,
    /// A fold that belongs to nobody, and the number of folds.
    spared: Option<(u64, u64)>,
}

impl Owners {
    /// Every path owns this share of the rows.
    pub fn new(share: f64) -> Self {
        Owners { limit: (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64, spared: None }
    }

    /// Every path owns this share of the rows, all from outside of fold `fold` of `folds`.
    pub fn sparing(share: f64, fold: u64, folds: u64) -> Self {
        let outside = 1.0 - 1.0 / folds as f64;
        Owners { spared: Some((fold, folds)), ..Owners::new(share / outside) }
    }

    /// The fold a row belongs to.
    pub fn fold(identity: u64, folds: u64) -> u64 {
        ((u128::from(mix(identity)) * u128::from(folds)) >> 64) as u64
    }

    /// Whether a path owns a row.
    #[inline]
    pub fn owns(&self, path: usize, identity: u64) -> bool {
        if self.spared.is_some_and(|(fold, folds)| Self::fold(identity, folds) == fold) {
            return false;
        }
        mix(identity ^ (path as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)) <= self.limit
    }

    /// Ownership of the paths `first`, `first + 1`, … of a block, of which there are `count`.
    #[inline]
    pub fn block(&self, first: usize, count: usize, identity: u64) -> [bool; LANES] {
        std::array::from_fn(|path| path < count && self.owns(first + path, identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_owns_its_own_half() {
        let owners = Owners::new(0.5);
        let owned = |path: usize| (0..10_000u64).filter(|&row| owners.owns(path, mix(row))).count();
        let both = (0..10_000u64).filter(|&row| owners.owns(0, mix(row)) && owners.owns(1, mix(row))).count();
        assert!((0..32).all(|path| (4_800..5_200).contains(&owned(path))));
        assert!((2_300..2_700).contains(&both), "halves are independent: {both}");
    }

    #[test]
    fn narrowed_rows_keep_what_stays() {
        let mut rows = Rows::default();
        let row = crate::data::Row { ids: &[0, 2, 3], values: &[1.0, 2.0, 3.0] };
        rows.push(Example { row, target: 1.0, weight: 2.0 }, 7);
        let narrow = rows.narrowed(&[None, None, Some(0), Some(1)]);
        assert_eq!((narrow.batch.row(0).ids, narrow.batch.row(0).values), (&[0, 1][..], &[2.0, 3.0][..]));
        assert_eq!((narrow.batch.example(0).weight, narrow.identities[0]), (2.0, 7));
    }
}
