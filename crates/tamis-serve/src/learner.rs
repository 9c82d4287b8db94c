//! The learner: one thread owns the training, the log and the rows that wait for labels. It writes rows to disk, learns
//! them, and publishes models.
//!
//! Requests that wait are written as one frame and synced once (group commit, `commit.rs`). A group takes what is in the
//! queue, for at most 5 ms. Methods that need all rows at once learn in batches, on a thread of their own (`batch.rs`).

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use tamis::io::Block;
use tamis::train::Checkpoint;
use tokio::sync::oneshot;

use crate::app::App;
use crate::batch::{BatchRun, Finished};
use crate::error::{ApiError, ServeError};
use crate::keys::{Keys, KnownKey};
use crate::learn::LateLabel;
use crate::learning::Learning;
use crate::log::{Log, LogFolder, block_of};
use crate::pending::{NamedRows, Pending, now};
use crate::served::Served;

/// The longest time that a group of requests is gathered.
const GATHER: Duration = Duration::from_millis(5);
/// Bytes of a group at which it is written, whatever waits.
const LARGE_GROUP: usize = 32 << 20;
/// The shortest time between two models that are published.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
/// How often rows that wait for labels are looked at when nothing else happens.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The answer to a request to learn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learned {
    /// Rows of the request.
    pub accepted: u64,
    /// The number of the record in the log.
    pub sequence: u64,
    /// Whether the key was known: the rows had been learned before.
    pub repeated: bool,
}

/// What is to be learned.
pub enum Content {
    /// Rows with their labels.
    Rows(Box<Block>),
    /// Labels of rows that were scored before.
    Labels(Vec<LateLabel>),
}

/// Rows to learn.
pub struct LearnJob {
    /// The rows, or their labels.
    pub content: Content,
    /// The key of the request; may be empty.
    pub key: String,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Result<Learned, ApiError>>,
}

/// Scored rows that wait for their labels.
pub struct RememberJob {
    /// The rows with their ids.
    pub rows: NamedRows,
    /// Where the answer goes, when they are on disk.
    pub reply: oneshot::Sender<Result<(), ApiError>>,
}

/// A checkpoint that was written.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    /// The last record that it has learned.
    pub sequence: u64,
    /// Rows of the training.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What the learner is asked for.
pub enum Command {
    /// Learn rows.
    Learn(Box<LearnJob>),
    /// Remember scored rows.
    Remember(RememberJob),
    /// Publish the model as it is now.
    Publish(oneshot::Sender<Result<Arc<Served>, ApiError>>),
    /// Learn what waits, and write a checkpoint.
    Checkpoint(oneshot::Sender<Result<Saved, ApiError>>),
    /// Go on with another checkpoint.
    Replace(Vec<u8>, oneshot::Sender<Result<Arc<Served>, ApiError>>),
    /// A batch was learned, or could not be.
    Finished(Box<Finished>),
    /// Write a checkpoint and end.
    Stop,
}

/// The learner.
pub struct Learner {
    pub(crate) app: Arc<App>,
    folder: LogFolder,
    pub(crate) path: PathBuf,
    pub(crate) learning: Learning,
    pub(crate) log: Log,
    pub(crate) keys: Keys,
    pub(crate) pending: Pending,
    pub(crate) batch: BatchRun,
    pub(crate) is_published: bool,
    published: Instant,
    publish_cost: Duration,
}

/// The state of a log: its training, its end and its keys. Rows that were scored before their labels came are taken off
/// `pending`.
pub(crate) fn restore(
    app: &App,
    path: &Path,
    mut pending: Option<&mut Pending>,
) -> Result<(Learning, Log, Keys), ServeError> {
    let (file, bytes) = Log::state(path)?;
    let failed = |path: &Path, source| ServeError::Training { path: path.to_path_buf(), source: Box::new(source) };
    let limits = &app.options.limits;
    let mut learning = Learning::of(bytes, &file, limits.memory).map_err(|source| failed(path, source))?;
    let mut keys = Keys::new(limits.keys);
    let log = Log::recover(path, |record, file| {
        if !record.key.is_empty() {
            keys.add(&record.key, KnownKey::of(&record));
        }
        if let Some(pending) = &mut pending {
            record.late.iter().for_each(|late| pending.answered(late));
        }
        let sequence = record.sequence;
        learning.learn_logged(block_of(record, file), sequence).map_err(|source| failed(file, source))
    })?;
    Ok((learning, log, keys))
}

impl Learner {
    /// Restores the training from the log, and publishes its model. Batches that are learned come back as `commands`.
    pub fn start(
        app: Arc<App>,
        folder: LogFolder,
        given: (&Path, &[u8]),
        commands: SyncSender<Command>,
    ) -> Result<Learner, ServeError> {
        let path = folder.last(given)?;
        let mut pending = Pending::recover(&path, app.options.limits.pending)?;
        let (learning, log, keys) = restore(&app, &path, Some(&mut pending))?;
        let mut learner = Learner {
            batch: BatchRun::new(commands),
            app,
            folder,
            path,
            learning,
            log,
            keys,
            pending,
            is_published: false,
            published: Instant::now(),
            publish_cost: Duration::ZERO,
        };
        learner.publish().map_err(|error| ServeError::Source { path: given.0.to_path_buf(), reason: error.message })?;
        learner.expire();
        learner.count();
        Ok(learner)
    }

    /// Serves commands until it is told to stop.
    pub fn run(mut self, commands: Receiver<Command>) {
        let mut waiting: VecDeque<Command> = VecDeque::new();
        self.learn_batch_if_due();
        loop {
            let command = match waiting.pop_front() {
                Some(command) => command,
                None => match commands.recv_timeout(self.until_publishing()) {
                    Ok(command) => command,
                    Err(RecvTimeoutError::Timeout) => {
                        self.publish_if_due();
                        self.expire();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => Command::Stop,
                },
            };
            match command {
                command @ (Command::Learn(_) | Command::Remember(_)) => {
                    let (rows, jobs) = gather(command, &commands, &mut waiting);
                    self.remember(rows);
                    self.learn(jobs);
                    self.checkpoint_if_due();
                    self.publish_if_due();
                    self.learn_batch_if_due();
                }
                Command::Publish(reply) => drop(reply.send(self.publish())),
                Command::Checkpoint(reply) => self.checkpoint_for(reply),
                Command::Replace(bytes, reply) => drop(reply.send(self.replace(bytes))),
                Command::Finished(finished) => self.end_batch(*finished),
                Command::Stop => return self.stop(),
            }
            self.count();
        }
    }

    fn stop(&mut self) {
        self.batch.stop();
        if !self.learning.is_in_batches()
            && self.log.since_checkpoint > 0
            && let Err(error) = self.checkpoint()
        {
            self.app.note(&format!("no checkpoint was written: {}", error.message));
        }
    }

    /// Counts what others read.
    pub(crate) fn count(&self) {
        let metrics = &self.app.metrics;
        metrics.log_bytes.store(self.log.bytes, Ordering::Relaxed);
        metrics.pending_labels.store(self.pending.len() as u64, Ordering::Relaxed);
        metrics.waiting_rows.store(self.learning.waiting_rows(), Ordering::Relaxed);
    }

    fn until_publishing(&self) -> Duration {
        let pause = PUBLISH_EVERY.max(10 * self.publish_cost);
        if self.is_published { LOOK_EVERY } else { pause.saturating_sub(self.published.elapsed()) }
    }

    fn publish_if_due(&mut self) {
        if !self.is_published && self.until_publishing().is_zero() {
            let _ = self.publish();
        }
    }

    /// Publishes the model as it is now.
    pub(crate) fn publish(&mut self) -> Result<Arc<Served>, ApiError> {
        if let Some(served) = self.app.served().filter(|_| self.is_published) {
            return Ok(served);
        }
        let started = Instant::now();
        let (model, sequence) = self.learning.model(self.log.sequence)?;
        let served = Arc::new(Served::new(model, sequence));
        self.app.publish(served.clone());
        (self.is_published, self.published, self.publish_cost) = (true, Instant::now(), started.elapsed());
        Ok(served)
    }

    /// Forgets rows that have waited too long for their labels.
    pub(crate) fn expire(&mut self) {
        let expired = self.pending.expire(now());
        self.app.metrics.expired_labels.fetch_add(expired, Ordering::Relaxed);
    }

    fn checkpoint_if_due(&mut self) {
        if !self.learning.is_in_batches()
            && self.log.since_checkpoint >= self.app.options.limits.segment
            && let Err(error) = self.checkpoint()
        {
            self.app.note(&format!("no checkpoint was written: {}", error.message));
            self.log.since_checkpoint = 0;
        }
    }

    /// Writes a checkpoint that can be read again. Files of the log before it are then no longer needed, so that rows with
    /// labels leave the file of those that wait.
    pub(crate) fn checkpoint(&mut self) -> Result<Saved, ApiError> {
        let bytes = self.learning.to_checkpoint();
        Checkpoint::from_bytes(&bytes, Path::new("the new checkpoint"))?;
        let failed = |error: std::io::Error| {
            let message = format!("the checkpoint cannot be written: {error}; the last one is unchanged");
            ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "checkpoint_not_written", message)
        };
        self.pending.compact(true).map_err(failed)?;
        self.log.checkpoint(&bytes, self.app.options.limits.segment).map_err(failed)?;
        let sequence = self.learning.sequence(self.log.sequence);
        Ok(Saved { sequence, rows: self.learning.rows_learned(), bytes: bytes.len() as u64 })
    }

    /// Goes on with another checkpoint and a new log. If it cannot be used, nothing changes. Rows that wait for their labels
    /// go on waiting.
    fn replace(&mut self, bytes: Vec<u8>) -> Result<Arc<Served>, ApiError> {
        Learning::of(bytes.clone(), Path::new("request"), self.app.options.limits.memory)?.model(0)?;
        let failed =
            |error: ServeError| ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "log_not_written", error.to_string());
        let path = self.folder.begin(&bytes, &self.pending.content()).map_err(failed)?;
        let mut pending = Pending::recover(&path, self.app.options.limits.pending).map_err(failed)?;
        let (learning, log, keys) = restore(&self.app, &path, Some(&mut pending)).map_err(failed)?;
        self.batch.stop();
        (self.path, self.learning, self.log, self.keys, self.pending) = (path, learning, log, keys, pending);
        self.is_published = false;
        self.publish()
    }
}

/// A request and those that wait behind it. Other commands stay in line.
fn gather(
    first: Command,
    commands: &Receiver<Command>,
    waiting: &mut VecDeque<Command>,
) -> (Vec<RememberJob>, Vec<LearnJob>) {
    let started = Instant::now();
    let (mut size, mut rows, mut jobs) = (0, Vec::new(), Vec::new());
    let mut next = Some(first);
    while let Some(command) = next.take() {
        match command {
            Command::Learn(job) => {
                size += entries(&job);
                jobs.push(*job);
            }
            Command::Remember(job) => rows.push(job),
            other => waiting.push_back(other),
        }
        if size * 12 < LARGE_GROUP && started.elapsed() < GATHER && waiting.is_empty() {
            next = commands.try_recv().ok();
        }
    }
    (rows, jobs)
}

fn entries(job: &LearnJob) -> usize {
    match &job.content {
        Content::Rows(block) => (0..block.rows.len()).map(|row| block.rows.first_and_last(row).0).sum(),
        Content::Labels(labels) => labels.len(),
    }
}
