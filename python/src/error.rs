//! Errors of the library as exceptions of Python: a class for each stage, with the position as attributes.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tamis::columnar::ColumnarError;
use tamis::data::TargetError;
use tamis::distributed::DistributedError;
use tamis::eval::EvalError;
use tamis::io::ReadError;
use tamis::model::{ModelError, ResizeError};
use tamis::moments::MomentsError;
use tamis::param::{ParamName, names, worded};
use tamis::recipe::RecipeError;
use tamis::solve::SolveError;
use tamis::train::TrainError;
use tamis::tune::TuneError;
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
pub fn python(name: ParamName, value: Option<&str>) -> String {
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

/// The text of an error of an estimator. The class of an estimator is its task, and its parameters are not those of
/// moments.
fn estimator(name: ParamName, value: Option<&str>) -> String {
    match value {
        Some("regression") if name == names::TASK => "a regressor".into(),
        Some(_) if name == names::TASK => "a classifier".into(),
        _ => python(name, value),
    }
}

/// The text of an error of training. A model of two classes cannot get a third: the classes must be known before.
fn text_of_training(error: &TrainError) -> String {
    match error {
        TrainError::Target(TargetError::ThirdLabel { place, found, first, second, .. }) => format!(
            "{place}: a third label {found} after only {first} and {second}; pass all classes to partial_fit, or use \
             max_iter=2 to read everything first"
        ),
        _ => worded(error, estimator),
    }
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
            TrainError::RowStore(_) => raise("FileError", &text_of_training(self), &[], py),
            TrainError::Interrupted { .. } => PyKeyboardInterrupt::new_err(text_of_training(self)),
            TrainError::Diverged { .. } => raise("DivergedError", &text_of_training(self), &[], py),
            TrainError::Method { .. }
            | TrainError::TooManyFeatures { .. }
            | TrainError::NotIncremental { .. }
            | TrainError::NeedsAllRows { .. } => raise("ParamError", &text_of_training(self), &[], py),
            _ => raise("DataError", &text_of_training(self), &[], py),
        }
    }
}

impl Raise for EvalError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            EvalError::Read(error) => error.raise(py),
            _ => raise("DataError", &text_of(self), &[], py),
        }
    }
}

impl Raise for TuneError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            TuneError::Train(error) => error.raise(py),
            TuneError::Read(error) => error.raise(py),
            TuneError::Eval(error) => error.raise(py),
            TuneError::Value { reason, .. } | TuneError::Clash { reason, .. } => reason.raise(py),
            TuneError::AllDiverged => raise("DivergedError", &text_of(self), &[], py),
            TuneError::EmptyFold { .. } | TuneError::EmptyShare { .. } | TuneError::MixedTasks => {
                raise("DataError", &worded(self, estimator), &[], py)
            }
            _ => raise("ParamError", &text_of(self), &[], py),
        }
    }
}

impl Raise for DistributedError {
    fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            DistributedError::Train(error) => error.raise(py),
            DistributedError::Method { .. }
            | DistributedError::Unsupported { .. }
            | DistributedError::Buckets { .. }
            | DistributedError::TooSmall { .. } => raise("ParamError", &text_of(self), &[], py),
            _ => raise("DataError", &worded(self, estimator), &[], py),
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

/// An exception about invalid data.
pub fn data_error(text: &str, py: Python<'_>) -> PyErr {
    raise("DataError", text, &[], py)
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
