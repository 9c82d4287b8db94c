//! `tamis export`: what is refused and why, and where the result goes. Agreement with other programs is tested in
//! `tests/python/test_export.py`.

mod common;

use common::{Folder, table};

const ROWS: &str = "1 a:1 b:2\n0 a:3 c:1\n1 b:1\n0 a:2 c:4\n";

fn fitted(line: &str) -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", table("age,visits,y", |_, _| {}));
    folder.write("v.vw", ROWS.replace("1 a", "1 | a").replace("0 a", "-1 | a").replace("1 b", "1 | b"));
    folder.ok(&format!("fit {line} --quiet --out m.json"));
    folder
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let folder = fitted("v.vw --method ftrl --hash-bits 8");
    let refused = |folder: &Folder, line: &str| folder.run(&format!("export m.json {line}")).complaint().to_string();
    assert!(refused(&folder, "--to sql").contains("m.json: its features are hashed"));
    assert!(refused(&folder, "--to sql --long").contains("its features are hashed"));
    let folder = fitted("t.csv --target y --method ftrl --row-scale sqrt-count");
    assert!(refused(&folder, "--to c").contains("rows are scaled by the number of their features"));
    let folder = fitted("t.csv --target y --method kernel");
    for target in ["sql", "sklearn", "onnx -o m.onnx", "c", "python", "scorecard", "sql --long"] {
        assert!(refused(&folder, &format!("--to {target}")).contains("a kernel model is no weighted sum"), "{target}");
    }
    assert!(!folder.names().contains(&"m.onnx".to_string()), "nothing is written");
    let folder = fitted("t.csv --target y --method ftrl");
    assert!(refused(&folder, "--to onnx").contains("this output needs a file"));
    assert!(refused(&folder, "--to sql -o m.json").contains("it is the input m.json"));
    assert!(refused(&folder, "--to sql --json").contains("--json needs an output file"));
    for points in ["--double-odds 0", "--double-odds nan", "--base-odds -1", "--base-points inf"] {
        assert!(refused(&folder, &format!("--to scorecard {points}")).contains("must be a number"), "{points}");
    }
    let unknown = folder.run("export m.json --to pmml");
    assert!(unknown.code == Some(2) && unknown.err.contains("scorecard"), "{}", unknown.err);
    assert!(folder.run("export none.json --to sql").complaint().starts_with("none.json: "));
}

#[test]
fn features_that_a_target_does_not_express_are_named() {
    let folder = Folder::new();
    let rows: String =
        (0..60).map(|n| format!("{},2023-0{}-11,good thing {},{}\n", n % 7, 1 + n % 9, n % 3, n % 2)).collect();
    folder.write("d.csv", format!("n,when,said,y\n{rows}"));
    folder.ok(
        "fit d.csv --target y --text said --method ftrl --l1 0 --dates days,month --interactions n*n --quiet --out m.json",
    );
    let refused = |line: &str| folder.run(&format!("export m.json {line}")).complaint().to_string();
    assert!(refused("--to sql").contains("a word of a text or an element of a list, which sql does not express"));
    folder.ok("fit d.csv --target y --ignore said --method ftrl --l1 0 --dates days,month --quiet --out m.json");
    assert!(refused("--to onnx -o m.onnx").contains("\"when.month\" is a part of a date, which ONNX does not express"));
    assert!(refused("--to sklearn").contains("a part of a date, which a scikit-learn pipeline"));
    folder.ok("fit d.csv --target y --ignore said,when --method ftrl --l1 0 --interactions n*n --quiet --out m.json");
    assert!(refused("--to sklearn").contains("\"n*n\" is a product of two"));
    assert!(refused("--to sql --long").contains("\"n*n\" is a product of two"));
    folder.ok("export m.json --to sql");
}

#[test]
fn the_result_goes_to_a_file_or_to_standard_output() {
    let folder = fitted("t.csv --target y --method ftrl");
    let printed = folder.ok("export m.json --to python");
    assert_eq!(folder.ok("export m.json --to python -o m.py"), "python: m.py\n");
    assert_eq!(folder.text("m.py"), printed);
    assert_eq!(folder.ok("export m.json --to c -o m.c --quiet"), "");
    let told = folder.json("export m.json --to onnx -o m.onnx --json");
    assert_eq!(told["bytes"].as_u64(), Some(folder.read("m.onnx").len() as u64));
    for dialect in ["ansi", "duckdb", "postgres", "spark", "bigquery"] {
        assert!(
            folder.ok(&format!("export m.json --to sql --dialect {dialect}")).contains(&format!("in {dialect} SQL"))
        );
        assert!(folder.ok(&format!("export m.json --to sql --long --dialect {dialect}")).contains("tamis_weights"));
    }
    assert!(folder.ok("export m.json --to sql --table sales.today").contains("\"sales\".\"today\""));
}

#[test]
fn a_scorecard_is_safe_in_a_spreadsheet() {
    let folder = Folder::new();
    let rows: String =
        (0..80).map(|n| format!("{},{},{}\n", n % 5, if n % 2 == 0 { "=1+1" } else { "@x" }, n % 2)).collect();
    folder.write("t.csv", format!("\"=cmd|' /C calc'!A0\",-town,y\n{rows}"));
    folder.ok("fit t.csv --target y --method ftrl --l1 0 --quiet --out m.json");
    let card = folder.ok("export m.json --to scorecard");
    let mut cells = card.lines().skip(1).flat_map(|line| line.split(',')).filter(|cell| cell.parse::<f64>().is_err());
    assert!(card.contains("'=cmd|' /C calc'!A0,each unit,") && card.contains("'-town,is =1+1,"), "{card}");
    assert!(cells.all(|cell| !cell.starts_with(['=', '+', '-', '@'])), "{card}");
}
