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
use crate::model::kernel::cos_sin_all;

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
    let mut found = Sums { single: vec![0.0; size], pairs: Mat::zeros(size, size), mixed: Mat::zeros(size, size) };
    for half in halves {
        let sides = [true, false].map(|inside| rows.half(half, inside, MOST_ROWS));
        for frequency in FREQUENCIES {
            let waves = Waves::<T>::new(rows, &sides, frequency);
            for output in 0..rows.targets.ncols() {
                let [one, other] = [0, 1].map(|side| waves[side].products(rows, &sides[side], output));
                found.add(&one, &other, 1.0 / halves.len() as f64);
            }
        }
    }
    found.finish()
}

/// Sums of a scan: of pairs the lower triangle, cosines of the row's variable by sines of the column's apart.
struct Sums {
    single: Vec<f64>,
    pairs: Mat<f64>,
    mixed: Mat<f64>,
}

impl Sums {
    fn add<T: Real>(&mut self, one: &Products<T>, other: &Products<T>, share: f64) {
        let size = self.single.len();
        for (score, (a, b)) in self.single.iter_mut().zip(one.single.iter().zip(&other.single)) {
            *score += share * (a[0] * b[0] + a[1] * b[1]);
        }
        let cell = |a: &T, b: &T| share * a.get() * b.get();
        for column in 0..size {
            let target = &mut self.pairs.col_as_slice_mut(column)[column + 1..];
            for (a, b) in [(&one.cosines, &other.cosines), (&one.sines, &other.sines)] {
                let both = a.col_as_slice(column)[column + 1..].iter().zip(&b.col_as_slice(column)[column + 1..]);
                target.iter_mut().zip(both).for_each(|(target, (a, b))| *target += cell(a, b));
            }
            let both = one.mixed.col_as_slice(column).iter().zip(other.mixed.col_as_slice(column));
            let target = self.mixed.col_as_slice_mut(column).iter_mut();
            target.zip(both).for_each(|(target, (a, b))| *target += cell(a, b));
        }
    }

    /// Adds the mixed products of both orders to the scores of pairs.
    fn finish(mut self) -> Scan {
        let size = self.single.len();
        for column in 0..size {
            for row in column + 1..size {
                let score = self.pairs[(row, column)] + (self.mixed[(row, column)] + self.mixed[(column, row)]);
                (self.pairs[(row, column)], self.pairs[(column, row)]) = (score, score);
            }
        }
        Scan { single: self.single, pairs: self.pairs }
    }
}

impl Scan {
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
    /// The waves of both sides.
    fn new(rows: &Rows, sides: &[Vec<usize>; 2], frequency: f64) -> [Self; 2] {
        let size = rows.inputs.ncols();
        let mut waves = sides
            .each_ref()
            .map(|side| Waves { cosines: Mat::zeros(side.len(), size), sines: Mat::zeros(side.len(), size) });
        let weights = sides.each_ref().map(|side| side.iter().map(|&row| rows.weights[row]).collect::<Vec<f64>>());
        let (mut cosines, mut sines) = (vec![0.0; rows.inputs.nrows()], vec![0.0; rows.inputs.nrows()]);
        let mut wave = Vec::new();
        for column in 0..size {
            let inputs = rows.inputs.col_as_slice(column).iter();
            cosines.iter_mut().zip(inputs).for_each(|(angle, input)| *angle = frequency * input);
            cos_sin_all(&mut cosines, 0.0, &mut sines);
            for ((side, weights), own) in sides.iter().zip(&weights).zip(&mut waves) {
                for (values, matrix) in [(&cosines, &mut own.cosines), (&sines, &mut own.sines)] {
                    wave.clear();
                    wave.extend(side.iter().map(|&row| values[row]));
                    standardize(&mut wave, weights);
                    let cells = matrix.col_as_slice_mut(column);
                    cells.iter_mut().zip(&wave).for_each(|(cell, &value)| *cell = T::of(value));
                }
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
            let dot = |matrix: &Mat<T>| {
                factors.iter().zip(matrix.col_as_slice(column)).map(|(r, value)| r * value.get()).sum()
            };
            [dot(&self.cosines), dot(&self.sines)]
        };
        let scaled = |matrix: &Mat<T>| {
            let mut scaled = matrix.clone();
            for column in 0..size {
                let cells = scaled.col_as_slice_mut(column).iter_mut().zip(&factors);
                cells.for_each(|(cell, factor)| *cell = T::of(cell.get() * factor));
            }
            scaled
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

/// Σ a·b, or Σ w·a·b, in four sums that the compiler can vectorise.
pub(super) fn weighted_dot(a: &[f64], b: &[f64], weights: Option<&[f64]>) -> f64 {
    let mut sums = [0.0; 4];
    let whole = a.len() / 4 * 4;
    match weights {
        None => {
            for (a, b) in a.chunks_exact(4).zip(b.chunks_exact(4)) {
                (0..4).for_each(|lane| sums[lane] += a[lane] * b[lane]);
            }
            (whole..a.len()).for_each(|place| sums[0] += a[place] * b[place]);
        }
        Some(weights) => {
            for ((a, b), w) in a.chunks_exact(4).zip(b.chunks_exact(4)).zip(weights.chunks_exact(4)) {
                (0..4).for_each(|lane| sums[lane] += w[lane] * a[lane] * b[lane]);
            }
            (whole..a.len()).for_each(|place| sums[0] += weights[place] * a[place] * b[place]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Subtracts the weighted mean and divides by the deviation.
pub(super) fn standardize(values: &mut [f64], weights: &[f64]) {
    let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = weighted_dot(values, weights, None) / total;
    values.iter_mut().for_each(|value| *value -= mean);
    let variance = weighted_dot(values, values, Some(weights)) / total;
    let deviation = variance.sqrt().max(LEAST_DEVIATION);
    values.iter_mut().for_each(|value| *value /= deviation);
}
