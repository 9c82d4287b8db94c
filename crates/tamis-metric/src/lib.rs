//! Metric learning for k nearest neighbours: a sparse, nonlinear Mahalanobis metric (sDist).
//!
//! Source: Ma 2017, *Flexible Sparse Learning of Feature Subspaces*, chapter 2. The Mahalanobis matrix W is a sum of few sparse
//! rank-one updates over variables and interactions (products of variables). Boosting finds the updates, so that every row
//! is nearer to its own class than to other classes.
//! ```text
//! Dataset ─► Sample ─► Boost: neighbor_graph ─► truncated_power ─► line_search ─► interactions ─┐
//!                        ▲──────────────────────── every few steps ◄───────────────────────────┘
//!                      fold_runs ─► race, cross_validate ─► Metric ─► transform, classify, importance, file
//! ```
//! [`Dataset`] holds labelled rows by column, [`fit`] selects a candidate by cross-validation and learns it from all rows,
//! [`Metric`] transforms and classifies new rows and tells the importance of variables. [`Param`] is the table of parameters.

mod boost;
mod candidate;
mod classify;
mod cross_validate;
mod dataset;
mod early_stopping;
mod error;
mod euclidean;
mod evaluate;
mod file;
mod fit;
mod fold_runs;
mod folds;
mod importance;
mod interactions;
mod knn;
mod learning_curve;
mod line_search;
mod metric;
mod neighbor_graph;
#[cfg(test)]
mod oracle;
mod param;
mod params;
mod race;
mod real;
mod reference_rows;
mod sample;
mod sparse_support;
mod subsample;
mod terms;
mod truncated_power;

pub use candidate::Candidate;
pub use classify::ClassScore;
pub use dataset::{Dataset, Variable};
pub use early_stopping::EarlyStopping;
pub use error::MetricError;
pub use evaluate::{ErrorRates, Evaluation};
pub use fit::{CurvePoint, FittedMetric, MetricOptions, fit};
pub use importance::{FirstAxis, Share};
pub use learning_curve::CvResult;
pub use metric::{Metric, Prediction, Term};
pub use param::Param;
pub use params::{Params, SupportSearch};
