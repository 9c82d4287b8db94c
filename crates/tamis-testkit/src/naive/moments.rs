//! Moments and the models solved from them, computed from the rows: two passes, plain loops, no optimisation.

use super::linear_system::solve;
use tamis::recipe::Sign;

/// Dense rows with targets and weights.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The features of each row.
    pub rows: Vec<Vec<f64>>,
    /// The target of each row.
    pub targets: Vec<f64>,
    /// The weight of each row.
    pub weights: Vec<f64>,
}

impl Table {
    /// The rows with these numbers.
    pub fn pick(&self, numbers: impl Iterator<Item = usize>) -> Table {
        let mut table = Table::default();
        for number in numbers {
            table.rows.push(self.rows[number].clone());
            table.targets.push(self.targets[number]);
            table.weights.push(self.weights[number]);
        }
        table
    }

    /// The weighted covariance Σ w (a − ā)(b − b̄)/W of two columns; column 0 is the target.
    pub fn covariance(&self, a: usize, b: usize) -> f64 {
        let (means, total) = (self.means(), self.weights.iter().sum::<f64>());
        let products = (0..self.rows.len())
            .map(|row| self.weights[row] * (self.cell(row, a) - means[a]) * (self.cell(row, b) - means[b]));
        products.sum::<f64>() / total
    }

    /// The mean of each column; column 0 is the target.
    pub fn means(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        let columns = self.rows.first().map_or(0, Vec::len) + 1;
        let mean =
            |column| (0..self.rows.len()).map(|row| self.weights[row] * self.cell(row, column)).sum::<f64>() / total;
        (0..columns).map(mean).collect()
    }

    fn cell(&self, row: usize, column: usize) -> f64 {
        if column == 0 { self.targets[row] } else { self.rows[row][column - 1] }
    }

    /// The weighted mean of (y − intercept − x·weights)².
    pub fn mean_squared_error(&self, intercept: f64, weights: &[f64]) -> f64 {
        let error = |row: usize| {
            let fitted: f64 = self.rows[row].iter().zip(weights).map(|(x, w)| x * w).sum();
            self.weights[row] * (self.targets[row] - intercept - fitted).powi(2)
        };
        (0..self.rows.len()).map(error).sum::<f64>() / self.weights.iter().sum::<f64>()
    }

    /// The lasso on standardised columns by cyclic coordinate descent on residuals: intercept and weights in raw units.
    pub fn lasso(&self, penalty: f64, sweeps: usize) -> (f64, Vec<f64>) {
        self.signed_lasso(penalty, sweeps, |_| None)
    }

    /// The same with signs of weights.
    pub fn signed_lasso(&self, penalty: f64, sweeps: usize, sign: impl Fn(usize) -> Option<Sign>) -> (f64, Vec<f64>) {
        let (means, total) = (self.means(), self.weights.iter().sum::<f64>());
        let p = means.len() - 1;
        let scales: Vec<f64> = (1..=p).map(|j| self.covariance(j, j).sqrt()).collect();
        let x = |row: usize, j: usize| (self.rows[row][j] - means[j + 1]) / scales[j];
        let mut beta = vec![0.0; p];
        let mut residual: Vec<f64> = self.targets.iter().map(|y| y - means[0]).collect();
        for _ in 0..sweeps {
            for (j, weight) in beta.iter_mut().enumerate() {
                let rows = 0..self.rows.len();
                let slope: f64 = rows.map(|r| self.weights[r] * x(r, j) * residual[r]).sum::<f64>() / total;
                let t: f64 = slope + *weight;
                let next = match sign(j) {
                    None => t.signum() * (t.abs() - penalty).max(0.0),
                    Some(Sign::Plus) => (t - penalty).max(0.0),
                    Some(Sign::Minus) => (t + penalty).min(0.0),
                };
                residual.iter_mut().enumerate().for_each(|(r, value)| *value -= (next - *weight) * x(r, j));
                *weight = next;
            }
        }
        let weights: Vec<f64> = beta.iter().zip(&scales).map(|(beta, scale)| beta / scale).collect();
        let shift: f64 = weights.iter().zip(&means[1..]).map(|(weight, mean)| weight * mean).sum();
        (means[0] - shift, weights)
    }

    /// Least squares on some features by Gaussian elimination of the normal equations.
    pub fn least_squares(&self, features: &[usize]) -> (f64, Vec<f64>) {
        let means = self.means();
        let products = |&i: &usize| features.iter().map(|&j| self.covariance(i + 1, j + 1)).collect();
        let targets = features.iter().map(|&i| self.covariance(i + 1, 0)).collect();
        let solution = solve(features.iter().map(products).collect(), targets);
        let mut weights = vec![0.0; means.len() - 1];
        features.iter().zip(solution).for_each(|(&j, weight)| weights[j] = weight);
        let shift: f64 = weights.iter().zip(&means[1..]).map(|(weight, mean)| weight * mean).sum();
        (means[0] - shift, weights)
    }
}
