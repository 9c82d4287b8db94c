//! Distributed fits of the stabilized learner: stages as pure functions of rows and bytes, without an engine.

mod error;
mod finish;
mod labels;
mod local;
mod next_plan;
mod packet;
mod plan;
mod rows;
mod survey;
mod tallies;

pub use error::DistributedError;
pub use local::{FitCost, fit_local};
pub use plan::{FitSettings, Plan, Stage};
pub use rows::{KeyedRows, MAX_BUCKETS, bucket_of, number_identity, text_identity};
pub use tallies::{Tally, add, tallies};
