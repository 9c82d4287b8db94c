//! `tamis eval`: evaluates a model on labelled data.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tamis::eval::{UnknownClasses, measure_classes};
use tamis::model::Model;

use crate::args::input::DataArgs;
use crate::args::output::OutputArgs;
use crate::error::CliError;
use crate::model_input::{MissingColumnsArgs, open_for};
use crate::output::format::features;
use crate::output::{classes, model, print_data, print_line, warn_skipped};

#[derive(Args)]
pub struct EvalArgs {
    /// Model file
    pub model: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub columns: MissingColumnsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: EvalArgs) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    let (sources, options) = (args.data.sources()?, args.data.input.options(true));
    let mut rows = open_for(&model, sources, options, args.columns.are_refused());
    let (measures, report) = measure_classes(&model, &mut rows, UnknownClasses::Refused)?;
    if !args.output.quiet {
        warn_skipped(rows.skipped(), rows.first_skipped());
    }
    if args.output.json {
        let mut value = classes::as_json(&measures, report.as_ref());
        value["nonzeros"] = json!(model.nonzeros());
        print_data!("{value}")?;
        return Ok(());
    }
    print_line!("{}, {}", model::measures(&measures), features(model.nonzeros() as u64))?;
    if let Some(report) = report.filter(|_| !args.output.quiet) {
        print_line!("\n{}", classes::table(&report))?;
    }
    Ok(())
}
