//! `tamis moments` and `tamis solve` as users run them: merging and subtracting, models by name, bad input.

mod common;

use std::fmt::Write as _;

use common::{Folder, Random, line_csv, one_json_line, rows, svm};

/// A table of `count` rows: y = 1 + 2·a − 3·b·c + noise, d is noise, e never varies.
fn product_csv(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from("a,b,c,d,e,y\n");
    for _ in 0..count {
        let [a, b, c, d] = [random.unit(), random.unit() - 0.5, random.unit() - 0.5, random.unit()];
        let y = 1.0 + 2.0 * a - 3.0 * b * c + 0.01 * (random.unit() - 0.5);
        writeln!(text, "{a},{b:.4},{c:.4},{d},7.5,{y:.6}").unwrap();
    }
    text
}

#[test]
fn one_pass_then_models_of_any_sparsity() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(500));
    let output = folder.ok("moments line.csv -o line.moments --folds 5");
    assert!(output.contains("500 rows, 3 features, target y, 5 folds"), "{output}");
    let two = folder.json("solve line.moments --method ols-th --k 2 --out two.json --json");
    assert_eq!((&two["method"], &two["k"], &two["nonzeros"]), (&"ols-th".into(), &2.into(), &2.into()));
    assert!(two["r2"].as_f64().unwrap() > 0.99 && two["criterion"].is_null());
    let weights = folder.weights("two.json");
    assert!((weights["a"] - 2.0).abs() < 0.01 && (weights["b"] + 1.0).abs() < 0.01, "{weights:?}");
    for (method, more) in [
        ("ols", ""),
        ("ridge", "--lambda 0.001"),
        ("ofsa", "--criterion bic"),
        ("lasso", "--criterion cv"),
        ("elastic-net", "--criterion aic"),
        ("mcp", "--criterion ebic"),
        ("scad", "--k 2 --refit"),
    ] {
        let line = format!("solve line.moments --method {method} {more} --out m.json --json");
        let found = folder.json(&line);
        assert!(found["r2"].as_f64().unwrap() > 0.95, "{line}: {found}");
        let measured = folder.json("eval m.json line.csv --json");
        let gap = measured["r2"].as_f64().unwrap() - found["r2"].as_f64().unwrap();
        assert!(gap.abs() < 1e-9, "{line}: the model does on the rows what the moments say, {gap}");
    }
}

#[test]
fn the_path_shows_when_features_enter() {
    let folder = Folder::new();
    folder.write("line.csv", line_csv(500));
    folder.ok("moments line.csv -o m --folds 4 --quiet");
    let output = folder.ok("solve m --method lasso --criterion cv --path --out l.json");
    assert!(output.contains("cross-validation error") && output.contains("+a") && output.contains("→"), "{output}");
    let path = folder.json("solve m --method ols-th --k 3 --path --out l.json --json");
    let points = path["path"].as_array().unwrap();
    let sizes: Vec<u64> = points.iter().map(|point| point["size"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [0, 1, 2, 3]);
    assert_eq!(points[1]["entered"], serde_json::json!(["a"]));
    assert!(points.iter().all(|point| point["cv_error"].as_f64().unwrap() > 0.0));
}

#[test]
fn files_are_merged_and_subtracted() {
    let folder = Folder::new();
    let text = line_csv(900);
    let lines: Vec<&str> = text.lines().collect();
    let part = |from: usize, to: usize| format!("{}\n{}\n", lines[0], lines[from..to].join("\n"));
    folder.write("all.csv", &text).write("1.csv", part(1, 301)).write("2.csv", part(301, 901));
    for name in ["all", "1", "2"] {
        folder.ok(&format!("moments {name}.csv -o {name}.m --quiet"));
    }
    folder.ok("moments merge 1.m 2.m -o both.m --quiet");
    folder.ok("moments subtract both.m 1.m -o rest.m");
    let weights = |moments: &str| {
        folder.ok(&format!("solve {moments} --method ols --out w.json --quiet"));
        folder.weights("w.json")
    };
    for (a, b) in [("all.m", "both.m"), ("2.m", "rest.m")] {
        let (a, b) = (weights(a), weights(b));
        assert!(a.len() == 3 && a.iter().all(|(name, weight)| (weight - b[name]).abs() < 1e-9), "{a:?} {b:?}");
    }
    let info = folder.json("moments info both.m --json");
    assert_eq!((&info["n_examples"], &info["n_features"]), (&900.into(), &3.into()));
    assert!(folder.ok("moments info 1.m rest.m").contains("rest.m: 600 rows, 3 features, target y"));
}

#[test]
fn threads_and_splits_into_files_change_no_bit() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(3000, 400, 20, 2, 1)));
    folder.ok("moments a.svm -o one.m --threads 1 --quiet");
    folder.ok("moments a.svm -o two.m --threads 2 --quiet");
    assert!(folder.read("one.m") == folder.read("two.m"), "threads change nothing");
    let text = folder.text("a.svm");
    let cut = text.match_indices('\n').nth(777).unwrap().0 + 1;
    folder.write("p1.svm", &text[..cut]).write("p2.svm", &text[cut..]);
    folder.ok("moments p1.svm p2.svm -o parts.m --quiet");
    assert!(folder.read("one.m") == folder.read("parts.m"), "how the data are cut into files changes nothing");
}

#[test]
fn interactions_find_a_product_and_the_model_predicts_with_it() {
    let folder = Folder::new();
    folder.write("p.csv", product_csv(800, 3)).write("new.csv", product_csv(50, 4));
    folder.ok("moments p.csv -o p.m --interactions --quiet");
    let run = folder.run("solve p.m --method ofsa --k 2 --out p.json --json");
    // e and e*e do not vary; a*e, b*e, c*e and d*e are copies.
    assert!(run.err.contains("note: 6 of 20 features do not vary, or are copies"), "{}", run.err);
    assert!(one_json_line(&run.out)["r2"].as_f64().unwrap() > 0.99);
    let weights = folder.weights("p.json");
    assert!((weights["a"] - 2.0).abs() < 0.02 && (weights["b*c"] + 3.0).abs() < 0.05, "{weights:?}");
    assert!(folder.json("eval p.json new.csv --json")["r2"].as_f64().unwrap() > 0.99);
    folder.write("list.txt", "c\tb\n");
    folder.ok("moments p.csv -o l.m --products list.txt --quiet");
    let info = folder.json("moments info l.m --json");
    assert_eq!(info["n_features"], 6);
    folder.ok("solve l.m --method lasso --criterion bic --refit --out l.json --quiet");
    assert!(folder.json("eval l.json new.csv --json")["r2"].as_f64().unwrap() > 0.99);
    folder.write("bad.txt", "b\tnowhere\n");
    assert!(folder.run("moments p.csv -o l.m --products bad.txt").complaint().contains("no column \"nowhere\""));
}

#[test]
fn classes_two_or_more_from_the_same_moments() {
    let folder = Folder::new();
    for classes in [2, 4] {
        folder.write("c.svm", svm(&rows(2000, 40, 10, classes, 5))).write("t.svm", svm(&rows(500, 40, 10, classes, 6)));
        folder.ok("moments c.svm -o c.m --quiet");
        let found = folder.json("solve c.m --method ols-th --k 30 --out c.json --json");
        assert_eq!(found["nonzeros"], 30);
        let measured = folder.json("eval c.json t.svm --json");
        folder.ok("fit c.svm --method sgd --passes 5 --out fit.json --quiet");
        let learned = folder.json("eval fit.json t.svm --json");
        let [ours, other] = [&measured, &learned].map(|measured| measured["error"].as_f64().unwrap());
        assert!(ours < other + 0.03 && ours < 0.5, "{classes} classes: solved {ours}, learned {other}");
        assert!(folder.ok("inspect c.json").contains("ols-th"));
        assert_eq!(folder.ok("predict c.json t.svm").lines().count(), 500);
    }
}

#[test]
fn another_column_can_be_the_target() {
    let folder = Folder::new();
    folder.write("p.csv", product_csv(300, 9));
    folder.ok("moments p.csv -o p.m --more-targets d,c --quiet");
    assert_eq!(folder.json("moments info p.m --json")["targets"].as_array().unwrap().len(), 3);
    assert!(folder.run("solve p.m --method ols --out m.json").complaint().contains("several targets: name one"));
    folder.ok("solve p.m --method ols --target d --out m.json --quiet");
    let names: Vec<String> = folder.weights("m.json").into_keys().collect();
    assert_eq!(names, ["a", "b"], "targets are not features, and e does not vary");
    let measured = folder.json("eval m.json p.csv --json");
    assert!(measured["r2"].as_f64().unwrap().abs() < 0.1, "d is noise: {measured}");
    assert!(folder.run("solve p.m --method ols --target z").complaint().contains("no column \"z\" to predict"));
}

#[test]
fn screening_keeps_the_correlated_features_and_is_suggested_when_needed() {
    let folder = Folder::new();
    folder.write("wide.svm", svm(&rows(400, 3000, 30, 2, 2)));
    let message = folder.run("moments wide.svm -o w.m --memory 20M");
    let message = message.complaint();
    for part in ["columns need", "of memory", "but the limit is 20.0 MiB", "--screen", "a fit with --k"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let fits: usize = message.split("--screen ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    folder.ok(&format!("moments wide.svm -o w.m --memory 20M --screen {} --quiet", fits - 1));
    assert_eq!(folder.json("moments info w.m --json")["n_features"], fits - 1);
    folder.ok("moments wide.svm -o few.m --screen 50 --quiet");
    folder.ok("moments wide.svm -o same.m --features-of few.m --quiet");
    folder.ok("moments merge --again few.m same.m -o both.m --quiet");
    folder.ok("moments wide.svm -o other.m --screen 49 --quiet");
    let message = folder.run("moments merge --again few.m other.m -o both.m");
    assert!(message.complaint().contains("--features-of"), "{}", message.err);
    assert!(
        folder.run_with("moments - --format svm --screen 5", "1 1:1\n").complaint().contains("reads the data twice")
    );
}

#[test]
fn forgetting_follows_a_change() {
    let folder = Folder::new();
    let mut random = Random::new(3);
    let mut text = String::from("x,y\n");
    for row in 0..4000 {
        let x = random.unit();
        let slope = if row < 2000 { 1.0 } else { -1.0 };
        writeln!(text, "{x},{:.6}", slope * x + 0.01 * random.unit()).unwrap();
    }
    folder.write("d.csv", text);
    folder.ok("moments d.csv -o plain.m --quiet");
    folder.ok("moments d.csv -o f.m --decay 0.01 --quiet");
    let slope = |moments: &str| {
        folder.ok(&format!("solve {moments} --method ols --out m.json --quiet"));
        folder.weights("m.json").get("x").copied().unwrap_or(0.0)
    };
    assert!((slope("f.m") + 1.0).abs() < 0.02 && slope("plain.m").abs() < 0.1);
    let output = folder.run("moments merge f.m plain.m -o x.m");
    assert!(
        output.complaint().contains("forgets at the rate 0.01 and the other counts all rows alike"),
        "{}",
        output.err
    );
    assert!(
        folder.run("moments d.csv --decay 0.01 --folds 5").complaint().contains("--decay and --folds are exclusive")
    );
    assert!(folder.run("moments d.csv --decay 1.5").complaint().contains("below 1"));
}

#[test]
fn bad_input_is_told_with_advice() {
    let folder = Folder::new();
    folder.write("a.csv", line_csv(40)).write("b.csv", product_csv(40, 1)).write("empty.csv", "a,b,c,y\n");
    folder.ok("moments a.csv -o a.m --quiet");
    folder.ok("moments b.csv -o b.m --quiet");
    let message = |line: &str| folder.run(line).complaint().to_string();
    assert!(message("moments empty.csv -o e.m").contains("no rows in empty.csv"));
    assert!(message("moments merge a.m b.m -o x.m").contains("is in one table and not in the other"));
    assert!(message("moments subtract a.m a.m -o x.m").contains("cannot subtract 40 rows from 40 rows"));
    assert!(message("moments merge a.m a.csv -o x.m").contains("not a tamis-moments file"));
    assert!(message("moments info nowhere.m").contains("nowhere.m: "));
    assert!(message("solve a.m --method ols-th --k 9").contains("9 features were requested, but only 3 of"));
    assert!(message("solve a.m --method lasso --k 1 --lambda 2").contains("--k and --lambda are exclusive"));
    assert!(
        message("solve a.m --method ofsa --lambda 2").contains("ofsa does not support --lambda: it has no penalty")
    );
    assert!(message("solve a.m --method lasso --criterion cv").contains("make them with --folds 5"));
    assert!(message("solve a.m --method mcp --k 1 --concavity 0.5").contains("--concavity must be a number above 1"));
    assert!(message("solve a.csv --method ols").contains("not a tamis-moments file"));
    assert!(message("moments a.csv -o nowhere/x.m").contains("there is no directory"));
    let mut bytes = folder.read("a.m");
    *bytes.last_mut().unwrap() ^= 1;
    folder.write("bad.m", bytes);
    assert!(message("solve bad.m --method ols").contains("bad.m: damaged"));
    folder.write("one.svm", "1 1:2\n1 1:3\n");
    assert!(message("moments one.svm -o o.m").contains("all 2 rows have the label 1"));
    folder.ok("moments one.svm -o o.m --task binary --quiet");
    assert!(message("solve o.m --method ols").contains("only the class 1"));
    folder.write("two.svm", "2 1:5\n2 1:3 2:1\n");
    folder.ok("moments two.svm -o t.m --task binary --quiet");
    folder.ok("moments merge o.m t.m -o ot.m --quiet");
    folder.ok("solve ot.m --method ols --out ot.json --quiet");
    assert!(!folder.path("model.json").exists(), "a failed command leaves no model");
}
