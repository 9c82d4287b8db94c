//! Data opened with the schema of a model.

use clap::Args;
use tamis::io::{ReadOptions, RowStream, Source};
use tamis::model::Model;

/// What happens when a table lacks columns of the model.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub struct MissingColumnsArgs {
    /// Columns that the model uses and the data lacks: error, or zero (treat as 0)
    #[arg(long, value_name = "ACTION", default_value = "error", value_parser = ["error", "zero"])]
    pub missing_columns: String,
}

impl MissingColumnsArgs {
    /// Whether a table must have all columns that the model uses.
    pub fn are_refused(&self) -> bool {
        self.missing_columns != "zero"
    }
}

/// Opens data with the schema of a model.
pub fn open_for(model: &Model, sources: Vec<Source>, mut options: ReadOptions, needs_columns: bool) -> RowStream {
    options.columns.known = model.columns.clone();
    if needs_columns {
        options.columns.required = model.used_columns();
    }
    RowStream::open(sources, options)
}
