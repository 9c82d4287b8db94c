//! Count, weight, means and centred co-moments of columns: the input of all solvers, in one pass and bounded memory.
//!
//! Source: Sun et al. 2018, *A Novel Framework for Online Supervised Learning with Feature Selection*, sections 2.1
//! (running averages), 2.2 (standardisation), 3.8 equation (13) (decay). For a block b of rows with weight W_b:
//! ```text
//! δ = μ_b − μ,   μ ← μ + δ·W_b/(W + W_b),   C ← C + C_b + δδᵀ·W·W_b/(W + W_b),   W ← W + W_b
//! ```
//! with C = Σ w (x − μ)(x − μ)ᵀ (Chan, Golub & LeVeque 1983). Adding a block, merging two moments and subtracting a
//! part use the same update; the term δδᵀ enters the matrix product as one more row.
//!
//! | symbol | field | meaning |
//! |---|---|---|
//! | n | `rows` | number of rows |
//! | W = Σw | `weight` | sum of the importance weights; n without weights |
//! | Σw² | `squares` | gives the effective number of rows, W²/Σw² |
//! | μ | `means` | mean of each column |
//! | C | `comoments` | Σ w (x − μ)(x − μ)ᵀ, lower triangle stored |
//!
//! Departure (E25): the paper keeps S = Σxxᵀ/n and subtracts μμᵀ at the end, which loses all digits when means are
//! large. Cost: p²/2 per dense row and per merge.

use rayon::prelude::*;

use super::packed_symmetric::PackedSymmetric;

/// Rows that are centred and multiplied together.
pub(super) const CHUNK: usize = 256;
/// Columns that one task centres.
const STRIP: usize = 64;

/// Moments of numbered columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comoments {
    /// Rows seen.
    pub rows: u64,
    /// The sum of their weights.
    pub weight: f64,
    /// The sum of their squared weights.
    pub squares: f64,
    /// The mean of each column.
    pub means: Vec<f64>,
    /// Σ w (x − μ)(x − μ)ᵀ.
    pub comoments: PackedSymmetric,
}

impl Comoments {
    /// Moments of no rows, with `size` columns.
    pub fn new(size: usize) -> Self {
        Comoments { means: vec![0.0; size], comoments: PackedSymmetric::zeros(size), ..Comoments::default() }
    }

    /// The number of columns.
    pub fn size(&self) -> usize {
        self.means.len()
    }

    /// Adds columns that were zero in every row so far.
    pub fn grow(&mut self, size: usize) {
        self.means.resize(size.max(self.size()), 0.0);
        self.comoments.grow(size);
    }

    /// The covariance of two columns.
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        self.comoments.get(i, j) / self.weight
    }

    /// The effective number of rows, W²/Σw² (Kish): the n of an information criterion.
    pub fn effective_rows(&self) -> f64 {
        if self.squares > 0.0 { self.weight * self.weight / self.squares } else { 0.0 }
    }

    /// Adds dense rows, stored one after the other in `rows`; without `weights`, each row has weight 1.
    ///
    /// # Panics
    /// If `rows` is not a whole number of rows, or if the number of weights is neither 0 nor the number of rows.
    pub fn observe_dense(&mut self, rows: &[f64], weights: &[f64]) {
        let size = self.size().max(1);
        assert_eq!(rows.len() % size, 0, "whole rows");
        assert!(weights.is_empty() || weights.len() == rows.len() / size, "one weight a row");
        let ones = [1.0; CHUNK];
        let mut buffer = Vec::new();
        for (number, chunk) in rows.chunks(CHUNK * size).enumerate() {
            let count = chunk.len() / size;
            let weights = if weights.is_empty() { &ones[..count] } else { &weights[number * CHUNK..][..count] };
            self.add_dense_chunk(chunk, weights, &mut buffer);
        }
    }

    /// One chunk of at most a few hundred dense rows, `buffer` being room to centre them in.
    pub(super) fn add_dense_chunk(&mut self, rows: &[f64], weights: &[f64], buffer: &mut Vec<f64>) {
        let (size, stride) = (self.size(), PackedSymmetric::padded(self.size()));
        let block: f64 = weights.iter().sum();
        if block <= 0.0 || size == 0 {
            self.count(weights);
            return;
        }
        buffer.resize((weights.len() + 1) * stride, 0.0);
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let means = centre(rows, size, weights, &roots, buffer, stride);
        // The block's own mean against the mean so far is one more row of the product.
        let (total, last) = (self.weight + block, weights.len() * stride);
        let root = (self.weight * block / total).sqrt();
        for ((mean, block_mean), cell) in self.means.iter_mut().zip(&means).zip(&mut buffer[last..]) {
            let shift = block_mean - *mean;
            *cell = root * shift;
            *mean += shift * (block / total);
        }
        buffer[last + size..].fill(0.0);
        self.comoments.add_products(buffer);
        self.count(weights);
    }

    pub(super) fn count(&mut self, weights: &[f64]) {
        self.rows += weights.len() as u64;
        self.weight += weights.iter().sum::<f64>();
        self.squares += weights.iter().map(|weight| weight * weight).sum::<f64>();
    }

    /// Merges the moments of other rows with the same columns.
    ///
    /// # Panics
    /// If `other` has more columns.
    pub fn merge(&mut self, other: &Comoments) {
        assert!(other.size() <= self.size(), "the same columns");
        if other.weight > 0.0 {
            let total = self.weight + other.weight;
            let shifts = self.shifts(other);
            self.comoments.add(&other.comoments, 1.0);
            self.comoments.add_outer(&[(self.weight * other.weight / total, &shifts)]);
            let share = other.weight / total;
            self.means.iter_mut().zip(&shifts).for_each(|(mean, shift)| *mean += share * shift);
            self.weight = total;
            self.squares += other.squares;
        }
        self.rows += other.rows;
    }

    /// The means of `other` minus our means; columns that `other` does not have were zero there.
    fn shifts(&self, other: &Comoments) -> Vec<f64> {
        let others = other.means.iter().copied().chain(std::iter::repeat(0.0));
        self.means.iter().zip(others).map(|(mean, other)| other - mean).collect()
    }

    /// Subtracts rows that were added before: the inverse of [`Comoments::merge`]. `Err` holds a column whose variance
    /// would be negative beyond rounding: `other` was then not a part of these rows, and the result must not be used.
    ///
    /// # Panics
    /// If `other` has more columns, or not fewer rows or less weight.
    pub fn subtract(&mut self, other: &Comoments) -> Result<(), usize> {
        assert!(other.size() <= self.size(), "the same columns");
        assert!(other.rows < self.rows && other.weight < self.weight, "something must be left");
        let before: Vec<f64> = (0..self.size()).map(|i| self.comoments.get(i, i)).collect();
        let left = self.weight - other.weight;
        let shifts = self.shifts(other);
        // μ' = μ − (μ_b − μ)·W_b/W', and μ_b − μ' = (μ_b − μ)·W/W'.
        let share = other.weight / left;
        self.means.iter_mut().zip(&shifts).for_each(|(mean, shift)| *mean -= share * shift);
        self.comoments.add(&other.comoments, -1.0);
        self.comoments.add_outer(&[(-other.weight * self.weight / left, &shifts)]);
        (self.weight, self.squares) = (left, (self.squares - other.squares).max(left * left / (self.rows as f64)));
        self.rows -= other.rows;
        self.repair(&before, &shifts, share)
    }

    /// After a subtraction a variance of zero is a small number of either sign: such columns are set to zero.
    fn repair(&mut self, before: &[f64], shifts: &[f64], share: f64) -> Result<(), usize> {
        for (i, (&was, shift)) in before.iter().zip(shifts).enumerate() {
            let size = was + self.weight * (share * shift).powi(2) + self.weight * self.means[i].powi(2) * 1e-18;
            let noise = 1e-14 * size;
            let now = self.comoments.get(i, i);
            if now < -1e6 * noise.max(f64::MIN_POSITIVE) {
                return Err(i);
            }
            if now <= noise {
                (0..self.size()).for_each(|j| self.comoments.set(i, j, 0.0));
            }
        }
        Ok(())
    }

    /// Multiplies the weights of all rows so far by `keep` (0 < `keep` ≤ 1).
    pub fn decay(&mut self, keep: f64) {
        if keep < 1.0 {
            self.weight *= keep;
            self.squares *= keep * keep;
            self.comoments.scale(keep);
        }
    }

    /// The same moments with column `j` at place `places[j]` of `size` columns.
    pub fn moved(&self, places: &[u32], size: usize) -> Comoments {
        let mut moved =
            Comoments { rows: self.rows, weight: self.weight, squares: self.squares, ..Comoments::new(size) };
        for (i, &to) in places.iter().enumerate() {
            moved.means[to as usize] = self.means[i];
            for (j, &other) in places[..=i].iter().enumerate() {
                moved.comoments.set(to as usize, other as usize, self.comoments.get(i, j));
            }
        }
        moved
    }
}

/// Writes √w·(x − mean) of every row to `buffer` and returns the means. A task takes a few columns of all rows: each
/// sum has one order, and the second reading comes from the cache.
fn centre(rows: &[f64], size: usize, weights: &[f64], roots: &[f64], buffer: &mut [f64], stride: usize) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mut means = vec![0.0; size];
    means.par_chunks_mut(STRIP).enumerate().for_each(|(strip, means)| {
        let first = strip * STRIP;
        for (row, weight) in rows.chunks_exact(size).zip(weights) {
            means.iter_mut().zip(&row[first..]).for_each(|(mean, value)| *mean += weight * value);
        }
        means.iter_mut().for_each(|mean| *mean /= total);
    });
    let centred = |(row, (cells, root)): (&[f64], (&mut [f64], &f64))| {
        cells.iter_mut().zip(row.iter().zip(&means)).for_each(|(cell, (value, mean))| *cell = root * (value - mean));
        cells[size..].fill(0.0);
    };
    rows.par_chunks_exact(size).zip(buffer.par_chunks_exact_mut(stride).zip(roots)).with_min_len(64).for_each(centred);
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_by_hand() {
        let mut sums = Comoments::new(2);
        sums.observe_dense(&[1.0, 10.0, 3.0, 20.0], &[]);
        assert_eq!((sums.rows, sums.weight, &sums.means[..]), (2, 2.0, &[2.0, 15.0][..]));
        assert_eq!([(0, 0), (1, 0), (1, 1)].map(|(i, j)| sums.comoments.get(i, j)), [2.0, 10.0, 50.0]);
        assert_eq!(sums.covariance(0, 1), 5.0);
    }

    #[test]
    fn a_weight_of_two_is_the_row_twice() {
        let (mut once, mut twice) = (Comoments::new(2), Comoments::new(2));
        once.observe_dense(&[1.0, 2.0, 5.0, 4.0], &[2.0, 1.0]);
        twice.observe_dense(&[1.0, 2.0, 1.0, 2.0, 5.0, 4.0], &[]);
        assert_eq!(once.weight, twice.weight);
        for (i, j) in [(0, 0), (1, 0), (1, 1)] {
            assert!((once.covariance(i, j) - twice.covariance(i, j)).abs() < 1e-15);
        }
    }

    #[test]
    fn a_mean_of_a_million_loses_no_digits_that_matter() {
        let value = |i: usize| 1e6 + ((i * 7919) % 1000) as f64 / 500.0 - 1.0;
        let rows: Vec<f64> = (0..100_000).map(value).collect();
        let small: Vec<f64> = rows.iter().map(|value| value - 1e6).collect();
        let (mut large, mut centred) = (Comoments::new(1), Comoments::new(1));
        large.observe_dense(&rows, &[]);
        centred.observe_dense(&small, &[]);
        let [found, expected] = [large, centred].map(|sums| sums.covariance(0, 0));
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn subtracting_undoes_merging() {
        let rows = |seed: usize| (0..60).map(|i| ((i * seed) % 17) as f64).collect::<Vec<_>>();
        let (mut whole, mut part) = (Comoments::new(3), Comoments::new(3));
        whole.observe_dense(&rows(5), &[]);
        part.observe_dense(&rows(11), &[]);
        let before = whole.clone();
        whole.merge(&part);
        assert_eq!(whole.rows, 40);
        whole.subtract(&part).unwrap();
        assert_eq!((whole.rows, whole.weight), (20, 20.0));
        for i in 0..3 {
            assert!((whole.means[i] - before.means[i]).abs() < 1e-12);
            (0..=i).for_each(|j| {
                assert!((whole.comoments.get(i, j) - before.comoments.get(i, j)).abs() < 1e-10);
            });
        }
    }

    #[test]
    fn what_was_no_part_is_noticed() {
        let (mut whole, mut part) = (Comoments::new(1), Comoments::new(1));
        whole.observe_dense(&[1.0, 2.0, 3.0, 4.0], &[]);
        part.observe_dense(&[-50.0, 50.0], &[]);
        assert_eq!(whole.subtract(&part), Err(0));
    }

    #[test]
    fn decay_changes_weights_and_no_covariance() {
        let mut sums = Comoments::new(1);
        sums.observe_dense(&[1.0, 3.0], &[]);
        sums.decay(0.25);
        assert_eq!((sums.rows, sums.weight, sums.covariance(0, 0), sums.effective_rows()), (2, 0.5, 1.0, 2.0));
    }
}
