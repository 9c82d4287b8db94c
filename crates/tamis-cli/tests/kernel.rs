//! `--method kernel`: planted interactions are found, noise is not, and all commands know such a model.

mod common;

use std::fmt::Write as _;

use common::Folder;
use serde_json::Value;
use tamis::rng::{RngStream, generator, uniform};

/// One search instead of four, for tests that are about something else.
const ONE_SEARCH: &str = "--inputs z-score --family mixed";

/// Rows of numbers from −1 to 1, with a label made of the row and of one more number: labels first, as svmlight.
fn rows(seed: u64, count: usize, columns: usize, label: impl Fn(&[f64], f64) -> f64) -> String {
    let mut random = generator(seed, RngStream::PassOrder, 0);
    let mut text = String::new();
    for _ in 0..count {
        let row: Vec<f64> = (0..columns).map(|_| 2.0 * uniform(&mut random) - 1.0).collect();
        let noise = (0..12).map(|_| uniform(&mut random)).sum::<f64>() - 6.0;
        write!(text, "{}", label(&row, noise)).unwrap();
        row.iter().enumerate().for_each(|(at, value)| write!(text, " {}:{value}", at + 1).unwrap());
        text.push('\n');
    }
    text
}

/// The exclusive or of the signs of two columns; a tenth of the labels is wrong.
fn xor(row: &[f64], noise: f64) -> f64 {
    let sign = (row[2] * row[5]).signum();
    if noise > 1.28 { -sign } else { sign }
}

/// Friedman's first function (Friedman 1991) of the first five columns.
fn friedman(row: &[f64], noise: f64) -> f64 {
    let x: Vec<f64> = row.iter().map(|value| (value + 1.0) / 2.0).collect();
    let waves = 10.0 * (std::f64::consts::PI * x[0] * x[1]).sin();
    waves + 20.0 * (x[2] - 0.5).powi(2) + 10.0 * x[3] + 5.0 * x[4] + noise
}

fn names(found: &Value) -> Vec<String> {
    let features = found["features"].as_array().expect("a list");
    features.iter().map(|feature| feature["name"].as_str().expect("a name").to_string()).collect()
}

#[test]
fn an_interaction_without_main_effects_is_found_among_many_columns() {
    let folder = Folder::new();
    folder.write("train.svm", rows(1, 400, 60, xor)).write("test.svm", rows(2, 1000, 60, xor));
    let fitted = folder.json("fit train.svm --method kernel --json --quiet --out m.json");
    assert_eq!(
        (fitted["nonzeros"].as_u64(), &fitted["kernel"]["is_better_than_constant"]),
        (Some(2), &Value::Bool(true))
    );
    assert_eq!(fitted["kernel"]["is_linear_as_good"], false);
    let found = folder.json("inspect m.json --json");
    let mut kept = names(&found);
    kept.sort();
    assert_eq!(kept, ["3", "6"]);
    let pair = &found["kernel"]["interactions"][0];
    let mut both: Vec<&str> = pair["variables"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    both.sort_unstable();
    assert_eq!(both, ["3", "6"]);
    assert!(pair["least"].as_f64().unwrap() > 0.0);
    let measured = folder.json("eval m.json test.svm --json");
    let error = measured["error"].as_f64().unwrap();
    assert!(error < 0.16, "a tenth of the labels is wrong: {measured}");
    let held_out = fitted["heldout_error"].as_f64().unwrap();
    assert!((held_out - error).abs() < 0.06, "held-out {held_out}, on other rows {error}");
    let linear = found["kernel"]["linear"]["error"].as_f64().unwrap();
    assert!(linear > 0.4, "no linear model can do it: {linear}");
    let text = folder.ok("inspect m.json");
    for part in ["interaction", "with 3", "with 6", "constant", "linear", "◄ this model", "sensitivity: mean product"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(folder.ok("predict m.json test.svm").lines().count(), 1000);
    let csv = folder.ok("inspect m.json --csv");
    assert!(csv.starts_with("name,sensitivity,least,share,q\n") && csv.lines().count() == 3, "{csv}");
    for feature in found["features"].as_array().unwrap() {
        assert!(feature["q"].as_f64().unwrap() < 0.001, "{feature}");
    }
    assert!(pair["q"].as_f64().unwrap() < 0.001, "on the scale of log-odds, too: {pair}");
    let confirmed = found["kernel"]["confirmed"].as_array().unwrap();
    assert!(confirmed.iter().any(|name| name == "3") && confirmed.iter().any(|name| name == "6"), "{confirmed:?}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("confirmed at q ≤ 0.1 on rows of outer folds, 2 of them in this model"), "{flat}");
}

#[test]
fn noise_is_nothing_found() {
    let folder = Folder::new();
    let noise = |_: &[f64], noise: f64| if noise > 0.0 { 1.0 } else { 0.0 };
    folder.write("noise.svm", rows(3, 300, 40, noise));
    let out = folder.ok("fit noise.svm --method kernel --out m.json");
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("nothing found: no number of variables predicts held-out rows better than a constant"),
        "{flat}"
    );
    let found = folder.json("inspect m.json --json");
    assert_eq!((found["nonzeros"].as_u64(), names(&found).len()), (Some(0), 0));
    assert_eq!(found["kernel"]["confirmed"], serde_json::json!([]));
    let margins = folder.ok("predict m.json noise.svm --output margin");
    let first = margins.lines().next().expect("a line");
    assert!(margins.lines().all(|line| line == first), "a constant");
    folder.ok("resize m.json --k 1 --out one.json");
    assert_eq!(folder.json("inspect one.json --json")["nonzeros"], 1);
    let page = {
        folder.ok("report m.json -o page.html");
        folder.text("page.html")
    };
    assert!(page.contains("Nothing found"));
}

#[test]
fn curves_and_sizes_of_a_regression_need_no_data() {
    let folder = Folder::new();
    folder.write("train.svm", rows(4, 500, 25, friedman)).write("test.svm", rows(5, 1000, 25, friedman));
    folder.ok("fit train.svm --method kernel --quiet --out m.json --report fitted.html");
    let found = folder.json("inspect m.json --json");
    let kept = names(&found);
    assert!(["1", "2", "3", "4", "5"].iter().all(|name| kept.iter().any(|one| one == name)), "{kept:?}");
    assert!(kept.len() <= 6, "at most one false: {kept:?}");
    let r2 = |model: &str| folder.json(&format!("eval {model} test.svm --json"))["r2"].as_f64().unwrap();
    assert!(r2("m.json") > 0.88, "{}", r2("m.json"));
    let curve = &found["features"].as_array().unwrap().iter().find(|one| one["name"] == "3").unwrap()["curve"];
    let margins: Vec<f64> = curve["margins"][0].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
    let middle = margins[margins.len() / 2];
    assert!(margins[0] > middle + 1.0 && margins.last().unwrap() > &(middle + 1.0), "a parabola: {margins:?}");
    let told = folder.json("resize m.json --k 2 --out two.json --json");
    assert_eq!((told["nonzeros"].as_u64(), told["size"].as_u64()), (Some(2), Some(2)));
    assert!(r2("two.json") < r2("m.json") && r2("two.json") > 0.2);
    let sizes = found["kernel"]["sizes"].as_array().unwrap();
    let of_two = sizes.iter().find(|size| size["size"] == 2).unwrap();
    let resized = folder.json("inspect two.json --json");
    assert_eq!(resized["seen"]["progressive_loss"], of_two["score"]["loss"]);
    let refused = folder.run("resize m.json --k 20 --out no.json");
    assert!(
        refused.complaint().contains("has no function of 20 variables; it has those of 1, 2, 3"),
        "{}",
        refused.err
    );
    let refused = folder.run("resize m.json --frequency 0.5 --out no.json");
    assert!(refused.complaint().contains("a kernel model is resized by its number of features"), "{}", refused.err);
    let page = folder.text("fitted.html");
    for part in ["Selected variables", "Error against number of variables", "Interactions", "linear model", "constant"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.matches("<figure>").count() >= 6, "a curve a variable");
}

#[test]
fn a_model_depends_on_the_rows_alone() {
    let folder = Folder::new();
    let text = rows(6, 200, 12, xor);
    let mut lines: Vec<&str> = text.lines().collect();
    folder.write("a.svm", &text);
    lines.reverse();
    lines.rotate_left(31);
    folder.write("b.svm", lines.join("\n") + "\n");
    let model = |flags: &str| folder.model(&format!("{flags} --method kernel {ONE_SEARCH}"));
    let first = model("a.svm --threads 1");
    assert!(first == model("a.svm --threads 3"), "threads leave no trace");
    assert!(first == model("b.svm --threads 2"), "nor does the order of the rows");
    assert!(first != model("a.svm --seed 1"), "the seed does");
}

#[test]
fn classes_categories_weights_and_missing_cells() {
    let folder = Folder::new();
    let mut random = generator(7, RngStream::PassOrder, 0);
    let mut table = |count: usize| {
        let mut text = "kind,town,x,y,z,weight\n".to_string();
        for _ in 0..count {
            let [x, y, z, t, e] = [0; 5].map(|_| 2.0 * uniform(&mut random) - 1.0);
            let town = if t > 0.0 { "Rome" } else { "Oslo" };
            let inside = x * x + y * y < 0.6;
            let kind = match (inside, town) {
                (true, _) => "disc",
                (false, "Rome") => "warm",
                _ => "cold",
            };
            let y = if e > 0.96 { String::new() } else { y.to_string() };
            writeln!(text, "{kind},{town},{x},{y},{z},{}", 1.0 + t.abs()).unwrap();
        }
        text
    };
    folder.write("train.csv", table(500)).write("test.csv", table(600));
    let line = "fit train.csv --target kind --weight-column weight --method kernel --json --quiet --out m.json";
    let fitted = folder.json(line);
    assert_eq!(fitted["task"], "multiclass");
    let kept = names(&folder.json("inspect m.json --json"));
    for column in ["x", "y"] {
        assert!(kept.iter().any(|name| name == column), "{column}: {kept:?}");
    }
    assert!(kept.iter().any(|name| name.starts_with("town=")), "{kept:?}");
    let measured = folder.json("eval m.json test.csv --json");
    assert!(measured["error"].as_f64().unwrap() < 0.12, "{measured}");
    assert!(measured["log_loss"].as_f64().unwrap() < 0.35, "calibrated: {measured}");
    let predicted = folder.ok("predict m.json test.csv --output probability --json");
    for line in predicted.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let shares = row["probabilities"].as_object().or(row["probability"].as_object()).expect("a share a class");
        let sum: f64 = shares.values().filter_map(Value::as_f64).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{line}");
    }
    let other = folder.json("fit train.csv --target kind --ignore weight --method kernel --json --quiet --out n.json");
    assert_ne!(other["heldout_loss"], fitted["heldout_loss"], "weights matter");
}

#[test]
fn a_linear_truth_is_told() {
    let folder = Folder::new();
    let line = |row: &[f64], noise: f64| 3.0 * row[0] - 2.0 * row[1] + row[2] + 0.5 * noise;
    folder.write("line.svm", rows(8, 300, 20, line));
    let out = folder.ok(&format!("fit line.svm --method kernel {ONE_SEARCH} --out m.json"));
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("a linear model does as well on held-out rows: use another method, such as stabilized"),
        "{flat}"
    );
    assert_eq!(folder.json("inspect m.json --json")["kernel"]["is_linear_as_good"], true);
}

#[test]
fn k_is_exact() {
    let folder = Folder::new();
    folder.write("train.svm", rows(9, 200, 15, xor));
    for k in [3, 9] {
        let fitted =
            folder.json(&format!("fit train.svm --method kernel {ONE_SEARCH} --k {k} --json --quiet --out m.json"));
        assert_eq!(fitted["nonzeros"], k);
    }
}

#[test]
fn tune_and_stability_know_the_method() {
    let folder = Folder::new();
    folder.write("train.svm", rows(10, 160, 8, xor));
    let line = format!("stability train.svm --method kernel {ONE_SEARCH} --k 2 --runs 3 --json --quiet");
    let stable = folder.json(&line);
    assert_eq!((stable["kappa"].as_f64(), stable["mean_nonzeros"].as_f64()), (Some(1.0), Some(2.0)), "{stable}");
    let line = format!("tune train.svm --method kernel {ONE_SEARCH} --grid k=1,2 --folds 2 --quiet --out tuned.json");
    folder.ok(&line);
    assert_eq!(
        folder.json("inspect tuned.json --json")["nonzeros"],
        2,
        "one variable of an exclusive or predicts nothing"
    );
}

#[test]
fn more_variables_than_can_be_paired_are_told() {
    let folder = Folder::new();
    folder.write("wide.svm", rows(11, 60, 2100, |row, _| row[0].signum()));
    let run = folder.run(&format!("fit wide.svm --method kernel {ONE_SEARCH} --out m.json"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("pairs with the other 100 were not looked at"), "{}", run.err);
    let scan = folder.json("inspect m.json --json")["kernel"]["scan"].clone();
    assert_eq!((scan["variables"].as_u64(), scan["in_pairs"].as_u64()), (Some(2100), Some(2000)));
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let folder = Folder::new();
    folder.write("few.svm", rows(12, 20, 3, xor_of_three_columns));
    folder.write("constant.svm", "1 1:5\n2 1:5\n3.5 1:5\n".repeat(40));
    folder.write("one.svm", "1 1:5 2:1\n1 1:3\n".repeat(40));
    folder.write("good.svm", rows(13, 100, 6, xor));
    let refused = |line: &str| folder.run(&format!("fit {line} --method kernel --out m.json")).complaint().to_string();
    assert!(
        refused("few.svm").contains("kernel: 20 rows are too few; at least 48 are needed"),
        "{}",
        refused("few.svm")
    );
    assert!(refused("constant.svm").contains("kernel: every column is constant"), "{}", refused("constant.svm"));
    assert!(refused("one.svm").contains("all 80 rows have the label 1"), "{}", refused("one.svm"));
    assert!(refused("good.svm --k 60").contains("--k and --max-variables are exclusive"));
    assert!(
        refused("good.svm --loss hinge").contains("kernel does not support --loss hinge: it minimises the squared")
    );
    for flags in ["--refit", "--scale max-abs", "--interactions 1*2", "--hash-bits 9", "--no-intercept"] {
        assert!(refused(&format!("good.svm {flags}")).contains("kernel does not support"), "{flags}");
    }
    assert!(!folder.names().contains(&"m.json".to_string()), "nothing is written");
}

fn xor_of_three_columns(row: &[f64], _: f64) -> f64 {
    (row[0] * row[1] * row[2]).signum()
}
