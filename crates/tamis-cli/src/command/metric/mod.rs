//! `tamis metric`: learn distances that suit the classes, and use them.

mod apply;
mod fit;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::input::DataArgs;
use crate::args::training::{bytes_parser, task_parser};
use crate::error::CliError;
use tamis::metric::Candidate;
use tamis::train::TaskKind;

#[derive(Args)]
pub struct MetricArgs {
    #[command(subcommand)]
    pub command: MetricCommand,
}

#[derive(Subcommand)]
pub enum MetricCommand {
    /// Learn a sparse metric: few variables and products, chosen against plain nearest neighbours
    Fit(Box<FitArgs>),
    /// Write the coordinates of rows under a metric as CSV
    Transform(TransformArgs),
    /// Predict the class of each row by its nearest neighbours, one line a row
    Predict(PredictArgs),
    /// Measure a metric on labelled data
    Eval(EvalArgs),
    /// Show what counts in a metric
    Show(ShowArgs),
}

#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Where the metric goes
    #[arg(long, short, value_name = "FILE", default_value = "model.metric")]
    pub out: PathBuf,
    /// Families that compete in cross-validation: plain, order-1, squares, order-2, free, thesis, wide
    #[arg(long = "try", value_name = "NAMES", value_delimiter = ',', value_parser = Candidate::FAMILIES,
          default_value = "plain,order-1,squares,order-2,free")]
    pub families: Vec<String>,
    /// Learn this family without cross-validation
    #[arg(long, value_name = "NAME", value_parser = Candidate::FAMILIES, conflicts_with = "families")]
    pub preset: Option<String>,
    #[command(flatten)]
    pub numbers: NumberArgs,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    /// Variables and products to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub top: usize,
    /// What the labels are: auto, binary or multiclass
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory that may be used, e.g. 500M or 2G [default: half of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
    /// Write a page to look at: which variables, where the classes lie
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    /// With --report: variables are the pixels of images so many pixels wide
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096), requires = "report")]
    pub image_width: Option<u16>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Say nothing but the result
    #[arg(long, short)]
    pub quiet: bool,
}

/// Numbers of the algorithm, in place of each candidate's own.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Learning")]
pub struct NumberArgs {
    /// Boosting steps (M) [default: 100; up to 400 while the best metric's error on rows held out falls]
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// Neighbours of the own class and of others (k) [default: 5]
    #[arg(long, value_name = "N")]
    pub neighbours: Option<usize>,
    /// Variables and products in one direction (κ) [default: 3 and 10 compete]
    #[arg(long, value_name = "N", conflicts_with = "entries_share")]
    pub entries: Option<usize>,
    /// The same as a share of the candidates (ρ)
    #[arg(long, value_name = "SHARE")]
    pub entries_share: Option<f64>,
    /// Share of each step that is taken (ν) [default: 0.05]
    #[arg(long, value_name = "SHARE")]
    pub shrinkage: Option<f64>,
    /// Share of the rows a step looks at (η) [default: 1]
    #[arg(long, value_name = "SHARE")]
    pub bag: Option<f64>,
    /// Each step looks at a root of the candidates (√p), drawn anew
    #[arg(long)]
    pub draw_columns: bool,
    /// Steps between two searches for neighbours [default: 5]
    #[arg(long, value_name = "N")]
    pub update_every: Option<usize>,
    /// Steps before products are made [default: 10]
    #[arg(long, value_name = "N")]
    pub burn_in: Option<usize>,
    /// Products are made among so many of the heaviest terms; 0 takes all [default: 32]
    #[arg(long, value_name = "N")]
    pub pool: Option<usize>,
    /// The most variables in a product
    #[arg(long, value_name = "N")]
    pub order: Option<usize>,
    /// Classes weigh by their rows, not alike
    #[arg(long)]
    pub unbalanced: bool,
}

/// How candidates and steps are chosen.
#[derive(Args, Clone)]
#[command(next_help_heading = "Choosing")]
pub struct ChoiceArgs {
    /// Folds of the cross-validation
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub folds: usize,
    /// Deals of the cross-validation [default: 1, up to 5 for few rows; 3 among the best of up to 2000 rows]
    #[arg(long, value_name = "N")]
    pub repeats: Option<usize>,
    /// Compare candidates on at most so many rows
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub choice_rows: usize,
    /// How many steps are kept: held-out, leave-one-out, complexity or last [default: held-out; leave-one-out with
    /// --preset]
    #[arg(long, value_name = "RULE", value_parser = ["held-out", "leave-one-out", "complexity", "last"])]
    pub stop: Option<String>,
    /// What a variable costs under --stop complexity (λ)
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    pub complexity: f64,
    /// Nearest rows that vote
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub voters: usize,
    /// Seed of folds and bags
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

#[derive(Args)]
pub struct TransformArgs {
    /// The metric
    pub metric: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Only the first N coordinates, along which training rows vary most
    #[arg(long, value_name = "N")]
    pub components: Option<usize>,
}

#[derive(Args)]
pub struct PredictArgs {
    /// The metric
    pub metric: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// What to print: label (by vote), base (by mean distances), score, or all
    #[arg(long, default_value = "label", value_parser = ["label", "base", "score", "all"])]
    pub output: String,
}

#[derive(Args)]
pub struct EvalArgs {
    /// The metric
    pub metric: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ShowArgs {
    /// The metric
    pub metric: PathBuf,
    /// Variables and products to show, 0 for all
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub top: usize,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
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
