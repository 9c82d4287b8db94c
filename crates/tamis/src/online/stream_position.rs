//! The position of a training in the rows after the buffered ones.

use std::path::{Path, PathBuf};

use crate::trainer::{BufferedRows, FIRST_ROWS, Session, TrainError};

/// Rows between two searches for idle features, counted from the last buffered row on, so that the result does not
/// depend on how the input is split into blocks.
pub(super) const SWEEP_EVERY: u64 = 4096;

/// The position of a training in the rows after the buffered ones.
pub(crate) struct StreamPosition {
    /// Rows so far, and their fingerprint.
    pub(super) rows: u64,
    pub(super) fingerprint: u64,
    pub(super) buffered_rows: u64,
    /// Rows that were learned before the training was interrupted, and the fingerprint they must have.
    pub(super) learned: u64,
    pub(super) saved: (u64, u64),
    /// The checkpoint.
    resumed: Option<PathBuf>,
    /// Whether fingerprints are needed: only if the training may be resumed.
    pub(super) needs_fingerprint: bool,
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
            needs_fingerprint: session.has_checkpoint(),
        }
    }

    /// The first `learned` rows are skipped: they must be those of the checkpoint.
    pub(super) fn resume(&mut self, path: PathBuf, learned: u64, saved: (u64, u64)) {
        (self.resumed, self.learned, self.saved, self.needs_fingerprint) = (Some(path), learned, saved, true);
    }

    /// Continues after `rows` rows.
    pub(super) fn set_rows(&mut self, rows: u64) {
        self.rows = rows;
    }

    pub(super) fn other_data(&self, row: u64) -> TrainError {
        let path = self.resumed.as_deref().map(Path::to_path_buf).unwrap_or_default();
        TrainError::OtherData { path, row }
    }

    /// Whether idle features are freed here. If no rows are buffered, the first rows of the stream count as such.
    pub(super) fn is_at_sweep(&self) -> bool {
        let first = if self.buffered_rows == 0 { FIRST_ROWS } else { 0 };
        self.rows > first && self.rows.is_multiple_of(SWEEP_EVERY) && self.rows >= self.learned
    }
}
