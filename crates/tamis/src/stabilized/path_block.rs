//! Eight SGD paths side by side: their state of a feature is contiguous, and one visit of a row updates all of them.
//!
//! A feature costs one memory access for eight paths, and their arithmetic is the same, so that it is vectorised. Paths
//! whose subsample does not contain a row take part in its prediction (their margins are out of bag) and are not
//! updated. Loops over rows are compiled a second time for AVX2; products and sums are not fused, so that the bits are the
//! same on any processor.

use serde::{Deserialize, Serialize};

use crate::data::{Row, ToF64s};

/// Paths in a block.
pub const LANES: usize = 8;

/// Bytes of a feature in a block of [`LANES`] paths, at most.
pub const BYTES_PER_BLOCK: usize = size_of::<Cell>() + 4 * size_of::<f64>();

/// A number for each path of a block.
pub type Lanes8 = [f64; LANES];

/// The state of a feature on each path of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
        pulp::Arch::new().dispatch(|| {
            let mut margins = self.bias;
            for (position, value) in row.iter() {
                let cell = &self.cells[position as usize];
                if !threshold.any_active(cell) {
                    continue;
                }
                for (margin, (&sum, &norm)) in margins.iter_mut().zip(cell.sum.iter().zip(&cell.norm)) {
                    *margin += threshold.weight(evidence(sum, norm)) * value;
                }
            }
            margins
        })
    }

    /// The weights of all features.
    pub fn weights(&self, threshold: SoftThreshold) -> Vec<Lanes8> {
        pulp::Arch::new().dispatch(|| self.cells.iter().map(|cell| threshold.weights(cell)).collect())
    }

    /// b + w·x of each path, with given weights.
    pub fn dense_margins(&self, row: Row<'_>, weights: &[Lanes8]) -> Lanes8 {
        pulp::Arch::new().dispatch(|| {
            let mut margins = self.bias;
            for (position, value) in row.iter() {
                let weights = &weights[position as usize];
                margins.iter_mut().zip(weights).for_each(|(margin, weight)| *margin += weight * value);
            }
            margins
        })
    }

    /// Brings the weights of the features of a row up to date.
    pub fn refresh(&self, row: Row<'_>, threshold: SoftThreshold, weights: &mut [Lanes8]) {
        pulp::Arch::new().dispatch(|| {
            for &position in row.ids {
                weights[position as usize] = threshold.weights(&self.cells[position as usize]);
            }
        });
    }

    /// Updates each path with its slope ℓ'(f); paths whose slope is 0 do not change.
    pub fn step(&mut self, row: Row<'_>, slopes: Lanes8, intercept: bool) {
        pulp::Arch::new().dispatch(|| {
            for (position, value) in row.iter() {
                let cell = &mut self.cells[position as usize];
                for ((sum, norm), slope) in cell.sum.iter_mut().zip(&mut cell.norm).zip(slopes) {
                    let gradient = slope * value;
                    *sum += gradient;
                    *norm += gradient * gradient;
                }
            }
        });
        for ((bias, norm), slope) in self.bias.iter_mut().zip(&mut self.bias_norm).zip(slopes) {
            if intercept && slope != 0.0 {
                *norm += slope * slope;
                *bias -= BIAS_STEP * slope / norm.sqrt();
            }
        }
    }

    /// Keeps the features at these positions, in the given order.
    pub fn keep(&mut self, positions: &[u32]) {
        self.cells = positions.iter().map(|&position| self.cells[position as usize]).collect();
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
