//! Driving a learner over a stream: what the labels mean, how often rows are seen, when to report and to save.
//!
//! [`fit`] is the whole job. It reads a *head* of the stream before learning anything: as much as it takes to know
//! what the labels are (streaming), or everything (several passes, scaling to unit variance, refitting). From the head
//! come the task, the scaling and the order; rows beyond the head are learned as they come and not kept.

mod arrange;
mod bank;
mod checkpoint;
mod choose;
mod error;
mod fit;
mod head;
mod lane;
mod online;
mod progress;
mod stabilized;
mod standing;
mod steps;
mod task;
mod trainer;
mod two_stage;

pub use checkpoint::{CheckpointPlan, Saved};
pub use error::TrainError;
pub use fit::{FitOptions, Fitted, fit, fit_rows};
pub use online::{Goal, Online};
pub use progress::{Observer, Progress, RungReport};
pub use task::TaskKind;
#[cfg(feature = "moments")]
pub(crate) use task::{Kind, LabelSurvey, Targets};
