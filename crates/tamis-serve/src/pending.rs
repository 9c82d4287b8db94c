//! Rows that were scored and wait for their labels. They are in a file beside the log, so that a restart knows them.
//!
//! The file has the form of the log (`tamis::parse::row_log`): a record for each row, with its number, the time when it
//! came (milliseconds since 1970) and its id. A record of the log says which of them it learned. The file is written anew
//! without the rows that are gone when these take most of it.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tamis::data::{RawRows, replace_file};
use tamis::parse::row_log::{Found, LateRow, RecordHead, frame, next_frame, push_record, records};

use crate::error::ServeError;

/// The name of the file in the folder of a model.
pub const WAITING: &str = "rows.waiting";
/// Bytes in memory of a row that waits, beyond those of its record.
const OVERHEAD: usize = 256;
/// Bytes of rows that are gone, from which on the file is written anew.
const GARBAGE: u64 = 16 << 20;

/// Scored rows with their ids.
pub type NamedRows = Vec<(String, RawRows)>;

/// How many rows wait, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct PendingLimits {
    /// Rows.
    pub rows: usize,
    /// Bytes of their records.
    pub bytes: u64,
    /// How long a row waits.
    pub time: Duration,
}

struct Waiting {
    row: RawRows,
    number: u64,
    since: u64,
    bytes: u64,
}

/// Scored rows by their ids.
pub struct Pending {
    rows: HashMap<String, Waiting>,
    /// Ids in the order in which they came, with the number that tells a row from a later one with its id.
    order: VecDeque<(String, u64)>,
    /// The number of the next row.
    next: u64,
    /// Bytes of the records of the rows that wait.
    bytes: u64,
    limits: PendingLimits,
    path: PathBuf,
    file: Option<File>,
    /// Bytes of the file.
    size: u64,
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

impl Pending {
    /// The rows that wait in the folder of a model. A torn end was not acknowledged and is cut; damage is refused.
    pub fn recover(folder: &Path, limits: PendingLimits) -> Result<Pending, ServeError> {
        let path = folder.join(WAITING);
        let failed = |source| ServeError::File { path: path.clone(), source };
        let mut pending = Pending {
            rows: HashMap::new(),
            order: VecDeque::new(),
            next: 1,
            bytes: 0,
            limits,
            path: path.clone(),
            file: None,
            size: 0,
        };
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(pending),
            other => other.map_err(failed)?,
        };
        let damaged = |offset: usize, reason: String| ServeError::DamagedLog {
            path: path.clone(),
            offset: offset as u64,
            reason,
        };
        let mut at = 0;
        while let Found::Frame(body, end) = next_frame(&bytes, at)
            .map_err(|_| damaged(at, "the checksum of a frame is wrong, and whole frames follow".into()))?
        {
            for record in records(body, at).map_err(|error| damaged(at, error.to_string()))? {
                pending.insert(record.key, record.rows, record.sequence, record.first_row);
            }
            at = end;
        }
        pending.open(at as u64).map_err(failed)?;
        Ok(pending)
    }

    /// Opens the file, which ends at `size`.
    fn open(&mut self, size: u64) -> io::Result<()> {
        let mut file = File::options().write(true).create(true).truncate(false).open(&self.path)?;
        file.set_len(size).and_then(|()| file.sync_all())?;
        file.seek(SeekFrom::Start(size))?;
        (self.file, self.size) = (Some(file), size);
        Ok(())
    }

    /// The number of rows that wait.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Remembers rows with their ids, on disk; a row with the same id is replaced. Returns how many rows expired. After an
    /// error, nothing has changed.
    pub fn add(&mut self, rows: NamedRows, now: u64) -> io::Result<u64> {
        let mut body = Vec::new();
        for (number, (id, row)) in (self.next..).zip(&rows) {
            push_record(&mut body, &RecordHead { sequence: number, first_row: now, key: id, late: &[] }, row);
        }
        self.append(&frame(&body))?;
        for (id, row) in rows {
            self.insert(id, row, self.next, now);
        }
        Ok(self.expire(now))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.open(0)?;
            File::open(self.path.parent().expect("a file in a folder"))?.sync_all()?;
        }
        let file = self.file.as_mut().expect("opened above");
        if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_data()) {
            // What was written of it is cut, or overwritten when the file is opened again.
            self.file = None;
            self.open(self.size)?;
            return Err(error);
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn insert(&mut self, id: String, row: RawRows, number: u64, since: u64) {
        let mut record = Vec::new();
        push_record(&mut record, &RecordHead { key: &id, ..RecordHead::default() }, &row);
        let bytes = (OVERHEAD + record.len()) as u64;
        self.order.push_back((id.clone(), number));
        self.forget(&id);
        self.rows.insert(id, Waiting { row, number, since, bytes });
        self.bytes += bytes;
        self.next = self.next.max(number + 1);
    }

    /// Forgets rows that are too old, or too many. Returns how many.
    pub fn expire(&mut self, now: u64) -> u64 {
        let (mut expired, limits) = (0, self.limits);
        while let Some((id, number)) = self.order.front() {
            let current = self.rows.get(id).filter(|row| row.number == *number);
            let is_late = |row: &Waiting| u128::from(now.saturating_sub(row.since)) >= limits.time.as_millis();
            let has_room = self.rows.len() <= limits.rows && self.bytes <= limits.bytes;
            if current.is_some_and(|row| has_room && !is_late(row)) {
                break;
            }
            let is_current = current.is_some();
            let (id, _) = self.order.pop_front().expect("there is one");
            if is_current {
                self.forget(&id);
                expired += 1;
            }
        }
        expired
    }

    /// The row with an id, and where it waits.
    pub fn get(&self, id: &str) -> Option<(&RawRows, LateRow)> {
        self.rows.get(id).map(|found| (&found.row, LateRow { number: found.number, id: id.into() }))
    }

    /// Forgets a row that has its label, unless a later one has taken its id.
    pub fn answered(&mut self, late: &LateRow) {
        self.next = self.next.max(late.number + 1);
        if self.rows.get(&late.id).is_some_and(|row| row.number == late.number) {
            self.forget(&late.id);
        }
    }

    fn forget(&mut self, id: &str) {
        if let Some(gone) = self.rows.remove(id) {
            self.bytes -= gone.bytes;
        }
    }

    /// The content of a file with the rows that wait.
    pub fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for (id, number) in &self.order {
            let Some(found) = self.rows.get(id).filter(|row| row.number == *number) else { continue };
            let mut body = Vec::new();
            let head = RecordHead { sequence: *number, first_row: found.since, key: id, late: &[] };
            push_record(&mut body, &head, &found.row);
            content.extend(frame(&body));
        }
        content
    }

    /// Writes the file without the rows that are gone, if they take most of it or all of them must go.
    pub fn compact(&mut self, always: bool) -> io::Result<()> {
        if self.file.is_none() || !(always || self.size > GARBAGE + 4 * self.bytes) {
            return Ok(());
        }
        let content = self.content();
        replace_file(&self.path, &content)?;
        self.open(content.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::data::Label;

    fn row(value: f64) -> RawRows {
        let mut row = RawRows::by_name();
        row.push_name(&["a"], value);
        row.end_row(Label::Absent, 1.0, 0);
        row
    }

    fn named(rows: &[(&str, f64)]) -> NamedRows {
        rows.iter().map(|(id, value)| (id.to_string(), row(*value))).collect()
    }

    fn value(pending: &Pending, id: &str) -> Option<RawRows> {
        pending.get(id).map(|(row, _)| row.clone())
    }

    const LIMITS: PendingLimits = PendingLimits { rows: 2, bytes: 1 << 20, time: Duration::from_secs(10) };

    #[test]
    fn rows_wait_for_a_while_and_not_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let mut pending = Pending::recover(folder.path(), LIMITS).unwrap();
        assert_eq!(pending.add(named(&[("a", 1.0), ("b", 2.0)]), 0).unwrap(), 0);
        assert_eq!(pending.add(named(&[("a", 3.0)]), 5000).unwrap(), 0, "the same id is replaced");
        assert_eq!(value(&pending, "a"), Some(row(3.0)));
        assert_eq!(pending.expire(11_000), 1, "b is too old");
        assert_eq!((value(&pending, "b"), pending.len()), (None, 1));
        assert_eq!(pending.add(named(&[("c", 1.0), ("d", 1.0)]), 12_000).unwrap(), 1, "a makes room");
        pending.answered(&pending.get("c").unwrap().1);
        assert_eq!((pending.len(), pending.expire(13_000)), (1, 0));
        let mut small = Pending::recover(folder.path(), PendingLimits { bytes: 700, ..LIMITS }).unwrap();
        small.add(named(&[("e", 1.0), ("f", 1.0)]), 12_000).unwrap();
        assert_eq!((small.len(), value(&small, "f")), (2, Some(row(1.0))), "older ones are gone: {}", small.bytes);
        assert_eq!(small.add(named(&[("g", 1.0)]), 12_000).unwrap(), 1);
    }

    #[test]
    fn a_restart_knows_what_waits_and_what_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let limits = PendingLimits { rows: 100, ..LIMITS };
        let mut pending = Pending::recover(folder.path(), limits).unwrap();
        pending.add(named(&[("a", 1.0), ("b", 2.0)]), 0).unwrap();
        let first = pending.get("a").unwrap().1;
        pending.answered(&first);
        pending.add(named(&[("a", 4.0)]), 1000).unwrap();
        let mut again = Pending::recover(folder.path(), limits).unwrap();
        again.answered(&first);
        assert_eq!([value(&again, "a"), value(&again, "b")], [Some(row(4.0)), Some(row(2.0))], "a came again");
        assert_eq!(again.expire(10_500), 1, "the time goes on");
        again.compact(true).unwrap();
        let size = fs::metadata(folder.path().join(WAITING)).unwrap().len();
        assert_eq!(size, again.content().len() as u64);
        assert_eq!(Pending::recover(folder.path(), limits).unwrap().len(), 1);
        // A torn end is cut, damage is told.
        let path = folder.path().join(WAITING);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [&whole[..], &whole[..whole.len() - 1]].concat()).unwrap();
        assert_eq!(Pending::recover(folder.path(), limits).unwrap().len(), 1);
        assert_eq!(fs::read(&path).unwrap(), whole);
        let mut bad = [&whole[..], &whole[..]].concat();
        bad[20] ^= 1;
        fs::write(&path, bad).unwrap();
        let error = Pending::recover(folder.path(), limits).err().unwrap().to_string();
        assert!(error.contains("rows.waiting: damaged at byte 0: the checksum"), "{error}");
    }
}
