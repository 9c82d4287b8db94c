//! How files and Arrow tables are read, as Python says it.

use pyo3::prelude::*;
use tamis::io::{Format, ReadOptions, Source, expand};
use tamis::parse::Missing;
use tamis::parse::schema::SchemaOptions;

use crate::error::{OrRaise, param_error};

/// How files are read.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub struct Reading {
    format: Option<String>,
    target: Option<String>,
    weight_column: Option<String>,
    ignore: Vec<String>,
    categorical: Vec<String>,
    missing: String,
    zero_based: bool,
    on_error: String,
}

impl Reading {
    /// The options of the library.
    pub fn options(&self, py: Python<'_>) -> PyResult<ReadOptions> {
        let unknown = || {
            let names = Missing::ALL.map(Missing::name).join(", ");
            param_error(&format!("missing must be one of {names}, got {:?}", self.missing), py)
        };
        let missing = Missing::ALL.into_iter().find(|rule| rule.name() == self.missing).ok_or_else(unknown)?;
        let columns = SchemaOptions {
            target: self.target.clone(),
            weight: self.weight_column.clone(),
            ignore: self.ignore.clone(),
            categorical: self.categorical.clone(),
            needs_target: true,
            missing,
            ..SchemaOptions::default()
        };
        let skip_bad = match self.on_error.as_str() {
            "stop" => false,
            "skip" => true,
            other => return Err(param_error(&format!("on_error must be stop or skip, got {other:?}"), py)),
        };
        Ok(ReadOptions { columns, zero_based: self.zero_based, skip_bad, threads: 1, ..ReadOptions::default() })
    }
}

/// The files of paths, directories and patterns.
pub fn sources(paths: &[String], reading: &Reading, py: Python<'_>) -> PyResult<Vec<Source>> {
    let format = match &reading.format {
        None => None,
        Some(name) => match Format::from_name(name) {
            None => return Err(param_error(&format!("unknown format {name:?}"), py)),
            format => format,
        },
    };
    expand(paths, format).or_raise(py)
}
