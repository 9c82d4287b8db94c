//! The same rows give the same model, bit for bit: for any threads, files, compression, memory and order of names.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use common::{DataRow, Folder, csv, names_in, rows, svm, vw};

/// Asserts that all command lines fit the very same model, and returns its file.
fn all_alike(folder: &Folder, lines: &[String]) -> Vec<u8> {
    let first = folder.model(&lines[0]);
    for line in &lines[1..] {
        assert!(folder.model(line) == first, "another model:\n  {}\n  {line}", lines[0]);
    }
    first
}

#[test]
fn threads_change_nothing() {
    let folder = Folder::new();
    let [two, five] = [2, 5].map(|classes| rows(12_000, 400, 12, classes, 9));
    folder.write("two.svm", svm(&two)).write("five.svm", svm(&five));
    folder.write("five.vw", vw(&five)).write("two.csv", csv(&rows(6000, 60, 6, 2, 9), 60));
    assert!(folder.read("five.vw").len() > 1 << 20, "more than one block");
    for line in [
        "two.svm",
        "two.svm --passes 1",
        "two.csv --passes 3",
        "five.vw --passes 1 --method truncated-gradient",
        "five.svm --method ftrl --passes 3 --k 20 --refit",
        "five.vw --passes 2 --method fobos --average",
    ] {
        all_alike(&folder, &[1, 2, 3].map(|threads| format!("{line} --threads {threads}")));
    }
}

#[test]
fn a_run_repeated_gives_the_same_model() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(2000, 100, 8, 3, 9)));
    all_alike(&folder, &["d.svm --seed 3", "d.svm --seed 3"].map(String::from));
    let [one, other] = ["d.svm --seed 3", "d.svm --seed 4"].map(|line| folder.model(line));
    assert!(one != other, "the seed matters");
}

/// The text cut after the given numbers of lines.
fn cut(text: &str, sizes: &[usize]) -> Vec<String> {
    let mut lines = text.split_inclusive('\n');
    let mut parts: Vec<String> = sizes.iter().map(|&size| lines.by_ref().take(size).collect()).collect();
    parts.push(lines.collect());
    parts
}

/// Writes parts as `<prefix>0.<format>`, …; returns their names as one input.
fn write_parts(folder: &Folder, prefix: &str, format: &str, parts: &[String]) -> String {
    let names: Vec<String> = (0..parts.len()).map(|part| format!("{prefix}{part}.{format}")).collect();
    for (name, text) in names.iter().zip(parts) {
        folder.write(name, text);
    }
    names.join(" ")
}

const FLAGS: [&str; 6] = [
    "",
    "--passes 1",
    "--passes 1 --scale max-abs --method sgd",
    "--passes 1 --scale none --method fobos --learning-rate 0.1",
    "--passes 3 --scale unit-variance",
    "--passes 1 --method two-stage",
];

#[test]
fn any_cut_into_files_changes_nothing() {
    let folder = Folder::new();
    // Values grow along the stream: decisions from the first rows must not depend on where a file ends.
    let mut data = rows(9000, 300, 8, 2, 4);
    for (at, row) in data.iter_mut().enumerate() {
        row.features.iter_mut().for_each(|(_, value)| *value *= 1.0 + at as f64 / 1000.0);
    }
    let text = svm(&data);
    folder.write("whole.svm", &text);
    let cuts: [&[usize]; 4] = [&[1], &[4095, 1, 1], &[3000, 3000], &[10, 0, 500, 5000, 7]];
    let mut inputs = vec!["whole.svm".to_string()];
    for (number, sizes) in cuts.iter().enumerate() {
        inputs.push(write_parts(&folder, &format!("cut{number}-"), "svm", &cut(&text, sizes)));
    }
    for flags in FLAGS {
        all_alike(&folder, &inputs.iter().map(|input| format!("{input} {flags}")).collect::<Vec<_>>());
    }
}

#[test]
fn any_cut_changes_nothing_for_numbers_to_predict() {
    let folder = Folder::new();
    let mut text = String::new();
    for (at, row) in rows(6000, 40, 8, 2, 4).iter().enumerate() {
        let sum: f64 = row.features.iter().map(|(_, value)| value).sum();
        write!(text, "{:.3}", sum + at as f64 / 500.0).unwrap();
        row.features.iter().for_each(|(id, value)| write!(text, " {id}:{value}").unwrap());
        text.push('\n');
    }
    folder.write("whole.svm", &text);
    let parts = write_parts(&folder, "p", "svm", &cut(&text, &[100, 4200]));
    for flags in FLAGS {
        all_alike(&folder, &["whole.svm", &parts].map(|input| format!("{input} {flags}")));
    }
}

#[test]
fn any_cut_changes_nothing_when_features_are_given_back() {
    let folder = Folder::new();
    let text = vw(&rows(20_000, 300_000, 12, 2, 5));
    folder.write("whole.vw", &text);
    let parts = write_parts(&folder, "p", "vw", &cut(&text, &[5000, 5000, 3333]));
    let flags = "--passes 1 --scale none --method truncated-gradient --schedule constant --learning-rate 0.05 --l1 0.1";
    all_alike(&folder, &["whole.vw", &parts].map(|input| format!("{input} {flags}")));
}

#[test]
fn any_cut_of_long_data_changes_nothing() {
    let folder = Folder::new();
    let text = svm(&rows(205_000, 30, 2, 2, 5));
    folder.write("whole.svm", &text);
    let parts = write_parts(&folder, "p", "svm", &cut(&text, &[123, 199_000, 4000]));
    all_alike(&folder, &["whole.svm --threads 1", "whole.svm --threads 2", &parts].map(String::from));
}

#[test]
fn any_cut_of_a_table_changes_nothing() {
    let folder = Folder::new();
    let text = csv(&rows(3000, 30, 5, 3, 4), 30);
    let (header, body) = text.split_at(text.find('\n').unwrap() + 1);
    folder.write("whole.csv", &text);
    let tables: Vec<String> = cut(body, &[700, 1]).iter().map(|rows| format!("{header}{rows}")).collect();
    let parts = write_parts(&folder, "p", "csv", &tables);
    for flags in FLAGS {
        all_alike(&folder, &["whole.csv", &parts].map(|input| format!("{input} {flags}")));
    }
}

#[test]
fn packed_files_directories_patterns_and_standard_input_are_the_same_stream() {
    let folder = Folder::new();
    let text = svm(&rows(9000, 300, 20, 2, 4));
    let bytes = text.as_bytes();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(bytes).unwrap();
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bz2.write_all(bytes).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(bytes).unwrap();
    folder.write("d.svm", bytes).write("d.svm.gz", gz.finish().unwrap()).write("d.svm.bz2", bz2.finish().unwrap());
    folder.write("d.svm.xz", xz.finish().unwrap()).write("d.svm.zst", zstd::encode_all(bytes, 1).unwrap());
    let halves = cut(&text, &[4000]);
    let packed = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    folder.write("parts/a.svm", &halves[0]).write("parts/b.svm.zst", packed(&halves[1])).write("parts/notes.txt", "x");
    folder.write("members.svm.zst", [packed(&halves[0]), packed(&halves[1])].concat());
    let inputs =
        ["d.svm", "d.svm.gz", "d.svm.bz2", "d.svm.xz", "d.svm.zst", "members.svm.zst", "parts", "parts/*.svm*"];
    for flags in ["", "--passes 1"] {
        let model = all_alike(&folder, &inputs.map(|input| format!("{input} {flags}")));
        for name in ["d.svm", "d.svm.gz"] {
            let line = format!("fit - --format svm {flags} --quiet --out stdin.json");
            folder.run_with(&line, folder.read(name)).ok(&line);
            assert!(folder.read("stdin.json") == model, "{name} on standard input");
        }
    }
}

#[test]
fn rows_on_disk_and_rows_in_memory_are_the_same_rows() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(9000, 300, 40, 2, 4)));
    std::fs::create_dir(folder.path("cache")).unwrap();
    for flags in ["--passes 4", "--passes 2 --no-shuffle", "--method ftrl --passes 2 --refit --scale unit-variance"] {
        let memories = ["1G", "500K", "0"];
        all_alike(&folder, &memories.map(|memory| format!("d.svm {flags} --memory {memory} --cache-dir cache")));
    }
    assert_eq!(names_in(&folder.path("cache")), [] as [&str; 0]);
}

#[test]
fn the_pass_cache_never_has_a_name() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(9000, 300, 40, 2, 4)));
    std::fs::create_dir(folder.path("cache")).unwrap();
    let line = "fit d.svm --method ftrl --passes 2000000 --memory 0 --cache-dir cache --out m.json";
    let mut child = folder.process(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stderr.take().unwrap()), &mut line).unwrap();
    assert!(line.starts_with("average"), "learning has begun, so all rows are on disk: {line}");
    let during = names_in(&folder.path("cache"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!([during, names_in(&folder.path("cache"))], [const { Vec::<String>::new() }; 2]);
}

/// The row's features in another order.
fn reversed(row: &DataRow) -> DataRow {
    DataRow { label: row.label, features: row.features.iter().rev().copied().collect() }
}

fn jsonl(rows: &[DataRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let pairs: Vec<String> = row.features.iter().map(|(id, value)| format!("\"n{id}\":{value}")).collect();
        writeln!(text, "{{\"y\":{},\"x\":{{{}}}}}", row.label, pairs.join(",")).unwrap();
    }
    text
}

#[test]
fn the_order_of_names_in_a_row_leaves_no_trace() {
    let folder = Folder::new();
    let data = rows(2000, 300, 10, 3, 4);
    let turned: Vec<DataRow> = data.iter().map(reversed).collect();
    folder.write("a.vw", vw(&data)).write("b.vw", vw(&turned));
    folder.write("a.jsonl", jsonl(&data)).write("b.jsonl", jsonl(&turned));
    for flags in ["", "--passes 1 --method fobos", "--hash-bits 6"] {
        for kind in ["vw", "jsonl"] {
            all_alike(&folder, &[format!("a.{kind} {flags}"), format!("b.{kind} {flags}")]);
        }
    }
    folder
        .write("twice.vw", "1 | a:0.1 b a:0.2 a:0.3\n0 | b c\n")
        .write("turned.vw", "1 | a:0.3 a:0.2 b a:0.1\n0 | c b\n");
    all_alike(&folder, &["twice.vw", "turned.vw"].map(String::from));
}

#[test]
fn all_formats_tell_the_same_data() {
    let folder = Folder::new();
    folder.write("d.svm", svm(&rows(600, 40, 6, 2, 4)));
    let formats = ["svm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow", "npz", "jsonl.gz", "csv.zst"];
    for format in &formats[1..] {
        folder.ok(&format!("convert d.svm d.{format}"));
        folder.ok(&format!("convert d.{format} back.svm"));
        assert_eq!(folder.text("back.svm"), folder.text("d.svm"), "there and back by {format}");
    }
    for flags in ["--passes 1", "--method fobos --scale unit-variance", "--k 10", "--method ftrl --k 10 --refit"] {
        let weights = formats.map(|format| {
            folder.ok(&format!("fit d.{format} {flags} --quiet --out {format}.json"));
            folder.weights(&format!("{format}.json"))
        });
        assert!(weights[0].len() >= 10);
        for (format, other) in formats.iter().zip(&weights) {
            assert!(other.keys().eq(weights[0].keys()), "{format}: the same features");
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * a.abs().max(1.0);
            assert!(other.values().zip(weights[0].values()).all(close), "{format} {flags}: the same weights");
        }
    }
    let predictions = formats.map(|format| folder.ok(&format!("predict svm.json d.{format}")));
    assert!(predictions.iter().all(|lines| *lines == predictions[0] && lines.lines().count() == 600));
}

#[test]
fn importance_weights_survive_formats() {
    let folder = Folder::new();
    folder.write("d.vw", "1 2 | a:1.5 b\n0 | b c:-2\n1 0.5 | c\n0 3 | a:0.25\n");
    let expected = folder.model("d.vw --passes 2 --no-shuffle");
    folder.ok("convert d.vw d.jsonl");
    assert!(folder.model("d.jsonl --passes 2 --no-shuffle") == expected);
    for format in ["parquet", "arrow", "csv"] {
        folder.ok(&format!("convert d.vw d.{format}"));
        folder.ok(&format!("fit d.{format} --weight-column weight --passes 2 --no-shuffle --quiet --out w.json"));
        folder.write("expected.json", &expected);
        assert_eq!(folder.weights("w.json"), folder.weights("expected.json"), "{format}");
    }
}
