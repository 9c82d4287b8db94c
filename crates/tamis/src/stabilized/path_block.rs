//! Eight SGD paths side by side: their state of a feature is contiguous, and one visit of a row updates all of them.
//!
//! A feature costs one memory access for eight paths, and their arithmetic is the same, so that it is vectorised. Paths
//! whose subsample does not contain a row take part in its prediction (their margins are out of bag) and are not
//! updated. Loops over rows are compiled a second time for AVX2; products and sums are not fused, so that the bits are the
//! same on any processor.

use pulp::NullaryFnOnce;
use serde::{Deserialize, Serialize};

use crate::data::{Row, ToF64s};

/// Paths in a block.
pub const LANES: usize = 8;

/// Bytes of a feature in a block of [`LANES`] paths, at most.
pub const BYTES_PER_BLOCK: usize = size_of::<Cell>() + 4 * size_of::<f64>();

/// A number for each path of a block.
pub type Lanes8 = [f64; LANES];

/// The state of a feature on each path of a block: two lines of a cache. Anywhere else in memory it would be parts of three, and the
/// last one would not be prefetched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct Cell {
    /// z: Σ g·x.
    pub sum: Lanes8,
    /// n: Σ (g·x)².
    pub norm: Lanes8,
}

impl ToF64s for Cell {
    const WIDTH: usize = 2 * LANES;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend(self.sum);
        out.extend(self.norm);
    }
    fn unpack(fields: &[f64]) -> Self {
        let lane = |from: usize| std::array::from_fn(|path| fields[from + path]);
        Cell { sum: lane(0), norm: lane(LANES) }
    }
}

/// How evidence becomes a weight; the same for all paths of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoftThreshold {
    /// g₀: evidence below this gives no weight.
    pub gravity: f64,
    /// a: the weight of one unit of evidence above the threshold.
    pub step: f64,
}

impl SoftThreshold {
    /// Whether a feature has a weight on any path: u² > g₀², without the root and the division. Most have none.
    #[inline(always)]
    fn any_active(&self, cell: &Cell) -> bool {
        let limit = self.gravity * self.gravity;
        (0..LANES).fold(false, |any, path| any | (cell.sum[path] * cell.sum[path] > limit * cell.norm[path]))
    }

    /// The weight of a feature on each path.
    #[inline(always)]
    fn weights(&self, cell: &Cell) -> Lanes8 {
        std::array::from_fn(|path| self.weight(evidence(cell.sum[path], cell.norm[path])))
    }

    /// w = a·sign(u)·max(|u| − g₀, 0).
    #[inline(always)]
    pub fn weight(&self, evidence: f64) -> f64 {
        (self.step * (evidence.abs() - self.gravity).max(0.0)).copysign(evidence)
    }
}

/// u = −z/√n, the self-normalised sum of gradients; 0 before the first update.
#[inline(always)]
pub fn evidence(sum: f64, norm: f64) -> f64 {
    // Before the first update z = 0 too.
    -sum / norm.max(f64::MIN_POSITIVE).sqrt()
}

/// Eight paths of one output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathBlock {
    /// The state of each active feature, by its position in the active set.
    pub cells: Vec<Cell>,
    /// b: the intercept of each path.
    pub bias: Lanes8,
    /// Σ g² of each path.
    pub bias_norm: Lanes8,
}

impl PathBlock {
    /// Paths in their initial state, over `features` features.
    pub fn new(features: usize) -> Self {
        PathBlock { cells: vec![Cell::default(); features], ..PathBlock::default() }
    }

    /// b + w·x of each path.
    pub fn margins(&self, row: Row<'_>, threshold: SoftThreshold) -> Lanes8 {
        vectorised(Margins { paths: self, row, threshold })
    }

    /// The weights of all features.
    pub fn weights(&self, threshold: SoftThreshold) -> Vec<Lanes8> {
        let mut weights = vec![[0.0; LANES]; self.cells.len()];
        self.visit_evidence(threshold, &mut weights, |own, _, weights| *own = *weights);
        weights
    }

    /// Shows the evidence and the weights of each feature to its item.
    pub fn visit_evidence<T>(
        &self,
        threshold: SoftThreshold,
        items: &mut [T],
        visit: impl Fn(&mut T, &Lanes8, &Lanes8),
    ) {
        vectorised(VisitEvidence { paths: self, threshold, items, visit });
    }

    /// b + w·x of each path, with given weights.
    pub fn dense_margins(&self, row: Row<'_>, weights: &[Lanes8]) -> Lanes8 {
        vectorised(DenseMargins { bias: self.bias, row, weights })
    }

    /// Brings the weights of the features of a row up to date.
    pub fn refresh(&self, row: Row<'_>, threshold: SoftThreshold, weights: &mut [Lanes8]) {
        vectorised(Refresh { paths: self, row, threshold, weights });
    }

    /// Updates each path with its slope ℓ'(f); paths whose slope is 0 do not change.
    pub fn step(&mut self, row: Row<'_>, slopes: Lanes8, intercept: bool) {
        vectorised(Step { cells: &mut self.cells, row, slopes });
        for ((bias, norm), slope) in self.bias.iter_mut().zip(&mut self.bias_norm).zip(slopes) {
            if intercept && slope != 0.0 {
                *norm += slope * slope;
                *bias -= BIAS_STEP * slope / norm.sqrt();
            }
        }
    }

    /// Keeps the features at these positions (ascending).
    pub fn keep(&mut self, positions: &[u32]) {
        // No position is before its new place, so that nothing is overwritten before it has moved.
        for (place, &position) in positions.iter().enumerate() {
            self.cells[place] = self.cells[position as usize];
        }
        self.cells.truncate(positions.len());
        self.cells.shrink_to_fit();
    }
}

/// Runs a loop in the copy that is compiled for this processor. A closure would not do: the compiler need not inline it there,
/// and then it has the code of any processor.
#[inline(always)]
fn vectorised<O: NullaryFnOnce>(operation: O) -> O::Output {
    pulp::Arch::new().dispatch(operation)
}

struct Margins<'a> {
    paths: &'a PathBlock,
    row: Row<'a>,
    threshold: SoftThreshold,
}

impl NullaryFnOnce for Margins<'_> {
    type Output = Lanes8;

    #[inline(always)]
    fn call(self) -> Lanes8 {
        let mut margins = self.paths.bias;
        for (&position, &value) in self.row.ids.iter().zip(self.row.values) {
            let cell = &self.paths.cells[position as usize];
            if !self.threshold.any_active(cell) {
                continue;
            }
            for ((margin, &sum), &norm) in margins.iter_mut().zip(&cell.sum).zip(&cell.norm) {
                *margin += self.threshold.weight(evidence(sum, norm)) * value;
            }
        }
        margins
    }
}

struct VisitEvidence<'a, T, V> {
    paths: &'a PathBlock,
    threshold: SoftThreshold,
    items: &'a mut [T],
    visit: V,
}

impl<T, V: Fn(&mut T, &Lanes8, &Lanes8)> NullaryFnOnce for VisitEvidence<'_, T, V> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (item, cell) in self.items.iter_mut().zip(&self.paths.cells) {
            let evidence: Lanes8 = std::array::from_fn(|path| evidence(cell.sum[path], cell.norm[path]));
            let weights = evidence.map(|evidence| self.threshold.weight(evidence));
            (self.visit)(item, &evidence, &weights);
        }
    }
}

struct DenseMargins<'a> {
    bias: Lanes8,
    row: Row<'a>,
    weights: &'a [Lanes8],
}

impl NullaryFnOnce for DenseMargins<'_> {
    type Output = Lanes8;

    #[inline(always)]
    fn call(self) -> Lanes8 {
        let mut margins = self.bias;
        for (&position, &value) in self.row.ids.iter().zip(self.row.values) {
            let weights = &self.weights[position as usize];
            for path in 0..LANES {
                margins[path] += weights[path] * value;
            }
        }
        margins
    }
}

struct Refresh<'a> {
    paths: &'a PathBlock,
    row: Row<'a>,
    threshold: SoftThreshold,
    weights: &'a mut [Lanes8],
}

impl NullaryFnOnce for Refresh<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for &position in self.row.ids {
            self.weights[position as usize] = self.threshold.weights(&self.paths.cells[position as usize]);
        }
    }
}

struct Step<'a> {
    cells: &'a mut [Cell],
    row: Row<'a>,
    slopes: Lanes8,
}

impl NullaryFnOnce for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (&position, &value) in self.row.ids.iter().zip(self.row.values) {
            let cell = &mut self.cells[position as usize];
            for path in 0..LANES {
                let gradient = self.slopes[path] * value;
                cell.sum[path] += gradient;
                cell.norm[path] += gradient * gradient;
            }
        }
    }
}

/// The step size of the intercept, a multiple of 1/√(Σ g²).
const BIAS_STEP: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_by_hand() {
        let threshold = SoftThreshold { gravity: 1.0, step: 0.5 };
        assert_eq!([3.0, 1.0, 0.5, -1.5, 0.0].map(|u| threshold.weight(u)), [1.0, 0.0, 0.0, -0.25, 0.0]);
        assert_eq!(evidence(-6.0, 4.0), 3.0);
        assert_eq!(evidence(0.0, 0.0), 0.0);
    }

    #[test]
    fn only_paths_with_a_slope_move() {
        let mut paths = PathBlock::new(2);
        let row = Row { ids: &[1], values: &[2.0] };
        let mut slopes = [0.0; LANES];
        slopes[3] = -0.5;
        paths.step(row, slopes, true);
        let threshold = SoftThreshold { gravity: 0.25, step: 2.0 };
        let margins = paths.margins(row, threshold);
        // z = −1, n = 1, u = 1, w = 2·0.75; b = 0.5·0.5/√0.25
        assert_eq!(margins[3], 0.5 + 1.5 * 2.0);
        assert!(margins.iter().enumerate().all(|(path, &margin)| path == 3 || margin == 0.0));
        assert_eq!(paths.cells[0], Cell::default());
    }
}
