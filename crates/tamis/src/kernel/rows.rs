//! Rows of a search: inputs, standardised targets, and blocks of rows whose unions are the halves of cross-fitting.
//!
//! Rows are dealt to eight blocks in turn, in the order of their class and of a hash of their content. A half is a set of
//! four blocks. The four halves are rows of a Hadamard matrix: any two share two blocks, and none is the complement of
//! another.

use faer::Mat;

/// Blocks of rows (V).
pub const BLOCKS: usize = 8;
/// The halves (Q of them); the other half of each has the other blocks.
pub const HALVES: [[usize; 4]; 4] = [[0, 1, 2, 3], [0, 1, 4, 5], [0, 2, 4, 6], [0, 3, 5, 6]];

/// Rows of a search.
#[derive(Clone, Debug)]
pub struct Rows {
    /// A row each, a column for each variable.
    pub inputs: Mat<f64>,
    /// A row each, a column for each output; mean 0 and variance 1.
    pub targets: Mat<f64>,
    /// The weight of each row.
    pub weights: Vec<f64>,
    /// The block of each row.
    pub blocks: Vec<usize>,
}

impl Rows {
    /// The rows of a half, or of the other one, at most `most` of them.
    pub fn half(&self, half: &[usize], inside: bool, most: usize) -> Vec<usize> {
        let is_member = |&row: &usize| half.contains(&self.blocks[row]) == inside;
        (0..self.blocks.len()).filter(is_member).take(most).collect()
    }
}

/// Deals rows to parts of about equal size: in turn, in the order of their keys (class, hash). Returns the part of each
/// row.
pub fn deal(keys: &[(u64, u64)], parts: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|&row| (keys[row], row));
    let mut part = vec![0; keys.len()];
    order.into_iter().enumerate().for_each(|(place, row)| part[row] = place % parts);
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_balanced() {
        for (number, one) in HALVES.iter().enumerate() {
            for other in &HALVES[..number] {
                assert_eq!(one.iter().filter(|block| other.contains(block)).count(), 2);
            }
        }
    }

    #[test]
    fn parts_are_equal_in_size_and_by_class() {
        let keys: Vec<(u64, u64)> = (0..40).map(|row| (row % 2, row * 7919 % 41)).collect();
        let parts = deal(&keys, 4);
        for part in 0..4 {
            let members = || (0..40).filter(|&row| parts[row] == part);
            assert_eq!((members().count(), members().filter(|row| row % 2 == 0).count()), (10, 5));
        }
    }
}
