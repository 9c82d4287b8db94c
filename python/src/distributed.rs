//! Stages of a distributed fit for Python: rows as arrays, plans and tallies as bytes.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tamis::data::{Keys, Label};
use tamis::distributed::{FitSettings, KeyedRows, Plan, Tally, add, number_identity, tallies, text_identity};
use tamis::io::memory_of_this_machine;
use tamis::train::FitOptions;

use crate::error::{OrRaise, data_error};
use crate::fit::{Settings, recipe, task_kind};
use crate::model::PyModel;
use crate::progress::Watcher;

/// Rows as arrays: the entries of row i are those from `offsets[i]` to `offsets[i + 1]`.
#[derive(FromPyObject)]
pub struct PackedRows<'py> {
    identities: Option<PyReadonlyArray1<'py, u64>>,
    numbers: Option<PyReadonlyArray1<'py, f64>>,
    texts: Option<Vec<String>>,
    weights: PyReadonlyArray1<'py, f64>,
    offsets: PyReadonlyArray1<'py, i64>,
    indices: Option<PyReadonlyArray1<'py, i64>>,
    names: Option<Bound<'py, PyBytes>>,
    name_ends: Option<PyReadonlyArray1<'py, i64>>,
    values: PyReadonlyArray1<'py, f64>,
}

/// Keys of rows.
#[derive(FromPyObject)]
pub enum RowKeys<'py> {
    Numbers(PyReadonlyArray1<'py, i64>),
    Texts(Vec<String>),
}

/// Identities, labels as numbers or texts, weights, offsets, indices or names with their ends, values.
type Unpacked<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyAny>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyArray1<i64>>>,
    Bound<'py, PyArray1<f64>>,
);

type PyTally<'py> = (u32, u32, Bound<'py, PyBytes>);

impl PackedRows<'_> {
    /// The rows that have a weight, with their identities: those given, or those of keys or content.
    fn rows(&self, keys: Option<&RowKeys<'_>>, py: Python<'_>) -> PyResult<KeyedRows> {
        let (weights, offsets, values) = (self.weights.as_slice()?, self.offsets.as_slice()?, self.values.as_slice()?);
        let given = self.identities.as_ref().map(|given| given.as_slice()).transpose()?;
        let key_numbers = match keys {
            Some(RowKeys::Numbers(numbers)) => Some(numbers.as_slice()?),
            _ => None,
        };
        let mut rows = KeyedRows::new(self.names.is_some());
        let mut identities = Vec::new();
        for row in 0..weights.len() {
            let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
            if let Some(value) = values[start..end].iter().find(|value| !value.is_finite()) {
                return Err(data_error(&format!("row {row}: the value {value} is not finite"), py));
            }
            if !weights[row].is_finite() || weights[row] < 0.0 {
                return Err(data_error(&format!("row {row}: the weight {} is not 0 or more", weights[row]), py));
            }
            if weights[row] == 0.0 {
                continue;
            }
            let label = self.label(row, py)?;
            self.push_entries(&mut rows, (start, end), values, py)?;
            rows.rows.end_row(label, weights[row], row as u32);
            identities.extend(match (given, key_numbers, keys) {
                (Some(given), ..) => Some(given[row]),
                (_, Some(numbers), _) => Some(number_identity(numbers[row])),
                (_, _, Some(RowKeys::Texts(texts))) => Some(text_identity(&texts[row])),
                _ => None,
            });
        }
        if given.is_none() && keys.is_none() {
            return Ok(KeyedRows::by_content(rows.rows));
        }
        Ok(KeyedRows { identities, ..rows })
    }

    fn label(&self, row: usize, py: Python<'_>) -> PyResult<Label> {
        if let Some(texts) = &self.texts {
            return Ok(Label::Text(texts[row].as_str().into()));
        }
        let numbers = self.numbers.as_ref().ok_or_else(|| data_error("there are no labels", py))?;
        let number = numbers.as_array()[row];
        if !number.is_finite() {
            return Err(data_error(&format!("row {row}: the label {number} is not finite"), py));
        }
        Ok(Label::Number(number))
    }

    /// Adds the entries of a row: numbers ascend within it.
    fn push_entries(
        &self,
        rows: &mut KeyedRows,
        (start, end): (usize, usize),
        values: &[f64],
        py: Python<'_>,
    ) -> PyResult<()> {
        if let (Some(text), Some(ends)) = (&self.names, &self.name_ends) {
            let (bytes, ends) = (text.as_bytes(), ends.as_array());
            for at in start..end {
                let from = if at == 0 { 0 } else { ends[at - 1] as usize };
                let name = bytes.get(from..ends[at] as usize).and_then(|name| std::str::from_utf8(name).ok());
                rows.rows.push_name(&[name.ok_or_else(|| data_error("a name is no text", py))?], values[at]);
            }
            return Ok(());
        }
        let indices = self.indices.as_ref().ok_or_else(|| data_error("features have no indices and no names", py))?;
        let indices = indices.as_array();
        let mut entries: Vec<(u32, f64)> = Vec::with_capacity(end - start);
        for at in start..end {
            let outside = || data_error(&format!("the index {} is not within 0 and 4294967295", indices[at]), py);
            entries.push((u32::try_from(indices[at]).map_err(|_| outside())?, values[at]));
        }
        entries.sort_by_key(|(index, _)| *index);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(data_error(&format!("the feature {} occurs twice in one row", pair[0].0), py));
        }
        entries.into_iter().for_each(|(index, value)| rows.rows.push_index(index, value));
        Ok(())
    }
}

fn unpacked<'py>(rows: &KeyedRows, py: Python<'py>) -> PyResult<Unpacked<'py>> {
    let parts = rows.rows.parts();
    let is_text = rows.rows.labels.iter().any(|label| matches!(label, Label::Text(_)));
    let labels = if is_text {
        rows.rows.labels.iter().map(ToString::to_string).collect::<Vec<_>>().into_pyobject(py)?
    } else {
        let number = |label: &Label| if let Label::Number(number) = label { *number } else { f64::NAN };
        PyArray1::from_iter(py, rows.rows.labels.iter().map(number)).into_any()
    };
    let (keys, ends) = match parts.keys {
        Keys::Index(indices) => {
            (PyArray1::from_iter(py, indices.iter().map(|&index| i64::from(index))).into_any(), None)
        }
        Keys::Name(names) => {
            let (mut text, mut ends) = (String::new(), Vec::with_capacity(names.len()));
            for name in names.iter() {
                text.push_str(name);
                ends.push(text.len() as i64);
            }
            (PyBytes::new(py, text.as_bytes()).into_any(), Some(PyArray1::from_vec(py, ends)))
        }
    };
    Ok((
        PyArray1::from_slice(py, &rows.identities),
        labels,
        PyArray1::from_slice(py, parts.weights),
        PyArray1::from_iter(py, parts.offsets.iter().map(|&offset| offset as i64)),
        keys,
        ends,
        PyArray1::from_slice(py, parts.values),
    ))
}

fn plan_of(bytes: &[u8], py: Python<'_>) -> PyResult<Plan> {
    Plan::from_bytes(bytes).or_raise(py)
}

fn to_python<'py>(tallies: Vec<Tally>, py: Python<'py>) -> Vec<PyTally<'py>> {
    tallies.into_iter().map(|tally| (tally.block, tally.bucket, PyBytes::new(py, &tally.raw))).collect()
}

fn from_python(tallies: Vec<(u32, u32, Bound<'_, PyBytes>)>) -> Vec<Tally> {
    let tally =
        |(block, bucket, raw): (u32, u32, Bound<'_, PyBytes>)| Tally { block, bucket, raw: raw.as_bytes().to_vec() };
    tallies.into_iter().map(tally).collect()
}

/// Rows with identities, without zeros and rows of weight 0.
#[pyfunction]
#[pyo3(signature = (rows, keys=None))]
pub fn keyed_rows<'py>(rows: PackedRows<'py>, keys: Option<RowKeys<'py>>, py: Python<'py>) -> PyResult<Unpacked<'py>> {
    unpacked(&rows.rows(keys.as_ref(), py)?, py)
}

/// The plan of the first stage.
#[pyfunction]
pub fn first_plan<'py>(
    settings: Settings,
    task: &str,
    buckets: u32,
    columns: Option<u64>,
    entries: u64,
    keyed: bool,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (recipe, task) = (recipe(settings, py)?, task_kind(task, py)?);
    let plan = Plan::first(FitSettings { recipe, task, buckets, columns, entries, keyed }).or_raise(py)?;
    Ok(PyBytes::new(py, &plan.to_bytes()))
}

/// The kind of a stage, its number, its buckets, the counts of the survey (rows, distinct columns, columns that are
/// left), and the share of the rows that are collected.
type Description = (&'static str, u32, u32, Option<(u64, u64, usize)>, f64);

/// What a plan says.
#[pyfunction]
pub fn describe_plan(plan: &[u8], py: Python<'_>) -> PyResult<Description> {
    let plan = plan_of(plan, py)?;
    Ok((plan.stage().name(), plan.number(), plan.buckets(), plan.counts(), plan.share()))
}

/// The tallies of the rows of whole buckets.
#[pyfunction]
pub fn stage_tallies<'py>(plan: &[u8], rows: PackedRows<'py>, py: Python<'py>) -> PyResult<Vec<PyTally<'py>>> {
    let (plan, rows) = (plan_of(plan, py)?, rows.rows(None, py)?);
    let found = py.detach(|| tallies(&plan, &rows)).or_raise(py)?;
    Ok(to_python(found, py))
}

/// Adds the tallies of whole blocks.
#[pyfunction]
pub fn add_tallies<'py>(tallies: Vec<PyTally<'py>>, py: Python<'py>) -> PyResult<Vec<PyTally<'py>>> {
    let tallies = from_python(tallies);
    Ok(to_python(py.detach(|| add(tallies)).or_raise(py)?, py))
}

/// The plan of the next stage.
#[pyfunction]
pub fn next_plan<'py>(plan: &[u8], tallies: Vec<PyTally<'py>>, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let (plan, tallies) = (plan_of(plan, py)?, from_python(tallies));
    let next = py.detach(|| plan.next(&tallies)).or_raise(py)?;
    Ok(PyBytes::new(py, &next.to_bytes()))
}

/// The rows of whole buckets, with the columns that are left.
#[pyfunction]
pub fn collect_rows<'py>(plan: &[u8], rows: PackedRows<'py>, py: Python<'py>) -> PyResult<Unpacked<'py>> {
    let (plan, rows) = (plan_of(plan, py)?, rows.rows(None, py)?);
    unpacked(&py.detach(|| plan.collect(&rows)).or_raise(py)?, py)
}

/// The model of the collected rows.
#[pyfunction]
#[pyo3(signature = (plan, rows, threads, report=None))]
pub fn finish_plan(
    plan: &[u8],
    rows: PackedRows<'_>,
    threads: usize,
    report: Option<Py<PyAny>>,
    py: Python<'_>,
) -> PyResult<PyModel> {
    let (plan, rows) = (plan_of(plan, py)?, rows.rows(None, py)?);
    let mut watcher = Watcher::new(report);
    let mut options =
        FitOptions { memory: memory_of_this_machine(), stop: watcher.stop.clone(), ..FitOptions::default() };
    options.read.threads = threads;
    let outcome = py.detach(|| plan.finish(&rows, &options, &mut watcher)).or_raise(py);
    Ok(watcher.outcome(outcome, py)?.into())
}
