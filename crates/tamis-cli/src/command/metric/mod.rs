//! `tamis metric`: metric learning for k nearest neighbours.

mod apply;
mod args;
mod fit;
mod show;

use clap::{Args, Subcommand};

use self::args::{EvalArgs, FitArgs, PredictArgs, ShowArgs, TransformArgs};
use crate::error::CliError;

#[derive(Args)]
pub struct MetricArgs {
    #[command(subcommand)]
    pub command: MetricCommand,
}

#[derive(Subcommand)]
pub enum MetricCommand {
    /// Learn a sparse metric for k-NN; cross-validation compares it with plain k-NN
    Fit(Box<FitArgs>),
    /// Write the coordinates of rows under a metric as CSV
    Transform(TransformArgs),
    /// Predict the class of each row by k-NN, one line per row
    Predict(PredictArgs),
    /// Evaluate a metric on labelled data
    Eval(EvalArgs),
    /// Show the variables and interactions of a metric
    Show(ShowArgs),
}

pub fn run(args: MetricArgs) -> Result<(), CliError> {
    match args.command {
        MetricCommand::Fit(args) => fit::run(&args),
        MetricCommand::Transform(args) => apply::transform(&args),
        MetricCommand::Predict(args) => apply::predict(&args),
        MetricCommand::Eval(args) => apply::eval(&args),
        MetricCommand::Show(args) => show::run(&args),
    }
}
