//! A complete training that goes on in batches: for methods that need all rows of a training at once.
//!
//! A server logs rows as they come. When there are enough, they are learned together, as `fit` learns a file with a
//! checkpoint (warm start), and a record without rows in the log says how far: its first row is the first that the model
//! does not have. A log that is read by [`super::fit`] is learned in the same batches, so that it gives the model of the
//! server, bit for bit.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use super::fitted::Fitted;
use super::training::Training;
use crate::io::{Block, ReadError, RowSource};
use crate::model::Model;
use crate::trainer::{Checkpoint, FitOptions, Observer, TrainError, write_complete};

/// A complete training, its model, and the rows that wait to be learned.
pub struct Batches {
    checkpoint: Arc<Checkpoint>,
    bytes: Vec<u8>,
    model: Model,
    /// Rows that the model has learned.
    rows: u64,
    waiting: VecDeque<Block>,
    /// Rows that wait.
    waiting_rows: u64,
    /// The training of the next batch, to which rows are compared when they come.
    next: Training,
}

/// Rows that are learned together.
pub struct RowBatch {
    checkpoint: Arc<Checkpoint>,
    blocks: Vec<Block>,
    last: u64,
}

/// A batch that was learned.
pub struct LearnedBatch {
    /// The model.
    pub model: Model,
    /// The bytes of its checkpoint.
    pub checkpoint: Vec<u8>,
    /// The last row that it has learned.
    pub last: u64,
}

impl Batches {
    /// Continues a complete training whose checkpoint holds its model. `bytes` are those of its file.
    pub fn continued(checkpoint: Checkpoint, bytes: Vec<u8>) -> Result<Batches, TrainError> {
        if !checkpoint.is_complete() {
            return Err(TrainError::NotComplete { path: checkpoint.path });
        }
        let method = checkpoint.recipe().method.name();
        if checkpoint.finished.is_none() {
            return Err(TrainError::NotIncremental { method });
        }
        let (rows, next) = (checkpoint.rows_before(), next_training(&checkpoint)?);
        let model = checkpoint.clone().model()?.expect("it was finished");
        let (waiting, checkpoint) = (VecDeque::new(), Arc::new(checkpoint));
        Ok(Batches { checkpoint, bytes, model, rows, waiting, waiting_rows: 0, next })
    }

    /// The model of the last batch.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The checkpoint of the last batch.
    pub fn to_checkpoint(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    /// Rows of the model.
    pub fn rows_learned(&self) -> u64 {
        self.rows
    }

    /// Rows of the model, and those that wait.
    pub fn rows(&self) -> u64 {
        self.rows + self.waiting_rows
    }

    /// Whether rows can be learned; changes nothing.
    pub fn check(&mut self, block: &Block) -> Result<(), TrainError> {
        self.next.check(block)
    }

    /// Adds rows to the next batch.
    pub fn push(&mut self, block: Block) {
        let block = block.without_weightless_rows();
        self.waiting_rows += block.rows.len() as u64;
        self.waiting.push_back(block);
    }

    /// The rows that wait, up to the row with the number `last`, which is the last of its block.
    pub fn batch(&self, last: u64) -> RowBatch {
        let (mut rows, mut blocks) = (self.rows, Vec::new());
        for block in &self.waiting {
            if rows + block.rows.len() as u64 > last {
                break;
            }
            rows += block.rows.len() as u64;
            blocks.push(block.clone());
        }
        RowBatch { checkpoint: self.checkpoint.clone(), blocks, last: rows }
    }

    /// Goes on from a batch that was learned.
    pub fn advance(&mut self, learned: LearnedBatch) -> Result<(), TrainError> {
        let LearnedBatch { model, checkpoint: bytes, last } = learned;
        let checkpoint = Checkpoint::from_bytes(&bytes, Path::new("the new checkpoint"))?;
        self.next = next_training(&checkpoint)?;
        while self.rows < last {
            let Some(block) = self.waiting.pop_front() else { break };
            self.rows += block.rows.len() as u64;
            self.waiting_rows -= block.rows.len() as u64;
        }
        (self.model, self.checkpoint, self.bytes) = (model, Arc::new(checkpoint), bytes);
        Ok(())
    }

    /// Takes a record of a log: rows wait, and a record without rows learns those before it. Whether there is a new model.
    pub fn take_logged(&mut self, block: Block, options: &FitOptions) -> Result<bool, TrainError> {
        let (first, count) = (block.first_line, block.rows.len() as u64);
        let gap = |rows| TrainError::LogGap { file: block.file.to_string(), first, rows };
        if count == 0 {
            let last = first.saturating_sub(1);
            if last <= self.rows {
                return Ok(false);
            }
            let batch = self.batch(last);
            if batch.last != last {
                return Err(gap(self.rows()));
            }
            let learned = batch.learn(options, &mut ())?;
            return self.advance(learned).map(|()| true);
        }
        let rows = self.rows();
        match first + count - 1 <= rows {
            true => Ok(false),
            false if first != rows + 1 => Err(gap(rows)),
            false => {
                self.push(block);
                Ok(false)
            }
        }
    }
}

/// A training that goes on from a checkpoint.
fn next_training(checkpoint: &Checkpoint) -> Result<Training, TrainError> {
    Training::resume(checkpoint.recipe(), &FitOptions::default(), checkpoint.clone())
}

impl RowBatch {
    /// Learns the rows, as `fit` learns a file of them with the checkpoint. Only memory, threads and the stop of the options
    /// count: rows that an earlier training began with are learned again.
    pub fn learn(self, options: &FitOptions, observer: &mut dyn Observer) -> Result<LearnedBatch, TrainError> {
        let checkpoint = Checkpoint::clone(&self.checkpoint);
        let (recipe, columns) = (checkpoint.recipe().clone(), checkpoint.columns().cloned());
        let options = FitOptions { model: None, checkpoint: None, again: true, ..options.clone() };
        let mut training = Training::resume(&recipe, &options, checkpoint)?;
        training.set_columns(|| columns);
        for block in self.blocks {
            training.push(block, 0, observer)?;
        }
        let model = training.finish("the rows that wait", 0, observer)?;
        Ok(LearnedBatch { model, checkpoint: training.to_checkpoint(), last: self.last })
    }
}

/// Learns the batches of a log that come after those of the checkpoint. Rows after the last batch are not learned: the
/// server had not learned them, either.
pub(super) fn replay_batches(
    options: &FitOptions,
    log: &mut dyn RowSource,
    checkpoint: Checkpoint,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    let failed = |source| TrainError::CheckpointRead { path: checkpoint.path.clone(), source };
    let bytes = std::fs::read(&checkpoint.path).map_err(failed)?;
    let mut batches = Batches::continued(checkpoint, bytes)?;
    let before = batches.rows_learned();
    let learning = FitOptions { sources: Vec::new(), ..options.clone() };
    loop {
        match log.next_block() {
            Ok(Some(block)) => batches.take_logged(block, &learning)?,
            Ok(None) => break,
            Err(ReadError::Interrupted) => return Err(TrainError::Interrupted { rows: 0, saved: None }),
            Err(error) => return Err(error.into()),
        };
        observer.tick(batches.rows_learned() - before, None, log.bytes_read());
    }
    let waiting = batches.rows() - batches.rows_learned();
    if waiting > 0 {
        observer.note(&format!("{waiting} rows of the log wait for the next batch; the model does not have them"));
    }
    let model = batches.model().clone();
    if let Some(path) = &options.model {
        model.save(path)?;
    }
    if let Some(plan) = &options.checkpoint {
        write_complete(&plan.path, &batches.bytes)?;
    }
    let (rows_learned, memory) = (batches.rows_learned() - before, 0);
    let (skipped, notes) = (log.first_skipped().to_vec(), log.notes());
    Ok(Fitted { model, rows_learned, memory, skipped, reason: None, notes, training: None })
}
