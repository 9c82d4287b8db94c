//! Moments for Python: adding rows, merging, subtracting and solving.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use tamis::data::TaskKind;
use tamis::io::{ReadOptions, RowSource, memory_of_this_machine};
use tamis::moments::{
    CollectOptions, Column, IncrementalMoments, Moments, MomentsError, Products, collect, merge_blocks as merge,
};
use tamis::recipe::{SolveRecipe, Solver};
use tamis::solve::{SolveOptions, solve};

use crate::error::{OrRaise, param_error};
use crate::fit::Settings;
use crate::input::Table;
use crate::model::{PyModel, label_object};
use crate::progress::Watcher;
use crate::reading::{Reading, sources};

/// Moments: finished ones, and those to which rows are being added.
#[pyclass(name = "Moments", module = "tamis._core")]
pub struct PyMoments {
    numeric: bool,
    options: CollectOptions,
    done: Option<Moments>,
    open: Option<IncrementalMoments>,
}

/// Means of features, their covariances, means of targets, covariances of features with targets.
type Statistics<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

impl PyMoments {
    /// All rows seen.
    fn whole(&self) -> Result<Moments, MomentsError> {
        let Some(open) = &self.open else {
            let empty = || IncrementalMoments::new(self.numeric, &self.options)?.moments();
            return self.done.clone().map_or_else(empty, Ok);
        };
        let mut open = open.moments()?;
        let Some(done) = &self.done else { return Ok(open) };
        let mut whole = done.clone();
        // Decayed moments are merged with rows that have not decayed.
        open.decay = open.decay.or(whole.decay.filter(|rate| *rate == 0.0));
        whole.merge(&open, true)?;
        Ok(whole)
    }

    /// Finishes the open moments, so that all can be changed together.
    fn close(&mut self) -> Result<&mut Moments, MomentsError> {
        let whole = self.whole()?;
        self.open = None;
        Ok(self.done.insert(whole))
    }
}

#[pymethods]
impl PyMoments {
    #[new]
    #[pyo3(signature = (numeric, folds, decay, interactions, folds_by_content = false))]
    fn new(
        numeric: bool,
        folds: usize,
        decay: f64,
        interactions: bool,
        folds_by_content: bool,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let products = if interactions { Products::All } else { Products::None };
        let options = CollectOptions {
            folds,
            folds_by_content,
            decay,
            products,
            memory: memory_of_this_machine(),
            ..CollectOptions::default()
        };
        let open = Some(IncrementalMoments::new(numeric, &options).or_raise(py)?);
        Ok(PyMoments { numeric, options, done: None, open })
    }

    /// The moments of files. `task` says how labels are read.
    #[staticmethod]
    #[pyo3(signature = (paths, reading, task, folds, decay, interactions, screen, threads))]
    #[allow(clippy::too_many_arguments, reason = "one for each option of the program")]
    fn of_files(
        paths: Vec<String>,
        reading: Reading,
        task: &str,
        folds: usize,
        decay: f64,
        interactions: bool,
        screen: Option<usize>,
        threads: usize,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let mut watcher = Watcher::new(None);
        let kind = TaskKind::ALL.into_iter().find(|kind| kind.name() == task);
        let options = CollectOptions {
            sources: sources(&paths, &reading, py)?,
            read: ReadOptions { threads, ..reading.options(py)? },
            task: kind.ok_or_else(|| param_error(&format!("unknown task {task:?}"), py))?,
            folds,
            decay,
            products: if interactions { Products::All } else { Products::None },
            screen,
            memory: memory_of_this_machine(),
            stop: watcher.stop.clone(),
            ..CollectOptions::default()
        };
        let outcome = py.detach(|| collect(&options, &mut watcher)).or_raise(py);
        let done = watcher.outcome(outcome, py)?;
        Ok(PyMoments { numeric: done.classes().is_empty(), options, done: Some(done), open: None })
    }

    #[staticmethod]
    fn load(path: PathBuf, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(py.detach(|| Moments::load(&path)).or_raise(py)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8], py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(Moments::from_bytes(bytes, Path::new("the pickled moments")).or_raise(py)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let whole = py.detach(|| self.whole()).or_raise(py)?;
        Ok(PyBytes::new(py, &whole.to_bytes()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<PyMoments>().getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }

    /// The columns as JSON, in the form that `blocks` takes.
    fn columns(&self, py: Python<'_>) -> PyResult<String> {
        let whole = self.whole().or_raise(py)?;
        Ok(serde_json::to_string(&whole.columns).expect("plain data becomes JSON"))
    }

    /// The moments in blocks of `height` rows of the matrix, with these columns (JSON) or their own.
    fn blocks<'py>(&self, height: usize, columns: Option<&str>, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut whole = py.detach(|| self.whole()).or_raise(py)?;
        if let Some(columns) = columns {
            let columns: Vec<Column> =
                serde_json::from_str(columns).map_err(|error| param_error(&format!("columns: {error}"), py))?;
            whole = py.detach(|| whole.aligned(&columns)).or_raise(py)?;
        }
        let block = |number| PyBytes::new(py, &whole.block(number, height));
        Ok((0..whole.block_count(height)).map(block).collect())
    }

    #[staticmethod]
    fn from_blocks(blocks: Vec<Vec<u8>>, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(py.detach(|| Moments::from_blocks(blocks.iter().map(Vec::as_slice))).or_raise(py)?))
    }

    /// Moments from counts (rows, sum of weights, of squared weights), means and the lower triangle of co-moments.
    #[staticmethod]
    fn from_statistics(
        columns: &str,
        counts: [f64; 3],
        means: Vec<f64>,
        triangle: PyReadonlyArray1<'_, f64>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let columns = serde_json::from_str(columns).map_err(|error| param_error(&format!("names: {error}"), py))?;
        Ok(Self::of(Moments::from_statistics(columns, counts, means, triangle.as_slice()?).or_raise(py)?))
    }

    /// Saves the moments as the program would.
    fn save(&self, path: PathBuf, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.whole().and_then(|whole| whole.save(&path))).or_raise(py)
    }

    /// Adds the rows of a table.
    fn observe(&mut self, table: Table<'_>, py: Python<'_>) -> PyResult<()> {
        if self.open.is_none() {
            if self.done.as_ref().is_some_and(|done| done.decay.is_some_and(|rate| rate > 0.0)) {
                let text = "moments that decay take no further rows once they were joined, saved or loaded";
                return Err(param_error(text, py));
            }
            let folds = self.done.as_ref().map_or(self.options.folds, |done| done.folds.len());
            let options = CollectOptions { folds, memory: memory_of_this_machine(), ..self.options.clone() };
            self.open = Some(IncrementalMoments::new(self.numeric, &options).or_raise(py)?);
        }
        let open = self.open.as_mut().expect("just made");
        let mut watcher = Watcher::new(None);
        let run = |source: &mut dyn RowSource| -> Result<(), MomentsError> {
            while let Some(block) = source.next_block()? {
                let (file, first, lines) = (block.file, block.first_line, block.rows.lines.clone());
                open.observe(block.rows, |row| format!("{file}:{}", first + u64::from(lines[row])))?;
                watcher.look(open.rows());
                if watcher.raised.is_some() {
                    break;
                }
            }
            // Means stand for missing values, also in rows to predict.
            if let Some(table) = source.columns().filter(|table| !table.means.is_empty()) {
                open.set_table(table);
            }
            Ok(())
        };
        let outcome = table.read(py, run)?.or_raise(py);
        watcher.outcome(outcome, py)
    }

    #[pyo3(signature = (other, again=false))]
    fn merge(&mut self, other: &PyMoments, again: bool, py: Python<'_>) -> PyResult<()> {
        let other = other.whole().or_raise(py)?;
        py.detach(|| self.close()?.merge(&other, again)).or_raise(py)
    }

    fn subtract(&mut self, other: &PyMoments, py: Python<'_>) -> PyResult<()> {
        let other = other.whole().or_raise(py)?;
        py.detach(|| self.close()?.subtract(&other)).or_raise(py)
    }

    fn decay(&mut self, keep: f64, py: Python<'_>) -> PyResult<()> {
        if !(keep > 0.0 && keep <= 1.0) {
            return Err(param_error(&format!("keep must be a number above 0 and at most 1, got {keep}"), py));
        }
        self.close().or_raise(py)?.decay(keep);
        Ok(())
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::of(self.whole().or_raise(py)?))
    }

    /// A summary, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let whole = self.whole().or_raise(py)?;
        let names: Vec<String> = whole.columns.iter().filter(|c| c.is_feature()).map(|c| c.name()).collect();
        let total = whole.total();
        let value = json!({
            "rows": whole.rows(),
            "features": names,
            "folds": whole.folds.len(),
            "decay": whole.decay,
            "screened": whole.screened,
            "weight": total.weight,
            "effective_rows": total.effective_rows(),
        });
        Ok(value.to_string())
    }

    /// Means and covariances of features (all if none are named), and of the targets: means of the features, their
    /// covariances, the targets' means, and the covariances of features with targets.
    #[pyo3(signature = (names=None))]
    fn statistics<'py>(&self, names: Option<Vec<String>>, py: Python<'py>) -> PyResult<Statistics<'py>> {
        let whole = self.whole().or_raise(py)?;
        let total = whole.total();
        let places: HashMap<String, usize> = whole
            .columns
            .iter()
            .enumerate()
            .filter(|(_, one)| one.is_feature())
            .map(|(at, one)| (one.name(), at))
            .collect();
        let features: Vec<usize> = match names {
            None => (0..whole.columns.len()).filter(|&at| whole.columns[at].is_feature()).collect(),
            Some(names) => {
                let find = |name: &String| places.get(name).copied();
                let unknown = || param_error("the moments have no such feature", py);
                names.iter().map(find).collect::<Option<_>>().ok_or_else(unknown)?
            }
        };
        let targets: Vec<usize> = (0..whole.columns.len()).filter(|&at| !whole.columns[at].is_feature()).collect();
        let means = |of: &[usize]| PyArray1::from_iter(py, of.iter().map(|&at| total.means[at]));
        let covariances = |rows: &[usize], columns: &[usize]| {
            let cells = rows.iter().flat_map(|&i| columns.iter().map(move |&j| (i, j)));
            let cells = cells.map(|(i, j)| total.covariance(i, j)).collect();
            PyArray1::from_vec(py, cells).reshape([rows.len(), columns.len()])
        };
        let (own, cross) = (covariances(&features, &features)?, covariances(&features, &targets)?);
        Ok((means(&features), own, means(&targets), cross))
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.done.as_ref().map_or(0, Moments::rows) + self.open.as_ref().map_or(0, IncrementalMoments::rows)
    }

    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let whole = self.whole().or_raise(py)?;
        whole.classes().iter().map(|label| label_object(label, py)).collect()
    }

    /// The model of these parameters, its solution path as JSON, and the model's index on it.
    fn solve(
        &self,
        settings: Settings,
        with_path: bool,
        threads: usize,
        py: Python<'_>,
    ) -> PyResult<(PyModel, String, usize)> {
        let recipe = solve_recipe(&settings, py)?;
        let whole = py.detach(|| self.whole()).or_raise(py)?;
        let options = SolveOptions { path: with_path, threads };
        let solved = py.detach(|| solve(&whole, &recipe, options)).or_raise(py)?;
        for note in &solved.notes {
            py.import("tamis.errors")?.getattr("warn")?.call1((note,))?;
        }
        let path = serde_json::to_string(&solved.path).expect("plain data becomes JSON");
        Ok((solved.model.into(), path, solved.chosen))
    }
}

impl PyMoments {
    fn of(done: Moments) -> Self {
        let (numeric, folds) = (done.classes().is_empty(), done.folds.len());
        let options = CollectOptions { folds, memory: memory_of_this_machine(), ..CollectOptions::default() };
        PyMoments { numeric, options, done: Some(done), open: None }
    }
}

/// The recipe of a solver: values as text, by the names of the table; all else by default.
fn solve_recipe(settings: &Settings, py: Python<'_>) -> PyResult<SolveRecipe> {
    let mut recipe = SolveRecipe::default();
    for (name, value) in settings {
        recipe.set(name, value).or_raise(py)?;
    }
    recipe.check().or_raise(py)?;
    Ok(recipe)
}

/// Merges blocks of the same number, in the given order.
#[pyfunction]
pub fn merge_blocks<'py>(blocks: Vec<Vec<u8>>, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py.detach(|| merge(blocks.iter().map(Vec::as_slice))).or_raise(py)?;
    Ok(PyBytes::new(py, &merged))
}

/// The names of the solvers, each with a line about it.
#[pyfunction]
pub fn solvers() -> Vec<(&'static str, &'static str)> {
    Solver::ALL.iter().map(|solver| (solver.name(), solver.about())).collect()
}
