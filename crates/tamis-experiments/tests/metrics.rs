//! Experiments with learned metrics: generated rows, random splits, given test rows, a subset of the classes, images.

mod common;

use std::fmt::Write as _;

use common::{Folder, Random};
use serde_json::Value;

const EXPECTED: &str = r#"
paper = "Nobody, A paper, 2001."
about = "A test."

[protocol]
name = "metric"
runs = 3

[data.made]
title = "made"
generated = { kind = "xor", n = 120, p = 4, k = 2, runs = 2, test-rows = 200 }

[data.split]
title = "split"
train = "a.svm"

[data.part]
title = "part"
train = "a.svm"
part = 0.6
runs = 4

[data.pooled]
title = "pooled"
train = "a.svm"
test = "b.svm"
pooled = true

[data.given]
title = "given"
train = "a.svm"
test = "b.svm"
classes = [1.0, 2.0]

[data.lost]
title = "lost"
train = "lost.svm"

[runs.knn]
title = "k-NN"
metric = { candidates = ["plain"] }

[runs.base]
title = "f_W"
metric = { candidates = ["plain"], base = true }

[runs.learned]
title = "learned"
metric = { candidates = ["order-2"], set = { max-iter = 20, max-terms = 2, burn-in = 2 }, early-stopping = "off" }

[runs.other]
title = "other"
runs = 1
metric = { candidates = ["plain"] }

[runs.odd]
title = "odd"
metric = { candidates = ["order-3"] }

[tables.1]
title = "error"
measure = "error"
columns = ["knn", "learned"]
rows = [{ data = "made", paper = { knn = [0.2] } }, { data = "split" }, { data = "part" }, { data = "pooled" }, { data = "given" }, { data = "lost" }]

[tables.1-variables]
title = "variables"
measure = "variables"
columns = ["learned"]
rows_of = "1"

[tables.k]
title = "neighbours"
measure = "error"
columns = ["knn", "base"]
rows = [{ data = "given", at = 1, set = { n-neighbors = 1 } }, { data = "given", at = 5, set = { n-neighbors = 5 } }]

[tables.odd]
title = "odd"
measure = "error"
columns = ["odd"]
rows = [{ data = "split" }]

[tables.slow]
title = "slow"
measure = "error"
columns = ["knn", "learned", "other"]
rows = [{ data = "made", paper = { learned = [0.1] }, not-run = { learned = "an hour a fit" } }]

[figures.k]
title = "neighbours"
draw = { kind = "at", table = "k", x = "at", x_title = "k", y_title = "error" }

[figures.dots]
title = "dots"
draw = { kind = "pixels", data = "given", series = ["learned"], width = 3, bins = 5 }
"#;

/// Three classes that the first of six columns separates.
fn svm(rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for row in 0..rows {
        let class = row % 3;
        write!(text, "{class} 1:{:.3}", class as f64 + 0.8 * random.unit() + 0.1).unwrap();
        (2..7).for_each(|at| write!(text, " {at}:{:.3}", 5.0 * random.unit() + 0.1).unwrap());
        text.push('\n');
    }
    text
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("experiments/tiny/expected.toml", EXPECTED);
    folder.write("data/a.svm", svm(90, 1)).write("data/b.svm", svm(60, 2));
    folder
}

/// The value of a cell, or why there is none.
fn cell<'a>(tables: &'a Value, row: &str, column: &str) -> &'a Value {
    let lines = tables[0]["lines"].as_array().or_else(|| tables[0]["rows"].as_array()).expect("lines");
    lines.iter().find(|line| line["row"] == row && line["column"] == column).expect("the cell")
}

#[test]
fn metrics_are_tested_on_held_out_rows() {
    let folder = folder();
    let tables = folder.json("tiny/1 --data data --json --quiet");
    for (row, runs) in [("made", 2), ("split", 2), ("part", 2), ("pooled", 2), ("given", 1)] {
        let [plain, learned] = ["k-NN", "learned"].map(|column| cell(&tables, row, column)["ours"].clone());
        assert_eq!(plain.as_array().unwrap().len(), runs.min(2), "{row}: mean and deviation where there are runs");
        let [plain, learned] = [plain, learned].map(|values| values[0].as_f64().unwrap());
        assert!(learned <= plain + 0.05 && learned < 0.35, "{row}: {learned} against {plain}");
    }
    let setting = |row: &str| cell(&tables, row, "k-NN")["setting"].clone();
    assert_eq!([setting("split"), setting("part"), setting("given")], ["3 × plain", "4 × plain", "plain"]);
    assert!(cell(&tables, "lost", "k-NN").to_string().contains("data unavailable here"));
    assert!(folder.text("docs/results/tiny-1.md").contains("random splits"));
}

#[test]
fn a_cell_that_is_not_run_says_why_and_a_slow_column_takes_fewer_runs() {
    let folder = folder();
    let tables = folder.json("tiny/slow --data data --record --json --quiet");
    let slow = cell(&tables, "made", "learned");
    assert!(slow["missing"] == "not run: an hour a fit" && slow["paper"][0] == 0.1, "{slow}");
    assert!(folder.text("docs/results/tiny-slow.md").contains("| not run: an hour a fit |"));
    assert!(!folder.text("experiments/tiny/recorded.toml").contains("learned"));
    assert_eq!(["k-NN", "other"].map(|column| cell(&tables, "made", column)["ours"].as_array().unwrap().len()), [2, 1]);
}

#[test]
fn figures_show_neighbours_and_pixels() {
    let folder = folder();
    folder.ok("tiny/figurek --data data --quiet");
    assert!(folder.text("docs/results/tiny-figure-k.csv").contains("f_W"));
    folder.ok("tiny/figuredots --data data --quiet");
    assert!(folder.text("docs/results/tiny-figure-dots-1.csv").contains("share of the trace"));
    assert!(folder.text("docs/results/tiny-figure-dots-2.csv").contains("class 1 less class 2"));
}

#[test]
fn an_unknown_family_is_reported() {
    let folder = folder();
    let run = folder.run("tiny/odd --data data --quiet");
    assert!(format!("{}{}", run.out, run.err).contains("unknown candidate \"order-3\""), "{}{}", run.out, run.err);
}
