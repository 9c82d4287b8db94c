//! A scan of all variables and all pairs: which of them the target depends on, whatever the others do.
//!
//! Source: ours, for the step that Ma 2017 (section 4.2) leaves open: how a Markov chain over variables learns where to
//! begin. An interaction without main effects (XOR) gives no single variable away, so all p(p − 1)/2 pairs are scored.
//!
//! For a half A of the rows and the other half B, and each frequency g, with C = cos(gZ) and S = sin(gZ), columns
//! centred and divided by their deviation, r the target and n the total weight:
//! ```text
//! single_j += c_j(A)·c_j(B) + s_j(A)·s_j(B)                    c = Cᵀr/√n,  s = Sᵀr/√n
//! pair_jk  += the same of CᵀRC/√n, SᵀRS/√n, CᵀRS/√n, SᵀRC/√n    R = diag(r)
//! ```
//! The product of two independent halves is about 0, of either sign, for a pair that does not matter: the most negative
//! score shows how large noise is.
//!
//! | symbol | value | origin |
//! |---|---|---|
//! | g | 0.7, 1.5 | a slow and a faster wave on inputs of variance 1 |
//! | rows of a half | at most 4000 | time |
//! | halves | 4; 2 above 200 variables | time |
//! | smallest deviation | 0.05 | a wave that hardly varies is noise |
//!
//! Columns are centred before they are multiplied; otherwise main effects would fill the scores of pairs. Cost: for each
//! half, side and frequency n·p² products twice, in single precision: sums of a few thousand terms that only rank.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::traits::ComplexField;
use faer::{Accum, Mat, MatRef, Par};

use super::rows::Rows;
use crate::model::kernel::cos_sin;

const FREQUENCIES: [f64; 2] = [0.7, 1.5];
const MOST_ROWS: usize = 4000;
const LEAST_DEVIATION: f64 = 0.05;

/// A floating-point number of either precision. The program uses `f32`, tests use `f64`.
pub trait Real: ComplexField + Copy + Send + Sync {
    /// The nearest number.
    fn of(number: f64) -> Self;
    /// The same number.
    fn get(self) -> f64;
}

impl Real for f32 {
    fn of(number: f64) -> Self {
        number as f32
    }
    fn get(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn of(number: f64) -> Self {
        number
    }
    fn get(self) -> f64 {
        self
    }
}

/// Scores of all variables and pairs.
#[derive(Clone, Debug)]
pub struct Scan {
    /// By variable.
    pub single: Vec<f64>,
    /// By pair; symmetric, 0 on the diagonal.
    pub pairs: Mat<f64>,
}

/// Scores all variables and pairs, averaged over some halves.
pub fn scan<T: Real>(rows: &Rows, halves: &[[usize; 4]]) -> Scan {
    let size = rows.inputs.ncols();
    let mut found = Scan { single: vec![0.0; size], pairs: Mat::zeros(size, size) };
    for half in halves {
        let sides = [true, false].map(|inside| rows.half(half, inside, MOST_ROWS));
        for frequency in FREQUENCIES {
            let waves = sides.each_ref().map(|side| Waves::<T>::new(rows, side, frequency));
            for output in 0..rows.targets.ncols() {
                let [one, other] = [0, 1].map(|side| waves[side].products(rows, &sides[side], output));
                found.add(&one, &other, 1.0 / halves.len() as f64);
            }
        }
    }
    found
}

impl Scan {
    fn add<T: Real>(&mut self, one: &Products<T>, other: &Products<T>, share: f64) {
        let size = self.single.len();
        for (score, (a, b)) in self.single.iter_mut().zip(one.single.iter().zip(&other.single)) {
            *score += share * (a[0] * b[0] + a[1] * b[1]);
        }
        let product =
            |a: &Mat<T>, b: &Mat<T>, row: usize, column: usize| a[(row, column)].get() * b[(row, column)].get();
        for column in 0..size {
            for row in column + 1..size {
                let both = product(&one.cosines, &other.cosines, row, column)
                    + product(&one.sines, &other.sines, row, column)
                    + product(&one.mixed, &other.mixed, row, column)
                    + product(&one.mixed, &other.mixed, column, row);
                self.pairs[(row, column)] += share * both;
                self.pairs[(column, row)] = self.pairs[(row, column)];
            }
        }
    }

    /// The largest score of a pair with each variable.
    pub fn best_pairs(&self) -> Vec<f64> {
        let size = self.single.len();
        let best = |column: usize| {
            let others = (0..size).filter(|&row| row != column);
            others.map(|row| self.pairs[(row, column)]).fold(f64::NEG_INFINITY, f64::max)
        };
        (0..size).map(best).collect()
    }
}

/// Centred and scaled waves of one side of a split.
struct Waves<T> {
    cosines: Mat<T>,
    sines: Mat<T>,
}

struct Products<T> {
    single: Vec<[f64; 2]>,
    /// Lower triangles.
    cosines: Mat<T>,
    sines: Mat<T>,
    /// Cosine of the row's variable, sine of the column's.
    mixed: Mat<T>,
}

impl<T: Real> Waves<T> {
    fn new(rows: &Rows, side: &[usize], frequency: f64) -> Self {
        let size = rows.inputs.ncols();
        let mut waves = Waves { cosines: Mat::zeros(side.len(), size), sines: Mat::zeros(side.len(), size) };
        let weights: Vec<f64> = side.iter().map(|&row| rows.weights[row]).collect();
        let (mut cosine, mut sine) = (vec![0.0; side.len()], vec![0.0; side.len()]);
        for column in 0..size {
            let inputs = rows.inputs.col(column);
            for ((&row, cosine), sine) in side.iter().zip(&mut cosine).zip(&mut sine) {
                (*cosine, *sine) = cos_sin(frequency * inputs[row]);
            }
            for (wave, matrix) in [(&mut cosine, &mut waves.cosines), (&mut sine, &mut waves.sines)] {
                standardize(wave, &weights);
                wave.iter().enumerate().for_each(|(row, &value)| matrix[(row, column)] = T::of(value));
            }
        }
        waves
    }

    fn products(&self, rows: &Rows, side: &[usize], output: usize) -> Products<T> {
        let size = rows.inputs.ncols();
        let total: f64 = side.iter().map(|&row| rows.weights[row]).sum();
        let factors: Vec<f64> =
            side.iter().map(|&row| rows.weights[row] * rows.targets[(row, output)] / total.sqrt()).collect();
        let single = |column: usize| {
            let dot =
                |matrix: &Mat<T>| factors.iter().enumerate().map(|(row, r)| r * matrix[(row, column)].get()).sum();
            [dot(&self.cosines), dot(&self.sines)]
        };
        let scaled = |matrix: &Mat<T>| {
            Mat::<T>::from_fn(side.len(), size, |row, column| T::of(matrix[(row, column)].get() * factors[row]))
        };
        let (cosines, sines) = (scaled(&self.cosines), scaled(&self.sines));
        let mut mixed = Mat::zeros(size, size);
        matmul(mixed.as_mut(), Accum::Replace, cosines.transpose(), self.sines.as_ref(), T::of(1.0), Par::Seq);
        Products {
            single: (0..size).map(single).collect(),
            cosines: lower_product(cosines.as_ref(), self.cosines.as_ref()),
            sines: lower_product(sines.as_ref(), self.sines.as_ref()),
            mixed,
        }
    }
}

/// The lower triangle of AᵀB.
pub(super) fn lower_product<T: Real>(left: MatRef<'_, T>, right: MatRef<'_, T>) -> Mat<T> {
    let mut product = Mat::zeros(left.ncols(), right.ncols());
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let one = T::of(1.0);
    triangular::matmul(product.as_mut(), lower, Accum::Replace, left.transpose(), full, right, full, one, Par::Seq);
    product
}

/// Subtracts the weighted mean and divides by the deviation.
pub(super) fn standardize(values: &mut [f64], weights: &[f64]) {
    let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = values.iter().zip(weights).map(|(value, weight)| weight * value).sum::<f64>() / total;
    values.iter_mut().for_each(|value| *value -= mean);
    let variance = values.iter().zip(weights).map(|(value, weight)| weight * value * value).sum::<f64>() / total;
    let deviation = variance.sqrt().max(LEAST_DEVIATION);
    values.iter_mut().for_each(|value| *value /= deviation);
}
