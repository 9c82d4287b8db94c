//! Examples in memory: borrowed rows, batches of them, names, labels and scaling.
//!
//! Decisions made once, here: an absent feature is zero and an explicit zero is absent; values are finite `f64`;
//! a feature is a dense id ([`FeatureId`]) handed out by the [`Dictionary`] in the order of first appearance.

mod atomic_write;
mod batch;
pub mod f64_codec;
mod index_table;
mod label;
mod label_stats;
mod names;
mod parsed;
mod prefetch;
mod row;
mod row_builder;
mod row_codec;
mod row_scaler;
mod row_store;
mod scale;
mod splits;
mod state;
mod target;
pub mod tensor_file;

pub use atomic_write::replace_file;
pub use batch::{Batch, Parts};
pub use index_table::IndexTable;
pub use label::Label;
pub use label_stats::{ClassLabels, LabelCode, LabelStats};
pub use names::{Dictionary, FeatureKey, hash_name};
pub use parsed::{DuplicateFeature, Keys, Mark, ParsedRows};
pub(crate) use prefetch::prefetch;
pub use row::{Example, FeatureId, Row};
pub use row_scaler::{RowScale, RowScaler, scaled};
pub use row_store::{Chunk, Chunks, RowStore, RowStoreError, RowStoreOptions};
pub use scale::{ColumnScale, ScaleKind};
pub use splits::{RowChoice, fold_of, unit_hash};
pub use state::{Packed, State, StateError};
pub use target::{OutputCoding, TargetEncoder, TargetError, TargetKind, TargetMap, TargetOptions, Task, TaskKind};
