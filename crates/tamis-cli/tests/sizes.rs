//! The size path of the stabilized learner: while it fits, in the model, and resized without data.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use common::{Folder, Random, line_csv, rows, svm};
use serde_json::Value;
use tamis::stabilized::{SMALLEST, size_path};

const FIT: &str = "--method stabilized --out m.json";

/// Two classes, 80 features; the model is `m.json`.
fn fitted() -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(600, 80, 8, 2, 3)));
    folder.ok(&format!("fit d.svm {FIT} --quiet"));
    folder
}

fn inspected(folder: &Folder, model: &str) -> Value {
    folder.json(&format!("inspect {model} --top 0 --json"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("a list: {value}"))
}

/// The step of the size path that became the model.
fn chosen(inspected: &Value) -> &Value {
    let mut chosen = list(&inspected["sizes"]).iter().filter(|step| step["chosen"] == true);
    let step = chosen.next().expect("one is chosen");
    assert!(chosen.next().is_none(), "only one");
    step
}

#[test]
fn fit_shows_each_size_when_it_is_fitted() {
    let folder = fitted();
    let run = folder.run(&format!("fit d.svm {FIT}"));
    let output = inspected(&folder, "m.json");
    let mut lines = run.err.lines();
    assert_eq!(lines.next(), Some("features   error      loss       (held-out estimates)"));
    let steps = list(&output["sizes"]);
    assert_eq!((number(&steps[0]["size"]), steps.len() >= 3), (80.0, true), "{steps:?}");
    // Sizes between those that halve come with the larger one, without a line.
    let shown: Vec<&str> = lines.collect();
    assert_eq!(shown.len(), size_path(80, SMALLEST).len(), "{}", run.err);
    for line in shown {
        let words: Vec<&str> = line.split_whitespace().collect();
        let step = steps.iter().find(|step| number(&step["size"]) == words[0].parse::<f64>().unwrap()).unwrap();
        assert_eq!(words[1], format!("{:.2}", 100.0 * number(&step["error"])));
        assert!((words[3].parse::<f64>().unwrap() - number(&step["loss"])).abs() < 1e-6);
    }
    let quiet = folder.run(&format!("fit d.svm {FIT} --quiet"));
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn the_summary_says_which_size_was_selected_and_why() {
    let folder = fitted();
    let shown = folder.ok(&format!("fit d.svm {FIT}"));
    let output = inspected(&folder, "m.json");
    let (steps, taken) = (list(&output["sizes"]), chosen(&output));
    let estimate = |step: &Value| {
        let [error, spread] = ["error", "standard_error"].map(|key| 100.0 * number(&step[key]));
        format!("{} features (error {error:.2} ± {spread:.2} %)", step["size"])
    };
    assert!(shown.contains(&format!("selected {}: ", estimate(taken))), "{shown}");
    let half = steps.iter().find(|step| 2.0 * number(&step["size"]) <= number(&taken["size"])).unwrap();
    assert!(shown.contains(&format!("smaller: {}", estimate(half))), "{shown}");
    let shown = folder.ok(&format!("fit d.svm {FIT} --k 9"));
    assert!(shown.contains("selected 9 features (error ") && shown.contains("): set by --k\n"), "{shown}");
    assert!(shown.contains("smaller: 4 features (error "), "{shown}");
    assert!(shown.contains("`tamis resize m.json --k 4 -o SMALLER`"), "{shown}");
}

#[test]
fn the_summary_counts_the_features_of_the_model() {
    let folder = Folder::new();
    folder.write("constant.csv", "a,y\n".to_string() + &"1,0\n1,1\n".repeat(60));
    let shown = folder.ok(&format!("fit constant.csv {FIT}"));
    assert!(shown.contains("1 feature seen, 0 selected") && shown.contains("selected 0 features (error "), "{shown}");
}

#[test]
fn inspect_shows_frequencies_evidence_and_the_size_path() {
    let folder = fitted();
    let output = inspected(&folder, "m.json");
    let features = list(&output["features"]);
    assert_eq!(chosen(&output)["size"], features.len());
    for feature in features {
        assert!((0.0..=1.0).contains(&number(&feature["frequency"])) && number(&feature["evidence_sd"]) >= 0.0);
        let [weight, evidence] = ["weight", "evidence"].map(|key| number(&feature[key]));
        assert!(weight * evidence != 0.0);
    }
    let shown = folder.ok("inspect m.json --top 0");
    let head = shown.lines().find(|line| line.starts_with("feature ")).unwrap();
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["feature", "weight", "q", "frequency", "evidence", "effect"]
    );
    let first = &features[0];
    let cells = format!(
        "{:.0} %  {:.1} ± {:.1}",
        100.0 * number(&first["frequency"]),
        number(&first["evidence"]),
        number(&first["evidence_sd"])
    );
    let line = shown.lines().nth(1 + shown.lines().position(|line| line == head).unwrap()).unwrap();
    let close = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(close(line).contains(&close(&cells)), "{line} {cells}");
    assert_eq!(shown.matches("◄ this model").count(), 1, "{shown}");
    let confirmed = number(&output["confirmed"]["count"]) as usize;
    let inside = features.iter().filter(|feature| feature["q"].as_f64().is_some_and(|q| q <= 0.1)).count();
    assert!(confirmed >= inside && inside > 0, "{confirmed} {inside}");
    assert!(close(&shown).contains(&format!("{confirmed} features are confirmed (q ≤ 0.1)")), "{shown}");
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_a_note() {
    let folder = fitted();
    let shown = |columns: &str| {
        let output = folder.command("inspect m.json").env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let tables = |text: &str| -> Vec<String> {
        let of_a_table =
            |line: &&str| line.contains(['#', '±', '◄']) && !line.contains("held-out") && !line.contains(';');
        text.lines().filter(of_a_table).map(String::from).collect()
    };
    for columns in [40, 60, 80, 120] {
        let text = shown(&columns.to_string());
        let lines = tables(&text);
        assert!(lines.len() > 10, "{text}");
        for line in lines {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert_eq!(text.contains("terminal too narrow for"), columns < 60, "{text}");
    }
    assert!(shown("40").contains("(terminal too narrow for evidence, frequency;"), "{}", shown("40"));
}

#[test]
fn the_table_for_programs_has_all_columns() {
    let folder = fitted();
    let csv = folder.ok("inspect m.json --top 0 --csv");
    let output = inspected(&folder, "m.json");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("name,weight,scale,q,z,frequency,evidence,evidence_sd"));
    assert!(lines.next().unwrap().starts_with(&format!("(intercept),{},", output["intercept"])));
    for (line, feature) in lines.zip(list(&output["features"])) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], feature["name"].as_str().unwrap());
        let keys = ["weight", "scale", "q", "z", "frequency", "evidence", "evidence_sd"];
        let numbers: Vec<f64> = keys.map(|key| number(&feature[key])).into();
        assert_eq!(cells[1..].iter().map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>(), numbers);
    }
    folder.ok("fit d.svm --method ftrl --quiet --out f.json");
    let plain = inspected(&folder, "f.json");
    assert!(plain["sizes"].is_null() && plain["features"][0]["evidence"].is_null(), "{plain}");
    assert!(folder.ok("inspect f.json --csv").lines().nth(1).unwrap().ends_with(",,,,,"));
    assert!(!folder.ok("inspect f.json").contains("size path"));
}

#[test]
fn a_model_can_be_resized_to_every_smaller_size() {
    let folder = fitted();
    let before = inspected(&folder, "m.json");
    let names = |output: &Value| -> BTreeSet<String> {
        list(&output["features"]).iter().map(|feature| feature["name"].to_string()).collect()
    };
    let kept: Vec<&Value> = list(&before["sizes"]).iter().filter(|step| step["resizable"] == true).collect();
    let most = number(&kept[0]["size"]) as u64;
    assert!(most >= number(&chosen(&before)["size"]) as u64);
    for size in 1..=most {
        let output = folder.json(&format!("resize m.json --k {size} --out r.json --json"));
        let after = inspected(&folder, "r.json");
        assert_eq!((&output["nonzeros"], names(&after).len() as u64), (&size.into(), size));
        assert_eq!(folder.ok("predict r.json d.svm").lines().count(), 600);
        assert_eq!((&output["size"], &output["between"]), (&size.into(), &Value::Null), "every size has an estimate");
        assert_eq!((&chosen(&after)["size"], &chosen(&after)["error"]), (&size.into(), &output["error"]));
        if let Some(step) = kept.iter().find(|step| step["size"] == size) {
            assert_eq!(output["error"], step["error"], "that of the size as it was learned");
        }
        let size = number(&chosen(&before)["size"]) as u64;
        folder.ok(&format!("resize r.json --k {size} --out back.json"));
        assert_eq!(folder.read("back.json"), folder.read("m.json"), "nothing was lost on the way");
    }
}

#[test]
fn resizing_shows_both_estimates() {
    let folder = fitted();
    folder.ok(&format!("fit d.svm {FIT} --k 8 --quiet"));
    let before = inspected(&folder, "m.json");
    let sizes: Vec<u64> = list(&before["sizes"]).iter().map(|step| number(&step["size"]) as u64).collect();
    assert_eq!(
        sizes[..13],
        [80, 75, 67, 56, 50, 47, 40, 33, 30, 27, 25, 22, 20],
        "halves, round numbers, and sizes between them"
    );
    assert_eq!(sizes[13..], [16, 15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1], "all sizes from twelve on");
    let shown = folder.ok("resize m.json --k 14 --out r.json");
    assert!(shown.starts_with("14 features instead of 8\nnow:    held-out error "), "{shown}");
    assert!(shown.contains("before: held-out error ") && shown.ends_with("model: r.json\n"), "{shown}");
    assert!(folder.ok("inspect r.json").contains("◄ this model"), "a size between two others has its own line");
    let [share, features] = ["frequency", "nonzeros"];
    let frequencies: Vec<f64> = list(&before["features"]).iter().map(|feature| number(&feature[share])).collect();
    let most = frequencies.iter().copied().fold(0.0, f64::max);
    let cut = folder.json(&format!("resize m.json --frequency {most} --out r.json --json"));
    assert!(number(&cut[features]) < 8.0 && cut["error"].is_null(), "features of a threshold have no estimate: {cut}");
    let cut = folder.ok("inspect r.json");
    assert!(
        cut.contains("◄ resized from") && cut.contains("no held-out estimate for this size; nearest size"),
        "{cut}"
    );
    for size in [20, 3, 1] {
        let shown = folder.ok(&format!("resize m.json --k {size} --out r.json"));
        let plural = if size == 1 { "" } else { "s" };
        assert!(shown.starts_with(&format!("{size} feature{plural} instead of 8\nnow:    held-out error ")), "{shown}");
    }
}

#[test]
fn a_minimum_frequency_keeps_the_most_stable_features() {
    let folder = fitted();
    let frequencies: Vec<f64> =
        list(&inspected(&folder, "m.json")["features"]).iter().map(|feature| number(&feature["frequency"])).collect();
    let most = frequencies.iter().copied().fold(0.0, f64::max);
    for least in [0.0, 0.6, most] {
        let output = folder.json(&format!("resize m.json --frequency {least} --out r.json --json"));
        assert_eq!(output["nonzeros"], frequencies.iter().filter(|share| **share >= least).count());
    }
    let shown = folder.ok(&format!("resize m.json --frequency {most} --out r.json"));
    assert!(shown.contains(&format!(": those with selection frequency ≥ {most}\n")), "{shown}");
}

#[test]
fn a_false_discovery_rate_keeps_the_confirmed_features() {
    let folder = fitted();
    let features = inspected(&folder, "m.json")["confirmed"].clone();
    let output = folder.json("resize m.json --fdr 0.1 --out r.json --json");
    assert_eq!(output["nonzeros"], features["count"]);
    let listed = inspected(&folder, "r.json");
    assert!(list(&listed["features"]).iter().all(|feature| number(&feature["q"]) <= 0.1), "{listed}");
    let shown = folder.ok("resize m.json --fdr 0.1 --out r.json");
    assert!(shown.contains(": the confirmed ones (q ≤ 0.1)\n"), "{shown}");
    folder.ok("fit d.svm --fdr 0.1 --quiet --out f.json");
    assert_eq!(list(&inspected(&folder, "f.json")["features"]).len(), number(&features["count"]) as usize);
    let shown = folder.ok("fit d.svm --fdr 0.1 --out f.json");
    let selected = shown.lines().find(|line| line.starts_with("selected ")).unwrap();
    let start = format!("selected {} features: those that are confirmed (q ≤ 0.1); ", features["count"]);
    assert!(selected.starts_with(&start), "{shown}");
    let said = folder.json("fit d.svm --fdr 0.1 --out f.json --json");
    let is_a_size = !said["heldout_error"].is_null();
    assert_eq!(
        selected.contains("no held-out estimate"),
        !is_a_size,
        "the error of another size is not this model's: {shown}"
    );
    let message = folder.run("fit d.svm --fdr 0.1 --k 3 --quiet --out f.json").complaint().to_string();
    assert!(message.contains("--k and --fdr"), "{message}");
}

/// `g=a` and `g=b` say the same. The model has one of them, and that one is tested.
#[test]
fn of_two_values_of_a_column_the_one_of_the_model_is_tested() {
    let folder = Folder::new();
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let mut text = String::from("g,u,v,y\n");
        for _ in 0..400 {
            let [side, u, v, noise] = [random.unit(), random.unit(), random.unit(), random.unit()];
            let g = if side < 0.3 + 0.08 * seed as f64 { "a" } else { "b" };
            writeln!(text, "{g},{u},{v},{}", if g == "a" { 1.0 } else { 0.0 } + noise).unwrap();
        }
        folder.write("d.csv", text);
        folder.ok(&format!("fit d.csv --target y {FIT} --quiet"));
        let output = inspected(&folder, "m.json");
        let q = |name: &str| {
            let feature = list(&output["features"]).iter().find(|feature| feature["name"] == name);
            feature.map(|feature| feature["q"].as_f64())
        };
        let found: Vec<Option<f64>> = ["g=a", "g=b"].into_iter().filter_map(q).collect();
        assert!(found.iter().any(|q| q.is_some_and(|q| q < 0.01)), "seed {seed}: {found:?}");
        let shown = folder.ok("inspect m.json");
        assert!(!shown.contains(" 0 of them in this model"), "{shown}");
    }
}

#[test]
fn complaints_say_what_to_do() {
    let folder = fitted();
    folder.ok("fit d.svm --method ftrl --quiet --out f.json");
    let message = |line: &str| folder.run(line).complaint().to_string();
    assert_eq!(
        message("resize f.json --k 3 --out r.json"),
        "f.json: the model has no size path: only models of the methods `stabilized` and `kernel` can be resized"
    );
    assert!(message("resize m.json --k 1000 --out r.json").ends_with("; fit again with --k 1000"));
    assert_eq!(message("resize m.json --k 0 --out r.json"), "m.json: at least one feature must stay");
    assert_eq!(
        message("resize m.json --frequency 1.5 --out r.json"),
        "m.json: the selection frequency must lie between 0 and 1"
    );
    assert_eq!(
        message("resize m.json --frequency -1 --out r.json"),
        "m.json: the selection frequency must lie between 0 and 1"
    );
    assert_eq!(
        message("resize m.json --k 3 --out no/r.json"),
        "no/r.json: cannot be written: there is no directory no"
    );
    assert!(message("resize d.svm --k 3 --out r.json").contains("d.svm: not a tamis model"));
    assert!(!folder.names().contains(&"r.json".to_string()), "nothing is written");
    for line in
        ["resize m.json --out r.json", "resize m.json --k 3", "resize m.json --k 3 --frequency 0.5 --out r.json"]
    {
        assert_eq!(folder.run(line).code, Some(2), "{line}");
    }
}

#[test]
fn threads_change_no_byte() {
    let folder = fitted();
    folder.write("four.svm", svm(&rows(500, 60, 8, 4, 5))).write("line.csv", line_csv(300));
    for data in ["d.svm", "four.svm", "line.csv"] {
        let models = [1, 2, 5].map(|threads| folder.model(&format!("{data} --method stabilized --threads {threads}")));
        assert!(models[0] == models[1] && models[0] == models[2], "{data}");
    }
}

#[test]
fn the_order_of_the_rows_changes_no_byte() {
    let folder = Folder::new();
    // Two columns that are always equal: the one that is kept must not depend on the order of the rows. Labels are
    // text.
    let texts: String = (0..300)
        .map(|row| {
            let (bit, other) = (row % 2, row % 7);
            format!("{} |a twin:{bit} pair:{bit} x{other}:1 y{}:0.{}\n", row % 3 + 1, row % 11, row % 9 + 1)
        })
        .collect();
    let numbers = line_csv(200).replace("\r", "");
    let (head, body) = numbers.split_once('\n').expect("a header");
    for (name, head, body) in [
        ("d.svm", "", svm(&rows(600, 80, 8, 2, 3))),
        ("many.svm", "", svm(&rows(400, 60, 8, 4, 5))),
        ("t.vw", "", texts),
        ("n.csv", head, body.to_string()),
    ] {
        let mut lines: Vec<&str> = body.lines().collect();
        let mut fitted = Vec::new();
        for _ in 0..3 {
            let header = if head.is_empty() { String::new() } else { format!("{head}\n") };
            folder.write(name, format!("{header}{}\n", lines.join("\n")));
            let target = if name == "n.csv" { "--target y" } else { "" };
            folder.ok(&format!("fit {name} {target} {FIT} --quiet"));
            fitted.push(folder.read("m.json"));
            lines.reverse();
            lines.rotate_left(37);
        }
        assert!(fitted[1] == fitted[0] && fitted[2] == fitted[0], "{name}");
    }
}

#[test]
fn many_classes_share_their_features() {
    let folder = Folder::new();
    folder.write("four.svm", svm(&rows(800, 60, 8, 4, 5)));
    folder.ok(&format!("fit four.svm {FIT} --k 16 --quiet"));
    assert_eq!(inspected(&folder, "m.json")["nonzeros"], 16);
    for size in [1, 7, 15] {
        let output = folder.json(&format!("resize m.json --k {size} --out r.json --json"));
        assert_eq!((&output["nonzeros"], &inspected(&folder, "r.json")["nonzeros"]), (&size.into(), &size.into()));
        assert_eq!(folder.ok("predict r.json four.svm").lines().count(), 800);
    }
    assert!(folder.ok("inspect m.json").contains("confirmed"));
    assert!(
        folder.ok("inspect m.json --csv").starts_with("class,name,weight,scale,q,z,frequency,evidence,evidence_sd\n0,")
    );
}

#[test]
fn regression_is_evaluated_by_rmse_or_loss() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(300));
    let run = folder.run(&format!("fit line.csv {FIT} --k 2"));
    assert!(run.err.starts_with("features   RMSE       loss "), "{}", run.err);
    assert!(run.out.contains("selected 2 features (RMSE "), "{}", run.out);
    let output = inspected(&folder, "m.json");
    let step = chosen(&output);
    assert!(step["error"].is_null() && number(&step["loss"]) < 0.05, "{step}");
    let shown = folder.ok("inspect m.json");
    let root = format!("{:.6} ± ", number(&step["loss"]).sqrt());
    assert!(shown.contains(&root), "{root} {shown}");
    let run = folder.run(&format!("fit line.csv {FIT} --k 2 --loss huber"));
    assert!(run.out.contains("selected 2 features (loss ") && !run.err.contains("RMSE"), "{}\n{}", run.out, run.err);
}
