//! What a server goes on with: a training that learns rows as they come, or one that learns them in batches.

use std::path::Path;

use tamis::io::Block;
use tamis::model::Model;
use tamis::train::{Batches, Checkpoint, FitOptions, LearnedBatch, RowBatch, TrainError, Training};

/// Bytes of rows that a batch keeps in memory; beyond them it uses a temporary file.
const BATCH_MEMORY: u64 = 1 << 30;

/// Rows that are learned before other threads get their turn.
const PIECE: usize = 128;

/// A training that goes on.
pub enum Learning {
    /// An online learner: every row is learned when it comes.
    Rows(Box<Training>),
    /// A method that needs many rows at once: rows wait until they are learned together.
    Batches(Box<InBatches>),
}

/// A training that learns in batches.
pub struct InBatches {
    batches: Batches,
    /// The records of the log since the last batch, and the last of that batch.
    records: Vec<LoggedRecord>,
    options: FitOptions,
}

/// A record of the log whose rows wait, or were the last to be learned.
struct LoggedRecord {
    last_row: u64,
    sequence: u64,
    /// Features of its rows that are not zero.
    entries: u64,
}

/// Learns rows a few at a time, which gives the same bits. Between two pieces, threads that score get their turn on a core
/// that is shared with them.
fn learn_in_pieces(training: &mut Training, mut block: Block) -> Result<(), TrainError> {
    while block.rows.len() > PIECE {
        let rest = block.rows.split_off(PIECE);
        let (file, first_line) = (block.file.clone(), block.first_line);
        training.learn(std::mem::replace(&mut block, Block { rows: rest, file, first_line }))?;
        std::thread::yield_now();
    }
    training.learn(block)
}

fn entries(block: &Block) -> u64 {
    (0..block.rows.len()).map(|row| block.rows.first_and_last(row).0 as u64).sum()
}

impl Learning {
    /// The training of a checkpoint, from the bytes of its file.
    pub fn of(bytes: Vec<u8>, path: &Path, max_memory: Option<u64>) -> Result<Learning, TrainError> {
        let checkpoint = Checkpoint::from_bytes(&bytes, path)?;
        if checkpoint.recipe().method.info().partial_fit {
            return Ok(Learning::Rows(Box::new(Training::continued(checkpoint, 1, max_memory)?)));
        }
        let options = FitOptions { memory: BATCH_MEMORY, max_memory, ..FitOptions::default() };
        let batches = Batches::continued(checkpoint, bytes)?;
        Ok(Learning::Batches(Box::new(InBatches { batches, records: Vec::new(), options })))
    }

    /// Whether rows are learned in batches.
    pub fn is_in_batches(&self) -> bool {
        matches!(self, Learning::Batches(_))
    }

    /// Rows of the training, those that wait included.
    pub fn rows(&self) -> u64 {
        match self {
            Learning::Rows(training) => training.rows(),
            Learning::Batches(all) => all.batches.rows(),
        }
    }

    /// Rows that the model has learned.
    pub fn rows_learned(&self) -> u64 {
        match self {
            Learning::Rows(training) => training.rows(),
            Learning::Batches(all) => all.batches.rows_learned(),
        }
    }

    /// Rows that wait for their batch.
    pub fn waiting_rows(&self) -> u64 {
        self.rows() - self.rows_learned()
    }

    /// Features of the rows that wait for their batch: their memory.
    pub fn waiting_entries(&self) -> u64 {
        match self {
            Learning::Rows(_) => 0,
            Learning::Batches(all) => {
                let learned = all.batches.rows_learned();
                all.records.iter().filter(|record| record.last_row > learned).map(|record| record.entries).sum()
            }
        }
    }

    /// Whether rows can be learned; changes nothing.
    pub fn check(&mut self, block: &Block) -> Result<(), TrainError> {
        match self {
            Learning::Rows(training) => training.check(block),
            Learning::Batches(all) => all.batches.check(block),
        }
    }

    /// Learns the rows of a record of the log, or lets them wait for their batch.
    pub fn learn(&mut self, block: Block, sequence: u64) -> Result<(), TrainError> {
        match self {
            Learning::Rows(training) => learn_in_pieces(training, block),
            Learning::Batches(all) => {
                let InBatches { batches, records, .. } = &mut **all;
                let entries = entries(&block);
                batches.push(block);
                records.push(LoggedRecord { last_row: batches.rows(), sequence, entries });
                Ok(())
            }
        }
    }

    /// Learns a record of the log again, unless the checkpoint has it.
    pub fn learn_logged(&mut self, block: Block, sequence: u64) -> Result<(), TrainError> {
        match self {
            Learning::Rows(training) => training.learn_logged(block),
            Learning::Batches(all) => {
                let InBatches { batches, records, options } = &mut **all;
                let (is_end, entries) = (block.rows.is_empty(), entries(&block));
                let last_row = (block.first_line + block.rows.len() as u64).saturating_sub(1);
                batches.take_logged(block, options)?;
                if !is_end {
                    records.push(LoggedRecord { last_row, sequence, entries });
                }
                Ok(())
            }
        }
    }

    /// The last record that the model has learned, in a log that ends with the record `last`.
    pub fn sequence(&self, last: u64) -> u64 {
        match self {
            Learning::Rows(_) => last,
            Learning::Batches(all) => {
                let InBatches { batches, records, .. } = &**all;
                let learned = records.iter().take_while(|record| record.last_row <= batches.rows_learned());
                learned.last().map_or(0, |record| record.sequence)
            }
        }
    }

    /// The model, and the last record that it has learned.
    pub fn model(&self, last: u64) -> Result<(Model, u64), TrainError> {
        let model = match self {
            Learning::Rows(training) => training.model()?,
            Learning::Batches(all) => all.batches.model().clone(),
        };
        Ok((model, self.sequence(last)))
    }

    /// The bytes of a checkpoint of the rows that were learned.
    pub fn to_checkpoint(&self) -> Vec<u8> {
        match self {
            Learning::Rows(training) => training.to_checkpoint(),
            Learning::Batches(all) => all.batches.to_checkpoint(),
        }
    }

    /// The rows that wait, to be learned elsewhere; `None` if there are none.
    pub fn batch(&self) -> Option<(RowBatch, FitOptions)> {
        match self {
            Learning::Batches(all) if self.waiting_rows() > 0 => {
                Some((all.batches.batch(all.batches.rows()), all.options.clone()))
            }
            _ => None,
        }
    }

    /// Goes on from a batch that was learned.
    pub fn advance(&mut self, learned: LearnedBatch) -> Result<(), TrainError> {
        let Learning::Batches(all) = self else { return Ok(()) };
        let InBatches { batches, records, .. } = &mut **all;
        batches.advance(learned)?;
        // The last record of the model is kept, and those that wait.
        let before = records.iter().take_while(|record| record.last_row <= batches.rows_learned()).count();
        records.drain(..before.saturating_sub(1));
        Ok(())
    }
}
