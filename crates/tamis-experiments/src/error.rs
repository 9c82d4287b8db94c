//! Why an experiment ended early.

use std::io;

use tamis::eval::EvalError;
use tamis::io::ReadError;
use tamis::moments::MomentsError;
use tamis::solve::SolveError;
use tamis::train::TrainError;
use tamis::tune::TuneError;
use tamis_metric::MetricError;

/// An error of the library, of the output, or a message of this program.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Tune(#[from] TuneError),
    #[error(transparent)]
    Eval(#[from] EvalError),
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error(transparent)]
    Moments(#[from] MomentsError),
    #[error(transparent)]
    Solve(#[from] SolveError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("output: {0}")]
    Output(#[from] io::Error),
    #[error("{0}")]
    Text(String),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure::Text(text)
    }
}

impl Failure {
    /// Whether the reader of standard output closed it, which is no error.
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
