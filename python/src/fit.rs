//! Learning: recipes from Python, rows of any origin, a model and perhaps the learner itself.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use tamis::data::Label;
use tamis::data::TaskKind;
use tamis::parse::Missing;
use tamis::parse::columns::ColumnOptions;
use tamis::read::{Format, ReadOptions, RowSource, Source, expand, memory_of_this_machine};
use tamis::recipe::{Method, PARAMETERS, Recipe};
use tamis::train::{FitOptions, Fitted, TargetSpec, TrainError, Training, fit, fit_rows};

use crate::error::{OrRaise, param_error};
use crate::input::{Batches, PyLabel, Table};
use crate::model::PyModel;
use crate::progress::Watcher;

/// How files are read.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub struct Reading {
    format: Option<String>,
    target: Option<String>,
    weight: Option<String>,
    ignore: Vec<String>,
    categorical: Vec<String>,
    missing: String,
    zero_based: bool,
    skip_bad: bool,
}

impl Reading {
    /// What the library calls this.
    pub fn options(&self, py: Python<'_>) -> PyResult<ReadOptions> {
        let missing = match self.missing.as_str() {
            "error" => Missing::Error,
            "zero" => Missing::Zero,
            "skip-row" => Missing::SkipRow,
            other => return Err(param_error(&format!("missing must be error, zero or skip-row, got {other:?}"), py)),
        };
        let columns = ColumnOptions {
            target: self.target.clone(),
            weight: self.weight.clone(),
            ignore: self.ignore.clone(),
            categorical: self.categorical.clone(),
            known: None,
            needs_target: true,
            missing,
        };
        let (zero_based, skip_bad) = (self.zero_based, self.skip_bad);
        Ok(ReadOptions { columns, zero_based, skip_bad, threads: 1, rows: Vec::new() })
    }
}

/// The files meant by paths, directories and patterns.
pub fn sources(paths: &[String], reading: &Reading, py: Python<'_>) -> PyResult<Vec<Source>> {
    let format = match &reading.format {
        None => None,
        Some(name) => match Format::from_name(name) {
            None => return Err(param_error(&format!("unknown format {name:?}"), py)),
            format => format,
        },
    };
    expand(paths, format).or_raise(py)
}

/// The recipe that a few settings make: JSON of the fields that are not at their default.
pub fn recipe(settings: &str, py: Python<'_>) -> PyResult<Recipe> {
    let wrong = |error: serde_json::Error| {
        let text = error.to_string();
        param_error(text.split(" at line ").next().unwrap_or_default(), py)
    };
    let given: Value = serde_json::from_str(settings).map_err(wrong)?;
    let mut whole = serde_json::to_value(Recipe::default()).map_err(wrong)?;
    if let (Value::Object(whole), Value::Object(given)) = (&mut whole, given) {
        whole.extend(given);
    }
    let recipe: Recipe = serde_json::from_value(whole).map_err(wrong)?;
    recipe.check().or_raise(py)?;
    Ok(recipe)
}

/// The names of the methods, and whether each learns one row at a time.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, bool, &'static str)> {
    Method::ALL.iter().map(|method| (method.name(), method.is_online(), method.about())).collect()
}

/// The numbers a recipe may carry: name, default (NaN where the method decides), and help.
#[pyfunction]
pub fn parameters() -> Vec<(&'static str, f64, &'static str)> {
    PARAMETERS.iter().map(|parameter| (parameter.name, parameter.default, parameter.help)).collect()
}

/// Where rows come from.
#[derive(FromPyObject)]
pub enum Input<'py> {
    Files(Vec<String>, Reading),
    Table(Table<'py>),
    Batches(Py<PyAny>),
}

/// What the labels are.
pub fn task_kind(name: &str, py: Python<'_>) -> PyResult<TaskKind> {
    let found = TaskKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| param_error(&format!("unknown task {name:?}"), py))
}

/// Learns a model. `input` is a table, a pair of paths and how to read them, or an iterator of tables.
#[pyfunction]
#[pyo3(name = "fit", signature = (settings, input, task, threads, keep_open=false, report=None))]
pub fn fit_any(
    settings: &str,
    input: Input<'_>,
    task: &str,
    threads: usize,
    keep_open: bool,
    report: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<(PyModel, Option<PyTraining>)> {
    let recipe = recipe(settings, py)?;
    let mut watcher = Watcher::new(report);
    let mut options = FitOptions {
        task: task_kind(task, py)?,
        memory: memory_of_this_machine(),
        keep_open,
        stop: watcher.stop.clone(),
        ..FitOptions::default()
    };
    options.read.threads = threads;
    let outcome = match input {
        Input::Files(paths, reading) => {
            options.sources = sources(&paths, &reading, py)?;
            options.read = ReadOptions { threads, ..reading.options(py)? };
            py.detach(|| fit(&recipe, &options, None, &mut watcher)).or_raise(py)
        }
        Input::Table(table) => {
            let run = |source: &mut dyn RowSource| fit_rows(&recipe, &options, source, None, &mut watcher);
            table.read(py, run)?.or_raise(py)
        }
        Input::Batches(tables) => {
            let mut batches = Batches::new(tables);
            let outcome = py.detach(|| fit_rows(&recipe, &options, &mut batches, None, &mut watcher));
            match batches.error.take() {
                Some(error) => Err(error),
                None => outcome.or_raise(py),
            }
        }
    };
    let Fitted { model, training, .. } = watcher.outcome(outcome, py)?;
    Ok((model.into(), training.map(|training| PyTraining { training })))
}

/// A training to which rows are added whenever they come.
#[pyclass(name = "Training", module = "tamis._core")]
pub struct PyTraining {
    training: Training,
}

#[pymethods]
impl PyTraining {
    #[new]
    fn new(settings: &str, classes: Option<Vec<PyLabel>>, threads: usize, py: Python<'_>) -> PyResult<Self> {
        let recipe = recipe(settings, py)?;
        let spec = match classes {
            None => TargetSpec::Numbers,
            Some(classes) => TargetSpec::Classes(classes.into_iter().map(Label::from).collect()),
        };
        Ok(PyTraining { training: Training::incremental(&recipe, spec, threads).or_raise(py)? })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8], py: Python<'_>) -> PyResult<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(PyTraining { training: Training::from_bytes(bytes, threads).or_raise(py)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<PyTraining>().getattr("from_bytes")?;
        Ok((make, (PyBytes::new(py, &self.training.to_bytes()),)))
    }

    /// Learns the rows of a table, in their order.
    fn learn(&mut self, table: Table<'_>, py: Python<'_>) -> PyResult<()> {
        let training = &mut self.training;
        let mut watcher = Watcher::new(None);
        let run = |source: &mut dyn RowSource| -> Result<(), TrainError> {
            while let Some(block) = source.next_block()? {
                training.learn(block)?;
                watcher.look(training.rows());
                if watcher.raised.is_some() {
                    break;
                }
            }
            Ok(())
        };
        let outcome = table.read(py, run)?.or_raise(py);
        watcher.outcome(outcome, py)
    }

    /// Raw scores of rows less the boundary between two classes, at the cost of the rows: no model is made.
    fn scores<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let training = &self.training;
        let run = |source: &mut dyn RowSource| -> Result<Vec<f64>, TrainError> {
            let mut scores = Vec::new();
            while let Some(block) = source.next_block()? {
                scores.extend(training.margins(&block.rows)?);
            }
            Ok(scores)
        };
        let mut scores = table.read(py, run)?.or_raise(py)?;
        scores.iter_mut().for_each(|score| *score -= training.boundary());
        Ok(PyArray1::from_vec(py, scores))
    }

    /// The model so far.
    fn model(&self, py: Python<'_>) -> PyResult<PyModel> {
        Ok(py.detach(|| self.training.model()).or_raise(py)?.into())
    }
}
