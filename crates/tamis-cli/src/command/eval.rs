//! `tamis eval`: evaluates a model on labelled data.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tamis::eval::{UnknownClasses, measure};

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_input::load_model_and_data;
use crate::output::{model, print_data, print_line, warn_skipped};

#[derive(Args)]
pub struct EvalArgs {
    /// Model file
    pub model: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: EvalArgs) -> Result<(), CliError> {
    let (model, mut rows) = load_model_and_data(&args.model, &args.data, true)?;
    let measures = measure(&model, &mut rows, UnknownClasses::Refused)?;
    if !args.output.quiet {
        warn_skipped(rows.skipped(), rows.first_skipped());
    }
    if args.output.json {
        let mut value = json!(measures);
        value["nonzeros"] = json!(model.nonzeros());
        print_data!("{value}")?;
    } else {
        print_line!("{}, {} features", model::measures(&measures), model.nonzeros())?;
    }
    Ok(())
}
