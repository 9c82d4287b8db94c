//! The model that a command writes: to a file, or to standard output, where nothing else is then printed.

use std::io::{Write as _, stdout};
use std::path::Path;

use tamis::model::Model;

use crate::args::output::OutputArgs;
use crate::error::CliError;

/// Whether a path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Prepares for a model on standard output: it is printed alone.
pub fn check_model_output(path: &Path, output: &mut OutputArgs) -> Result<(), CliError> {
    if !is_stdout(path) {
        return Ok(());
    }
    if output.json {
        return Err(CliError::Message("--json needs an output file: standard output holds the model".into()));
    }
    output.quiet = true;
    Ok(())
}

/// Writes a model.
pub fn write_model(model: &Model, path: &Path) -> Result<(), CliError> {
    match is_stdout(path) {
        true => Ok(stdout().write_all(model.to_text().as_bytes())?),
        false => Ok(model.save(path)?),
    }
}
