//! The trait that every method implements.

use super::buffer::BufferedRows;
use super::checkpoint::Position;
use super::error::TrainError;
use super::session::Session;
use super::training_data::TrainingData;
use crate::data::{RawRows, State};
use crate::io::Block;
use crate::model::Model;

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
    fn margins(&self, _data: &TrainingData, _rows: &RawRows) -> Option<Result<Vec<f64>, TrainError>> {
        None
    }

    /// Where the training stands, and its state.
    fn save(&self, is_complete: bool) -> (Position, State);

    /// Rows learned, all passes counted.
    fn rows_learned(&self) -> u64;

    /// Bytes of the learner's state.
    fn bytes(&self) -> usize;
}
