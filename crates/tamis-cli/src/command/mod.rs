//! One file a command; each reads like a list of what it does.

mod convert;
mod demo;
mod eval;
mod fit;
mod inspect;
pub mod metric;
pub mod moments;
mod predict;
pub mod recut;
pub mod report;
pub mod solve;
pub mod stability;
mod synth;
pub mod tune;

use std::fmt;
use std::io;
use std::path::Path;

use tamis::eval::JudgeError;
use tamis::model::{Model, ModelError};
use tamis::moments::MomentsError;
use tamis::param::worded;
use tamis::read::{ReadError, ReadOptions, RowStream};
use tamis::recipe::RecipeError;
use tamis::solve::SolveError;
use tamis::train::TrainError;
use tamis::tune::TuneError;
use tamis_metric::MetricError;

use crate::args::{Arguments, Commands, DataArgs, flag};
use crate::output::tell;

/// Runs what was asked.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Commands::Fit(args) => fit::run(*args),
        Commands::Predict(args) => predict::run(args),
        Commands::Eval(args) => eval::run(args),
        Commands::Inspect(args) => inspect::run(args),
        Commands::Report(args) => report::run(*args),
        Commands::Recut(args) => recut::run(args),
        Commands::Convert(args) => convert::run(args),
        Commands::Synth(args) => synth::run(args),
        Commands::Moments(args) => moments::run(*args),
        Commands::Solve(args) => solve::run(*args),
        Commands::Metric(args) => metric::run(args),
        Commands::Tune(args) => tune::run(*args),
        Commands::Stability(args) => stability::run(*args),
        Commands::Demo(args) => demo::run(args),
    }
}

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    Train(TrainError),
    Tune(TuneError),
    Judge(JudgeError),
    Metric(MetricError),
    Moments(MomentsError),
    Solve(SolveError),
    Read(ReadError),
    Model(ModelError),
    Recipe(RecipeError),
    Output(io::Error),
    Text(String),
}

impl Failure {
    /// The reader of our output went away: that is fine.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// 2 for errors, 130 after Ctrl-C.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Train(TrainError::Interrupted { .. }) => 130,
            Failure::Metric(MetricError::Interrupted) => 130,
            Failure::Moments(MomentsError::Interrupted { .. }) => 130,
            Failure::Tune(TuneError::Train(TrainError::Interrupted { .. })) => 130,
            _ => 2,
        }
    }
}

impl Failure {
    /// What went wrong, with parameters as flags.
    pub fn text(&self) -> String {
        worded(self, flag)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Train(error) => error.fmt(f),
            Failure::Tune(error) => error.fmt(f),
            Failure::Judge(error) => error.fmt(f),
            Failure::Metric(error) => f.write_str(&metric::describe(error)),
            Failure::Moments(error) => error.fmt(f),
            Failure::Solve(error) => error.fmt(f),
            Failure::Read(error) => error.fmt(f),
            Failure::Model(error) => error.fmt(f),
            Failure::Recipe(error) => error.fmt(f),
            Failure::Output(error) => write!(f, "output: {error}"),
            Failure::Text(text) => f.write_str(text),
        }
    }
}

macro_rules! failure_from {
    ($($error:ty => $arm:ident),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::$arm(error)
            }
        })*
    };
}
failure_from!(TrainError => Train, TuneError => Tune, JudgeError => Judge, MetricError => Metric, MomentsError => Moments, SolveError => Solve, ReadError => Read, ModelError => Model, RecipeError => Recipe, io::Error => Output, String => Text);

/// The model, and its data opened the way the model was taught.
fn model_and_data(model: &Path, data: &DataArgs, needs_target: bool) -> Result<(Model, RowStream), Failure> {
    let model = Model::load(model)?;
    let stream = open_for(&model, data.reading.sources(&data.data)?, data.reading.options(needs_target));
    Ok((model, stream))
}

/// Opens data with the columns a model remembers.
fn open_for(model: &Model, sources: Vec<tamis::read::Source>, mut options: ReadOptions) -> RowStream {
    options.columns.known = model.columns.clone();
    RowStream::open(sources, options)
}

/// Tells of lines left out.
fn warn_of_skipped(count: u64, first: &[String]) {
    if count > 0 {
        tell!("tamis: {count} bad lines left out, the first of them:");
        first.iter().for_each(|line| tell!("  {line}"));
    }
}
