//! Errors of the library as exceptions of Python: a class for each stage, with the position as attributes.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tamis::columnar::ColumnarError;
use tamis::model::{CutError, ModelError};
use tamis::moments::MomentsError;
use tamis::read::ReadError;
use tamis::recipe::RecipeError;
use tamis::solve::SolveError;
use tamis::train::TrainError;
use tamis_metric::MetricError;

/// An exception of `tamis.errors`, with attributes.
fn raise(class: &str, text: &str, attributes: &[(&str, Bound<'_, PyAny>)], py: Python<'_>) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let error = py.import("tamis.errors")?.getattr(class)?.call1((in_python(text),))?;
        for (name, value) in attributes {
            error.setattr(*name, value)?;
        }
        Ok(PyErr::from_value(error))
    };
    made().unwrap_or_else(|error| error)
}

/// Flags of the program are parameters here, a few of them under the names scikit-learn has for them.
fn in_python(text: &str) -> String {
    let mut parts = text.split("--");
    let mut told = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(part.len());
        let (flag, rest) = part.split_at(end);
        told += &match flag {
            "" => "--".to_string(),
            "k" => "n_features_to_select".to_string(),
            "penalty" => "alpha".to_string(),
            "passes" => "max_iter".to_string(),
            "rate" => "schedule".to_string(),
            "choose" => "criterion".to_string(),
            "folds" => "cv".to_string(),
            "l1-share" => "l1_ratio".to_string(),
            other => other.replace('-', "_"),
        };
        told += rest;
    }
    told
}

/// Anything the library complains of.
pub trait Raise {
    /// The exception.
    fn raise(&self, py: Python<'_>) -> PyErr;
}

impl Raise for ReadError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let text = self.to_string();
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
        raise("ParamError", &self.to_string(), &[], py)
    }
}

impl Raise for ModelError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        raise("ModelError", &self.to_string(), &[], py)
    }
}

impl Raise for CutError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        raise("ParamError", &self.to_string(), &[], py)
    }
}

impl Raise for TrainError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            TrainError::Read(error) => error.raise(py),
            TrainError::Recipe(error) => error.raise(py),
            TrainError::Model(error) => error.raise(py),
            TrainError::RowStore(_) => raise("FileError", &self.to_string(), &[], py),
            TrainError::Interrupted { .. } => PyKeyboardInterrupt::new_err(self.to_string()),
            TrainError::Diverged { .. } => raise("DivergedError", &self.to_string(), &[], py),
            TrainError::Method { .. } | TrainError::TooManyFeatures { .. } => {
                raise("ParamError", &self.to_string(), &[], py)
            }
            _ => raise("DataError", &self.to_string(), &[], py),
        }
    }
}

impl Raise for MomentsError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let class = match self {
            MomentsError::Read(error) => return error.raise(py),
            MomentsError::Interrupted { .. } => return PyKeyboardInterrupt::new_err(self.to_string()),
            MomentsError::Choice(_) => "ParamError",
            MomentsError::Open { .. } | MomentsError::Write { .. } => "FileError",
            MomentsError::NotMoments { .. } | MomentsError::File { .. } => "ModelError",
            _ => "DataError",
        };
        raise(class, &self.to_string(), &[], py)
    }
}

impl Raise for SolveError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            SolveError::Recipe(error) => error.raise(py),
            SolveError::TooMany { .. } | SolveError::NoTarget { .. } | SolveError::NoFolds => {
                raise("ParamError", &self.to_string(), &[], py)
            }
            _ => raise("DataError", &self.to_string(), &[], py),
        }
    }
}

impl Raise for MetricError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        let class = match self {
            MetricError::Read(error) => return error.raise(py),
            MetricError::Train(error) => return error.raise(py),
            MetricError::Interrupted => return PyKeyboardInterrupt::new_err(self.to_string()),
            MetricError::OutOfRange(_)
            | MetricError::UnknownCandidate { .. }
            | MetricError::NoCandidate
            | MetricError::Invalid(_) => "ParamError",
            MetricError::Open { .. } | MetricError::Write { .. } => "FileError",
            MetricError::NotAMetric { .. } | MetricError::File { .. } => "ModelError",
            _ => "DataError",
        };
        raise(class, &self.to_string(), &[], py)
    }
}

/// A choice that makes no sense, in words.
pub fn param_error(text: &str, py: Python<'_>) -> PyErr {
    raise("ParamError", text, &[], py)
}

/// What a library call gave, or its exception.
pub trait OrRaise<T> {
    /// Turns an error into an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Raise> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| error.raise(py))
    }
}
