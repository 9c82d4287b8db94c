//! How good predictions are, and how much selected sets agree.

mod density;
mod judge;
mod judged;
mod measures;
mod stability;

pub use density::Densities;
pub use judge::{JudgeError, Strangers, measure};
pub use judged::{Bin, Interval, Judged, judge};
pub use measures::{Measures, Scored, auc};
pub use stability::{deviation, kappa, mean, mean_kappa};
