//! The orders of the features at small sizes: the fast versions against the literal ones.

use tamis::rng::{RngStream, generator, uniform_below};
use tamis::stabilized::{RegressionMoments, eliminations, entries, selections};
use tamis_testkit::naive::entry_order::{self, standardised};
use tamis_testkit::naive::stepwise;

const COLUMNS: usize = 12;

/// Rows whose columns go together in threes; the last column is constant.
fn rows(count: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut random = generator(seed, RngStream::ShardRows, 7);
    let mut noise =
        || (0..6).map(|_| uniform_below(&mut random, 1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 3.0;
    let mut rows = Vec::new();
    let mut targets = Vec::new();
    for _ in 0..count {
        let shared: Vec<f64> = (0..COLUMNS / 3).map(|_| noise()).collect();
        let mut row: Vec<f64> = (0..COLUMNS).map(|column| shared[column / 3] + 0.7 * noise()).collect();
        row[COLUMNS - 1] = 4.0;
        targets.push(2.0 * row[0] - row[4] + 0.3 * row[7] + 2.0 * noise());
        rows.push(row);
    }
    (rows, targets)
}

fn rows_with_two_targets(seed: u64) -> (Vec<Vec<f64>>, [Vec<f64>; 2]) {
    let (rows, targets) = rows(60 + 10 * seed as usize, seed);
    let others = rows.iter().zip(&targets).map(|(row, target)| row[2] - 0.5 * target).collect();
    (rows, [targets, others])
}

/// Step by step, the same columns with the same changes of the loss.
fn assert_same_steps(fast: &[(usize, f64)], slow: &[(usize, f64)], seed: u64) {
    for (step, (fast, slow)) in fast.iter().zip(slow).enumerate() {
        assert_eq!(fast.0, slow.0, "seed {seed}, step {step}");
        assert!((fast.1 - slow.1).abs() < 1e-9, "seed {seed}, step {step}: {} and {}", fast.1, slow.1);
    }
}

fn moments(rows: &[Vec<f64>], targets: &[Vec<f64>]) -> RegressionMoments {
    let column = |j: usize| standardised(rows.iter().map(|row| row[j]).collect());
    let columns: Vec<Vec<f64>> = (0..COLUMNS).map(column).collect();
    let targets: Vec<Vec<f64>> = targets.iter().cloned().map(standardised).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / rows.len() as f64;
    RegressionMoments {
        columns: columns.iter().flat_map(|a| columns.iter().map(move |b| product(a, b))).collect(),
        targets: targets.iter().map(|y| columns.iter().map(|column| product(column, y)).collect()).collect(),
        target_squares: vec![1.0; targets.len()],
    }
}

#[test]
fn the_entry_into_the_path_equals_the_literal_one() {
    for seed in 0..6 {
        let (rows, targets) = rows(60 + 10 * seed as usize, seed);
        let fast = entries(&moments(&rows, std::slice::from_ref(&targets)));
        let slow = entry_order::entries(&rows, &targets, 300);
        assert!(fast.iter().filter(|entry| entry.0 > 0.0).count() >= 6, "several columns enter");
        assert_eq!(fast[COLUMNS - 1], (0.0, 0.0), "a constant column never enters");
        for (column, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            assert!((fast.0 - slow.0).abs() < 1e-9, "seed {seed}, column {column}: λ {} and {}", fast.0, slow.0);
            assert!((fast.1 - slow.1).abs() < 1e-9, "seed {seed}, column {column}: β {} and {}", fast.1, slow.1);
        }
    }
}

#[test]
fn backward_elimination_equals_the_literal_one() {
    for seed in 0..6 {
        let (rows, targets) = rows_with_two_targets(seed);
        let fast = eliminations(&moments(&rows, &targets));
        let slow = stepwise::eliminations(&rows, &targets);
        assert_eq!(fast.len(), COLUMNS);
        assert_same_steps(&fast, &slow, seed);
    }
}

#[test]
fn forward_selection_equals_the_literal_one() {
    for seed in 0..6 {
        let (rows, targets) = rows_with_two_targets(seed);
        let fast = selections(&moments(&rows, &targets), COLUMNS);
        let slow = stepwise::selections(&rows, &targets);
        assert_eq!(fast.len(), COLUMNS - 1, "the constant column is not selected");
        assert_same_steps(&fast, &slow, seed);
    }
}

#[test]
fn copies_of_columns_do_not_enter() {
    let (rows, targets) = rows(80, 1);
    let before = entries(&moments(&rows, std::slice::from_ref(&targets)));
    // The last column becomes a copy of the first one with another sign and scale.
    let with_copy: Vec<Vec<f64>> =
        rows.iter().map(|row| row[..COLUMNS - 1].iter().copied().chain([3.0 - 2.0 * row[0]]).collect()).collect();
    assert_eq!(entries(&moments(&with_copy, &[targets])), before, "the first column stands for both");
}
