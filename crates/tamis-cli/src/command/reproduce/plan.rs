//! An experiment as data: `experiments/<paper>/expected.toml`.
//!
//! ```toml
//! paper = "Author, Title, year"
//! about = "what is reproduced, and how our protocol differs"
//!
//! [protocol]                     # what a cell of a table is, unless the table says otherwise
//! name = "tune-then-orderings"   # or sparsest-within, describe; by-epoch, by-draws, at-equal-size; detection, drift,
//!                                # regret, random-splits; metric
//! folds = 5                      # of the cross-validation, on training rows only
//! rule = "min"                   # or one-se
//! runs = 10                      # orderings
//!
//! [recipe]                       # fields of every recipe
//! scale = "unit-variance"
//!
//! [data.dexter]                  # files in the folder of --data; without `test`, one row in `hold_out` is for testing
//! title = "Dexter"
//! train = "dexter_train.svm"     # .zst, .gz … are looked for too
//! test = "dexter_valid.svm"
//! columns = 20000                # p, also those that never occur
//!
//! [data.weak]                    # or rows that are made, as by `tamis synth`; run r has seed + r
//! title = "weak signal"
//! generated = { kind = "correlated", n = 100000, p = 1000, k = 100, signal = 0.01, runs = 20, test-rows = 5000 }
//!
//! [runs.rda]                     # a column of the tables
//! title = "RDA"
//! recipe = { method = "rda" }
//! grid = { l1 = [1e-4, 1e-3] }        # without a grid, the program's own for the method; {} tries nothing
//!
//! [runs.ofsa]                    # or a model from running averages; with generated rows k is theirs
//! title = "OFSA"
//! solve = { method = "ofsa" }    # fields of a solving recipe
//! forget = 0.01                  # and the rate at which the averages forget, or
//! forget_of = [0.01, 0.001]      # rates, of which the one counts that was best before the periods that are judged
//!
//! [runs.averages]                # or the running averages alone: the seconds they take
//! title = "running averages"
//! averages = true
//!
//! [runs.sdist]                   # or a metric (metric.rs): the families that compete, fields of their settings
//! title = "sDist"
//! metric = { try = ["plain", "order-2"], set = { steps = 100 }, stop = "held-out" }
//!
//! [tables.2]
//! title = "test error (%)"
//! measure = "error"              # error (%), rmse, nonzero (% of columns), kappa; kept (% of features), test, baseline;
//!                                # detected (% of true features), rmse, auc, r2, seconds, regret-1000
//! columns = ["rda"]
//! tolerance = 1.0
//! why = "why this tolerance"
//! rows = [{ data = "dexter", title = "Dexter, hinge", set = { loss = "hinge" }, paper = { rda = [11.42, 0.59] } }]
//!                                # `not-run = { rda = "over an hour" }` leaves a cell out and says why
//! ```
//! Rows of by-epoch, by-draws and at-equal-size say `at = …`: the epoch, the number of draws, the radius. Data that are not
//! there may be made: `generate = { kind = "text-regression", n = …, p = …, nonzeros = …, test-rows = … }`.
//! A table that measures the same cells in another way says `rows_of = "2"` instead of listing rows again.
//! Figures are explained in `figure/mod.rs`.
//! `decimals` says how many are shown behind the point, two if nothing is said.
//! The paper's values stand as `[value]` or `[mean, standard deviation]`. What we measured last stands in `recorded.toml`
//! beside it, in [`Recorded`] form, and so do the results of other programs (`measured = "peers.toml"` in a run).

use std::collections::BTreeMap;

use super::generate::Generate;
use serde::{Deserialize, Serialize};
use tamis::recipe::{Recipe, SolveRecipe, Solver};
use tamis::synth::{Kind, Plan};
use tamis::train::TaskKind;
use tamis::tune::{Axis, Rule, overlay};

use super::figure::FigurePlan;
use super::metric::MetricRun;

/// A whole experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    pub paper: String,
    pub about: String,
    pub protocol: Protocol,
    #[serde(default)]
    pub recipe: Fields,
    pub data: BTreeMap<String, DataSet>,
    #[serde(default)]
    pub runs: BTreeMap<String, RunPlan>,
    #[serde(default)]
    pub tables: BTreeMap<String, TablePlan>,
    #[serde(default)]
    pub figures: BTreeMap<String, FigurePlan>,
}

/// Fields of a recipe.
pub type Fields = BTreeMap<String, serde_json::Value>;

/// What is done for a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    pub name: ProtocolName,
    #[serde(default = "five")]
    pub folds: u32,
    #[serde(default = "min")]
    pub rule: String,
    #[serde(default = "ten")]
    pub runs: u64,
    #[serde(default)]
    pub seed: u64,
    /// The run that others are compared with (sparsest-within).
    pub baseline: Option<String>,
    /// The share of its performance that may be lost (sparsest-within).
    #[serde(default = "one_per_cent")]
    pub within: f64,
    /// The share of rows that are learned from in a random split (metric).
    #[serde(default = "seven_tenths", rename = "train-share")]
    pub train_share: f64,
    /// Epochs in one pass over the training rows (by-epoch).
    #[serde(default = "five")]
    pub epochs: u32,
}

fn five() -> u32 {
    5
}

fn two() -> usize {
    2
}

fn ten() -> u64 {
    10
}

fn min() -> String {
    "min".into()
}

fn one_per_cent() -> f64 {
    0.01
}

fn seven_tenths() -> f64 {
    0.7
}

impl Protocol {
    pub fn rule(&self) -> Result<Rule, String> {
        let found = Rule::ALL.into_iter().find(|rule| rule.name() == self.rule);
        found.ok_or_else(|| format!("rule {:?}: one of one-se, min", self.rule))
    }
}

/// The protocols there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolName {
    /// Settings by cross-validation on the training rows, then several orderings of all of them, each tested once.
    TuneThenOrderings,
    /// The sparsest setting that loses little of the baseline's performance, by cross-validation; then tested once.
    SparsestWithin,
    /// What the files hold.
    Describe,
    /// A learner after each epoch, its setting by cross-validation.
    ByEpoch,
    /// One model, its features drawn many times.
    ByDraws,
    /// A single stage at some radius, and two stages with as many features.
    AtEqualSize,
    /// Generated rows with a known truth: which of the true features are found, and how well new rows are predicted.
    Detection,
    /// Generated rows whose truth moves: how well the rows that come next are predicted.
    Drift,
    /// Generated rows: the loss on the way, less that of the best model in hindsight.
    Regret,
    /// Models from running averages, their size chosen by cross-validation, tested on random parts of the rows.
    RandomSplits,
    /// Nearest neighbours under a learned metric, tested on other rows.
    Metric,
}

impl ProtocolName {
    /// Whether all columns of a row are measured together, from the same rows.
    pub fn is_by_row(self) -> bool {
        matches!(
            self,
            ProtocolName::Detection | ProtocolName::Drift | ProtocolName::Regret | ProtocolName::RandomSplits
        )
    }
}

/// Files, or rows to be made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    pub title: String,
    #[serde(default)]
    pub train: String,
    pub generated: Option<Generated>,
    pub test: Option<String>,
    /// Whether training and test file are put together and split at random (metric).
    #[serde(default)]
    pub pooled: bool,
    /// Only rows of these classes (metric).
    #[serde(default)]
    pub classes: Vec<f64>,
    /// Only this share of the rows of every file, always the same (metric).
    pub part: Option<f64>,
    /// So many random splits, instead of the protocol's (metric).
    pub runs: Option<u64>,
    /// Without a test file: one row in this many, by hash, is for testing.
    pub hold_out: Option<u32>,
    pub columns: Option<u64>,
    #[serde(default)]
    pub task: String,
    /// What to say where the files are not there.
    pub unavailable: Option<String>,
    /// What to make where the files are not there.
    pub generate: Option<Generate>,
    /// What sets these files apart from the paper's.
    pub note: Option<String>,
}

impl DataSet {
    pub fn task(&self) -> Result<TaskKind, String> {
        if self.task.is_empty() {
            return Ok(TaskKind::Auto);
        }
        let found = TaskKind::ALL.into_iter().find(|kind| kind.name() == self.task);
        found.ok_or_else(|| format!("task {:?}: one of {}", self.task, TaskKind::ALL.map(TaskKind::name).join(", ")))
    }
}

/// Rows to be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Generated {
    pub kind: Kind,
    pub n: usize,
    pub p: usize,
    pub k: usize,
    #[serde(default = "one")]
    pub signal: f64,
    #[serde(default)]
    pub classes: bool,
    /// So many times, instead of the protocol's.
    pub runs: Option<u64>,
    /// Rows behind the training rows that models are tested on (detection).
    #[serde(default)]
    pub test_rows: usize,
    /// Rows with the same truth (drift).
    pub period_rows: Option<usize>,
    /// The last periods, whose rows are predicted before they are learned (drift).
    #[serde(default)]
    pub judged_periods: usize,
}

fn one() -> f64 {
    1.0
}

impl Generated {
    /// What run `run` generates.
    pub fn plan(&self, seed: u64) -> Plan {
        let plan = Plan::new(self.kind);
        let period_rows = self.period_rows.unwrap_or(plan.period_rows);
        let Generated { n, p, k, signal, classes, .. } = *self;
        Plan { n, p, k, signal, classes: classes || plan.classes, period_rows, seed, ..plan }
    }
}

/// A method with its grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    pub title: String,
    #[serde(default)]
    pub recipe: Fields,
    pub grid: Option<BTreeMap<String, Vec<serde_json::Value>>>,
    /// A model from running averages.
    pub solve: Option<Fields>,
    /// The rate at which they forget.
    #[serde(default)]
    pub forget: f64,
    /// Or several rates, of which the best so far counts.
    #[serde(default)]
    pub forget_of: Vec<f64>,
    /// Running averages and no model.
    #[serde(default)]
    pub averages: bool,
    /// A metric.
    pub metric: Option<MetricRun>,
    /// Only in so many of the runs with generated rows, where it is slow.
    pub runs: Option<u64>,
    /// Only with so many generated rows.
    pub most_rows: Option<usize>,
    /// Measured by another program, in this file.
    pub measured: Option<String>,
}

impl RunPlan {
    /// The recipe of this run: the experiment's fields, then the run's, then the row's.
    pub fn recipe(&self, all: &Fields, row: &Fields, seed: u64) -> Result<Recipe, String> {
        let fields = [all, &self.recipe, row].into_iter().flatten();
        let base = Recipe { seed, ..Recipe::default() };
        overlay(&base, fields.map(|(name, value)| (name.clone(), value.clone()))).map_err(|error| error.to_string())
    }

    /// What to make of running averages, if the run says it, all else by default.
    pub fn solving(&self, more: &Fields) -> Option<Result<SolveRecipe, String>> {
        let fields = self.solve.as_ref()?;
        let mut recipe = SolveRecipe::new(Solver::Ofsa);
        let mut given = more.iter().chain(fields);
        let set = given.try_for_each(|(name, value)| recipe.set(name, &text(value))).and_then(|()| recipe.check());
        Some(set.map(|()| recipe).map_err(|error| error.to_string()))
    }

    /// The values to try, if the run names them.
    pub fn axes(&self) -> Option<Vec<Axis>> {
        let axis = |(name, values): (&String, &Vec<serde_json::Value>)| Axis::new(name, values.iter().map(text));
        Some(self.grid.as_ref()?.iter().map(axis).collect())
    }
}

/// A value as it is written on the command line.
fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// A table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePlan {
    pub title: String,
    /// What the numbers are; with `describe` the columns say it.
    #[serde(default)]
    pub measure: String,
    pub protocol: Option<ProtocolName>,
    pub columns: Vec<String>,
    /// The largest difference that counts as the same.
    pub tolerance: Option<f64>,
    pub why: Option<String>,
    /// Decimals shown.
    #[serde(default = "two")]
    pub decimals: usize,
    #[serde(default)]
    pub rows: Vec<RowPlan>,
    /// The table whose rows these are too: other measures of the same cells.
    pub rows_of: Option<String>,
}

/// A row of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowPlan {
    pub data: String,
    pub title: Option<String>,
    /// Fields of every recipe of this row.
    #[serde(default)]
    pub set: Fields,
    /// The number the row is about: an epoch, draws, a radius.
    pub at: Option<f64>,
    /// What the paper prints, by column.
    #[serde(default)]
    pub paper: BTreeMap<String, Vec<f64>>,
    /// Why a column is not run, by column.
    #[serde(default, rename = "not-run")]
    pub not_run: BTreeMap<String, String>,
}

impl RowPlan {
    /// The number the row is about.
    pub fn at(&self) -> Result<f64, String> {
        self.at.filter(|at| *at > 0.0).ok_or_else(|| format!("row {}: expected at = a number above 0", self.data))
    }

    /// The name of a cell among the recorded ones.
    pub fn key(&self, column: &str) -> String {
        let set: Vec<String> = self.set.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let at = self.at.map(|at| format!("at={at}"));
        let parts =
            std::iter::once(self.data.as_str()).chain(set.iter().chain(&at).map(String::as_str)).chain([column]);
        parts.collect::<Vec<_>>().join("/")
    }
}

/// What was measured for a cell: by measure, `[value]` or `[mean, standard deviation]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    #[serde(default)]
    pub setting: String,
    #[serde(flatten)]
    pub values: BTreeMap<String, Vec<f64>>,
}

/// Cells by name.
pub type Recorded = BTreeMap<String, Cell>;
