//! A Parquet file that is read in large pieces: a table of many columns has many small parts, and to read each by itself takes
//! longer than to decode it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// The bytes of a piece. Larger parts are read by themselves.
const PIECE: u64 = 1 << 18;

/// A file, and the piece that was read last.
#[derive(Clone)]
pub(super) struct PiecewiseFile {
    length: u64,
    last: Arc<Mutex<LastPiece>>,
}

struct LastPiece {
    file: File,
    start: u64,
    bytes: Bytes,
}

/// Reads from some place on.
pub(super) struct PieceReader {
    file: PiecewiseFile,
    at: u64,
    /// The bytes around this place that are at hand, and how many of them were read.
    piece: Bytes,
    read: usize,
}

impl PiecewiseFile {
    pub(super) fn new(mut file: File) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        let last = LastPiece { file, start: 0, bytes: Bytes::new() };
        Ok(PiecewiseFile { length, last: Arc::new(Mutex::new(last)) })
    }

    /// Bytes from `start` on: at least as many as these, but for the end of the file.
    fn at_least(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let mut last = self.last.lock().map_err(|_| io::Error::other("a thread panicked while reading"))?;
        let length = length.min(self.length.saturating_sub(start));
        let within = |last: &LastPiece| start >= last.start && start + length <= last.start + last.bytes.len() as u64;
        if !within(&last) {
            let wanted = length.max(PIECE.min(self.length.saturating_sub(start)));
            let mut bytes = Vec::with_capacity(wanted as usize);
            last.file.seek(SeekFrom::Start(start))?;
            (&last.file).take(wanted).read_to_end(&mut bytes)?;
            (last.start, last.bytes) = (start, bytes.into());
        }
        Ok(last.bytes.slice((start - last.start) as usize..))
    }
}

impl Length for PiecewiseFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for PiecewiseFile {
    type T = PieceReader;

    fn get_read(&self, start: u64) -> Result<PieceReader> {
        Ok(PieceReader { file: self.clone(), at: start, piece: Bytes::new(), read: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.at_least(start, length as u64)?;
        match bytes.len() >= length {
            true => Ok(bytes.slice(..length)),
            false => Err(ParquetError::EOF(format!("expected {length} bytes at {start}, found {}", bytes.len()))),
        }
    }
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.piece.len() {
            (self.piece, self.read) = (self.file.at_least(self.at, 1)?, 0);
        }
        let length = buffer.len().min(self.piece.len() - self.read);
        buffer[..length].copy_from_slice(&self.piece[self.read..self.read + length]);
        self.read += length;
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::fixtures::file;

    #[test]
    fn parts_are_those_of_the_file() {
        let content: Vec<u8> =
            (0..5 * PIECE as u32 / 2).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let pieces = PiecewiseFile::new(file(&content)).unwrap();
        assert_eq!(pieces.len(), content.len() as u64);
        for (start, length) in [(0, 10), (5, 20), (PIECE - 3, 8), (7, 2 * PIECE), (2 * PIECE, PIECE / 2), (1, 1)] {
            let expected = &content[start as usize..(start + length) as usize];
            assert_eq!(pieces.get_bytes(start, length as usize).unwrap(), expected);
            let mut read = vec![0; length as usize];
            pieces.get_read(start).unwrap().read_exact(&mut read).unwrap();
            assert_eq!(read, expected);
        }
        let error = pieces.get_bytes(content.len() as u64 - 1, 2).unwrap_err().to_string();
        assert!(error.contains("expected 2 bytes"), "{error}");
        assert_eq!(pieces.get_read(content.len() as u64).unwrap().read(&mut [0; 4]).unwrap(), 0);
    }
}
