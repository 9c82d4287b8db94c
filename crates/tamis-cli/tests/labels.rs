//! Labels: the task that they say, labels in a file of their own (`--labels`), and columns that are no labels.

mod common;

use std::fmt::Write as _;

use common::{Folder, Random, table};
use serde_json::Value;

#[test]
fn labels_may_be_in_a_file_of_their_own() {
    let folder = Folder::new();
    let whole = table("a,b,y", |_, _| {});
    let part = |column: std::ops::Range<usize>| -> String {
        let cells = |line: &str| line.split(',').collect::<Vec<_>>()[column.clone()].join(",") + "\n";
        whole.lines().map(cells).collect()
    };
    let (values, labels) = (part(0..2), part(2..3).split_once('\n').unwrap().1.to_string());
    folder.write("whole.csv", &whole).write("x.csv", &values).write("y.txt", &labels);
    folder.write("y.txt.zst", zstd::encode_all(labels.as_bytes(), 3).unwrap());
    let outputs = |line: &str| {
        let model: Value = serde_json::from_slice(&folder.model(line)).unwrap();
        model["body"]["outputs"].clone()
    };
    let expected = outputs("whole.csv --method ftrl");
    assert_eq!(outputs("x.csv --labels y.txt --method ftrl"), expected);
    assert_eq!(outputs("x.csv --labels y.txt.zst --method ftrl --threads 1"), expected);
    let error = |line: &str| folder.json(&format!("eval fitted.json {line} --json"))["error"].as_f64().unwrap();
    assert_eq!(error("x.csv --labels y.txt"), error("whole.csv --target y"));
    folder.ok("convert x.csv x.jsonl --labels y.txt");
    let converted = folder.text("x.jsonl");
    let found: Vec<&str> = converted.lines().map(|line| if line.contains("\"yes\"") { "yes" } else { "no" }).collect();
    assert_eq!(found, labels.lines().collect::<Vec<_>>());
    // A column that is named like a label is a feature.
    folder.write("z.csv", values.replacen("a,b", "a,y", 1));
    folder.ok("fit z.csv --labels y.txt --method ftrl --quiet --out m.json");
    assert_eq!(folder.weights("m.json").keys().collect::<Vec<_>>(), ["a", "y"]);
    // Rows that are left out keep their place among the labels.
    folder.write("gap.csv", values.replacen('\n', "\n,\n", 1)).write("gap.txt", format!("no\n{labels}"));
    assert_eq!(outputs("gap.csv --labels gap.txt --method ftrl --missing skip-row"), expected);
    // Folds of cross-validation have their own labels.
    let tuned = |line: &str| folder.json(&format!("tune {line} --method ftrl --l1 0.1,1 --json --quiet --out t.json"));
    assert_eq!(tuned("x.csv --labels y.txt")["settings"], tuned("whole.csv")["settings"]);
}

#[test]
fn labels_in_a_file_of_their_own_are_checked() {
    let folder = Folder::new();
    folder.write("x.csv", "a,b\n1,2\n3,4\n5,7\n").write("few.txt", "no\nyes\n").write("gap.txt", "no\n\nyes\n");
    folder.write("many.txt", "no\nyes\nno\nyes\n").write("good.txt", "no\nyes\nno\n\n");
    let refused = |line: &str| folder.run(&format!("fit x.csv --method ftrl --labels {line}")).complaint().to_string();
    assert_eq!(refused("few.txt"), "few.txt: it has 2 labels, and there are more rows");
    assert_eq!(refused("many.txt"), "many.txt: there are 3 rows, and it has more labels");
    assert_eq!(refused("gap.txt"), "gap.txt:2: there is no label; expected a class or a finite number");
    assert!(refused("none.txt").starts_with("none.txt: "));
    let both = folder.run("fit x.csv --labels good.txt --target a");
    assert!(both.code == Some(2) && both.err.contains("cannot be used with"), "{}", both.err);
    assert!(refused("good.txt --out good.txt").contains("it is the input good.txt"));
    folder.ok("fit x.csv --method ftrl --labels good.txt --quiet --out m.json");
}

#[test]
fn an_id_is_no_label() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        table("a,b,kind,name,number", |row, cells| {
            cells.push(format!("C{row}"));
            cells.push(format!("{}", row + 1));
        }),
    );
    let refused = folder.run("fit t.csv --target name");
    assert!(
        refused.complaint().starts_with("600 different labels for 600 rows: is --target the right column?"),
        "{}",
        refused.err
    );
    let refused = folder.run("fit t.csv --target number");
    assert!(refused.complaint().contains("the whole numbers from 1 to 600, each once"), "{}", refused.err);
    folder.ok("fit t.csv --target number --task regression --quiet --out m.json");
    let refused = folder.run("fit t.csv --target a --loss logistic");
    assert!(refused.complaint().contains("different labels for 600 rows"), "{}", refused.err);
}

#[test]
fn the_label_decides_the_task_and_fit_says_why() {
    let folder = Folder::new();
    let mut random = Random::new(3);
    let mut draw = |label: &dyn Fn(f64) -> String| {
        let mut text = String::from("a,y\n");
        for _ in 0..800 {
            let a = random.unit();
            let bell: f64 = (0..6).map(|_| random.unit()).sum::<f64>() - 3.0;
            writeln!(text, "{a:.4},{}", label(2.0 * a + bell)).unwrap();
        }
        text
    };
    folder.write("ages.csv", draw(&|value| format!("{}", (40.0 + 12.0 * value).round())));
    folder.write("counts.csv", draw(&|value| format!("{}", (3.0 + 2.0 * value).round().max(0.0))));
    folder.write("codes.csv", draw(&|value| format!("{}", (value.clamp(0.0, 2.9) as u32) + 1)));
    folder.write("words.csv", draw(&|value| if value > 1.0 { "high".into() } else { "low".into() }));
    let fitted = |line: &str| folder.json(&format!("fit {line} --json --quiet --out m.json"));
    for (file, task, reason) in [
        ("ages.csv", "regression", "are quantities; --task multiclass for classes"),
        ("counts.csv", "regression", "are quantities"),
        ("codes.csv", "multiclass", "3 whole numbers from 1 to 3 are names of classes; --task regression"),
        ("words.csv", "binary", "2 different labels, and some are not numbers"),
    ] {
        let said = fitted(&format!("{file} --method ftrl"));
        assert_eq!((said["task"].as_str(), said["target"].as_str()), (Some(task), Some("y")), "{file}");
        assert!(said["task_reason"].as_str().unwrap().contains(reason), "{file}: {}", said["task_reason"]);
    }
    let text = folder.ok("fit words.csv --method ftrl --out m.json");
    assert!(text.contains("\ntask: classification, 2 classes of \"y\" (2 different labels"), "{text}");
    let said = fitted("counts.csv --method ftrl --task multiclass");
    assert_eq!(
        (said["task"].as_str(), said["task_reason"].as_str()),
        (Some("multiclass"), Some("--task multiclass says so"))
    );
}
