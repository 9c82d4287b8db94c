//! The stabilized learner on unusual or bad input: a clear error, or a sensible model.

mod files;

use files::{Folder, fitted, options, refused, text};
use tamis::data::ScaleKind;
use tamis::data::TaskKind;
use tamis::loss::LossKind;
use tamis::model::Model;
use tamis::recipe::{Method, ROW_NUMBER, Recipe};
use tamis::rng::splitmix64;
use tamis::train::{FitOptions, TrainError, fit};
use tamis_testkit::generators::{Shape, stream};

fn recipe() -> Recipe {
    Recipe::new(Method::Stabilized)
}

fn of_size(k: usize) -> Recipe {
    Recipe { k: Some(k), ..recipe() }
}

/// Rows of two classes that are roughly separable.
fn plain_lines() -> String {
    files::svmlight(&stream(Shape { rows: 150, features: 20, longest: 8, seed: 11 }, LossKind::Hinge))
}

#[test]
fn one_class_is_refused() {
    let folder = Folder::new("one-class");
    let path = folder.write("one.svm", "+1 1:1\n+1 2:1\n+1 1:2\n");
    let message = refused(&recipe(), &options(&[path]));
    assert_eq!(message, "all 3 rows have the label 1; classification needs two classes");
}

#[test]
fn constant_columns_are_never_selected() {
    let folder = Folder::new("constant");
    // Constants whose mean over the rows may be off by rounding; the label is the sign of column 1.
    for constant in ["1", "0.1", "0.3", "-7.7", "1e9", "1e-9"] {
        let line = |line: &str| format!("{line} 90:{constant} 91:{constant}\n");
        let lines: String = plain_lines().lines().map(line).collect();
        let model = fitted(&of_size(8), &options(&[folder.write("c.svm", &lines)]));
        let names: Vec<&str> = model.outputs[0].features.iter().map(|feature| feature.name.as_str()).collect();
        assert!(!names.contains(&"90") && !names.contains(&"91"), "{constant}: {names:?}");
    }
}

#[test]
fn constant_columns_alone_give_the_class_odds() {
    let folder = Folder::new("all-constant");
    let lines: String = (0..60).map(|row| format!("{} 1:0.1 2:3\n", if row % 3 == 0 { 1 } else { -1 })).collect();
    let model = fitted(&recipe(), &options(&[folder.write("c.svm", &lines)]));
    assert_eq!(model.nonzeros(), 0);
    assert!((model.outputs[0].intercept - (20.5f64 / 40.5).ln()).abs() < 1e-9, "{}", model.outputs[0].intercept);
}

#[test]
fn a_handful_of_rows_is_enough() {
    let folder = Folder::new("few");
    for (rows, lines) in [
        (2, "+1 1:1\n-1 2:1\n"),
        (3, "+1 1:1\n-1 1:-1 2:1\n+1 1:2\n"),
        (5, "1 1:1\n2 2:1\n3 3:1\n1 1:2\n2 2:2\n"),
        (4, "0.5 1:1\n1.5 1:2 2:1\n-2 1:-2\n7 2:3\n"),
    ] {
        let path = folder.write("few.svm", lines);
        for recipe in [recipe(), of_size(1), of_size(2)] {
            let model = fitted(&recipe, &options(std::slice::from_ref(&path)));
            assert_eq!(model.seen.rows, rows);
            assert!(model.outputs.iter().all(|output| output.intercept.is_finite()));
            assert!(model.nonzeros() <= recipe.k.unwrap_or(3));
        }
    }
}

#[test]
fn a_single_feature_is_found() {
    let folder = Folder::new("single");
    // Values differ from row to row: equal rows would all be in the same subsamples.
    let line = |row: u32| {
        let value = f64::from(row % 21) / 10.0 - 1.0 + f64::from(row) * 1e-4;
        format!("{} 1:{value}\n", if value > 0.0 { 1 } else { -1 })
    };
    let model = fitted(&recipe(), &options(&[folder.write("s.svm", &(0..200).map(line).collect::<String>())]));
    assert_eq!(model.nonzeros(), 1);
    assert!(model.outputs[0].features[0].weight > 0.0);
    assert!(model.seen.progressive_error.expect("classes") < 0.05);
}

#[test]
fn equal_rows_are_distinguished_by_a_row_id() {
    let folder = Folder::new("key");
    // One binary feature that is right nine times in ten: two distinct rows, except for their number.
    let line = |row: u32| {
        let (flag, right) =
            (splitmix64(row.into()).is_multiple_of(2), !splitmix64(u64::from(row) + 1000).is_multiple_of(10));
        format!("{} | flag:{} row={row}\n", if flag == right { 1 } else { -1 }, u8::from(flag))
    };
    let lines: String = (0..600).map(line).collect();
    let recipe = of_size(1).with("row-id", "row");
    let model = fitted(&recipe, &options(&[folder.write("k.vw", &lines)]));
    let names: Vec<&str> = model.outputs[0].features.iter().map(|feature| feature.name.as_str()).collect();
    assert_eq!(names, ["flag"]);
    assert!(model.seen.progressive_error.expect("classes") < 0.15, "{:?}", model.seen.progressive_error);
}

#[test]
fn rows_can_be_identified_by_their_number() {
    let folder = Folder::new("number");
    let lines = plain_lines();
    let numbered = |number: &dyn Fn(usize) -> usize| -> String {
        let line = |(at, line): (usize, &str)| {
            let (label, rest) = line.split_once(' ').unwrap_or((line, ""));
            format!("{label} | {rest} #row:{}\n", number(at))
        };
        lines.lines().enumerate().map(line).collect()
    };
    let bare: String = numbered(&|_| 0).replace(" #row:0", "");
    let recipe = of_size(4).with("row-id", ROW_NUMBER);
    let outputs = |text: &str| fitted(&recipe, &options(&[folder.write("n.vw", text)])).outputs;
    assert_eq!(outputs(&bare), outputs(&numbered(&|at| at + 1)), "row numbers are added, or come with the data");
    assert_ne!(outputs(&bare), outputs(&numbered(&|at| at + 1000)), "the subsamples differ");
    let hashed = Recipe { hash_bits: Some(10), ..recipe.clone() };
    assert!(
        refused(&hashed, &options(&[folder.write("n.vw", &bare)]))
            .contains("`row-id` and `hash-bits` are exclusive: hashing keeps no names")
    );
}

#[test]
fn empty_rows_are_rows() {
    let folder = Folder::new("empty");
    let lines = plain_lines() + &"-1\n".repeat(30) + &"+1\n".repeat(20);
    let model = fitted(&of_size(5), &options(&[folder.write("e.svm", &lines)]));
    assert_eq!((model.seen.rows, model.nonzeros()), (200, 5));
    let nothing = "-1\n+1\n-1\n".repeat(20);
    let model = fitted(&recipe(), &options(&[folder.write("n.svm", &nothing)]));
    assert_eq!((model.nonzeros(), model.seen.features), (0, 0));
    assert!((model.outputs[0].intercept - (20.5f64 / 40.5).ln()).abs() < 1e-9, "{}", model.outputs[0].intercept);
}

#[test]
fn huge_values_are_an_error_or_give_finite_weights() {
    let folder = Folder::new("huge");
    let lines = |value: &str| -> String {
        let line = |row: u32| match row % 3 {
            0 => format!("{} 1:{value} 2:1\n", row % 7),
            1 => format!("{} 1:-{value} 3:{row}\n", row % 7),
            _ => format!("{} 2:-1 3:{value}\n", row % 7),
        };
        (0..90).map(line).collect()
    };
    for value in ["1e150", "1e200", "1e300", "1.7e308"] {
        let path = folder.write("h.svm", &lines(value));
        for scale in ScaleKind::ALL {
            for task in [TaskKind::Regression, TaskKind::Multiclass] {
                let recipe = Recipe { scale, ..recipe() };
                let options = FitOptions { task, ..options(std::slice::from_ref(&path)) };
                match fit(&recipe, &options, None, &mut ()) {
                    Ok(fitted) => {
                        let text = text(&fitted.model);
                        let again = Model::from_bytes(text.as_bytes(), &path);
                        assert_eq!(again.map_err(|error| error.to_string()), Ok(fitted.model), "{value} {scale:?}");
                    }
                    Err(TrainError::Diverged { .. }) => {}
                    Err(error) => panic!("{value} {scale:?}: {error}"),
                }
            }
        }
    }
}

#[test]
fn few_distinct_rows_are_distinguished_by_counting() {
    let folder = Folder::new("repeats");
    // One binary column that predicts the label nine times out of ten: four distinct rows.
    let line = |row: u64| {
        let (value, right) = (splitmix64(row) % 2, !splitmix64(row ^ 77).is_multiple_of(10));
        format!("{} {}\n", if (value == 1) == right { "+1" } else { "-1" }, if value == 1 { "1:1" } else { "" })
    };
    let lines: String = (0..2000).map(line).collect();
    let model = fitted(&recipe(), &options(&[folder.write("r.svm", &lines)]));
    assert_eq!(model.nonzeros(), 1);
    let error = model.seen.progressive_error.unwrap();
    assert!((0.07..0.13).contains(&error), "{error}");
}
