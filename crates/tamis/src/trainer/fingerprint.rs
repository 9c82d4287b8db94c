//! Hashes of all rows so far.

use crate::data::{FeatureKey, Label, RawRows, hash_name};
use crate::rng::splitmix64;

/// The number of rows at the start of a training, up to a few thousand, and a hash of all that they contain. Equal
/// data begin with equal rows, and are found out before a row is learned.
pub(crate) type FirstRows = (u64, u64);

/// After each row, a hash that depends on all rows so far: equal data have equal hashes.
pub(crate) fn fingerprints(rows: &RawRows, before: u64) -> Vec<u64> {
    let mut print = before;
    let label = |label: &Label| match label {
        Label::Number(number) => number.to_bits(),
        Label::Text(text) => hash_name(text),
        Label::Absent => 1,
    };
    let entry = |(key, value): (FeatureKey<'_>, f64)| match key {
        FeatureKey::Index(index) => value.to_bits().wrapping_add(u64::from(index)),
        FeatureKey::Name(name) => value.to_bits() ^ hash_name(name),
    };
    let of_row = |row: usize| {
        let (count, ends) = rows.first_and_last(row);
        let ends = ends.map_or(0, |[first, last]| splitmix64(entry(first)) ^ entry(last));
        splitmix64(label(&rows.labels[row]) ^ splitmix64(ends.wrapping_add(count as u64)))
    };
    (0..rows.len())
        .map(|row| {
            print = splitmix64(print ^ of_row(row));
            print
        })
        .collect()
}
