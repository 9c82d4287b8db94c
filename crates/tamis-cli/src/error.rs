//! Why a command failed, and the exit code that says so.

use std::fmt;
use std::io;

use tamis::eval::EvalError;
use tamis::io::ReadError;
use tamis::model::ModelError;
use tamis::moments::MomentsError;
use tamis::param::worded;
use tamis::recipe::RecipeError;
use tamis::solve::SolveError;
use tamis::train::TrainError;
use tamis::tune::TuneError;
use tamis_metric::MetricError;

use crate::flag::flag;
use crate::metric_error::describe;

/// Exit code of an error. 0 means success; 1 is reserved for a negative answer.
const ERROR: u8 = 2;
/// Exit code after Ctrl-C, as shells report it.
const INTERRUPTED: u8 = 130;

/// The error of a command: one of the library, of the output, or a message of the program itself.
#[derive(Debug)]
pub enum CliError {
    Train(TrainError),
    Tune(TuneError),
    Eval(EvalError),
    Metric(MetricError),
    Moments(MomentsError),
    Solve(SolveError),
    Read(ReadError),
    Model(ModelError),
    Recipe(RecipeError),
    Output(io::Error),
    Message(String),
}

impl CliError {
    /// An error about a file.
    pub fn of_file(path: impl fmt::Display, error: impl fmt::Display) -> Self {
        CliError::Message(format!("{path}: {}", worded(&error, flag)))
    }

    /// Whether the reader of our output went away, which is not an error.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, CliError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The message, with parameters as flags.
    pub fn text(&self) -> String {
        worded(self, flag)
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Train(TrainError::Interrupted { .. })
            | CliError::Metric(MetricError::Interrupted)
            | CliError::Moments(MomentsError::Interrupted { .. })
            | CliError::Tune(TuneError::Train(TrainError::Interrupted { .. }))
            | CliError::Tune(TuneError::Read(ReadError::Interrupted))
            | CliError::Read(ReadError::Interrupted)
            | CliError::Train(TrainError::Read(ReadError::Interrupted))
            | CliError::Moments(MomentsError::Read(ReadError::Interrupted))
            | CliError::Eval(EvalError::Read(ReadError::Interrupted))
            | CliError::Metric(MetricError::Read(ReadError::Interrupted)) => INTERRUPTED,
            _ => ERROR,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CliError::Train(error) => error.fmt(f),
            CliError::Tune(error) => error.fmt(f),
            CliError::Eval(error) => error.fmt(f),
            CliError::Metric(error) => f.write_str(&describe(error)),
            CliError::Moments(error) => error.fmt(f),
            CliError::Solve(error) => error.fmt(f),
            CliError::Read(error) => error.fmt(f),
            CliError::Model(error) => error.fmt(f),
            CliError::Recipe(error) => error.fmt(f),
            CliError::Output(error) => write!(f, "output: {error}"),
            CliError::Message(text) => f.write_str(text),
        }
    }
}

macro_rules! from_errors {
    ($($error:ty => $variant:ident),* $(,)?) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                CliError::$variant(error)
            }
        })*
    };
}
from_errors!(
    TrainError => Train,
    TuneError => Tune,
    EvalError => Eval,
    MetricError => Metric,
    MomentsError => Moments,
    SolveError => Solve,
    ReadError => Read,
    ModelError => Model,
    RecipeError => Recipe,
    io::Error => Output,
    String => Message,
);

impl From<csv::Error> for CliError {
    fn from(error: csv::Error) -> Self {
        CliError::Output(error.into())
    }
}
