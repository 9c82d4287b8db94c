//! The parameters of each method: one struct per method, generated from a table.

mod baselines;
mod kernel;
mod leaders;
mod sgd;
mod stabilized;
mod two_stage;

pub use baselines::{FofsParams, SadmmParams, SingleStageParams, SofsParams, TsgdParams};
pub use kernel::KernelParams;
pub use leaders::{FtrlParams, RdaParams};
pub use sgd::{FobosParams, RoundingParams, SgdParams, TruncatedGradientParams};
pub use stabilized::{PublishedParams, StabilizedParams};
pub use two_stage::TwoStageParams;

use super::ScheduleKind;

/// The step sizes in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// How they fall.
    pub schedule: ScheduleKind,
    /// c: the first of them.
    pub learning_rate: f64,
    /// q of c/t^q; used by [`ScheduleKind::Power`].
    pub power: f64,
}

/// λ₁ of the methods that compare it with mean slopes, if it is not given: 0 with a given number of features.
fn default_l1(k: Option<usize>) -> f64 {
    if k.is_some() { 0.0 } else { 1e-4 }
}

/// Gives methods with a free schedule their default one, and a first step that may depend on it.
macro_rules! scheduled {
    ($Struct:ident, $schedule:expr, $rate:expr) => {
        impl $Struct {
            /// The step sizes in force: the given ones, or those of the method.
            pub fn steps(&self) -> $crate::recipe::Steps {
                let schedule = self.schedule.unwrap_or($schedule);
                let rate: fn($crate::recipe::ScheduleKind) -> f64 = $rate;
                let learning_rate = self.learning_rate.unwrap_or_else(|| rate(schedule));
                $crate::recipe::Steps { schedule, learning_rate, power: self.power }
            }
        }
    };
}
use scheduled;

/// The default of c: 1 for c/t, else 0.5.
fn default_rate(schedule: ScheduleKind) -> f64 {
    if schedule == ScheduleKind::Inverse { 1.0 } else { 0.5 }
}
