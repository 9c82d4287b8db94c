//! `metric`: nearest neighbours with a learned metric, tested on rows that were not used to learn or choose it.
//!
//! Source: Ma 2017, section 2.7, tables 2.1, 2.2 and 2.4. A data set with a test file is tested on it once, unless `pooled`
//! joins the two files. All others are split at random `runs` times (the protocol's or the data set's), with `train-share`
//! of the rows for training; `part` uses only a share of the rows. Generated rows are new in every run. The candidate and
//! its number of steps are chosen on training rows only. The fields of a row's `set` change the parameters of every
//! candidate; `n-neighbors` is the k of k-NN. With generated rows, a column's `runs` limits their number.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde::Deserialize;
use tamis::data::Label;
use tamis::data::RowFilter;
use tamis::io::{
    Block, Dense, Labels, MatrixRows, ReadError, ReadOptions, RowSource, RowStream, Source, expand,
    memory_of_this_machine,
};
use tamis::parse::schema::ModelSchema;
use tamis::synth::{Plan, generate};
use tamis::tune::side_by_side;
use tamis_metric::{Candidate, Dataset, EarlyStopping, Evaluation, Metric, MetricError, MetricOptions, Params, fit};

use crate::error::Failure;
use crate::output::FitProgress;
use crate::simulate::summary;
use crate::spec::{Cell, DataSet, Fields, Generated, RowPlan, RunPlan};
use crate::table_cell::{Outcome, Session, find};

/// A column whose models are metrics.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricRun {
    /// The candidate families.
    pub candidates: Vec<String>,
    /// Fields of the parameters of every candidate.
    #[serde(default)]
    pub set: Fields,
    /// The stopping rule.
    pub early_stopping: Option<EarlyStopping>,
    /// Whether to report the error of the base learner f_W instead of the vote.
    #[serde(default)]
    pub base: bool,
}

/// The result of one run.
struct Found {
    measures: Evaluation,
    variables: f64,
    width: f64,
    terms: f64,
    seconds: f64,
    name: String,
}

/// Where training and test rows come from.
enum Origin<'a> {
    Files { train: Vec<Source>, test: Vec<Source>, part: Option<RowFilter>, split: Option<RowFilter> },
    Made(&'a Generated, u64),
}

impl Session<'_> {
    /// A cell: the mean over all runs.
    pub fn metric(&self, row: &RowPlan, column: &str) -> Result<Outcome, Failure> {
        let data = &self.experiment.data[&row.data];
        let run = &self.experiment.runs[column];
        let plan = run.metric.as_ref().ok_or_else(|| format!("run {column:?} has no metric"))?;
        let options = self.metric_options(plan, &row.set)?;
        let Some(runs) = self.metric_runs(data, run) else {
            let text = data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into());
            return Ok(Outcome::Missing(text));
        };
        let screen =
            FitProgress::new(self.quiet, &format!("{}, {}", row.title.as_deref().unwrap_or(&data.title), run.title));
        let found = side_by_side(runs as usize, self.threads, &|done, of| screen.watch(done, of), |number| {
            self.check_interrupt(0)?;
            let seed = self.protocol().seed.wrapping_add(number as u64);
            self.learn_metric(data, &MetricOptions { seed, ..options.clone() }, number as u64).map(|(_, found)| found)
        })?;
        screen.finish();
        Ok(Outcome::Measured(cell(&found, plan.base)))
    }

    /// The number of runs of a column on a data set; `None` if a file is missing.
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
        let n_neighbors = fields.remove("n-neighbors").as_ref().and_then(number).unwrap_or(3);
        let change = |params| overlaid(&params, &fields).map_err(MetricError::Invalid);
        let candidates = Candidate::changed(&plan.candidates, change).map_err(|error| error.to_string())?;
        Ok(MetricOptions {
            candidates,
            early_stopping: plan.early_stopping.unwrap_or(EarlyStopping::HeldOut),
            n_neighbors,
            max_iter: fields.get("max-iter").and_then(number),
            threads: 1,
            interrupt: self.stop.clone(),
            ..MetricOptions::default()
        })
    }

    /// Learns a metric and tests it, once.
    fn learn_metric(&self, data: &DataSet, options: &MetricOptions, number: u64) -> Result<(Metric, Found), Failure> {
        let origin = self.origin(data, number)?;
        let task = data.task()?;
        let table =
            origin.with(true, data, None, |rows| Ok(Dataset::read(rows, task, memory_of_this_machine(), &mut ())?))?;
        let started = Instant::now();
        let metric = fit(&table, options, &mut ())?.metric;
        let seconds = started.elapsed().as_secs_f64();
        let measures = origin.with(false, data, metric.columns.clone(), |rows| Ok(metric.evaluate(rows)?))?;
        let found = Found {
            measures,
            variables: metric.variables.len() as f64,
            width: metric.n_features as f64,
            terms: metric.terms.len() as f64,
            seconds,
            name: metric.name.clone(),
        };
        Ok((metric, found))
    }

    /// The metric of a column for a data set, from the first split.
    pub fn one_metric(&self, data: &str, column: &str) -> Result<Metric, Failure> {
        let run = &self.experiment.runs[column];
        let plan = run.metric.as_ref().ok_or("the run has no metric".to_string())?;
        let (options, data) = (self.metric_options(plan, &Fields::new())?, &self.experiment.data[data]);
        if self.metric_runs(data, run).is_none() {
            return Err(Failure::Text(data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into())));
        }
        Ok(self.learn_metric(data, &MetricOptions { threads: self.threads, ..options }, 0)?.0)
    }

    fn origin<'a>(&self, data: &'a DataSet, number: u64) -> Result<Origin<'a>, Failure> {
        let seed = self.protocol().seed;
        if let Some(rows) = &data.generated {
            return Ok(Origin::Made(rows, seed.wrapping_add(number)));
        }
        let files = self.metric_files(data).ok_or_else(|| "data unavailable here".to_string())?;
        let [train, test] = files.map(|path| path.map(|path| expand(&[path.display().to_string()], None)).transpose());
        let (mut train, test) = (train?.unwrap_or_default(), test?.unwrap_or_default());
        // A run number that no split has.
        let share = |share, run| RowFilter::Share { share, seed, run, inside: true };
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
    /// Calls `work` with the training or the test rows.
    fn with<R>(
        &self,
        learning: bool,
        data: &DataSet,
        known: Option<ModelSchema>,
        work: impl FnOnce(&mut dyn RowSource) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        match self {
            Origin::Files { train, test, part, split } => {
                let split = split.map(|split| split.turned(learning));
                let rows = part.iter().copied().chain(split).collect();
                let mut options = ReadOptions { threads: 1, rows, ..ReadOptions::default() };
                options.columns.known = known;
                let mut stream = RowStream::open(if learning { train.clone() } else { test.clone() }, options);
                if data.classes.is_empty() {
                    work(&mut stream)
                } else {
                    work(&mut OnlyClasses { rows: &mut stream, classes: &data.classes })
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

/// `count` generated rows starting at row `from`: the cells and the labels.
fn made(plan: &Plan, from: usize, count: usize) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    let (_, rows) = generate(plan).map_err(|error| error.to_string())?;
    let mut all = vec![0.0; count * (plan.p + 1)];
    rows.fill(from as u64, &mut all);
    let lines = || all.chunks_exact(plan.p + 1);
    Ok((lines().flat_map(|line| line[1..].iter().copied()).collect(), lines().map(|line| line[0]).collect()))
}

/// A row source restricted to some classes.
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

    fn columns(&self) -> Option<ModelSchema> {
        self.rows.columns()
    }
}

/// Parameters with some fields replaced.
fn overlaid(params: &Params, fields: &Fields) -> Result<Params, String> {
    let mut all = serde_json::to_value(params).expect("plain data becomes JSON");
    for (name, value) in fields {
        if all.get(name).is_none() {
            return Err(format!("a metric has no setting {name:?}"));
        }
        all[name] = value.clone();
    }
    if fields.contains_key("max-terms") {
        all["max-terms-share"] = serde_json::Value::Null;
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
