//! When columns enter an elastic-net path, literally: for each λ, coordinate descent on the rows, from zero.

/// ρ and q, as the head of `stabilized/entry_order.rs` states them.
const RIDGE: f64 = 0.3;
const FACTOR: f64 = 0.97;

/// λ and |β| when each column first has a coefficient, for the first `steps` values of λ; zeros if it never has.
pub fn entries(rows: &[Vec<f64>], targets: &[f64], steps: usize) -> Vec<(f64, f64)> {
    let columns: Vec<Vec<f64>> =
        (0..rows[0].len()).map(|j| standardised(rows.iter().map(|row| row[j]).collect())).collect();
    let target = standardised(targets.to_vec());
    let n = rows.len() as f64;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n;
    let largest = columns.iter().map(|column| product(column, &target).abs()).fold(0.0, f64::max);
    let mut entries = vec![(0.0, 0.0); columns.len()];
    for step in 1..=steps {
        let level = FACTOR.powi(step as i32);
        let mut beta = vec![0.0; columns.len()];
        let mut residual = target.clone();
        for _ in 0..3000 {
            for (beta, column) in beta.iter_mut().zip(&columns) {
                let pull = product(column, &residual) + *beta * product(column, column);
                let new = pull.signum() * (pull.abs() - largest * level).max(0.0) / (1.0 + RIDGE);
                residual.iter_mut().zip(column).for_each(|(r, x)| *r -= (new - *beta) * x);
                *beta = new;
            }
        }
        for (entry, beta) in entries.iter_mut().zip(&beta) {
            if entry.0 == 0.0 && *beta != 0.0 {
                *entry = (largest * level, beta.abs());
            }
        }
    }
    entries
}

/// With mean 0 and variance 1; a constant column stays zero.
pub fn standardised(mut column: Vec<f64>) -> Vec<f64> {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    column.iter_mut().for_each(|x| *x -= mean);
    let deviation = (column.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
    column.iter_mut().for_each(|x| *x = if deviation > 0.0 { *x / deviation } else { 0.0 });
    column
}
