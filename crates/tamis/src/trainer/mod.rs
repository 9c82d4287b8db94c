//! What all methods share: the trait [`Trainer`], what a training knows of its data, buffered rows, checkpoints, models.
//!
//! | file | what |
//! |---|---|
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
mod observer;
mod options;

pub(crate) use buffer::{BufferPlan, BufferedRows, FIRST_ROWS};
pub(crate) use build_model::{ScaledWeight, assemble, output};
pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::{Position, to_bytes as checkpoint_bytes, write_checkpoint};
pub use error::TrainError;
pub(crate) use fingerprint::{content_hash, fingerprints};
pub(crate) use observer::ProgressiveValidation;
pub use observer::{Observer, Progress, SizeReport};
pub use options::{CheckpointPlan, FitOptions};

use std::path::PathBuf;

use crate::data::{ColumnScaler, RowScaler, State, TargetEncoder, Vocabulary};
use crate::io::Block;
use crate::model::{Model, Output, TrainingSummary};
use crate::parse::schema::ModelSchema;
use crate::recipe::Recipe;
use crate::threads::Threads;

/// What a training knows of its data, whatever the method.
#[derive(Clone, Debug)]
pub(crate) struct TrainingData {
    pub(crate) recipe: Recipe,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) scale: ColumnScaler,
    pub(crate) targets: TargetEncoder,
    /// The columns of the table the rows come from.
    pub(crate) columns: Option<ModelSchema>,
    /// Rows of the trainings that this one continues.
    pub(crate) rows_before: u64,
    /// Rows that were buffered before learning began.
    pub(crate) buffered_rows: u64,
    /// Passes over the buffered rows.
    pub(crate) passes: u32,
    /// Rows of this training so far, and their fingerprint.
    pub(crate) fingerprint: (u64, u64),
    /// Bad rows that were left out.
    pub(crate) skipped: u64,
}

impl TrainingData {
    /// How rows are scaled before they are learned.
    pub(crate) fn scaler(&self) -> RowScaler<'_> {
        RowScaler { rows: self.recipe.row_scaling(), columns: &self.scale }
    }

    /// A model with these outputs. `seen` holds its progressive validation; rows and features are filled in here.
    pub(crate) fn model(&self, outputs: Vec<Output>, seen: TrainingSummary) -> Model {
        let seen = TrainingSummary {
            rows: self.rows_before + self.fingerprint.0,
            features: self.vocabulary.len() as u64,
            skipped: self.skipped,
            ..seen
        };
        assemble(&self.recipe, &self.targets, self.columns.clone(), seen, outputs)
    }
}

/// All that a trainer may use while it learns.
pub(crate) struct Session<'a> {
    pub(crate) data: &'a mut TrainingData,
    pub(crate) options: &'a FitOptions,
    pub(crate) threads: &'a Threads,
    pub(crate) observer: &'a mut dyn Observer,
    /// Bytes of input read so far.
    pub(crate) bytes_read: u64,
    /// Whether rows come in small pieces and a model is needed after each: then rows are learned at once.
    pub(crate) is_incremental: bool,
}

impl Session<'_> {
    /// Writes a checkpoint if one is asked for; returns its path.
    pub(crate) fn save(&self, trainer: (Position, State), is_complete: bool) -> Result<Option<PathBuf>, TrainError> {
        let Some(CheckpointPlan { path, .. }) = &self.options.checkpoint else { return Ok(None) };
        let (position, state) = trainer;
        write_checkpoint(path, self.data, position, is_complete, &state)?;
        Ok(Some(path.clone()))
    }
}

impl Session<'_> {
    /// Notes that the model has fewer features than were asked for.
    pub(crate) fn note_fewer_features(&mut self, found: usize) {
        if let Some(k) = self.data.recipe.k.filter(|&k| found < k) {
            let seen = self.data.vocabulary.len();
            self.observer.note(&format!(
                "{k} features were asked for, but only {found} of the {seen} features seen have a non-zero weight"
            ));
        }
    }
}

/// A method at work: rows in, passes, model out, state saved. Implemented by online learners ([`crate::online`]), by
/// [`crate::stabilized`] (and its published form) and by [`crate::two_stage`]. [`crate::train::Training`] drives it.
pub(crate) trait Trainer: Send + Sync {
    /// Learns the buffered rows, in all passes that remain.
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError>;

    /// Whether buffered rows are needed after they are learned.
    fn needs_buffered_rows(&self) -> bool {
        false
    }

    /// Learns rows that come after the buffered ones, once. Only methods that do not buffer all rows are asked to.
    fn learn_block(&mut self, session: &mut Session<'_>, block: Block) -> Result<(), TrainError>;

    /// Waits until all rows given so far are learned.
    fn flush(&mut self, session: &mut Session<'_>) -> Result<(), TrainError>;

    /// The model if the rows ended here: all rows given must be learned ([`Trainer::flush`]).
    fn model(&self, data: &TrainingData) -> Result<Model, TrainError>;

    /// The model of all rows.
    fn finish(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<Model, TrainError>;

    /// Margins of rows, at the cost of the rows, where that is possible without a model.
    fn margins(&self, _data: &TrainingData, _rows: &crate::data::RawRows) -> Option<Result<Vec<f64>, TrainError>> {
        None
    }

    /// Where the training stands, and its state.
    fn save(&self, is_complete: bool) -> (Position, State);

    /// Rows learned, all passes counted.
    fn rows_learned(&self) -> u64;

    /// Bytes of the learner's state.
    fn bytes(&self) -> usize;
}
