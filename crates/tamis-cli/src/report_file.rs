//! The HTML page that commands write with `--report`.

use std::io::{Write as _, stdout};
use std::path::Path;

use tamis::data::replace_file;
use tamis::eval::FeatureFrequencies;
use tamis::io::Source;
use tamis::model::Model;
use tamis_report::Report;

use crate::args::input::InputArgs;
use crate::error::CliError;
use crate::model_input::open_for;
use crate::model_output::is_stdout;
use crate::output::{format, print_line};

/// Writes a page and prints its name.
pub fn write_report(path: &Path, report: &Report, quiet: bool) -> Result<(), CliError> {
    let page = report.html();
    let failed = |error| CliError::of_file(path.display(), format!("cannot be written: {error}"));
    if is_stdout(path) {
        return Ok(stdout().write_all(page.as_bytes())?);
    }
    replace_file(path, page.as_bytes()).map_err(failed)?;
    if !quiet {
        print_line!("report: {} ({})", path.display(), format::bytes(page.len() as u64))?;
    }
    Ok(())
}

/// How often each feature occurs in the training data; `None` if the data cannot be read again.
pub fn feature_frequencies(
    model: &Model,
    sources: &[Source],
    input: &InputArgs,
) -> Result<Option<FeatureFrequencies>, CliError> {
    if sources.iter().any(|source| source.path.is_none()) {
        return Ok(None);
    }
    let mut rows = open_for(model, sources.to_vec(), input.options(true), true);
    Ok(Some(FeatureFrequencies::of(model, &mut rows)?))
}
