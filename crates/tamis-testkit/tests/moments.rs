//! Moments compared with plain loops over the rows: covariances, models, cross-validation.

use proptest::prelude::*;
use tamis::moments::{Accumulator, Column, Comoments, Moments};
use tamis::recipe::table::Value as _;
use tamis::recipe::{Criterion, Sign, Signs, SolveRecipe, Solver};
use tamis::rng::splitmix64;
use tamis::solve::penalty::{AnyPenalty, Penalty};
use tamis::solve::{SolveError, SolveOptions, Solved, solve};
use tamis_testkit::naive::moments::Table;

/// `rows` rows of `columns` correlated features around `level`, three of which have a non-zero weight.
fn table(rows: usize, columns: usize, level: f64, seed: u64) -> Table {
    let mut table = Table::default();
    for row in 0..rows as u64 {
        let x = |salt: u64| splitmix64(splitmix64(seed) ^ (row * 1000 + salt)) as f64 / u64::MAX as f64 - 0.5;
        let cells: Vec<f64> = (0..columns as u64).map(|j| level + x(j) + 0.5 * x(900)).collect();
        table.targets.push(3.0 * cells[0] - 2.0 * cells[2] + cells[4] + 0.4 * x(901) - 2.0 * level);
        table.rows.push(cells);
        table.weights.push(1.0);
    }
    table
}

/// The moments of a table; row i goes to fold i mod `folds`.
fn moments(table: &Table, folds: usize) -> Moments {
    let columns = table.rows.first().map_or(0, Vec::len) + 1;
    let mut gatherers = vec![Accumulator::new(0.0); folds];
    for row in 0..table.rows.len() {
        let cells = std::iter::once(table.targets[row]).chain(table.rows[row].iter().copied());
        let entries = (0..).zip(cells).filter(|entry| entry.1 != 0.0);
        gatherers[row % folds].push(entries, table.weights[row], columns);
    }
    let names = (1..columns).map(|j| Column::Feature(format!("x{j}")));
    let columns: Vec<Column> = [Column::Target("y".into())].into_iter().chain(names).collect();
    let folds = gatherers.into_iter().map(|gatherer| gatherer.finish(columns.len())).collect();
    Moments::new(columns, folds)
}

fn solved(moments: &Moments, recipe: SolveRecipe) -> Solved {
    solve(moments, &recipe, SolveOptions { path: true, threads: 2 }).unwrap()
}

/// Intercept and weights of a model by the number of the feature.
fn line(solved: &Solved, columns: usize) -> (f64, Vec<f64>) {
    let mut weights = vec![0.0; columns];
    for feature in &solved.model.outputs[0].features {
        weights[feature.name[1..].parse::<usize>().unwrap() - 1] = feature.weight;
    }
    (solved.model.outputs[0].intercept, weights)
}

fn assert_close(found: &Comoments, table: &Table, slack: f64) {
    for (i, mean) in table.means().into_iter().enumerate() {
        assert!((found.means[i] - mean).abs() <= 1e-13 * (1.0 + mean.abs()), "mean {i}");
        for j in 0..=i {
            let (a, b) = (found.covariance(i, j), table.covariance(i, j));
            assert!((a - b).abs() <= slack, "{i} {j}: {a} {b}");
        }
    }
}

#[test]
fn moments_are_those_of_two_passes_even_around_a_million() {
    for level in [0.0, 1e6] {
        let table = table(1500, 8, level, 1);
        assert_close(&moments(&table, 1).total(), &table, 1e-9);
        assert_close(&moments(&table, 7).total(), &table, 1e-9);
    }
}

/// The solvers with a penalty.
fn penalised() -> Vec<Solver> {
    Solver::ALL.into_iter().filter(|solver| solver.is_penalised()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_split_merges_to_the_whole_and_subtracting_undoes_it(
        cut in 1usize..59, seed in 0u64..1000, zeros in 0u64..100, level in prop::sample::select(vec![0.0, 1e3, 1e6]),
    ) {
        let mut table = table(60, 6, level, seed);
        for (number, row) in table.rows.iter_mut().enumerate() {
            for (column, cell) in row.iter_mut().enumerate() {
                if splitmix64(seed + (number * 10 + column) as u64) % 100 < zeros {
                    *cell = 0.0;
                }
            }
            table.weights[number] = 0.25 + (number % 5) as f64;
        }
        let whole = moments(&table, 1);
        let (first, second) = (moments(&table.pick(0..cut), 1), moments(&table.pick(cut..60), 1));
        let mut joined = first.clone();
        joined.merge(&second, false).unwrap();
        let unit = |i: usize| whole.folds[0].covariance(i, i).sqrt().max(1e-3);
        let same = |a: &Comoments, b: &Comoments, slack: f64| {
            (0..7).all(|i| (a.means[i] - b.means[i]).abs() <= 1e-12 * (1.0 + level)
                && (0..=i).all(|j| (a.covariance(i, j) - b.covariance(i, j)).abs() <= slack * unit(i) * unit(j)))
        };
        prop_assert_eq!(joined.rows(), 60);
        prop_assert!(same(&joined.folds[0], &whole.folds[0], 1e-8));
        joined.subtract(&second).unwrap();
        prop_assert_eq!(joined.rows(), cut as u64);
        // If the remaining part hardly varies, digits below the rounding of the whole are lost.
        prop_assert!(same(&joined.folds[0], &first.folds[0], 1e-7 * 60.0 / cut as f64));
    }

    #[test]
    fn the_optimality_conditions_hold_for_every_penalty(
        rows in 12usize..80, share in 0.02f64..0.9, seed in 0u64..1000, which in 0..penalised().len(),
    ) {
        let table = table(rows, 15, 2.0, seed);
        let method = penalised()[which];
        let penalty = AnyPenalty::of(&SolveRecipe::new(method)).unwrap();
        let scales: Vec<f64> = (1..=15).map(|j| table.covariance(j, j).sqrt()).collect();
        let cross = |j: usize| table.covariance(0, j + 1) / scales[j];
        let largest = (0..15).map(|j| cross(j).abs()).fold(0.0, f64::max) / penalty.zero_threshold(1.0);
        let lambda = share * largest;
        let found = solved(&moments(&table, 1), SolveRecipe { lambda: Some(lambda), ..SolveRecipe::new(method) });
        let (_, weights) = line(&found, 15);
        for j in 0..15 {
            let fitted: f64 = (0..15).map(|i| table.covariance(i + 1, j + 1) * weights[i]).sum::<f64>() / scales[j];
            let (gradient, beta) = (cross(j) - fitted, weights[j] * scales[j]);
            let violation = if beta == 0.0 {
                gradient.abs() - penalty.zero_threshold(lambda)
            } else {
                let (linear, quadratic) = penalty.piece(beta, lambda);
                (gradient - linear * beta.signum() - quadratic * beta).abs()
            };
            prop_assert!(violation <= 1e-5 * largest, "{:?} {}: {}", penalty, j, violation / largest);
        }
    }
}

#[test]
fn the_lasso_is_that_of_plain_descent_on_the_rows() {
    let table = table(80, 12, 5.0, 3);
    for penalty in [0.3, 0.05, 0.005] {
        let found =
            solved(&moments(&table, 1), SolveRecipe { lambda: Some(penalty), ..SolveRecipe::new(Solver::Lasso) });
        let (intercept, weights) = line(&found, 12);
        let naive = table.lasso(penalty, 3000);
        assert!((intercept - naive.0).abs() < 1e-8, "{intercept} {}", naive.0);
        assert!(weights.iter().zip(&naive.1).all(|(a, b)| (a - b).abs() < 1e-9 && (*a == 0.0) == (*b == 0.0)));
    }
}

#[test]
fn a_lasso_with_signs_is_that_of_plain_descent_on_the_rows() {
    let table = table(80, 12, 5.0, 3);
    let moments = moments(&table, 4);
    let cases = [
        ("+", [Some(Sign::Plus); 12]),
        ("-", [Some(Sign::Minus); 12]),
        ("x1=-,x3=+,x4=-", {
            let mut signs = [None; 12];
            (signs[0], signs[2], signs[3]) = (Some(Sign::Minus), Some(Sign::Plus), Some(Sign::Minus));
            signs
        }),
    ];
    for (text, signs) in cases {
        for penalty in [0.1, 0.005, 0.0] {
            let recipe = SolveRecipe { lambda: Some(penalty), ..SolveRecipe::new(Solver::Lasso) };
            let free = line(&solved(&moments, recipe.clone()), 12).1;
            let found = solved(&moments, SolveRecipe { sign: Signs::parse(text), ..recipe });
            let (intercept, weights) = line(&found, 12);
            let naive = table.signed_lasso(penalty, 20_000, |j| signs[j]);
            assert!((intercept - naive.0).abs() < 1e-8, "{text} {penalty}: {intercept} {}", naive.0);
            assert!(
                weights.iter().zip(&naive.1).all(|(a, b)| (a - b).abs() < 1e-9),
                "{text} {penalty}: {weights:?} {naive:?}"
            );
            assert_ne!(weights, free, "{text} {penalty}: the signs bind");
        }
    }
}

#[test]
fn signs_hold_along_every_path_and_in_every_fold() {
    let table = table(60, 9, 1.0, 8);
    let moments = moments(&table, 3);
    for method in penalised() {
        for recipe in [
            SolveRecipe { criterion: Some(Criterion::Cv), ..SolveRecipe::new(method) },
            SolveRecipe { k: Some(2), ..SolveRecipe::new(method) },
        ] {
            let found = solved(&moments, SolveRecipe { sign: Signs::parse("+"), ..recipe });
            let features = &found.model.outputs[0].features;
            assert!(!features.is_empty() && features.iter().all(|feature| feature.weight > 0.0), "{method:?}");
            assert!(found.traces.iter().flat_map(|trace| &trace.effects).all(|&effect| effect >= 0.0), "{method:?}");
        }
    }
    let solve = |sign: &str, recipe: SolveRecipe| {
        solve(&moments, &SolveRecipe { sign: Signs::parse(sign), ..recipe }, SolveOptions::default()).map(|_| ())
    };
    let message = solve("x1=+,x99=-", SolveRecipe::new(Solver::Mcp)).unwrap_err().to_string();
    assert_eq!(message, "`sign` names \"x99\", but the moments have no such feature");
    let message = solve("+", SolveRecipe::new(Solver::Ofsa)).unwrap_err().to_string();
    assert_eq!(message, "ofsa has no parameter `sign`; lasso, elastic-net, mcp, scad have");
    let message = solve("+", SolveRecipe { refit: true, ..SolveRecipe::new(Solver::Mcp) }).unwrap_err().to_string();
    assert_eq!(message, "`sign` and `refit` are exclusive: a refit without penalty does not keep the signs");
}

/// A column and its negative: only one of them can have a weight of the sign.
#[test]
fn a_mirrored_column_is_no_copy_of_one_with_a_sign() {
    let mut table = table(50, 5, 0.0, 4);
    table.rows.iter_mut().for_each(|row| row[2] = -row[0]);
    (0..50).for_each(|row| table.targets[row] = -table.rows[row][0] + 0.1 * table.rows[row][1]);
    let recipe = SolveRecipe { k: Some(1), sign: Signs::parse("+"), ..SolveRecipe::new(Solver::Lasso) };
    let found = solved(&moments(&table, 1), recipe);
    assert_eq!(found.model.outputs[0].features[0].name, "x3");
}

#[test]
fn cross_validation_from_moments_is_refitting_on_the_rows() {
    let table = table(97, 10, 20.0, 5);
    let moments = moments(&table, 4);
    for method in [Solver::OlsTh, Solver::Ofsa] {
        let found = solved(&moments, SolveRecipe { criterion: Some(Criterion::Cv), ..SolveRecipe::new(method) });
        for point in &found.path {
            let mut expected = 0.0;
            for fold in 0..4 {
                let training = table.pick((0..97).filter(|row| row % 4 != fold));
                let held = table.pick((0..97).filter(|row| row % 4 == fold));
                // The features are selected on the training rows alone; the weights come from elimination.
                let recipe = SolveRecipe { k: Some(point.size), ..SolveRecipe::new(method) };
                let features: Vec<usize> = match point.size {
                    0 => Vec::new(),
                    _ => {
                        let (_, weights) = line(&solved(&self::moments(&training, 1), recipe), 10);
                        (0..10).filter(|&j| weights[j] != 0.0).collect()
                    }
                };
                let (intercept, weights) = training.least_squares(&features);
                expected += held.rows.len() as f64 * held.mean_squared_error(intercept, &weights) / 97.0;
            }
            let error = point.cv_error.unwrap();
            assert!((error - expected).abs() <= 1e-8 * expected, "{method:?} {}: {error} {expected}", point.size);
        }
    }
}

#[test]
fn cross_validated_lasso_is_the_lasso_of_the_other_rows() {
    let table = table(60, 6, 1.0, 8);
    let moments = moments(&table, 3);
    let found = solved(&moments, SolveRecipe { criterion: Some(Criterion::Cv), ..SolveRecipe::new(Solver::Lasso) });
    for point in found.path.iter().step_by(9) {
        let mut expected = 0.0;
        for fold in 0..3 {
            let (training, held) =
                (table.pick((0..60).filter(|row| row % 3 != fold)), table.pick((0..60).filter(|row| row % 3 == fold)));
            let (intercept, weights) = training.lasso(point.lambda.unwrap(), 3000);
            expected += held.mean_squared_error(intercept, &weights) / 3.0;
        }
        let error = point.cv_error.unwrap();
        assert!((error - expected).abs() <= 1e-8 * expected, "{}: {error} {expected}", point.size);
    }
}

#[test]
fn cross_validation_skips_sizes_that_a_fold_cannot_have() {
    // 40 rows, folds of 10: a model of 30 or more features fits the 30 training rows of a fold perfectly.
    let table = table(40, 60, 0.0, 4);
    for method in [Solver::OlsTh, Solver::Ofsa] {
        let found =
            solved(&moments(&table, 4), SolveRecipe { criterion: Some(Criterion::Cv), ..SolveRecipe::new(method) });
        assert!(found.path.iter().all(|point| point.size < 29), "{method:?}");
        assert!(found.path[found.chosen].size < 20, "{method:?}: {}", found.path[found.chosen].size);
        let by_bic = SolveRecipe { criterion: Some(Criterion::Bic), ..SolveRecipe::new(method) };
        assert!(solved(&moments(&table, 4), by_bic).path.iter().any(|point| point.size > 30));
    }
}

#[test]
fn every_solver_gives_exactly_k_features() {
    for rows in [25, 300] {
        let moments = moments(&table(rows, 40, 1.0, 4), 1);
        for method in Solver::ALL {
            for k in [1, 3, 7, 20] {
                let lambda = (method == Solver::Ridge).then_some(0.1);
                let found = solved(&moments, SolveRecipe { k: Some(k), lambda, ..SolveRecipe::new(method) });
                let size = found.model.outputs[0].features.len();
                assert_eq!(size, k, "{method:?} of {rows} rows");
                assert_eq!(found.path[found.chosen].size, k);
            }
        }
    }
}

#[test]
fn planted_features_are_found_by_all_criteria() {
    let moments = moments(&table(400, 30, 1.0, 6), 5);
    for method in [Solver::OlsTh, Solver::Ofsa, Solver::Lasso, Solver::Mcp, Solver::Scad] {
        for criterion in Criterion::ALL {
            let found = solved(&moments, SolveRecipe { criterion: Some(criterion), ..SolveRecipe::new(method) });
            let (_, weights) = line(&found, 30);
            assert!([0, 2, 4].iter().all(|&j| weights[j].abs() > 0.3), "{method:?} {criterion:?}: {weights:?}");
            let size = found.path[found.chosen].size;
            let sparse = criterion == Criterion::Ebic && !matches!(method, Solver::Lasso);
            assert!(!sparse || size == 3, "{method:?} {criterion:?}: {size}");
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let moments = moments(&table(200, 150, 1.0, 2), 3);
    for method in [Solver::Ofsa, Solver::Lasso, Solver::OlsTh] {
        let recipe = SolveRecipe { criterion: Some(Criterion::Cv), ..SolveRecipe::new(method) };
        let models = [1, 2, 3].map(|threads| {
            let solved = solve(&moments, &recipe, SolveOptions { path: true, threads }).unwrap();
            (solved.model.to_text(), format!("{:?}", solved.path))
        });
        assert!(models[0] == models[1] && models[1] == models[2], "{method:?}");
    }
}

#[test]
fn edge_cases_are_errors_or_handled() {
    let message = |moments: &Moments, recipe: SolveRecipe| {
        solve(moments, &recipe, SolveOptions::default()).unwrap_err().to_string()
    };
    let k = |k| SolveRecipe { k: Some(k), ..SolveRecipe::new(Solver::OlsTh) };
    let full = moments(&table(50, 5, 1.0, 1), 1);
    let mut empty = full.clone();
    empty.folds = vec![Comoments::new(6)];
    assert_eq!(message(&empty, k(1)), "the moments hold no rows");
    assert_eq!(message(&moments(&table(1, 5, 1.0, 1), 1), k(1)), "one row is not enough: no column varies");
    assert!(message(&full, k(9)).contains("9 features were requested, but only 5 of"));
    assert!(
        message(&full, SolveRecipe { criterion: Some(Criterion::Cv), ..SolveRecipe::new(Solver::Lasso) })
            .contains("`folds = 5`")
    );
    let mut flat = table(50, 5, 1.0, 1);
    flat.targets.fill(2.5);
    assert!(matches!(
        solve(&moments(&flat, 1), &k(1), SolveOptions::default()),
        Err(SolveError::ConstantTarget { .. })
    ));
    let mut constant = table(50, 5, 1.0, 1);
    constant.rows.iter_mut().for_each(|row| row[1] = 0.1);
    let found = solve(&moments(&constant, 1), &k(4), SolveOptions::default()).unwrap();
    assert!(found.notes[0].contains("1 of 5 features do not vary"), "{:?}", found.notes);
    assert!(message(&moments(&constant, 1), k(5)).contains("5 features were requested, but only 4 of 5 vary"));
}

#[test]
fn copies_of_a_column_are_left_out() {
    let mut doubled = table(100, 6, 1.0, 9);
    doubled.rows.iter_mut().for_each(|row| row[5] = row[0]);
    let moments = moments(&doubled, 1);
    for method in Solver::ALL {
        let (k, lambda) = if method == Solver::Ridge { (None, Some(0.1)) } else { (Some(5), None) };
        let recipe = SolveRecipe { k, lambda, ..SolveRecipe::new(method) };
        let found = solve(&moments, &recipe, SolveOptions::default()).unwrap();
        let (intercept, weights) = line(&found, 6);
        assert!(intercept.is_finite() && weights.iter().all(|weight| weight.is_finite()), "{method:?}");
        assert!(weights[5] == 0.0 && found.notes[0].contains("copies of others"), "the first copy stands for both");
        assert!(found.path[found.chosen].r2 > 0.5, "{method:?}: {}", found.path[found.chosen].r2);
    }
}

/// Independent normal columns; the target is noise, or depends on the first three columns.
fn wide(rows: usize, columns: usize, signal: f64, seed: u64) -> Moments {
    let mut table = Table::default();
    for row in 0..rows as u64 {
        let uniform =
            |salt: u64| (splitmix64(splitmix64(seed) ^ (row * 100_000 + salt)) as f64 + 0.5) / u64::MAX as f64;
        let normal =
            |salt: u64| (-2.0 * uniform(salt).ln()).sqrt() * (std::f64::consts::TAU * uniform(salt + 50_000)).cos();
        let cells: Vec<f64> = (0..columns as u64).map(normal).collect();
        table.targets.push(signal * (cells[0] - cells[1] + cells[2]) + normal(40_000));
        table.rows.push(cells);
        table.weights.push(1.0);
    }
    moments(&table, 1)
}

#[test]
fn noise_with_fewer_rows_than_columns_has_no_features() {
    for (rows, columns) in [(120, 300), (100, 95)] {
        let noise = wide(rows, columns, 0.0, 7);
        for method in Solver::ALL.into_iter().filter(|method| !matches!(method, Solver::Ols | Solver::Ridge)) {
            for criterion in [Criterion::Aic, Criterion::Bic, Criterion::Ebic] {
                let recipe = SolveRecipe { criterion: Some(criterion), ..SolveRecipe::new(method) };
                let found = solve(&noise, &recipe, SolveOptions { path: false, threads: 2 }).unwrap();
                let size = found.model.nonzeros();
                assert!(size <= 3, "{method:?} by {criterion:?} takes {size} of {columns} columns of noise");
            }
        }
        let recipe = SolveRecipe { criterion: Some(Criterion::Bic), ..SolveRecipe::new(Solver::Ridge) };
        let found = solve(&noise, &recipe, SolveOptions { path: false, threads: 2 }).unwrap();
        assert!(found.path[found.chosen].r2 < 0.5, "ridge: R² {}", found.path[found.chosen].r2);
    }
}

#[test]
fn planted_features_are_found_with_fewer_rows_than_columns() {
    let planted = wide(120, 300, 1.0, 8);
    for method in
        Solver::ALL.into_iter().filter(|method| !matches!(method, Solver::Ols | Solver::Ridge | Solver::OlsTh))
    {
        for criterion in [Criterion::Aic, Criterion::Bic, Criterion::Ebic] {
            let recipe = SolveRecipe { criterion: Some(criterion), ..SolveRecipe::new(method) };
            let found = solve(&planted, &recipe, SolveOptions { path: false, threads: 2 }).unwrap();
            let names: Vec<&str> =
                found.model.outputs[0].features.iter().map(|feature| feature.name.as_str()).collect();
            let all = ["x1", "x2", "x3"].iter().all(|name| names.contains(name));
            assert!(all && names.len() <= 8, "{method:?} by {criterion:?}: {names:?}");
        }
    }
}
