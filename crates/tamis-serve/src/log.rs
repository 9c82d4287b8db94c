//! The log: every row is on disk before its sender is told so.
//!
//! ```text
//! LOG/000001/start.st                        the checkpoint that the server was started with
//! LOG/000001/00000000000000000001.tamislog   records from number 1 on (`tamis::parse::row_log`)
//! LOG/000001/checkpoint.st                   a later state, from which a restart goes on
//! LOG/000001/rows.waiting                    scored rows that wait for their labels
//! LOG/000002/…                               the same after a new model was put in place
//! ```
//! `tamis fit LOG/000001 --resume LOG/000001/start.st` gives the model of the server, byte for byte.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tamis::data::{LockFile, replace_file};
use tamis::io::Block;
use tamis::parse::row_log::{Found, Record, frame, next_frame, records};

use crate::error::ServeError;
use crate::pending::WAITING;

const START: &str = "start.st";
const CHECKPOINT: &str = "checkpoint.st";

/// The folder of a log, which one server has at a time.
pub struct LogFolder {
    root: PathBuf,
    _lock: LockFile,
}

impl LogFolder {
    /// Opens the folder; creates it if it is not there.
    pub fn open(root: &Path) -> Result<LogFolder, ServeError> {
        let failed = |source| ServeError::File { path: root.to_path_buf(), source };
        fs::create_dir_all(root).map_err(failed)?;
        let lock = LockFile::of(&root.join("log")).map_err(failed)?;
        let lock = lock.ok_or_else(|| ServeError::LogInUse { path: root.to_path_buf() })?;
        Ok(LogFolder { root: root.to_path_buf(), _lock: lock })
    }

    /// The models that were served, in order.
    fn generations(&self) -> Result<Vec<PathBuf>, ServeError> {
        let failed = |source| ServeError::File { path: self.root.clone(), source };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_number = path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
            if is_number && path.join(START).is_file() {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }

    /// The log of the last model. `given` is the checkpoint that the server is started with: the log is begun with it, or
    /// was.
    pub fn last(&self, given: (&Path, &[u8])) -> Result<PathBuf, ServeError> {
        let generations = self.generations()?;
        let (Some(first), Some(last)) = (generations.first(), generations.last()) else {
            return self.begin(given.1, &[]);
        };
        let start = first.join(START);
        let known = fs::read(&start).map_err(|source| ServeError::File { path: start, source })?;
        if known != given.1 {
            return Err(ServeError::OtherLog { path: self.root.clone(), given: given.0.to_path_buf() });
        }
        Ok(last.clone())
    }

    /// Begins the log of a new model. The folder takes its name when the checkpoint and the rows that wait for labels are
    /// in it.
    pub fn begin(&self, checkpoint: &[u8], waiting: &[u8]) -> Result<PathBuf, ServeError> {
        let number = self.generations()?.len() + 1;
        let (path, new) = (self.root.join(format!("{number:06}")), self.root.join(".new"));
        let failed = |source| ServeError::File { path: path.clone(), source };
        if new.exists() {
            fs::remove_dir_all(&new).map_err(failed)?;
        }
        fs::create_dir(&new).map_err(failed)?;
        replace_file(&new.join(START), checkpoint).map_err(failed)?;
        if !waiting.is_empty() {
            replace_file(&new.join(WAITING), waiting).map_err(failed)?;
        }
        fs::rename(&new, &path).map_err(failed)?;
        File::open(&self.root).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(path)
    }
}

/// The log of one model, open at its end.
pub struct Log {
    folder: PathBuf,
    file: Option<Segment>,
    /// The last record.
    pub sequence: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes since the last checkpoint.
    pub since_checkpoint: u64,
    is_broken: bool,
}

struct Segment {
    file: File,
    size: u64,
}

/// Where the log ended, to go back to.
#[derive(Clone, Copy)]
pub struct Mark {
    size: u64,
    bytes: u64,
    sequence: u64,
    has_file: bool,
}

impl Log {
    /// The state from which a restart goes on: the last checkpoint, or the first.
    pub fn state(folder: &Path) -> Result<(PathBuf, Vec<u8>), ServeError> {
        let path = [CHECKPOINT, START].map(|name| folder.join(name)).into_iter().find(|path| path.is_file());
        let path = path.unwrap_or_else(|| folder.join(START));
        let bytes = fs::read(&path).map_err(|source| ServeError::File { path: path.clone(), source })?;
        Ok((path, bytes))
    }

    /// Reads all records, cuts the torn end of the last file, and opens the log at its end.
    pub fn recover(
        folder: &Path,
        mut take: impl FnMut(Record, &Path) -> Result<(), ServeError>,
    ) -> Result<Log, ServeError> {
        let mut log =
            Log { folder: folder.into(), file: None, sequence: 0, bytes: 0, since_checkpoint: 0, is_broken: false };
        let files = segments(folder)?;
        for (number, path) in files.iter().enumerate() {
            let failed = |source| ServeError::File { path: path.clone(), source };
            let bytes = fs::read(path).map_err(failed)?;
            let end = log.read_segment(path, &bytes, number == 0, &mut take)?;
            if end < bytes.len() {
                if number + 1 < files.len() {
                    let reason = "the frame is not whole, and later files follow".to_string();
                    return Err(ServeError::DamagedLog { path: path.clone(), offset: end as u64, reason });
                }
                // Nobody was told that these bytes are on disk; they are kept all the same.
                replace_file(&path.with_extension("torn"), &bytes[end..]).map_err(failed)?;
            }
            log.bytes += end as u64;
            if number + 1 == files.len() {
                let mut file = File::options().write(true).open(path).map_err(failed)?;
                file.set_len(end as u64).and_then(|()| file.sync_all()).map_err(failed)?;
                file.seek(SeekFrom::End(0)).map_err(failed)?;
                log.file = Some(Segment { file, size: end as u64 });
            }
        }
        log.since_checkpoint = log.bytes;
        Ok(log)
    }

    /// Reads the frames of a file; returns where they end.
    fn read_segment(
        &mut self,
        path: &Path,
        bytes: &[u8],
        is_first: bool,
        take: &mut impl FnMut(Record, &Path) -> Result<(), ServeError>,
    ) -> Result<usize, ServeError> {
        let damaged =
            |offset: usize, reason: String| ServeError::DamagedLog { path: path.into(), offset: offset as u64, reason };
        let mut at = 0;
        loop {
            let found = next_frame(bytes, at)
                .map_err(|_| damaged(at, "the checksum of a frame is wrong, and whole frames follow".into()))?;
            let Found::Frame(body, end) = found else { return Ok(at) };
            for record in records(body, at).map_err(|error| damaged(at, error.to_string()))? {
                let is_next = record.sequence == self.sequence + 1 || (is_first && at == 0 && self.sequence == 0);
                if !is_next {
                    let reason = format!("record {} follows record {}", record.sequence, self.sequence);
                    return Err(damaged(at, reason));
                }
                self.sequence = record.sequence;
                take(record, path)?;
            }
            at = end;
        }
    }

    /// Where the log ends.
    pub fn mark(&self) -> Mark {
        let size = self.file.as_ref().map_or(0, |segment| segment.size);
        Mark { size, bytes: self.bytes, sequence: self.sequence, has_file: self.file.is_some() }
    }

    /// Writes records and brings them to disk. After an error the log is as it was.
    pub fn append(&mut self, body: &[u8], last: u64, limit: u64) -> io::Result<()> {
        let bytes = frame(body);
        if self.is_broken {
            return Err(io::Error::other("an earlier write could not be undone; restart the server"));
        }
        if self.bytes.saturating_add(bytes.len() as u64) > limit {
            return Err(io::Error::new(io::ErrorKind::StorageFull, format!("the log may have {limit} bytes")));
        }
        let mark = self.mark();
        let written = self.write(&bytes);
        if written.is_err() {
            self.undo(mark);
            return written;
        }
        self.bytes += bytes.len() as u64;
        self.since_checkpoint += bytes.len() as u64;
        self.sequence = last;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            let path = self.folder.join(format!("{:020}.tamislog", self.sequence + 1));
            let file = File::create_new(&path)?;
            File::open(&self.folder)?.sync_all()?;
            self.file = Some(Segment { file, size: 0 });
        }
        let segment = self.file.as_mut().expect("opened above");
        segment.file.write_all(bytes)?;
        segment.size += bytes.len() as u64;
        segment.file.sync_data().inspect_err(|_| self.is_broken = true)
    }

    /// Goes back to where the log ended. The records after it were not acknowledged.
    pub fn undo(&mut self, mark: Mark) {
        let Some(segment) = &mut self.file else { return };
        let size = if mark.has_file { mark.size } else { 0 };
        let undone = segment.file.set_len(size).and_then(|()| segment.file.seek(SeekFrom::Start(size)));
        self.is_broken |= undone.and_then(|_| segment.file.sync_all()).is_err();
        segment.size = size;
        (self.bytes, self.sequence) = (mark.bytes, mark.sequence);
    }

    /// Replaces the checkpoint, and begins a new file if this one is long.
    pub fn checkpoint(&mut self, state: &[u8], segment: u64) -> io::Result<()> {
        replace_file(&self.folder.join(CHECKPOINT), state)?;
        self.since_checkpoint = 0;
        if self.file.as_ref().is_some_and(|file| file.size >= segment) {
            self.file = None;
        }
        Ok(())
    }
}

/// The files of a log, in order.
fn segments(folder: &Path) -> Result<Vec<PathBuf>, ServeError> {
    let failed = |source| ServeError::File { path: folder.to_path_buf(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "tamislog") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The rows of a record as a block; its first line is the number of its first row in the training.
pub fn block_of(record: Record, path: &Path) -> Block {
    Block { rows: record.rows, file: path.display().to_string().into(), first_line: record.first_row }
}
