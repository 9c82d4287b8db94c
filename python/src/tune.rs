//! Cross-validation and repeated fits for Python.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tamis::eval::Metrics;
use tamis::io::{ReadOptions, RowSource, memory_of_this_machine};
use tamis::model::Model;
use tamis::param::worded;
use tamis::recipe::Recipe;
use tamis::train::FitOptions;
use tamis::tune::{
    Axis, CrossOptions, DataSummary, Files, GridPoint, Measure, Outcome, Point, RepeatOptions, Repeated, Rule, Search,
    StoredRows, TuneData, TuneError, Variation, one_fold, one_run, repeat, repeat_by, search, search_by, summarize,
};

use crate::error::{OrRaise, param_error, python};
use crate::fit::{Input, Settings, input_of, recipe, task_kind};
use crate::input::Batches;
use crate::progress::Watcher;
use crate::reading::sources;

/// How often Ctrl-C is checked, and progress told.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The rows of a table or of batches are kept in memory; files are read again for each fit.
fn data_of(input: Input<'_>, options: &mut FitOptions, py: Python<'_>) -> PyResult<Box<dyn TuneData + Send>> {
    Ok(match input {
        Input::Files(paths, reading) => {
            options.sources = sources(&paths, &reading, py)?;
            let (threads, stop) = (options.read.threads, options.stop.clone());
            options.read = ReadOptions { threads, stop, ..reading.options(py)? };
            Box::new(Files::of(options).or_raise(py)?)
        }
        Input::Table(table) => {
            Box::new(table.read(py, |source: &mut dyn RowSource| StoredRows::read(source))?.or_raise(py)?)
        }
        Input::Batches(tables) => {
            let mut batches = Batches::new(tables);
            let rows = py.detach(|| StoredRows::read(&mut batches));
            match batches.error.take() {
                Some(error) => return Err(error),
                None => Box::new(rows.or_raise(py)?),
            }
        }
    })
}

fn measure_named(name: Option<&str>, py: Python<'_>) -> PyResult<Option<Measure>> {
    let Some(name) = name else { return Ok(None) };
    let names = Measure::ALL.map(Measure::name).join(", ");
    let found = Measure::ALL.into_iter().find(|measure| measure.name() == name);
    found.map(Some).ok_or_else(|| param_error(&format!("measure must be one of {names}, got {name:?}"), py))
}

/// What is fitted many times, and to which rows.
struct Job<'a> {
    recipe: Recipe,
    options: FitOptions,
    data: &'a dyn TuneData,
}

impl Job<'_> {
    /// Calls `run` on another thread, with the data counted and a function that is told of every fit. Meanwhile this thread
    /// looks for Ctrl-C, and tells Python how many fits are done.
    fn run<T: Send>(
        &self,
        mut watcher: Watcher,
        run: impl FnOnce(&Self, &DataSummary, &(dyn Fn(usize, usize) + Sync)) -> Result<T, TuneError> + Send,
        py: Python<'_>,
    ) -> PyResult<T> {
        let outcome = py.detach(|| {
            let (sender, receiver) = channel::<(usize, usize)>();
            std::thread::scope(|scope| {
                let working = scope.spawn(move || {
                    let summary = summarize(self.data, self.recipe.hash_bits)?;
                    let tell = |done, all| {
                        sender.send((done, all)).ok();
                    };
                    run(self, &summary, &tell)
                });
                let mut fits = (0, 0);
                loop {
                    match receiver.recv_timeout(LOOK_EVERY) {
                        Ok(now) => fits = now,
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => break,
                    }
                    watcher.tell_fits(fits.0, fits.1);
                }
                working.join().expect("a fit does not panic")
            })
        });
        if watcher.stop.load(Ordering::SeqCst) && watcher.raised.is_none() {
            return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err("stopped"));
        }
        watcher.outcome(outcome.or_raise(py), py)
    }
}

fn options_of(task: &str, threads: usize, watcher: &Watcher, py: Python<'_>) -> PyResult<FitOptions> {
    let (memory, stop) = (memory_of_this_machine(), watcher.stop.clone());
    let mut options = FitOptions { task: task_kind(task, py)?, memory, stop, ..FitOptions::default() };
    options.read.threads = threads;
    Ok(options)
}

/// A function of Python that runs tasks elsewhere: it takes their descriptions and returns their results, in order.
struct Elsewhere {
    run: Py<PyAny>,
    raised: Mutex<Option<PyErr>>,
}

impl Elsewhere {
    fn new(run: Py<PyAny>) -> Self {
        Elsewhere { run, raised: Mutex::new(None) }
    }

    /// The results of tasks. After an exception, which is kept, there are none.
    fn results<T: for<'a> IntoPyObject<'a>>(&self, tasks: Vec<T>) -> Option<Vec<String>> {
        let count = tasks.len();
        let found = Python::attach(|py| -> PyResult<Vec<String>> {
            let tasks = tasks.into_iter().map(|task| task.into_py_any(py)).collect::<PyResult<Vec<_>>>()?;
            let found: Vec<String> = self.run.call1(py, (tasks,))?.extract(py)?;
            if found.len() == count { Ok(found) } else { Err(param_error("spread must return a result a task", py)) }
        });
        found.map_err(|error| *self.raised.lock().expect("no thread panicked") = Some(error)).ok()
    }

    /// The outcome, or the exception.
    fn outcome<T>(self, outcome: PyResult<T>) -> PyResult<T> {
        self.raised.into_inner().expect("no thread panicked").map_or(outcome, Err)
    }
}

/// A task of `tune`: the values of a setting, the number of a fold, and the number of all rows.
type FoldTask = (Vec<(String, String)>, u32, u64);

/// All folds of every setting, elsewhere.
fn folds_elsewhere(away: &Elsewhere, settings: &[GridPoint], folds: u32, rows: u64) -> Result<Vec<Outcome>, TuneError> {
    let task = |setting: &GridPoint, fold| (setting.values.clone(), fold, rows);
    let tasks = settings.iter().flat_map(|setting| (0..folds).map(move |fold| task(setting, fold))).collect();
    let found = away.results::<FoldTask>(tasks).ok_or(TuneError::AllDiverged)?;
    let outcome = |text: &String| serde_json::from_str::<Outcome>(text).ok();
    found.iter().map(outcome).collect::<Option<_>>().ok_or(TuneError::AllDiverged)
}

/// The outcome of a setting on one fold, as JSON: what a task of `tune` runs elsewhere.
#[pyfunction]
pub fn tune_fold(
    settings: Settings,
    #[pyo3(from_py_with = input_of)] input: Input<'_>,
    task: &str,
    fold: FoldTask,
    folds: u32,
    py: Python<'_>,
) -> PyResult<String> {
    let (values, fold, rows) = fold;
    let recipe = recipe(settings, py)?;
    let cross = CrossOptions { folds, seed: recipe.seed, measure: None };
    let axes: Vec<Axis> = values.into_iter().map(|(name, value)| Axis { name, values: vec![value] }).collect();
    let setting = tamis::tune::settings(&recipe, &axes).or_raise(py)?.remove(0);
    let mut options = options_of(task, 1, &Watcher::new(None), py)?;
    options.passes_for_rows = Some(rows);
    let data = data_of(input, &mut options, py)?;
    let outcome = py.detach(|| one_fold(&setting.recipe, &*data, &options, &cross, fold)).or_raise(py)?;
    Ok(serde_json::to_string(&outcome).expect("plain data becomes JSON"))
}

/// The metrics of one of several fits as JSON, and its model: what a task of `stability` runs elsewhere.
#[pyfunction]
pub fn stability_run(
    settings: Settings,
    #[pyo3(from_py_with = input_of)] input: Input<'_>,
    task: &str,
    by: &str,
    share: f64,
    run: (u64, u64),
    py: Python<'_>,
) -> PyResult<String> {
    let (run, rows) = run;
    let recipe = recipe(settings, py)?;
    let mut options = options_of(task, 1, &Watcher::new(None), py)?;
    options.passes_for_rows = Some(rows);
    let data = data_of(input, &mut options, py)?;
    let by = variation(by, share, py)?;
    let plan = RepeatOptions { runs: run + 1, by, seed: recipe.seed, columns: None, measure: None, validation: None };
    let (metrics, model) = py.detach(|| one_run(&recipe, &*data, &options, &plan, run)).or_raise(py)?;
    Ok(json!([metrics, model.to_text()]).to_string())
}

/// All runs, elsewhere: a task is the number of a run, and the number of all rows.
fn runs_elsewhere(away: &Elsewhere, runs: u64, rows: u64) -> Result<Vec<(Metrics, Model)>, TuneError> {
    let found = away.results::<(u64, u64)>((0..runs).map(|run| (run, rows)).collect()).ok_or(TuneError::AllDiverged)?;
    let outcome = |text: &String| {
        let (metrics, model): (Metrics, String) = serde_json::from_str(text).ok()?;
        Some((metrics, Model::from_bytes(model.as_bytes(), std::path::Path::new("a model of a task")).ok()?))
    };
    found.iter().map(outcome).collect::<Option<_>>().ok_or(TuneError::AllDiverged)
}

/// Chooses parameters by cross-validation. `axes` are parameters, by the names of the tables, and their values. `spread` runs
/// the fits elsewhere. Returns the curve and the choice as JSON.
#[pyfunction]
#[pyo3(signature = (settings, axes, input, task, folds, rule, measure, threads, report=None, spread=None))]
#[allow(clippy::too_many_arguments, reason = "one for each option of the program")]
pub fn tune(
    settings: Settings,
    axes: Vec<(String, Vec<String>)>,
    #[pyo3(from_py_with = input_of)] input: Input<'_>,
    task: &str,
    folds: u32,
    rule: &str,
    measure: Option<&str>,
    threads: usize,
    report: Option<Py<PyAny>>,
    spread: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<String> {
    let names = Rule::ALL.map(Rule::name).join(" or ");
    let rule = Rule::ALL
        .into_iter()
        .find(|one| one.name() == rule)
        .ok_or_else(|| param_error(&format!("rule must be {names}, got {rule:?}"), py))?;
    let measure = measure_named(measure, py)?;
    let (recipe, watcher) = (recipe(settings, py)?, Watcher::new(report));
    let mut options = options_of(task, threads, &watcher, py)?;
    let data = data_of(input, &mut options, py)?;
    let axes: Vec<Axis> = axes.into_iter().map(|(name, values)| Axis { name, values }).collect();
    let cross = CrossOptions { folds, seed: recipe.seed, measure };
    let job = Job { recipe, options, data: &*data };
    let away = spread.map(Elsewhere::new);
    let run = |job: &Job<'_>, summary: &DataSummary, watch: &(dyn Fn(usize, usize) + Sync)| match &away {
        None => search(&job.recipe, &axes, rule, job.data, summary, &job.options, &cross, watch),
        Some(away) => {
            let run = |settings: &[GridPoint], _: &(dyn Fn(usize, usize) + Sync)| {
                folds_elsewhere(away, settings, cross.folds, summary.rows)
            };
            search_by(&job.recipe, &axes, rule, summary, &cross, &run, watch)
        }
    };
    let found = job.run(watcher, run, py);
    let found = match away {
        None => found?,
        Some(away) => away.outcome(found)?,
    };
    Ok(as_json(&found).to_string())
}

fn as_json(found: &Search) -> Value {
    let point = |point: &Point| {
        let is_fitted = !point.folds.is_empty();
        let [mean, error, size] = [point.mean, point.standard_error, point.size].map(|one| is_fitted.then_some(one));
        let setting = point.setting.as_json();
        json!({"setting": setting, "mean": mean, "standard_error": error, "nonzeros": size, "folds": point.folds})
    };
    json!({
        "measure": found.curve.measure.name(),
        "chosen": found.chosen,
        "points": found.curve.points.iter().map(point).collect::<Vec<_>>(),
        "notes": found.notes.iter().map(|note| worded(note, python)).collect::<Vec<_>>(),
    })
}

/// Fits a recipe many times and compares the selected features. Returns the results as JSON.
#[pyfunction]
#[pyo3(signature = (settings, input, task, runs, by, share, measure, columns, threads, report=None, spread=None))]
#[allow(clippy::too_many_arguments, reason = "one for each option of the program")]
pub fn stability(
    settings: Settings,
    #[pyo3(from_py_with = input_of)] input: Input<'_>,
    task: &str,
    runs: u64,
    by: &str,
    share: f64,
    measure: Option<&str>,
    columns: Option<u64>,
    threads: usize,
    report: Option<Py<PyAny>>,
    spread: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<String> {
    let by = variation(by, share, py)?;
    let measure = measure_named(measure, py)?;
    let (recipe, watcher) = (recipe(settings, py)?, Watcher::new(report));
    let mut options = options_of(task, threads, &watcher, py)?;
    let data = data_of(input, &mut options, py)?;
    let seed = recipe.seed;
    let plan = RepeatOptions { runs, by, seed, columns, measure, validation: None };
    let job = Job { recipe, options, data: &*data };
    let away = spread.map(Elsewhere::new);
    let run = |job: &Job<'_>, summary: &DataSummary, watch: &(dyn Fn(usize, usize) + Sync)| match &away {
        None => repeat(&job.recipe, job.data, summary, &job.options, &plan, watch),
        Some(away) => {
            let run = |_: &(dyn Fn(usize, usize) + Sync)| runs_elsewhere(away, runs, summary.rows);
            repeat_by(summary, &plan, &run, watch)
        }
    };
    let found = job.run(watcher, run, py);
    let Repeated { measure, runs, kappa, error, nonzeros, selected, .. } = match away {
        None => found?,
        Some(away) => away.outcome(found)?,
    };
    let value = json!({
        "measure": measure.name(),
        "kappa": kappa,
        "mean_error": error.0,
        "sd_error": error.1,
        "mean_nonzeros": nonzeros.0,
        "sd_nonzeros": nonzeros.1,
        "runs": runs,
        "features": selected,
    });
    Ok(value.to_string())
}

fn variation(by: &str, share: f64, py: Python<'_>) -> PyResult<Variation> {
    match by {
        "order" => Ok(Variation::Order),
        "seed" => Ok(Variation::Seed),
        "subsample" => Ok(Variation::Subsample(share)),
        other => Err(param_error(&format!("by must be order, seed or subsample, got {other:?}"), py)),
    }
}
