//! Cross-validation and repeated fits for Python.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::{Value, json};
use tamis::io::{ReadOptions, RowSource, memory_of_this_machine};
use tamis::param::worded;
use tamis::recipe::Recipe;
use tamis::train::FitOptions;
use tamis::tune::{
    Axis, CrossOptions, DataSummary, Files, Measure, Point, RepeatOptions, Repeated, Rule, Search, StoredRows,
    TuneData, TuneError, Variation, repeat, search, summarize,
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

/// Chooses parameters by cross-validation. `axes` are parameters, by the names of the tables, and their values. Returns
/// the curve and the choice as JSON.
#[pyfunction]
#[pyo3(signature = (settings, axes, input, task, folds, rule, measure, threads, report=None))]
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
    let found = job.run(
        watcher,
        |job, summary, watch| search(&job.recipe, &axes, rule, job.data, summary, &job.options, &cross, watch),
        py,
    )?;
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
#[pyo3(signature = (settings, input, task, runs, by, share, measure, columns, threads, report=None))]
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
    py: Python<'_>,
) -> PyResult<String> {
    let by = match by {
        "order" => Variation::Order,
        "seed" => Variation::Seed,
        "subsample" => Variation::Subsample(share),
        other => return Err(param_error(&format!("by must be order, seed or subsample, got {other:?}"), py)),
    };
    let measure = measure_named(measure, py)?;
    let (recipe, watcher) = (recipe(settings, py)?, Watcher::new(report));
    let mut options = options_of(task, threads, &watcher, py)?;
    let data = data_of(input, &mut options, py)?;
    let seed = recipe.seed;
    let plan = RepeatOptions { runs, by, seed, columns, measure, validation: None };
    let job = Job { recipe, options, data: &*data };
    let run = |job: &Job<'_>, summary: &DataSummary, watch: &(dyn Fn(usize, usize) + Sync)| {
        repeat(&job.recipe, job.data, summary, &job.options, &plan, watch)
    };
    let Repeated { measure, runs, kappa, error, nonzeros, selected, .. } = job.run(watcher, run, py)?;
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
