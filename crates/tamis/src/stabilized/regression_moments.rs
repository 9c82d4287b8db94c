//! Sums of products over rows, and the second moments of standardised columns and targets: all that least squares needs.

use super::gram::Gram;
use super::stage::ClassCoding;
use crate::data::Batch;
use crate::linear_algebra::{axpy, dot, times};

/// Second moments of standardised columns and targets.
#[derive(Clone, Debug)]
pub struct RegressionMoments {
    /// Those of the columns, row by row: their correlations if the same rows standardised them. Zero for constant columns.
    pub columns: Vec<f64>,
    /// Those of the columns with each target.
    pub targets: Vec<Vec<f64>>,
    /// The mean square of each target.
    pub target_squares: Vec<f64>,
}

impl RegressionMoments {
    pub(super) fn size(&self) -> usize {
        self.targets.first().map_or(0, Vec::len)
    }

    /// Some of the columns, in the order of their positions.
    pub(super) fn restricted_to(&self, positions: &[usize]) -> Self {
        let size = self.size();
        let row = |&a: &usize| positions.iter().map(move |&b| self.columns[a * size + b]);
        let target = |target: &Vec<f64>| positions.iter().map(|&position| target[position]).collect();
        RegressionMoments {
            columns: positions.iter().flat_map(row).collect(),
            targets: self.targets.iter().map(target).collect(),
            target_squares: self.target_squares.clone(),
        }
    }

    /// The mean squared loss of weights, one list a target, summed over the targets.
    pub(super) fn loss(&self, weights: &[Vec<f64>]) -> f64 {
        let of_target = |((weights, target), square): ((&Vec<f64>, &Vec<f64>), &f64)| {
            square - 2.0 * dot(weights, target) + dot(weights, &times(weights, &self.columns))
        };
        weights.iter().zip(&self.targets).zip(&self.target_squares).map(of_target).sum()
    }
}

/// Σ w·a·b over rows, for the columns 1, the features and the coded targets.
pub(super) struct CrossProducts {
    /// Both halves of the matrix.
    sums: Vec<f64>,
    features: usize,
    outputs: usize,
}

/// The mean and the deviation of each column; no deviation for a constant one.
pub(super) struct Standardisation(Vec<(f64, f64)>);

impl CrossProducts {
    pub(super) fn of(rows: &Batch, features: usize, codings: &[ClassCoding]) -> Self {
        let width = 1 + features + codings.len();
        let (mut gram, mut entries) = (Gram::new(width, width), Vec::new());
        for example in rows.examples() {
            entries.clear();
            entries.push((0, 1.0));
            entries.extend(example.row.iter().map(|(position, value)| (position + 1, value)));
            let targets = codings.iter().map(|coding| coding.output.code(example.target));
            entries.extend((1 + features as u32..).zip(targets));
            gram.add(&entries, example.weight);
        }
        gram.finish();
        CrossProducts { sums: gram.given(), features, outputs: codings.len() }
    }

    /// The sums over the rows of all parts.
    pub(super) fn total<'a>(parts: impl Iterator<Item = &'a CrossProducts>) -> Self {
        let mut total = CrossProducts { sums: Vec::new(), features: 0, outputs: 0 };
        for part in parts {
            (total.features, total.outputs) = (part.features, part.outputs);
            total.sums.resize(part.sums.len(), 0.0);
            axpy(1.0, &part.sums, &mut total.sums);
        }
        total
    }

    /// E[a·b]; column 0 is 1.
    fn mean(&self, a: usize, b: usize) -> f64 {
        let width = 1 + self.features + self.outputs;
        self.sums[a * width + b] / self.sums[0].max(f64::MIN_POSITIVE)
    }

    pub(super) fn standardisation(&self) -> Standardisation {
        let column = |a: usize| {
            let (mean, square) = (self.mean(0, a), self.mean(a, a));
            let variance = square - mean * mean;
            // A variance that is rounding of a large square is none.
            (mean, if variance > 1e-12 * square { variance.sqrt() } else { 0.0 })
        };
        Standardisation((0..1 + self.features + self.outputs).map(column).collect())
    }

    /// The moments of some features (by position), standardised as given.
    pub(super) fn moments(&self, by: &Standardisation, features: &[usize]) -> RegressionMoments {
        let moment = |a: usize, b: usize| {
            let ((mean_a, deviation_a), (mean_b, deviation_b)) = (by.0[a], by.0[b]);
            let product = self.mean(a, b) - mean_a * self.mean(0, b) - mean_b * self.mean(0, a) + mean_a * mean_b;
            let scale = deviation_a * deviation_b;
            if scale > 0.0 { product / scale } else { 0.0 }
        };
        let outputs = || 1 + self.features..1 + self.features + self.outputs;
        let row = |&a: &usize| features.iter().map(move |&b| moment(1 + a, 1 + b));
        RegressionMoments {
            columns: features.iter().flat_map(row).collect(),
            targets: outputs().map(|y| features.iter().map(|&a| moment(1 + a, y)).collect()).collect(),
            target_squares: outputs().map(|y| moment(y, y)).collect(),
        }
    }
}
