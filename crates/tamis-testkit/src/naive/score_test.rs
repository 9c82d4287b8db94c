//! The score tests of features, literally: dense columns, one regression for each tested column and fold.

use super::linear_system::solve;
use tamis::stabilized::feature_tests::{Link, ScoreTest, TestFold};

/// ε, the least weight of a row, the least degrees of freedom, and the share of rows below which a column is rare.
const RIDGE: f64 = 0.002;
const MIN_FREEDOM: f64 = 0.25;
const RARE: f64 = 1.0 / 16.0;

/// The z-scores of columns, each given the columns that the ensembles of the folds know, but for itself.
pub fn given_ensembles(test: &ScoreTest<'_>, tested: &[u32]) -> Vec<f64> {
    let sums = |column: u32| {
        let of_fold = |fold: &TestFold| {
            let others: Vec<u32> = fold.given.iter().copied().filter(|&one| one != column).collect();
            Dense::new(test, fold).sums(column, &others, &fold.given)
        };
        z_score(test.folds.iter().map(of_fold))
    };
    tested.iter().map(|&column| sums(column)).collect()
}

/// The z-scores of columns, each given those before it and what the ensembles know beside them.
pub fn in_sequence(test: &ScoreTest<'_>, order: &[u32]) -> Vec<f64> {
    let sums = |place: usize| {
        let of_fold = |fold: &TestFold| {
            let rest: Vec<u32> = fold.given.iter().copied().filter(|one| !order.contains(one)).collect();
            let before = [&rest[..], &order[..place]].concat();
            Dense::new(test, fold).sums(order[place], &before, &[&rest[..], order].concat())
        };
        z_score(test.folds.iter().map(of_fold))
    };
    (0..order.len()).map(sums).collect()
}

fn z_score(folds: impl Iterator<Item = [f64; 3]>) -> f64 {
    let total = folds.fold([0.0; 3], |sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]]);
    total[0] / total[1].max(total[2]).sqrt()
}

/// A fold with dense columns.
struct Dense<'a> {
    test: &'a ScoreTest<'a>,
    fold: &'a TestFold,
    columns: Vec<Vec<f64>>,
}

impl<'a> Dense<'a> {
    fn new(test: &'a ScoreTest<'a>, fold: &'a TestFold) -> Self {
        let mut columns = vec![vec![0.0; fold.rows.len()]; test.columns.len()];
        for (row, example) in fold.rows.examples().enumerate() {
            example.row.iter().for_each(|(column, value)| columns[column as usize][row] = value);
        }
        Dense { test, fold, columns }
    }

    fn rows(&self) -> usize {
        self.fold.rows.len()
    }

    fn importance(&self, row: usize) -> f64 {
        self.fold.rows.example(row).weight
    }

    /// v·w of a row.
    fn weight(&self, row: usize) -> f64 {
        self.importance(row) * self.test.link.weight(self.fold.margins[row])
    }

    fn residual(&self, row: usize) -> f64 {
        self.fold.rows.example(row).target - self.test.link.mean(self.fold.margins[row])
    }

    /// The intercept and columns, with the ridge of each.
    fn design(&self, columns: &[u32]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let total: f64 = (0..self.rows()).map(|row| self.weight(row)).sum();
        let mut design = vec![vec![1.0; self.rows()]];
        let mut ridges = vec![0.0];
        for &column in columns {
            design.push(self.columns[column as usize].clone());
            ridges.push(RIDGE * total * self.test.columns[column as usize].variance);
        }
        (design, ridges)
    }

    /// The coefficients of a ridge regression, where `products` are those of the columns with the target.
    fn regression(&self, design: &[Vec<f64>], ridges: &[f64], products: Vec<f64>) -> Vec<f64> {
        let product =
            |a: &[f64], b: &[f64]| (0..self.rows()).map(|row| self.weight(row) * a[row] * b[row]).sum::<f64>();
        let mut matrix: Vec<Vec<f64>> = design.iter().map(|a| design.iter().map(|b| product(a, b)).collect()).collect();
        ridges.iter().enumerate().for_each(|(place, ridge)| matrix[place][place] += ridge);
        solve(matrix, products)
    }

    /// Score, model variance and robust variance of a column given others; `newton` are the columns of the Newton step.
    fn sums(&self, column: u32, others: &[u32], newton: &[u32]) -> [f64; 3] {
        let rows = 0..self.rows();
        let x = &self.columns[column as usize];
        let (design, ridges) = self.design(others);
        let with_x = design.iter().map(|z| rows.clone().map(|row| self.weight(row) * z[row] * x[row]).sum()).collect();
        let coefficients = self.regression(&design, &ridges, with_x);
        let residual = |row: usize| x[row] - design.iter().zip(&coefficients).map(|(z, c)| c * z[row]).sum::<f64>();
        let x_tilde: Vec<f64> = rows.clone().map(residual).collect();

        let (design, ridges) = self.design(newton);
        let slopes = |z: &Vec<f64>| rows.clone().map(|row| self.importance(row) * z[row] * self.residual(row)).sum();
        let step = self.regression(&design, &ridges, design.iter().map(slopes).collect());
        let shift = |row: usize| design.iter().zip(&step).map(|(z, step)| step * z[row]).sum::<f64>();
        let weight = |row: usize| self.test.link.weight(self.fold.margins[row]);
        let r: Vec<f64> = rows.clone().map(|row| self.residual(row) - weight(row) * shift(row)).collect();

        let sum = |power: i32| rows.clone().map(|row| self.importance(row).powi(power)).sum::<f64>();
        let count = sum(1) * sum(1) / sum(2);
        let freedom = (count - newton.len() as f64 - 1.0).max(MIN_FREEDOM * count);
        let dispersion = rows.clone().map(|row| self.importance(row) * r[row] * r[row]).sum::<f64>()
            / rows.clone().map(|row| self.weight(row)).sum::<f64>()
            * count
            / freedom;
        let dispersion = if self.test.link == Link::Logistic { dispersion.max(1.0) } else { dispersion };
        let score = rows.clone().map(|row| self.importance(row) * x_tilde[row] * self.without(column, row)).sum();
        let model: f64 =
            rows.clone().map(|row| self.importance(row).powi(2) * weight(row) * x_tilde[row].powi(2)).sum();
        let robust: f64 = rows.map(|row| (self.importance(row) * x_tilde[row] * r[row]).powi(2)).sum();
        [score, dispersion * model, count / freedom * robust]
    }

    /// y − μ of the margin without the column's own part around its mean; to first order where a rare column is absent.
    fn without(&self, column: u32, row: usize) -> f64 {
        let (stats, own) = (self.test.columns[column as usize], self.fold.own[column as usize]);
        let value = self.columns[column as usize][row];
        if stats.share < RARE && value == 0.0 {
            return self.residual(row) - self.test.link.weight(self.fold.margins[row]) * own * stats.mean;
        }
        let margin = self.fold.margins[row] - own * (value - stats.mean);
        self.fold.rows.example(row).target - self.test.link.mean(margin)
    }
}
