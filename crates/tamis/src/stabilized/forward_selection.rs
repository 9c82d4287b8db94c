//! Forward selection: to a ridge regression on no column, add the one that lowers the loss most, again and again.
//!
//! Source: any textbook on regression (for example Miller, *Subset Selection in Regression*, 2002, section 3.2).
//! ```text
//! V = S + ρI,  r = s  for each target
//! repeat:  j = argmax Σ_targets r_j²/V_jj;   r ← r − (r_j/V_jj)·V_j·;   V ← V − V_·j·V_j·/V_jj
//! ```
//! V and r are the moments of what the selected columns leave unexplained.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | ρ | [`RIDGE`](super::backward_elimination::RIDGE) | 0.1 | as backward elimination |
//!
//! Departures: the squared loss for classes, too. A column that equals an earlier one up to sign and scale is not selected.
//!
//! Cost: the square of the columns for each one that is selected.

use super::backward_elimination::RIDGE;
use super::entry_order::originals;
use super::regression_moments::RegressionMoments;
use crate::linear_algebra::axpy;

/// Falls that differ by a smaller share are the same.
const SAME: f64 = 1e-6;
/// The least share of a column that the selected ones must leave unexplained, with the ridge.
const LEAST: f64 = 1e-9;

/// The first columns to be selected, at most `most`, by position, each with the fall of the penalised loss.
pub fn selections(moments: &RegressionMoments, most: usize) -> Vec<(usize, f64)> {
    let size = moments.size();
    let (mut unexplained, mut targets) = (moments.columns.clone(), moments.targets.clone());
    (0..size).for_each(|column| unexplained[column * size + column] += RIDGE);
    let mut left = originals(moments);
    left.retain(|&column| moments.columns[column * size + column] > 0.0);
    let mut selected = Vec::new();
    while !left.is_empty() && selected.len() < most {
        let fall = |j: usize| {
            let explained: f64 = targets.iter().map(|target| target[j] * target[j]).sum();
            explained / unexplained[j * size + j].max(LEAST)
        };
        let most = left.iter().map(|&j| fall(j)).fold(0.0, f64::max);
        // Of columns that are as good, the first one is selected, whatever the rounding of their falls.
        let first = left.iter().position(|&j| fall(j) >= (1.0 - SAME) * most).unwrap_or(0);
        let column = left.remove(first);
        selected.push((column, fall(column)));
        let row = unexplained[column * size..(column + 1) * size].to_vec();
        let pivot = row[column].max(LEAST);
        targets.iter_mut().for_each(|target| axpy(-target[column] / pivot, &row, target));
        for &other in &left {
            axpy(-row[other] / pivot, &row, &mut unexplained[other * size..(other + 1) * size]);
        }
    }
    selected
}

/// The first columns to be selected, at most `most`, by position.
pub(super) fn selection_order(moments: &RegressionMoments, most: usize) -> Vec<usize> {
    selections(moments, most).into_iter().map(|(column, _)| column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_already_explained_is_not_selected_next() {
        // Column 1 says the same as column 0 but for a little; column 2 is weaker and new; column 3 is constant.
        let columns = vec![1.0, 0.95, 0.0, 0.0, 0.95, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let moments =
            RegressionMoments { columns, targets: vec![vec![0.6, 0.58, 0.2, 0.0]], target_squares: vec![1.0] };
        assert_eq!(selection_order(&moments, 9), [0, 2, 1]);
        assert_eq!(selection_order(&moments, 1), [0]);
        let falls = selections(&moments, 9);
        assert!((falls[0].1 - 0.36 / 1.1).abs() < 1e-15);
        assert!((falls[1].1 - 0.04 / 1.1).abs() < 1e-15);
    }

    #[test]
    fn copies_are_not_selected() {
        let columns = vec![1.0, -1.0, -1.0, 1.0];
        let moments = RegressionMoments { columns, targets: vec![vec![0.5, -0.5]], target_squares: vec![1.0] };
        assert_eq!(selection_order(&moments, 9), [0]);
    }
}
