//! What a fit returns.

use super::training::Training;
use crate::model::Model;
use crate::param::Message;
use crate::parse::survey::ColumnNote;

/// A model, and statistics of its training.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Rows learned, all passes counted.
    pub rows_learned: u64,
    /// Bytes of the learner, the names and the scaling.
    pub memory: usize,
    /// The first few messages about skipped rows.
    pub skipped: Vec<String>,
    /// Why the task is what it is; `None` for a training that continues another.
    pub reason: Option<Message>,
    /// What was found out about the columns of a table.
    pub notes: Vec<ColumnNote>,
    /// The training, if it was requested and can be continued.
    pub training: Option<Training>,
}
