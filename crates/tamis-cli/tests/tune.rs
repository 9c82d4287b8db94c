//! `tamis tune`: cross-validation, the same on any number of threads, the curve file, and the fitted model.

mod common;

use common::{Folder, line_csv, rows, svm};
use serde_json::Value;

/// A folder with small data of two classes.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(300, 40, 6, 2, 3)));
    folder
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn the_whole_curve_is_told_and_one_setting_is_taken() {
    let folder = folder();
    let line = "tune d.svm --method ftrl --l1 0.3,3,30,300 --json --quiet --out m.json --curve c.json";
    let output = folder.json(line);
    let settings = output["settings"].as_array().unwrap();
    let penalties: Vec<f64> = settings.iter().map(|one| number(&one["setting"]["l1"])).collect();
    assert_eq!(penalties, [0.3, 3.0, 30.0, 300.0]);
    let sizes: Vec<f64> = settings.iter().map(|one| number(&one["nonzeros"])).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[3] == 0.0, "more penalty, fewer features: {sizes:?}");
    for one in settings {
        let folds = one["folds"].as_array().unwrap();
        let all: f64 = folds.iter().map(|fold| number(&fold["rows"])).sum();
        assert_eq!((folds.len(), all), (5, 300.0), "every row is measured on once");
        let wrong: f64 = folds.iter().map(|fold| number(&fold["rows"]) * number(&fold["value"])).sum();
        assert!((wrong / 300.0 - number(&one["mean"])).abs() < 1e-12);
    }
    // The rule, by hand: the fewest features within one standard error of the least error.
    let key = |one: &&Value| (1e9 * number(&one["mean"])) as u64;
    let best = settings.iter().min_by_key(key).unwrap();
    let limit = number(&best["mean"]) + number(&best["standard_error"]);
    let within = settings.iter().filter(|one| number(&one["mean"]) <= limit);
    let sparsest = within.min_by_key(|one| number(&one["nonzeros"]) as u64).unwrap();
    assert_eq!(&output["chosen"], sparsest);
    // The model is what fit makes with the chosen setting.
    let fitted = folder.model(&format!("d.svm --method ftrl --l1 {}", output["chosen"]["setting"]["l1"]));
    assert!(fitted == folder.read("m.json"), "the model of the chosen setting, learned from all rows");
    let curve: Value = serde_json::from_str(&folder.text("c.json")).unwrap();
    assert_eq!(curve["settings"], output["settings"]);
}

#[test]
fn threads_and_files_change_nothing() {
    let folder = folder();
    let text = folder.text("d.svm");
    let half = text.match_indices('\n').nth(123).unwrap().0 + 1;
    folder.write("parts/a.svm", &text[..half]).write("parts/b.svm", &text[half..]);
    let line = "--method rda --loss hinge,logistic --folds 4 --quiet --out m.json --curve c.csv";
    let outcomes = ["d.svm --threads 1", "d.svm --threads 2", "d.svm --threads 5", "parts --threads 2"].map(|data| {
        let shown = folder.ok(&format!("tune {data} {line}"));
        (shown, folder.text("c.csv"), folder.read("m.json"))
    });
    outcomes[1..].iter().for_each(|outcome| assert!(*outcome == outcomes[0], "{}\n{}", outcome.0, outcomes[0].0));
    let curve = &outcomes[0].1;
    assert!(curve.starts_with("loss,gamma,l1,mean,standard_error,nonzeros,fold1,fold2,fold3,fold4,chosen\n"));
    assert_eq!(curve.lines().filter(|line| line.ends_with(",1")).count(), 1, "one is chosen:\n{curve}");
}

#[test]
fn a_seed_deals_other_folds() {
    let folder = folder();
    let [one, same, other] = [1, 1, 2].map(|seed| {
        folder.json(&format!("tune d.svm --method sgd --learning-rate 0.5 --seed {seed} --json --quiet --no-fit"))
            ["settings"][0]["folds"]
            .clone()
    });
    assert_eq!(one, same);
    assert_ne!(one, other);
}

#[test]
fn k_is_a_list_like_any_other() {
    let folder = folder();
    let output = folder.json("tune d.svm --method fofs --k 2,5 --rule min --json --quiet --out m.json");
    let k = number(&output["chosen"]["setting"]["k"]);
    assert_eq!(output["settings"].as_array().unwrap().len(), 2);
    assert_eq!(number(&output["nonzeros"]), k);
}

#[test]
fn any_field_can_be_listed() {
    let folder = folder();
    let output = folder.json(
        "tune d.svm --method ftrl --grid scale=max-abs,none --grid passes=1,3 --l1 1 --learning-rate 1 --json --quiet --no-fit",
    );
    let settings: Vec<String> =
        output["settings"].as_array().unwrap().iter().map(|one| one["setting"].to_string()).collect();
    assert_eq!(settings[1], r#"{"scale":"max-abs","passes":3}"#);
    assert_eq!(settings.len(), 4);
    assert!(!folder.names().contains(&"model.json".to_string()), "--no-fit writes no model");
}

#[test]
fn numbers_are_measured_by_their_rmse() {
    let folder = Folder::new();
    folder.write("d.csv", line_csv(200));
    let output = folder.json("tune d.csv --method ftrl --json --quiet --rule min");
    assert_eq!(output["measure"], "rmse");
    assert!(number(&output["chosen"]["mean"]) < 0.2, "{}", output["chosen"]);
}

#[test]
fn complaints_say_what_to_do() {
    let folder = folder();
    let message = |line: &str| folder.run(line).complaint().to_string();
    assert_eq!(
        message("tune d.svm --method ftrl --grid l1=1,a"),
        "l1=a: --l1 must be a number of at least 0, got \"a\""
    );
    assert!(message("tune d.svm --method ftrl --k 3 --l1 1,2").contains("--k and --l1 are exclusive"));
    assert!(
        message("tune d.svm --method ftrl --folds 1").contains("the number of folds must lie between 2 and 300, got 1")
    );
    assert!(message("tune d.svm --curve curve.txt").contains("curve.txt: the curve is written as .json or .csv"));
    assert!(
        message("tune d.svm --method ftrl --loss hinge --l1 1 --measure log-loss").contains("log-loss does not apply")
    );
    assert!(message("tune d.svm --measure rmse --l1 1 --method ftrl").contains("classes are predicted; use error"));
    let run = folder.run_with("tune - --format svm", "1 1:1\n");
    assert!(run.complaint().contains("<stdin> can be read only once"), "{}", run.err);
    assert_eq!(message("tune none.svm"), "none.svm: No such file or directory (os error 2)");
}

#[test]
fn a_setting_that_diverges_is_shown_and_not_taken() {
    let folder = Folder::new();
    folder.write("d.csv", line_csv(100));
    let line = "tune d.csv --method sgd --schedule constant --scale none --learning-rate 0.1,1e200 --quiet --no-fit --rule min";
    let shown = folder.ok(line);
    assert!(shown.contains("diverged") && shown.contains("selected by min: learning-rate 0.1"), "{shown}");
    let output = folder.run("tune d.csv --method sgd --schedule constant --scale none --learning-rate 1e200 --no-fit");
    assert!(output.complaint().contains("no setting could be fitted"), "{}", output.err);
}
