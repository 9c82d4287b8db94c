//! `tamis metric` as users run it: the right variables and products by name, the same bits, plain k-NN where nothing is
//! better, bad input.

mod common;

use std::fmt::Write as _;

use common::{Folder, Random};
use serde_json::Value;

/// Rows of a chequered square: the class is the sign of a·b; the other columns say nothing, `k` never varies.
fn chequered(count: usize, width: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let noise: Vec<String> = (0..width).map(|at| format!("n{at}")).collect();
    let mut text = format!("a,b,{},k,kind\n", noise.join(","));
    for _ in 0..count {
        let [a, b] = [2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0];
        let cells: Vec<String> = (0..width).map(|_| format!("{:.4}", random.unit())).collect();
        writeln!(text, "{a:.4},{b:.4},{},7,{}", cells.join(","), if a * b > 0.0 { "même" } else { "autre" }).unwrap();
    }
    text
}

/// Rows on two rings in the plane of a and b; the other columns say nothing.
fn rings(count: usize, width: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let noise: Vec<String> = (0..width).map(|at| format!("n{at}")).collect();
    let mut text = format!("a,b,{},kind\n", noise.join(","));
    for row in 0..count {
        let (angle, radius) = (std::f64::consts::TAU * random.unit(), (1 + row % 2) as f64 + 0.4 * random.unit());
        let cells: Vec<String> = (0..width).map(|_| format!("{:.4}", random.unit())).collect();
        let [a, b] = [radius * angle.cos(), radius * angle.sin()];
        writeln!(text, "{a:.4},{b:.4},{},{}", cells.join(","), ["inner", "outer"][row % 2]).unwrap();
    }
    text
}

fn names(output: &Value, list: &str) -> Vec<String> {
    output[list].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
}

fn error(folder: &Folder, line: &str) -> f64 {
    folder.json(line)["error"].as_f64().unwrap()
}

#[test]
fn rings_among_many_columns_are_found_by_squares_in_no_more_steps_than_asked_for() {
    let folder = Folder::new();
    folder.write("train.csv", rings(100, 60, 1)).write("test.csv", rings(300, 60, 2));
    let output = folder.json(
        "metric fit train.csv --target kind -o m --json --repeats 1 --max-iter 20 --candidates plain,order-1,squares",
    );
    assert!(output["candidate"].as_str().unwrap().starts_with("squares"), "{output}");
    let terms = names(&output, "terms");
    assert!(["a²", "b²"].iter().all(|name| terms[..3].iter().any(|term| term == name)), "{terms:?}");
    assert!(output["steps"].as_u64().unwrap() <= 20);
    folder.ok("metric fit train.csv --target kind -o plain --candidate plain --quiet");
    let [learned, plain] =
        ["m", "plain"].map(|metric| error(&folder, &format!("metric eval {metric} test.csv --target kind --json")));
    assert!(learned < plain - 0.1, "{learned} against {plain}");
}

#[test]
fn the_variables_that_matter_are_found_and_named() {
    let folder = Folder::new();
    folder.write("train.csv", chequered(300, 8, 1)).write("test.csv", chequered(300, 8, 2));
    let output =
        folder.json("metric fit train.csv --target kind -o m --json --repeats 1 --candidates plain,order-1,order-2");
    assert_eq!((&output["plain"], &output["n_features"]), (&false.into(), &11.into()), "{output}");
    let terms = names(&output, "terms");
    assert!(terms[..3].contains(&"a·b".to_string()), "{terms:?}");
    let variables = names(&output, "variables");
    assert!(variables[..2].contains(&"a".into()) && variables[..2].contains(&"b".into()), "{variables:?}");
    assert!(output["notes"][0].as_str().unwrap().contains("1 of 11 variables are constant"));
    assert_eq!(output["cv_results"].as_array().unwrap().len(), 5);
    let learned = error(&folder, "metric eval m test.csv --target kind --json");
    folder.ok("metric fit train.csv --target kind -o p --candidate plain --quiet");
    let plain = error(&folder, "metric eval p test.csv --target kind --json");
    assert!(learned < 0.15 && plain > 0.25, "learned {learned}, plain {plain}");
    let shown = folder.ok("metric show m");
    assert!(shown.contains("a·b") && shown.contains("autre") && shown.contains("█"), "{shown}");
}

#[test]
fn rows_are_placed_and_classified_line_by_line() {
    let folder = Folder::new();
    let csv = chequered(120, 2, 3);
    folder.write("train.csv", &csv);
    // The same columns without their label.
    let unlabelled: String = csv.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    folder.write("new.csv", unlabelled);
    folder.ok("metric fit train.csv --target kind -o m --candidate order-2 --max-iter 30 --burn-in 2 --quiet");
    let placed = folder.ok("metric transform m train.csv --target kind --components 2");
    let lines: Vec<&str> = placed.lines().collect();
    assert_eq!((lines[0], lines.len()), ("y,axis1,axis2", 121));
    let bare = folder.ok("metric transform m new.csv --components 2");
    assert_eq!(bare.lines().next(), Some("axis1,axis2"));
    let without = |line: &str| line.split_once(',').unwrap().1.to_string();
    assert!(lines.iter().zip(bare.lines()).all(|(with, bare)| without(with) == bare));
    let labels = folder.ok("metric predict m new.csv");
    let truth: Vec<&str> = csv.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().1).collect();
    let right = labels.lines().zip(&truth).filter(|(found, truth)| found == *truth).count();
    assert!(labels.lines().count() == 120 && right > 108, "{right} of 120 rows that the metric knows");
    let all = folder.ok("metric predict m new.csv --output all");
    assert!(all.lines().all(|line| line.split(' ').count() == 4));
    let output = folder.ok("metric eval m train.csv --target kind");
    assert!(
        output.contains("balanced error") && output.contains("AUC") && output.contains("base classifier"),
        "{output}"
    );
}

#[test]
fn the_seed_decides_and_threads_do_not() {
    let folder = Folder::new();
    folder.write("t.csv", chequered(90, 3, 4));
    let fit = |out: &str, more: &str| {
        folder.ok(&format!(
            "metric fit t.csv --target kind -o {out} --candidates plain,order-2,free --max-iter 20 --quiet {more}"
        ));
        folder.read(out)
    };
    let one = fit("one", "--threads 1");
    assert!(one == fit("two", "--threads 2") && one == fit("five", "--threads 5"));
    assert!(one != fit("other", "--seed 9"), "folds and bags follow the seed");
    assert!(one != fit("drawn", "--subsample-terms"), "a step that looks at few candidates takes others");
}

#[test]
fn plain_neighbours_win_where_nothing_is_to_be_learned() {
    let folder = Folder::new();
    // Two variables, both needed, on the same scale: the Euclidean distance is as good as any.
    let mut random = Random::new(5);
    let mut text = String::from("a,b,y\n");
    for row in 0..150 {
        let shift = if row % 2 == 0 { 0.0 } else { 1.4 };
        let [a, b] = [random.unit() + shift, random.unit() + shift];
        writeln!(text, "{a},{b},{}", row % 2).unwrap();
    }
    folder.write("t.csv", text);
    let run = folder.run("metric fit t.csv -o m --max-iter 10 --candidates plain,order-1 --repeats 1");
    assert!(run.out.contains("→  plain") && run.out.contains("plain k-NN"), "{}", run.out);
    assert!(run.err.contains("no metric is better by more than one standard error"), "{}", run.err);
    assert_eq!(error(&folder, "metric eval m t.csv --json"), 0.0);
}

#[test]
fn more_than_two_classes_need_nothing_else() {
    let folder = Folder::new();
    let mut random = Random::new(6);
    let mut svm = String::new();
    for row in 0..240 {
        let class = row % 4;
        let [x, y] = [f64::from(class / 2), f64::from(class % 2)].map(|centre| centre + 0.5 * random.unit());
        let noise: Vec<String> = (3..12).map(|at| format!("{at}:{:.3}", 3.0 * random.unit())).collect();
        writeln!(svm, "{class} 1:{x:.3} 2:{y:.3} {}", noise.join(" ")).unwrap();
    }
    folder.write("t.svm", svm);
    let output = folder.json("metric fit t.svm -o m --candidate order-1 --json");
    assert_eq!(output["classes"].as_array().unwrap().len(), 4);
    let first: Vec<String> = names(&output, "variables").into_iter().take(2).collect();
    assert!(first.contains(&"1".into()) && first.contains(&"2".into()), "{first:?}");
    let measured = folder.json("metric eval m t.svm --json");
    assert!(measured["error"].as_f64().unwrap() < 0.1 && measured["auc"].is_null(), "{measured}");
}

#[test]
fn bad_input_is_told() {
    let folder = Folder::new();
    let message = |name: &str, text: &str, line: &str| {
        folder.write(name, text);
        let run = folder.run(line);
        assert_eq!(run.code, Some(2), "{line}: {}{}", run.out, run.err);
        run.err
    };
    let fit = "metric fit t.csv -o m";
    assert!(message("t.csv", "a,y\n1,u\n2,u\n3,u\n", fit).contains("all 3 rows have the label u"));
    assert!(
        message("t.csv", "a,y\n1,u\n2,u\n3,v\n", fit)
            .contains("class v has one row; every class needs at least two rows")
    );
    let four = "a,y\n1,u\n2,u\n3,v\n4,v\n";
    assert!(message("t.csv", four, fit).contains("cross-validation needs at least 3 rows of every class"));
    assert!(message("t.csv", "a,y\n1,u\n1,u\n1,v\n1,v\n1,u\n1,v\n", fit).contains("all variables are constant"));
    assert!(message("t.csv", "a,y\n1,u\nNaN,v\n", "metric fit t.csv -o m --missing error").contains("t.csv:3"));
    assert!(message("t.csv", "a,y\n1,0.5\n2,1.25\n3,9\n", fit).contains("a metric needs classes"));
    assert!(message("t.csv", "", fit).contains("t.csv"));
    assert!(message("t.csv", four, "metric fit t.csv -o m --candidate order-1 --max-iter 0").contains("--max-iter"));
    assert!(message("t.csv", four, "metric fit t.csv -o m --memory 10").contains("--memory"));
    assert!(message("t.csv", four, "metric eval t.csv t.csv").contains("not a tamis-metric file"));
    folder.ok("metric fit t.csv -o m --candidate order-1 --quiet");
    assert!(
        message("t.csv", "a,y\n1,w\n", "metric eval m t.csv").contains("label w is not a class of the metric (u, v)")
    );
    let mut bytes = folder.read("m");
    *bytes.last_mut().unwrap() ^= 1;
    folder.write("m", bytes);
    assert!(folder.run("metric predict m t.csv").err.contains("damaged"));
}

#[test]
fn few_rows_one_variable_and_twin_columns_are_defined() {
    let folder = Folder::new();
    folder.write("t.csv", "a,y\n1,u\n2,u\n8,v\n9,v\n");
    let run = folder.run("metric fit t.csv -o m --candidate order-1");
    assert!(
        run.code == Some(0) && run.err.contains("too few for 5 neighbours of the same class: 1 will be used"),
        "{}",
        run.err
    );
    assert_eq!(error(&folder, "metric eval m t.csv --json"), 0.0);
    // Columns a and b are the same; k = 5 takes more neighbours than there are.
    let rows: String = (0..12).map(|row| format!("{0},{0},{1}\n", row, if row < 6 { "u" } else { "v" })).collect();
    folder.write("twins.csv", format!("a,b,y\n{rows}"));
    let output = folder.json("metric fit twins.csv -o m --candidate order-2 --burn-in 0 --json --quiet");
    assert!(output["nonzeros"].as_u64().unwrap() >= 1);
    let measured = folder.json("metric eval m twins.csv --json");
    assert!(measured["error"].as_f64().unwrap() < 0.2, "{measured}");
}
