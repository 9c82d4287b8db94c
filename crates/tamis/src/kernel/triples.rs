//! A scan of all triples, for interactions of three variables that leave no trace in pairs (XOR of three).
//!
//! The score of a triple is the product over two halves of the rows of Σ r·s_j·s_k·s_l/√n, where s = sin(z), centred and
//! divided by its deviation. Only one split is used, so that scores of noise have the same law with either sign: a triple
//! is accepted if its score is twice the size of the most negative one, and above that of every pair.
//!
//! | symbol | value | origin |
//! |---|---|---|
//! | variables | at most 150 | the cost grows with p³ |
//! | rows of a half | at most 1500 | time |
//! | ratio | 2 | no false triple in 20 data sets without one, all true ones in 24 |
//!
//! Cost: p products of the size of a scan of pairs, for j < k < l.

use faer::{Mat, MatRef};

use super::rows::{HALVES, Rows};
use super::scan::{Real, lower_product, standardize};
use crate::model::kernel::cos_sin_all;

/// More variables than this have no scan of triples.
pub const MOST_VARIABLES: usize = 150;
const MOST_ROWS: usize = 1500;

/// The triple of the largest score, and the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestTriple {
    /// The variables, ascending.
    pub variables: [usize; 3],
    /// Its score.
    pub score: f64,
    /// The most negative score, without its sign.
    pub noise: f64,
}

/// The best triple; `None` with fewer than three variables.
pub fn best_triple<T: Real>(rows: &Rows) -> Option<BestTriple> {
    let size = rows.inputs.ncols();
    let sides = [true, false].map(|inside| rows.half(&HALVES[0], inside, MOST_ROWS));
    let waves = sides.each_ref().map(|side| sines::<T>(rows, side));
    let mut best: Option<BestTriple> = None;
    let mut noise = 0.0_f64;
    for first in 0..size.saturating_sub(2) {
        let rest = size - first - 1;
        let mut scores = Mat::<f64>::zeros(rest, rest);
        for output in 0..rows.targets.ncols() {
            let [one, other] =
                [0, 1].map(|side| triple_products(rows, &sides[side], waves[side].as_ref(), first, output));
            for column in 0..rest {
                (column + 1..rest)
                    .for_each(|row| scores[(row, column)] += one[(row, column)].get() * other[(row, column)].get());
            }
        }
        for column in 0..rest {
            for row in column + 1..rest {
                let score = scores[(row, column)];
                noise = noise.max(-score);
                if best.is_none_or(|best| score > best.score) {
                    let variables = [first, first + 1 + column, first + 1 + row];
                    best = Some(BestTriple { variables, score, noise: 0.0 });
                }
            }
        }
    }
    best.map(|best| BestTriple { noise, ..best })
}

fn sines<T: Real>(rows: &Rows, side: &[usize]) -> Mat<T> {
    let weights: Vec<f64> = side.iter().map(|&row| rows.weights[row]).collect();
    let mut matrix = Mat::zeros(side.len(), rows.inputs.ncols());
    for column in 0..rows.inputs.ncols() {
        let mut angles: Vec<f64> = side.iter().map(|&row| rows.inputs[(row, column)]).collect();
        let mut wave = vec![0.0; side.len()];
        cos_sin_all(&mut angles, 0.0, &mut wave);
        standardize(&mut wave, &weights);
        wave.iter().enumerate().for_each(|(row, &value)| matrix[(row, column)] = T::of(value));
    }
    matrix
}

/// Σ r·s_first·s_j·s_k/√n for the variables after the first.
fn triple_products<T: Real>(rows: &Rows, side: &[usize], waves: MatRef<'_, T>, first: usize, output: usize) -> Mat<T> {
    let total: f64 = side.iter().map(|&row| rows.weights[row]).sum();
    let rest = waves.subcols(first + 1, waves.ncols() - first - 1);
    let factor = |row: usize| {
        rows.weights[side[row]] * rows.targets[(side[row], output)] * waves[(row, first)].get() / total.sqrt()
    };
    let factors: Vec<f64> = (0..side.len()).map(factor).collect();
    let scaled =
        Mat::<T>::from_fn(side.len(), rest.ncols(), |row, column| T::of(rest[(row, column)].get() * factors[row]));
    lower_product(scaled.as_ref(), rest)
}
