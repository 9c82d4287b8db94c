//! A hash of each buffered row. By it, rows are assigned to folds, subsamples and held-out rows.
//!
//! The hash depends on the names and values of a row, so that the assignment is the same whatever the order of the rows
//! and the format of the file. A row whose content occurs once has the hash of its content. Copies must be assigned
//! independently of each other: if equal rows of different classes always shared a fold, and equal rows of one class
//! never did, the held-out error would be too low. So each copy has a hash of its own, of its content, its label and its
//! number among those that are equal in both. With a row-id column, rows have the hash of their id: all rows of
//! one id are in one fold.
//!
//! Cost: two passes over the rows. Memory: 8 bytes for each row, and as much again while contents are compared.

use rustc_hash::{FxHashMap, FxHashSet};

use super::buffer::BufferedRows;
use super::error::TrainError;
use crate::data::{Example, FeatureId, Row, Vocabulary, content_hash};
use crate::rng::splitmix64;

/// Hashes the content of rows: first all of them with [`RowHasher::content`], then each with [`RowHasher::row_hash`].
pub(crate) struct RowHasher {
    /// By feature: the hash of its name.
    names: Vec<u64>,
    /// By feature: whether it is (a value of) the row-id column; empty if there is no such column.
    is_row_id: Vec<bool>,
    /// The content of each row so far; once all are known, copies are counted.
    contents: Vec<u64>,
    copies: Option<CopyCounter>,
}

/// Gives copies of a row hashes of their own.
pub(crate) struct CopyCounter {
    /// The contents of several rows.
    repeated: FxHashSet<u64>,
    /// By content and label: how many copies were hashed.
    copies: FxHashMap<u64, u64>,
}

impl CopyCounter {
    /// A counter for rows with these contents. A sorted list finds copies with less memory than a table of all contents.
    pub(crate) fn new(contents: &[u64]) -> Self {
        let mut contents = contents.to_vec();
        contents.sort_unstable();
        let repeated = contents.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        CopyCounter { repeated, copies: FxHashMap::default() }
    }

    /// The hash of the next row with this content; `label` is a hash of its label.
    pub(crate) fn row_hash(&mut self, content: u64, label: u64) -> u64 {
        if !self.repeated.contains(&content) {
            return content;
        }
        let whole = splitmix64(content ^ splitmix64(label));
        let copy = self.copies.entry(whole).or_insert(0);
        *copy += 1;
        splitmix64(whole ^ *copy)
    }
}

impl RowHasher {
    /// `row_id` is the name of the row-id column.
    pub(crate) fn new(vocabulary: &Vocabulary, row_id: Option<&str>) -> Self {
        let ids = || 0..vocabulary.span() as FeatureId;
        let is_value_of = |column: &str, name: &str| {
            name.strip_prefix(column).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        RowHasher {
            names: ids().map(|id| vocabulary.name_hash(id)).collect(),
            is_row_id: row_id
                .map_or_else(Vec::new, |column| ids().map(|id| is_value_of(column, &vocabulary.name(id))).collect()),
            contents: Vec::new(),
            copies: None,
        }
    }

    /// Whether a feature identifies rows and is not learned from.
    pub(crate) fn is_row_id(&self, id: FeatureId) -> bool {
        self.is_row_id.get(id as usize).copied().unwrap_or(false)
    }

    /// The hash of a row's content, which is counted.
    pub(crate) fn content(&mut self, row: Row<'_>) -> u64 {
        let has_row_id = self.has_row_id(row);
        let is_hashed = |&(id, _): &(FeatureId, f64)| self.is_row_id(id) || !has_row_id;
        let named = |(id, value): (FeatureId, f64)| (self.names[id as usize], value);
        let content = content_hash(row.iter().filter(is_hashed).map(named));
        if !has_row_id {
            self.contents.push(content);
        }
        content
    }

    /// The identity of a row that was hashed elsewhere, which is counted.
    pub(crate) fn identified(&mut self, identity: u64) -> u64 {
        self.contents.push(identity);
        identity
    }

    /// The hash of a row, from the hash of its content.
    pub(crate) fn row_hash(&mut self, content: u64, example: Example<'_>) -> u64 {
        self.copies().row_hash(content, example.target.to_bits())
    }

    /// Whether some rows have the same content, now that all are known.
    pub(crate) fn has_copies(&mut self) -> bool {
        !self.copies().repeated.is_empty()
    }

    fn copies(&mut self) -> &mut CopyCounter {
        self.copies.get_or_insert_with(|| CopyCounter::new(&std::mem::take(&mut self.contents)))
    }

    fn has_row_id(&self, row: Row<'_>) -> bool {
        !self.is_row_id.is_empty() && row.ids.iter().any(|&id| self.is_row_id(id))
    }
}

impl BufferedRows {
    /// The hash of each row, by its number in the store.
    pub(crate) fn row_hashes(&mut self, mut hasher: RowHasher) -> Result<Vec<u64>, TrainError> {
        let mut hashes = vec![0; self.rows as usize];
        for chunk in self.store.chunks(0) {
            let chunk = chunk?;
            chunk.numbers().zip(chunk.examples()).for_each(|(row, one)| hashes[row] = hasher.content(one.row));
        }
        if !hasher.copies().repeated.is_empty() {
            for chunk in self.store.chunks(0) {
                let chunk = chunk?;
                let rows = chunk.numbers().zip(chunk.examples());
                rows.for_each(|(row, example)| hashes[row] = hasher.row_hash(hashes[row], example));
            }
        }
        Ok(hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{FeatureKey, fold_of_hash};

    /// The hashes of rows of one feature each, given by its number, with their targets.
    fn hashes(rows: &[(u32, f64)], row_id: Option<&str>) -> Vec<u64> {
        let mut vocabulary = Vocabulary::new(None);
        (0..1000).for_each(|id| {
            vocabulary.intern(FeatureKey::from_name(&format!("level={id}")));
        });
        let mut hasher = RowHasher::new(&vocabulary, row_id);
        let one = |&(id, target): &(u32, f64), hash: &mut dyn FnMut(Example<'_>) -> u64| {
            hash(Example { row: Row { ids: &[id], values: &[1.0] }, target, weight: 1.0 })
        };
        let contents: Vec<u64> = rows.iter().map(|row| one(row, &mut |example| hasher.content(example.row))).collect();
        let both = rows.iter().zip(contents);
        both.map(|(row, content)| one(row, &mut |example| hasher.row_hash(content, example))).collect()
    }

    #[test]
    fn a_row_that_occurs_once_has_a_hash_without_its_label() {
        let rows: Vec<(u32, f64)> = (0..100).map(|id| (id, f64::from(id % 2))).collect();
        let flipped: Vec<(u32, f64)> = rows.iter().map(|&(id, target)| (id, 1.0 - target)).collect();
        assert_eq!(hashes(&rows, None), hashes(&flipped, None));
    }

    #[test]
    fn copies_are_in_one_fold_as_often_as_chance_has_it_whatever_their_labels() {
        for targets in [[0.0, 0.0], [0.0, 1.0]] {
            let rows: Vec<(u32, f64)> = (0..1000).flat_map(|id| targets.map(|target| (id, target))).collect();
            let hashes = hashes(&rows, None);
            let fold = |hash: u64| fold_of_hash(hash, 4);
            let together = hashes.chunks(2).filter(|pair| fold(pair[0]) == fold(pair[1])).count();
            assert!(
                (205..295).contains(&together),
                "250 of 1000 pairs by chance, within three standard errors: {together}"
            );
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let rows: Vec<(u32, f64)> = (0..600).map(|row| (row % 50, f64::from(row % 3))).collect();
        let sorted = |mut hashes: Vec<u64>| {
            hashes.sort_unstable();
            hashes
        };
        let reversed: Vec<(u32, f64)> = rows.iter().copied().rev().collect();
        let one = sorted(hashes(&rows, None));
        assert_eq!(one, sorted(hashes(&reversed, None)));
        assert!(one.windows(2).all(|pair| pair[0] != pair[1]), "each copy has its own");
    }

    #[test]
    fn rows_of_one_id_have_one_hash() {
        let one = hashes(&[(3, 0.0), (3, 1.0), (4, 0.0)], Some("level"));
        assert!(one[0] == one[1] && one[0] != one[2]);
    }
}
