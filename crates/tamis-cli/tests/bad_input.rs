//! Bad data gets a clear complaint with its place, exit code 2, and an older model stays as it was.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;

use common::{Folder, rows, svm};

const OLD: &str = "the model of yesterday";

/// A folder with an older model where new ones go.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("model.json", OLD);
    folder
}

/// Fits with `line`; returns the complaint, after making sure that nothing changed.
fn refused(folder: &Folder, line: &str) -> String {
    let before = folder.names();
    let run = folder.run(&format!("fit {line} --out model.json"));
    assert_eq!(run.out, "", "{line}");
    assert_eq!(folder.text("model.json"), OLD, "{line}");
    assert_eq!(folder.names(), before, "{line} left something behind");
    run.complaint().to_string()
}

/// The complaint about a file of this content.
fn refused_file(name: &str, content: impl AsRef<[u8]>, flags: &str) -> String {
    let folder = folder();
    folder.write(name, content);
    refused(&folder, &format!("{name} {flags}"))
}

#[test]
fn bad_svmlight_lines_are_told_with_their_place() {
    for (line, complaint) in [
        ("1 1:1 3:0.3x", "bad.svm:3:9: feature value \"0.3x\" is not a number"),
        ("1 a:1", "bad.svm:3:3: feature index \"a\" is not a whole number"),
        ("1 0:1", "bad.svm:3:3: feature index 0 in a 1-based file; use --zero-based if indices start at 0"),
        ("1 5:1 5:2", "bad.svm:3:7: feature index 5 occurs twice"),
        ("1 5:1 4:2", "bad.svm:3:7: feature index 4 after 5: indices must ascend"),
        ("1 4294967295:1", "bad.svm:3:3: feature index 4294967295 is larger than 4294967294"),
        ("1 99999999999999999999:1", "bad.svm:3:3: feature index 99999999999999999999 is larger than 4294967294"),
        ("1 2:nan", "bad.svm:3:5: feature value \"nan\" is not finite"),
        ("1 2:-inf", "bad.svm:3:5: feature value \"-inf\" is not finite"),
        ("1 2:1e999", "bad.svm:3:5: feature value \"1e999\" is not finite"),
        ("nan 2:1", "bad.svm:3:1: label \"nan\" is not finite"),
        ("one 2:1", "bad.svm:3:1: label \"one\" is not a number"),
        ("2:1 3:1", "bad.svm:3:1: the line has no label"),
    ] {
        let output = refused_file("bad.svm", format!("1 1:1\n-1 2:1\n{line}\n-1 1:1\n"), "");
        assert!(output.starts_with(complaint), "{line}: {output}");
    }
}

#[test]
fn places_are_counted_across_files_blocks_and_comments() {
    let folder = folder();
    let mut long = svm(&rows(20_000, 500, 10, 2, 1));
    assert!(long.len() > 2 << 20, "more than one block");
    long.push_str("# a comment\n\n1 1:x\n");
    folder.write("a.svm", "1 1:1\n0 2:1\n").write("b.svm", long);
    assert!(refused(&folder, "a.svm b.svm").starts_with("b.svm:20003:5: feature value \"x\""));
    assert!(refused(&folder, "a.svm b.svm --threads 1 --passes 1").starts_with("b.svm:20003:5: "));
    folder.write("lines.svm", "1 1:1\r\n0 2:1\r\n1 1:y\r\n");
    assert!(refused(&folder, "lines.svm").starts_with("lines.svm:3:5: feature value \"y\""));
}

#[test]
fn bad_tables_are_told_with_their_place() {
    for (table, complaint) in [
        ("a,b,y\n1,2,0\n1,2\n", "t.csv:3:3: 2 fields where the header has 3"),
        ("a,b,y\n1,2,0\n1,2,1,9\n", "t.csv:3:5: 4 fields where the header has 3"),
        ("a,b,y\n1,2,0\n1,2,\n", "t.csv:3:5: the label \"y\" is missing; use --missing skip-row"),
        ("a,b,y\n1,2,0\n1,inf,1\n", "t.csv:3:3: cell \"inf\" is not finite"),
        (
            "a,b\n1,2\n",
            "t.csv: no column is known to be the label: name it with --target; the columns are \"a\", \"b\"",
        ),
        ("a,a,y\n1,2,0\n", "t.csv: the column \"a\" occurs twice in the header"),
        ("", "t.csv: the file is empty; expected a header line"),
        ("a,b,y\n", "no rows in t.csv"),
    ] {
        let output = refused_file("t.csv", table, "");
        assert!(output.starts_with(complaint), "{table}: {output}");
    }
    let output = refused_file("t.csv", "a,b,y\n1,2,0\n", "--target outcome");
    assert_eq!(output, "t.csv: no column \"outcome\"; the columns are \"a\", \"b\", \"y\"");
    for cell in ["", "NaN", "?", "-"] {
        let output = refused_file("t.csv", format!("a,b,y\n1,2,0\n1,{cell},1\n"), "--missing error");
        let ways = "--missing mean, --missing zero or --missing skip-row";
        assert_eq!(output, format!("t.csv:3:3: column \"b\" is empty; use {ways}"));
    }
    let output = refused_file("t.csv", "a,b,y\n1,2,0\n", "--ignore c");
    assert!(output.contains("no column \"c\""), "{output}");
}

#[test]
fn text_in_a_numeric_column_is_told_however_late_it_comes() {
    let mut table = String::from("size,y\n");
    (0..200_000).for_each(|row| writeln!(table, "{}.5,{}", row % 100, row % 2).unwrap());
    table.push_str("large,1\n");
    let output = refused_file("t.csv", table, "");
    let advice = "use --na large if it means a missing value, or --categorical size if the column holds categories";
    assert_eq!(output, format!("t.csv:200002:1: column \"size\": \"large\" is not a number; {advice}"));
}

#[test]
fn labels_must_fit_the_task() {
    let output = refused_file("t.svm", "1 1:1\n-1 2:1\n1 1:1\n3 1:1\n0 1:1\n", "--task binary");
    let seen = "a third label 3 in a task with two classes (-1, 1)";
    assert_eq!(output, format!("t.svm:4: {seen}; leave --task binary out for more classes"));
    let output = refused_file("t.svm", "5 1:1\n5 2:1\n", "");
    assert_eq!(output, "all 2 rows have the label 5; classification needs two classes");
    let output = refused_file("t.csv", "a,y\n1,2.5\n2,high\n", "--task regression");
    assert!(output.starts_with("t.csv:3: label high is not a number"), "{output}");
    let output = refused_file("t.csv", "a,y\n1,yes\n2,no\n", "--loss squared --task regression");
    assert!(
        output.starts_with("t.csv:2: label yes is not a number") || output.starts_with("t.csv:3: label no"),
        "{output}"
    );
}

#[test]
fn a_third_label_late_in_a_stream_is_told_with_its_line() {
    let mut text = svm(&rows(6000, 50, 5, 2, 1));
    text.push_str("2 1:1\n");
    let output = refused_file("t.svm", &text, "--method ftrl --passes 1");
    assert!(output.starts_with("t.svm:6001: a third label 2 in a task with two classes (0, 1); use"), "{output}");
    let folder = folder();
    folder.write("t.svm", &text).ok("fit t.svm --method ftrl --passes 2 --quiet --out all.json");
    let classes = folder.json("inspect all.json --json")["classes"].clone();
    assert_eq!(classes, serde_json::json!([0.0, 1.0, 2.0]), "reading everything first, three classes are no surprise");
}

#[test]
fn files_without_rows_are_told() {
    assert_eq!(refused_file("e.svm", "", ""), "no rows in e.svm");
    assert_eq!(refused_file("e.svm", "# nothing\n\n# at all\n", ""), "no rows in e.svm");
    assert_eq!(refused_file("e.vw", "\n", ""), "no rows in e.vw");
    assert_eq!(refused_file("e.jsonl", "", ""), "no rows in e.jsonl");
}

/// The text packed in each of the four ways.
fn packed(text: &[u8]) -> [(&'static str, Vec<u8>); 4] {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bz2.write_all(text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(text).unwrap();
    [
        ("d.svm.gz", gz.finish().unwrap()),
        ("d.svm.zst", zstd::encode_all(text, 3).unwrap()),
        ("d.svm.bz2", bz2.finish().unwrap()),
        ("d.svm.xz", xz.finish().unwrap()),
    ]
}

#[test]
fn truncated_and_damaged_compressed_files_are_told() {
    let text = svm(&rows(5000, 1000, 20, 2, 3));
    for (name, bytes) in packed(text.as_bytes()) {
        for length in [bytes.len() / 2, bytes.len() - 1] {
            let output = refused_file(name, &bytes[..length], "");
            assert!(output.starts_with(&format!("{name}: the compressed data ends early or is damaged")), "{output}");
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= 0x55;
        assert!(refused_file(name, damaged, "").starts_with(&format!("{name}:")), "{name}");
    }
}

#[test]
fn a_name_that_promises_compression_must_keep_it() {
    let output = refused_file("d.svm.gz", "1 1:1\n-1 2:1\n", "");
    assert_eq!(output, "d.svm.gz: the extension says gzip, but the content is not gzip");
    let output = refused_file("d.svm.xz", "", "");
    assert_eq!(output, "d.svm.xz: the extension says xz, but the content is not xz");
}

#[test]
fn what_is_not_there_or_not_known_is_told() {
    let folder = folder();
    folder.write("notes.txt", "1 1:1\n").write("empty/readme.md", "no data");
    assert!(refused(&folder, "none.svm").starts_with("none.svm: No such file"));
    assert_eq!(refused(&folder, "*.vw"), "*.vw: no file matches");
    assert!(refused(&folder, "empty").starts_with("empty: no data files in this directory (looked for .svm"));
    assert!(
        refused(&folder, "notes.txt")
            .starts_with("notes.txt: the format is not known from the file name; use --format")
    );
    assert!(refused(&folder, "-").starts_with("<stdin>: the format is not known from the file name; use --format"));
    assert!(refused(&folder, "notes.txt --format svm --validate none.svm").starts_with("none.svm: No such file"));
}

#[test]
fn bad_json_lines_are_told_with_their_place() {
    let good = "{\"y\":1,\"x\":{\"a\":1}}\n{\"y\":0,\"x\":{}}\n";
    for (line, complaint) in [
        ("{\"y\":1,\"x\":{\"a\":}}", "d.jsonl:3:17: not a JSON object"),
        ("not json", "d.jsonl:3:2: not a JSON object"),
        ("{\"y\":1,\"x\":{\"a\":1,\"a\":2}}", "d.jsonl:3:19: feature \"a\" occurs twice"),
        ("{\"y\":1,\"x\":{\"a\":null}}", "d.jsonl:3:1: column \"a\" is empty; use --missing"),
        ("{\"x\":{\"a\":1}}", "d.jsonl:3: the row has no label"),
        ("{\"y\":1,\"weight\":-1,\"x\":{}}", "d.jsonl:3:1: importance weight \"-1\" is not a number of at least 0"),
    ] {
        let output = refused_file("d.jsonl", format!("{good}{line}\n"), "");
        assert!(output.starts_with(complaint), "{line}: {output}");
    }
}

#[test]
fn bad_vowpal_wabbit_lines_are_told_with_their_place() {
    for (line, complaint) in [
        ("1 a b", "d.vw:3:6: expected '|' before the features"),
        ("one | a", "d.vw:3:1: label \"one\" is not a number"),
        ("1 | a:nan", "d.vw:3:7: feature value \"nan\" is not finite"),
        ("1 -1 | a", "d.vw:3:3: importance weight \"-1\" is not a number of at least 0"),
        ("| a b", "d.vw:3: the row has no label"),
    ] {
        let output = refused_file("d.vw", format!("1 | a\n-1 | b\n{line}\n"), "");
        assert!(output.starts_with(complaint), "{line}: {output}");
    }
}

#[test]
fn garbage_in_columnar_files_is_told() {
    for name in ["g.npz", "g.parquet", "g.arrow"] {
        let output = refused_file(name, "this is not what the name says", "");
        assert!(output.starts_with(&format!("{name}: not a readable")), "{output}");
        assert!(refused_file(name, "", "").starts_with(&format!("{name}: ")), "{name}");
    }
    let folder = folder();
    folder.write("d.svm", svm(&rows(300, 40, 5, 2, 1)));
    for name in ["d.npz", "d.parquet", "d.arrow"] {
        folder.ok(&format!("convert d.svm {name}"));
        let bytes = folder.read(name);
        folder.write(name, &bytes[..bytes.len() / 2]);
        assert!(refused(&folder, name).starts_with(&format!("{name}: ")), "{name} cut in half");
    }
}

#[test]
fn missing_values_may_be_zero_or_leave_rows_out() {
    for (name, text) in [
        ("t.csv", "a,b,y\n1,,0\n0,1,1\n1,NaN,0\n1,1,1\n"),
        ("t.svm", "0 1:1 2:nan\n1 2:1\n0 1:1 2:NaN\n1 1:1 2:1\n"),
        ("t.vw", "0 | a b:nan\n1 | b\n0 | a b:NaN\n1 | a b\n"),
        ("t.jsonl", "{\"y\":0,\"x\":{\"a\":1,\"b\":null}}\n{\"y\":1,\"x\":{\"b\":1}}\n{\"y\":0,\"x\":{\"b\":null}}\n"),
    ] {
        let folder = Folder::new();
        folder.write(name, text);
        let rows = folder.json(&format!("fit {name} --missing zero --json --quiet"))["n_examples"].clone();
        assert_eq!(rows, text.lines().filter(|line| !line.starts_with("a,")).count(), "{name}");
        let output = folder.run(&format!("fit {name} --missing skip-row --json --quiet"));
        assert!(output.err.contains("all ") || output.ok(name).contains("\"skipped\":0"), "{name}");
    }
}

#[test]
fn skipping_counts_and_reports() {
    let folder = Folder::new();
    let mut text = svm(&rows(100, 20, 4, 2, 1));
    text.push_str("1 x:1\n0 3:1 2:1\nnan 1:1\n");
    folder.write("d.svm", &text);
    let run = folder.run("fit d.svm --on-error skip --json --out m.json");
    assert!(run.err.contains("warning: 3 malformed lines skipped; the first ones:\n  d.svm:101:3: feature index"));
    assert!(run.err.contains("  d.svm:102:7: feature index 2 after 3"));
    let output = common::one_json_line(&run.ok("fit"));
    assert_eq!((&output["skipped"], &output["n_examples"]), (&3.into(), &100.into()));
    assert_eq!(folder.json("inspect m.json --json")["seen"]["skipped"], 3);
    assert!(folder.ok("inspect m.json").contains("3 malformed lines skipped"));
    for command in ["predict", "eval"] {
        let run = folder.run(&format!("{command} m.json d.svm --on-error skip"));
        assert!(run.err.contains("3 malformed lines skipped"), "{command}");
    }
    let clean = folder.write("clean.svm", &text[..text.find("1 x:1").unwrap()]).model("clean.svm");
    let skipped = folder.text("m.json").replace("\"skipped\":3", "\"skipped\":0");
    let body = |text: &str| text[text.find("\"body\"").unwrap()..].to_string();
    assert_eq!(body(&skipped), body(&String::from_utf8(clean).unwrap()), "bad lines leave no other trace");
    folder
        .write("d.jsonl", "{\"y\":1,\"x\":{\"a\":1,\"a\":2}}\n{\"y\":1,\"x\":{\"a\":1}}\n{\"y\":0,\"x\":{\"b\":1}}\n");
    assert_eq!(folder.json("fit d.jsonl --on-error skip --json --quiet")["skipped"], 1);
}
