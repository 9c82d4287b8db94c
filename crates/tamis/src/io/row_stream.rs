//! Many files as one stream of blocks, parsed on several threads and returned in order.
//!
//! A free thread takes the next block. The input is behind one lock, since reading and decompressing are cheap next to
//! parsing. Parsed blocks are stored in a map until their turn. The consumer also parses while its next block is not
//! ready, so two threads keep two cores busy. With one thread the consumer does everything. The rows are the same in
//! all cases.
//!
//! If the consumer is the slower side, the threads that parse also look up the ids of features ([`RowStream::share_ids`]).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use super::block_source::{Input, Job, Outcome, ParsedBlock};
use super::label_file::LabelFile;
use super::{Block, ReadError, ReadOptions, Source};
use crate::data::{RowFilter, SharedIds};
use crate::parse::schema::ModelSchema;
use crate::parse::survey::ColumnNote;

/// How long the consumer waits for a thread that reads, before it looks again.
const PATIENCE: Duration = Duration::from_millis(5);

/// A stream of blocks over many sources.
pub struct RowStream {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    names: Vec<Arc<str>>,
    next: u64,
    file: usize,
    line: u64,
    skipped: u64,
    first_skipped: Vec<String>,
    skip_bad: bool,
    choices: Vec<RowFilter>,
    stop: Arc<AtomicBool>,
    /// The file of labels, opened with the first rows.
    label_path: Option<PathBuf>,
    labels: Option<LabelFile>,
    /// The number of rows of the stream so far, filtered out or not.
    rows: u64,
}

struct Shared {
    input: Mutex<Input>,
    finished: Mutex<Finished>,
    changed: Condvar,
    bytes: Arc<AtomicU64>,
    /// The roles of the columns: not behind the lock of the input, which a thread may hold while it waits for a pipe.
    columns: OnceLock<(Arc<ModelSchema>, Vec<ColumnNote>)>,
    /// The ids of features that the consumer knows.
    ids: OnceLock<Arc<SharedIds>>,
    /// Whether only workers read, because the input may be silent for hours.
    only_workers_read: bool,
}

/// Blocks that are parsed and wait for their turn.
#[derive(Default)]
struct Finished {
    blocks: BTreeMap<u64, Outcome>,
    taken: u64,
    consumed: u64,
    end: Option<u64>,
    stop: bool,
    /// The number of waiting threads; without any, none is notified.
    waiting: usize,
}

/// The largest number of blocks ahead of the consumer. A thread at this limit sleeps until half of them are consumed,
/// which is rare enough that two cores stay busy (measured: a limit of 8 blocks takes a tenth more time).
const AHEAD: u64 = 32;

/// Blocks that wait for the consumer if it is the slower side.
const WAITING: usize = 2;

impl RowStream {
    /// Opens the stream. Files are opened one by one as the stream reaches them.
    pub fn open(sources: Vec<Source>, options: ReadOptions) -> Self {
        // A thread that waits for the next line would keep the lines before it from the consumer.
        let threads = if options.live { 1 } else { options.threads };
        let (skip_bad, choices) = (options.skip_bad, options.rows.clone());
        let (stop, label_path) = (options.stop.clone(), options.labels.clone());
        let names = sources.iter().map(|source| source.name.as_str().into()).collect();
        let shared = Arc::new(Shared::new(sources, options, threads));
        let worker = |shared: Arc<Shared>| move || while shared.work(true) {};
        let workers = (1..threads).map(|_| std::thread::spawn(worker(shared.clone()))).collect();
        RowStream {
            shared,
            workers,
            names,
            next: 0,
            file: 0,
            line: 1,
            skipped: 0,
            first_skipped: Vec::new(),
            skip_bad,
            choices,
            stop,
            label_path,
            labels: None,
            rows: 0,
        }
    }

    /// The next block, in order, or `None` at the end. Blocks without selected rows are skipped, so that the result
    /// does not depend on how the input is split.
    pub fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        if self.choices.is_empty() {
            return self.next_whole_block();
        }
        while let Some(mut block) = self.next_whole_block()? {
            let first = self.rows;
            self.rows += block.rows.len() as u64;
            block.rows = block.rows.keep(|row| self.choices.iter().all(|choice| choice.takes(first + row as u64)));
            if !block.rows.is_empty() {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    fn next_whole_block(&mut self) -> Result<Option<Block>, ReadError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ReadError::Interrupted);
            }
            let mut finished = self.shared.finished();
            if let Some(outcome) = finished.blocks.remove(&self.next) {
                finished.consumed += 1;
                self.next += 1;
                match finished.taken <= finished.consumed + AHEAD / 2 {
                    true => self.shared.wake(finished),
                    false => drop(finished),
                }
                return self.hand_on(outcome?).map(Some);
            }
            match finished.end {
                Some(end) if end <= self.next => {
                    drop(finished);
                    self.labels.as_mut().map_or(Ok(()), LabelFile::finish)?;
                    return Ok(None);
                }
                Some(_) => drop(self.shared.sleep(finished)),
                None => {
                    drop(finished);
                    self.shared.work(false);
                }
            }
        }
    }

    fn hand_on(&mut self, block: ParsedBlock) -> Result<Block, ReadError> {
        if block.file != self.file {
            (self.file, self.line) = (block.file, 1);
        }
        let file = self.names[block.file].clone();
        let first_line = block.first_line.unwrap_or(self.line + block.header_lines);
        self.line = first_line + block.lines;
        if self.label_path.is_some() && !block.left_out.is_empty() {
            return Err(ReadError::UnplacedLabels { file: file.to_string() });
        }
        self.skipped += block.left_out.len() as u64;
        let room = 5_usize.saturating_sub(self.first_skipped.len());
        self.first_skipped.extend(block.left_out.into_iter().take(room));
        let mut rows = block.rows;
        for error in block.errors {
            let line = first_line + u64::from(error.line);
            rows.left_out.push(error.line);
            let complaint =
                ReadError::Line { file: file.to_string(), line, column: error.column, problem: error.problem };
            if !self.skip_bad {
                return Err(complaint);
            }
            self.skipped += 1;
            if self.first_skipped.len() < 5 {
                self.first_skipped.push(complaint.to_string());
            }
        }
        rows.left_out.sort_unstable();
        if let Some(path) = &self.label_path {
            if self.labels.is_none() {
                self.labels = Some(LabelFile::open(path, &self.stop)?);
            }
            self.labels.as_mut().expect("just opened").label(&mut rows)?;
        }
        Ok(Block { rows, file, first_line })
    }

    /// The sources, for messages.
    pub fn name(&self) -> String {
        self.names.join(", ")
    }

    /// The number of malformed lines skipped so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The first few messages about skipped lines.
    pub fn first_skipped(&self) -> &[String] {
        &self.first_skipped
    }

    /// The number of threads that read, beside the one that asks for blocks.
    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    /// Lets the threads that read look up the ids of features.
    pub fn share_ids(&mut self, ids: Arc<SharedIds>) {
        self.shared.ids.get_or_init(|| ids);
    }

    /// Bytes read from disk so far.
    pub fn bytes_read(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// The roles of the columns, if a table was read.
    pub fn columns(&self) -> Option<ModelSchema> {
        self.shared.columns.get().map(|(columns, _)| columns.as_ref().clone())
    }

    /// What was found out about the columns of tables.
    pub fn notes(&self) -> Vec<ColumnNote> {
        self.shared.columns.get().map(|(_, notes)| notes.clone()).unwrap_or_default()
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.shared.finished().stop = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            worker.join().ok();
        }
    }
}

impl Shared {
    fn new(sources: Vec<Source>, options: ReadOptions, threads: usize) -> Self {
        let bytes = Arc::new(AtomicU64::new(0));
        let only_workers_read = threads > 1 && sources.iter().any(Source::is_pipe);
        Shared {
            input: Mutex::new(Input::new(sources, options, bytes.clone())),
            finished: Mutex::default(),
            changed: Condvar::new(),
            bytes,
            columns: OnceLock::new(),
            ids: OnceLock::new(),
            only_workers_read,
        }
    }

    fn input(&self) -> MutexGuard<'_, Input> {
        self.input.lock().expect("no thread panicked while reading")
    }

    /// The input, for a worker. The consumer does not wait for it while another thread reads, perhaps from a pipe that
    /// is silent for hours: blocks that are ready would wait with it. It gets `None` after a moment, or when a block is
    /// ready.
    fn input_for(&self, is_worker: bool) -> Option<MutexGuard<'_, Input>> {
        if is_worker {
            return Some(self.input());
        }
        // Nor does it read from a pipe itself, where it would wait with the blocks of the workers.
        if !self.only_workers_read
            && let Ok(input) = self.input.try_lock()
        {
            return Some(input);
        }
        let mut finished = self.finished();
        finished.waiting += 1;
        let (mut finished, _) = self.changed.wait_timeout(finished, PATIENCE).expect("no thread panicked");
        finished.waiting -= 1;
        None
    }

    fn finished(&self) -> MutexGuard<'_, Finished> {
        self.finished.lock().expect("no thread panicked while handing on")
    }

    /// Waits for a change.
    fn sleep<'a>(&self, mut finished: MutexGuard<'a, Finished>) -> MutexGuard<'a, Finished> {
        finished.waiting += 1;
        finished = self.changed.wait(finished).expect("no thread panicked");
        finished.waiting -= 1;
        finished
    }

    /// Wakes the waiting threads.
    fn wake(&self, finished: MutexGuard<'_, Finished>) {
        if finished.waiting > 0 {
            drop(finished);
            self.changed.notify_all();
        }
    }

    /// Takes a block, parses it and stores it. Returns false at the end of the input.
    fn work(&self, wait_for_room: bool) -> bool {
        let mut finished = self.finished();
        while wait_for_room && !finished.stop && finished.end.is_none() && finished.taken >= finished.consumed + AHEAD {
            finished = self.sleep(finished);
        }
        if finished.stop || finished.end.is_some() {
            return false;
        }
        drop(finished);
        let Some(mut input) = self.input_for(wait_for_room) else { return true };
        let job = input.next();
        let number = input.number;
        input.number += u64::from(job.is_some());
        if self.columns.get().is_none()
            && let Some(columns) = input.columns()
        {
            self.columns.get_or_init(|| (columns, input.notes.clone()));
        }
        drop(input);
        let mut finished = self.finished();
        finished.taken = finished.taken.max(number + u64::from(job.is_some()));
        self.wake(finished);
        let Some(job) = job else {
            let mut finished = self.finished();
            finished.end.get_or_insert(number);
            self.wake(finished);
            return false;
        };
        let mut outcome = job.and_then(Job::run);
        // Looking ids up pays if the consumer has other blocks to go on with. It would look up those of its own blocks twice.
        if let (true, Ok(block), Some(ids)) = (wait_for_room, &mut outcome, self.ids.get())
            && self.finished().blocks.len() >= WAITING
        {
            block.rows.look_up_ids(ids);
        }
        let failed = outcome.is_err();
        let mut finished = self.finished();
        finished.blocks.insert(number, outcome);
        if failed {
            finished.end.get_or_insert(number + 1);
        }
        self.wake(finished);
        !failed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::io::{Compression, Format};

    /// A named pipe that somebody keeps open for writing, and a source that reads it.
    #[cfg(unix)]
    fn silent_pipe(folder: &std::path::Path) -> (std::fs::File, Source) {
        let path = folder.join("pipe.svm");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let writer = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let (format, compression) = (Format::Svmlight, Compression::None);
        (writer, Source { name: "pipe.svm".into(), path: Some(path), content: None, format, compression })
    }

    /// The thread that hands rows on must never wait for a pipe: here there is no worker yet, so that the lock of the
    /// input is free, and it takes the lock whenever it may.
    #[cfg(unix)]
    #[test]
    fn the_consumer_does_not_read_from_a_silent_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, source) = silent_pipe(folder.path());
        let options = ReadOptions::default();
        let stop = options.stop.clone();
        let shared = Arc::new(Shared::new(vec![source], options, 2));
        let (sender, returned) = channel();
        let consumer = |shared: Arc<Shared>, sender: std::sync::mpsc::Sender<bool>| {
            std::thread::spawn(move || sender.send(shared.work(false)))
        };
        consumer(shared.clone(), sender.clone());
        let answer = returned.recv_timeout(Duration::from_secs(20));
        assert_eq!(answer, Ok(true), "it comes back, and there may be more to do");
        assert_eq!(shared.input().number, 0, "it has read nothing");
        // A worker reads what comes, waits for more, and the consumer still comes back.
        let worker = shared.clone();
        let working = std::thread::spawn(move || while worker.work(true) {});
        std::io::Write::write_all(&mut writer, b"1 1:1\n0 2:1\n".repeat(1 << 15).as_slice()).unwrap();
        while shared.finished().blocks.is_empty() {
            std::thread::sleep(PATIENCE);
        }
        consumer(shared.clone(), sender);
        assert_eq!(returned.recv_timeout(Duration::from_secs(20)), Ok(true));
        stop.store(true, Ordering::Relaxed);
        working.join().unwrap();
    }

    #[test]
    fn a_regular_file_is_read_by_the_consumer_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svm");
        std::fs::write(&path, "1 1:1\n").unwrap();
        let sources = crate::io::expand(&[path.display().to_string()], None).unwrap();
        let shared = Shared::new(sources, ReadOptions::default(), 2);
        assert!(shared.work(false));
        assert_eq!(shared.finished().blocks.len(), 1);
    }
}
