//! The learner: one thread owns the training and the log. It writes rows to disk, learns them, and publishes models.
//!
//! Requests that wait are written as one frame and synced once (group commit). A group takes what is in the queue, for at
//! most 5 ms. Rows are checked before they are written. If they fail to be learned all the same (the weights diverge, the
//! memory is used up), their frame is taken back and the training is restored from disk.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use tamis::io::Block;
use tamis::parse::row_log::push_record;
use tamis::train::{Checkpoint, Training};
use tokio::sync::oneshot;

use crate::app::App;
use crate::error::{ApiError, ServeError};
use crate::keys::{Keys, KnownKey, rows_checksum};
use crate::log::{Log, LogFolder, block_of};
use crate::served::Served;

/// The longest time that a group of requests is gathered.
const GATHER: Duration = Duration::from_millis(5);
/// Bytes of a group at which it is written, whatever waits.
const LARGE_GROUP: usize = 32 << 20;
/// The shortest time between two models that are published.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

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

/// Rows to learn.
pub struct LearnJob {
    /// The rows.
    pub block: Block,
    /// The key of the request; may be empty.
    pub key: String,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Result<Learned, ApiError>>,
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
    /// Publish the model as it is now.
    Publish(oneshot::Sender<Result<Arc<Served>, ApiError>>),
    /// Write a checkpoint.
    Checkpoint(oneshot::Sender<Result<Saved, ApiError>>),
    /// Go on with another checkpoint.
    Replace(Vec<u8>, oneshot::Sender<Result<Arc<Served>, ApiError>>),
    /// Write a checkpoint and end.
    Stop,
}

/// The learner.
pub struct Learner {
    app: Arc<App>,
    folder: LogFolder,
    path: PathBuf,
    training: Training,
    log: Log,
    keys: Keys,
    is_published: bool,
    published: Instant,
    publish_cost: Duration,
}

/// The state of a log: its training, its end and its keys.
fn restore(app: &App, path: &Path) -> Result<(Training, Log, Keys), ServeError> {
    let (file, bytes) = Log::state(path)?;
    let failed = |path: &Path, source| ServeError::Training { path: path.to_path_buf(), source: Box::new(source) };
    let checkpoint = Checkpoint::from_bytes(&bytes, &file).map_err(|source| failed(path, source))?;
    let limits = &app.options.limits;
    let mut training = Training::continued(checkpoint, 1, limits.memory).map_err(|source| failed(path, source))?;
    let mut keys = Keys::new(limits.keys);
    let log = Log::recover(path, |record, file| {
        let accepted = record.rows.len() as u64;
        if !record.key.is_empty() {
            let checksum = rows_checksum(&record.rows);
            keys.add(&record.key, KnownKey { sequence: record.sequence, accepted, checksum });
        }
        training.learn_logged(block_of(record, file)).map_err(|source| failed(file, source))
    })?;
    Ok((training, log, keys))
}

impl Learner {
    /// Restores the training from the log, and publishes its model.
    pub fn start(app: Arc<App>, folder: LogFolder, given: (&Path, &[u8])) -> Result<Learner, ServeError> {
        let path = folder.last(given)?;
        let (training, log, keys) = restore(&app, &path)?;
        let mut learner = Learner {
            app,
            folder,
            path,
            training,
            log,
            keys,
            is_published: false,
            published: Instant::now(),
            publish_cost: Duration::ZERO,
        };
        learner.publish().map_err(|error| ServeError::Source { path: given.0.to_path_buf(), reason: error.message })?;
        learner.app.metrics.log_bytes.store(learner.log.bytes, Ordering::Relaxed);
        Ok(learner)
    }

    /// Serves commands until it is told to stop.
    pub fn run(mut self, commands: Receiver<Command>) {
        let mut waiting: VecDeque<Command> = VecDeque::new();
        loop {
            let command = match waiting.pop_front() {
                Some(command) => command,
                None => match commands.recv_timeout(self.until_publishing()) {
                    Ok(command) => command,
                    Err(RecvTimeoutError::Timeout) => {
                        self.publish_if_due();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => Command::Stop,
                },
            };
            match command {
                Command::Learn(job) => {
                    let jobs = gather(*job, &commands, &mut waiting);
                    self.learn(jobs);
                    self.checkpoint_if_due();
                    self.publish_if_due();
                }
                Command::Publish(reply) => drop(reply.send(self.publish())),
                Command::Checkpoint(reply) => drop(reply.send(self.checkpoint())),
                Command::Replace(bytes, reply) => drop(reply.send(self.replace(&bytes))),
                Command::Stop => {
                    if self.log.since_checkpoint > 0
                        && let Err(error) = self.checkpoint()
                    {
                        self.app.note(&format!("no checkpoint was written: {}", error.message));
                    }
                    return;
                }
            }
        }
    }

    fn until_publishing(&self) -> Duration {
        let pause = PUBLISH_EVERY.max(10 * self.publish_cost);
        if self.is_published { Duration::from_secs(3600) } else { pause.saturating_sub(self.published.elapsed()) }
    }

    fn publish_if_due(&mut self) {
        if !self.is_published && self.until_publishing().is_zero() {
            let _ = self.publish();
        }
    }

    /// Publishes the model as it is now.
    fn publish(&mut self) -> Result<Arc<Served>, ApiError> {
        if let Some(served) = self.app.served().filter(|_| self.is_published) {
            return Ok(served);
        }
        let started = Instant::now();
        let model = self.training.model()?;
        let served = Arc::new(Served::new(model, self.log.sequence));
        self.app.publish(served.clone());
        (self.is_published, self.published, self.publish_cost) = (true, Instant::now(), started.elapsed());
        Ok(served)
    }

    /// Learns requests as one group, and answers them.
    fn learn(&mut self, jobs: Vec<LearnJob>) {
        let (mut group, mut later) = (Vec::new(), Vec::new());
        let (mut body, mut rows, mut sequence) = (Vec::new(), self.training.rows(), self.log.sequence);
        for LearnJob { block, key, reply } in jobs {
            let block = block.without_weightless_rows();
            if group.iter().any(|(job, _): &(LearnJob, Learned)| !key.is_empty() && job.key == key) {
                later.push(LearnJob { block, key, reply });
                continue;
            }
            if let Some(answer) = self.known(&key, &block).or_else(|| self.refused(&block)) {
                let _ = reply.send(answer);
                continue;
            }
            let accepted = block.rows.len() as u64;
            sequence += 1;
            push_record(&mut body, sequence, rows + 1, &key, &block.rows);
            rows += accepted;
            group.push((LearnJob { block, key, reply }, Learned { accepted, sequence, repeated: false }));
        }
        if !group.is_empty() {
            self.commit(group, &body, sequence);
        }
        if !later.is_empty() {
            self.learn(later);
        }
    }

    /// The answer to a request whose key is known.
    fn known(&self, key: &str, block: &Block) -> Option<Result<Learned, ApiError>> {
        let known = self.keys.get(key)?;
        if known.checksum != rows_checksum(&block.rows) {
            let message = format!("the key {key:?} was used for other rows (record {})", known.sequence);
            return Some(Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", message)));
        }
        Some(Ok(Learned { accepted: known.accepted, sequence: known.sequence, repeated: true }))
    }

    /// The answer to rows that are not written to the log.
    fn refused(&mut self, block: &Block) -> Option<Result<Learned, ApiError>> {
        if block.rows.is_empty() {
            return Some(Ok(Learned { accepted: 0, sequence: self.log.sequence, repeated: false }));
        }
        self.training.check(block).err().map(|error| Err(error.into()))
    }

    /// Brings a group to disk and learns it.
    fn commit(&mut self, group: Vec<(LearnJob, Learned)>, body: &[u8], last: u64) {
        let (mark, started) = (self.log.mark(), Instant::now());
        if let Err(error) = self.log.append(body, last, self.app.options.limits.log) {
            let message = format!("the rows cannot be written to the log: {error}; nothing was learned");
            let full = ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "log_not_written", message);
            group.into_iter().for_each(|(job, _)| drop(job.reply.send(Err(full.clone()))));
            return;
        }
        self.app.metrics.sync_seconds.observe(started.elapsed());
        self.app.metrics.log_bytes.store(self.log.bytes, Ordering::Relaxed);
        self.is_published = false;
        for (job, _) in &group {
            let (rows, file) = (job.block.rows.clone(), job.block.file.clone());
            let block = Block { rows, file, first_line: job.block.first_line };
            if let Err(error) = self.training.learn(block) {
                return self.take_back(group, mark, error.into());
            }
        }
        for (job, learned) in group {
            let Learned { accepted, sequence, .. } = learned;
            self.app.metrics.rows_learned.fetch_add(accepted, Ordering::Relaxed);
            if !job.key.is_empty() {
                let checksum = rows_checksum(&job.block.rows);
                self.keys.add(&job.key, KnownKey { sequence, accepted, checksum });
            }
            let _ = job.reply.send(Ok(learned));
        }
    }

    /// Takes a group back that could not be learned, and learns its requests one by one: one of them is to blame.
    fn take_back(&mut self, group: Vec<(LearnJob, Learned)>, mark: crate::log::Mark, error: ApiError) {
        self.log.undo(mark);
        match restore(&self.app, &self.path) {
            Ok((training, log, keys)) => (self.training, self.log, self.keys) = (training, log, keys),
            Err(lost) => {
                // What is on disk cannot be restored while the server runs: no row may be learned on a doubtful state.
                self.app.note(&format!("the training cannot be restored: {lost}"));
                let gone = ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "not_restored", lost.to_string());
                self.app.stop();
                return group.into_iter().for_each(|(job, _)| drop(job.reply.send(Err(gone.clone()))));
            }
        }
        if group.len() == 1 {
            return group.into_iter().for_each(|(job, _)| drop(job.reply.send(Err(error.clone()))));
        }
        group.into_iter().for_each(|(job, _)| self.learn(vec![job]));
    }

    fn checkpoint_if_due(&mut self) {
        if self.log.since_checkpoint >= self.app.options.limits.segment
            && let Err(error) = self.checkpoint()
        {
            self.app.note(&format!("no checkpoint was written: {}", error.message));
            self.log.since_checkpoint = 0;
        }
    }

    /// Writes a checkpoint that can be read again.
    fn checkpoint(&mut self) -> Result<Saved, ApiError> {
        let bytes = self.training.to_checkpoint();
        Checkpoint::from_bytes(&bytes, Path::new("the new checkpoint"))?;
        self.log.checkpoint(&bytes, self.app.options.limits.segment).map_err(|error| {
            let message = format!("the checkpoint cannot be written: {error}; the last one is unchanged");
            ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "checkpoint_not_written", message)
        })?;
        Ok(Saved { sequence: self.log.sequence, rows: self.training.rows(), bytes: bytes.len() as u64 })
    }

    /// Goes on with another checkpoint and a new log. If it cannot be used, nothing changes.
    fn replace(&mut self, bytes: &[u8]) -> Result<Arc<Served>, ApiError> {
        let checkpoint = Checkpoint::from_bytes(bytes, Path::new("request"))?;
        let training = Training::continued(checkpoint, 1, self.app.options.limits.memory)?;
        training.model()?;
        let failed =
            |error: ServeError| ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "log_not_written", error.to_string());
        let path = self.folder.begin(bytes).map_err(failed)?;
        let (training, log, keys) = restore(&self.app, &path).map_err(failed)?;
        (self.path, self.training, self.log, self.keys) = (path, training, log, keys);
        self.is_published = false;
        self.app.metrics.log_bytes.store(self.log.bytes, Ordering::Relaxed);
        self.publish()
    }
}

/// A request and those that wait behind it. Other commands stay in line.
fn gather(first: LearnJob, commands: &Receiver<Command>, waiting: &mut VecDeque<Command>) -> Vec<LearnJob> {
    let started = Instant::now();
    let mut size = entries(&first);
    let mut jobs = vec![first];
    while size * 12 < LARGE_GROUP && started.elapsed() < GATHER && waiting.is_empty() {
        match commands.try_recv() {
            Ok(Command::Learn(job)) => {
                size += entries(&job);
                jobs.push(*job);
            }
            Ok(other) => waiting.push_back(other),
            Err(_) => break,
        }
    }
    jobs
}

fn entries(job: &LearnJob) -> usize {
    (0..job.block.rows.len()).map(|row| job.block.rows.first_and_last(row).0).sum()
}
