//! The specification of an experiment: `experiments/<paper>/expected.toml`.
//!
//! ```toml
//! paper = "Author, Title, year"
//! about = "what is computed, and how our protocol differs"
//!
//! [protocol]                     # how cells are measured, unless a table names another protocol
//! name = "tune-then-orderings"   # or sparsest-within, describe; by-epoch, by-draws, at-equal-size; detection, drift,
//!                                # regret, random-splits; metric
//! folds = 5                      # of the cross-validation on training rows
//! rule = "min"                   # or one-se
//! runs = 10                      # fits with different seeds
//!
//! [recipe]                       # fields of every recipe
//! scale = "unit-variance"
//!
//! [data.dexter]                  # files in the folder --data; without `test`, one row in `hold_out` is a test row
//! title = "Dexter"
//! train = "dexter_train.svm"     # or a compressed version: .zst, .gz …
//! test = "dexter_valid.svm"
//! columns = 20000                # p, including columns that never occur
//!
//! [data.weak]                    # or generated rows, as by `tamis synth`; run r uses seed + r
//! title = "weak signal"
//! generated = { kind = "correlated", n = 100000, p = 1000, k = 100, signal = 0.01, runs = 20, test-rows = 5000 }
//!
//! [runs.rda]                     # a column of the tables
//! title = "RDA"
//! recipe = { method = "rda" }
//! grid = { l1 = [1e-4, 1e-3] }   # without a grid, the method's default one; {} has a single setting
//!
//! [runs.ofsa]                    # or a model from running averages; with generated rows, k is the true one
//! title = "OFSA"
//! solve = { method = "ofsa" }    # fields of a solving recipe
//! forget = 0.01                  # the decay rate of the averages, or
//! forget_of = [0.01, 0.001]      # several rates; the best one before the scored periods is used
//!
//! [runs.averages]                # or the running averages alone, for their seconds
//! title = "running averages"
//! averages = true
//!
//! [runs.sdist]                   # or a metric (metric.rs): the candidate families, and fields of their settings
//! title = "sDist"
//! metric = { candidates = ["plain", "order-2"], set = { max-iter = 100 }, early-stopping = "held-out" }
//!
//! [tables.2]
//! title = "test error (%)"
//! measure = "error"              # error (%), rmse, nonzero (% of columns), kappa; kept (% of features), test, baseline;
//!                                # detected (% of true features), rmse, auc, r2, seconds, regret-1000
//! columns = ["rda"]
//! tolerance = 1.0
//! why = "why this tolerance"
//! rows = [{ data = "dexter", title = "Dexter, hinge", set = { loss = "hinge" }, paper = { rda = [11.42, 0.59] } }]
//!                                # `not-run = { rda = "over an hour" }` skips a cell and gives the reason
//! ```
//! Rows of by-epoch, by-draws and at-equal-size have `at = …`: the epoch, the number of draws, the radius. A missing
//! data set can be generated: `generate = { kind = "text-regression", n = …, p = …, nonzeros = …, test-rows = … }`. A
//! table that shows another measure of the same cells says `rows_of = "2"` instead of repeating the rows. `decimals` is
//! the number of decimals shown, 2 by default. `figure/mod.rs` explains figures.
//!
//! The paper's values are `[value]` or `[mean, standard deviation]`. Our last recorded values are in `recorded.toml`,
//! as [`Recorded`]; so are the results of other programs (`measured = "peers.toml"` in a run).

use std::collections::BTreeMap;

use crate::generate::Generate;
use serde::{Deserialize, Serialize};
use tamis::data::TaskKind;
use tamis::recipe::{Recipe, SolveRecipe, Solver};
use tamis::synth::{Kind, Plan};
use tamis::tune::{Axis, Rule, overlay};

use crate::figure::FigurePlan;
use crate::metric::MetricRun;

/// An experiment.
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

/// How cells are measured.
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
    /// The run that the others are compared with (sparsest-within, at-equal-size).
    pub baseline: Option<String>,
    /// The share of its performance that may be lost (sparsest-within).
    #[serde(default = "one_per_cent")]
    pub within: f64,
    /// The share of training rows in a random split (metric).
    #[serde(default = "seven_tenths", rename = "train-share")]
    pub train_share: f64,
    /// Number of epochs in one pass over the training rows (by-epoch).
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

/// The protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolName {
    /// Hyper-parameters by cross-validation on the training rows, then several fits to all of them, each tested once.
    TuneThenOrderings,
    /// The sparsest setting whose cross-validated performance is close to the baseline's, tested once.
    SparsestWithin,
    /// Counts of the files.
    Describe,
    /// A learner after each epoch, with a setting chosen by cross-validation.
    ByEpoch,
    /// Many samples of the features of one model.
    ByDraws,
    /// The single-stage model with a given radius, and the two-stage model with as many features.
    AtEqualSize,
    /// Generated rows: the share of the true features that is found, and the error on new rows.
    Detection,
    /// Generated rows whose true weights change: the error on the next rows.
    Drift,
    /// Generated rows: the progressive loss minus that of the best model in hindsight.
    Regret,
    /// Models from running averages, with the size chosen by cross-validation, tested on random parts of the rows.
    RandomSplits,
    /// Nearest neighbours with a learned metric, tested on other rows.
    Metric,
}

impl ProtocolName {
    /// Whether all columns of a row are measured together, on the same generated rows or splits.
    pub fn is_by_row(self) -> bool {
        matches!(
            self,
            ProtocolName::Detection | ProtocolName::Drift | ProtocolName::Regret | ProtocolName::RandomSplits
        )
    }
}

/// A data set: files, or rows to generate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    pub title: String,
    #[serde(default)]
    pub train: String,
    pub generated: Option<Generated>,
    pub test: Option<String>,
    /// Whether the training and test file are joined and split at random (metric).
    #[serde(default)]
    pub pooled: bool,
    /// Only rows of these classes (metric).
    #[serde(default)]
    pub classes: Vec<f64>,
    /// Only this share of the rows of every file, the same in every run (metric).
    pub part: Option<f64>,
    /// Number of random splits, if not the protocol's (metric).
    pub runs: Option<u64>,
    /// Without a test file, one row in this many, chosen by hash, is a test row.
    pub hold_out: Option<u32>,
    pub columns: Option<u64>,
    #[serde(default)]
    pub task: String,
    /// The message if the files are missing.
    pub unavailable: Option<String>,
    /// What to generate if the files are missing.
    pub generate: Option<Generate>,
    /// How these files differ from the paper's.
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

/// Rows to generate.
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
    /// Number of runs, if not the protocol's.
    pub runs: Option<u64>,
    /// Test rows, generated after the training rows (detection, metric).
    #[serde(default)]
    pub test_rows: usize,
    /// Rows with the same true weights (drift).
    pub period_rows: Option<usize>,
    /// The number of scored periods at the end (drift).
    #[serde(default)]
    pub scored_periods: usize,
}

fn one() -> f64 {
    1.0
}

impl Generated {
    /// The plan of the rows for a seed.
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
    /// A model solved from running averages.
    pub solve: Option<Fields>,
    /// Their decay rate.
    #[serde(default)]
    pub forget: f64,
    /// Or several decay rates; the best one before the scored periods is used.
    #[serde(default)]
    pub forget_of: Vec<f64>,
    /// Running averages without a model.
    #[serde(default)]
    pub averages: bool,
    /// A metric.
    pub metric: Option<MetricRun>,
    /// At most this many runs with generated rows, for a slow method.
    pub runs: Option<u64>,
    /// At most this many generated rows.
    pub most_rows: Option<usize>,
    /// The file with the values of another program.
    pub measured: Option<String>,
}

impl RunPlan {
    /// The recipe of this run; the row's fields override the run's, which override the experiment's.
    pub fn recipe(&self, all: &Fields, row: &Fields, seed: u64) -> Result<Recipe, String> {
        let fields = [all, &self.recipe, row].into_iter().flatten();
        let base = Recipe { seed, ..Recipe::default() };
        overlay(&base, fields.map(|(name, value)| (name.clone(), value.clone()))).map_err(|error| error.to_string())
    }

    /// The solving recipe, if the run has one; missing fields have their defaults.
    pub fn solving(&self, more: &Fields) -> Option<Result<SolveRecipe, String>> {
        let fields = self.solve.as_ref()?;
        let mut recipe = SolveRecipe::new(Solver::Ofsa);
        let mut given = more.iter().chain(fields);
        let set = given.try_for_each(|(name, value)| recipe.set(name, &text(value))).and_then(|()| recipe.check());
        Some(set.map(|()| recipe).map_err(|error| error.to_string()))
    }

    /// The grid, if the run has one.
    pub fn axes(&self) -> Option<Vec<Axis>> {
        let axis = |(name, values): (&String, &Vec<serde_json::Value>)| Axis::new(name, values.iter().map(text));
        Some(self.grid.as_ref()?.iter().map(axis).collect())
    }
}

/// A value as on the command line.
fn text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// A table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePlan {
    pub title: String,
    /// The measure; with `describe` each column is one.
    #[serde(default)]
    pub measure: String,
    pub protocol: Option<ProtocolName>,
    pub columns: Vec<String>,
    /// The largest difference that counts as agreement.
    pub tolerance: Option<f64>,
    pub why: Option<String>,
    /// Number of decimals shown.
    #[serde(default = "two")]
    pub decimals: usize,
    #[serde(default)]
    pub rows: Vec<RowPlan>,
    /// The table that has the rows, for another measure of the same cells.
    pub rows_of: Option<String>,
}

/// A row of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowPlan {
    pub data: String,
    pub title: Option<String>,
    /// Fields set in every recipe of this row.
    #[serde(default)]
    pub set: Fields,
    /// The epoch, the number of draws, or the radius.
    pub at: Option<f64>,
    /// The values the paper prints, by column.
    #[serde(default)]
    pub paper: BTreeMap<String, Vec<f64>>,
    /// Why a column is not run, by column.
    #[serde(default, rename = "not-run")]
    pub not_run: BTreeMap<String, String>,
}

impl RowPlan {
    /// The epoch, the number of draws, or the radius; an error if there is none.
    pub fn at(&self) -> Result<f64, String> {
        self.at.filter(|at| *at > 0.0).ok_or_else(|| format!("row {}: expected at = a number above 0", self.data))
    }

    /// The key of a cell among the recorded ones.
    pub fn key(&self, column: &str) -> String {
        let set: Vec<String> = self.set.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let at = self.at.map(|at| format!("at={at}"));
        let parts =
            std::iter::once(self.data.as_str()).chain(set.iter().chain(&at).map(String::as_str)).chain([column]);
        parts.collect::<Vec<_>>().join("/")
    }
}

/// A measured cell: for each measure, `[value]` or `[mean, standard deviation]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    #[serde(default)]
    pub setting: String,
    #[serde(flatten)]
    pub values: BTreeMap<String, Vec<f64>>,
}

/// Cells by key.
pub type Recorded = BTreeMap<String, Cell>;
