//! Labels in a file of their own: a text file with a label a line, in the order of the rows.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::decompress::{io_error, open};
use super::source::recognise;
use super::{Format, ReadError, Source};
use crate::data::{Label, RawRows};

/// The longest label in bytes.
const LONGEST: u64 = 1 << 16;

/// A file of labels that is being read.
pub(super) struct LabelFile {
    source: Source,
    lines: Box<dyn BufRead + Send>,
    /// Labels taken so far.
    taken: u64,
}

impl LabelFile {
    pub(super) fn open(path: &Path, stop: &Arc<AtomicBool>) -> Result<LabelFile, ReadError> {
        let (_, compression) = recognise(path);
        let (name, path) = (path.display().to_string(), Some(PathBuf::from(path)));
        let source = Source { name, path, content: None, format: Format::Csv, compression };
        let opened = open(&source, Arc::default(), stop)?;
        Ok(LabelFile { source, lines: Box::new(BufReader::new(opened.reader)), taken: 0 })
    }

    /// Gives rows their labels. Rows that were left out have labels, too.
    pub(super) fn label(&mut self, rows: &mut RawRows) -> Result<(), ReadError> {
        let mut left_out = rows.left_out.clone().into_iter().peekable();
        for row in 0..rows.len() {
            while left_out.next_if(|&line| line < rows.lines[row]).is_some() {
                self.next()?;
            }
            rows.labels[row] = self.next()?;
        }
        left_out.try_for_each(|_| self.next().map(drop))
    }

    fn next(&mut self) -> Result<Label, ReadError> {
        match self.line()? {
            Some(text) => {
                let text = text.trim();
                self.taken += 1;
                if text.is_empty() {
                    return Err(ReadError::EmptyLabel { file: self.source.name.clone(), line: self.taken });
                }
                Label::parse(text)
                    .ok_or_else(|| ReadError::EmptyLabel { file: self.source.name.clone(), line: self.taken })
            }
            None => Err(ReadError::FewLabels { file: self.source.name.clone(), labels: self.taken }),
        }
    }

    /// Checks at the end of the rows that no label is left; empty lines at the end are none.
    pub(super) fn finish(&mut self) -> Result<(), ReadError> {
        while let Some(text) = self.line()? {
            if !text.trim().is_empty() {
                return Err(ReadError::ManyLabels { file: self.source.name.clone(), rows: self.taken });
            }
        }
        Ok(())
    }

    fn line(&mut self) -> Result<Option<String>, ReadError> {
        let failed = |error| io_error(&self.source, self.source.compression, error);
        let mut text = Vec::new();
        let length = std::io::Read::take(&mut self.lines, LONGEST).read_until(b'\n', &mut text).map_err(failed)?;
        if length as u64 == LONGEST {
            return Err(ReadError::LongLine { file: self.source.name.clone(), limit: LONGEST });
        }
        Ok((length > 0).then(|| String::from_utf8_lossy(&text).into_owned()))
    }
}
