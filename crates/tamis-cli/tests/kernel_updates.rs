//! A kernel model and new rows: `--resume` updates its weights exactly, and an interrupted training starts again.

mod common;

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::Folder;
use serde_json::Value;
use tamis::model::kernel::KernelEffect;
use tamis::rng::{RngStream, generator, uniform};

const FIT: &str = "--method kernel --inputs z-score --family mixed --n-fourier 50 --k 2";
const COLUMNS: usize = 6;
/// What keeps matrices positive definite, as a share of their trace.
const LEAST_RIDGE: f64 = 1e-9;

/// Rows whose label is a product of two columns and noise.
fn rows(seed: u64, count: usize) -> Vec<(f64, Vec<f64>)> {
    let mut random = generator(seed, RngStream::PassOrder, 0);
    let mut row = || {
        let row: Vec<f64> = (0..COLUMNS).map(|_| 2.0 * uniform(&mut random) - 1.0).collect();
        (5.0 + 3.0 * row[1] * row[4] + 0.2 * uniform(&mut random), row)
    };
    (0..count).map(|_| row()).collect()
}

fn svm(rows: &[(f64, Vec<f64>)]) -> String {
    let mut text = String::new();
    for (label, row) in rows {
        write!(text, "{label}").unwrap();
        row.iter().enumerate().for_each(|(at, value)| write!(text, " {}:{value}", at + 1).unwrap());
        text.push('\n');
    }
    text
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|one| one.as_f64().expect("a number")).collect()
}

/// The model file's part of the kernel method, and the size of the model in it.
fn kernel(folder: &Folder, file: &str) -> (Value, Value) {
    let model: Value = serde_json::from_str(&folder.text(file)).expect("JSON");
    let kernel = model["body"]["kernel"].clone();
    let size = kernel["sizes"][kernel["chosen"].as_u64().expect("a size") as usize].clone();
    (kernel, size)
}

/// Solves a system by elimination.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for pivot in 0..size {
        for row in pivot + 1..size {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            (pivot..size).for_each(|column| matrix[row][column] -= factor * matrix[pivot][column]);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

/// The ridge weights of the size's features on rows: cosines, inputs, intercept.
fn ridge(kernel: &Value, size: &Value, rows: &[(f64, Vec<f64>)]) -> Vec<f64> {
    let function = &size["function"];
    let variables: Vec<(usize, f64, f64)> = size["variables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|effect| {
            let variable = &kernel["variables"][effect["variable"].as_u64().unwrap() as usize];
            let map = &variable["map"]["z-score"];
            let column: usize = variable["name"].as_str().unwrap().parse().unwrap();
            (column - 1, map["mean"].as_f64().unwrap(), map["deviation"].as_f64().unwrap())
        })
        .collect();
    let phases = numbers(&function["phases"]);
    let values = |row: &[f64]| -> Vec<f64> {
        let inputs: Vec<f64> =
            variables.iter().map(|&(at, mean, deviation)| ((row[at] - mean) / deviation).clamp(-4.0, 4.0)).collect();
        let wave = |feature: usize| {
            let places = numbers(&function["variables"][feature]);
            let frequencies = numbers(&function["frequencies"][feature]);
            let angle: f64 = places.iter().zip(&frequencies).map(|(&place, w)| w * inputs[place as usize]).sum();
            (angle + phases[feature]).cos()
        };
        (0..phases.len()).map(wave).chain(inputs.iter().copied()).collect()
    };
    let table: Vec<Vec<f64>> = rows.iter().map(|(_, row)| values(row)).collect();
    let (count, width) = (rows.len() as f64, table[0].len());
    let means: Vec<f64> = (0..width).map(|at| table.iter().map(|row| row[at]).sum::<f64>() / count).collect();
    let centre = rows.iter().map(|row| row.0).sum::<f64>() / count;
    let product = |a: usize, b: usize| table.iter().map(|row| (row[a] - means[a]) * (row[b] - means[b])).sum::<f64>();
    let mut matrix: Vec<Vec<f64>> = (0..width).map(|a| (0..width).map(|b| product(a, b)).collect()).collect();
    let trace: f64 = (0..width).map(|at| matrix[at][at]).sum();
    (0..width).for_each(|at| matrix[at][at] += size["penalty"].as_f64().unwrap() + LEAST_RIDGE * trace);
    let with_label =
        |at: usize| table.iter().zip(rows).map(|(row, (label, _))| (row[at] - means[at]) * (label - centre)).sum();
    let mut weights = solve(matrix, (0..width).map(with_label).collect());
    let intercept = centre - weights.iter().zip(&means).map(|(weight, mean)| weight * mean).sum::<f64>();
    weights.push(intercept);
    weights
}

fn weights_of(size: &Value) -> Vec<f64> {
    let function = &size["function"];
    let mut weights = numbers(&function["weights"][0]);
    weights.extend(numbers(&function["linear"][0]));
    weights.push(function["intercepts"][0].as_f64().unwrap());
    weights
}

fn assert_equal(found: &[f64], expected: &[f64]) {
    let largest = expected.iter().map(|weight| weight.abs()).fold(0.0, f64::max);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9 * largest.max(1.0), "{found} {expected}");
    }
}

#[test]
fn new_rows_update_the_weights_as_if_all_rows_had_been_fitted() {
    let folder = Folder::new();
    let days = [rows(1, 150), rows(2, 120), rows(3, 90)];
    for (number, day) in days.iter().enumerate() {
        folder.write(&format!("day{}.svm", number + 1), svm(day));
    }
    folder.ok(&format!("fit day1.svm {FIT} -q -o m.json --checkpoint c.st"));
    let (first, size) = kernel(&folder, "m.json");
    assert_equal(&weights_of(&size), &ridge(&first, &size, &days[0]));
    let told = folder.run("fit day2.svm -o m.json --checkpoint c.st --resume c.st");
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.err.contains("held-out errors are those of the search on the first 150 rows"), "{}", told.err);
    folder.ok("fit day3.svm -q -o m.json --checkpoint c.st --resume c.st");
    let (last, size_after) = kernel(&folder, "m.json");
    assert_eq!((last["rows_of_search"].as_u64(), last["rows_since"].as_u64()), (Some(150), Some(210)));
    assert_equal(&weights_of(&size_after), &ridge(&last, &size_after, &days.concat()));
    assert_ne!(weights_of(&size), weights_of(&size_after));
    for what in ["score", "size"] {
        assert_eq!(size[what], size_after[what], "{what} is that of the search");
    }
    // All kept sizes are updated, and none needs the first rows.
    folder.ok("resize m.json --k 1 --out one.json");
    let (_, one) = kernel(&folder, "one.json");
    assert_equal(&weights_of(&one), &ridge(&last, &one, &days.concat()));
    let text = folder.ok("inspect m.json");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("210 rows have updated the weights since the search on 150 rows"), "{flat}");
    let refused = folder.run("fit day1.svm -q -o m.json --resume c.st");
    assert!(refused.complaint().contains("--again"), "{}", refused.err);
    folder.write("names.svm", "1 1:1\nyes 2:1\n");
    assert!(!folder.run("fit names.svm -q -o m.json --resume c.st").complaint().is_empty());
}

#[test]
fn a_training_that_was_killed_starts_again_and_says_so() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(4, 200))).write("b.svm", svm(&rows(5, 200)));
    let line = "a.svm --method kernel --inputs z-score";
    let expected = folder.model(line);
    let mut process = folder.process(&format!("fit {line} -q -o k.json --checkpoint c.st"));
    let mut child = process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !folder.path("c.st").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint for a minute");
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if folder.path("k.json").exists() {
        // It was faster than the kill: nothing is left to resume.
        return;
    }
    let refused = folder.run("fit b.svm -q -o k.json --resume c.st");
    assert_ne!(refused.code, Some(0), "other rows");
    let again = folder.run("fit a.svm -o k.json --resume c.st");
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.err.contains("kernel was interrupted before its search was over: it starts again"), "{}", again.err);
    assert!(folder.read("k.json") == expected, "the model of a training that was left alone");
}

#[test]
fn a_curve_that_is_not_finite_is_not_written() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(1, 300))).ok(&format!("fit a.svm {FIT} -q -o m.json"));
    let path = folder.path("m.json");
    let model = tamis::model::Model::load(&path).unwrap();
    let spoil: [fn(&mut KernelEffect); 5] = [
        |effect| effect.sensitivity = f64::NAN,
        |effect| effect.least = f64::INFINITY,
        |effect| effect.share = f64::NAN,
        |effect| effect.at[0] = f64::NEG_INFINITY,
        |effect| effect.margins[0][0] = f64::NAN,
    ];
    for spoil in spoil {
        let mut model = model.clone();
        let kernel = model.kernel.as_mut().unwrap();
        spoil(&mut kernel.sizes[kernel.chosen.unwrap()].variables[0]);
        let error = model.save(&path).unwrap_err().to_string();
        assert!(error.contains("is not a finite number"), "{error}");
    }
    model.save(&path).unwrap();
    folder.ok("inspect m.json");
}
