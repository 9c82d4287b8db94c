//! Data opened with the schema of a model.

use std::path::Path;

use tamis::io::{ReadOptions, RowStream, Source};
use tamis::model::Model;

use crate::args::input::DataArgs;
use crate::error::CliError;

/// Loads a model and opens data with its schema.
pub fn load_model_and_data(model: &Path, data: &DataArgs, needs_target: bool) -> Result<(Model, RowStream), CliError> {
    let model = Model::load(model)?;
    let rows = open_for(&model, data.sources()?, data.input.options(needs_target));
    Ok((model, rows))
}

/// Opens data with the schema of a model.
pub fn open_for(model: &Model, sources: Vec<Source>, mut options: ReadOptions) -> RowStream {
    options.columns.known = model.columns.clone();
    RowStream::open(sources, options)
}
