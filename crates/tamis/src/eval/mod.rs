//! How good predictions are.

mod measures;

pub use measures::{Measures, Scored, auc};
