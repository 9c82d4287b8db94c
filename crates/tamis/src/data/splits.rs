//! Cross-validation folds and subsamples.
//!
//! A row of a stream is assigned by a hash of its number, a row that is kept in memory by a hash of its content
//! (`trainer/row_hashes.rs`); both hashes become the number of a fold in the same way. Only folds that are stratified by
//! class need all rows first.
//!
//! The number of a row counts the rows of the whole stream, without skipped lines. Whether a filter contains a row
//! depends on the number and the seed alone: not on threads, blocks, files or later rows. So the folds of a stream stay
//! the same when the stream grows, and two programs with the same seed use the same rows. Folds are only about equal in
//! size.

use serde::Serialize;

use crate::rng::{RngStream, generator, shuffle, splitmix64};

/// A subset of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowFilter {
    /// One of several folds, or all rows outside it.
    Fold {
        /// The fold, from 0.
        number: u32,
        /// The number of folds.
        of: u32,
        /// The seed of the hash.
        seed: u64,
        /// Whether the fold itself is selected, or the other folds.
        inside: bool,
    },
    /// A share of the rows, another for each run, or all rows outside it.
    Share {
        /// The share of rows inside, between 0 and 1.
        share: f64,
        /// The seed of the hash.
        seed: u64,
        /// The number of the run.
        run: u64,
        /// Whether the subsample itself is selected, or the other rows.
        inside: bool,
    },
}

/// Folds and subsamples use different hashes, so that they are independent.
const FOLDS: u64 = 0x666f_6c64;
const SHARES: u64 = 0x7368_6172;
const HELD_OUT: u64 = 0x6865_6c64;

impl RowFilter {
    /// Whether row number `row` (from 0) is selected.
    pub fn takes(&self, row: u64) -> bool {
        match *self {
            RowFilter::Fold { number, of, seed, inside } => (fold_of(row, of, seed) == number) == inside,
            RowFilter::Share { share, seed, run, inside } => {
                let key = splitmix64(splitmix64(splitmix64(seed) ^ SHARES).wrapping_add(run));
                (unit_interval(hash(key, row)) < share) == inside
            }
        }
    }

    /// One of `of` parts of the rows, to be held out; independent of the folds of the same seed.
    pub fn held_out(of: u32, seed: u64) -> Self {
        RowFilter::Fold { number: 0, of, seed: splitmix64(seed ^ HELD_OUT), inside: true }
    }

    /// The same rows, or their complement.
    pub fn turned(self, inside: bool) -> Self {
        match self {
            RowFilter::Fold { number, of, seed, .. } => RowFilter::Fold { number, of, seed, inside },
            RowFilter::Share { share, seed, run, .. } => RowFilter::Share { share, seed, run, inside },
        }
    }
}

/// The fold of row number `row`, from 0. With another number of folds, the assignment is independent.
pub fn fold_of(row: u64, folds: u32, seed: u64) -> u32 {
    let key = splitmix64(splitmix64(seed) ^ FOLDS).wrapping_add(u64::from(folds));
    number_below(folds, hash(key, row))
}

/// The fold of a row that is known by a hash of its content, from 0.
pub fn fold_of_hash(row_hash: u64, folds: u32) -> u32 {
    number_below(folds, splitmix64(row_hash))
}

/// A number from 0 up to 1 by which a share of the rows is held out. The interval [i/n, (i + 1)/n) is fold i of n by
/// [`fold_of_hash`].
pub fn unit_hash(row_hash: u64) -> f64 {
    unit_interval(splitmix64(row_hash))
}

/// Folds stratified by class: the rows of each class are shuffled and go to the folds in turn. Returns the fold of each
/// row, given its class.
pub fn stratified_folds(classes: &[u32], folds: usize, seed: u64, repetition: u64) -> Vec<usize> {
    let mut fold_of = vec![0; classes.len()];
    let mut next = (0..folds).cycle();
    let mut random = generator(seed, RngStream::Folds, repetition);
    for class in 0..classes.iter().max().map_or(0, |&last| last + 1) {
        let mut rows: Vec<usize> = (0..classes.len()).filter(|&row| classes[row] == class).collect();
        shuffle(&mut random, &mut rows);
        rows.into_iter().zip(&mut next).for_each(|(row, fold)| fold_of[row] = fold);
    }
    fold_of
}

fn hash(key: u64, row: u64) -> u64 {
    splitmix64(splitmix64(key) ^ splitmix64(row))
}

/// A hash as a whole number below `n`, by multiplication.
fn number_below(n: u32, hash: u64) -> u32 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u32
}

/// The upper 53 bits of a hash as a number in [0, 1), which a double holds exactly.
fn unit_interval(hash: u64) -> f64 {
    (hash >> 11) as f64 * 0.5f64.powi(53)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{ReadOptions, RowStream, expand};

    fn fold(number: u32, inside: bool) -> RowFilter {
        RowFilter::Fold { number, of: 5, seed: 7, inside }
    }

    #[test]
    fn folds_part_the_rows() {
        for row in 0..1000 {
            let takers = (0..5).filter(|&number| fold(number, true).takes(row)).count();
            assert_eq!(takers, 1, "row {row}");
            assert!((0..5).all(|number| fold(number, true).takes(row) != fold(number, false).takes(row)));
        }
    }

    #[test]
    fn folds_are_about_equal_and_follow_the_seed() {
        let mut sizes = [0; 5];
        (0..10_000).for_each(|row| sizes[fold_of(row, 5, 3) as usize] += 1);
        assert!(sizes.iter().all(|size| (1850..2150).contains(size)), "{sizes:?}");
        let moved = (0..10_000).filter(|&row| fold_of(row, 5, 3) != fold_of(row, 5, 4)).count();
        assert!((7800..8200).contains(&moved), "four of five rows change folds with the seed: {moved}");
    }

    #[test]
    fn folds_are_what_they_were() {
        // Recorded: results that name a seed must mean the same rows in every version.
        let folds: Vec<u32> = (0..12).map(|row| fold_of(row, 5, 0)).collect();
        assert_eq!(folds, RECORDED_FOLDS);
    }

    const RECORDED_FOLDS: [u32; 12] = [1, 3, 2, 1, 0, 2, 4, 1, 4, 4, 1, 2];

    #[test]
    fn shares_have_their_size_and_differ_by_run() {
        let share = |run, inside| RowFilter::Share { share: 0.9, seed: 1, run, inside };
        let count = |choice: RowFilter| (0..10_000).filter(|&row| choice.takes(row)).count();
        assert!((8900..9100).contains(&count(share(0, true))));
        assert_eq!(count(share(0, true)) + count(share(0, false)), 10_000);
        let both = (0..10_000).filter(|&row| share(0, true).takes(row) && share(1, true).takes(row)).count();
        assert!((7950..8250).contains(&both), "two runs choose apart: 0.81 of the rows are in both, found {both}");
        assert_eq!(share(4, true).turned(false), share(4, false));
    }

    #[test]
    fn rows_held_out_are_spread_over_the_folds() {
        let mut sizes = [0; 5];
        let held = (0..10_000).filter(|&row| RowFilter::held_out(5, 7).takes(row));
        held.for_each(|row| sizes[fold_of(row, 5, 7) as usize] += 1);
        assert!(sizes.iter().all(|size| (340..460).contains(size)), "{sizes:?}");
    }

    /// The labels that a stream over files hands on: each row's label is its number.
    fn handed_on(parts: &[std::ops::Range<u64>], threads: usize, rows: Vec<RowFilter>) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (part, range) in parts.iter().enumerate() {
            let text: String = range.clone().map(|row| format!("{row} 1:1 {}:2\n", row + 2)).collect();
            std::fs::write(folder.path().join(format!("{part}.svm")), text).unwrap();
        }
        let sources = expand(&[folder.path().display().to_string()], None).unwrap();
        let options = ReadOptions { threads, rows, ..ReadOptions::default() };
        let mut stream = RowStream::open(sources, options);
        let mut labels = Vec::new();
        while let Some(block) = stream.next_block().unwrap() {
            assert!(!block.rows.is_empty(), "blocks without chosen rows are passed over");
            labels.extend(block.rows.labels.iter().map(ToString::to_string));
        }
        labels
    }

    #[test]
    fn a_stream_hands_on_the_same_rows_however_it_is_cut() {
        let rows = 30_000;
        let choices = vec![fold(2, true), RowFilter::Share { share: 0.5, seed: 3, run: 1, inside: false }];
        let taken = |row: &u64| choices.iter().all(|choice| choice.takes(*row));
        let expected: Vec<String> = (0..rows).filter(taken).map(|row| row.to_string()).collect();
        assert!((2700..3300).contains(&expected.len()));
        for threads in [1, 3] {
            assert_eq!(handed_on(&[0..7, 7..rows], threads, choices.clone()), expected);
            assert_eq!(handed_on(&[0..1, 1..1, 1..3, 3..9999, 9999..rows], threads, choices.clone()), expected);
        }
    }

    #[test]
    fn all_and_nothing() {
        let share = |share| RowFilter::Share { share, seed: 1, run: 0, inside: true };
        assert!((0..100).all(|row| share(1.0).takes(row) && !share(0.0).takes(row)));
    }

    #[test]
    fn a_quarter_held_out_is_a_fold_of_four() {
        let mut sizes = [0; 4];
        for row in (0..4000).map(|row| row * 7919 % 1_000_003) {
            assert_eq!((unit_hash(row) * 4.0) as u32, fold_of_hash(row, 4));
            sizes[fold_of_hash(row, 4) as usize] += 1;
        }
        assert!(sizes.iter().all(|size| (900..1100).contains(size)), "{sizes:?}");
    }
}
