//! Training from Python: recipes, input, models and incremental learners.

use std::collections::BTreeMap;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tamis::data::Label;
use tamis::data::TaskKind;
use tamis::io::{Format, ReadOptions, RowSource, Source, expand, memory_of_this_machine};
use tamis::loss::{EvalMetric, LossKind};
use tamis::param::names;
use tamis::parse::Missing;
use tamis::parse::schema::SchemaOptions;
use tamis::recipe::{Family, Kind, Method, Param, Recipe, SolveRecipe};
use tamis::train::{FitOptions, Fitted, TargetSpec, TrainError, Training, fit, fit_rows};

use crate::error::{OrRaise, param_error};
use crate::input::{Batches, PyLabel, Table};
use crate::model::PyModel;
use crate::progress::Watcher;

/// Values of parameters as text, by the names of the tables.
pub type Settings = BTreeMap<String, String>;

/// How files are read.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub struct Reading {
    format: Option<String>,
    target: Option<String>,
    weight_column: Option<String>,
    ignore: Vec<String>,
    categorical: Vec<String>,
    missing: String,
    zero_based: bool,
    on_error: String,
}

impl Reading {
    /// The options of the library.
    pub fn options(&self, py: Python<'_>) -> PyResult<ReadOptions> {
        let missing = Missing::ALL.into_iter().find(|rule| rule.name() == self.missing).ok_or_else(|| {
            let all = Missing::ALL.map(Missing::name).join(", ");
            param_error(&format!("missing must be one of {all}, got {:?}", self.missing), py)
        })?;
        let columns = SchemaOptions {
            target: self.target.clone(),
            weight: self.weight_column.clone(),
            ignore: self.ignore.clone(),
            categorical: self.categorical.clone(),
            needs_target: true,
            missing,
            ..SchemaOptions::default()
        };
        let skip_bad = match self.on_error.as_str() {
            "stop" => false,
            "skip" => true,
            other => return Err(param_error(&format!("on_error must be stop or skip, got {other:?}"), py)),
        };
        Ok(ReadOptions { columns, zero_based: self.zero_based, skip_bad, threads: 1, ..ReadOptions::default() })
    }
}

/// The files of paths, directories and patterns.
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

/// The recipe of these parameters: values as text, by the names of the tables; the others have their defaults.
pub fn recipe(mut settings: Settings, py: Python<'_>) -> PyResult<Recipe> {
    let mut recipe = Recipe::default();
    // Parameters are those of the method.
    if let Some(method) = settings.remove(names::METHOD.name) {
        recipe.set(names::METHOD.name, &method).or_raise(py)?;
    }
    for (name, value) in &settings {
        recipe.set(name, value).or_raise(py)?;
    }
    recipe.check().or_raise(py)?;
    Ok(recipe)
}

/// The names of the methods, and whether each learns one row at a time.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, bool, &'static str)> {
    let row = |method: Method| (method.name(), method.info().family != Family::Staged, method.info().about);
    Method::ALL.into_iter().map(row).collect()
}

/// The names of the losses, and whether the scores of each are log-odds.
#[pyfunction]
pub fn losses() -> Vec<(&'static str, bool)> {
    LossKind::ALL.map(|loss| (loss.name(), loss.facts().metric == Some(EvalMetric::LogLoss))).to_vec()
}

/// A row of a table: the method (none for parameters of all methods, `solve` for solvers), the name in the core and in
/// Python, the type, the default as text, and help.
type Row = (&'static str, &'static str, &'static str, String, Option<String>, &'static str);

fn row(owner: &'static str, param: &Param) -> Row {
    let kind = match param.kind {
        Kind::Number => "float".into(),
        Kind::Count => "int".into(),
        Kind::Switch => "bool".into(),
        Kind::Text => "str".into(),
        Kind::Choice(names) => {
            let names: Vec<String> = names().into_iter().map(|name| format!("{name:?}")).collect();
            format!("{{{}}}", names.join(", "))
        }
    };
    (owner, param.name.name, param.name.python, kind, param.default(), param.help())
}

/// The tables of parameters.
#[pyfunction]
pub fn parameters() -> Vec<Row> {
    let shared = Recipe::PARAMS.iter().map(|param| row("", param));
    let of_method = |method: Method| method.params().iter().map(move |param| row(method.name(), param));
    let solving = SolveRecipe::PARAMS.iter().map(|param| row("solve", param));
    shared.chain(Method::ALL.into_iter().flat_map(of_method)).chain(solving).collect()
}

/// Where rows come from.
#[derive(FromPyObject)]
pub enum Input<'py> {
    Files(Vec<String>, Reading),
    Table(Table<'py>),
    Batches(Py<PyAny>),
}

/// The task.
pub fn task_kind(name: &str, py: Python<'_>) -> PyResult<TaskKind> {
    let found = TaskKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| param_error(&format!("unknown task {name:?}"), py))
}

/// Learns a model. `input` is a table, a pair of paths and how to read them, or an iterator of tables.
#[pyfunction]
#[pyo3(name = "fit", signature = (settings, input, task, threads, keep_open=false, report=None))]
pub fn fit_any(
    settings: Settings,
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

/// Incremental training.
#[pyclass(name = "Training", module = "tamis._core")]
pub struct PyTraining {
    training: Training,
}

#[pymethods]
impl PyTraining {
    #[new]
    fn new(settings: Settings, classes: Option<Vec<PyLabel>>, threads: usize, py: Python<'_>) -> PyResult<Self> {
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

    /// Raw scores of rows minus the decision threshold of two classes, without building a model.
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
