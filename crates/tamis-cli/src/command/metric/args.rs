//! The arguments of the subcommands of `tamis metric`.

use std::path::PathBuf;

use clap::Args;
use tamis::data::TaskKind;
use tamis_metric::{Candidate, Param};

use crate::args::byte_size::bytes_parser;
use crate::args::input::DataArgs;
use crate::args::training::task_parser;

#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// File to write the metric to
    #[arg(long, short, value_name = "FILE", default_value = "model.metric")]
    pub out: PathBuf,
    /// Candidates compared by cross-validation: plain, order-1, squares, order-2, free, thesis, wide
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Candidate::FAMILIES,
          default_value = "plain,order-1,squares,order-2,free")]
    pub candidates: Vec<String>,
    /// Learn this candidate without cross-validation. `thesis` is the published algorithm, to check its results; it is
    /// slower and less accurate than the others
    #[arg(long, value_name = "NAME", value_parser = Candidate::FAMILIES, conflicts_with = "candidates")]
    pub candidate: Option<String>,
    #[command(flatten)]
    pub params: ParamArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Number of variables and interactions to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub top: usize,
    /// Kind of labels: auto, binary or multiclass
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory limit, e.g. 500M or 2G [default: half of the machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
    /// Write an HTML report: variables, distribution of the classes along the first axis
    #[arg(long, value_name = "HTML")]
    pub report: Option<PathBuf>,
    /// With --report: the variables are pixels of images of this width
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096), requires = "report")]
    pub image_width: Option<u16>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only the result
    #[arg(long, short)]
    pub quiet: bool,
}

/// The help of a parameter, from the table of parameters.
fn help(param: Param) -> String {
    format!("{} [default: {}]", param.help(), param.default_value())
}

/// Parameters of the learner, in place of each candidate's own.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Learning")]
pub struct ParamArgs {
    #[arg(long, value_name = "N", help = help(Param::MaxIter))]
    pub max_iter: Option<usize>,
    #[arg(long, value_name = "N", help = help(Param::MetricNeighbors))]
    pub metric_neighbors: Option<usize>,
    #[arg(long, value_name = "N", help = help(Param::MaxTerms), conflicts_with = "max_terms_share")]
    pub max_terms: Option<usize>,
    #[arg(long, value_name = "SHARE", help = Param::MaxTermsShare.help())]
    pub max_terms_share: Option<f64>,
    #[arg(long, value_name = "X", help = help(Param::LearningRate))]
    pub learning_rate: Option<f64>,
    #[arg(long, value_name = "SHARE", help = help(Param::Subsample))]
    pub subsample: Option<f64>,
    #[arg(long, help = Param::SubsampleTerms.help())]
    pub subsample_terms: bool,
    #[arg(long, value_name = "N", help = help(Param::UpdateEvery))]
    pub update_every: Option<usize>,
    #[arg(long, value_name = "N", help = help(Param::BurnIn))]
    pub burn_in: Option<usize>,
    #[arg(long, value_name = "N", help = help(Param::InteractionPool))]
    pub interaction_pool: Option<usize>,
    #[arg(long, value_name = "N", help = help(Param::MaxOrder))]
    pub max_order: Option<usize>,
    /// Do not reweight the rows so that all classes have the same total weight
    #[arg(long)]
    pub no_class_balance: bool,
}

/// How a candidate and its number of steps are selected.
#[derive(Args, Clone)]
#[command(next_help_heading = "Model selection")]
pub struct SelectionArgs {
    #[arg(long, value_name = "N", default_value_t = 5, help = Param::Folds.help())]
    pub folds: usize,
    #[arg(long, value_name = "N", help = help(Param::Repeats))]
    pub repeats: Option<usize>,
    #[arg(long, value_name = "N", default_value_t = 5000, help = Param::CvRows.help())]
    pub cv_rows: usize,
    #[arg(long, value_name = "RULE", value_parser = ["held-out", "leave-one-out", "complexity", "off"],
          help = "Rule that selects the number of boosting steps [default: held-out; leave-one-out with --candidate]")]
    pub early_stopping: Option<String>,
    #[arg(long, value_name = "X", default_value_t = 0.1, help = Param::ComplexityPenalty.help())]
    pub complexity_penalty: f64,
    #[arg(long, value_name = "N", default_value_t = 3, help = Param::NNeighbors.help())]
    pub n_neighbors: usize,
    /// Seed of the folds and subsamples
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

#[derive(Args)]
pub struct TransformArgs {
    /// The metric
    pub metric: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Number of coordinates, by decreasing variance of the training rows [default: all]
    #[arg(long, value_name = "N")]
    pub components: Option<usize>,
}

#[derive(Args)]
pub struct PredictArgs {
    /// The metric
    pub metric: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// What to print: label (k-NN), base (base classifier, by mean distances), score, or all
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
    /// Number of variables and interactions to show; 0 for all
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub top: usize,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}
