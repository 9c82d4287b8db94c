//! A file of the log of a server: its records, in order.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::decompress::{io_error, open};
use super::read_options::{LARGEST_UNPACKED, ReadOptions};
use super::{ReadError, Source};
use crate::parse::row_log::{Found, Record, next_frame, records};

/// A file of a log. A server begins a new file after 64 MiB, so that one fits in memory.
pub(super) struct LogFile {
    name: String,
    bytes: Vec<u8>,
    at: usize,
    ahead: VecDeque<Record>,
}

impl LogFile {
    /// Reads the file.
    pub(super) fn open(source: &Source, options: &ReadOptions, count: Arc<AtomicU64>) -> Result<LogFile, ReadError> {
        let opened = open(source, count, &options.stop)?;
        let (name, limit) = (source.name.clone(), options.max_unpacked.unwrap_or(LARGEST_UNPACKED));
        let mut bytes = Vec::new();
        let read = opened.reader.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| io_error(source, opened.compression, error))?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::LargeUnpacked { file: name, limit });
        }
        Ok(LogFile { name, bytes, at: 0, ahead: VecDeque::new() })
    }

    /// The next record; `None` at the end, or before a frame that was not written to its end.
    pub(super) fn next(&mut self) -> Result<Option<Record>, ReadError> {
        let failed = |source| ReadError::Log { file: self.name.clone(), source };
        while self.ahead.is_empty() {
            let Found::Frame(body, end) = next_frame(&self.bytes, self.at).map_err(failed)? else { return Ok(None) };
            self.ahead.extend(records(body, self.at).map_err(failed)?);
            self.at = end;
        }
        Ok(self.ahead.pop_front())
    }
}
