//! What can be typed.

mod reading;
mod recipe;
mod running;

pub use reading::*;
pub use recipe::{GridArgs, RecipeArgs, flag};
pub use running::*;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tamis::read::Format;

use crate::command::metric::MetricArgs;
use crate::command::moments::MomentsArgs;
use crate::command::recut::RecutArgs;
use crate::command::report::ReportArgs;
use crate::command::solve::SolveArgs;
use crate::command::stability::StabilityArgs;
use crate::command::tune::TuneArgs;

/// Press a stream of wide data through a sieve; keep the few features that matter.
#[derive(Parser)]
#[command(name = "tamis", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Commands,
}

#[derive(Subcommand)]
pub enum Commands {
    /// Learn a sparse model from a stream
    Fit(Box<FitArgs>),
    /// Predict each row of new data, one line a row
    Predict(PredictArgs),
    /// Measure a model on labelled data
    Eval(EvalArgs),
    /// Show what a model uses
    Inspect(InspectArgs),
    /// A page to look at: which features, how sure, what if fewer
    Report(Box<ReportArgs>),
    /// Another number of features from the same training, without the data
    Recut(RecutArgs),
    /// Write data in another format, or a model as a table
    Convert(ConvertArgs),
    /// Make data whose truth is known
    Synth(SynthArgs),
    /// Running averages of data: one pass, then models of any sparsity with solve
    Moments(Box<MomentsArgs>),
    /// Make a sparse model of running averages, without the data
    Solve(Box<SolveArgs>),
    /// Metric learning for k nearest neighbours
    Metric(MetricArgs),
    /// Choose settings by cross-validation, then learn with them; any number or name of the recipe may be a list
    Tune(Box<TuneArgs>),
    /// Learn many times: how much do the selected features agree?
    Stability(Box<StabilityArgs>),
    /// See it work: a million features, a few that matter
    Demo(DemoArgs),
}

#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub recipe: RecipeArgs,
    #[command(flatten)]
    pub running: RunningArgs,
}

#[derive(Args)]
pub struct PredictArgs {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// What to print: label (or number), probability, margin, or all
    #[arg(long, default_value = "label", value_parser = ["label", "probability", "margin", "all"])]
    pub output: String,
}

#[derive(Args)]
pub struct EvalArgs {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct InspectArgs {
    /// The model
    pub model: PathBuf,
    /// Show this many features, 0 for all
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the features as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Args)]
pub struct ConvertArgs {
    /// Data, or a model (.json)
    pub input: String,
    /// Where to; the name tells the format, - with --to is standard output
    pub output: String,
    /// The format to write [default: by the name of OUTPUT]
    #[arg(long, value_parser = format_parser)]
    pub to: Option<Format>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Args)]
pub struct SynthArgs {
    /// zipf, text-regression, correlated, drift, double-ring or xor
    pub kind: String,
    /// Files to make: PREFIX.svm, PREFIX.truth.json, and PREFIX.test.svm with --test-rows
    #[arg(long, short, value_name = "PREFIX")]
    pub out: String,
    /// Rows
    #[arg(long)]
    pub n: Option<usize>,
    /// Features
    #[arg(long)]
    pub p: Option<usize>,
    /// Features that matter
    #[arg(long)]
    pub k: Option<usize>,
    /// Seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Rows for testing, made after the others
    #[arg(long, default_value_t = 0)]
    pub test_rows: usize,
    /// Two classes instead of numbers (correlated, drift)
    #[arg(long)]
    pub classes: bool,
    /// Strength of the planted features
    #[arg(long)]
    pub signal: Option<f64>,
    /// Noise (see the truth file)
    #[arg(long)]
    pub noise: Option<f64>,
    /// Mean non-zeros of a row (zipf)
    #[arg(long)]
    pub nonzeros: Option<usize>,
}

#[derive(Args)]
pub struct DemoArgs {
    /// Rows of the stream
    #[arg(long, default_value_t = 300_000)]
    pub n: usize,
    /// Where the report goes
    #[arg(long, value_name = "HTML", default_value = "report.html")]
    pub report: PathBuf,
    /// Keep the data and the model in this folder [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use tamis::recipe::Method;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_name_of_the_table_is_a_flag() {
        fn flags(command: &clap::Command) -> Vec<String> {
            let own = command.get_arguments().filter_map(|arg| arg.get_long().map(String::from));
            own.chain(command.get_subcommands().flat_map(flags)).collect()
        }
        let flags = flags(&Arguments::command());
        for name in tamis::param::names::ALL {
            assert!(flags.iter().any(|flag| flag == name.flag), "{name:?}");
        }
    }

    #[test]
    fn flags_make_a_recipe() {
        let arguments =
            Arguments::parse_from("tamis fit a.svm --method fobos --l1 0.5 --l2 1e-3 --k 7 --no-shuffle".split(' '));
        let Commands::Fit(fit) = arguments.command else { panic!("fit") };
        let recipe = fit.recipe.recipe;
        assert_eq!((recipe.method.kind(), recipe.k, recipe.shuffle), (Method::Fobos, Some(7), Some(false)));
        assert_eq!((recipe.l1(), recipe.get("l2")), (Some(0.5), Some("0.001".into())));
        assert_eq!(fit.recipe.given, ["method", "k", "no-shuffle", "l1", "l2"]);
    }
}
