//! A complete training that goes on with rows that come one by one, and the replay of the log of a server that did so.
//!
//! A server checks rows, writes them to its log and learns them. A log that is read by [`super::fit`] with the checkpoint
//! is learned by the same calls, so that it gives the model of the server, bit for bit.

use super::fitted::Fitted;
use super::training::Training;
use crate::data::{DuplicateFeature, FeatureKey, RawRows};
use crate::io::{Block, Format, ReadError, RowSource, Source};
use crate::model::Model;
use crate::param::names;
use crate::trainer::{Checkpoint, FitOptions, Observer, TrainError, write_complete};

impl Training {
    /// Continues a complete training of an online learner. Each row that comes is learned once; the learner, the names
    /// and the scaling may take `max_memory` bytes.
    pub fn continued(checkpoint: Checkpoint, threads: usize, max_memory: Option<u64>) -> Result<Training, TrainError> {
        if !checkpoint.is_complete() {
            return Err(TrainError::NotComplete { path: checkpoint.path });
        }
        let recipe = checkpoint.recipe();
        if recipe.method.info().partial_fit && recipe.refits() {
            // After a refit, the weights of the other features are not those of the model.
            return Err(TrainError::NeedsAllRows { param: names::REFIT.into() });
        }
        let mut training = Training::of_checkpoint(checkpoint, threads)?;
        training.options.max_memory = max_memory;
        Ok(training)
    }

    /// A complete checkpoint of the rows so far, as bytes of its file.
    pub fn to_checkpoint(&self) -> Vec<u8> {
        self.save_bytes(true)
    }

    /// Whether rows can be learned; changes nothing. Rows that pass can still diverge, or need too much memory.
    pub fn check(&mut self, block: &Block) -> Result<(), TrainError> {
        let place = |row: usize| format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
        if self.data.vocabulary.hash_bits().is_none()
            && let Some((row, name)) = repeated_name(&block.rows)
        {
            return Err(DuplicateFeature { place: place(row), name }.into());
        }
        let resumed = self.resume.as_ref().map(Checkpoint::targets);
        let targets = resumed.as_ref().or(self.declared.as_ref()).unwrap_or(&self.data.targets);
        let is_known = self.trainer.is_some() || resumed.is_some();
        if is_known && targets.encode_known(&block.rows.labels).is_none() {
            let mut targets = resumed.as_ref().unwrap_or(&self.data.targets).clone();
            for (row, label) in block.rows.labels.iter().enumerate() {
                targets.encode(label, || place(row))?;
            }
        }
        let recipe = self.recipe();
        if recipe.offset.is_some() || recipe.interactions.is_some() {
            let (rows, file) = (block.rows.clone(), block.file.clone());
            self.transformed(Block { rows, file, first_line: block.first_line })?;
        }
        Ok(())
    }
}

/// A row in which a name occurs twice, where that is an error.
fn repeated_name(rows: &RawRows) -> Option<(usize, String)> {
    if rows.adds_duplicates || !rows.has_names() {
        return None;
    }
    let mut names: Vec<FeatureKey<'_>> = Vec::new();
    (0..rows.len()).find_map(|row| {
        names.clear();
        names.extend(rows.entries(row).map(|(key, _)| key));
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1])?;
        Some((row, twice[0].to_string()))
    })
}

/// Whether a training continues with the log of a server: its rows are then learned as the server learned them.
pub(super) fn is_replay(checkpoint: &Checkpoint, sources: &[Source]) -> bool {
    let recipe = checkpoint.recipe();
    let is_log = !sources.is_empty() && sources.iter().all(|source| source.format == Format::RowLog);
    let goes_on = match recipe.method.info().partial_fit {
        true => !recipe.refits(),
        false => checkpoint.finished.is_some(),
    };
    is_log && checkpoint.is_complete() && goes_on
}

/// Learns the rows of a log that come after those of the checkpoint.
pub(super) fn replay(
    options: &FitOptions,
    log: &mut dyn RowSource,
    checkpoint: Checkpoint,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    let mut training = Training::continued(checkpoint, options.read.threads, options.max_memory)?;
    let before = training.rows_learned();
    loop {
        match log.next_block() {
            Ok(Some(block)) => training.learn_logged(block)?,
            Ok(None) => break,
            Err(ReadError::Interrupted) => {
                return Err(TrainError::Interrupted { rows: training.rows_learned(), saved: None });
            }
            Err(error) => return Err(error.into()),
        }
        observer.tick(training.rows_learned(), None, log.bytes_read());
    }
    let model = training.model()?;
    save(&training, &model, options)?;
    let (rows_learned, memory) = (training.rows_learned() - before, training.bytes());
    let (skipped, notes) = (log.first_skipped().to_vec(), log.notes());
    Ok(Fitted { model, rows_learned, memory, skipped, reason: None, notes, training: None })
}

fn save(training: &Training, model: &Model, options: &FitOptions) -> Result<(), TrainError> {
    if let Some(problem) = model.problem() {
        return Err(TrainError::NoModel { problem });
    }
    if let Some(path) = &options.model {
        model.save(path)?;
    }
    match &options.checkpoint {
        Some(plan) => write_complete(&plan.path, &training.to_checkpoint()),
        None => Ok(()),
    }
}

impl Training {
    /// Learns a record of a log, unless the training has it already. The first line of the block is the number of its first
    /// row in the training.
    pub fn learn_logged(&mut self, block: Block) -> Result<(), TrainError> {
        let (first, rows) = (block.first_line, self.rows());
        if first > rows + 1 {
            return Err(TrainError::LogGap { file: block.file.to_string(), first, rows });
        }
        let last = first + block.rows.len() as u64 - u64::from(!block.rows.is_empty());
        match last <= rows {
            true => Ok(()),
            false if first <= rows => Err(TrainError::LogGap { file: block.file.to_string(), first, rows }),
            false => self.learn(block),
        }
    }
}
