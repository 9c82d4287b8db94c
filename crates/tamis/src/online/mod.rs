//! Online learners: passes over buffered rows, then rows as they arrive.
//!
//! | file | what |
//! |---|---|
//! | `one_vs_rest.rs` | one learner for each class |
//! | `learner_thread.rs` | learning in parallel with reading |
//! | `initial_step.rs` | an initial step size that the rows allow |
//! | `learner_trainer.rs` | scaling, reports, checkpoints, freeing of idle features |
//! | `stream.rs`, `stream_position.rs` | rows after the buffered ones |
//! | `trainer.rs` | online learners as a [`crate::trainer::Trainer`] |
//! | `support.rs` | which features become the model |
//! | `refit.rs` | selected features learned again without penalty |
//! | `calibration.rs` | the intercept of a classifier of a rare class |

mod calibration;
pub(crate) mod initial_step;
mod learner_thread;
mod learner_trainer;
mod one_vs_rest;
mod refit;
mod stream;
mod stream_position;
mod support;
mod trainer;

pub(crate) use learner_trainer::{CHUNK_ROWS, LearnerTrainer};
pub(crate) use one_vs_rest::OneVsRest;
pub(crate) use refit::refit;
pub(crate) use support::{Support, linear_output};
pub(crate) use trainer::OnlineTrainer;
