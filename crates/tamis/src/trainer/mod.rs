//! What all methods share: the trait [`Trainer`], what a training knows of its data, buffered rows, checkpoints, models.
//!
//! | file | what |
//! |---|---|
//! | `method.rs` | the trait of all methods |
//! | `training_data.rs`, `session.rs` | what a training knows of its data, and all that a trainer may use |
//! | `options.rs` | where rows come from, and what happens on the way |
//! | `buffer.rs` | rows read before learning begins |
//! | `canonical_order.rs` | the order of the input removed from buffered rows |
//! | `fingerprint.rs` | hashes of rows: is this the data the checkpoint saw? |
//! | `checkpoint.rs` | the file from which a training resumes |
//! | `build_model.rs` | from weights of scaled columns to a model |
//! | `observer.rs` | what a training reports while it runs; progressive validation |
//! | `error.rs` | what can stop a training |

mod buffer;
mod build_model;
mod canonical_order;
mod checkpoint;
mod error;
mod fingerprint;
mod method;
mod observer;
mod options;
mod session;
mod training_data;

pub(crate) use buffer::{BufferPlan, BufferedRows, FIRST_ROWS};
pub(crate) use build_model::{ScaledWeight, output};
pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::{Position, to_bytes as checkpoint_bytes};
pub use error::TrainError;
pub(crate) use fingerprint::{content_hash, fingerprints};
pub(crate) use method::Trainer;
pub(crate) use observer::ProgressiveValidation;
pub use observer::{Observer, Progress, SizeReport};
pub use options::{CheckpointPlan, FitOptions};
pub(crate) use session::Session;
pub(crate) use training_data::TrainingData;
