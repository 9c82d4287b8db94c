//! Real data with default parameters: the fitted model is sensible. The thresholds are far from the best possible
//! values.
//!
//! The data sets lie in the folder `TAMIS_DATA`, or else in `../shared/data` beside the workspace; without them the
//! tests say so and pass.

mod common;

use common::{Folder, data, parted, real_rows};
use serde_json::Value;
use tamis::recipe::Method;

/// Fits on one file with default parameters and evaluates on another.
fn fit_and_measure(folder: &Folder, name: &str, train: &str, test: &str) -> Value {
    let output = folder.json(&format!("fit {train} --quiet --json --out {name}.json"));
    let measured = folder.json(&format!("eval {name}.json {test} --json"));
    eprintln!(
        "{name}: {measured}, {} of {} features, progressive {}, {:.2} s",
        output["nonzeros"],
        output["n_features"],
        output["progressive_loss"],
        output["seconds"].as_f64().unwrap()
    );
    measured
}

/// Trains on the training file of a data set and evaluates on its test file.
fn given_split(name: &str, train: &str, test: &str) -> Option<Value> {
    let (train, test) = (data(train)?, data(test)?);
    Some(fit_and_measure(&Folder::new(), name, train.to_str()?, test.to_str()?))
}

/// A folder with every fifth row for testing, the others for training.
fn parts(name: &str) -> Option<Folder> {
    let [train, test] = parted(&real_rows(name)?, 5);
    let folder = Folder::new();
    folder.write("train.svm", train).write("test.svm", test);
    Some(folder)
}

fn hold_out(name: &str) -> Option<Value> {
    Some(fit_and_measure(&parts(name)?, name, "train.svm", "test.svm"))
}

fn error_below(measured: Option<Value>, floor: f64) {
    if let Some(measured) = measured {
        assert!(measured["error"].as_f64().unwrap() <= floor, "error of at most {floor}: {measured}");
    }
}

fn r2_above(measured: Option<Value>, floor: f64) {
    if let Some(measured) = measured {
        assert!(measured["r2"].as_f64().unwrap() >= floor, "R² of at least {floor}: {measured}");
    }
}

#[test]
fn dexter() {
    error_below(given_split("dexter", "dexter_train", "dexter_valid"), 0.12);
}

#[test]
fn rcv1() {
    error_below(given_split("rcv1", "rcv1sub_train", "rcv1sub_test"), 0.05);
}

#[test]
fn sms_spam() {
    error_below(hold_out("sms_spam"), 0.03);
}

#[test]
fn spambase_sorted_by_class() {
    error_below(hold_out("spambase"), 0.11);
}

#[test]
fn magic04_sorted_by_class() {
    error_below(hold_out("magic04"), 0.23);
}

#[test]
fn digits_have_ten_classes() {
    error_below(hold_out("digits8x8"), 0.10);
}

#[test]
fn housing_prices() {
    r2_above(hold_out("housing"), 0.5);
}

#[test]
fn california_prices() {
    r2_above(hold_out("california"), 0.5);
}

/// Every regression method with default parameters is better than the mean on held-out rows: no step size diverges,
/// whatever the ranges of the columns.
#[test]
fn all_methods_learn_numbers() {
    for (name, floor) in [("housing", 0.3), ("appliances", 0.0), ("ailerons", 0.3)] {
        let Some(folder) = parts(name) else { continue };
        // The published form is for comparison with its paper: it purges common features first (E9).
        let methods = Method::ALL.into_iter().filter(|method| *method != Method::StabilizedPublished);
        for method in methods.map(Method::name) {
            folder.ok(&format!("fit train.svm --method {method} --task regression --quiet --out m.json"));
            let measured = folder.json("eval m.json test.svm --json");
            let r2 = measured["r2"].as_f64().unwrap();
            assert!(r2 >= floor, "{method} on {name}: R² of at least {floor}: {measured}");
        }
    }
}
