//! The score tests of features: the fast version against the literal one, their laws, and what a leak would do.

use tamis::data::{Batch, Example, Row};
use tamis::rng::{RngStream, generator, splitmix64, uniform_below};
use tamis::stabilized::feature_tests::{ColumnStats, Link, ScoreTest, TestFold};
use tamis_testkit::naive::score_test;

const COLUMNS: usize = 24;

/// A number around zero that depends on its arguments alone.
fn noise(seed: u64, a: u64, b: u64) -> f64 {
    let bits = |shift: u64| (splitmix64(splitmix64(seed ^ (a << 32) ^ b) ^ shift) >> 11) as f64 / (1u64 << 53) as f64;
    (0..12).map(bits).sum::<f64>() - 6.0
}

/// Rows in four folds. Columns: every fourth is dense, the next has a third of the rows, the others are rare.
fn folds(link: Link, rows: usize, seed: u64, weighted: bool) -> (Vec<TestFold>, Vec<ColumnStats>) {
    let mut folds: Vec<TestFold> = vec![TestFold::default(); 4];
    for (number, fold) in folds.iter_mut().enumerate() {
        fold.given = (0..COLUMNS as u32).filter(|column| (column + number as u32).is_multiple_of(3)).collect();
        fold.own = (0..COLUMNS).map(|column| if column % 5 == 0 { 0.7 - 0.1 * column as f64 } else { 0.0 }).collect();
    }
    let mut random = generator(seed, RngStream::ShardRows, 1);
    for row in 0..rows as u64 {
        let share = |column: usize| match column % 4 {
            0 => 100,
            1 => 33,
            _ => 4,
        };
        let ids: Vec<u32> = (0..COLUMNS)
            .filter(|&column| uniform_below(&mut random, 100) < share(column))
            .map(|column| column as u32)
            .collect();
        let values: Vec<f64> = ids.iter().map(|&id| 0.5 + noise(seed, row, id.into())).collect();
        let fold = &mut folds[(row % 4) as usize];
        let margin: f64 = ids.iter().zip(&values).map(|(&id, value)| fold.own[id as usize] * value).sum();
        let target = match link {
            Link::Identity => margin + noise(seed, row, 1000),
            Link::Logistic => f64::from(u8::from(noise(seed, row, 1000) < margin)),
        };
        let weight = if weighted { 0.5 + (row % 3) as f64 } else { 2.0 };
        fold.rows.push(Example { row: Row { ids: &ids, values: &values }, target, weight });
        fold.margins.push(margin);
    }
    let stats = stats(&folds);
    (folds, stats)
}

fn stats(folds: &[TestFold]) -> Vec<ColumnStats> {
    let mut sums = vec![[0.0; 3]; COLUMNS];
    let (mut total, mut rows) = (0.0, 0.0);
    for example in folds.iter().flat_map(|fold| fold.rows.examples()) {
        (total, rows) = (total + example.weight, rows + 1.0);
        for (column, value) in example.row.iter() {
            let sum = &mut sums[column as usize];
            *sum = [sum[0] + example.weight * value, sum[1] + example.weight * value * value, sum[2] + 1.0];
        }
    }
    let one = |[sum, square, count]: [f64; 3]| ColumnStats {
        mean: sum / total,
        variance: square / total - (sum / total).powi(2),
        share: count / rows,
    };
    sums.into_iter().map(one).collect()
}

fn close(ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (number, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "column {number}: {a}, not {b}");
    }
}

#[test]
fn the_fast_version_equals_the_literal_one() {
    for link in [Link::Identity, Link::Logistic] {
        for weighted in [false, true] {
            let (folds, columns) = folds(link, 600, 7, weighted);
            let test = ScoreTest { link, folds: &folds, columns: &columns };
            let tested: Vec<u32> = (0..COLUMNS as u32).collect();
            close(&test.given_ensembles(&tested), &score_test::given_ensembles(&test, &tested), 1e-9);
            let order: Vec<u32> = vec![5, 0, 17, 2, 9, 14];
            close(&test.in_sequence(&order), &score_test::in_sequence(&test, &order), 1e-9);
        }
    }
}

#[test]
fn z_scores_do_not_depend_on_the_unit_of_a_column() {
    let (mut folds, columns) = folds(Link::Logistic, 400, 3, false);
    let tested: Vec<u32> = (0..COLUMNS as u32).collect();
    let before = ScoreTest { link: Link::Logistic, folds: &folds, columns: &columns }.given_ensembles(&tested);
    for fold in &mut folds {
        let mut rows = Batch::new();
        fold.rows.examples().for_each(|example| {
            rows.push_mapped(example, |column, value| if column == 4 { 1000.0 * value } else { value });
        });
        fold.rows = rows;
        fold.own[4] /= 1000.0;
    }
    let columns = stats(&folds);
    close(
        &ScoreTest { link: Link::Logistic, folds: &folds, columns: &columns }.given_ensembles(&tested),
        &before,
        1e-7,
    );
}

#[test]
fn a_column_that_is_in_no_row_of_a_fold_adds_nothing() {
    let (mut folds, _) = folds(Link::Identity, 400, 5, false);
    let mut rows = Batch::new();
    for example in folds[2].rows.examples() {
        let kept: Vec<(u32, f64)> = example.row.iter().filter(|&(column, _)| column != 6).collect();
        let (ids, values): (Vec<u32>, Vec<f64>) = kept.into_iter().unzip();
        rows.push(Example { row: Row { ids: &ids, values: &values }, ..example });
    }
    folds[2].rows = rows;
    let columns = stats(&folds);
    let all = ScoreTest { link: Link::Identity, folds: &folds, columns: &columns }.given_ensembles(&[6])[0];
    let without: Vec<TestFold> = [0, 1, 3].map(|fold| folds[fold].clone()).into();
    let rest = ScoreTest { link: Link::Identity, folds: &without, columns: &columns }.given_ensembles(&[6])[0];
    assert!((all - rest).abs() < 1e-9, "{all} {rest}");
}

/// On pure noise, |z| > 2.58 in one of a hundred cases. If an ensemble has seen its fold, its features and margins fit
/// the noise of this fold, and z-scores are too large: the tests of false discoveries would notice.
#[test]
fn a_leak_of_the_held_out_rows_inflates_z_scores() {
    let exceeding = |leak: bool| {
        let mut beyond = 0;
        for seed in 0..40 {
            let (mut folds, columns) = folds(Link::Identity, 400, seed, false);
            for (number, fold) in folds.iter_mut().enumerate() {
                let targets: Vec<f64> =
                    (0..fold.rows.len()).map(|row| noise(seed, row as u64, 2000 + number as u64)).collect();
                fold.own = vec![0.0; COLUMNS];
                fold.margins = vec![0.0; fold.rows.len()];
                if leak {
                    // Margins that follow the targets of the fold itself, in part by the tested columns.
                    let count = fold.rows.len() as f64;
                    for (example, target) in fold.rows.examples().zip(&targets) {
                        let values = example.row.iter();
                        values.for_each(|(column, value)| fold.own[column as usize] += value * target / count);
                    }
                    for (row, target) in targets.iter().enumerate() {
                        let values = fold.rows.row(row).iter();
                        let linear: f64 = values.map(|(column, value)| fold.own[column as usize] * value).sum();
                        fold.margins[row] = linear + 0.9 * (target - linear);
                    }
                }
                fold.rows = std::mem::take(&mut fold.rows).with_targets(targets);
            }
            let tested: Vec<u32> = (0..COLUMNS as u32).collect();
            let z = ScoreTest { link: Link::Identity, folds: &folds, columns: &columns }.given_ensembles(&tested);
            beyond += z.iter().filter(|z| z.abs() > 2.58).count();
        }
        beyond
    };
    let (honest, leaked) = (exceeding(false), exceeding(true));
    assert!(honest <= 20, "about 10 of 960: {honest}");
    assert!(leaked > 5 * honest.max(5), "{leaked} with a leak, {honest} without");
}
