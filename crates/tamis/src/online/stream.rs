//! Rows after the buffered ones: learned once, as they come, and not kept.

use std::path::{Path, PathBuf};

use super::trainer::LearnerTrainer;
use crate::data::Example;
use crate::io::Block;
use crate::learners::Learner;
use crate::trainer::{BufferedRows, FIRST_ROWS, Session, TrainError, fingerprints};

/// Rows between two searches for idle features, counted from the last buffered row on: how the input is cut into blocks
/// leaves no trace.
const SWEEP_EVERY: u64 = 4096;

/// Where a training stands in the rows after the buffered ones.
pub(crate) struct StreamPosition {
    /// Rows so far, and their fingerprint.
    rows: u64,
    fingerprint: u64,
    buffered_rows: u64,
    /// Rows that were learned before the training was interrupted, and the fingerprint they must have.
    learned: u64,
    saved: (u64, u64),
    /// The checkpoint.
    resumed: Option<PathBuf>,
    /// Whether fingerprints are needed: only by those who may come back to these rows.
    needs_fingerprint: bool,
}

impl StreamPosition {
    /// The position after the buffered rows.
    pub(super) fn after(rows: &BufferedRows, session: &Session<'_>) -> Self {
        StreamPosition {
            rows: 0,
            fingerprint: rows.fingerprint,
            buffered_rows: rows.rows,
            learned: 0,
            saved: (0, 0),
            resumed: None,
            needs_fingerprint: session.options.checkpoint.is_some() || session.options.keep_open,
        }
    }

    /// The first `learned` rows are passed over: they must be those of the checkpoint.
    pub(super) fn resume(&mut self, path: PathBuf, learned: u64, saved: (u64, u64)) {
        (self.resumed, self.learned, self.saved, self.needs_fingerprint) = (Some(path), learned, saved, true);
    }

    /// Continues after `rows` rows.
    pub(super) fn set_rows(&mut self, rows: u64) {
        self.rows = rows;
    }

    fn other_data(&self, row: u64) -> TrainError {
        let path = self.resumed.as_deref().map(Path::to_path_buf).unwrap_or_default();
        TrainError::OtherData { path, row }
    }

    /// Whether idle features are freed here. Without buffered rows, the first of the stream stand in for them.
    fn is_at_sweep(&self) -> bool {
        let first = if self.buffered_rows == 0 { FIRST_ROWS } else { 0 };
        self.rows > first && self.rows.is_multiple_of(SWEEP_EVERY) && self.rows >= self.learned
    }
}

impl<L: Learner + Clone + Send + Sync + 'static> LearnerTrainer<L> {
    /// Learns the rows of a block, but for those that were learned before an interruption.
    pub(crate) fn learn_block(&mut self, session: &mut Session<'_>, mut block: Block) -> Result<(), TrainError> {
        while !block.rows.is_empty() {
            let now = (SWEEP_EVERY - self.stream.rows % SWEEP_EVERY) as usize;
            let later = block.split_off(now.min(block.rows.len()));
            self.learn_piece(session, block)?;
            if self.stream.is_at_sweep() {
                self.free_idle_features(session)?;
            }
            block = later;
        }
        Ok(())
    }

    fn learn_piece(&mut self, session: &mut Session<'_>, mut block: Block) -> Result<(), TrainError> {
        let stream = &mut self.stream;
        let prints = if stream.needs_fingerprint {
            fingerprints(&block.rows, stream.fingerprint)
        } else {
            vec![stream.fingerprint; block.rows.len()]
        };
        let length = prints.len() as u64;
        let passed = (stream.learned - stream.learned.min(stream.rows)).min(length);
        let (saved_rows, saved_print) = stream.saved;
        if passed > 0
            && stream.buffered_rows + stream.rows + passed == saved_rows
            && prints[passed as usize - 1] != saved_print
        {
            return Err(stream.other_data(saved_rows));
        }
        stream.fingerprint = prints.last().copied().unwrap_or(stream.fingerprint);
        stream.rows += length;
        if passed < length {
            let block = block.split_off(passed as usize);
            self.learn_rows(session, block, &prints[passed as usize..])?;
        }
        Ok(())
    }

    fn learn_rows(&mut self, session: &mut Session<'_>, block: Block, prints: &[u64]) -> Result<(), TrainError> {
        let (batch, labels, place) = block.intern(&mut session.data.vocabulary)?;
        if self.takes_whole(session, &batch)
            && let Some(targets) = session.data.targets.encode_known(&labels)
        {
            return self.take_whole(session, batch.with_targets(targets), prints[prints.len() - 1]);
        }
        for (row, example) in batch.examples().enumerate() {
            let target = session.data.targets.encode(&labels[row], || place.of(row))?;
            if session.data.scale.is_active() {
                session.data.scale.observe(example.row);
            }
            session.data.fingerprint = (session.data.fingerprint.0 + 1, prints[row]);
            self.take(session, Example { target, ..example })?;
        }
        Ok(())
    }

    /// Ends the stream: all rows of a resumed training must have come again.
    pub(crate) fn end_stream(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        let StreamPosition { rows, learned, buffered_rows, .. } = self.stream;
        if rows < learned {
            return Err(self.stream.other_data(buffered_rows + rows + 1));
        }
        self.flush(session)
    }
}
