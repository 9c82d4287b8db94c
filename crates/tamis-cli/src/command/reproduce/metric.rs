//! `metric`: nearest neighbours under a learned metric, tested on rows that had no part in learning or choosing it.
//!
//! Source: Ma 2017, section 2.7, tables 2.1, 2.2 and 2.4. Files with a test file are tested on it once, unless `pooled`
//! says that the two are to be put together; all others are split at random, `train-share` of the rows for learning,
//! `runs` times, or the data set's `runs`; `part` takes a share of the rows. Generated rows are made anew for every
//! run. Which candidate, and how many of its steps, is decided on training rows alone. The fields of a row's `set` go
//! into the settings of every candidate; `voters` is how many rows vote. A column's `runs` are the most it takes of
//! generated rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde::Deserialize;
use tamis::data::Label;
use tamis::metric::{Candidate, Metric, MetricError, MetricMeasures, MetricOptions, Settings, Stop, Table, fit};
use tamis::parse::columns::KnownColumns;
use tamis::read::{
    Block, Dense, Labels, MatrixRows, ReadError, ReadOptions, RowChoice, RowSource, RowStream, Source, expand,
    memory_of_this_machine,
};
use tamis::synth::{Plan, generate};
use tamis::tune::side_by_side;

use super::cell::{Lab, Outcome, find};
use super::plan::{Cell, DataSet, Fields, Generated, RowPlan, RunPlan};
use super::simulate::summary;
use crate::error::CliError;
use crate::output::progress::ProgressDisplay;

/// A column whose models are metrics.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricRun {
    /// The families that compete.
    #[serde(rename = "try")]
    pub families: Vec<String>,
    /// Fields of the settings of all of them.
    #[serde(default)]
    pub set: Fields,
    /// When a run stops.
    pub stop: Option<Stop>,
    /// Whether the error is that of f_W and not of the vote.
    #[serde(default)]
    pub base: bool,
}

/// What one run says.
struct Found {
    measures: MetricMeasures,
    variables: f64,
    width: f64,
    terms: f64,
    seconds: f64,
    name: String,
}

/// Rows to learn from and rows to test on, by what they are made of.
enum Origin<'a> {
    Files { train: Vec<Source>, test: Vec<Source>, part: Option<RowChoice>, split: Option<RowChoice> },
    Made(&'a Generated, u64),
}

impl Lab<'_> {
    /// A cell: the mean over all runs.
    pub fn metric(&self, row: &RowPlan, column: &str) -> Result<Outcome, CliError> {
        let data = &self.experiment.data[&row.data];
        let run = &self.experiment.runs[column];
        let plan = run.metric.as_ref().ok_or_else(|| format!("run {column:?} says nothing of a metric"))?;
        let options = self.metric_options(plan, &row.set)?;
        let Some(runs) = self.metric_runs(data, run) else {
            let text = data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into());
            return Ok(Outcome::Missing(text));
        };
        let screen = ProgressDisplay::of_fits(
            self.quiet,
            &format!("{}, {}", row.title.as_deref().unwrap_or(&data.title), run.title),
        );
        let found = side_by_side(runs as usize, self.threads, &|done, of| screen.advance(done, of), |number| {
            self.go_on(0)?;
            let seed = self.protocol().seed.wrapping_add(number as u64);
            self.learn_metric(data, &MetricOptions { seed, ..options.clone() }, number as u64).map(|(_, found)| found)
        })?;
        screen.finish();
        Ok(Outcome::Measured(cell(&found, plan.base)))
    }

    /// How often a column learns from a data set; nothing if its files are not there.
    fn metric_runs(&self, data: &DataSet, run: &RunPlan) -> Option<u64> {
        match (&data.generated, self.metric_files(data)) {
            (Some(rows), _) => Some(self.runs_of(rows).min(run.runs.unwrap_or(u64::MAX))),
            (None, Some(_)) if data.test.is_some() && !data.pooled => Some(1),
            (None, Some(_)) => Some(data.runs.unwrap_or(self.protocol().runs)),
            (None, None) => None,
        }
    }

    fn metric_files(&self, data: &DataSet) -> Option<[Option<PathBuf>; 2]> {
        let train = find(&self.folder, &data.train)?;
        match &data.test {
            Some(name) => Some([Some(train), Some(find(&self.folder, name)?)]),
            None => Some([Some(train), None]),
        }
    }

    /// The options of a column for a row.
    pub fn metric_options(&self, plan: &MetricRun, set: &Fields) -> Result<MetricOptions, String> {
        let mut fields = plan.set.clone();
        fields.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
        let number = |value: &serde_json::Value| value.as_u64().map(|value| value as usize);
        let voters = fields.remove("voters").as_ref().and_then(number).unwrap_or(3);
        let change = |settings| overlaid(&settings, &fields).map_err(MetricError::Choice);
        let candidates = Candidate::changed(&plan.families, change).map_err(|error| error.to_string())?;
        Ok(MetricOptions {
            candidates,
            stop: plan.stop.unwrap_or(Stop::HeldOut),
            voters,
            steps: fields.get("steps").and_then(number),
            threads: 1,
            interrupt: self.stop.clone(),
            ..MetricOptions::default()
        })
    }

    /// Learns and tests once.
    fn learn_metric(&self, data: &DataSet, options: &MetricOptions, number: u64) -> Result<(Metric, Found), CliError> {
        let origin = self.origin(data, number)?;
        let task = data.task()?;
        let table =
            origin.with(true, data, None, |rows| Ok(Table::read(rows, task, memory_of_this_machine(), &mut ())?))?;
        let started = Instant::now();
        let metric = fit(&table, options, &())?.metric;
        let seconds = started.elapsed().as_secs_f64();
        let measures = origin.with(false, data, metric.columns.clone(), |rows| Ok(metric.measure(rows)?))?;
        let found = Found {
            measures,
            variables: metric.variables.len() as f64,
            width: metric.width as f64,
            terms: metric.terms.len() as f64,
            seconds,
            name: metric.name.clone(),
        };
        Ok((metric, found))
    }

    /// The metric of a column for a data set, from the first split.
    pub fn one_metric(&self, data: &str, column: &str) -> Result<Metric, CliError> {
        let run = &self.experiment.runs[column];
        let plan = run.metric.as_ref().ok_or("the run says nothing of a metric".to_string())?;
        let (options, data) = (self.metric_options(plan, &Fields::new())?, &self.experiment.data[data]);
        if self.metric_runs(data, run).is_none() {
            return Err(CliError::Message(data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into())));
        }
        Ok(self.learn_metric(data, &MetricOptions { threads: self.threads, ..options }, 0)?.0)
    }

    fn origin<'a>(&self, data: &'a DataSet, number: u64) -> Result<Origin<'a>, CliError> {
        let seed = self.protocol().seed;
        if let Some(rows) = &data.generated {
            return Ok(Origin::Made(rows, seed.wrapping_add(number)));
        }
        let files = self.metric_files(data).ok_or_else(|| "data unavailable here".to_string())?;
        let [train, test] = files.map(|path| path.map(|path| expand(&[path.display().to_string()], None)).transpose());
        let (mut train, test) = (train?.unwrap_or_default(), test?.unwrap_or_default());
        // The part is none of the splits, which count from 0.
        let share = |share, run| RowChoice::Share { share, seed, run, inside: true };
        let part = data.part.map(|part| share(part, u64::MAX));
        if !test.is_empty() && !data.pooled {
            return Ok(Origin::Files { train, test, part, split: None });
        }
        train.extend(test);
        let split = Some(share(self.protocol().train_share, number));
        Ok(Origin::Files { test: train.clone(), train, part, split })
    }
}

impl Origin<'_> {
    /// Hands the training or the test rows on.
    fn with<R>(
        &self,
        learning: bool,
        data: &DataSet,
        known: Option<KnownColumns>,
        work: impl FnOnce(&mut dyn RowSource) -> Result<R, CliError>,
    ) -> Result<R, CliError> {
        match self {
            Origin::Files { train, test, part, split } => {
                let split = split.map(|split| split.turned(learning));
                let rows = part.iter().copied().chain(split).collect();
                let mut options = ReadOptions { threads: 1, rows, ..ReadOptions::default() };
                options.columns.known = known;
                let mut stream = RowStream::open(if learning { train.clone() } else { test.clone() }, options);
                match data.classes.is_empty() {
                    true => work(&mut stream),
                    false => work(&mut OnlyClasses { rows: &mut stream, classes: &data.classes }),
                }
            }
            Origin::Made(rows, seed) => {
                let (from, count) = if learning { (0, rows.n) } else { (rows.n, rows.test_rows) };
                let (cells, labels) = made(&rows.plan(*seed), from, count)?;
                let matrix = Dense::new(&cells, count, rows.p)?;
                work(&mut MatrixRows::new(matrix, Labels::Numbers(&labels), None, None)?)
            }
        }
    }
}

/// Generated rows from number `from` on: their cells, and their labels.
fn made(plan: &Plan, from: usize, count: usize) -> Result<(Vec<f64>, Vec<f64>), CliError> {
    let (_, rows) = generate(plan).map_err(|error| error.to_string())?;
    let mut all = vec![0.0; count * (plan.p + 1)];
    rows.fill(from as u64, &mut all);
    let lines = || all.chunks_exact(plan.p + 1);
    Ok((lines().flat_map(|line| line[1..].iter().copied()).collect(), lines().map(|line| line[0]).collect()))
}

/// The rows of some classes.
struct OnlyClasses<'a> {
    rows: &'a mut dyn RowSource,
    classes: &'a [f64],
}

impl RowSource for OnlyClasses<'_> {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        let known = |label: &Label| matches!(label, Label::Number(number) if self.classes.contains(number));
        let next = self.rows.next_block()?;
        Ok(next.map(|block| Block { rows: block.rows.keep(|row| known(&block.rows.labels[row])), ..block }))
    }

    fn name(&self) -> String {
        self.rows.name()
    }

    fn columns(&self) -> Option<KnownColumns> {
        self.rows.columns()
    }
}

/// Settings with fields put in.
fn overlaid(settings: &Settings, fields: &Fields) -> Result<Settings, String> {
    let mut all = serde_json::to_value(settings).expect("plain data becomes JSON");
    for (name, value) in fields {
        if all.get(name).is_none() {
            return Err(format!("a metric has no setting {name:?}"));
        }
        all[name] = value.clone();
    }
    if fields.contains_key("entries") {
        all["entries-share"] = serde_json::Value::Null;
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}

fn cell(found: &[Found], base: bool) -> Cell {
    let of = |value: &dyn Fn(&Found) -> f64| summary(&found.iter().map(value).collect::<Vec<f64>>());
    let ways: Vec<_> = found.iter().map(|one| if base { &one.measures.base } else { &one.measures.vote }).collect();
    let mut values = BTreeMap::from([
        ("error".to_string(), summary(&ways.iter().map(|way| way.error).collect::<Vec<_>>())),
        ("balanced-error".into(), summary(&ways.iter().map(|way| way.balanced_error).collect::<Vec<_>>())),
        ("base-error".into(), of(&|one| one.measures.base.error)),
        ("variables".into(), of(&|one| one.variables)),
        ("selected".into(), of(&|one| 100.0 * one.variables / one.width)),
        ("terms".into(), of(&|one| one.terms)),
        ("seconds".into(), of(&|one| one.seconds)),
    ]);
    if let Some(areas) = ways.iter().map(|way| way.auc).collect::<Option<Vec<f64>>>() {
        values.insert("auc".into(), summary(&areas));
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    found.iter().for_each(|one| *names.entry(&one.name).or_default() += 1);
    let mut names: Vec<(&str, usize)> = names.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let setting = match &names[..] {
        [(name, 1)] => name.to_string(),
        names => names.iter().map(|(name, count)| format!("{count} × {name}")).collect::<Vec<_>>().join("; "),
    };
    Cell { setting, values }
}
