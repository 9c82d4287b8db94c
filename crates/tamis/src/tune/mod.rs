//! Hyper-parameter search by cross-validation, and repeated fits.
//!
//! ```text
//! recipe × axes ─ settings ─► grid points ─ cross_validate ─► curve ─ choose ─► one grid point
//! recipe × runs ─ repeat ─► models ─► κ, error and size with their spread, selection frequency of each feature
//! ```
//! All fits go through [`crate::train::fit_rows`], so every method is supported. Data are files or rows in memory
//! ([`TuneData`]). Rows are assigned to folds and subsamples
//! by a hash of their number ([`crate::data::RowFilter`]). Fits run in parallel, each on one thread, and results are
//! sorted before they are summed, so the number of threads changes no bit. A model is evaluated on held-out rows, which
//! were used neither to fit it nor to choose its setting. The functions `…_by` leave the fits to their caller, who may
//! run them on other machines.

mod cross_validation;
mod data;
mod error;
mod grid;
mod grid_point;
mod parallel;
mod repeated_fits;
mod rule;
mod search;
mod summary;

pub use cross_validation::{
    CrossOptions, Curve, Outcome, Point, RunFolds, cross_validate, cross_validate_by, one_fold,
};
pub use data::{Files, StoredRows, TuneData};
pub use error::TuneError;
pub use grid::default_axes;
pub use grid_point::{Axis, GridPoint, overlay, settings};
pub use parallel::{Watch, side_by_side};
pub use repeated_fits::{RepeatOptions, Repeated, Run, RunAll, Selected, Variation, one_run, repeat, repeat_by};
pub use rule::{Rule, choose};
pub use search::{Search, search, search_by};
pub use summary::{DataSummary, summarize};

use serde::Serialize;

use crate::eval::Metrics;

/// The measure by which settings are compared. Smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The share of wrong classes.
    Error,
    /// Mean −ln(probability of the true class).
    LogLoss,
    /// The root mean squared error.
    Rmse,
    /// The mean of the loss, for losses that none of the others is the mean of.
    Loss,
}

impl Measure {
    /// All measures.
    pub const ALL: [Measure; 4] = [Measure::Error, Measure::LogLoss, Measure::Rmse, Measure::Loss];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Error => "error",
            Measure::LogLoss => "log-loss",
            Measure::Rmse => "rmse",
            Measure::Loss => "loss",
        }
    }

    /// The default measure for classes or numbers.
    pub fn fitting(measures: &Metrics) -> Measure {
        match (measures.loss, measures.rmse) {
            (Some(_), _) => Measure::Loss,
            (None, Some(_)) => Measure::Rmse,
            (None, None) => Measure::Error,
        }
    }

    /// Its value, if it applies.
    pub fn of(self, measures: &Metrics) -> Option<f64> {
        match self {
            Measure::Error => measures.error,
            Measure::LogLoss => measures.log_loss,
            Measure::Rmse => measures.rmse,
            Measure::Loss => measures.loss,
        }
    }
}
