//! The trait that every method implements.

use super::buffer::BufferedRows;
use super::checkpoint::Position;
use super::error::TrainError;
use super::session::Session;
use super::training_data::TrainingData;
use crate::data::{RawRows, State};
use crate::io::Block;
use crate::model::Model;

/// A method: learns rows in passes, returns a model, saves its state. It is implemented by online learners
/// ([`crate::online`]), by [`crate::stabilized`] (and its published form), by [`crate::two_stage`] and by the kernel
/// method. [`crate::train::Training`] drives it.
pub(crate) trait Trainer: Send + Sync {
    /// Learns the buffered rows, in all remaining passes.
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError>;

    /// Whether buffered rows are needed after they are learned.
    fn needs_buffered_rows(&self) -> bool {
        false
    }

    /// Learns rows after the buffered ones, once. It is only called for methods that do not buffer all rows.
    fn learn_block(&mut self, session: &mut Session<'_>, block: Block) -> Result<(), TrainError>;

    /// Waits until all rows given so far are learned.
    fn flush(&mut self, session: &mut Session<'_>) -> Result<(), TrainError>;

    /// The model if the rows ended here: all rows must have been learned ([`Trainer::flush`]).
    fn model(&self, data: &TrainingData) -> Result<Model, TrainError>;

    /// The model of all rows.
    fn finish(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<Model, TrainError>;

    /// Margins of rows, if they can be computed without building a model.
    fn margins(&self, _data: &TrainingData, _rows: &RawRows) -> Option<Result<Vec<f64>, TrainError>> {
        None
    }

    /// The position of the training and its state.
    fn save(&self, is_complete: bool) -> (Position, State);

    /// Rows learned, all passes counted.
    fn rows_learned(&self) -> u64;

    /// Bytes of the state of the learner.
    fn bytes(&self) -> usize;
}
