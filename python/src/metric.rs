//! A metric for Python: learning it, placing rows, asking their neighbours.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use tamis::data::Dictionary;
use tamis::metric::{Candidate, Metric, MetricError, MetricOptions, Settings, Stop, Table as Rows, fit};
use tamis::read::{RowSource, RowStream, memory_of_this_machine};

use crate::error::{OrRaise, param_error};
use crate::fit::{Input, sources, task_kind};
use crate::input::{Batches, Table};
use crate::model::label_object;
use crate::progress::{Steps, Watcher};

/// A learned metric and its training rows.
#[pyclass(name = "Metric", module = "tamis._core", frozen)]
pub struct PyMetric {
    metric: Metric,
    dictionary: Dictionary,
}

impl From<Metric> for PyMetric {
    fn from(metric: Metric) -> Self {
        PyMetric { dictionary: metric.dictionary(), metric }
    }
}

/// Verdicts of the vote and of the base classifier: the class's number and the score of each row.
type Verdicts<'py> = [(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>); 2];

#[pymethods]
impl PyMetric {
    #[staticmethod]
    fn load(path: PathBuf, py: Python<'_>) -> PyResult<Self> {
        Ok(py.detach(|| Metric::load(&path)).or_raise(py)?.into())
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8], py: Python<'_>) -> PyResult<Self> {
        Ok(Metric::from_bytes(bytes, Path::new("the pickled metric")).or_raise(py)?.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<PyMetric>().getattr("from_bytes")?;
        Ok((make, (PyBytes::new(py, &self.metric.to_bytes()),)))
    }

    /// Saves the metric: the old file stays until the new one is whole.
    fn save(&self, path: PathBuf, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.metric.save(&path)).or_raise(py)
    }

    #[getter]
    fn dimensions(&self) -> usize {
        self.metric.dimensions()
    }

    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.metric.classes.iter().map(|label| label_object(label, py)).collect()
    }

    /// The columns of the table it learned from, as JSON.
    #[getter]
    fn columns(&self) -> Option<String> {
        self.metric.columns.as_ref().map(|known| serde_json::to_string(known).expect("plain data becomes JSON"))
    }

    /// What counts and what competed, as JSON.
    #[getter]
    fn about(&self) -> String {
        let metric = &self.metric;
        json!({
            "candidate": metric.name,
            "settings": metric.settings,
            "judged": metric.judged,
            "variables": metric.variable_shares(),
            "terms": metric.term_shares(),
            "steps": metric.steps.len(),
            "rows": metric.rows(),
        })
        .to_string()
    }

    /// The names of the variables that count.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.metric.variables.iter().map(|variable| variable.name.clone()).collect()
    }

    /// Coordinates of rows: one row each, one column an axis.
    fn embed<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let places = table.read(py, |source| self.places(source))?.or_raise(py)?;
        as_array(places, self.metric.dimensions(), py)
    }

    /// What neighbours say of rows.
    fn verdicts<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Verdicts<'py>> {
        let answers = table.read(py, |source| self.places(source).map(|places| self.metric.classify(&places)))?;
        let answers = answers.or_raise(py)?;
        let array = |of: &dyn Fn(&tamis::metric::Answer) -> tamis::metric::Verdict| {
            let classes = PyArray1::from_iter(py, answers.iter().map(|one| of(one).class as i64));
            (classes, PyArray1::from_iter(py, answers.iter().map(|one| of(one).score)))
        };
        Ok([array(&|answer| answer.vote), array(&|answer| answer.base)])
    }

    /// The same distances among other rows.
    fn among(&self, table: Table<'_>, task: &str, voters: usize, py: Python<'_>) -> PyResult<PyMetric> {
        let task = task_kind(task, py)?;
        Ok(table.read(py, |source| self.metric.among(source, task, voters))?.or_raise(py)?.into())
    }
}

impl PyMetric {
    fn places(&self, source: &mut dyn RowSource) -> Result<Vec<Vec<f64>>, MetricError> {
        let mut places = Vec::new();
        while let Some(block) = source.next_block()? {
            places.extend(self.metric.embed(&block.rows, &self.dictionary));
        }
        Ok(places)
    }
}

fn as_array<'py>(rows: Vec<Vec<f64>>, width: usize, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let count = rows.len();
    PyArray1::from_vec(py, rows.into_iter().flatten().collect()).reshape([count, width])
}

/// What a user may say of a fit: families, numbers of the settings (JSON), and the rest of the options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    families: Vec<String>,
    numbers: String,
    stop: String,
    folds: usize,
    voters: usize,
    seed: u64,
}

impl Asked {
    /// The steps asked for.
    fn steps(&self) -> Option<usize> {
        serde_json::from_str::<Value>(&self.numbers).ok()?.get("steps")?.as_u64().map(|steps| steps as usize)
    }

    fn with(&self, settings: Settings) -> Result<Settings, MetricError> {
        let wrong = |error: serde_json::Error| MetricError::Choice(error.to_string().into());
        let numbers: serde_json::Map<String, Value> = serde_json::from_str(&self.numbers).map_err(wrong)?;
        let mut all = serde_json::to_value(settings).map_err(wrong)?;
        all.as_object_mut().into_iter().for_each(|fields| fields.extend(numbers.clone()));
        serde_json::from_value(all).map_err(wrong)
    }
}

/// Learns a metric. Returns it with what is worth telling, as JSON.
#[pyfunction]
#[pyo3(signature = (asked, input, task, threads, report=None))]
pub fn fit_metric(
    asked: Asked,
    input: Input<'_>,
    task: &str,
    threads: usize,
    report: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<(PyMetric, String)> {
    let stop: Stop = serde_json::from_value(Value::String(asked.stop.clone()))
        .map_err(|_| param_error(&format!("unknown rule to stop: {:?}", asked.stop), py))?;
    let mut watcher = Watcher::new(report);
    let options = MetricOptions {
        candidates: Candidate::changed(&asked.families, |settings| asked.with(settings)).or_raise(py)?,
        folds: asked.folds,
        voters: asked.voters,
        stop,
        steps: asked.steps(),
        seed: asked.seed,
        threads,
        interrupt: watcher.stop.clone(),
        ..MetricOptions::default()
    };
    let task = task_kind(task, py)?;
    let mut learn = |source: &mut dyn RowSource| {
        let rows = Rows::read(source, task, memory_of_this_machine(), &mut watcher)?;
        let steps = Steps::default();
        watcher.stand_by(&steps, || fit(&rows, &options, &steps))
    };
    let outcome = match input {
        Input::Files(paths, reading) => {
            let files = sources(&paths, &reading, py)?;
            let options = reading.options(py)?;
            py.detach(|| learn(&mut RowStream::open(files, options))).or_raise(py)
        }
        Input::Table(table) => table.read(py, &mut learn)?.or_raise(py),
        Input::Batches(tables) => {
            let mut batches = Batches::new(tables);
            let outcome = py.detach(|| learn(&mut batches));
            match batches.error.take() {
                Some(error) => Err(error),
                None => outcome.or_raise(py),
            }
        }
    };
    let fitted = watcher.outcome(outcome, py)?;
    let told = json!({
        "steps": fitted.steps,
        "leave_one_out": fitted.leave_one_out,
        "notes": fitted.notes,
        "curve": fitted.curve,
    });
    Ok((fitted.metric.into(), told.to_string()))
}
