//! `tamis predict` and `tamis eval` as users run them: other data than the model's, several classes, ids, live pipes.

mod common;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, Random, line_csv, rows, svm};

/// Customers: `churned` depends on age and plan.
fn customers(count: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from("id,age,plan,visits,churned\n");
    for row in 0..count {
        let (age, basic) = (20 + random.uniform_below(50), random.uniform_below(2));
        let visits = random.uniform_below(9);
        let churned = if age + 30 * basic + random.uniform_below(20) > 70 { "yes" } else { "no" };
        writeln!(text, "c{row},{age},{},{visits},{churned}", ["plus", "basic"][basic as usize]).unwrap();
    }
    text
}

/// Customers and a model of them.
fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("train.csv", customers(400, 1)).write("new.csv", customers(50, 2));
    folder.ok("fit train.csv --target churned --ignore id --method ftrl --quiet --out m.json");
    folder
}

/// Rows of three classes and a model of them.
fn three(flags: &str) -> Folder {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(900, 40, 8, 3, 1))).write("t.svm", svm(&rows(300, 40, 8, 3, 2)));
    folder.ok(&format!("fit d.svm --quiet --out m.json {flags}"));
    folder
}

#[test]
fn a_table_without_the_models_columns_is_refused() {
    let folder = shop();
    let text = folder.text("new.csv");
    folder.write("upper.csv", text.replacen("age", "AGE", 1)).write("renamed.csv", text.replacen("age", "years", 1));
    folder.write("none.csv", "a,b\n1,2\n3,4\n");
    let complaint = |line: &str| folder.run(line).complaint().to_string();
    let upper = complaint("predict m.json upper.csv");
    assert!(
        upper.starts_with(
            "upper.csv: the model uses the column \"age\", which this table does not have (is \"AGE\" the"
        ),
        "{upper}"
    );
    assert!(upper.ends_with("With --missing-columns zero they count as zero"), "{upper}");
    let renamed = complaint("eval m.json renamed.csv");
    assert!(renamed.contains("which this table does not have; the columns are \"id\", \"years\""), "{renamed}");
    assert!(complaint("predict m.json none.csv").contains("the columns \"age\", \"plan\""));
    let other_format = complaint("predict m.json new.csv --format tsv");
    assert!(other_format.contains("which this table does not have"), "{other_format}");
    assert_eq!(folder.ok("predict m.json upper.csv --missing-columns zero --quiet").lines().count(), 50);
    let same = folder.ok("predict m.json new.csv");
    folder.write("more.csv", text.replace("id,age", "extra,age").replacen("churned", "whatever", 1));
    assert_eq!(folder.ok("predict m.json more.csv"), same, "columns that the model does not use may be others");
    let unlabelled = complaint("eval m.json more.csv");
    assert!(unlabelled.starts_with("more.csv: there is no column \"churned\", which was the label"), "{unlabelled}");
}

#[test]
fn rows_without_any_feature_of_the_model_are_pointed_out() {
    let folder = shop();
    folder.write("d.svm", "1 3:1\n0 4:1\n");
    let text = folder.run("predict m.json d.svm").complaint().to_string();
    assert!(text.starts_with("d.svm: none of the model's features occurs in 2 rows; are these other data?"), "{text}");
    assert_eq!(folder.ok("predict m.json d.svm --missing-columns zero --quiet").lines().count(), 2);
    let folder = three("--method ftrl");
    folder.write("other.svm", "0 4001:1\n");
    let run = folder.run("predict m.json other.svm");
    assert_eq!((run.code, run.out.lines().count()), (Some(0), 1), "a row of a text may have none");
    assert!(run.err.contains("none of the model's features occurs in 1 row; are these other data?"), "{}", run.err);
}

#[test]
fn rows_that_are_left_out_keep_their_place() {
    let folder = shop();
    let lines: Vec<&str> =
        "id,age,plan,visits\na,60,basic,1\nb,,plus,2\nc,60,basic,3\nd,x,plus,1\ne,60,basic,1".lines().collect();
    folder.write("gaps.csv", lines.join("\n"));
    let run = folder.run("predict m.json gaps.csv --missing skip-row --on-error skip");
    assert_eq!(run.out, "yes\n\nyes\n\nyes\n");
    assert!(run.err.contains("1 row with missing values left out; their lines are empty"), "{}", run.err);
    let csv = folder.ok("predict m.json gaps.csv --missing skip-row --on-error skip --csv --id-column id --quiet");
    assert_eq!(csv, "id,label\na,yes\n,\nc,yes\n,\ne,yes\n");
    let json = folder.ok("predict m.json gaps.csv --missing skip-row --on-error skip --json --quiet");
    assert_eq!(json.lines().nth(1), Some("{\"line\":3,\"skipped\":true}"));
    folder.ok("convert gaps.csv gaps.parquet --missing skip-row --on-error skip --quiet");
    folder.write("d.svm", svm(&rows(300, 20, 5, 2, 3)));
    folder.ok("fit d.svm --method ftrl --quiet --out s.json");
    folder.write("nan.svm", "1 1:1\n0 1:nan\n1 2:1\n").write("nan.jsonl", "{\"x\":{\"1\":1}}\n{\"x\":{\"1\":null}}\n");
    let svm = folder.ok("predict s.json nan.svm --missing skip-row --quiet");
    assert!(svm.lines().count() == 3 && svm.lines().nth(1) == Some(""), "{svm:?}");
    assert!(folder.ok("predict s.json nan.jsonl --missing skip-row --quiet").ends_with("\n\n"));
}

#[test]
fn models_without_probabilities_say_so() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(300, 20, 5, 2, 3))).write("line.csv", line_csv(200));
    for loss in ["hinge", "squared-hinge"] {
        folder.ok(&format!("fit d.svm --method ftrl --loss {loss} --quiet --out m.json"));
        let text = folder.run("predict m.json d.svm --output probability").complaint().to_string();
        assert_eq!(
            text,
            format!("m.json: {loss} loss gives no probabilities: use --output margin, or fit with --loss logistic")
        );
        let first = folder.ok("predict m.json d.svm --json").lines().next().unwrap().to_string();
        assert!(!first.contains("probabilit"), "{first}");
    }
    folder.ok("fit line.csv --method ftrl --quiet --out r.json");
    let text = folder.run("predict r.json line.csv --output probability").complaint().to_string();
    assert_eq!(text, "r.json: the model predicts numbers, which have no probability; omit --output");
    assert!(folder.run("predict r.json line.csv --threshold 0.5").complaint().contains("two classes"));
}

#[test]
fn several_classes_have_probabilities_that_sum_to_one() {
    for flags in ["--method ftrl", "--k 20"] {
        let folder = three(flags);
        let text = folder.ok("predict m.json t.svm --output probability");
        let labels = folder.ok("predict m.json t.svm");
        for (line, label) in text.lines().zip(labels.lines()) {
            let pairs: Vec<(&str, f64)> = line
                .split('\t')
                .map(|pair| pair.rsplit_once(':').map(|(class, p)| (class, p.parse().unwrap())).unwrap())
                .collect();
            assert_eq!(pairs.iter().map(|pair| pair.0).collect::<Vec<_>>(), ["0", "1", "2"]);
            assert!((pairs.iter().map(|pair| pair.1).sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
            let best = pairs.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(best.0, label, "{line}");
        }
        let csv = folder.ok("predict m.json t.svm --output all --csv");
        let head = "label,probability_0,probability_1,probability_2,margin_0,margin_1,margin_2";
        assert_eq!(csv.lines().next(), Some(head));
        let json: serde_json::Value =
            serde_json::from_str(folder.ok("predict m.json t.svm --json").lines().next().unwrap()).unwrap();
        let sum: f64 = json["probabilities"].as_object().unwrap().values().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{json}");
    }
}

#[test]
fn eval_measures_each_class() {
    let folder = three("--method ftrl");
    let found = folder.json("eval m.json t.svm --json");
    let classes = found["classes"].as_array().unwrap();
    let names: Vec<&serde_json::Value> = classes.iter().map(|class| &class["class"]).collect();
    assert_eq!(names, [&serde_json::json!(0.0), &serde_json::json!(1.0), &serde_json::json!(2.0)]);
    let matrix: Vec<Vec<f64>> = serde_json::from_value(found["confusion"].clone()).unwrap();
    let right: f64 = (0..3).map(|class| matrix[class][class]).sum();
    assert!((1.0 - right / 300.0 - found["error"].as_f64().unwrap()).abs() < 1e-12);
    let probabilities = folder.ok("predict m.json t.svm --output all --csv");
    let mut loss = 0.0;
    for (line, row) in probabilities.lines().skip(1).zip(rows(300, 40, 8, 3, 2)) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        loss -= cells[1 + row.label as usize].ln() / 300.0;
    }
    assert!((found["log_loss"].as_f64().unwrap() - loss).abs() < 1e-9, "{loss} {found}");
    for (class, metrics) in classes.iter().enumerate() {
        let own: f64 = matrix[class].iter().sum();
        let predicted: f64 = matrix.iter().map(|row| row[class]).sum();
        assert_eq!(metrics["recall"].as_f64().unwrap(), matrix[class][class] / own);
        assert_eq!(metrics["precision"].as_f64().unwrap(), matrix[class][class] / predicted);
        assert!(metrics["pr_auc"].as_f64().unwrap() > 0.5 && metrics["f1"].as_f64().unwrap() > 0.5);
    }
    assert!(found["macro"]["f1"].as_f64().unwrap() > 0.5);
    let text = folder.ok("eval m.json t.svm");
    assert!(
        text.contains("PR-AUC") && text.contains("mean of classes") && text.contains("true \\ predicted"),
        "{text}"
    );
    folder.ok("report m.json --data t.svm -o p.html --quiet");
    let page = folder.text("p.html");
    assert!(page.contains("mean of classes") && page.contains(">PR-AUC<"), "the page has the table of classes");
}

#[test]
fn ids_thresholds_and_files() {
    let folder = shop();
    folder.ok("predict m.json new.csv --id-column id --output all -o p.csv");
    let table = folder.text("p.csv");
    assert_eq!(table.lines().next(), Some("id,label,probability_no,probability_yes,margin"));
    assert_eq!(table.lines().count(), 51);
    assert!(table.lines().nth(1).unwrap().starts_with("c0,"), "{table}");
    assert_eq!(
        folder.ok("predict m.json new.csv --id-column id").lines().nth(3).unwrap().split(' ').nth(1),
        Some("c3")
    );
    folder.ok("predict m.json new.csv --id-column id -o p.jsonl");
    assert!(folder.text("p.jsonl").starts_with("{\"id\":\"c0\",\"label\":"), "JSON lines by the name of the file");
    let yes = |threshold: &str| {
        let labels = folder.ok(&format!("predict m.json new.csv --threshold {threshold}"));
        labels.lines().filter(|label| *label == "yes").count()
    };
    assert_eq!((yes("0"), yes("1.0")), (50, 0));
    assert!(yes("0.1") >= yes("0.5") && yes("0.5") >= yes("0.9") && yes("0.1") > yes("0.9"));
    assert!(folder.run("predict m.json new.csv --threshold 1.5").complaint().contains("between 0 and 1"));
    assert!(folder.run("predict m.json new.csv --id-column nowhere").complaint().contains("no column \"nowhere\""));
}

#[test]
fn a_live_pipe_is_answered_line_by_line() {
    let folder = shop();
    let mut child = folder
        .process("predict m.json - --format csv --output probability")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines();
    let started = Instant::now();
    input.write_all(b"visits,age,plan\n3,60,basic\n").unwrap();
    let first = answers.next().unwrap().unwrap();
    input.write_all(b"3,25,plus\n2,30,plus\n").unwrap();
    let second = answers.next().unwrap().unwrap();
    assert!(first.parse::<f64>().unwrap() > second.parse::<f64>().unwrap(), "{first} {second}");
    answers.next().unwrap().unwrap();
    assert!(started.elapsed() < Duration::from_secs(60), "the answers came while the pipe was open");
    drop(input);
    assert!(answers.next().is_none() && child.wait().unwrap().success());
}

#[test]
fn exported_features_are_complete_and_have_the_intercept() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(600, 60, 12, 2, 3)));
    folder.ok("fit d.svm --method ftrl --l1 0 --quiet --out m.json");
    let json = folder.json("inspect m.json --json");
    assert_eq!(json["features"].as_array().unwrap().len(), json["nonzeros"].as_u64().unwrap() as usize);
    assert!(json["nonzeros"].as_u64().unwrap() > 20);
    for table in [folder.ok("inspect m.json --csv"), folder.ok("convert m.json - --to csv")] {
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len() as u64, 2 + json["nonzeros"].as_u64().unwrap(), "head, intercept, features");
        assert!(lines[1].starts_with(&format!("(intercept),{},", json["intercept"])), "{}", lines[1]);
        assert_eq!(lines[1].matches(',').count(), lines[0].matches(',').count());
    }
    let text = folder.run("tune d.svm --method ftrl --out same.json --curve same.json").complaint().to_string();
    assert!(text.starts_with("same.json: the model and the curve need two files"), "{text}");
}

#[test]
fn files_of_another_kind_are_named() {
    let folder = shop();
    folder.ok("moments train.csv --target churned --ignore id,plan --out d.moments --quiet");
    folder.ok("fit train.csv --target churned --method ftrl --quiet --out x.json --checkpoint c.st");
    let complaint = |line: &str| folder.run(line).complaint().to_string();
    let swapped = complaint("predict new.csv m.json");
    assert_eq!(swapped, "new.csv: not a tamis model: it looks like data; the model comes first, then the data");
    assert!(complaint("inspect d.moments").ends_with("it holds moments; solve them first"));
    assert!(complaint("inspect c.st").contains("it is a checkpoint"));
    folder.write("mac.csv", "age,y\r1,0\r2,1\r");
    assert!(complaint("fit mac.csv").starts_with("mac.csv: its lines end with carriage returns alone (old Mac)"));
}

#[test]
fn words_of_other_programs_lead_to_our_commands() {
    let folder = Folder::new();
    for (theirs, ours) in [("train", "fit"), ("evaluate", "eval"), ("show", "inspect"), ("predit", "predict")] {
        let run = folder.run(theirs);
        assert!(run.code == Some(2) && run.err.contains(&format!("'{ours}'")), "{theirs}: {}", run.err);
        assert!(!run.err.contains("'metric'"), "{}", run.err);
    }
}

#[test]
fn one_is_singular_and_memory_is_that_of_the_process() {
    let folder = Folder::new();
    folder.write("d.csv", "a,y\n1,0.5\n2,1.7\n3,2.5\n4,3.4\n");
    let shown = folder.ok("fit d.csv --method ftrl --l1 0 --task regression --out m.json");
    assert!(shown.contains("1 feature seen") && !shown.contains("1 features"), "{shown}");
    assert!(folder.ok("inspect m.json").contains("1 feature seen, 1 selected"));
    assert!(folder.ok("eval m.json d.csv").contains(", 1 feature"));
    let json = folder.json("fit d.csv --method ftrl --task regression --out m.json --json --quiet");
    assert!(json["peak_memory_bytes"].as_u64().unwrap() > 1 << 20, "{json}");
    folder.ok("report m.json -o p.html --quiet");
    assert!(folder.text("p.html").contains("of 1 feature<"), "the page counts as the program does");
}

#[test]
fn a_model_can_go_to_standard_output() {
    let folder = shop();
    let flags = "--target churned --ignore id --method ftrl";
    assert_eq!(folder.ok(&format!("fit train.csv {flags} -o -")), folder.text("m.json"));
    folder.ok("fit train.csv --target churned --ignore id --quiet --k 2 -o two.json");
    folder.ok("resize two.json --k 1 -o one.json --quiet");
    assert_eq!(folder.ok("resize two.json --k 1 -o -"), folder.text("one.json"));
    folder.ok("moments train.csv --target churned --ignore id,plan --out d.moments --quiet");
    assert!(folder.ok("solve d.moments -o -").starts_with("{\"format\":\"tamis-model\""));
    let tuned = folder.ok(&format!("tune train.csv {flags} --l1 1,10 -o - --curve c.csv"));
    assert!(tuned.starts_with("{\"format\":\"tamis-model\"") && folder.text("c.csv").starts_with("l1,mean"), "{tuned}");
    assert!(folder.ok("report m.json -o -").starts_with("<!DOCTYPE html>"));
    assert!(!folder.names().contains(&"-".to_string()), "no file is called -");
    let text = folder.run("fit train.csv --target churned -o - --json").complaint().to_string();
    assert_eq!(text, "--json needs an output file: standard output holds the model");
    assert!(
        folder.run("moments train.csv --target churned --out -").complaint().starts_with("-: this output needs a file")
    );
}

#[test]
fn a_sparse_method_that_keeps_everything_says_what_to_do() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(600, 30, 12, 2, 3)));
    let lower_l1 = |method: &str| if method == "ftrl" { " --l1 0.01" } else { "" };
    for (method, advice) in [
        ("truncated-gradient", "raise --l1 (now 0.0001), "),
        ("fobos", "raise --l1 (now 0.0001), "),
        ("rda", "raise --l1 (now 0.0001), "),
        ("ftrl", "raise --l1 (now 0.01), "),
        ("sadmm", "raise --l1 (now 0.0001), "),
        ("rounding", "raise --threshold (now 0.01), "),
        ("single-stage", "lower --radius (now 10), "),
        ("tsgd", ""),
        ("fofs", ""),
        ("sofs", ""),
    ] {
        let run = folder.run(&format!("fit d.svm --method {method}{} --out m.json", lower_l1(method)));
        let kept = folder.weights("m.json").len();
        assert!(kept >= 24, "{method} keeps {kept} of 30");
        let expected = format!(
            "note: {kept} of 30 features have a weight: for fewer, {advice}give --k, or use `tamis tune --method {method}`"
        );
        assert!(run.err.contains(&expected), "{method}: {}", run.err);
    }
    for method in ["stabilized", "two-stage", "sgd"] {
        let run = folder.run(&format!("fit d.svm --method {method} --out m.json"));
        assert!(!run.err.contains("have a weight"), "{method}: {}", run.err);
    }
    assert!(!folder.run("fit d.svm --method fobos --k 5 --out m.json").err.contains("have a weight"));
}
