//! Backward elimination: from a ridge regression on all columns, remove the one that is missed least, again and again.
//!
//! Source: any textbook on regression (for example Miller, *Subset Selection in Regression*, 2002, section 3.5); with
//! the inverse of the moments, the rise of the loss without a column is known before it is removed (as in the optimal
//! brain surgeon of Hassibi & Stork, NIPS 1993).
//! ```text
//! H = (S + ρI)⁻¹,  β = H·s  for each target
//! repeat:  j = argmin Σ_targets β_j²/H_jj;   β ← β − H_·j·β_j/H_jj;   H ← H − H_·j·H_j·/H_jj
//! ```
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | ρ | [`RIDGE`] | 0.1 | 0.03, 0.1 and 0.3 find as many true features; 0.1 predicts best with few rows |
//!
//! Departures: the squared loss for classes, too.
//!
//! Cost: the cube of the columns.

use super::regression_moments::RegressionMoments;
use crate::linear_algebra::{axpy, inverse, inverse_factor, times};

/// ρ.
pub(super) const RIDGE: f64 = 0.1;
/// Rises that differ by a smaller share are the same.
const SAME: f64 = 1e-6;

/// Ridge regressions on some columns: H, and the weights of each target.
fn fit(moments: &RegressionMoments) -> (Vec<f64>, Vec<Vec<f64>>) {
    let size = moments.size();
    let mut columns = moments.columns.clone();
    (0..size).for_each(|column| columns[column * size + column] += RIDGE);
    let inverse = inverse(&inverse_factor(columns, size), size);
    let weights = moments.targets.iter().map(|target| times(target, &inverse)).collect();
    (inverse, weights)
}

/// The weights of ridge regressions on some columns, one list a target.
pub(super) fn ridge_weights(moments: &RegressionMoments) -> Vec<Vec<f64>> {
    fit(moments).1
}

/// The columns as they are eliminated, by position, each with the rise of the penalised loss.
pub fn eliminations(moments: &RegressionMoments) -> Vec<(usize, f64)> {
    let size = moments.size();
    let (mut inverse, mut weights) = fit(moments);
    let mut left: Vec<usize> = (0..size).collect();
    let mut eliminated = Vec::with_capacity(size);
    while !left.is_empty() {
        let rise =
            |j: usize| weights.iter().map(|weights| weights[j] * weights[j]).sum::<f64>() / inverse[j * size + j];
        let least = left.iter().map(|&j| rise(j)).fold(f64::INFINITY, f64::min);
        // Of equal columns the last one goes, whatever the rounding of their rises.
        let last = left.iter().rposition(|&j| rise(j) <= (1.0 + SAME) * least).unwrap_or(left.len() - 1);
        let column = left.remove(last);
        eliminated.push((column, rise(column)));
        let removed = inverse[column * size..(column + 1) * size].to_vec();
        let pivot = removed[column];
        for weights in &mut weights {
            axpy(-weights[column] / pivot, &removed, weights);
        }
        for &row in &left {
            axpy(-removed[row] / pivot, &removed, &mut inverse[row * size..(row + 1) * size]);
        }
    }
    eliminated
}

/// All columns, by position: those that are missed most first.
pub(super) fn elimination_order(moments: &RegressionMoments) -> Vec<usize> {
    eliminations(moments).into_iter().rev().map(|(column, _)| column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_of_true_columns_goes_first() {
        // The target is the sum of columns 0 and 1; column 2 is their mean with noise, and the most correlated one.
        let columns = vec![1.0, 0.0, 0.65, 0.0, 1.0, 0.65, 0.65, 0.65, 1.0];
        let half = 0.5_f64.sqrt();
        let targets = vec![vec![half, half, 2.0 * 0.65 * half]];
        assert!(targets[0][2] > targets[0][0]);
        let moments = RegressionMoments { columns, targets, target_squares: vec![1.0] };
        assert_eq!(elimination_order(&moments)[2], 2);
        let weights = ridge_weights(&moments.restricted_to(&[0, 1]));
        assert!((weights[0][0] - half / 1.1).abs() < 1e-12);
        // The ridge leaves 1/11 of the target unexplained.
        assert!((moments.restricted_to(&[0, 1]).loss(&weights) - 1.0 / 121.0).abs() < 1e-12);
    }

    #[test]
    fn a_constant_column_goes_before_all_others_and_of_equal_columns_the_later() {
        let columns = vec![1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let moments = RegressionMoments { columns, targets: vec![vec![0.5, 0.5, 0.0]], target_squares: vec![1.0] };
        assert_eq!(elimination_order(&moments), [0, 1, 2]);
    }
}
