//! Metric learning for Python: fit, transform, predict.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use tamis::data::Vocabulary;
use tamis::io::{RowSource, RowStream, memory_of_this_machine};
use tamis::model::MatrixColumns;
use tamis_metric::{
    Candidate, ClassScore, Dataset, EarlyStopping, Metric, MetricError, MetricOptions, Param, Params, Prediction, fit,
};

use crate::error::{OrRaise, param_error};
use crate::fit::{Input, input_of, task_kind};
use crate::input::{Batches, Table};
use crate::model::label_object;
use crate::progress::Watcher;
use crate::reading::sources;

/// A learned metric and its reference rows.
#[pyclass(name = "Metric", module = "tamis._core", frozen)]
pub struct PyMetric {
    metric: Metric,
    vocabulary: Vocabulary,
}

impl From<Metric> for PyMetric {
    fn from(metric: Metric) -> Self {
        PyMetric { vocabulary: metric.vocabulary(), metric }
    }
}

/// Predictions of k-NN and of the base classifier: the number of the class and the score of each row.
type Predictions<'py> = [(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>); 2];

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

    /// Saves the metric with the columns that Python fitted it to: their number, their names and the features they gave.
    /// An existing file is replaced atomically.
    #[pyo3(signature = (path, matrix=None))]
    fn save(&self, path: PathBuf, matrix: Option<(usize, Vec<String>, Vec<String>)>, py: Python<'_>) -> PyResult<()> {
        let columns = matrix.map(|(count, names, features)| MatrixColumns { count, names, features });
        let mut metric = self.metric.clone();
        metric.matrix = columns.or(metric.matrix);
        py.detach(|| metric.save(&path)).or_raise(py)
    }

    /// The columns that Python fitted the metric to: their number, their names and the features they gave.
    #[getter]
    fn matrix(&self) -> Option<(usize, Vec<String>, Vec<String>)> {
        let MatrixColumns { count, names, features } = self.metric.matrix.clone()?;
        Some((count, names, features))
    }

    #[getter]
    fn dimensions(&self) -> usize {
        self.metric.dimensions()
    }

    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.metric.classes.iter().map(|label| label_object(label, py)).collect()
    }

    /// The schema of the training table, as JSON.
    #[getter]
    fn columns(&self) -> Option<String> {
        self.metric.columns.as_ref().map(|known| serde_json::to_string(known).expect("plain data becomes JSON"))
    }

    /// The variables, the terms and the cross-validation results, as JSON.
    #[getter]
    fn about(&self) -> String {
        let metric = &self.metric;
        json!({
            "candidate": metric.name,
            "params": metric.params,
            "cv_results": metric.cv_results,
            "variables": metric.variable_shares(),
            "terms": metric.term_shares(),
            "steps": metric.updates.len(),
            "rows": metric.rows(),
        })
        .to_string()
    }

    /// The names of the variables in use.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.metric.variables.iter().map(|variable| variable.name.clone()).collect()
    }

    /// Coordinates of rows: one row each, one column an axis.
    fn transform<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let places = table.read(py, |source| self.coordinates(source))?.or_raise(py)?;
        as_array(places, self.metric.dimensions(), py)
    }

    /// The predictions for rows.
    fn predict<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Predictions<'py>> {
        let answers = table.read(py, |source| self.coordinates(source).map(|places| self.metric.predict(&places)))?;
        let answers = answers.or_raise(py)?;
        let array = |of: &dyn Fn(&Prediction) -> ClassScore| {
            let classes = PyArray1::from_iter(py, answers.iter().map(|one| of(one).class as i64));
            (classes, PyArray1::from_iter(py, answers.iter().map(|one| of(one).score)))
        };
        Ok([array(&|answer| answer.vote), array(&|answer| answer.base)])
    }

    /// The share of each class among the neighbours of rows.
    fn shares<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let answers = table.read(py, |source| self.coordinates(source).map(|places| self.metric.predict(&places)))?;
        let shares = answers.or_raise(py)?.into_iter().map(|answer| answer.shares).collect();
        as_array(shares, self.metric.classes.len(), py)
    }

    /// The same metric with other reference rows.
    fn with_reference_rows(
        &self,
        table: Table<'_>,
        task: &str,
        n_neighbors: usize,
        py: Python<'_>,
    ) -> PyResult<PyMetric> {
        let task = task_kind(task, py)?;
        Ok(table.read(py, |source| self.metric.with_reference_rows(source, task, n_neighbors))?.or_raise(py)?.into())
    }
}

impl PyMetric {
    fn coordinates(&self, source: &mut dyn RowSource) -> Result<Vec<Vec<f64>>, MetricError> {
        let mut places = Vec::new();
        while let Some(block) = source.next_block()? {
            places.extend(self.metric.transform(&block.rows, &self.vocabulary));
        }
        Ok(places)
    }
}

fn as_array<'py>(rows: Vec<Vec<f64>>, width: usize, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let count = rows.len();
    PyArray1::from_vec(py, rows.into_iter().flatten().collect()).reshape([count, width])
}

/// The options of a fit: candidates, parameters of the learner (JSON), and the rest.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    candidates: Vec<String>,
    params: String,
    early_stopping: String,
    folds: usize,
    n_neighbors: usize,
    seed: u64,
}

impl Asked {
    /// The number of boosting steps, if it was given.
    fn max_iter(&self) -> Option<usize> {
        serde_json::from_str::<Value>(&self.params).ok()?.get("max-iter")?.as_u64().map(|steps| steps as usize)
    }

    fn with(&self, params: Params) -> Result<Params, MetricError> {
        let wrong = |error: serde_json::Error| MetricError::Invalid(error.to_string());
        let given: serde_json::Map<String, Value> = serde_json::from_str(&self.params).map_err(wrong)?;
        let mut all = serde_json::to_value(params).map_err(wrong)?;
        all.as_object_mut().into_iter().for_each(|fields| fields.extend(given.clone()));
        serde_json::from_value(all).map_err(wrong)
    }
}

/// The table of parameters of metric learning: name and help of each.
#[pyfunction]
pub fn metric_params() -> Vec<(&'static str, &'static str)> {
    Param::ALL.iter().map(|param| (param.name(), param.help())).collect()
}

/// Learns a metric. Returns it with its learning curve and notes, as JSON.
#[pyfunction]
#[pyo3(signature = (asked, input, task, threads, report=None))]
pub fn fit_metric(
    asked: Asked,
    #[pyo3(from_py_with = input_of)] input: Input<'_>,
    task: &str,
    threads: usize,
    report: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<(PyMetric, String)> {
    let early_stopping: EarlyStopping =
        serde_json::from_value(Value::String(asked.early_stopping.clone())).map_err(|_| {
            let text = format!("early_stopping must be held-out, leave-one-out or off, got {:?}", asked.early_stopping);
            param_error(&text, py)
        })?;
    let mut watcher = Watcher::new(report);
    let options = MetricOptions {
        candidates: Candidate::changed(&asked.candidates, |params| asked.with(params)).or_raise(py)?,
        folds: asked.folds,
        n_neighbors: asked.n_neighbors,
        early_stopping,
        max_iter: asked.max_iter(),
        seed: asked.seed,
        threads,
        interrupt: watcher.stop.clone(),
        ..MetricOptions::default()
    };
    let task = task_kind(task, py)?;
    let mut learn = |source: &mut dyn RowSource| {
        let dataset = Dataset::read(source, task, memory_of_this_machine(), &mut watcher)?;
        fit(&dataset, &options, &mut watcher)
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
    let summary = json!({
        "steps": fitted.steps,
        "leave_one_out_error": fitted.leave_one_out_error,
        "notes": fitted.notes,
        "curve": fitted.curve,
    });
    Ok((fitted.metric.into(), summary.to_string()))
}
