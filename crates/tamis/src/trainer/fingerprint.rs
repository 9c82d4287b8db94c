//! Hashes of rows: of the content of one row, and of all rows so far.

use crate::data::{FeatureId, FeatureKey, Label, ParsedRows, hash_name};
use crate::random::mix;

/// A hash of the names (by their hashes) and values of a row, whatever their order.
pub(crate) fn content_hash(entries: impl Iterator<Item = (FeatureId, f64)>, names: &[u64]) -> u64 {
    let entry = |(id, value): (FeatureId, f64)| mix(names[id as usize] ^ mix(value.to_bits()));
    mix(entries.map(entry).fold(0, u64::wrapping_add))
}

/// After each row, a hash that depends on all rows so far: equal data have equal hashes.
pub(crate) fn fingerprints(rows: &ParsedRows, before: u64) -> Vec<u64> {
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
        let (count, ends) = rows.edges(row);
        let ends = ends.map_or(0, |[first, last]| mix(entry(first)) ^ entry(last));
        mix(label(&rows.labels[row]) ^ mix(ends.wrapping_add(count as u64)))
    };
    (0..rows.len())
        .map(|row| {
            print = mix(print ^ of_row(row));
            print
        })
        .collect()
}
