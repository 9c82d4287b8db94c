//! A symmetric matrix whose lower triangle is stored in panels that a matrix product can write to.
//!
//! ```text
//! panel 0  ██░░░░     panel i holds the rows 64·i … 64·i + 63 up to the diagonal, column by column (64 numbers each);
//! panel 1  ████░░     it ends where its diagonal block ends, so half of that block is spare and stays zero.
//! panel 2  ██████     A new column is a new row at the end: the matrix grows without moving what is stored.
//! ```
//! Memory is p²/2 + 32·p numbers. The update `C ← C + ZᵀZ` is one product for each panel (faer: packed, vectorised for
//! the processor), triangular on the diagonal, panels side by side on all threads. Each number is written by one
//! thread in the order of the rows, so its bits do not depend on how many threads there are.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows of a panel.
pub(super) const PANEL: usize = 64;

/// A symmetric matrix, its lower triangle stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackedSymmetric {
    size: usize,
    panels: Vec<Vec<f64>>,
}

/// Sparse rows: row `i` has the entries `offsets[i] .. offsets[i + 1]`, columns ascending.
#[derive(Clone, Copy, Debug)]
pub(super) struct SparseRows<'a> {
    pub(super) offsets: &'a [usize],
    pub(super) places: &'a [u32],
    pub(super) values: &'a [f64],
    pub(super) weights: &'a [f64],
}

impl PackedSymmetric {
    /// A matrix of zeros.
    pub fn zeros(size: usize) -> Self {
        let mut matrix = PackedSymmetric::default();
        matrix.grow(size);
        matrix
    }

    /// The number of columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of a matrix with `size` columns.
    pub fn bytes_for(size: u64) -> u64 {
        let panels = size.div_ceil(PANEL as u64);
        // The size may be too large to exist.
        ((PANEL * PANEL * 8) as u64).saturating_mul(panels.saturating_mul(panels + 1) / 2)
    }

    /// Columns padded to whole panels.
    pub(super) fn padded(size: usize) -> usize {
        size.next_multiple_of(PANEL)
    }

    /// Adds columns of zeros up to `size`.
    pub fn grow(&mut self, size: usize) {
        self.size = self.size.max(size);
        while self.panels.len() * PANEL < self.size {
            self.panels.push(vec![0.0; PANEL * (self.panels.len() + 1) * PANEL]);
        }
    }

    /// The entry of two columns, in any order.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.max(j), i.min(j));
        self.panels[i / PANEL][j * PANEL + i % PANEL]
    }

    /// Whether the entries of a column with itself and all columns before it are finite.
    pub(super) fn row_is_finite(&self, i: usize) -> bool {
        (0..=i).all(|j| self.get(i, j).is_finite())
    }

    pub(super) fn set(&mut self, i: usize, j: usize, value: f64) {
        let (i, j) = (i.max(j), i.min(j));
        self.panels[i / PANEL][j * PANEL + i % PANEL] = value;
    }

    /// `C ← C + ZᵀZ` for dense rows of [`PackedSymmetric::padded`] numbers each.
    pub(super) fn add_products(&mut self, rows: &[f64]) {
        let (size, stride) = (self.size, self.panels.len() * PANEL);
        if stride == 0 {
            return;
        }
        let count = rows.len() / stride;
        let columns =
            |first: usize, width: usize| MatRef::from_row_major_slice_with_stride(&rows[first..], count, width, stride);
        self.panels.par_iter_mut().enumerate().with_max_len(1).rev().for_each(|(number, panel)| {
            let (left, width) = (number * PANEL, (number + 1) * PANEL);
            // The last panel may have fewer rows in use.
            let height = PANEL.min(size - left);
            let own = columns(left, height);
            let whole = MatMut::from_column_major_slice_mut(panel, PANEL, width).subrows_mut(0, height);
            let (before, corner) = whole.split_at_col_mut(left);
            let corner = corner.subcols_mut(0, height);
            if left > 0 {
                matmul(before, Accum::Add, own.transpose(), columns(0, left), 1.0, Par::Seq);
            }
            let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
            triangular::matmul(corner, lower, Accum::Add, own.transpose(), full, own, full, 1.0, Par::Seq);
        });
    }

    /// `C ← C + Σ w·x·xᵀ` for sparse rows: the work is the number of pairs of entries. Panels are split into ranges of
    /// about equal work.
    pub(super) fn add_pairs(&mut self, rows: SparseRows<'_>) {
        let mut work = vec![0_u64; self.panels.len()];
        for bounds in rows.offsets.windows(2) {
            let places = &rows.places[bounds[0]..bounds[1]];
            places.iter().zip(1_u64..).for_each(|(&place, pairs)| work[place as usize / PANEL] += pairs);
        }
        let parts = (4 * rayon::current_num_threads()) as u64;
        let share = (work.iter().sum::<u64>() / parts).max(1);
        let mut ranges = Vec::new();
        let (mut rest, mut first) = (&mut self.panels[..], 0);
        while !rest.is_empty() {
            let (mut sum, mut length) = (0, 0);
            while length < rest.len() && sum < share {
                sum += work[first + length];
                length += 1;
            }
            let (range, after) = rest.split_at_mut(length);
            ranges.push((first, range));
            first += length;
            rest = after;
        }
        ranges.into_par_iter().with_max_len(1).for_each(|(first, panels)| add_pairs_to(first, panels, rows));
    }

    /// `C ← C + Σ fₖ·vₖ·vₖᵀ`; vectors are as long as the matrix is wide.
    pub(super) fn add_outer(&mut self, terms: &[(f64, &[f64])]) {
        let size = self.size;
        self.panels.par_iter_mut().enumerate().with_max_len(1).for_each(|(number, panel)| {
            let first = number * PANEL;
            let last = (first + PANEL).min(size);
            for (column, numbers) in panel.chunks_exact_mut(PANEL).enumerate().take(last) {
                // Nothing is stored above the diagonal.
                let skip = column.saturating_sub(first);
                for (factor, vector) in terms {
                    let own = factor * vector[column];
                    if own != 0.0 {
                        let rows = numbers[skip..].iter_mut().zip(&vector[first + skip..last]);
                        rows.for_each(|(number, value)| *number += own * value);
                    }
                }
            }
        });
    }

    /// Multiplies every entry.
    pub(super) fn scale(&mut self, factor: f64) {
        self.panels.par_iter_mut().for_each(|panel| panel.iter_mut().for_each(|number| *number *= factor));
    }

    /// `C ← C + factor·D`.
    ///
    /// # Panics
    /// If `other` has more columns.
    pub(super) fn add(&mut self, other: &PackedSymmetric, factor: f64) {
        assert!(other.panels.len() <= self.panels.len(), "the sum has room");
        self.panels.par_iter_mut().zip(&other.panels).for_each(|(panel, other)| {
            panel.iter_mut().zip(other).for_each(|(number, other)| *number += factor * other);
        });
    }

    /// The lower triangle row by row.
    pub(super) fn triangle(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.size).flat_map(move |i| {
            let panel = &self.panels[i / PANEL];
            (0..=i).map(move |j| panel[j * PANEL + i % PANEL])
        })
    }

    /// The matrix whose lower triangle this is; `None` if the number of entries does not fit.
    pub(super) fn from_triangle(size: usize, triangle: &[f64]) -> Option<Self> {
        if triangle.len() as u128 != size as u128 * (size as u128 + 1) / 2 {
            return None;
        }
        let (mut matrix, mut rest) = (PackedSymmetric::zeros(size), triangle.iter());
        for i in 0..size {
            (0..=i).zip(rest.by_ref()).for_each(|(j, &value)| matrix.set(i, j, value));
        }
        Some(matrix)
    }
}

/// The pairs whose larger column lies in a range of panels that begins with number `first`.
fn add_pairs_to(first: usize, panels: &mut [Vec<f64>], rows: SparseRows<'_>) {
    let (low, high) = ((first * PANEL) as u32, ((first + panels.len()) * PANEL) as u32);
    for (bounds, weight) in rows.offsets.windows(2).zip(rows.weights) {
        let (places, values) = (&rows.places[bounds[0]..bounds[1]], &rows.values[bounds[0]..bounds[1]]);
        let (from, to) = (places.partition_point(|&p| p < low), places.partition_point(|&p| p < high));
        for at in from..to {
            let (place, own) = (places[at] as usize, weight * values[at]);
            let (panel, row) = (&mut panels[place / PANEL - first], place % PANEL);
            for (&other, value) in places[..=at].iter().zip(&values[..=at]) {
                panel[other as usize * PANEL + row] += own * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(rows: usize, size: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|r| (0..size).map(|c| ((r * 31 + c * 17) % 23) as f64 - 11.0).collect()).collect()
    }

    fn products(rows: &[Vec<f64>], i: usize, j: usize) -> f64 {
        rows.iter().map(|row| row[i] * row[j]).sum()
    }

    #[test]
    fn the_dense_update_is_the_product_of_columns() {
        for size in [1, 5, 64, 65, 200] {
            let rows = dense(37, size);
            let mut flat = Vec::new();
            for row in &rows {
                flat.extend_from_slice(row);
                flat.resize(flat.len().next_multiple_of(PackedSymmetric::padded(size)), 0.0);
            }
            let mut matrix = PackedSymmetric::zeros(size);
            matrix.add_products(&flat);
            matrix.add_products(&flat);
            for i in 0..size {
                for j in 0..size {
                    assert_eq!(matrix.get(i, j), 2.0 * products(&rows, i, j), "{i} {j} of {size}");
                }
            }
        }
    }

    #[test]
    fn the_sparse_update_is_the_same() {
        let size = 150;
        let mut rows = dense(40, size);
        rows.iter_mut().enumerate().for_each(|(r, row)| {
            row.iter_mut().enumerate().filter(|(c, _)| (c * 7 + r) % 9 != 0).for_each(|(_, value)| *value = 0.0);
        });
        let (mut offsets, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in &rows {
            for (place, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                places.push(place as u32);
                values.push(*value);
            }
            offsets.push(places.len());
        }
        let weights = vec![0.5; rows.len()];
        let mut matrix = PackedSymmetric::zeros(size);
        matrix.add_pairs(SparseRows { offsets: &offsets, places: &places, values: &values, weights: &weights });
        for i in 0..size {
            assert!((0..size).all(|j| matrix.get(i, j) == 0.5 * products(&rows, i, j)));
        }
    }

    #[test]
    fn growing_moves_nothing() {
        let mut matrix = PackedSymmetric::zeros(3);
        matrix.add_outer(&[(2.0, &[1.0, 2.0, 3.0])]);
        matrix.grow(130);
        assert_eq!((matrix.get(2, 1), matrix.get(1, 2), matrix.get(129, 2)), (12.0, 12.0, 0.0));
        let triangle: Vec<f64> = matrix.triangle().collect();
        assert_eq!(PackedSymmetric::from_triangle(130, &triangle), Some(matrix));
        assert_eq!(PackedSymmetric::from_triangle(129, &triangle), None);
    }

    #[test]
    fn half_the_memory_of_the_square() {
        let full = 4000_f64 * 4000.0 * 8.0;
        assert!((PackedSymmetric::bytes_for(4000) as f64) < 0.52 * full);
    }
}
