//! Data from Python: numpy and scipy matrices, Arrow tables, and iterators of these.
//!
//! `tamis/_input.py` brings everything into the shape of [`Table`]; only the current block is copied here.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PySet;
use pyo3_arrow::PyRecordBatchReader;
use tamis::columnar::ColumnarReader;
use tamis::data::{FeatureKey, Label, RawRows};
use tamis::io::{Block, Csr, Dense, Labels, MatrixRows, ReadError, RowSource};
use tamis::parse::Missing;
use tamis::parse::schema::{ModelSchema, SchemaOptions};
use tamis::parse::survey::Survey;

use crate::error::OrRaise;
use crate::reading::Reading;

/// A label as Python has it.
#[derive(FromPyObject)]
pub enum PyLabel {
    Text(String),
    Number(f64),
}

impl From<PyLabel> for Label {
    fn from(label: PyLabel) -> Label {
        match label {
            PyLabel::Text(text) => Label::Text(text.into()),
            PyLabel::Number(number) => Label::Number(number),
        }
    }
}

/// Rows with labels, weights and names. `known` is the schema of a fitted model, `reading` says how an Arrow table is
/// read, and the names of its features are added to `seen`.
#[derive(FromPyObject)]
pub struct Table<'py> {
    #[pyo3(from_py_with = cells_of)]
    cells: Cells<'py>,
    names: Option<Vec<String>>,
    labels: Option<PyLabels<'py>>,
    classes: Vec<PyLabel>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    known: Option<String>,
    reading: Option<Reading>,
    seen: Option<Bound<'py, PySet>>,
}

#[derive(FromPyObject)]
enum PyLabels<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Classes(PyReadonlyArray1<'py, i64>),
}

type Column<'py, T> = PyReadonlyArray1<'py, T>;

#[derive(FromPyObject)]
enum Cells<'py> {
    Doubles(PyReadonlyArray2<'py, f64>),
    Singles(PyReadonlyArray2<'py, f32>),
    Csr32(Column<'py, i32>, Column<'py, i32>, Column<'py, f64>, usize),
    Csr64(Column<'py, i64>, Column<'py, i64>, Column<'py, f64>, usize),
    CsrSingle32(Column<'py, i32>, Column<'py, i32>, Column<'py, f32>, usize),
    CsrSingle64(Column<'py, i64>, Column<'py, i64>, Column<'py, f32>, usize),
    Arrow(PyRecordBatchReader),
}

/// An Arrow stream, or a matrix. What is wrong with a stream is said by its producer.
fn cells_of<'py>(cells: &Bound<'py, PyAny>) -> PyResult<Cells<'py>> {
    if cells.hasattr("__arrow_c_stream__")? { Ok(Cells::Arrow(cells.extract()?)) } else { cells.extract() }
}

/// The slices of a matrix: what can be read without Python.
enum View<'a> {
    Doubles(&'a [f64], usize, usize),
    Singles(&'a [f32], usize, usize),
    Csr32(&'a [i32], &'a [i32], &'a [f64], usize),
    Csr64(&'a [i64], &'a [i64], &'a [f64], usize),
    CsrSingle32(&'a [i32], &'a [i32], &'a [f32], usize),
    CsrSingle64(&'a [i64], &'a [i64], &'a [f32], usize),
    Arrow(SchemaRef, Box<dyn Iterator<Item = Result<arrow_array::RecordBatch, arrow_schema::ArrowError>> + Send>),
}

fn slice<'a, T: Element>(array: &'a Column<'_, T>) -> PyResult<&'a [T]> {
    Ok(array.as_slice()?)
}

impl Table<'_> {
    /// Calls `run` with the rows as a stream, without the interpreter lock.
    pub fn read<R: Send>(self, py: Python<'_>, run: impl FnOnce(&mut dyn RowSource) -> R + Send) -> PyResult<R> {
        let classes: Vec<Label> = self.classes.into_iter().map(Label::from).collect();
        let labels = match &self.labels {
            None => Labels::None,
            Some(PyLabels::Numbers(numbers)) => Labels::Numbers(slice(numbers)?),
            Some(PyLabels::Classes(codes)) => Labels::Classes(slice(codes)?, &classes),
        };
        let weights = self.weights.as_ref().map(slice).transpose()?;
        let names = self.names.as_deref();
        let reader;
        let view = match &self.cells {
            Cells::Doubles(array) => View::Doubles(array.as_slice()?, array.shape()[0], array.shape()[1]),
            Cells::Singles(array) => View::Singles(array.as_slice()?, array.shape()[0], array.shape()[1]),
            Cells::Csr32(offsets, places, values, width) => {
                View::Csr32(slice(offsets)?, slice(places)?, slice(values)?, *width)
            }
            Cells::Csr64(offsets, places, values, width) => {
                View::Csr64(slice(offsets)?, slice(places)?, slice(values)?, *width)
            }
            Cells::CsrSingle32(offsets, places, values, width) => {
                View::CsrSingle32(slice(offsets)?, slice(places)?, slice(values)?, *width)
            }
            Cells::CsrSingle64(offsets, places, values, width) => {
                View::CsrSingle64(slice(offsets)?, slice(places)?, slice(values)?, *width)
            }
            Cells::Arrow(_) => {
                let Cells::Arrow(stream) = self.cells else { unreachable!("just seen") };
                reader = stream.into_reader()?;
                View::Arrow(reader.schema(), Box::new(reader))
            }
        };
        // Rows to learn from; those to predict have the means of a model, or none.
        let is_new = self.known.is_none() && self.seen.is_some();
        let mut options = arrow_options(self.known, self.reading.as_ref(), py)?;
        let view = if is_new && matches!(options.missing, Missing::Auto | Missing::Mean | Missing::Indicator) {
            py.detach(|| view.with_means(&mut options)).or_raise(py)?
        } else {
            view
        };
        let mut seen = self.seen.as_ref().map(|_| BTreeSet::new());
        let outcome = py.detach(|| view.read(labels, weights, names, options, &mut seen, run));
        if let Some(set) = &self.seen {
            seen.into_iter().flatten().try_for_each(|name| set.add(name))?;
        }
        outcome.or_raise(py)
    }
}

/// How an Arrow table is read. Labels are given separately: no column is the label, whatever its name.
fn arrow_options(known: Option<String>, reading: Option<&Reading>, py: Python<'_>) -> PyResult<SchemaOptions> {
    let known = known.map(|text| serde_json::from_str(&text).unwrap_or_default());
    let options = reading.map(|reading| reading.options(py)).transpose()?.unwrap_or_default().columns;
    let columns = SchemaOptions { target: None, weight: None, needs_target: false, ..options };
    Ok(SchemaOptions { known: Some(known.unwrap_or_default()), ..columns })
}

impl View<'_> {
    /// Adds the means of the columns of an Arrow table to the options: they stand for missing values. As in files, they
    /// are those of the first rows; the types of columns decide their roles.
    fn with_means(self, options: &mut SchemaOptions) -> Result<Self, ReadError> {
        let View::Arrow(schema, batches) = self else { return Ok(self) };
        let batches = batches.collect::<Result<Vec<_>, _>>();
        let batches = batches.map_err(|error| ReadError::Matrix { problem: error.to_string() })?;
        let failed = |source| ReadError::Columnar { file: "X".into(), source };
        let rows = batches.clone().into_iter().map(Ok);
        let mut reader = ColumnarReader::from_batches(&schema, rows, options).map_err(failed)?;
        let mut known = reader.columns().map(|columns| columns.stored().clone()).unwrap_or_default();
        let mut survey = Survey::default();
        reader.survey("X", &mut survey).map_err(failed)?;
        let typed = SchemaOptions { numeric: known.numeric.clone(), known: None, ..options.clone() };
        known.means = survey.decide(&typed, b',').map(|(decided, _)| decided.means).unwrap_or_default();
        options.known = Some(known);
        Ok(View::Arrow(schema, Box::new(batches.into_iter().map(Ok))))
    }

    fn read<R>(
        self,
        labels: Labels<'_>,
        weights: Option<&[f64]>,
        names: Option<&[String]>,
        options: SchemaOptions,
        seen: &mut Option<BTreeSet<String>>,
        run: impl FnOnce(&mut dyn RowSource) -> R,
    ) -> Result<R, ReadError> {
        macro_rules! rows {
            ($matrix:expr) => {
                Ok(run(&mut MatrixRows::new($matrix?, labels, weights, names)?))
            };
        }
        match self {
            View::Doubles(cells, rows, columns) => rows!(Dense::new(cells, rows, columns)),
            View::Singles(cells, rows, columns) => rows!(Dense::new(cells, rows, columns)),
            View::Csr32(offsets, places, values, width) => rows!(Csr::new(offsets, places, values, width)),
            View::Csr64(offsets, places, values, width) => rows!(Csr::new(offsets, places, values, width)),
            View::CsrSingle32(offsets, places, values, width) => rows!(Csr::new(offsets, places, values, width)),
            View::CsrSingle64(offsets, places, values, width) => rows!(Csr::new(offsets, places, values, width)),
            View::Arrow(schema, batches) => {
                labels.check(weights, None)?;
                let failed = |source| ReadError::Columnar { file: "X".into(), source };
                let reader = ColumnarReader::from_batches(&schema, batches, &options).map_err(failed)?;
                Ok(run(&mut ArrowRows { reader, labels, weights, seen: seen.as_mut(), name: "X".into() }))
            }
        }
    }
}

/// Rows of Arrow tables, with separate labels and weights.
struct ArrowRows<'a> {
    reader: ColumnarReader,
    labels: Labels<'a>,
    weights: Option<&'a [f64]>,
    /// The names of all features so far, if they are wanted.
    seen: Option<&'a mut BTreeSet<String>>,
    name: Arc<str>,
}

fn add_names(rows: &RawRows, seen: &mut BTreeSet<String>) {
    for (key, _) in (0..rows.len()).flat_map(|row| rows.entries(row)) {
        match key {
            FeatureKey::Name(name) if seen.contains(name) => {}
            FeatureKey::Name(name) => drop(seen.insert(name.to_string())),
            FeatureKey::Index(index) => drop(seen.insert(index.to_string())),
        }
    }
}

impl RowSource for ArrowRows<'_> {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        let failed = |source| ReadError::Columnar { file: self.name.to_string(), source };
        let Some(mut rows) = self.reader.next().transpose().map_err(failed)? else { return Ok(None) };
        let first = self.reader.first_row();
        if let Some(seen) = &mut self.seen {
            add_names(&rows, seen);
        }
        for at in 0..rows.len() {
            let row = (first + u64::from(rows.lines[at])) as usize;
            rows.labels[at] = match self.labels {
                Labels::None => Label::Absent,
                Labels::Numbers(numbers) => numbers.get(row).map_or(Label::Absent, |&number| Label::Number(number)),
                Labels::Classes(codes, classes) => {
                    codes.get(row).and_then(|&code| classes.get(code as usize)).cloned().unwrap_or(Label::Absent)
                }
            };
            if let Some(&weight) = self.weights.and_then(|weights| weights.get(row)) {
                rows.set_weight(at, weight);
            }
        }
        Ok(Some(Block { rows, file: self.name.clone(), first_line: first }))
    }

    fn name(&self) -> String {
        self.name.to_string()
    }

    fn columns(&self) -> Option<ModelSchema> {
        self.reader.columns().map(|columns| columns.stored().clone())
    }
}

/// An iterator of Python whose items are tables.
pub struct Batches {
    tables: Py<PyAny>,
    waiting: VecDeque<Block>,
    columns: Option<ModelSchema>,
    rows: u64,
    /// The exception of the iterator.
    pub error: Option<PyErr>,
}

impl Batches {
    /// Reads from an iterator.
    pub fn new(tables: Py<PyAny>) -> Self {
        Batches { tables, waiting: VecDeque::new(), columns: None, rows: 0, error: None }
    }

    /// The blocks of the next table; none at the end.
    fn take_table(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Some(item) = self.tables.bind(py).try_iter()?.next().transpose()? else { return Ok(false) };
        let table: Table<'_> = item.extract()?;
        let (waiting, first) = (&mut self.waiting, self.rows);
        let mut columns = None;
        let outcome = table.read(py, |source| {
            let mut rows = 0;
            while let Some(block) = source.next_block()? {
                rows += block.rows.len() as u64;
                waiting.push_back(Block { first_line: first + block.first_line, ..block });
            }
            columns = source.columns();
            Ok::<u64, ReadError>(rows)
        })?;
        self.rows += outcome.or_raise(py)?;
        self.columns = self.columns.take().or(columns);
        Ok(true)
    }
}

impl RowSource for Batches {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        while self.waiting.is_empty() {
            match Python::attach(|py| self.take_table(py)) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.error = Some(error);
                    return Err(ReadError::Matrix { problem: "the iterator of batches failed".into() });
                }
            }
        }
        Ok(self.waiting.pop_front())
    }

    fn name(&self) -> String {
        "the batches".into()
    }

    fn columns(&self) -> Option<ModelSchema> {
        self.columns.clone()
    }
}
