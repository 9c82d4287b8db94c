//! Examples in memory: borrowed rows, batches of them, names, labels and scaling.
//!
//! Decisions made once, here: an absent feature is zero and an explicit zero is absent; values are finite `f64`;
//! a feature is a dense id ([`FeatureId`]) handed out by the [`Dictionary`] in the order of first appearance.

mod batch;
pub(crate) mod bytes;
mod index_table;
mod label;
mod names;
mod parsed;
mod row;
mod row_builder;
mod scale;
#[cfg(feature = "moments")]
pub(crate) mod sealed;

pub use batch::{Batch, Parts};
pub use index_table::IndexTable;
pub use label::Label;
pub use names::{Dictionary, FeatureKey, hash_name};
pub use parsed::{Keys, Mark, ParsedRows};
pub use row::{Example, FeatureId, Row};
pub use scale::{ColumnScale, ScaleKind};
