//! Batches: methods that need many rows at once learn those that wait on a thread of their own, while rows go on to be
//! logged and scored. The log gets a record without rows when a batch is learned, so that a replay learns the same batches.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use tamis::data::RawRows;
use tamis::parse::row_log::{RecordHead, push_record};
use tamis::train::{FitOptions, LearnedBatch, TrainError};
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::learner::{Command, Learner, Saved};

/// Multiples of a batch that may wait; beyond them rows are refused until a batch is learned.
const MOST_BATCHES: u64 = 8;
/// Features of waiting rows (16 bytes each) at which a batch begins, and eight times as many at which rows are refused.
const LARGE_BATCH: u64 = 8 << 20;

/// A batch that was learned, or could not be.
pub struct Finished {
    /// The folder of the log that it belongs to.
    path: PathBuf,
    result: Result<LearnedBatch, TrainError>,
}

/// Who waits for rows up to a number to be learned.
struct Waiter {
    rows: u64,
    reply: oneshot::Sender<Result<Saved, ApiError>>,
}

/// The batch that is being learned.
pub struct BatchRun {
    commands: SyncSender<Command>,
    /// Stops the batch that runs.
    running: Option<Arc<AtomicBool>>,
    /// Waiting rows at which the next batch begins, if the last one failed.
    not_before: u64,
    /// Why the last batch failed.
    problem: Option<String>,
    waiters: Vec<Waiter>,
}

impl BatchRun {
    /// No batch. Those to come are reported to `commands`.
    pub fn new(commands: SyncSender<Command>) -> Self {
        BatchRun { commands, running: None, not_before: 0, problem: None, waiters: Vec::new() }
    }

    /// Gives up the batch that runs.
    pub fn stop(&mut self) {
        if let Some(stop) = self.running.take() {
            stop.store(true, Ordering::Relaxed);
        }
        (self.not_before, self.problem) = (0, None);
        let gone = ApiError::unavailable("the model was replaced, or the server is stopping");
        self.waiters.drain(..).for_each(|waiter| drop(waiter.reply.send(Err(gone.clone()))));
    }
}

impl Learner {
    /// The answer to rows that must not wait, because too many do.
    pub(crate) fn too_many_wait(&self) -> Option<ApiError> {
        let (waiting, most) = (self.learning.waiting_rows(), MOST_BATCHES * self.app.options.limits.batch);
        let is_full = waiting >= most || self.learning.waiting_entries() >= MOST_BATCHES * LARGE_BATCH;
        (self.learning.is_in_batches() && is_full).then(|| {
            let why = self.batch.problem.as_ref().map(|text| format!("; the last batch failed: {text}"));
            ApiError::busy(format!("{waiting} rows wait to be learned; send these later{}", why.unwrap_or_default()))
        })
    }

    /// Begins a batch if enough rows wait.
    pub(crate) fn learn_batch_if_due(&mut self) {
        let (waiting, batch) = (self.learning.waiting_rows(), self.app.options.limits.batch);
        let is_large = waiting >= batch || self.learning.waiting_entries() >= LARGE_BATCH;
        if is_large && waiting >= self.batch.not_before {
            self.begin_batch();
        }
    }

    /// Begins to learn the rows that wait, unless a batch runs.
    fn begin_batch(&mut self) {
        if self.batch.running.is_some() {
            return;
        }
        let Some((batch, options)) = self.learning.batch() else { return };
        let (stop, path, commands) = (Arc::new(AtomicBool::new(false)), self.path.clone(), self.batch.commands.clone());
        self.batch.running = Some(stop.clone());
        std::thread::spawn(move || {
            let options = FitOptions { stop, ..options };
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| batch.learn(&options, &mut ())));
            let broken = |_| Err(TrainError::Method { method: "batch", reason: "an error of the program".into() });
            let finished = Finished { path, result: result.unwrap_or_else(broken) };
            let _ = commands.send(Command::Finished(Box::new(finished)));
        });
    }

    /// Learns what waits and writes a checkpoint, then answers.
    pub(crate) fn checkpoint_for(&mut self, reply: oneshot::Sender<Result<Saved, ApiError>>) {
        if self.learning.waiting_rows() == 0 {
            return drop(reply.send(self.checkpoint()));
        }
        self.batch.waiters.push(Waiter { rows: self.learning.rows(), reply });
        self.begin_batch();
    }

    /// Puts the model of a batch in place. If the batch failed, its rows go on waiting.
    pub(crate) fn end_batch(&mut self, finished: Finished) {
        if finished.path != self.path || self.batch.running.take().is_none() {
            return;
        }
        match finished.result.map_err(ApiError::from).and_then(|learned| self.take_batch(learned)) {
            Ok(saved) => {
                (self.batch.not_before, self.batch.problem) = (0, None);
                let (done, open) = self.batch.waiters.drain(..).partition(|waiter| waiter.rows <= saved.rows);
                self.batch.waiters = open;
                let done: Vec<Waiter> = done;
                done.into_iter().for_each(|waiter| drop(waiter.reply.send(Ok(saved))));
            }
            Err(error) => {
                self.app.note(&format!("a batch was not learned: {}", error.message));
                self.batch.not_before = self.learning.waiting_rows() + self.app.options.limits.batch;
                self.batch.problem = Some(error.message.clone());
                self.batch.waiters.drain(..).for_each(|waiter| drop(waiter.reply.send(Err(error.clone()))));
            }
        }
        match self.batch.waiters.is_empty() {
            true => self.learn_batch_if_due(),
            false => self.begin_batch(),
        }
    }

    fn take_batch(&mut self, learned: LearnedBatch) -> Result<Saved, ApiError> {
        let (mut body, sequence) = (Vec::new(), self.log.sequence + 1);
        let head = RecordHead { sequence, first_row: learned.last + 1, ..RecordHead::default() };
        push_record(&mut body, &head, &RawRows::by_index());
        self.log
            .append(&body, sequence, self.app.options.limits.log)
            .map_err(|error| crate::commit::not_written(&error))?;
        self.learning.advance(learned)?;
        self.is_published = false;
        self.publish()?;
        self.checkpoint()
    }
}
