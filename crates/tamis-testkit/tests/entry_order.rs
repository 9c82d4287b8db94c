//! The order of the features at small sizes: the fast elastic-net path against the literal one.

use tamis::rng::{RngStream, generator, uniform_below};
use tamis::stabilized::Correlations;
use tamis_testkit::naive::entry_order::{entries, standardised};

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

fn correlations(rows: &[Vec<f64>], targets: &[f64]) -> Correlations {
    let column = |j: usize| standardised(rows.iter().map(|row| row[j]).collect());
    let columns: Vec<Vec<f64>> = (0..COLUMNS).map(column).collect();
    let target = standardised(targets.to_vec());
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / rows.len() as f64;
    Correlations {
        columns: columns.iter().flat_map(|a| columns.iter().map(move |b| product(a, b))).collect(),
        target: columns.iter().map(|column| product(column, &target)).collect(),
    }
}

#[test]
fn the_fast_version_equals_the_literal_one() {
    for seed in 0..6 {
        let (rows, targets) = rows(60 + 10 * seed as usize, seed);
        let fast = correlations(&rows, &targets).entries();
        let slow = entries(&rows, &targets, 150);
        assert!(fast.iter().filter(|entry| entry.0 > 0.0).count() >= 6, "several columns enter");
        assert_eq!(fast[COLUMNS - 1], (0.0, 0.0), "a constant column never enters");
        for (column, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            assert!((fast.0 - slow.0).abs() < 1e-9, "seed {seed}, column {column}: λ {} and {}", fast.0, slow.0);
            assert!((fast.1 - slow.1).abs() < 1e-9, "seed {seed}, column {column}: β {} and {}", fast.1, slow.1);
        }
    }
}
