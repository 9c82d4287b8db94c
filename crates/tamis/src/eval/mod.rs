//! Evaluation of models on labelled rows, and the stability of feature selection.

mod evaluate;
mod evaluation;
mod feature_frequency;
mod metrics;
mod stability;

pub use evaluate::{EvalError, UnknownClasses, measure};
pub use evaluation::{Bin, Evaluation, Interval, evaluate};
pub use feature_frequency::FeatureFrequencies;
pub use metrics::{Metrics, Scored, auc};
pub use stability::{deviation, kappa, mean, mean_kappa};
