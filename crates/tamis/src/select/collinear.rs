//! Columns that others determine.
//!
//! The columns are taken in the order of their evidence. One that the representatives before it determine (R² above 0.9,
//! adjusted for their number) joins the groups of all representatives that have a part in it; any other one becomes a
//! representative. So equal columns, a column and its complement, all values of a one-hot code and sums of other columns
//! lose the freedom that they do not have. An effect of the value that is left out of a one-hot code is the opposite
//! effect of all other values: so it is named with each of them. With few rows for many columns, only the strongest
//! representatives count as regressors, and pairs.

use crate::linear_algebra::axpy;

/// A column with a smaller share of its variance left is determined by the representatives.
const LEFT: f64 = 0.1;
/// A representative with a smaller coefficient, in standard deviations, has no part in a column.
const LEAST_PART: f64 = 0.05;
/// Representatives that count as regressors: one for each eight rows, and at most 512.
const ROWS_PER_REPRESENTATIVE: usize = 8;
const MOST_REGRESSORS: usize = 512;

/// Numbers of representatives, with standardised coefficients.
pub type Parts = Vec<(usize, f64)>;

/// The representatives, and for each other column the numbers of those that determine it, with standardised coefficients:
/// Cholesky's algorithm on the correlations, in order.
pub fn representatives(mut matrix: Vec<f64>, size: usize, rows: usize) -> (Vec<usize>, Vec<Parts>) {
    let most = (rows / ROWS_PER_REPRESENTATIVE).clamp(1, MOST_REGRESSORS);
    let (mut representatives, mut represented_by) = (Vec::new(), vec![Vec::new(); size]);
    // The largest |correlation| of each column with a representative, and which one.
    let mut nearest: Vec<(usize, f64)> = vec![(0, 0.0); size];
    // The columns of the regressors, with their numbers among the representatives.
    let mut regressors: Vec<(usize, usize)> = Vec::new();
    let correlations = matrix.clone();
    for k in 0..size {
        // Chance alone explains about a share regressors/rows of the variance.
        let left = matrix[k * size + k] * rows as f64 / (rows - regressors.len()) as f64;
        let is_pair = nearest[k].1 * nearest[k].1 > 1.0 - LEFT;
        if !representatives.is_empty() && (left < LEFT || is_pair) {
            // Chance gives coefficients of about √(left/rows) to those that have no part.
            let least = LEAST_PART.max(4.0 * (left.max(0.0) / rows as f64).sqrt());
            represented_by[k] = if left < LEFT { parts(&matrix, size, &regressors, (k, least)) } else { Vec::new() };
            if represented_by[k].is_empty() {
                represented_by[k].push(nearest[k]);
            }
            continue;
        }
        for (column, nearest) in nearest.iter_mut().enumerate().skip(k + 1) {
            let correlation = correlations[k * size + column];
            if correlation.abs() > nearest.1.abs() {
                *nearest = (representatives.len(), correlation);
            }
        }
        if regressors.len() < most && matrix[k * size + k] > 1e-9 {
            regressors.push((k, representatives.len()));
            sweep(&mut matrix, size, k);
        }
        representatives.push(k);
    }
    (representatives, represented_by)
}

/// The parts of column k with at least a coefficient: its regression, by back substitution in the factor.
fn parts(factor: &[f64], size: usize, regressors: &[(usize, usize)], (k, least): (usize, f64)) -> Parts {
    let mut coefficients = vec![0.0; regressors.len()];
    for (place, &(row, _)) in regressors.iter().enumerate().rev() {
        let later = regressors[place + 1..].iter().zip(&coefficients[place + 1..]);
        let known: f64 = later.map(|(&(column, _), coefficient)| factor[row * size + column] * coefficient).sum();
        coefficients[place] = (factor[row * size + k] - known) / factor[row * size + row];
    }
    let parts = regressors.iter().zip(coefficients).map(|(&(_, number), coefficient)| (number, coefficient));
    parts.filter(|(_, coefficient)| coefficient.abs() >= least).collect()
}

/// Takes column k out of all later columns.
fn sweep(matrix: &mut [f64], size: usize, k: usize) {
    let (above, below) = matrix.split_at_mut((k + 1) * size);
    let row = &above[k * size + k..];
    for (step, &number) in row[1..].iter().enumerate().filter(|(_, number)| **number != 0.0) {
        let start = step * size + k + 1 + step;
        axpy(-number / row[0], &row[step + 1..], &mut below[start..(step + 1) * size]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The correlations of columns of ±1 or other numbers.
    fn represented(columns: &[Vec<f64>]) -> Vec<Vec<usize>> {
        let rows = columns[0].len();
        let standard = |column: &Vec<f64>| {
            let mean = column.iter().sum::<f64>() / rows as f64;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / rows as f64;
            column.iter().map(|x| (x - mean) / variance.sqrt()).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> = columns.iter().map(standard).collect();
        let size = columns.len();
        let mut matrix = vec![0.0; size * size];
        for a in 0..size {
            for b in a..size {
                matrix[a * size + b] =
                    columns[a].iter().zip(&columns[b]).map(|(x, y)| x * y).sum::<f64>() / rows as f64;
            }
        }
        let parts = representatives(matrix, size, rows).1;
        parts.into_iter().map(|parts| parts.into_iter().map(|(number, _)| number).collect()).collect()
    }

    fn wave(step: usize) -> Vec<f64> {
        (0..400).map(|row| f64::from(((row * step) % 401 > 200) as u8)).collect()
    }

    #[test]
    fn complements_and_sums_are_represented_by_what_they_consist_of() {
        let (one, two) = (wave(7), wave(31));
        let complement: Vec<f64> = one.iter().map(|x| 3.0 - x).collect();
        let sum: Vec<f64> = one.iter().zip(&two).map(|(x, y)| x + 3.0 * y).collect();
        let none = Vec::new;
        assert_eq!(represented(&[one.clone(), two.clone(), complement, sum]), [none(), none(), vec![0], vec![0, 1]]);
        assert_eq!(represented(&[one, two, wave(83), wave(151)]), vec![none(); 4]);
    }

    #[test]
    fn a_one_hot_code_has_a_value_less_than_its_levels() {
        let level = |level: usize| (0..400).map(|row| f64::from((row % 3 == level) as u8)).collect::<Vec<f64>>();
        let represented = represented(&[level(0), level(1), wave(31), level(2)]);
        assert_eq!(represented, [vec![], vec![], vec![], vec![0, 1]], "the value left out is named with all others");
    }

    #[test]
    fn more_columns_than_rows_do_not_determine_each_other() {
        let columns: Vec<Vec<f64>> = (0..60)
            .map(|seed| (0..40u64).map(|row| (crate::rng::splitmix64(seed * 1000 + row) % 1000) as f64).collect())
            .collect();
        assert!(represented(&columns).iter().filter(|representatives| !representatives.is_empty()).count() <= 2);
    }
}
