//! Evaluation of models on labelled rows, and the stability of feature selection.

mod evaluate;
mod evaluation;
mod feature_frequency;
mod mean_loss;
mod metrics;
mod per_class;
mod stability;

pub use evaluate::{EvalError, UnknownClasses, measure, measure_classes};
pub use evaluation::{Bin, Evaluation, Interval, evaluate};
pub use feature_frequency::FeatureFrequencies;
pub use metrics::{Metrics, Scored, auc};
pub use per_class::{ClassMetrics, ClassReport, MacroAverages};
pub use stability::{deviation, kappa, mean, mean_kappa};
