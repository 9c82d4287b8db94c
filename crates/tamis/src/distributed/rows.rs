//! Rows with an identity, and the bucket that each belongs to.
//!
//! The identity of a row is a 64-bit hash: of its key if the data have one, else of its content (names and values, not
//! the label), as `trainer/row_hashes.rs` defines it. The bucket of a row is given by the upper bits of its identity, so
//! that it depends on the row alone. All copies of a row are in one bucket; there each of them gets a hash of its own,
//! as in a training on one machine. Rows of one key have one hash, so that they are in one fold.

use crate::data::{FeatureKey, LabelKey, RawRows, hash_name};
use crate::rng::splitmix64;
use crate::trainer::CopyCounter;

/// The largest number of buckets.
pub const MAX_BUCKETS: u32 = 1 << 12;

/// Rows and the identity of each.
#[derive(Clone, Debug)]
pub struct KeyedRows {
    /// The rows.
    pub rows: RawRows,
    /// The identity of each row.
    pub identities: Vec<u64>,
}

/// The identity of rows that have a text as key.
pub fn text_identity(key: &str) -> u64 {
    splitmix64(hash_name(key))
}

/// The identity of rows that have a whole number as key.
pub fn number_identity(key: i64) -> u64 {
    splitmix64(key as u64)
}

/// The bucket of an identity among `buckets`, a power of two: its upper bits.
pub fn bucket_of(identity: u64, buckets: u32) -> u32 {
    let bits = buckets.trailing_zeros();
    if bits == 0 { 0 } else { (identity >> (64 - bits)) as u32 }
}

impl KeyedRows {
    /// No rows, with features by name or by number.
    pub fn new(named: bool) -> Self {
        let rows = if named { RawRows::by_name() } else { RawRows::by_index() };
        KeyedRows { rows, identities: Vec::new() }
    }

    /// Rows that are identified by their content.
    pub fn by_content(rows: RawRows) -> Self {
        let identities = rows.features_hashes().collect();
        KeyedRows { rows, identities }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// Adds a row of others, with those of its features that are wanted.
    pub fn push_from(&mut self, other: &KeyedRows, row: usize, wanted: impl Fn(FeatureKey<'_>) -> bool) {
        for (key, value) in other.rows.entries(row).filter(|(key, _)| wanted(*key)) {
            match (key, self.rows.has_names()) {
                (FeatureKey::Index(index), false) => self.rows.push_index(index, value),
                (FeatureKey::Index(index), true) => self.rows.push_name(&[&index.to_string()], value),
                (FeatureKey::Name(name), _) => self.rows.push_name(&[name], value),
            }
        }
        self.rows.end_row(other.rows.labels[row].clone(), other.rows.weight(row), self.identities.len() as u32);
        self.identities.push(other.identities[row]);
    }

    /// Adds all rows of others.
    pub fn append(&mut self, other: &KeyedRows) {
        (0..other.len()).for_each(|row| self.push_from(other, row, |_| true));
    }

    /// The rows of each bucket that has any, ascending, in an order that depends on the rows alone.
    pub fn buckets(&self, buckets: u32) -> Vec<(u32, KeyedRows)> {
        let order = self.order();
        let bucket = |row: &usize| bucket_of(self.identities[*row], buckets);
        let gathered = |rows: &[usize]| {
            let mut gathered = KeyedRows::new(self.rows.has_names());
            rows.iter().for_each(|&row| gathered.push_from(self, row, |_| true));
            (bucket(&rows[0]), gathered)
        };
        order.chunk_by(|one, other| bucket(one) == bucket(other)).map(gathered).collect()
    }

    /// The rows by identity, then by content, label and weight: rows that are equal in all of these are equal.
    fn order(&self) -> Vec<usize> {
        let label = |row: usize| LabelKey::from(&self.rows.labels[row]);
        let mut order: Vec<(u64, u64, usize)> =
            (0..).zip(self.rows.features_hashes()).map(|(row, content)| (self.identities[row], content, row)).collect();
        order.sort_by(|one, other| {
            let rows = (one.2, other.2);
            let by_label = || label(rows.0).cmp(&label(rows.1));
            let by_weight = || self.rows.weight(rows.0).total_cmp(&self.rows.weight(rows.1));
            (one.0, one.1).cmp(&(other.0, other.1)).then_with(by_label).then_with(by_weight)
        });
        order.into_iter().map(|(_, _, row)| row).collect()
    }

    /// The hash of each row of a bucket, by which it is assigned to folds and subsamples. Rows of one key share it;
    /// without keys, each copy of a row has its own, as on one machine.
    pub(super) fn row_hashes(&self, keyed: bool, targets: &[f64]) -> Vec<u64> {
        if keyed {
            return self.identities.clone();
        }
        let mut copies = CopyCounter::new(&self.identities);
        self.identities.iter().zip(targets).map(|(&row, target)| copies.row_hash(row, target.to_bits())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    fn numbers(rows: &KeyedRows) -> Vec<f64> {
        let number = |label: &Label| if let Label::Number(number) = label { *number } else { unreachable!("numbers") };
        rows.rows.labels.iter().map(number).collect()
    }

    fn rows(contents: &[(u32, f64)]) -> KeyedRows {
        let mut rows = RawRows::by_index();
        for (line, &(index, label)) in contents.iter().enumerate() {
            rows.push_index(index, 1.0);
            rows.end_row(Label::Number(label), 1.0, line as u32);
        }
        KeyedRows::by_content(rows)
    }

    #[test]
    fn a_bucket_is_the_union_of_smaller_ones() {
        for identity in (0..1000).map(splitmix64) {
            assert_eq!(bucket_of(identity, 4), bucket_of(identity, 64) / 16);
            assert_eq!(bucket_of(identity, 1), 0);
            assert!(bucket_of(identity, MAX_BUCKETS) < MAX_BUCKETS);
        }
    }

    #[test]
    fn names_and_numbers_have_one_identity() {
        let mut named = RawRows::by_name();
        named.push_name(&["17"], 1.0);
        named.end_row(Label::Number(0.0), 1.0, 0);
        assert_eq!(KeyedRows::by_content(named).identities, rows(&[(17, 0.0)]).identities);
    }

    #[test]
    fn the_order_of_rows_leaves_no_trace() {
        let contents: Vec<(u32, f64)> = (0..500).map(|row| (row % 90, f64::from(row % 3))).collect();
        let reversed: Vec<(u32, f64)> = contents.iter().rev().copied().collect();
        let content = |(bucket, rows): (u32, KeyedRows)| {
            (bucket, rows.row_hashes(false, &numbers(&rows)), rows.rows.labels, rows.identities)
        };
        let of = |contents: &[(u32, f64)]| rows(contents).buckets(8).into_iter().map(content).collect::<Vec<_>>();
        let one = of(&contents);
        assert_eq!(one, of(&reversed));
        let mut hashes: Vec<u64> = one.into_iter().flat_map(|bucket| bucket.1).collect();
        hashes.sort_unstable();
        assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]), "each copy has a hash of its own");
    }

    #[test]
    fn rows_of_one_key_share_their_hash() {
        let mut rows = rows(&[(1, 0.0), (2, 1.0)]);
        rows.identities = vec![text_identity("a"); 2];
        assert_eq!(rows.row_hashes(true, &[0.0, 1.0]), rows.identities);
        assert_ne!(number_identity(1), number_identity(2));
    }
}
