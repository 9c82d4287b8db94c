//! From moments to a least-squares problem on standardised columns, and coefficients back in the units of the data.
//!
//! Source: Sun et al. 2018, section 2.2, equations (4), (5), and Proposition 1, equation (7):
//! ```text
//! S = Π (C_xx/W) Π,   s = Π C_xy/W,   Π = diag(σ)⁻¹:   minimise ½βᵀSβ − sᵀβ + P(β; λ)
//! weight = β/σ,   intercept = μ_y − Σ weight·μ_x                                        (E29)
//! ```
//! Columns are centred and scaled, the target is centred. Constant columns are left out, and so are copies of an
//! earlier column in other units (such as the square of a column of zeros and ones), which could only share its weight.
//! Classes are coded ±1 (section 3.6): from a column c of zeros and ones, y = 2c − 1. All outputs share S.

use rayon::prelude::*;

use crate::moments::Comoments;
use crate::prox::FREE;

/// A column whose standard deviation is below this share of its mean is constant up to rounding.
const CONSTANT: f64 = 1e-13;

/// Columns whose correlation is this close to ±1 are copies of each other up to rounding.
const COPY: f64 = 1e-12;

/// Rounding may take a correlation this far beyond ±1.
const ROUNDING: f64 = 1e-6;

/// An output: its column, and the factor and shift that are applied to its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Output {
    pub(crate) column: usize,
    pub(crate) factor: f64,
    pub(crate) shift: f64,
}

/// Standardised moments.
#[derive(Clone, Debug)]
pub(crate) struct Standardized {
    /// The column of each feature in the moments.
    pub(crate) columns: Vec<usize>,
    /// S, row by row: correlations.
    pub(crate) gram: Vec<f64>,
    /// s of each output.
    pub(crate) cross: Vec<Vec<f64>>,
    /// The variance of each output.
    pub(crate) spread: Vec<f64>,
    /// σ of each feature.
    pub(crate) scales: Vec<f64>,
    /// The interval of the coefficient of each feature.
    pub(crate) bounds: Vec<(f64, f64)>,
    means: Vec<f64>,
    target_means: Vec<f64>,
    /// The effective number of rows.
    pub(crate) rows: f64,
}

/// The non-zero coefficients of one output on standardised features, by ascending feature.
pub(crate) type Coefficients = Vec<(usize, f64)>;

/// A linear function in the units of the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// The intercept.
    pub intercept: f64,
    /// Columns of the moments and their weights.
    pub weights: Vec<(usize, f64)>,
}

impl Standardized {
    /// The problem of predicting `outputs` from the columns `features`.
    pub(crate) fn new(sums: &Comoments, features: &[usize], outputs: &[Output]) -> Self {
        Self::bounded(sums, features, &vec![FREE; features.len()], outputs)
    }

    /// The same with an interval for the coefficient of each feature, which is a side of zero or all numbers.
    pub(crate) fn bounded(sums: &Comoments, features: &[usize], bounds: &[(f64, f64)], outputs: &[Output]) -> Self {
        let deviation = |column: usize| sums.covariance(column, column).max(0.0).sqrt();
        let varies = |column: &usize| deviation(*column) > CONSTANT * sums.means[*column].abs();
        let varying = features.iter().copied().zip(bounds.iter().copied()).filter(|(column, _)| varies(column));
        let (columns, bounds): (Vec<usize>, Vec<(f64, f64)>) = varying.unzip();
        let scales: Vec<f64> = columns.iter().map(|&column| deviation(column)).collect();
        let size = columns.len();
        let mut gram = vec![0.0; size * size];
        gram.par_chunks_mut(size.max(1)).enumerate().for_each(|(i, row)| {
            for (j, cell) in row.iter_mut().enumerate() {
                let correlation = sums.covariance(columns[i], columns[j]) / (scales[i] * scales[j]);
                // Beyond ±2 it is not a correlation of anything; `solve` refuses it, and no solver may overflow before.
                *cell = if i == j { 1.0 } else { correlation.clamp(-2.0, 2.0) };
            }
        });
        let kept = not_copies(&gram, &bounds);
        let (columns, scales, bounds) = (pick(&columns, &kept), pick(&scales, &kept), pick(&bounds, &kept));
        let gram =
            if kept.len() == size { gram } else { kept.iter().flat_map(|&i| pick(&gram[i * size..], &kept)).collect() };
        let cross = |output: &Output| {
            let one = |(&column, scale): (&usize, &f64)| output.factor * sums.covariance(column, output.column) / scale;
            columns.iter().zip(&scales).map(one).collect()
        };
        let spread = |output: &Output| output.factor.powi(2) * sums.covariance(output.column, output.column);
        Standardized {
            means: columns.iter().map(|&column| sums.means[column]).collect(),
            target_means: outputs.iter().map(|o| o.factor * sums.means[o.column] + o.shift).collect(),
            cross: outputs.iter().map(cross).collect(),
            spread: outputs.iter().map(spread).collect(),
            rows: sums.effective_rows(),
            columns,
            gram,
            scales,
            bounds,
        }
    }

    /// Two features, or a feature and an output (`None`), whose correlation is beyond ±1 by more than rounding.
    pub(crate) fn impossible_pair(&self) -> Option<(usize, Option<usize>)> {
        let beyond = |correlation: f64| correlation.abs() > 1.0 + ROUNDING || correlation.is_nan();
        let of_feature = |i: usize| self.row(i).iter().position(|&cell| beyond(cell)).map(|j| (i, Some(j)));
        let is_beyond = |i: usize, cross: &[f64], spread: f64| beyond(cross[i] / spread.sqrt()) && spread > 0.0;
        let of_output = |i: usize| {
            let outputs = self.cross.iter().zip(&self.spread);
            outputs.filter(|(cross, spread)| is_beyond(i, cross, **spread)).map(|_| (i, None)).next()
        };
        (0..self.size()).find_map(|i| of_feature(i).or_else(|| of_output(i)))
    }

    /// The number of usable features.
    pub(crate) fn size(&self) -> usize {
        self.columns.len()
    }

    /// The number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.cross.len()
    }

    /// Row `j` of S.
    pub(crate) fn row(&self, j: usize) -> &[f64] {
        &self.gram[j * self.size()..(j + 1) * self.size()]
    }

    /// How strongly a gradient draws the coefficient of a feature away from zero; not at all against its sign.
    #[inline]
    pub(crate) fn pull(&self, feature: usize, gradient: f64) -> f64 {
        let (least, most) = self.bounds[feature];
        gradient.clamp(least, most).abs()
    }

    /// Whether no coefficient has a sign.
    pub(crate) fn is_free(&self) -> bool {
        self.bounds.iter().all(|&bounds| bounds == FREE)
    }

    /// The same problem with only some of the features.
    pub(crate) fn restricted(&self, features: &[usize]) -> Standardized {
        Standardized {
            columns: pick(&self.columns, features),
            gram: features.iter().flat_map(|&i| pick(self.row(i), features)).collect(),
            cross: self.cross.iter().map(|cross| pick(cross, features)).collect(),
            spread: self.spread.clone(),
            scales: pick(&self.scales, features),
            bounds: pick(&self.bounds, features),
            means: pick(&self.means, features),
            target_means: self.target_means.clone(),
            rows: self.rows,
        }
    }

    /// The mean squared error of coefficients on the rows of the moments: βᵀSβ − 2sᵀβ + S_yy.
    pub(crate) fn error(&self, output: usize, coefficients: &[(usize, f64)]) -> f64 {
        let cross = &self.cross[output];
        let mut error = self.spread[output];
        for &(i, beta) in coefficients {
            let row = self.row(i);
            let quadratic: f64 = coefficients.iter().map(|&(j, other)| row[j] * other).sum();
            error += beta * (quadratic - 2.0 * cross[i]);
        }
        error.max(0.0)
    }

    /// The coefficients in the units of the data.
    pub(crate) fn linear(&self, output: usize, coefficients: &[(usize, f64)]) -> Linear {
        let weights: Vec<(usize, f64)> =
            coefficients.iter().map(|&(j, beta)| (self.columns[j], beta / self.scales[j])).collect();
        let shift: f64 = coefficients.iter().zip(&weights).map(|((j, _), (_, weight))| self.means[*j] * weight).sum();
        Linear { intercept: self.target_means[output] - shift, weights }
    }
}

fn pick<T: Copy>(all: &[T], places: &[usize]) -> Vec<T> {
    places.iter().map(|&place| all[place]).collect()
}

/// The columns that are no copies of earlier ones. With a sign, a column is only a copy of one that can do the same.
fn not_copies(gram: &[f64], bounds: &[(f64, f64)]) -> Vec<usize> {
    let size = bounds.len();
    let can_replace = |i: usize, j: usize, correlation: f64| {
        bounds[i] == bounds[j] && (correlation > 0.0 || bounds[i] == FREE) && correlation.abs() > 1.0 - COPY
    };
    let is_copy =
        |i: usize| gram[i * size..i * size + i].iter().enumerate().any(|(j, &entry)| can_replace(i, j, entry));
    (0..size).into_par_iter().filter(|&i| !is_copy(i)).collect()
}

impl Linear {
    /// The mean squared error on the rows of other moments.
    pub(crate) fn error_on(&self, sums: &Comoments, output: Output) -> f64 {
        let target = |column: usize| output.factor * sums.covariance(column, output.column);
        let mut variance = output.factor * target(output.column);
        let mut bias = output.factor * sums.means[output.column] + output.shift - self.intercept;
        for &(i, weight) in &self.weights {
            let quadratic: f64 = self.weights.iter().map(|&(j, other)| other * sums.covariance(i, j)).sum();
            variance += weight * (quadratic - 2.0 * target(i));
            bias -= weight * sums.means[i];
        }
        variance.max(0.0) + bias * bias
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums() -> Comoments {
        let mut sums = Comoments::new(4);
        for (x, c) in [(1.0, 3.0), (2.0, -1.0), (4.0, 2.0), (7.0, 0.5)] {
            sums.observe_dense(&[2.0 * x + 1.0, x, 9.5, c], &[]);
        }
        sums
    }

    const Y: Output = Output { column: 0, factor: 1.0, shift: 0.0 };

    #[test]
    fn constant_columns_are_left_out() {
        let problem = Standardized::new(&sums(), &[1, 2, 3], &[Y]);
        assert_eq!(problem.columns, [1, 3]);
        assert!((problem.row(0)[0] - 1.0).abs() < 1e-15 && (problem.row(0)[1] - problem.row(1)[0]).abs() < 1e-15);
    }

    #[test]
    fn a_line_comes_back_in_its_own_units() {
        let problem = Standardized::new(&sums(), &[1], &[Y]);
        let beta = vec![(0, problem.cross[0][0])];
        let line = problem.linear(0, &beta);
        assert!((line.weights[0].1 - 2.0).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12);
        assert!(problem.error(0, &beta) < 1e-12);
        assert!(line.error_on(&sums(), Y) < 1e-12);
        let mut other = Comoments::new(4);
        other.observe_dense(&[0.0, 1.0, 0.0, 0.0, 9.0, 1.0, 0.0, 0.0], &[]);
        assert!((line.error_on(&other, Y) - 22.5).abs() < 1e-12, "((0 − 3)² + (9 − 3)²)/2");
        let doubled = Output { column: 0, factor: 2.0, shift: -1.0 };
        let line = Standardized::new(&sums(), &[1], &[doubled]);
        let line = line.linear(0, &[(0, line.cross[0][0])]);
        assert!((line.weights[0].1 - 4.0).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12);
    }
}
