//! The header of a table, its delimiter, and the survey of its first rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::decompress::{Opened, io_error, open, seekable};
use super::line_blocks::{BlockCutter, NextBlock};
use super::memory::memory_of_this_machine;
use super::read_options::{LARGEST_UNPACKED, LONGEST_LINE, ReadOptions};
use super::{Compression, Format, ReadError, Source};
use crate::columnar::{ColumnarKind, ColumnarLimits, ColumnarReader};
use crate::parse::csv::{header, survey};
use crate::parse::schema::SchemaOptions;
use crate::parse::survey::Survey;
use crate::parse::{NumberRows, count_lines, json_table};

/// A block of text to parse.
#[derive(Default)]
pub(super) struct TextBlock {
    pub(super) bytes: Vec<u8>,
    /// The lines of a header before it.
    pub(super) header_lines: u64,
    /// The numbers of rows that a survey has parsed.
    pub(super) known: Option<Arc<NumberRows>>,
}

impl TextBlock {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        TextBlock { bytes, ..TextBlock::default() }
    }
}

/// A text file that is open, and blocks that were read ahead.
pub(super) struct ReadAhead {
    cutter: BlockCutter,
    pub(super) blocks: VecDeque<TextBlock>,
    compression: Compression,
    longest_line: u64,
}

impl ReadAhead {
    /// Opens a file and reads its first block; `None` if the file is empty.
    pub(super) fn open(
        source: &Source,
        is_table: bool,
        options: &ReadOptions,
        bytes: Arc<AtomicU64>,
    ) -> Result<(ReadAhead, Option<Vec<u8>>), ReadError> {
        let Opened { reader, compression } = open(source, bytes, &options.stop)?;
        let failed = |error| io_error(source, compression, error);
        let longest_line = options.max_line.unwrap_or(LONGEST_LINE);
        let reader = options.syntax.encoding.decode(reader).map_err(failed)?;
        let cutter = BlockCutter::new(reader, is_table, options.live, longest_line as usize);
        let mut ahead = ReadAhead { cutter, blocks: VecDeque::new(), compression, longest_line };
        let block = ahead.next(source)?;
        Ok((ahead, block))
    }

    /// The next block to parse.
    pub(super) fn take(&mut self, source: &Source) -> Result<Option<TextBlock>, ReadError> {
        match self.blocks.pop_front() {
            Some(ahead) => Ok(Some(ahead)),
            None => Ok(self.next(source)?.map(TextBlock::new)),
        }
    }

    fn next(&mut self, source: &Source) -> Result<Option<Vec<u8>>, ReadError> {
        match self.cutter.next().map_err(|error| io_error(source, self.compression, error))? {
            NextBlock::Block(block) => Ok(Some(block)),
            NextBlock::LongLine => {
                let (file, limit) = (source.name.clone(), self.longest_line);
                match source.format {
                    Format::Csv | Format::Tsv => Err(ReadError::LongRecord { file, limit }),
                    _ => Err(ReadError::LongLine { file, limit }),
                }
            }
            NextBlock::End => Ok(None),
        }
    }

    /// Observes rows, which stay ahead, until the survey has enough. `observe` gets a block and its first line, and returns the
    /// numbers that it parsed.
    pub(super) fn survey(
        &mut self,
        source: &Source,
        found: &mut Survey,
        observe: impl Fn(&[u8], u64, &mut Survey) -> Option<Arc<NumberRows>>,
    ) -> Result<(), ReadError> {
        let (mut at, mut line) = (0, 1);
        loop {
            if at == self.blocks.len() {
                match self.next(source)? {
                    Some(block) => self.blocks.push_back(TextBlock::new(block)),
                    None => return Ok(()),
                }
            }
            let block = &mut self.blocks[at];
            line += block.header_lines;
            block.known = observe(&block.bytes, line, found);
            if found.is_full() {
                return Ok(());
            }
            line += u64::from(count_lines(&block.bytes));
            at += 1;
        }
    }
}

/// A table in text of which the header was read.
pub(super) struct TableHead {
    pub(super) names: Vec<String>,
    pub(super) delimiter: u8,
    pub(super) ahead: ReadAhead,
}

impl TableHead {
    pub(super) fn open(
        source: &Source,
        usual: u8,
        options: &ReadOptions,
        bytes: Arc<AtomicU64>,
    ) -> Result<TableHead, ReadError> {
        let syntax = &options.syntax;
        let (mut ahead, block) = ReadAhead::open(source, true, options, bytes)?;
        let block = block.ok_or_else(|| ReadError::NoHeader { file: source.name.clone() })?;
        if !block.contains(&b'\n') && block.trim_ascii_end().contains(&b'\r') {
            return Err(ReadError::OldLineEnds { file: source.name.clone() });
        }
        let delimiter = syntax.delimiter.unwrap_or_else(|| delimiter_of(&block, usual));
        let at = |problem| ReadError::Line { file: source.name.clone(), line: 1, column: 1, problem };
        let (mut names, mut start) = header(&block, delimiter).map_err(at)?;
        if syntax.no_header {
            names = (1..=names.len()).map(|number| number.to_string()).collect();
            start = if block.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        }
        let header_lines = u64::from(count_lines(&block[..start]));
        ahead.blocks.push_back(TextBlock { bytes: block[start..].to_vec(), header_lines, known: None });
        Ok(TableHead { names, delimiter, ahead })
    }

    /// Observes rows, which stay ahead, until the survey has enough.
    pub(super) fn survey(
        &mut self,
        source: &Source,
        options: &SchemaOptions,
        found: &mut Survey,
    ) -> Result<(), ReadError> {
        found.begin(&self.names);
        found.keep_text_of(&options.categorical);
        found.keep_text_of(&options.keep);
        let delimiter = self.delimiter;
        self.ahead.survey(source, found, |block, line, found| survey(block, delimiter, &source.name, line, found))
    }
}

/// A file of JSON lines of which the first block was read, and whether its lines are flat.
pub(super) fn open_json(
    source: &Source,
    options: &ReadOptions,
    bytes: Arc<AtomicU64>,
) -> Result<(ReadAhead, bool), ReadError> {
    let (mut ahead, block) = ReadAhead::open(source, false, options, bytes)?;
    let is_flat = block.as_deref().is_some_and(json_table::is_flat);
    ahead.blocks.extend(block.map(TextBlock::new));
    Ok((ahead, is_flat))
}

/// Surveys flat JSON lines, which stay ahead.
pub(super) fn survey_json(ahead: &mut ReadAhead, source: &Source, found: &mut Survey) -> Result<(), ReadError> {
    ahead.survey(source, found, |block, line, found| {
        json_table::survey(block, &source.name, line, found);
        None
    })
}

/// The usual delimiter, or the one that separates the fields of the header if the usual one is not in it.
fn delimiter_of(block: &[u8], usual: u8) -> u8 {
    let line = block.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let count = |delimiter: u8| {
        let mut quoted = false;
        line.iter()
            .filter(|&&byte| {
                quoted ^= byte == b'"';
                byte == delimiter && !quoted
            })
            .count()
    };
    if count(usual) > 0 {
        return usual;
    }
    let other = [b';', b'\t', b'|'].into_iter().max_by_key(|&delimiter| count(delimiter));
    other.filter(|&delimiter| count(delimiter) > 0).unwrap_or(usual)
}

/// Surveys a table in text that the stream has not reached yet.
pub(super) fn survey_text(
    source: &Source,
    usual: u8,
    options: &ReadOptions,
    columns: &SchemaOptions,
    found: &mut Survey,
) -> Result<(), ReadError> {
    let mut head = TableHead::open(source, usual, options, Arc::default())?;
    head.survey(source, columns, found)
}

/// What a columnar file may ask for. A batch is decompressed in memory.
pub(super) fn columnar_limits(options: &ReadOptions) -> ColumnarLimits {
    ColumnarLimits {
        row: options.max_line.unwrap_or(LONGEST_LINE),
        batch: options.max_unpacked.unwrap_or_else(|| memory_of_this_machine().min(LARGEST_UNPACKED)),
    }
}

/// Surveys a columnar file, and returns the reader of it.
pub(super) fn survey_columnar(
    source: &Source,
    kind: ColumnarKind,
    read: &ReadOptions,
    options: &SchemaOptions,
    found: &mut Survey,
) -> Result<ColumnarReader, ReadError> {
    let named = |error| ReadError::Columnar { file: source.name.clone(), source: error };
    let file = seekable(source, read, Arc::default())?;
    let mut reader = ColumnarReader::open_for_survey(file, kind, options, columnar_limits(read)).map_err(named)?;
    reader.survey(&source.name, found).map_err(named)?;
    Ok(reader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_delimiter() {
        assert_eq!(delimiter_of(b"a,b;c\n", b','), b',');
        assert_eq!(delimiter_of(b"\na;b;y\n1,5;2;0\n", b','), b';');
        assert_eq!(delimiter_of(b"a|b\n", b','), b'|');
        assert_eq!(delimiter_of(b"\"a;b\"\n", b','), b',', "not within quotes");
        assert_eq!(delimiter_of(b"y\n1\n", b','), b',');
    }
}
