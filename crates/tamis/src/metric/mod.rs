//! Distances that suit the classes: a sparse, nonlinear metric, and nearest neighbours under it (sDist).
//!
//! Source: Ma 2017, *Flexible Sparse Learning of Feature Subspaces*, chapter 2. A metric is a sum of few sparse
//! directions over variables and products of variables, found by boosting so that every row is nearer to its own class
//! than to others.
//! ```text
//! Table ─► Sample ─► Boost: neighbours ─► direction ─► step ─► growth ─┐
//!                      ▲────────────────── every few steps ◄──────────┘
//!                   choose: candidates in cross-validation ─► Metric ─► coordinates, votes, shares, file
//! ```
//! [`Table`] holds labelled rows by column, [`fit`] lets candidates compete and learns the winner, [`Metric`] places new
//! rows among the training rows and says what counts.

mod among;
mod boost;
mod candidate;
mod choose;
mod course;
mod direction;
mod draw;
mod error;
mod explain;
mod file;
mod fit;
mod graph;
mod growth;
mod learned;
mod measure;
mod nearest;
mod number;
#[cfg(test)]
mod oracle;
mod sample;
mod settings;
mod step;
mod stop;
mod table;
mod terms;
mod vote;
mod wide;

pub use candidate::Candidate;
pub use course::Judged;
pub use error::MetricError;
pub use explain::{FirstAxis, Share};
pub use fit::{CurvePoint, FittedMetric, MetricOptions, Watcher, fit};
pub use learned::{Answer, Metric, Term};
pub use measure::{ClassMeasures, MetricMeasures};
pub use settings::{Engine, Settings};
pub use stop::Stop;
pub use table::{Table, Variable};
pub use vote::Verdict;
