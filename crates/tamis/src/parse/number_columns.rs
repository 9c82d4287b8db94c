//! Facts about the numbers of the columns of a wide table, several columns at once.
//!
//! A table of 100,000 columns has few rows in a survey, and its numbers are stored by rows. So neighbouring columns are
//! summarised side by side, one in each lane of the processor's vectors.
//!
//! The mean is that of `column_decision.rs`: the sum of the sorted numbers, which is the same for every order of the rows.

use pulp::{Simd, WithSimd};

use super::column_survey::{cell_hash, row_key};
use super::sorting_network::{FEWEST_ROWS, sort};

/// The largest number of rows that are summarised in this way: sorting networks do more comparisons than other sorts.
pub(super) const MOST_ROWS: usize = 256;
/// Columns that are copied from the rows at once: each row is in another part of memory.
const BLOCK: usize = 64;

/// What the numbers of a column say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct NumberFacts {
    /// The hash of the numbers, each with its row.
    pub(super) hash: u64,
    /// The mean, if all cells are numbers, and unless it is zero: its sign is not known then.
    pub(super) mean: Option<f64>,
    /// Whether all cells are numbers.
    is_full: bool,
    /// Whether one of the cells is not a whole number.
    pub(super) has_fraction: bool,
}

/// Facts about each column of these rows, of which there are at most [`MOST_ROWS`].
pub(super) fn facts(rows: &[&[f64]]) -> Vec<NumberFacts> {
    let columns = rows.first().map_or(0, |row| row.len());
    let mut facts = vec![NumberFacts::default(); columns];
    let mut block = vec![0.0; rows.len() * BLOCK];
    let keys: Vec<u64> = (0..rows.len() as u64).map(row_key).collect();
    let arch = pulp::Arch::new();
    for (block_number, facts) in facts.chunks_mut(BLOCK).enumerate() {
        let start = block_number * BLOCK;
        for (to, row) in block.chunks_exact_mut(BLOCK).zip(rows) {
            to[..facts.len()].copy_from_slice(&row[start..start + facts.len()]);
        }
        hash(&block, &keys, facts);
        arch.dispatch(Means { block: &block, facts });
    }
    facts
}

/// Hashes, and which columns have gaps or fractions.
fn hash(block: &[f64], keys: &[u64], facts: &mut [NumberFacts]) {
    let (mut hashes, mut has_gap, mut has_fraction) = ([0_u64; BLOCK], [false; BLOCK], [false; BLOCK]);
    for (row, key) in block.chunks_exact(BLOCK).zip(keys) {
        for ((hash, has_gap), value) in hashes.iter_mut().zip(&mut has_gap).zip(row) {
            let is_gap = value.is_nan();
            *hash = hash.wrapping_add(if is_gap { 0 } else { cell_hash(*key, value.to_bits()) });
            *has_gap |= is_gap;
        }
    }
    for row in block.chunks_exact(BLOCK) {
        has_fraction.iter_mut().zip(row).for_each(|(has_fraction, value)| *has_fraction |= value.fract() != 0.0);
        if has_fraction[..facts.len()].iter().all(|has_fraction| *has_fraction) {
            break;
        }
    }
    for (at, facts) in facts.iter_mut().enumerate() {
        *facts = NumberFacts { hash: hashes[at], mean: None, is_full: !has_gap[at], has_fraction: has_fraction[at] };
    }
}

/// Sets the means of a block of columns.
struct Means<'a> {
    block: &'a [f64],
    facts: &'a mut [NumberFacts],
}

impl WithSimd for Means<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Means { block, facts } = self;
        let rows = block.len() / BLOCK;
        let mut sorted = vec![simd.splat_f64s(f64::INFINITY); rows.next_power_of_two().max(FEWEST_ROWS)];
        for (part, facts) in facts.chunks_mut(S::F64_LANES).enumerate() {
            sorted[rows..].fill(simd.splat_f64s(f64::INFINITY));
            for (to, row) in sorted.iter_mut().zip(block.chunks_exact(BLOCK)) {
                let (lanes, _) = S::as_simd_f64s(&row[part * S::F64_LANES..]);
                *to = lanes[0];
            }
            sort(simd, &mut sorted);
            let nothing = simd.splat_f64s(std::iter::empty::<f64>().sum());
            let sums = sorted[..rows].iter().fold(nothing, |sums, row| simd.add_f64s(sums, *row));
            let means = simd.div_f64s(sums, simd.splat_f64s(rows as f64));
            let mut lanes = [0.0; BLOCK];
            simd.partial_store_f64s(&mut lanes[..S::F64_LANES], means);
            for (facts, mean) in facts.iter_mut().zip(lanes) {
                facts.mean = (facts.is_full && mean.is_finite() && mean != 0.0).then_some(mean);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::column_decision::mean;
    use crate::rng::splitmix64;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn facts_are_those_of_each_column_alone(rows in 1..40_usize, columns in 1..90_usize, seed in 0..1000_u64) {
            let cell = |row: usize, column: usize| {
                let number = splitmix64(seed ^ (row * 1000 + column) as u64);
                match (number % 7, column % 5) {
                    (0, 1) => f64::NAN,
                    (_, 2) => (number % 100) as f64 - 50.0,
                    (1, _) => -0.0,
                    _ => (number % 100_000) as f64 / 1000.0 - 50.0,
                }
            };
            let table: Vec<Vec<f64>> = (0..rows).map(|row| (0..columns).map(|column| cell(row, column)).collect()).collect();
            let found = facts(&table.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(found.len(), columns);
            for (column, found) in found.iter().enumerate() {
                let numbers: Vec<f64> = table.iter().map(|row| row[column]).collect();
                let whole: Vec<(u64, f64)> = (0..).zip(numbers.iter().copied()).filter(|(_, value)| !value.is_nan()).collect();
                let hash = whole.iter().fold(0_u64, |sum, (row, value)| sum.wrapping_add(cell_hash(row_key(*row), value.to_bits())));
                prop_assert_eq!((found.hash, found.is_full), (hash, whole.len() == rows));
                prop_assert_eq!(found.mean.is_some(), found.is_full && mean(numbers.clone()) != Some(0.0));
                if let Some(found_mean) = found.mean {
                    prop_assert_eq!(found.has_fraction, numbers.iter().any(|value| value.fract() != 0.0));
                    prop_assert_eq!(Some(found_mean.to_bits()), mean(numbers).map(f64::to_bits));
                }
            }
        }
    }
}
