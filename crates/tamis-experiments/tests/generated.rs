//! Experiments on generated rows, and models solved from running averages.

mod common;

use common::{Folder, Random};
use serde_json::Value;

const EXPECTED: &str = r#"
paper = "Nobody, A paper, 2001."
about = "A test."

[protocol]
name = "detection"
runs = 3
folds = 3

[data.strong]
title = "strong"
generated = { kind = "correlated", n = 400, p = 60, k = 6, signal = 1, test-rows = 500 }

[data.watched]
title = "watched"
generated = { kind = "correlated", n = 400, p = 60, k = 6, signal = 1 }

[data.hopeless]
title = "hopeless"
generated = { kind = "correlated", n = 50, p = 60, k = 6, signal = 0, runs = 2, test-rows = 500 }

[data.classes]
title = "classes"
generated = { kind = "correlated", n = 3000, p = 40, k = 4, classes = true, test-rows = 500 }

[data.moving]
title = "moving"
generated = { kind = "drift", n = 30000, p = 20, k = 2, period-rows = 100, scored-periods = 50, runs = 2 }

[data.files]
title = "files"
train = "train.svm"
test = "test.svm"

[data.lost]
title = "lost"
train = "lost.svm"

[runs.ols-th]
title = "OLS-th"
solve = { method = "ols-th" }

[runs.mcp]
title = "MCP"
solve = { method = "mcp", refit = true }

[runs.tsgd]
title = "TSGD"
recipe = { method = "tsgd", schedule = "constant", scale = "none" }
grid = { learning-rate = [1e-4, 1e-3, 100] }
runs = 2

[runs.rda]
title = "RDA"
recipe = { method = "rda", scale = "none" }
grid = { l1 = [1e-6, 0.1, 1000] }
most_rows = 399

[runs.averages]
title = "averages"
averages = true

[runs.follows]
title = "follows"
solve = { method = "ofsa" }
forget = 0.005

[runs.stays]
title = "stays"
solve = { method = "ofsa" }

[tables.2]
title = "found"
measure = "detected"
columns = ["ols-th", "mcp", "tsgd", "rda"]
rows = [{ data = "strong", paper = { mcp = [99.5] } }, { data = "hopeless" }]

[tables.2-rmse]
title = "errors"
measure = "rmse"
decimals = 3
columns = ["ols-th", "mcp", "tsgd"]
rows_of = "2"

[tables.2-seconds]
title = "seconds"
measure = "seconds"
columns = ["averages"]
rows_of = "2"

[tables.3]
title = "classes"
measure = "auc"
columns = ["ols-th", "mcp"]
rows = [{ data = "classes" }]

[tables.4]
title = "moving"
protocol = "drift"
measure = "rmse"
columns = ["follows", "stays", "tsgd"]
rows = [{ data = "moving" }]

[tables.5]
title = "splits"
protocol = "random-splits"
measure = "auc"
columns = ["ols-th", "mcp", "tsgd"]
rows = [{ data = "files" }, { data = "files", title = "screened", set = { screen = 5 } }, { data = "lost" }]

[tables.regret-1000]
title = "regret"
protocol = "regret"
measure = "regret-300"
columns = ["ols-th", "tsgd"]
rows = [{ data = "watched" }]
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("data/train.svm", classes(300, 3)).write("data/test.svm", classes(100, 4));
    folder.write("experiments/nobody2001/expected.toml", EXPECTED);
    folder
}

/// Rows of eight columns, of which two determine the class.
fn classes(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for _ in 0..count {
        let values: Vec<f64> = (0..8).map(|_| random.unit()).collect();
        let class = if 2.0 * values[0] - values[1] + 0.2 * (random.unit() - 0.5) > 0.5 { "+1" } else { "-1" };
        let cells: Vec<String> = values.iter().enumerate().map(|(i, value)| format!("{}:{value}", i + 1)).collect();
        text.push_str(&format!("{class} {}\n", cells.join(" ")));
    }
    text
}

/// Our number in a line of a table; the first of mean and deviation.
fn ours(table: &Value, row: &str, column: &str) -> f64 {
    let lines = table["lines"].as_array().unwrap();
    let line = lines.iter().find(|line| line["row"] == row && line["column"] == column);
    let line = line.unwrap_or_else(|| panic!("{row} {column}: {table}"));
    line["ours"][0].as_f64().unwrap_or_else(|| panic!("{line}"))
}

fn missing<'a>(table: &'a Value, row: &str, column: &str) -> &'a str {
    let lines = table["lines"].as_array().unwrap();
    lines.iter().find(|line| line["row"] == row && line["column"] == column).unwrap()["missing"].as_str().unwrap()
}

#[test]
fn the_planted_features_are_found_and_tested_on_new_rows() {
    let folder = folder();
    let output = folder.json("nobody/table2 --data data --quiet --json");
    let names: Vec<&str> = output.as_array().unwrap().iter().map(|table| table["table"].as_str().unwrap()).collect();
    assert_eq!(names, ["2", "2-rmse", "2-seconds"], "a table comes with its parts");
    assert_eq!((ours(&output[0], "strong", "OLS-th"), ours(&output[0], "strong", "MCP")), (100.0, 100.0));
    assert!(ours(&output[0], "hopeless", "OLS-th") < 60.0, "without a signal the selection is random");
    for method in ["OLS-th", "MCP"] {
        // Six of 400 rows: √(1 + 7/393) = 1.009, known to 1/√(2·1500) = 2 %.
        assert!((ours(&output[1], "strong", method) - 1.01).abs() < 0.06, "{output}");
    }
    assert!(ours(&output[1], "strong", "TSGD") > 1.05, "one pass of a learner is worse");
    assert!(ours(&output[2], "strong", "averages") > 0.0);
    assert_eq!(missing(&output[0], "strong", "RDA"), "not measured with more than 399 rows");
    assert!(ours(&output[0], "hopeless", "RDA") <= 100.0);
}

#[test]
fn numbers_are_the_same_on_any_number_of_threads_and_are_recorded() {
    let folder = folder();
    let lines = |threads: usize, more: &str| {
        let line = format!("nobody/2-rmse --data data --quiet --json --threads {threads} {more}");
        folder.json(&line)[0]["lines"].clone()
    };
    let one = lines(1, "--record");
    let page = folder.text("docs/results/nobody2001-2-rmse.md");
    assert!(page.contains("| strong | OLS-th |") && page.contains("models have the true number of features"), "{page}");
    let two = lines(2, "");
    for (a, b) in one.as_array().unwrap().iter().zip(two.as_array().unwrap()) {
        assert_eq!((&a["ours"], &b["recorded"]), (&b["ours"], &a["ours"]));
    }
    let seeds = folder.json("nobody/2-rmse --data data --quiet --json --runs 1 --only strong");
    assert_eq!(seeds[0]["lines"][0]["ours"].as_array().unwrap().len(), 1, "one run has no deviation");
}

#[test]
fn classes_are_separated_and_drift_is_followed() {
    let folder = folder();
    let output = folder.json("nobody/3 --data data --quiet --json");
    assert!(ours(&output[0], "classes", "OLS-th") > 0.95 && ours(&output[0], "classes", "MCP") > 0.95, "{output}");
    let output = folder.json("nobody/4 --data data --quiet --json");
    let (follows, stays) = (ours(&output[0], "moving", "follows"), ours(&output[0], "moving", "stays"));
    // 399 rows are worth √(1 + 3/399) = 1.004; 300 periods are a third of a cycle, which averages do not forget.
    assert!(follows < 1.05 && stays > follows + 0.05, "{follows} {stays}");
    assert!(missing(&output[0], "moving", "TSGD").contains("running averages"));
}

#[test]
fn regret_falls_with_better_models() {
    let output = folder().json("nobody/regret --data data --quiet --json");
    let (solved, learned) = (ours(&output[0], "watched", "OLS-th"), ours(&output[0], "watched", "TSGD"));
    // Until the first model of 100 rows the prediction is 0: a third of the target's variance of 6 + 36.
    assert!(solved > 5.0 && solved < 25.0 && learned > 0.0, "{solved} {learned}");
}

#[test]
fn random_splits_choose_sizes_from_training_rows() {
    let folder = folder();
    let output = folder.json("nobody/5 --data data --quiet --json");
    assert!(ours(&output[0], "files", "OLS-th") > 0.8 && ours(&output[0], "screened", "MCP") > 0.8, "{output}");
    assert!(missing(&output[0], "files", "TSGD").contains("online learner"));
    assert_eq!(missing(&output[0], "lost", "MCP"), "data unavailable here");
    let lines = output[0]["lines"].as_array().unwrap();
    let screened = lines.iter().find(|line| line["row"] == "screened").unwrap();
    let used: f64 = screened["setting"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(used <= 5.0, "{screened}");
}

#[test]
fn mistakes_are_explained() {
    let folder = folder();
    let message = |change: (&str, &str)| {
        folder.write("experiments/broken/expected.toml", EXPECTED.replace(change.0, change.1));
        folder.run("broken/2 --runs 1 --only strong --quiet").complaint().to_string()
    };
    assert!(
        message(("k = 6, signal = 1,", "k = 7, signal = 1,"))
            .contains("data strong: k must be at most p/10 = 6, got 7")
    );
    assert!(
        message(("generated = { kind = \"drift\"", "train = \"x\"\ngenerated = { kind = \"drift\""))
            .contains("data moving: expected either train or generated")
    );
    let changed = EXPECTED.replace("kind = \"drift\", n = 30000, p", "kind = \"drift\", rows = 30000, p");
    folder.write("experiments/broken/expected.toml", changed);
    assert!(folder.run("broken/2 --quiet").err.contains("unknown field `rows`"));
    let shown = {
        folder.write("experiments/broken/expected.toml", EXPECTED.replace("{ method = \"mcp\"", "{ method = \"mpc\""));
        folder.json("broken/2 --runs 1 --only strong --quiet --json")
    };
    assert!(missing(&shown[0], "strong", "MCP").contains("mpc"), "{shown}");
}
