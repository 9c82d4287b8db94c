//! Input that is hostile, or only odd: it may not loop, panic, exhaust memory, or reach a terminal as it is.

#[path = "../../tamis/tests/colliding_names/mod.rs"]
mod colliding_names;
mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, Run, rows, svm};
use serde_json::Value;

/// 200 rows of two classes that one feature each tells apart.
fn two_classes() -> String {
    "1 1:0.01\n-1 2:0.01\n".repeat(200)
}

/// Whether the file of a command can be read again, and says what it should.
fn assert_readable(folder: &Folder, model: &str) {
    folder.ok(&format!("inspect {model} --json"));
}

/// Starts a command and waits until it ends, at most `seconds`.
fn ended_within(folder: &Folder, line: &str, seconds: u64) -> bool {
    let mut child = folder.process(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(seconds) {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn scores_that_are_not_finite_are_errors_with_their_place() {
    let folder = Folder::new();
    folder.write("a.svm", two_classes()).write("b.svm", "1 1:1\n1 1:1e307 2:1e307\n-1 1:1\n");
    folder.ok("fit a.svm --method ftrl -o a.json -q");
    let expected = "b.svm:2: the prediction is not a finite number; the values of this row are too large for the model";
    for line in ["eval a.json b.svm", "predict a.json b.svm", "report a.json --data b.svm -o r.html"] {
        assert!(ended_within(&folder, line, 20), "{line} does not end");
        assert_eq!(folder.run(line).complaint(), expected);
    }
    let validated = "fit a.svm --method ftrl -o a2.json -q --validate b.svm";
    assert!(ended_within(&folder, validated, 20));
    assert_eq!(folder.run(validated).complaint(), expected);
}

#[test]
fn long_lines_cost_linear_time_and_have_a_limit() {
    let folder = Folder::new();
    folder.write("blank.svm.zst", zstd::encode_all(&vec![b' '; 256 << 20][..], 3).unwrap());
    let started = Instant::now();
    let run = folder.run("fit blank.svm.zst -q --method ftrl");
    assert!(run.complaint().contains("a line is longer than 67108864 bytes"), "{}", run.err);
    assert!(run.complaint().contains("--max-line allows more"));
    let allowed = folder.run("fit blank.svm.zst -q --method ftrl --max-line 1G");
    assert_eq!(allowed.complaint(), "no rows in blank.svm.zst");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    folder.write("quote.csv", [b"y,a\n1,\"".to_vec(), b"x,y\n".repeat(20 << 20)].concat());
    assert!(folder.run("fit quote.csv -q").complaint().contains("is a quote not closed?"));
}

#[test]
fn wide_tables_are_predicted_in_linear_time() {
    let folder = Folder::new();
    let columns = 60_000;
    let head: String = (0..columns).map(|at| format!(",g{at}")).collect();
    let row = |label: usize| format!("{label}{}\n", ",1".repeat(columns - 1) + &format!(",{label}"));
    folder.write("wide.csv", format!("y{head}\n{}{}{}{}", row(0), row(1), row(0), row(1)));
    folder.ok("fit wide.csv -q -o m.json --method ftrl --passes 1");
    let started = Instant::now();
    folder.ok("predict m.json wide.csv");
    // Column by column in a list this takes twenty seconds.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn crafted_names_and_levels_of_tables_are_as_fast_as_others() {
    let folder = Folder::new();
    let names = colliding_names::colliding_names(40_000);
    let row = |label: usize| format!("{label}{}\n", format!(",{label}").repeat(names.len()));
    folder.write("wide.csv", format!("y,{}\n{}", names.join(","), [0, 1, 0, 1].map(row).concat()));
    let level = |(number, name): (usize, &String)| format!("{},{name}\n", number % 2);
    let levels: String = names.iter().chain(&names).enumerate().map(level).collect();
    folder.write("long.csv", format!("y,level\n{levels}"));
    let started = Instant::now();
    folder.ok("fit wide.csv -q -o m.json --method ftrl --passes 1");
    folder.ok("predict m.json wide.csv");
    folder.ok("fit long.csv -q -o l.json --method ftrl --passes 1 --min-count 1");
    // With a hash that has no key, each of the last two takes more than ten seconds.
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn numbers_that_are_not_finite_do_not_get_past_a_parser() {
    let folder = Folder::new();
    folder.write("a.vw", "1 |a:1e308 x:1e308\n");
    assert!(folder.run("convert a.vw a.jsonl").complaint().contains("feature value times namespace scale"));
    folder.write("sum.vw", "1 | x:1e308 x:1e308 y\n-1 | y\n".repeat(20));
    for line in ["fit sum.vw -q --method ftrl -o m.json", "fit sum.vw -q --method ftrl --hash-bits 3 -o m.json"] {
        let run = folder.run(line);
        assert!(run.code == Some(2) || run.code == Some(0), "{}", run.err);
        if run.code == Some(0) {
            assert_readable(&folder, "m.json");
        }
    }
    for label in ["inf", "-inf", "1e400", "Infinity"] {
        folder.write("l.csv", format!("y,a\n1.5,2\n2.5,3\n{label},4\n"));
        folder.write("l.jsonl", format!("{{\"y\":1.5,\"x\":{{\"a\":1}}}}\n{{\"y\":\"{label}\",\"x\":{{\"a\":1}}}}\n"));
        for file in ["l.csv", "l.jsonl"] {
            let run = folder.run(&format!("fit {file} -q --method ftrl"));
            assert!(run.complaint().contains(&format!("label \"{label}\" is not finite")), "{}", run.err);
        }
    }
}

#[test]
fn hostile_labels_and_names_are_harmless_on_a_terminal_and_in_tables() {
    let folder = Folder::new();
    let row = |label: &str, name: &str| format!("{{\"y\":\"{label}\",\"x\":{{\"{name}\":1}}}}\n");
    let both = row("\\u001b[31mred\\nline", "=cmd|' /C calc'!A0") + &row("\\u202eplain", "@x\\u001b]0;t\\u0007");
    folder.write("h.jsonl", both.repeat(30));
    folder.ok("fit h.jsonl -q -o h.json --method ftrl");
    let is_clean = |text: &str| {
        let strange = |c: char| (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(strange), "{text:?}");
    };
    for line in
        ["inspect h.json", "fit h.jsonl -o h.json --method ftrl", "eval h.json h.jsonl", "report h.json -o h.html"]
    {
        let run: Run = folder.run(line);
        is_clean(&run.out);
        is_clean(&run.err);
    }
    is_clean(&folder.text("h.html"));
    let predicted = folder.ok("predict h.json h.jsonl");
    assert_eq!(predicted.lines().count(), 60, "one line a row");
    is_clean(&predicted);
    folder.write("bad.jsonl", "{\"y\":1,\"\u{1b}[31mz\":2}\n");
    is_clean(&folder.run("fit bad.jsonl").err);
    for csv in [folder.ok("inspect h.json --csv"), folder.ok("stability h.jsonl -q --method ftrl --runs 2 --csv")] {
        let begins_formula = |line: &str| line.trim_start_matches('"').starts_with(['=', '@', '+']);
        assert!(csv.contains("'=cmd|") && !csv.lines().any(begins_formula), "{csv}");
    }
    folder.ok("convert h.json h.csv");
    assert!(folder.text("h.csv").contains("'=cmd|"));
}

#[test]
fn every_format_gives_the_same_model() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(500, 300, 12, 2, 5)));
    for name in ["a.jsonl", "a.vw", "a.parquet", "a.npz"] {
        folder.ok(&format!("convert a.svm {name}"));
    }
    // Tables also remember their columns; all else is equal.
    let outputs = |name: &str, method: &str| {
        let model: Value = serde_json::from_slice(&folder.model(&format!("{name} --method {method}"))).unwrap();
        let mut body = model["body"].clone();
        body.as_object_mut().unwrap().remove("columns");
        body
    };
    for method in ["two-stage", "stabilized", "ftrl", "sgd --passes 3", "fofs", "sofs", "rda", "ftrl --average"] {
        let first = outputs("a.svm", method);
        for name in ["a.jsonl", "a.vw", "a.parquet", "a.npz"] {
            assert!(outputs(name, method) == first, "{method} {name}");
        }
    }
}

#[test]
fn a_label_of_its_own_for_each_row_is_noticed() {
    let folder = Folder::new();
    let row = |at: usize| format!("id{at},{}\n", at % 3);
    folder.write("ids.csv", "y,a\n".to_string() + &(0..2000).map(row).collect::<String>());
    for method in ["ftrl", "stabilized", "two-stage"] {
        assert_eq!(
            folder.run(&format!("fit ids.csv -q --method {method}")).complaint(),
            "2000 different labels for 2000 rows: is --target the right column? Use --task multiclass if these are classes"
        );
    }
}

#[test]
fn memory_has_a_limit_and_the_state_is_saved() {
    let folder = Folder::new();
    let row = |at: usize| format!("{} |{}\n", at % 2, (0..10).map(|one| format!(" new{at}x{one}")).collect::<String>());
    folder.write("new.vw", (0..60_000).map(row).collect::<String>());
    let line = "fit new.vw -q -o m.json --method ftrl --passes 1 --checkpoint m.st --max-memory 40M";
    let run = folder.run(line);
    assert!(run.complaint().contains("are allowed; the state is saved in m.st. Use --hash-bits"), "{}", run.err);
    folder.ok("fit new.vw -q -o m.json --resume m.st");
    let whole = folder.model("new.vw --method ftrl --passes 1");
    assert!(folder.read("m.json") == whole);
    let many_passes = folder.run("fit new.vw -q -o m.json --method ftrl --passes 2 --max-memory 20M");
    assert!(many_passes.complaint().contains("--max-memory"), "{}", many_passes.err);
    folder.ok("fit new.vw -q -o m.json --method ftrl --passes 1 --hash-bits 12 --max-memory 40M");
}

#[test]
fn a_compressed_file_has_a_limit_on_disk_and_uses_the_cache_folder() {
    let folder = Folder::new();
    folder.write("a.svm", svm(&rows(400, 30, 5, 2, 1)));
    folder.ok("convert a.svm a.parquet");
    folder.write("a.parquet.zst", zstd::encode_all(&folder.read("a.parquet")[..], 3).unwrap());
    let run = folder.run("fit a.parquet.zst -q --method ftrl --max-unpacked 1000");
    let expected = "a.parquet.zst: it needs more than 1000 bytes on disk when decompressed; --max-unpacked allows more";
    assert_eq!(run.complaint(), expected);
    let missing = folder.run("fit a.parquet.zst -q --method ftrl --cache-dir nowhere");
    assert!(missing.complaint().contains("a temporary copy of compressed data cannot be made"), "{}", missing.err);
    folder.ok("fit a.parquet.zst -q --method ftrl --cache-dir .");
}

#[test]
fn rows_of_vowpal_wabbit_become_svmlight_that_can_be_read() {
    let folder = Folder::new();
    folder.write("dup.vw", "1 | 3:1 2:1 3:2\n-1 | 1\n");
    folder.ok("convert dup.vw dup.svm");
    assert_eq!(folder.text("dup.svm"), "1 2:1 3:3\n-1 1:1\n");
    folder.write("zero.vw", "1 | 0:1 2:1\n");
    assert!(folder.run("convert zero.vw zero.svm").complaint().contains("index 0"));
}
