//! Settings chosen by cross-validation, and how far a choice can be trusted.
//!
//! ```text
//! recipe × axes ─ grid ─► settings ─ cross_validate ─► curve ─ choose ─► one setting
//! recipe × runs ─ repeat ─► models ─► κ, error and size with their spread, how often each feature was selected
//! ```
//! Everything goes through [`crate::train::fit`], so it holds for every method. Rows are dealt into folds and shares by
//! a hash of their number ([`crate::data::RowFilter`]); fits run side by side, each on one thread, and results are put
//! in order before anything is summed: the number of threads changes no bit. The rows a model is measured on never
//! took part in its making, nor in the choice of its setting.

mod cross_validation;
mod error;
mod grid;
mod grid_point;
mod parallel;
mod repeated_fits;
mod rule;
mod summary;

pub use cross_validation::{CrossOptions, Curve, Point, cross_validate};
pub use error::TuneError;
pub use grid::default_axes;
pub use grid_point::{Axis, GridPoint, overlay, settings};
pub use parallel::{Watch, side_by_side};
pub use repeated_fits::{RepeatOptions, Repeated, Run, Selected, Variation, repeat};
pub use rule::{Rule, choose};
pub use summary::{DataSummary, summarize};

use serde::Serialize;

use crate::eval::Metrics;

/// What settings are compared by. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The share of wrong classes.
    Error,
    /// Mean −ln(probability of the true class), of two classes.
    LogLoss,
    /// The root mean squared error.
    Rmse,
}

impl Measure {
    /// All measures.
    pub const ALL: [Measure; 3] = [Measure::Error, Measure::LogLoss, Measure::Rmse];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Error => "error",
            Measure::LogLoss => "log-loss",
            Measure::Rmse => "rmse",
        }
    }

    /// The measure that fits what was predicted: classes or numbers.
    pub fn fitting(measures: &Metrics) -> Measure {
        if measures.rmse.is_some() { Measure::Rmse } else { Measure::Error }
    }

    /// Its value, if it applies.
    pub fn of(self, measures: &Metrics) -> Option<f64> {
        match self {
            Measure::Error => measures.error,
            Measure::LogLoss => measures.log_loss,
            Measure::Rmse => measures.rmse,
        }
    }
}
