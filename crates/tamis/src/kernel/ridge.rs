//! Second moments of a set of rows, and ridge regression from them.
//!
//! ```text
//! G = ΣwΦΦᵀ,   c = ΣwΦyᵀ,   β = (G̃ + λI)⁻¹c̃,   Σw(y − Φβ)² = Σwy² − 2⟨β, c⟩ + ⟨β, Gβ⟩
//! ```
//! where G̃ and c̃ are centred: the last column of Φ is 1, and its weight, the intercept, is not penalised. The system is
//! solved by its Cholesky factor, in place. Cost: a third of the cube of the number of columns.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, solve};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, Par};

use super::scan::weighted_dot;

/// A ridge that keeps the matrix positive definite, as a share of its trace.
const LEAST_RIDGE: f64 = 1e-9;

/// Moments of a set of rows; of Gram matrices the lower triangle is filled.
#[derive(Clone, Debug)]
pub struct Moments {
    pub(super) gram: Mat<f64>,
    pub(super) cross: Mat<f64>,
    pub(super) squares: f64,
    pub(super) weight: f64,
}

impl Moments {
    pub(super) fn zeros(size: usize, outputs: usize) -> Self {
        Moments { gram: Mat::zeros(size, size), cross: Mat::zeros(size, outputs), squares: 0.0, weight: 0.0 }
    }

    /// Of rows of any values, whose last column is 1.
    pub(super) fn of(values: &Mat<f64>, targets: &Mat<f64>, weights: &[f64]) -> Self {
        let mut moments = Moments::zeros(values.ncols(), targets.ncols());
        let scaled = |matrix: &Mat<f64>| {
            let mut scaled = matrix.clone();
            for column in 0..matrix.ncols() {
                let cells = scaled.col_as_slice_mut(column).iter_mut().zip(weights);
                cells.for_each(|(cell, weight)| *cell *= weight.sqrt());
            }
            scaled
        };
        let (values, targets) = (scaled(values), scaled(targets));
        add_lower_product(&mut moments.gram, &values);
        matmul(moments.cross.as_mut(), Accum::Add, values.transpose(), targets.as_ref(), 1.0, Par::Seq);
        moments.weight = weights.iter().sum();
        moments
    }

    /// Becomes the sum of four others, in the memory that it has.
    pub(super) fn set_to_sum(&mut self, [a, b, c, d]: [&Moments; 4]) {
        for column in 0..self.gram.ncols() {
            let [a, b, c, d] = [a, b, c, d].map(|one| one.gram.col_as_slice(column)[column..].iter());
            let cells = self.gram.col_as_slice_mut(column)[column..].iter_mut();
            cells.zip(a.zip(b).zip(c.zip(d))).for_each(|(cell, ((a, b), (c, d)))| *cell = (a + b) + (c + d));
        }
        self.cross = (&a.cross + &b.cross) + (&c.cross + &d.cross);
        self.squares = (a.squares + b.squares) + (c.squares + d.squares);
        self.weight = (a.weight + b.weight) + (c.weight + d.weight);
    }

    pub(super) fn add(&mut self, other: &Moments) {
        for column in 0..self.gram.ncols() {
            let own = &mut self.gram.col_as_slice_mut(column)[column..];
            let others = &other.gram.col_as_slice(column)[column..];
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        }
        self.cross += &other.cross;
        self.squares += other.squares;
        self.weight += other.weight;
    }

    /// The ridge weights: a row for each feature, each variable and the intercept, a column for each output.
    pub fn ridge(&self, penalty: f64) -> Mat<f64> {
        let size = self.gram.nrows() - 1;
        self.ridge_in(penalty, &mut Mat::zeros(size, size))
    }

    /// The ridge weights; `matrix` is overwritten, so that several fits share its memory.
    pub(super) fn ridge_in(&self, penalty: f64, matrix: &mut Mat<f64>) -> Mat<f64> {
        let (last, outputs) = (self.gram.nrows() - 1, self.cross.ncols());
        let sums: Vec<f64> = (0..last).map(|column| self.gram.col_as_slice(column)[last]).collect();
        let means: Vec<f64> = sums.iter().map(|sum| sum / self.weight).collect();
        for column in 0..last {
            let own = self.gram.col_as_slice(column)[column..last].iter().zip(&means[column..]);
            let target = &mut matrix.col_as_slice_mut(column)[column..];
            target.iter_mut().zip(own).for_each(|(target, (gram, mean))| *target = gram - mean * sums[column]);
        }
        let trace: f64 = (0..last).map(|place| matrix[(place, place)]).sum();
        (0..last).for_each(|place| matrix[(place, place)] += penalty + LEAST_RIDGE * trace);
        let centre = |output: usize| self.cross[(last, output)] / self.weight;
        let right = Mat::from_fn(last, outputs, |row, output| self.cross[(row, output)] - sums[row] * centre(output));
        // Only numbers that overflow have no solution: no weights are better than wrong ones.
        let solved = solve_in_place(matrix, right).unwrap_or_else(|| Mat::zeros(last, outputs));
        let intercept = |output: usize| {
            let parts = means.iter().zip(solved.col_as_slice(output));
            centre(output) - parts.map(|(mean, weight)| mean * weight).sum::<f64>()
        };
        Mat::from_fn(last + 1, outputs, |row, output| match row == last {
            false => solved[(row, output)],
            true => intercept(output),
        })
    }

    /// The sum of squared errors of some weights, over rows and outputs.
    pub fn squared_error(&self, weights: &Mat<f64>) -> f64 {
        let mut error = self.squares;
        for output in 0..weights.ncols() {
            let (own, cross) = (weights.col_as_slice(output), self.cross.col_as_slice(output));
            for column in 0..own.len() {
                let gram = &self.gram.col_as_slice(column)[column..];
                let below = weighted_dot(&gram[1..], &own[column + 1..], None);
                error += own[column] * (2.0 * below + gram[0] * own[column] - 2.0 * cross[column]);
            }
        }
        error
    }
}

/// Adds the lower triangle of VᵀV.
pub(super) fn add_lower_product(sum: &mut Mat<f64>, values: &Mat<f64>) {
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let (left, right) = (values.transpose(), values.as_ref());
    triangular::matmul(sum.as_mut(), lower, Accum::Add, left, full, right, full, 1.0, Par::Seq);
}

/// The solution of a system by the Cholesky factor of its matrix, of which the lower triangle is given; `None` if it is not
/// positive definite.
fn solve_in_place(matrix: &mut Mat<f64>, mut right: Mat<f64>) -> Option<Mat<f64>> {
    let (size, columns) = (right.nrows(), right.ncols());
    let of_factor = factor::cholesky_in_place_scratch::<f64>(size, Par::Seq, Default::default());
    let of_solution = solve::solve_in_place_scratch::<f64>(size, columns, Par::Seq);
    let mut memory = MemBuffer::new(of_factor.or(of_solution));
    let stack = MemStack::new(&mut memory);
    factor::cholesky_in_place(matrix.as_mut(), Default::default(), Par::Seq, stack, Default::default()).ok()?;
    solve::solve_in_place(matrix.as_ref(), right.as_mut(), Par::Seq, stack);
    Some(right)
}
