//! What all methods share: the trait [`Trainer`], facts about the data, buffered rows, checkpoints, models.
//!
//! | file | what |
//! |---|---|
//! | `method.rs` | the trait of all methods |
//! | `training_data.rs`, `session.rs` | facts about the data, and everything that a trainer may use |
//! | `options.rs` | the input of a training, its files and its limits |
//! | `buffer.rs` | rows that are buffered before learning begins |
//! | `canonical_order.rs` | an order of the buffered rows that does not depend on the input |
//! | `offset.rs` | offsets as parts of labels and weights |
//! | `fingerprint.rs` | a hash of the content of a row, and hashes that show whether data are those of a checkpoint |
//! | `row_hashes.rs` | the hash of each buffered row, by which it is assigned to folds and subsamples |
//! | `class_factors.rs` | the factors of the weights of each class |
//! | `checkpoint.rs` | the file from which a training resumes |
//! | `build_model.rs` | builds a model from the weights of scaled columns |
//! | `observer.rs` | progress reports and progressive validation |
//! | `error.rs` | the errors of a training |

mod buffer;
mod build_model;
mod canonical_order;
mod checkpoint;
mod class_factors;
mod error;
mod fingerprint;
mod method;
mod observer;
mod offset;
mod options;
mod row_hashes;
mod session;
mod training_data;

pub(crate) use buffer::{BufferPlan, BufferedRows, FIRST_ROWS};
pub(crate) use build_model::{ScaledWeight, output};
pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::{Position, to_bytes as checkpoint_bytes, write_complete};
pub(crate) use class_factors::class_factors;
pub use error::TrainError;
pub(crate) use fingerprint::fingerprints;
pub(crate) use method::Trainer;
pub(crate) use observer::ProgressiveValidation;
pub use observer::{Observer, Progress, SizeReport};
pub(crate) use offset::without_offset;
pub use options::{CheckpointPlan, FitOptions};
pub(crate) use row_hashes::{CopyCounter, RowHasher};
pub(crate) use session::Session;
pub(crate) use training_data::{Narrowed, TrainingData};
