//! Errors of the library as exceptions of Python: a class for each stage, with the position as attributes.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tamis::columnar::ColumnarError;
use tamis::io::ReadError;
use tamis::model::{ModelError, ResizeError};
use tamis::moments::MomentsError;
use tamis::param::{ParamName, worded};
use tamis::recipe::RecipeError;
use tamis::solve::SolveError;
use tamis::train::TrainError;
use tamis_metric::MetricError;

/// An exception of `tamis.errors`, with attributes.
fn raise(class: &str, text: &str, attributes: &[(&str, Bound<'_, PyAny>)], py: Python<'_>) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let error = py.import("tamis.errors")?.getattr(class)?.call1((text,))?;
        for (name, value) in attributes {
            error.setattr(*name, value)?;
        }
        Ok(PyErr::from_value(error))
    };
    made().unwrap_or_else(|error| error)
}

/// Parameters that are keys of `reading`, and whether their values are lists.
const READING: [(&str, bool); 6] = [
    ("missing", false),
    ("target", false),
    ("weight_column", false),
    ("format", false),
    ("ignore", true),
    ("categorical", true),
];

/// A parameter as Python calls it, perhaps with a value.
fn python(name: ParamName, value: Option<&str>) -> String {
    if let (Some(&(key, is_list)), Some(value)) = (READING.iter().find(|(key, _)| *key == name.python), value) {
        return if is_list {
            format!("reading={{{key:?}: [{value:?}]}}")
        } else {
            format!("reading={{{key:?}: {value:?}}}")
        };
    }
    let is_literal = |value: &str| value.parse::<f64>().is_ok() || value.chars().all(|c| c.is_ascii_uppercase());
    match value {
        None => name.python.into(),
        Some(value) if is_literal(value) => format!("{}={value}", name.python),
        Some(value) => format!("{}={value:?}", name.python),
    }
}

/// The text of an error, with parameters as Python calls them.
fn text_of(error: &impl std::fmt::Display) -> String {
    worded(error, python)
}

/// An error of the library.
pub trait Raise {
    /// The exception.
    fn raise(&self, py: Python<'_>) -> PyErr;
}

impl Raise for ReadError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let text = text_of(self);
        let object = |value: u64| value.into_pyobject(py).map(Bound::into_any);
        match self {
            ReadError::Line { file, line, column, .. } => {
                let Ok(line) = object(*line);
                let Ok(column) = object(u64::from(*column));
                let Ok(file) = file.into_pyobject(py).map(Bound::into_any);
                raise("ParseError", &text, &[("file", file), ("line", line), ("column", column)], py)
            }
            ReadError::Columnar { file, source: ColumnarError::Row { row, .. } } => {
                let Ok(line) = object(*row);
                let Ok(file) = file.into_pyobject(py).map(Bound::into_any);
                raise("ParseError", &text, &[("file", file), ("line", line)], py)
            }
            ReadError::Row { row, .. } => {
                let Ok(row) = object(*row);
                raise("DataError", &text, &[("row", row)], py)
            }
            ReadError::Matrix { .. } | ReadError::NoRows { .. } => raise("DataError", &text, &[], py),
            ReadError::Open { .. } | ReadError::Io { .. } | ReadError::Spool { .. } => {
                raise("FileError", &text, &[], py)
            }
            ReadError::EmptyDirectory { .. } | ReadError::NoMatch { .. } => raise("FileError", &text, &[], py),
            _ => raise("ParseError", &text, &[], py),
        }
    }
}

impl Raise for RecipeError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        raise("ParamError", &text_of(self), &[], py)
    }
}

impl Raise for ModelError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        raise("ModelError", &text_of(self), &[], py)
    }
}

impl Raise for ResizeError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        raise("ParamError", &text_of(self), &[], py)
    }
}

impl Raise for TrainError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            TrainError::Read(error) => error.raise(py),
            TrainError::Recipe(error) => error.raise(py),
            TrainError::Model(error) => error.raise(py),
            TrainError::RowStore(_) => raise("FileError", &text_of(self), &[], py),
            TrainError::Interrupted { .. } => PyKeyboardInterrupt::new_err(text_of(self)),
            TrainError::Diverged { .. } => raise("DivergedError", &text_of(self), &[], py),
            TrainError::Method { .. }
            | TrainError::TooManyFeatures { .. }
            | TrainError::NotIncremental { .. }
            | TrainError::NeedsAllRows { .. } => raise("ParamError", &text_of(self), &[], py),
            _ => raise("DataError", &text_of(self), &[], py),
        }
    }
}

impl Raise for MomentsError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let class = match self {
            MomentsError::Read(error) => return error.raise(py),
            MomentsError::Interrupted { .. } => return PyKeyboardInterrupt::new_err(text_of(self)),
            MomentsError::Choice(_) => "ParamError",
            MomentsError::Open { .. } | MomentsError::Write { .. } => "FileError",
            MomentsError::NotMoments { .. } | MomentsError::File { .. } => "ModelError",
            _ => "DataError",
        };
        raise(class, &text_of(self), &[], py)
    }
}

impl Raise for SolveError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            SolveError::Recipe(error) => error.raise(py),
            SolveError::TooMany { .. } | SolveError::NoTarget { .. } | SolveError::NoFolds => {
                raise("ParamError", &text_of(self), &[], py)
            }
            _ => raise("DataError", &text_of(self), &[], py),
        }
    }
}

impl Raise for MetricError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let class = match self {
            MetricError::Read(error) => return error.raise(py),
            MetricError::Train(error) => return error.raise(py),
            MetricError::Interrupted => return PyKeyboardInterrupt::new_err(text_of(self)),
            MetricError::OutOfRange(_)
            | MetricError::UnknownCandidate { .. }
            | MetricError::NoCandidate
            | MetricError::Invalid(_) => "ParamError",
            MetricError::Open { .. } | MetricError::Write { .. } => "FileError",
            MetricError::NotAMetric { .. } | MetricError::File { .. } => "ModelError",
            _ => "DataError",
        };
        raise(class, &text_of(self), &[], py)
    }
}

/// An exception about an invalid parameter.
pub fn param_error(text: &str, py: Python<'_>) -> PyErr {
    raise("ParamError", text, &[], py)
}

/// The result of a library call, or its exception.
pub trait OrRaise<T> {
    /// Turns an error into an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Raise> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| error.raise(py))
    }
}
