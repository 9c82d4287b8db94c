//! Score tests on the rows of folds: does a column carry information that the margins and other columns do not?
//!
//! The head of [`super`] has the formulas. Columns are never centred: the intercept, which no ridge shrinks, does it.
//! Residual columns x̃ are never formed either: they are linear in the given columns, so that sums over them follow from
//! sums of products (`gram.rs`).

use rayon::prelude::*;

use super::fold::{ColumnStats, Design, Link, Residual, TestFold};
use super::numerator::own_parts;
use crate::linear_algebra::{dot, inverse, inverse_factor, times};
use crate::stabilized::gram::Gram;

/// ε: the ridge of the projections within a fold, as a share of the rows, for columns of unit variance.
const RIDGE: f64 = 0.002;
/// A fold has at least this share of its rows as degrees of freedom.
const MIN_FREEDOM: f64 = 0.25;

/// A score test of one output.
#[derive(Clone, Debug)]
pub struct ScoreTest<'a> {
    /// The link.
    pub link: Link,
    /// The folds.
    pub folds: &'a [TestFold],
    /// Facts about the columns.
    pub columns: &'a [ColumnStats],
}

/// The sums of a fold, or of all folds, for each tested column.
struct Sums {
    score: Vec<f64>,
    model_variance: Vec<f64>,
    robust_variance: Vec<f64>,
}

impl ScoreTest<'_> {
    /// The z-score of each tested column, given the columns of [`TestFold::given`] other than itself.
    pub fn given_ensembles(&self, tested: &[u32]) -> Vec<f64> {
        self.z_scores(|fold| {
            let outside: Vec<u32> = tested.iter().copied().filter(|column| !fold.given.contains(column)).collect();
            let design = Design::new(&fold.given, &outside, self.columns.len());
            Projection::onto_given(design, fold, self, tested)
        })
    }

    /// The z-score of each column, given the columns before it and those of [`TestFold::given`] that are not in the list.
    pub fn in_sequence(&self, order: &[u32]) -> Vec<f64> {
        self.z_scores(|fold| {
            let rest = fold.given.iter().copied().filter(|column| !order.contains(column));
            let given: Vec<u32> = rest.chain(order.iter().copied()).collect();
            Projection::onto_earlier(Design::new(&given, &[], self.columns.len()), fold, self, order)
        })
    }

    fn z_scores<'b>(&'b self, project: impl Fn(&'b TestFold) -> Projection<'b> + Sync) -> Vec<f64> {
        let sums: Vec<Sums> = self.folds.par_iter().map(|fold| project(fold).sums()).collect();
        let total = |numbers: &dyn Fn(&Sums) -> f64| sums.iter().map(numbers).sum::<f64>();
        let z = |column: usize| {
            let variance = total(&|sums| sums.model_variance[column]).max(total(&|sums| sums.robust_variance[column]));
            let z = total(&|sums| sums.score[column]) / variance.sqrt();
            if z.is_finite() { z } else { 0.0 }
        };
        (0..sums.first().map_or(0, |sums| sums.score.len())).map(z).collect()
    }
}

/// The residuals of the tested columns in one fold, and the rows' residuals after one Newton step.
struct Projection<'a> {
    test: &'a ScoreTest<'a>,
    fold: &'a TestFold,
    design: Design,
    /// Σ v·w·x·xᵀ.
    gram: Gram,
    /// Zᵀ·v·(y − μ) over all columns of the design.
    slopes: Vec<f64>,
    residuals: Vec<Residual>,
    /// The Newton step of the given columns.
    step: Vec<f64>,
    /// The ridge of each given column.
    ridges: Vec<f64>,
}

impl<'a> Projection<'a> {
    /// Each tested column on all given columns but itself: −H·ZᵀWx, or H's own column over its diagonal.
    fn onto_given(design: Design, fold: &'a TestFold, test: &'a ScoreTest<'a>, tested: &[u32]) -> Self {
        let (mut own, matrix) = Self::new(design, fold, test);
        let size = own.design.given;
        let inverse = inverse(&inverse_factor(matrix, size), size);
        own.step = times(&own.slopes[..size], &inverse);
        let residual = |&column: &u32| {
            let place = own.design.places[column as usize] as usize;
            if place < size {
                let row = &inverse[place * size..(place + 1) * size];
                let scale = if row[place] > 0.0 { 1.0 / row[place] } else { 0.0 };
                let coefficients = row.iter().map(|h| h * scale).collect();
                return Residual { column, coefficients, outside: None, ridged: scale };
            }
            let products = own.gram.column(place);
            let mut coefficients = times(&products, &inverse);
            coefficients.iter_mut().for_each(|coefficient| *coefficient = -*coefficient);
            let ridged = own.gram.square(place) + dot(&coefficients, &products);
            Residual { column, coefficients, outside: Some(place as u32), ridged }
        };
        own.residuals = tested.iter().map(residual).collect();
        own
    }

    /// Each column on all columns before it: a row of the inverse factor, times its diagonal.
    fn onto_earlier(design: Design, fold: &'a TestFold, test: &'a ScoreTest<'a>, order: &[u32]) -> Self {
        let (mut own, matrix) = Self::new(design, fold, test);
        let size = own.design.given;
        let factor = inverse_factor(matrix, size);
        own.step = times(&own.slopes[..size], &inverse(&factor, size));
        let residual = |&column: &u32| {
            let place = own.design.places[column as usize] as usize;
            let row = &factor[place * size..(place + 1) * size];
            let scale = if row[place] > 0.0 { 1.0 / row[place] } else { 0.0 };
            let coefficients = row.iter().map(|number| number * scale).collect();
            Residual { column, coefficients, outside: None, ridged: scale * scale }
        };
        own.residuals = order.iter().map(residual).collect();
        own
    }

    /// Sums over the rows, and the matrix ZᵀWZ with its ridge.
    fn new(design: Design, fold: &'a TestFold, test: &'a ScoreTest<'a>) -> (Self, Vec<f64>) {
        let mut gram = Gram::new(design.given, design.width);
        let (mut slopes, mut entries, mut total) = (vec![0.0; design.width], Vec::new(), 0.0);
        for (row, &margin) in fold.margins.iter().enumerate() {
            let example = fold.rows.example(row);
            let slope = example.weight * (example.target - test.link.mean(margin));
            let weight = example.weight * test.link.weight(margin);
            design.entries(&fold.rows, row, &mut entries);
            gram.add(&entries, weight);
            entries.iter().for_each(|&(place, value)| slopes[place as usize] += slope * value);
            total += weight;
        }
        gram.finish();
        let mut ridges = vec![0.0; design.given];
        for (stats, &place) in test.columns.iter().zip(&design.places) {
            if (place as usize) < design.given {
                ridges[place as usize] = RIDGE * total * stats.variance;
            }
        }
        let mut matrix = gram.given();
        ridges.iter().enumerate().for_each(|(place, ridge)| matrix[place * (design.given + 1)] += ridge);
        (Projection { test, fold, design, gram, slopes, residuals: Vec::new(), step: Vec::new(), ridges }, matrix)
    }

    fn sums(&self) -> Sums {
        let rows = &self.fold.rows;
        let weights = rows.parts().weights;
        let (sum, sum_of_squares) =
            (weights.iter().sum::<f64>(), weights.iter().map(|weight| weight * weight).sum::<f64>());
        // The effective number of rows; all of them if their weights are equal.
        let count = if sum_of_squares > 0.0 { sum * sum / sum_of_squares } else { 0.0 };
        let freedom = (count - self.design.given as f64).max(MIN_FREEDOM * count);
        let equal = weights.first().copied().filter(|&first| weights.iter().all(|&weight| weight == first));
        let (mut robust, mut model) =
            (Gram::new(self.design.given, self.design.width), Gram::new(self.design.given, self.design.width));
        let (mut entries, mut squares, mut expected) = (Vec::new(), 0.0, 0.0);
        for (row, &margin) in self.fold.margins.iter().enumerate() {
            let example = rows.example(row);
            self.design.entries(rows, row, &mut entries);
            let shift: f64 = entries
                .iter()
                .filter(|entry| (entry.0 as usize) < self.design.given)
                .map(|&(place, value)| self.step[place as usize] * value)
                .sum();
            let weight = self.test.link.weight(margin);
            let residual = example.target - self.test.link.mean(margin) - weight * shift;
            squares += example.weight * residual * residual;
            expected += example.weight * weight;
            robust.add(&entries, (example.weight * residual).powi(2));
            if equal.is_none() {
                model.add(&entries, example.weight * example.weight * weight);
            }
        }
        robust.finish();
        model.finish();
        let correction = count / freedom;
        let dispersion = squares / f64::max(expected, f64::MIN_POSITIVE) * correction;
        let dispersion = if self.test.link == Link::Logistic { dispersion.max(1.0) } else { dispersion };
        let modelled = match equal {
            Some(weight) => self.residuals.iter().map(|residual| weight * self.model_variance(residual)).collect(),
            None => self.variances(&model),
        };
        Sums {
            score: self.scores(),
            model_variance: modelled.into_iter().map(|variance: f64| dispersion * variance).collect(),
            robust_variance: self.variances(&robust).into_iter().map(|variance| correction * variance).collect(),
        }
    }

    /// Σ v·x̃·(y − μ(η − b·x)): the residual of the margin without the column's own part.
    fn scores(&self) -> Vec<f64> {
        let own = own_parts((self.test.link, self.test.columns), self.fold, &self.design, &self.residuals);
        let score = |(residual, own): (&Residual, f64)| {
            let outside = residual.outside.map_or(0.0, |place| self.slopes[place as usize]);
            dot(&residual.coefficients, &self.slopes) + outside + own
        };
        self.residuals.iter().zip(own).map(score).collect()
    }

    /// Σ v·w·x̃² of a residual.
    fn model_variance(&self, residual: &Residual) -> f64 {
        let ridge = residual.coefficients.iter().zip(&self.ridges).map(|(c, ridge)| ridge * c * c).sum::<f64>();
        (residual.ridged - ridge).max(0.0)
    }

    /// Σ m·x̃² of each residual, where m are the weights of a matrix.
    fn variances(&self, matrix: &Gram) -> Vec<f64> {
        let given = matrix.given();
        let variance = |residual: &Residual| {
            let coefficients = &residual.coefficients;
            let inner = dot(&times(coefficients, &given), coefficients);
            let outer = residual.outside.map_or(0.0, |place| {
                2.0 * dot(coefficients, &matrix.column(place as usize)) + matrix.square(place as usize)
            });
            (inner + outer).max(0.0)
        };
        self.residuals.iter().map(variance).collect()
    }
}
