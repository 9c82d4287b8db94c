//! Hashes of what a row contains: the same in every format and for every order of its entries.

use super::raw_rows::Keys;
use super::{FeatureKey, Label, RawRows, hash_name};
use crate::rng::splitmix64;

/// A hash of the name of a feature; the name `17` and the number 17 have the same.
pub(crate) fn key_hash(key: FeatureKey<'_>) -> u64 {
    match key {
        FeatureKey::Index(index) => splitmix64(u64::from(index)),
        FeatureKey::Name(name) => hash_name(name),
    }
}

fn sum_of_entries(entries: impl Iterator<Item = (u64, f64)>) -> u64 {
    let entry = |(name, value): (u64, f64)| splitmix64(name ^ splitmix64(value.to_bits()));
    entries.map(entry).fold(0, u64::wrapping_add)
}

/// A hash of the entries of a row, whatever their order: a hash of each name, and the value.
pub(crate) fn content_hash(entries: impl Iterator<Item = (u64, f64)>) -> u64 {
    splitmix64(sum_of_entries(entries))
}

impl RawRows {
    /// A hash of the entries of each row: rows that differ in their labels only have the same.
    pub fn features_hashes(&self) -> impl Iterator<Item = u64> {
        self.sums_of_entries().map(splitmix64)
    }

    /// A hash of the label, the weight and all entries of each row.
    pub fn row_hashes(&self) -> impl Iterator<Item = u64> {
        let label = |label: &Label| match label {
            Label::Number(number) => splitmix64((number + 0.0).to_bits()),
            Label::Text(text) => hash_name(text),
            Label::Absent => 1,
        };
        let row = move |(i, entries): (usize, u64)| {
            splitmix64(splitmix64(entries ^ label(&self.labels[i])) ^ splitmix64(self.weight(i).to_bits()))
        };
        self.sums_of_entries().enumerate().map(row)
    }

    /// The sum over the entries of each row. A name that is stored once is hashed once.
    fn sums_of_entries(&self) -> impl Iterator<Item = u64> {
        let hashes = match &self.keys {
            Keys::Index(_) => None,
            Keys::Name(names) => Some(names.hashes()),
        };
        (0..self.len()).map(move |i| {
            let entries = self.offsets[i]..self.offsets[i + 1];
            let values = self.values[entries.clone()].iter().copied();
            match (&self.keys, &hashes) {
                (Keys::Name(names), Some(hashes)) => {
                    sum_of_entries(names.numbers(entries).iter().map(|&number| hashes.of(number as usize)).zip(values))
                }
                (Keys::Index(indices), _) => {
                    let hash = |&index: &u32| key_hash(FeatureKey::Index(index));
                    sum_of_entries(indices[entries].iter().map(hash).zip(values))
                }
                (Keys::Name(_), None) => unreachable!("names have hashes"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_name(entries: &[(&str, f64)], label: f64, weight: f64) -> u64 {
        let mut rows = RawRows::by_name();
        entries.iter().for_each(|(name, value)| rows.push_name(&[name], *value));
        rows.end_row(Label::Number(label), weight, 0);
        rows.row_hashes().next().unwrap()
    }

    #[test]
    fn everything_counts_but_order_and_format() {
        let mut numbered = RawRows::by_index();
        numbered.push_index(3, 0.5);
        numbered.push_index(17, 2.0);
        numbered.end_row(Label::Number(1.0), 1.0, 9);
        let one = numbered.row_hashes().next().unwrap();
        assert_eq!(by_name(&[("17", 2.0), ("3", 0.5)], 1.0, 1.0), one);
        let others = [
            by_name(&[("17", 2.5), ("3", 0.5)], 1.0, 1.0),
            by_name(&[("18", 2.0), ("3", 0.5)], 1.0, 1.0),
            by_name(&[("17", 2.0)], 1.0, 1.0),
            by_name(&[("17", 2.0), ("3", 0.5)], 0.0, 1.0),
            by_name(&[("17", 2.0), ("3", 0.5)], 1.0, 2.0),
        ];
        assert!(others.iter().all(|other| *other != one));
    }
}
