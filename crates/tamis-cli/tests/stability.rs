//! `tamis stability`: κ, error and size over runs, the same on any number of threads.

mod common;

use common::{Folder, rows, svm};
use serde_json::Value;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(400, 60, 6, 2, 3))).write("t.svm", svm(&rows(100, 60, 6, 2, 4)));
    folder
}

fn numbers(value: &Value, key: &str) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|one| one[key].as_f64().unwrap()).collect()
}

#[test]
fn the_summary_is_that_of_the_runs() {
    let folder = folder();
    let output = folder.json("stability d.svm --method ftrl --l1 40 --runs 6 --json --quiet --top 0");
    let (errors, sizes) = (numbers(&output["runs"], "error"), numbers(&output["runs"], "nonzeros"));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / 6.0;
    let deviation = |values: &[f64]| {
        let centre = mean(values);
        (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / 5.0).sqrt()
    };
    let close =
        |key: &str, value: f64| assert!((output[key].as_f64().unwrap() - value).abs() < 1e-12, "{key}: {output}");
    close("mean_error", mean(&errors));
    close("sd_error", deviation(&errors));
    close("mean_nonzeros", mean(&sizes));
    close("sd_nonzeros", deviation(&sizes));
    let kappa = output["kappa"].as_f64().unwrap();
    assert!(kappa > 0.2 && kappa < 1.0, "{kappa}");
    let shares = numbers(&output["features"], "frequency");
    assert!(shares.is_sorted_by(|a, b| a >= b) && shares[0] == 1.0);
    assert!((6.0 * shares.iter().sum::<f64>() - sizes.iter().sum::<f64>()).abs() < 1e-9, "each use is counted once");
    let rows = numbers(&output["runs"], "rows");
    assert!(rows.iter().all(|&rows| rows > 15.0 && rows < 70.0), "about a tenth of 400 is left out: {rows:?}");
}

#[test]
fn threads_change_nothing() {
    let folder = folder();
    for by in ["order", "seed", "subsample"] {
        let line = format!("stability d.svm --method fobos --by {by} --runs 5 --quiet");
        let [one, two, many] = [1, 2, 5].map(|threads| folder.ok(&format!("{line} --threads {threads}")));
        assert!(one == two && one == many, "{one}\n{two}");
    }
}

#[test]
fn orderings_leave_a_method_alone_that_does_not_care() {
    // What is selected at this penalty does not depend on the order: nothing is.
    let folder = folder();
    let output = folder.json("stability d.svm --method ftrl --l1 1e6 --by order --runs 3 --json --quiet");
    assert_eq!(
        (output["kappa"].as_f64(), output["mean_nonzeros"].as_f64()),
        (Some(1.0), Some(0.0)),
        "both empty: κ is 1"
    );
    let output = folder.json(
        "stability d.svm --method sgd --schedule inverse-sqrt --by order --runs 3 --validate t.svm --json --quiet",
    );
    assert_eq!(numbers(&output["runs"], "rows"), [100.0; 3], "measured on the other file");
    let errors = numbers(&output["runs"], "error");
    assert!(output["kappa"].as_f64() == Some(1.0), "plain descent uses every feature seen, in any order");
    assert!(errors.iter().any(|error| *error != errors[0]), "but its weights follow the order: {errors:?}");
    let output = folder.json("stability d.svm --method stabilized --by order --runs 3 --json --quiet");
    let errors = numbers(&output["runs"], "error");
    assert!(output["kappa"] == 1.0 && errors == [errors[0]; 3], "rows are visited in an order of their own: {output}");
    let output = folder.json("stability d.svm --method stabilized --by seed --runs 4 --json --quiet");
    let errors = numbers(&output["runs"], "error");
    assert!(errors.iter().any(|error| *error != errors[0]), "seeds do change it: {output}");
}

#[test]
fn features_that_never_occur_may_be_counted() {
    let folder = folder();
    let line = "stability d.svm --method ftrl --l1 3 --runs 4 --json --quiet";
    let [seen, all] = ["", "--total-features 100000"].map(|flag| folder.json(&format!("{line} {flag}")));
    assert_eq!(
        (seen["total_features"].as_u64(), all["total_features"].as_u64()),
        (seen["n_features"].as_u64(), Some(100_000))
    );
    assert!(seen["kappa"].as_f64() < all["kappa"].as_f64());
    let output = folder.run("stability d.svm --method ftrl --total-features 3 --runs 4");
    assert!(output.complaint().contains("the number of columns must lie between"), "{}", output.err);
}

#[test]
fn features_as_csv() {
    let folder = folder();
    let table = folder.ok("stability d.svm --method ftrl --l1 3 --runs 4 --csv --quiet");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("name,frequency,weight"));
    assert!(lines.next().unwrap().split(',').nth(1) == Some("1"), "{table}");
}

#[test]
fn complaints_say_what_to_do() {
    let folder = folder();
    let message = |line: &str| folder.run(line).complaint().to_string();
    assert!(
        message("stability d.svm --method ftrl --runs 1")
            .contains("the number of runs must lie between 2 and 10000, got 1")
    );
    assert!(
        message("stability d.svm --method ftrl --share 1")
            .contains("the share of rows must lie between 0.01 and 0.99, got 1")
    );
    assert!(message("stability d.svm --method ftrl --k 0").contains("--k must be a whole number of at least 1, got 0"));
    folder.write("few.svm", "0 1:1\n1 2:1\n0 1:1\n1 2:1\n");
    assert!(message("stability few.svm --method ftrl --share 0.99 --runs 9").contains("has no rows to evaluate on"));
}
