//! The stabilized learner as a user meets it: the ladder while it fits, in the model, and cut again without data.

mod common;

use std::collections::BTreeSet;

use common::{Folder, line_csv, rows, svm};
use serde_json::Value;

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

/// The size of the rung that became the model.
fn chosen(inspected: &Value) -> &Value {
    let mut chosen = list(&inspected["ladder"]).iter().filter(|step| step["chosen"] == true);
    let step = chosen.next().expect("one is chosen");
    assert!(chosen.next().is_none(), "only one");
    step
}

#[test]
fn fitting_shows_each_rung_as_it_is_finished() {
    let folder = fitted();
    let run = folder.run(&format!("fit d.svm {FIT}"));
    let told = inspected(&folder, "m.json");
    let mut lines = run.err.lines();
    assert_eq!(lines.next(), Some("features   error      loss       (on rows the features were chosen without)"));
    let ladder = list(&told["ladder"]);
    assert_eq!((number(&ladder[0]["size"]), ladder.len() >= 3), (80.0, true), "{ladder:?}");
    for (line, step) in lines.zip(ladder) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], step["size"].to_string());
        assert_eq!(words[1], format!("{:.2}", 100.0 * number(&step["error"])));
        assert!((words[3].parse::<f64>().unwrap() - number(&step["loss"])).abs() < 1e-6);
    }
    assert_eq!(run.err.lines().count(), 1 + ladder.len(), "{}", run.err);
    let quiet = folder.run(&format!("fit d.svm {FIT} --quiet"));
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn the_summary_says_which_rung_why_and_what_half_would_cost() {
    let folder = fitted();
    let shown = folder.ok(&format!("fit d.svm {FIT}"));
    let told = inspected(&folder, "m.json");
    let (ladder, taken) = (list(&told["ladder"]), chosen(&told));
    let worth = |step: &Value| {
        let [error, spread] = ["error", "standard_error"].map(|key| 100.0 * number(&step[key]));
        format!("{} features, error {error:.2} ± {spread:.2} %", step["size"])
    };
    assert!(shown.contains(&format!("rung taken: {}: the ", worth(taken))), "{shown}");
    let at = ladder.iter().position(|step| step["chosen"] == true).unwrap();
    let half = match ladder.get(at + 1) {
        Some(step) => worth(step),
        None => format!("{} features, not judged", number(&taken["size"]) as u64 / 2),
    };
    assert!(shown.contains(&format!("half as many: {half}")), "{shown}");
    let shown = folder.ok(&format!("fit d.svm {FIT} --k 9"));
    assert!(shown.contains("rung taken: 9 features") && shown.contains(": as many as were asked for"), "{shown}");
    assert!(shown.contains("half as many: 4 features, not judged: no smaller rung was built"), "{shown}");
    assert!(shown.contains("(tamis recut m.json --k 4 --out SMALLER)"), "{shown}");
}

#[test]
fn inspecting_shows_votes_evidence_and_the_ladder() {
    let folder = fitted();
    let told = inspected(&folder, "m.json");
    let features = list(&told["features"]);
    assert_eq!(chosen(&told)["size"], features.len());
    for feature in features {
        assert!((0.0..=1.0).contains(&number(&feature["stability"])) && number(&feature["evidence_spread"]) >= 0.0);
        let [weight, evidence] = ["weight", "evidence"].map(|key| number(&feature[key]));
        assert!(weight * evidence != 0.0);
    }
    let shown = folder.ok("inspect m.json --top 0");
    let head = shown.lines().find(|line| line.starts_with("feature ")).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["feature", "weight", "stability", "evidence", "effect"]);
    let first = &features[0];
    let cells = format!(
        "{:.0} %  {:.1} ± {:.1}",
        100.0 * number(&first["stability"]),
        number(&first["evidence"]),
        number(&first["evidence_spread"])
    );
    let line = shown.lines().nth(1 + shown.lines().position(|line| line == head).unwrap()).unwrap();
    let close = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(close(line).contains(&close(&cells)), "{line} {cells}");
    assert_eq!(shown.matches("◄ model").count(), 1, "{shown}");
    let stable = features.iter().filter(|feature| number(&feature["stability"]) >= 0.75).count();
    assert!(shown.contains(&format!("{stable} of {} features have a stability Π ≥ 0.75", features.len())), "{shown}");
    assert_eq!(told["stable"]["features"], stable);
    let bound = number(&chosen(&told)["selected"]).powi(2) / (0.5 * number(&told["ladder"][0]["size"]));
    assert!((number(&told["stable"]["false_selections"]) - bound).abs() < 1e-12);
    let told = close(&shown);
    assert!(told.contains("indicative") && told.contains(&format!("at most {bound:.2}")), "{shown}");
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_is_told() {
    let folder = fitted();
    let shown = |columns: &str| {
        let output = folder.command("inspect m.json").env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let tables = |text: &str| -> Vec<String> {
        let of_a_table =
            |line: &&str| line.contains(['#', '±', '◄']) && !line.contains("rows its") && !line.contains(';');
        text.lines().filter(of_a_table).map(String::from).collect()
    };
    for columns in [40, 60, 80, 120] {
        let text = shown(&columns.to_string());
        let lines = tables(&text);
        assert!(lines.len() > 10, "{text}");
        for line in lines {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert_eq!(text.contains("no room for"), columns < 60, "{text}");
    }
    assert!(shown("40").contains("(no room for evidence; see --json)"), "{}", shown("40"));
}

#[test]
fn the_table_for_programs_has_all_columns() {
    let folder = fitted();
    let csv = folder.ok("inspect m.json --top 0 --csv");
    let told = inspected(&folder, "m.json");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("name,weight,scale,stability,evidence,evidence_spread"));
    for (line, feature) in lines.zip(list(&told["features"])) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], feature["name"].as_str().unwrap());
        let keys = ["weight", "scale", "stability", "evidence", "evidence_spread"];
        let numbers: Vec<f64> = keys.map(|key| number(&feature[key])).into();
        assert_eq!(cells[1..].iter().map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>(), numbers);
    }
    folder.ok("fit d.svm --method ftrl --quiet --out f.json");
    let plain = inspected(&folder, "f.json");
    assert!(plain["ladder"].is_null() && plain["features"][0]["evidence"].is_null(), "{plain}");
    assert!(folder.ok("inspect f.json --csv").lines().nth(1).unwrap().ends_with(",,,"));
    assert!(!folder.ok("inspect f.json").contains("ladder"));
}

#[test]
fn every_smaller_size_is_one_cut_away() {
    let folder = fitted();
    let before = inspected(&folder, "m.json");
    let names = |told: &Value| -> BTreeSet<String> {
        list(&told["features"]).iter().map(|feature| feature["name"].to_string()).collect()
    };
    let kept: Vec<&Value> = list(&before["ladder"]).iter().filter(|step| step["recut"] == true).collect();
    let most = number(&kept[0]["size"]) as u64;
    assert!(most >= number(&chosen(&before)["size"]) as u64);
    for size in 1..=most {
        let told = folder.json(&format!("recut m.json --k {size} --out r.json --json"));
        let after = inspected(&folder, "r.json");
        assert_eq!((&told["nonzeros"], names(&after).len() as u64), (&size.into(), size));
        assert_eq!(folder.ok("predict r.json d.svm").lines().count(), 600);
        match kept.iter().find(|step| step["size"] == size) {
            Some(step) => {
                assert_eq!(
                    (&told["rung"], &told["error"], &told["between"]),
                    (&step["size"], &step["error"], &Value::Null)
                );
                assert_eq!(chosen(&after)["size"], size);
            }
            None => {
                let larger = kept.iter().rfind(|step| number(&step["size"]) > size as f64).unwrap();
                let smaller = kept.iter().find(|step| number(&step["size"]) < size as f64).map(|step| &step["size"]);
                assert_eq!(told["between"], serde_json::json!([larger["size"], smaller]));
                assert!(told["error"].is_null(), "it was not judged");
            }
        }
    }
    let size = number(&chosen(&before)["size"]) as u64;
    folder.ok(&format!("recut r.json --k {size} --out back.json"));
    assert_eq!(folder.read("back.json"), folder.read("m.json"), "nothing was lost on the way");
}

#[test]
fn a_cut_says_what_it_gives_up() {
    let folder = fitted();
    folder.ok(&format!("fit d.svm {FIT} --k 8 --quiet"));
    let before = inspected(&folder, "m.json");
    let sizes: Vec<u64> = list(&before["ladder"]).iter().map(|step| number(&step["size"]) as u64).collect();
    assert_eq!(sizes, [80, 40, 20, 8]);
    let shown = folder.ok("recut m.json --k 12 --out r.json");
    assert!(shown.starts_with("12 features instead of 8\nnow:    not judged itself, between the rungs of 20 (error "));
    assert!(shown.contains(" %) and 8 (error ") && shown.ends_with("model: r.json\n"), "{shown}");
    assert!(shown.contains("before: error ") && shown.contains("on rows its features were chosen without"), "{shown}");
    let cut = folder.ok("inspect r.json");
    assert!(cut.contains("◄ cut from") && cut.contains("not judged itself, between the rungs of 20"), "{cut}");
    let shown = folder.ok("recut m.json --k 20 --out r.json");
    assert!(shown.starts_with("20 features instead of 8\nnow:    error "), "{shown}");
    let shown = folder.ok("recut m.json --k 3 --out r.json");
    assert!(shown.contains("not judged itself, below the smallest rung of 8 (error "), "{shown}");
}

#[test]
fn a_cutoff_keeps_the_surest() {
    let folder = fitted();
    let stabilities: Vec<f64> =
        list(&inspected(&folder, "m.json")["features"]).iter().map(|feature| number(&feature["stability"])).collect();
    let most = stabilities.iter().copied().fold(0.0, f64::max);
    for cutoff in [0.0, 0.6, most] {
        let told = folder.json(&format!("recut m.json --cutoff {cutoff} --out r.json --json"));
        assert_eq!(told["nonzeros"], stabilities.iter().filter(|share| **share >= cutoff).count());
        assert_eq!(told["false_selections"].is_f64(), cutoff > 0.5);
    }
    let shown = folder.ok(&format!("recut m.json --cutoff {most} --out r.json"));
    assert!(shown.contains(&format!(", those with a stability Π ≥ {most}\n")), "{shown}");
    assert!(shown.contains("expected by chance: at most ") && shown.contains("(indicative)"), "{shown}");
}

#[test]
fn complaints_say_what_to_do() {
    let folder = fitted();
    folder.ok("fit d.svm --method ftrl --quiet --out f.json");
    let told = |line: &str| folder.run(line).complaint().to_string();
    assert_eq!(
        told("recut f.json --k 3 --out r.json"),
        "f.json: the model keeps no ladder: only models of the method `stabilized` can be cut again"
    );
    assert!(told("recut m.json --k 1000 --out r.json").ends_with("; fit again with --k 1000"));
    assert_eq!(told("recut m.json --k 0 --out r.json"), "m.json: at least one feature must stay");
    assert_eq!(told("recut m.json --cutoff 1.5 --out r.json"), "m.json: the share of paths must lie between 0 and 1");
    assert_eq!(told("recut m.json --cutoff -1 --out r.json"), "m.json: the share of paths must lie between 0 and 1");
    assert_eq!(told("recut m.json --k 3 --out no/r.json"), "no/r.json: cannot be written: there is no directory no");
    assert!(told("recut d.svm --k 3 --out r.json").contains("d.svm: not a tamis model"));
    assert!(!folder.names().contains(&"r.json".to_string()), "nothing is written");
    for line in ["recut m.json --out r.json", "recut m.json --k 3", "recut m.json --k 3 --cutoff 0.5 --out r.json"] {
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
    // Two columns that are always equal: which of them is kept must not hang on who came first. Texts as labels, too.
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
        let told = folder.json(&format!("recut m.json --k {size} --out r.json --json"));
        assert_eq!((&told["nonzeros"], &inspected(&folder, "r.json")["nonzeros"]), (&size.into(), &size.into()));
        assert_eq!(folder.ok("predict r.json four.svm").lines().count(), 800);
    }
    assert!(folder.ok("inspect m.json").contains(" for each class\n"));
    assert!(
        folder.ok("inspect m.json --csv").starts_with("class,name,weight,scale,stability,evidence,evidence_spread\n0,")
    );
}

#[test]
fn numbers_are_judged_by_their_rmse_or_their_loss() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(300));
    let run = folder.run(&format!("fit line.csv {FIT} --k 2"));
    assert!(run.err.starts_with("features   RMSE       loss "), "{}", run.err);
    assert!(run.out.contains("rung taken: 2 features, RMSE "), "{}", run.out);
    let told = inspected(&folder, "m.json");
    let step = chosen(&told);
    assert!(step["error"].is_null() && number(&step["loss"]) < 0.05, "{step}");
    let shown = folder.ok("inspect m.json");
    let root = format!("{:.6} ± ", number(&step["loss"]).sqrt());
    assert!(shown.contains(&root), "{root} {shown}");
    let run = folder.run(&format!("fit line.csv {FIT} --k 2 --loss huber"));
    assert!(run.out.contains("rung taken: 2 features, loss ") && !run.err.contains("RMSE"), "{}\n{}", run.out, run.err);
}
