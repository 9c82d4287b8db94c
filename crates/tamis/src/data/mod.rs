//! Examples in memory: rows, batches, the vocabulary, labels, targets and scaling.
//!
//! Decisions made once, here: an absent feature is zero and an explicit zero is absent; values are finite `f64`;
//! a feature is a dense id ([`FeatureId`]) assigned by the [`Vocabulary`] in the order of first appearance.

mod atomic_write;
mod batch;
#[cfg(test)]
#[path = "../../tests/colliding_names/mod.rs"]
mod colliding_names;
mod column_ids;
mod column_moments;
mod dense_columns;
pub mod f64_codec;
mod feature_key;
mod feature_keys;
mod feature_numbers;
mod intern_numbers;
mod intern_rows;
mod label;
mod label_nature;
mod label_stats;
mod large_vec;
mod lock_file;
mod names;
mod prefetch;
mod raw_rows;
mod row;
mod row_builder;
mod row_chunk;
mod row_codec;
mod row_hash;
mod row_scaler;
mod row_store;
mod row_visits;
mod scale_kind;
mod scaler;
mod select_rows;
mod shared_ids;
mod sparse_index_map;
mod splits;
mod state;
mod target;
mod task;
mod temporary_file;
pub mod tensor_file;
mod text_map;
mod vocabulary;
mod vocabulary_lines;

pub use atomic_write::{replace_file, replace_file_with};
pub use batch::{Batch, Parts};
pub use column_moments::ColumnMoments;
pub use feature_key::{FeatureKey, hash_name};
pub use feature_numbers::FeatureNumbers;
pub use label::Label;
pub use label_stats::{ClassLabels, LabelCode, LabelKey, LabelStats};
pub(crate) use large_vec::LargeVec;
pub use lock_file::LockFile;
pub use names::{ColumnNames, Names, name_runs};
pub(crate) use prefetch::prefetch;
pub use raw_rows::{DuplicateFeature, Keys, RawParts, RawRows, Savepoint};
pub(crate) use row::dot;
pub use row::{Example, FeatureId, Row, span_of};
pub use row_chunk::{Chunk, ChunkOrder, ChunkOrders, Chunks, RowStoreError};
pub(crate) use row_hash::{content_hash, key_hash};
pub use row_scaler::{RowScale, RowScaler, scaled};
pub use row_store::{RowStore, RowStoreOptions};
pub use scale_kind::ScaleKind;
pub use scaler::ColumnScaler;
pub use shared_ids::SharedIds;
pub use sparse_index_map::SparseIndexMap;
pub use splits::{RowFilter, fold_of, fold_of_hash, stratified_folds, unit_hash};
pub use state::{State, StateError, ToF64s};
pub use target::{TargetEncoder, TargetError, TargetKind, TargetMap, TargetOptions};
pub use task::{OutputCoding, Task, TaskKind};
pub use temporary_file::temporary_file;
pub use text_map::{TextMap, TextSet};
pub use vocabulary::Vocabulary;
