//! How good predictions are, and how much selected sets agree.

mod judge;
mod measures;
mod stability;

pub use judge::{JudgeError, Strangers, measure};
pub use measures::{Measures, Scored, auc};
pub use stability::{deviation, kappa, mean, mean_kappa};
