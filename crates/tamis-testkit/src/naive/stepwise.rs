//! Stepwise regression (backward elimination and forward selection), literally: at each step, a ridge regression on the rows without each of the
//! columns left, or with each of the others.

use super::entry_order::standardised;
use super::linear_system::solve;

/// ρ, as the head of `stabilized/backward_elimination.rs` states it.
const RIDGE: f64 = 0.1;

/// The least penalised mean squared loss over all targets on some of the columns.
fn loss_on<'a>(rows: &[Vec<f64>], targets: &'a [Vec<f64>]) -> impl Fn(&[usize]) -> f64 + 'a {
    let columns: Vec<Vec<f64>> =
        (0..rows[0].len()).map(|j| standardised(rows.iter().map(|row| row[j]).collect())).collect();
    let targets: Vec<Vec<f64>> = targets.iter().cloned().map(standardised).collect();
    move |some| targets.iter().map(|target| least_loss(&columns, some, target)).sum::<f64>()
}

/// All columns but one as they are selected, each with the fall of the loss.
pub fn selections(rows: &[Vec<f64>], targets: &[Vec<f64>]) -> Vec<(usize, f64)> {
    let loss = loss_on(rows, targets);
    let mut selected: Vec<(usize, f64)> = Vec::new();
    while selected.len() + 1 < rows[0].len() {
        let before: Vec<usize> = selected.iter().map(|&(column, _)| column).collect();
        let with = |column: usize| (column, loss(&before) - loss(&[&before[..], &[column]].concat()));
        let falls = (0..rows[0].len()).filter(|column| !before.contains(column)).map(with);
        selected.push(falls.max_by(|a, b| a.1.total_cmp(&b.1)).expect("columns are left"));
    }
    selected
}

/// The columns as they are eliminated, each with the rise of the loss.
pub fn eliminations(rows: &[Vec<f64>], targets: &[Vec<f64>]) -> Vec<(usize, f64)> {
    let loss = loss_on(rows, targets);
    let mut left: Vec<usize> = (0..rows[0].len()).collect();
    let mut eliminated = Vec::new();
    while !left.is_empty() {
        let before = loss(&left);
        let without = |&column: &usize| {
            let others: Vec<usize> = left.iter().copied().filter(|&other| other != column).collect();
            (column, loss(&others) - before)
        };
        let rises: Vec<(usize, f64)> = left.iter().map(without).collect();
        let least = rises.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("columns are left");
        left.retain(|&column| column != least.0);
        eliminated.push(least);
    }
    eliminated
}

/// The least value of mean (y − Σ β_j·x_j)² + ρ·Σ β_j², by Gaussian elimination.
fn least_loss(columns: &[Vec<f64>], left: &[usize], target: &[f64]) -> f64 {
    let n = target.len() as f64;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n;
    let entry = |a: usize, b: usize| product(&columns[a], &columns[b]) + if a == b { RIDGE } else { 0.0 };
    let matrix = left.iter().map(|&a| left.iter().map(|&b| entry(a, b)).collect()).collect();
    let beta = solve(matrix, left.iter().map(|&a| product(&columns[a], target)).collect());
    let residual = (0..target.len())
        .map(|row| target[row] - left.iter().zip(&beta).map(|(&j, beta)| beta * columns[j][row]).sum::<f64>());
    residual.map(|r| r * r).sum::<f64>() / n + RIDGE * beta.iter().map(|beta| beta * beta).sum::<f64>()
}
