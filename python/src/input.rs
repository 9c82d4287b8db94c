//! Data from Python: numpy and scipy matrices, Arrow tables, and iterators of these.
//!
//! `tamis/_input.py` brings everything into the shape of [`Table`]; only the current block is copied here.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use tamis::columnar::ColumnarReader;
use tamis::data::Label;
use tamis::io::{Block, Csr, Dense, Labels, MatrixRows, ReadError, RowSource};
use tamis::parse::Missing;
use tamis::parse::schema::{ModelSchema, SchemaOptions};

use crate::error::OrRaise;

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

/// Rows with labels, weights and names.
#[derive(FromPyObject)]
pub struct Table<'py> {
    cells: Cells<'py>,
    names: Option<Vec<String>>,
    labels: Option<PyLabels<'py>>,
    classes: Vec<PyLabel>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    known: Option<String>,
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
        let known = self.known.map(|text| serde_json::from_str(&text).unwrap_or_default());
        let outcome = py.detach(|| view.read(labels, weights, names, known, run));
        outcome.or_raise(py)
    }
}

impl View<'_> {
    fn read<R>(
        self,
        labels: Labels<'_>,
        weights: Option<&[f64]>,
        names: Option<&[String]>,
        known: Option<ModelSchema>,
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
                // Labels are given separately: no column is the label, whatever its name.
                let known = Some(known.unwrap_or_default());
                let options = SchemaOptions { known, missing: Missing::Error, ..SchemaOptions::default() };
                let failed = |source| ReadError::Columnar { file: "X".into(), source };
                let reader = ColumnarReader::from_batches(&schema, batches, &options).map_err(failed)?;
                Ok(run(&mut ArrowRows { reader, labels, weights, name: "X".into() }))
            }
        }
    }
}

/// Rows of Arrow tables, with separate labels and weights.
struct ArrowRows<'a> {
    reader: ColumnarReader,
    labels: Labels<'a>,
    weights: Option<&'a [f64]>,
    name: Arc<str>,
}

impl RowSource for ArrowRows<'_> {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        let failed = |source| ReadError::Columnar { file: self.name.to_string(), source };
        let Some(mut rows) = self.reader.next().transpose().map_err(failed)? else { return Ok(None) };
        let first = self.reader.first_row();
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
        self.reader.columns().map(|columns| columns.known())
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
