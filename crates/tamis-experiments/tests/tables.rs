//! Experiments on files: their tables and figures, and the pages written beside the paper's values.

mod common;

use common::{Folder, svm};
use tamis::io::expand;
use tamis::loss::LossKind;
use tamis::recipe::{Method, Recipe};
use tamis::train::{FitOptions, fit};
use tamis::tune::{
    Axis, CrossOptions, DataSummary, Files, GridPoint, RepeatOptions, Rule, TuneData, Variation, choose,
    cross_validate, repeat, settings, summarize,
};

const EXPECTED: &str = r#"
paper = "Nobody, A paper, 2000."
about = "A test."

[protocol]
name = "tune-then-orderings"
folds = 3
runs = 3

[data.small]
title = "Small"
train = "train.svm"
test = "test.svm"
columns = 100

[data.whole]
title = "Whole"
train = "train.svm"
hold_out = 4

[data.lost]
title = "Lost"
train = "lost.svm"
unavailable = "data unavailable here"

[runs.ftrl]
title = "FTRL"
recipe = { method = "ftrl", passes = 2 }
grid = { l1 = [1, 3] }

[runs.later]
title = "Later"
recipe = { method = "not-yet" }

[runs.peer]
title = "Peer"
measured = "peers.toml"

[tables.1]
title = "sizes"
protocol = "describe"
columns = ["train", "test"]
rows = [{ data = "small", paper = { train = [240], test = [81] } }]

[tables.2]
title = "errors"
measure = "error"
columns = ["ftrl", "later", "peer"]
tolerance = 100.0
why = "Anything goes."
rows = [
  { data = "small", title = "Small, hinge", set = { loss = "hinge" }, paper = { ftrl = [5.0, 0.5], peer = [7.0] } },
  { data = "whole" },
  { data = "lost", paper = { ftrl = [1.0] } },
]

[tables.3]
title = "sizes of models"
measure = "nonzero"
columns = ["ftrl"]
rows_of = "2"

[figures.1]
title = "sizes over <the run>"
caption = "Look here."
draw = { kind = "trajectory", data = "small", measure = "nonzero", looks = 10, series = ["ftrl"] }

[figures.2]
title = "errors at the end"
draw = { kind = "trajectory", data = "small", measure = "error", last = 20, series = ["ftrl", "stages"] }

[figures.3]
title = "selected by density"
draw = { kind = "density", data = "small", levels = 4, series = ["ftrl"] }

[figures.4]
title = "annealing"
draw = { kind = "annealing", rejection = 0.6, annealing = [-5, 0, 5] }

[figures.5]
title = "of what is not there"
draw = { kind = "density", data = "lost", levels = 4, series = ["ftrl"] }

[runs.stages]
title = "Stages"
recipe = { method = "stabilized" }
grid = {}
"#;

const PEERS: &str = "[\"small/loss=hinge/peer\"]\nsetting = \"C 1\"\nerror = [6.5, 0.25]\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("data/train.svm", svm(240, 3)).write("data/test.svm", svm(80, 4));
    folder.write("experiments/nobody2000/expected.toml", EXPECTED).write("experiments/nobody2000/peers.toml", PEERS);
    folder
}

#[test]
fn tables_stand_beside_the_papers() {
    let folder = folder();
    let shown = folder.ok("nobody --data data --quiet --record");
    assert!(shown.contains("table 1: sizes") && shown.contains("table 3: sizes of models"), "{shown}");
    let page = folder.text("docs/results/nobody2000-2.md");
    let line =
        |start: &str| page.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}\n{page}"));
    assert!(line("| Small, hinge | FTRL | 5.00 ± 0.50 |").contains("✓") && page.contains("Anything goes."), "{page}");
    assert!(line("| Small, hinge | FTRL").ends_with("| l1 1 |") || line("| Small, hinge | FTRL").ends_with("| l1 3 |"));
    assert!(line("| Small, hinge | Later").contains("not in this build"));
    assert_eq!(line("| Small, hinge | Peer"), "| Small, hinge | Peer | 7.00 | 6.50 ± 0.25 | -0.50 ✓ |  | C 1 |");
    assert!(line("| Whole | Peer").contains("not yet measured"));
    assert_eq!(line("| Lost | FTRL"), "| Lost | FTRL | 1.00 | – |  |  | data unavailable here |");
    assert!(folder.text("docs/results/nobody2000-1.md").contains("| Small | test | 81 | 80 | -1 |"));
    // What was recorded is shown the next time, and is the same.
    let output = folder.json("nobody2000/2 --data data --quiet --json --threads 1");
    let first = &output[0]["lines"][0];
    assert_eq!((&first["ours"], first["row"].as_str()), (&first["recorded"], Some("Small, hinge")));
    assert!(folder.text("experiments/nobody2000/recorded.toml").contains("[\"small/loss=hinge/ftrl\"]"));
}

/// FTRL as the experiment describes it.
fn ftrl(loss: LossKind) -> Recipe {
    Recipe { loss: Some(loss), passes: Some(2), ..Recipe::new(Method::Ftrl) }
}

/// The penalty of 1 and 3 that cross-validation on the training file chooses, with the summary of that file.
fn tuned(folder: &Folder, recipe: &Recipe) -> (GridPoint, DataSummary, FitOptions) {
    let sources = expand(&[folder.path("data/train.svm").display().to_string()], None).unwrap();
    let options = FitOptions { sources, ..FitOptions::default() };
    let rows = Files::of(&options).unwrap();
    let about = summarize(&rows, None).unwrap();
    let all = settings(recipe, &[Axis::new("l1", ["1", "3"].map(String::from))]).unwrap();
    let cross = CrossOptions { folds: 3, seed: 0, measure: None };
    let curve = cross_validate(&all, &rows, &about, &options, &cross, &|_, _| {}).unwrap();
    (all[choose(&curve, Rule::Min).unwrap()].clone(), about, options)
}

#[test]
fn a_cell_is_tuned_then_measured_over_orderings() {
    let folder = folder();
    let output = folder.json("nobody/2 --data data --quiet --json --only small");
    let line = &output[0]["lines"][0];
    let (setting, about, options) = tuned(&folder, &ftrl(LossKind::Hinge));
    assert_eq!(line["setting"], setting.name());
    let test = expand(&[folder.path("data/test.svm").display().to_string()], None).unwrap();
    let test = Files::of(&FitOptions { sources: test, ..FitOptions::default() }).unwrap();
    let (by, columns, validation) = (Variation::Order, Some(100), Some(&test as &dyn TuneData));
    let plan = RepeatOptions { runs: 3, by, seed: 0, columns, measure: None, validation };
    let train = Files::of(&options).unwrap();
    let expected = repeat(&setting.recipe, &train, &about, &options, &plan, &|_, _| {}).unwrap().error;
    for (value, expected) in line["ours"].as_array().unwrap().iter().zip([expected.0, expected.1]) {
        assert!((value.as_f64().unwrap() - 100.0 * expected).abs() < 1e-9, "{value} {expected}");
    }
    assert!(!folder.path("docs").exists(), "a part is not written");
}

#[test]
fn the_sparsest_within_a_share_of_the_baseline() {
    let folder = folder();
    folder.write(
        "experiments/sparse/expected.toml",
        r#"
paper = "P."
about = "A."
[protocol]
name = "sparsest-within"
folds = 3
baseline = "sgd"
within = 0.5
[data.d]
title = "D"
train = "train.svm"
hold_out = 4
[runs.sgd]
title = "SGD"
recipe = { method = "sgd" }
grid = { learning-rate = [0.1, 0.5] }
[runs.ftrl]
title = "FTRL"
recipe = { method = "ftrl" }
grid = { l1 = [0.1, 1, 10, 1000] }
[tables.kept]
title = "kept"
measure = "kept"
columns = ["ftrl"]
rows = [{ data = "d" }]
[tables.test]
title = "test"
measure = "test"
columns = ["ftrl"]
rows_of = "kept"
"#,
    );
    let output = folder.json("sparse --data data --quiet --json");
    // Half of the performance may go: the model without features, right on every other row, is within.
    assert_eq!(output[0]["lines"][0]["ours"], serde_json::json!([0.0]));
    let wrong = output[1]["lines"][0]["ours"][0].as_f64().unwrap();
    assert!(wrong > 20.0 && wrong < 80.0, "{output}");
}

/// The points of a series of a figure, as JSON tells them.
fn points(output: &serde_json::Value, series: usize) -> Vec<(f64, f64)> {
    let points = output[0]["charts"][0]["series"][series]["points"].as_array().expect("points");
    points.iter().map(|point| (point[0].as_f64().unwrap(), point[1].as_f64().unwrap())).collect()
}

#[test]
fn figures_follow_the_runs_they_show() {
    let folder = folder();
    let output = folder.json("nobody/figure1 --data data --quiet --json");
    let path = points(&output, 0);
    assert!(path.len() >= 10 && path.last().unwrap().0 == 480.0, "{path:?}");
    // The last point is the final model, with the penalty that cross-validation chooses.
    let (setting, _, options) = tuned(&folder, &ftrl(LossKind::Logistic));
    let model = fit(&setting.recipe, &options, None, &mut ()).unwrap().model;
    assert_eq!(path.last().unwrap().1, model.nonzeros() as f64, "of 100 columns");
    let svg = folder.text("docs/results/nobody2000-figure-1.svg");
    assert!(svg.starts_with("<svg") && svg.contains("sizes over &lt;the run&gt;"));
    let page = folder.text("docs/results/nobody2000-figure-1.md");
    assert!(page.contains("Look here.") && page.contains("](nobody2000-figure-1.svg)"), "{page}");
    assert_eq!(folder.text("docs/results/nobody2000-figure-1.csv").lines().count(), path.len() + 1);
}

#[test]
fn the_last_rows_are_counted_back_from_the_end() {
    let folder = folder();
    let output = folder.json("nobody/figure2 --data data --quiet --json");
    let single = points(&output, 0);
    assert_eq!((single.first().unwrap().0, single.last().unwrap().0, single.len()), (-20.0, 0.0, 21));
    let stages = points(&output, 1);
    assert!(stages.last().unwrap().0 == 0.0 && stages.iter().all(|point| (0.0..60.0).contains(&point.1)), "{stages:?}");
}

#[test]
fn densities_annealing_and_missing_data() {
    let folder = folder();
    let output = folder.json("nobody/figure3 --data data --quiet --json");
    let levels = points(&output, 0);
    assert!(!levels.is_empty() && levels.iter().all(|level| (0.0..=100.0).contains(&level.0)), "{levels:?}");
    assert!(levels.windows(2).all(|pair| pair[0].0 < pair[1].0) && levels.iter().any(|level| level.1 > 0.0));
    let output = folder.json("nobody/figure4 --quiet --json");
    let linear = points(&output, 1);
    assert!(linear.iter().all(|(share, rate)| (rate - 0.6 * share).abs() < 1e-12), "γ = 0 is a straight line");
    let output = folder.json("nobody/figure5 --data data --quiet --json");
    assert_eq!(output[0]["missing"], "data unavailable here");
}

#[test]
fn the_papers_own_experiments_can_be_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let experiments = root.join("experiments");
    let folder = Folder::new();
    folder.write("empty/readme", "no data");
    for paper in
        common::names_in(&experiments).iter().filter(|name| experiments.join(name).join("expected.toml").is_file())
    {
        // Generated rows are always there, and would be measured in full.
        let text = std::fs::read_to_string(experiments.join(paper).join("expected.toml")).unwrap();
        let plan: toml::Table = text.parse().unwrap();
        let is_file = |data: &toml::Value| data.get("generate").is_none() && data.get("generated").is_none();
        let files = plan["data"].as_table().unwrap().iter().filter(|(_, data)| is_file(data));
        let only: Vec<&str> = files.map(|(name, _)| name.as_str()).collect();
        let output = folder.json(&format!(
            "{paper} --root {} --data empty --only {} --quiet --json",
            root.display(),
            only.join(",")
        ));
        let tables = output.as_array().unwrap().iter().filter(|part| part["table"].is_string());
        let all = tables.flat_map(|table| table["lines"].as_array().unwrap());
        let missing = all.filter(|line| line["missing"].is_string()).count();
        assert!(missing >= only.len(), "without data nothing is measured: {output}");
    }
}

#[test]
fn complaints_say_what_to_do() {
    let folder = folder();
    let message = |line: &str| folder.run(line).complaint().to_string();
    assert_eq!(message("somebody --data data"), "somebody: expected one of nobody2000");
    assert_eq!(
        message("nobody/9 --data data"),
        "9: expected one of 1, 2, 3, figure1, figure2, figure3, figure4, figure5"
    );
    assert!(message("nobody --only x --data data").contains("--only x: the data sets are lost, small, whole"));
    assert!(message("nobody --root nowhere").contains("--root names the repository"));
    folder.write(
        "experiments/broken/expected.toml",
        EXPECTED.replace("columns = [\"ftrl\", \"later\"", "columns = [\"frtl\", \"later\""),
    );
    assert!(message("broken").contains("table 2: there is no run \"frtl\""), "{}", message("broken"));
}
