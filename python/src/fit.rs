//! Training from Python: recipes, input, models and incremental learners.

use std::collections::BTreeMap;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tamis::data::Label;
use tamis::data::TaskKind;
use tamis::io::{ReadOptions, RowSource, memory_of_this_machine};
use tamis::loss::{EvalMetric, LossKind};
use tamis::param::names;
use tamis::recipe::{Kind, Method, Param, Recipe, SolveRecipe};
use tamis::train::{Checkpoint, FitOptions, Fitted, TargetSpec, TrainError, Training, fit, fit_rows};

use crate::error::{OrRaise, param_error};
use crate::input::{Batches, PyLabel, Table};
use crate::model::PyModel;
use crate::progress::Watcher;
use crate::reading::{Reading, sources};

/// Values of parameters as text, by the names of the tables.
pub type Settings = BTreeMap<String, String>;

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

/// The names of the methods, whether each keeps k features while it learns, and a line about it. The weights of the
/// others are cut to k at the end.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, bool, &'static str)> {
    let row = |method: Method| (method.name(), method.info().keeps_k, method.info().about);
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
        Kind::Text | Kind::Written { .. } => "str".into(),
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
pub enum Input<'py> {
    Files(Vec<String>, Reading),
    Table(Table<'py>),
    Batches(Py<PyAny>),
}

/// A table, a pair of paths and how to read them, or an iterator of tables. Errors are those of the one it is.
pub fn input_of<'py>(input: &Bound<'py, PyAny>) -> PyResult<Input<'py>> {
    if input.hasattr("cells")? {
        Ok(Input::Table(input.extract()?))
    } else if let Ok((paths, reading)) = input.extract::<(Vec<String>, Bound<'py, PyAny>)>() {
        Ok(Input::Files(paths, reading.extract()?))
    } else {
        Ok(Input::Batches(input.clone().unbind()))
    }
}

/// The task.
pub fn task_kind(name: &str, py: Python<'_>) -> PyResult<TaskKind> {
    let found = TaskKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| param_error(&format!("unknown task {name:?}"), py))
}

/// Learns a model. `input` is a table, a pair of paths and how to read them, or an iterator of tables. With a checkpoint,
/// the rows are added to those of its training.
#[pyfunction]
#[pyo3(name = "fit", signature = (settings, input, task, threads, keep_open=false, report=None, checkpoint=None))]
#[allow(clippy::too_many_arguments, reason = "what to learn, from which rows, and how")]
pub fn fit_any(
    settings: Settings,
    #[pyo3(from_py_with = input_of)] input: Input<'_>,
    task: &str,
    threads: usize,
    keep_open: bool,
    report: Option<Py<PyAny>>,
    checkpoint: Option<&[u8]>,
    py: Python<'_>,
) -> PyResult<(PyModel, Option<PyTraining>)> {
    let recipe = recipe(settings, py)?;
    let before = |bytes: &[u8]| Checkpoint::from_bytes(bytes, "the state of the estimator".as_ref());
    let resume = checkpoint.map(before).transpose().or_raise(py)?;
    let mut watcher = Watcher::new(report);
    let mut options = FitOptions {
        task: task_kind(task, py)?,
        memory: memory_of_this_machine(),
        keep_open,
        again: resume.is_some(),
        stop: watcher.stop.clone(),
        ..FitOptions::default()
    };
    options.read.threads = threads;
    let outcome = match input {
        Input::Files(paths, reading) => {
            options.sources = sources(&paths, &reading, py)?;
            options.read = ReadOptions { threads, ..reading.options(py)? };
            py.detach(|| fit(&recipe, &options, resume, &mut watcher)).or_raise(py)
        }
        Input::Table(table) => {
            let run = |source: &mut dyn RowSource| fit_rows(&recipe, &options, source, resume, &mut watcher);
            table.read(py, run)?.or_raise(py)
        }
        Input::Batches(tables) => {
            let mut batches = Batches::new(tables);
            let outcome = py.detach(|| fit_rows(&recipe, &options, &mut batches, resume, &mut watcher));
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
        // A pickle does not know how many threads its reader may use.
        Ok(PyTraining { training: Training::from_bytes(bytes, 1).or_raise(py)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<PyTraining>().getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py),)))
    }

    /// Everything that is needed to continue.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.training.to_bytes())
    }

    /// A complete checkpoint, which [`fit_any`] adds rows to.
    fn to_checkpoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.training.to_checkpoint())
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
