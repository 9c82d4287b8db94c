//! Labels in a file of their own (`--labels`), and columns that are no labels.

mod common;

use common::{Folder, table};
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
