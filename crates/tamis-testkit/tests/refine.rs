//! Refinement compared with its literal version, and its effect on a model.

mod files;

use files::{Folder, fitted, options};
use tamis::data::{Batch, Example};
use tamis::loss::{Loss, LossKind};
use tamis::recipe::{Method, Recipe};
use tamis::refine::Refinement;
use tamis_testkit::generators::{HUBER, Shape, stream};
use tamis_testkit::naive::refine::{minimum, objective};

const FEATURES: usize = 12;

/// Rows with importance weights, and margins of a weak model.
fn batch(kind: LossKind, seed: u64) -> Batch {
    let shape = Shape { rows: 80, features: FEATURES, longest: 6, seed };
    let mut batch = Batch::new();
    for (number, example) in stream(shape, kind).examples().enumerate() {
        batch.push(Example { weight: 0.5 + (number % 3) as f64, ..example });
    }
    batch
}

fn problem(rows: &Batch, kind: LossKind, tolerance: f64) -> Refinement<'_> {
    let code = |example: Example<'_>| if kind.needs_classes() { example.target.signum() } else { example.target };
    let margin = |example: Example<'_>| 0.3 * example.row.values.iter().sum::<f64>() - 0.1;
    Refinement {
        rows,
        targets: rows.examples().map(code).collect(),
        margins: rows.examples().map(margin).collect(),
        is_free: (0..=FEATURES).map(|position| position % 5 != 3).collect(),
        loss: kind.build(HUBER),
        tolerance,
    }
}

#[test]
fn the_minimum_is_that_of_the_literal_version() {
    for kind in [LossKind::Logistic, LossKind::Squared, LossKind::Huber] {
        for seed in 1..=6 {
            let rows = batch(kind, seed);
            let exact = problem(&rows, kind, 0.0);
            let mut start = exact.unchanged();
            for ridge in [100.0, 1.0, 0.1] {
                // Each call makes only a few steps; the next one continues from there.
                let found = (0..4).fold(start.clone(), |near, _| exact.solve(ridge, &near));
                let expected = minimum(&exact, ridge);
                for (position, (one, other)) in found.iter().zip(&expected).enumerate() {
                    assert!((one - other).abs() < 1e-9, "{kind:?} {seed} λ = {ridge}, {position}: {one} {other}");
                }
                assert!(found.iter().zip(&exact.is_free).all(|(change, is_free)| *is_free || *change == 0.0));
                start = found;
            }
        }
    }
}

#[test]
fn stopping_early_costs_less_than_a_fifth_of_a_row() {
    for kind in [LossKind::Logistic, LossKind::Squared, LossKind::Huber] {
        for seed in 1..=6 {
            let rows = batch(kind, seed);
            let early = problem(&rows, kind, Refinement::TOLERANCE);
            let found = objective(&early, 1.0, &early.solve(1.0, &early.unchanged()));
            let least = objective(&early, 1.0, &minimum(&early, 1.0));
            let row =
                early.margins.iter().zip(&early.targets).map(|(&margin, &target)| early.loss.value(margin, target));
            let row = row.sum::<f64>() / rows.len() as f64;
            assert!((-1e-9..0.2 * row).contains(&(found - least)), "{kind:?} {seed}: {found} {least}, a row {row}");
        }
    }
}

/// Rows like chess positions: ten binary questions, each with its complement; the weights of the true rule are larger
/// than a few passes with decreasing steps reach.
fn questions(rows: usize) -> String {
    let mut lines = String::new();
    let mut state = 7u64;
    for _ in 0..rows {
        state = tamis::rng::splitmix64(state);
        let answers: Vec<bool> = (0..10).map(|question| state >> question & 1 == 1).collect();
        let score: i32 =
            answers.iter().zip([16, -14, 12, -10, 9, 7, -5, 3, -2, 1]).map(|(&yes, w)| if yes { w } else { 0 }).sum();
        lines += if score > 8 { "1" } else { "-1" };
        for (question, yes) in answers.iter().enumerate() {
            lines += &format!(" {}:1", 2 * question + 1 + usize::from(!yes));
        }
        lines.push('\n');
    }
    lines
}

#[test]
fn many_rows_of_few_features_are_refined() {
    let folder = Folder::new("questions");
    let model = fitted(&Recipe::new(Method::Stabilized), &options(&[folder.write("train.svm", &questions(3000))]));
    let error = model.seen.progressive_error.expect("classes have errors");
    assert!(error < 0.01, "the rows are separable, {error} wrong");
}
