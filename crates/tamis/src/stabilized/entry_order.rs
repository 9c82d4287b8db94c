//! When columns enter an elastic-net path.
//!
//! Source: Zou & Hastie, *Regularization and variable selection via the elastic net* (JRSS B 67, 2005). `elastic_net.rs` solves
//! it for one λ after the other.
//! ```text
//! S: correlations of the columns, s: their correlations with the target (±1 for classes)
//! for λ = λ_max·q, λ_max·q², …, until enough features have entered:
//!     β = argmin ½·βᵀ(S + ρI)β − sᵀβ + λ·‖β‖₁
//! ```
//! A feature enters at the first λ with β_j ≠ 0; of those that enter together, the one with the larger |β_j| is first.
//! With several targets, the largest λ counts: it is a correlation, and so comparable. A column that equals an earlier one up
//! to sign and scale does not enter: it says nothing that the other does not.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | ρ | [`RIDGE`] | 0.3 | 0.001, 0.03, 0.1, 0.3: the most stable at equal error; among correlated columns, more neighbours of true ones |
//! | q | [`FACTOR`] | 0.97 | few features enter together |
//!
//! Departures: the squared loss for classes, too; its order is as stable as that of the logistic loss, and it needs the
//! correlations only.
//!
//! Cost: for each λ, the features that have entered times the columns.

use super::elastic_net::ElasticNet;
use super::regression_moments::RegressionMoments;

/// Features that enter, at most.
pub(super) const MOST_ENTERED: usize = 128;
/// ρ.
const RIDGE: f64 = 0.3;
/// q.
const FACTOR: f64 = 0.97;
/// Values of λ, at most: the last one is a hundredth of the first, or less if all columns may enter.
const MOST_LAMBDAS: [usize; 2] = [151, 301];
/// Columns of at least this correlation, of either sign, are copies.
const SAME: f64 = 1.0 - 1e-9;

/// When a column enters: λ and |β| there; zeros if it does not enter.
pub type Entry = (f64, f64);

/// When each column enters the path of the target that it enters first.
pub fn entries(moments: &RegressionMoments) -> Vec<Entry> {
    let mut first = vec![(0.0, 0.0); moments.size()];
    let originals = originals(moments);
    let own = moments.restricted_to(&originals);
    for target in &own.targets {
        for (&column, entry) in originals.iter().zip(path(&own.columns, target)) {
            let first = &mut first[column];
            if entry > *first {
                *first = entry;
            }
        }
    }
    first
}

/// The columns that are not equal to an earlier one up to sign and scale.
pub(super) fn originals(moments: &RegressionMoments) -> Vec<usize> {
    let size = moments.size();
    let mut originals: Vec<usize> = Vec::new();
    for column in 0..size {
        let is_copy = |&other: &usize| moments.columns[column * size + other].abs() >= SAME;
        if !originals.iter().any(is_copy) {
            originals.push(column);
        }
    }
    originals
}

/// The columns that enter, by position.
pub(super) fn entry_order(moments: &RegressionMoments) -> Vec<usize> {
    let entries = entries(moments);
    let mut order: Vec<usize> = (0..entries.len()).filter(|&column| entries[column].0 > 0.0).collect();
    // Equal columns have the same |β| but for rounding: the first one goes first.
    let descending = |a: Entry, b: Entry| b.0.total_cmp(&a.0).then((b.1 as f32).total_cmp(&(a.1 as f32)));
    order.sort_by(|&a, &b| descending(entries[a], entries[b]).then(a.cmp(&b)));
    order
}

/// When each column enters the path of one target.
fn path(columns: &[f64], target: &[f64]) -> Vec<Entry> {
    let mut entries = vec![(0.0, 0.0); target.len()];
    let largest = target.iter().fold(0.0_f64, |most, s| most.max(s.abs()));
    if largest <= f64::MIN_POSITIVE || !largest.is_finite() {
        return entries;
    }
    let mut net = ElasticNet::new(columns, target, RIDGE);
    let mut level = 1.0;
    for _ in 1..MOST_LAMBDAS[usize::from(target.len() <= MOST_ENTERED)] {
        level *= FACTOR;
        for (column, beta) in net.solve(largest * level) {
            if entries[column].0 == 0.0 {
                entries[column] = (largest * level, beta.abs());
            }
        }
        if entries.iter().filter(|entry| entry.0 > 0.0).count() >= MOST_ENTERED {
            break;
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(columns: Vec<f64>, target: Vec<f64>) -> RegressionMoments {
        RegressionMoments { columns, targets: vec![target], target_squares: vec![1.0] }
    }

    #[test]
    fn independent_columns_enter_by_their_correlation() {
        let identity: Vec<f64> = (0..9).map(|cell| f64::from(u8::from(cell % 4 == 0))).collect();
        let moments = |target| moments(identity.clone(), target);
        let entries = entries(&moments(vec![0.2, -0.6, 0.0]));
        assert!(entries[1].0 > entries[0].0, "{entries:?}");
        assert_eq!(entries[1].0, 0.6 * FACTOR, "the first enters at once");
        assert!((entries[0].0 - 0.2).abs() < 0.03 * 0.2, "λ is the correlation: {entries:?}");
        assert_eq!(entries[2], (0.0, 0.0), "a column without correlation does not enter");
        assert_eq!(super::entries(&moments(vec![0.0; 3])), [(0.0, 0.0); 3]);
        assert_eq!(entry_order(&moments(vec![0.2, -0.6, 0.0])), [1, 0]);
    }

    #[test]
    fn a_copy_does_not_enter_and_a_stand_in_waits() {
        // Column 1 is column 0 with the other sign; column 2 correlates with the target through column 0 alone.
        let columns = vec![1.0, -1.0, 0.8, -1.0, 1.0, -0.8, 0.8, -0.8, 1.0];
        let entries = entries(&moments(columns, vec![0.5, -0.5, 0.4]));
        assert!(entries[0].0 > 0.0 && entries[1] == (0.0, 0.0), "{entries:?}");
        assert!(entries[2].0 < entries[0].0, "{entries:?}");
    }
}
