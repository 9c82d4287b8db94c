//! Opens sources one after the other and splits them into blocks that can be parsed on any thread.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::decompress::{io_error, open, seekable};
use super::line_blocks::{BlockCutter, NextBlock};
use super::row_stream::{LONGEST_LINE, ReadOptions};
use super::{Compression, Format, ReadError, Source};
use crate::columnar::{ColumnarError, ColumnarKind, ColumnarReader};
use crate::data::RawRows;
use crate::parse::csv::{Table, header, numeric_columns};
use crate::parse::jsonl::JsonLines;
use crate::parse::missing::MissingPolicy;
use crate::parse::schema::{ModelSchema, Schema, SchemaOptions};
use crate::parse::svmlight::Svmlight;
use crate::parse::vw::VowpalWabbit;
use crate::parse::{LineParser, ParseError, parse_lines};

/// A block parsed, or the reason the stream ends here.
pub(super) type Outcome = Result<ParsedBlock, ReadError>;

/// The rows of a block, its errors and its position.
pub(super) struct ParsedBlock {
    pub(super) rows: RawRows,
    pub(super) errors: Vec<ParseError>,
    /// Messages about the malformed rows of a columnar file.
    pub(super) left_out: Vec<String>,
    pub(super) lines: u64,
    pub(super) file: usize,
    pub(super) header_lines: u64,
    /// The first line, where the file knows it.
    pub(super) first_line: Option<u64>,
}

/// Parses a block of the open file: rows and the number of lines.
pub(super) type TextParser = Arc<dyn Fn(&[u8], &mut Vec<ParseError>) -> (RawRows, u32) + Send + Sync>;

/// A parser of lines whose features have names.
fn by_name(parser: impl LineParser + Send + Sync + 'static) -> TextParser {
    Arc::new(move |bytes, errors| {
        let mut rows = RawRows::by_name();
        let lines = parse_lines(bytes, &parser, &mut rows, errors);
        (rows, lines)
    })
}

/// A parser of lines whose features have numbers.
fn by_index(parser: impl LineParser + Send + Sync + 'static) -> TextParser {
    Arc::new(move |bytes, errors| {
        let mut rows = RawRows::for_text(bytes.len());
        let lines = parse_lines(bytes, &parser, &mut rows, errors);
        (rows, lines)
    })
}

/// A block of bytes to parse, or rows that are already parsed.
pub(super) struct Job {
    file: usize,
    header_lines: u64,
    work: Work,
}

pub(super) enum Work {
    Text(Vec<u8>, TextParser),
    /// Rows, the file's row with line 0, and complaints about rows left out.
    Done(Box<RawRows>, u64, Vec<String>),
}

impl Job {
    pub(super) fn run(self) -> Outcome {
        let mut errors = Vec::new();
        let (mut left_out, mut first_line) = (Vec::new(), None);
        let (rows, lines) = match self.work {
            Work::Done(rows, first, complaints) => {
                (left_out, first_line) = (complaints, Some(first));
                (*rows, 0)
            }
            Work::Text(bytes, parser) => {
                let (rows, lines) = parser(&bytes, &mut errors);
                (rows, lines.into())
            }
        };
        Ok(ParsedBlock { rows, errors, left_out, lines, file: self.file, header_lines: self.header_lines, first_line })
    }
}

/// The sources and the one that is open.
pub(super) struct Input {
    sources: Vec<Source>,
    options: ReadOptions,
    bytes: Arc<AtomicU64>,
    open: Option<OpenFile>,
    next_file: usize,
    pub(super) number: u64,
    pub(super) known: Option<ModelSchema>,
}

pub(super) enum OpenFile {
    Text { cutter: BlockCutter, compression: Compression, parser: TextParser, ahead: Option<(Vec<u8>, u64)> },
    Columnar(Box<ColumnarReader>),
}

impl Input {
    pub(super) fn new(sources: Vec<Source>, options: ReadOptions, bytes: Arc<AtomicU64>) -> Self {
        Input { sources, options, bytes, open: None, next_file: 0, number: 0, known: None }
    }

    pub(super) fn next(&mut self) -> Option<Result<Job, ReadError>> {
        loop {
            let file = self.next_file.wrapping_sub(1);
            let source = self.sources.get(file);
            match (&mut self.open, source) {
                (Some(open), Some(source)) => match open.next(source, &self.options) {
                    Ok(Some((work, header_lines))) => return Some(Ok(Job { file, header_lines, work })),
                    Ok(None) => self.open = None,
                    Err(error) => return Some(Err(error)),
                },
                _ => match self.sources.get(self.next_file).cloned() {
                    None => return None,
                    Some(source) => {
                        self.next_file += 1;
                        match self.open_file(&source) {
                            Ok(open) => self.open = Some(open),
                            Err(error) => return Some(Err(error)),
                        }
                    }
                },
            }
        }
    }

    fn open_file(&mut self, source: &Source) -> Result<OpenFile, ReadError> {
        let missing = self.options.columns.missing;
        match source.format {
            Format::Svmlight => {
                let parser = Svmlight { zero_based: self.options.zero_based };
                self.open_lines(source, by_index(MissingPolicy { parser, missing }))
            }
            Format::VowpalWabbit => self.open_lines(source, by_name(MissingPolicy { parser: VowpalWabbit, missing })),
            Format::JsonLines => self.open_lines(source, by_name(JsonLines { missing })),
            Format::Csv => self.open_table(source, b','),
            Format::Tsv => self.open_table(source, b'\t'),
            Format::Parquet => self.open_columnar(source, ColumnarKind::Parquet),
            Format::Arrow => self.open_columnar(source, ColumnarKind::Ipc),
            Format::Npz => self.open_columnar(source, ColumnarKind::Npz),
        }
    }

    fn open_columnar(&mut self, source: &Source, kind: ColumnarKind) -> Result<OpenFile, ReadError> {
        let file = seekable(source, &self.options, self.bytes.clone())?;
        let named = |error| ReadError::Columnar { file: source.name.clone(), source: error };
        let options = self.column_options();
        let reader = ColumnarReader::open(file, kind, &options).map_err(named)?;
        if let Some(columns) = reader.columns() {
            self.known.get_or_insert(columns.known());
        }
        Ok(OpenFile::Columnar(Box::new(reader)))
    }

    fn open_lines(&self, source: &Source, parser: TextParser) -> Result<OpenFile, ReadError> {
        let opened = open(source, self.bytes.clone(), &self.options.stop)?;
        let cutter = BlockCutter::new(opened.reader, false, self.options.live, self.longest_line() as usize);
        Ok(OpenFile::Text { cutter, compression: opened.compression, parser, ahead: None })
    }

    fn open_table(&mut self, source: &Source, delimiter: u8) -> Result<OpenFile, ReadError> {
        let opened = open(source, self.bytes.clone(), &self.options.stop)?;
        let compression = opened.compression;
        let mut cutter = BlockCutter::new(opened.reader, true, self.options.live, self.longest_line() as usize);
        let block = match cutter.next().map_err(|error| io_error(source, compression, error))? {
            NextBlock::Block(block) => block,
            NextBlock::LongLine => {
                return Err(ReadError::LongRecord { file: source.name.clone(), limit: self.longest_line() });
            }
            NextBlock::End => return Err(ReadError::NoHeader { file: source.name.clone() }),
        };
        if !block.contains(&b'\n') && block.trim_ascii_end().contains(&b'\r') {
            return Err(ReadError::OldLineEnds { file: source.name.clone() });
        }
        let (table, start) = self.table(source, &block, delimiter)?;
        let lines = memchr::memchr_iter(b'\n', &block[..start]).count() as u64;
        let parser: TextParser = Arc::new(move |bytes, errors| {
            let mut rows = RawRows::by_name();
            let lines = table.parse(bytes, &mut rows, errors);
            (rows, lines)
        });
        Ok(OpenFile::Text { cutter, compression, parser, ahead: Some((block[start..].to_vec(), lines)) })
    }

    fn longest_line(&self) -> u64 {
        self.options.max_line.unwrap_or(LONGEST_LINE)
    }

    /// The options of the user, with the schema of the first table of the stream.
    fn column_options(&self) -> SchemaOptions {
        let mut options = self.options.columns.clone();
        options.known = options.known.or(self.known.clone());
        options
    }

    fn table(&mut self, source: &Source, block: &[u8], delimiter: u8) -> Result<(Table, usize), ReadError> {
        let file = source.name.clone();
        let at = |problem| ReadError::Line { file: file.clone(), line: 1, column: 1, problem };
        let (names, start) = header(block, delimiter).map_err(at)?;
        let looks = numeric_columns(&block[start..], delimiter, names.len());
        let options = self.column_options();
        let columns = Schema::resolve(names, |at| looks[at], &options);
        let columns = columns.map_err(|error| ReadError::Schema { file: source.name.clone(), source: error })?;
        self.known.get_or_insert(columns.known());
        let (missing, needs_target) = (options.missing, options.needs_target);
        Ok((Table { columns, delimiter, missing, needs_target }, start))
    }
}

impl OpenFile {
    /// The next piece of work, with the lines of a header before it.
    pub(super) fn next(&mut self, source: &Source, options: &ReadOptions) -> Result<Option<(Work, u64)>, ReadError> {
        match self {
            OpenFile::Text { parser, ahead: ahead @ Some(_), .. } => {
                let (block, lines) = ahead.take().expect("just seen");
                Ok(Some((Work::Text(block, parser.clone()), lines)))
            }
            OpenFile::Text { cutter, compression, parser, .. } => {
                match cutter.next().map_err(|error| io_error(source, *compression, error))? {
                    NextBlock::Block(block) => Ok(Some((Work::Text(block, parser.clone()), 0))),
                    NextBlock::End => Ok(None),
                    NextBlock::LongLine => {
                        let (file, limit) = (source.name.clone(), options.max_line.unwrap_or(LONGEST_LINE));
                        match source.format {
                            Format::Csv | Format::Tsv => Err(ReadError::LongRecord { file, limit }),
                            _ => Err(ReadError::LongLine { file, limit }),
                        }
                    }
                }
            }
            OpenFile::Columnar(reader) => {
                let (mut complaints, mut bad) = (Vec::new(), Vec::new());
                loop {
                    let error = match reader.next() {
                        None if complaints.is_empty() => return Ok(None),
                        None => return Ok(Some((left_out(RawRows::by_name(), &bad, bad[0], complaints), 0))),
                        Some(Ok(rows)) => {
                            return Ok(Some((left_out(rows, &bad, reader.first_row() + 1, complaints), 0)));
                        }
                        Some(Err(error)) => error,
                    };
                    if let ColumnarError::Row { row, .. } = &error {
                        bad.push(*row);
                    }
                    let is_row = error.is_row();
                    let error = ReadError::Columnar { file: source.name.clone(), source: error };
                    if !(options.skip_bad && is_row) {
                        return Err(error);
                    }
                    complaints.push(error.to_string());
                }
            }
        }
    }
}

/// Rows of a columnar file of which `first` is line 0, and the bad rows among them.
fn left_out(mut rows: RawRows, bad: &[u64], first: u64, complaints: Vec<String>) -> Work {
    rows.left_out.extend(bad.iter().map(|row| row.saturating_sub(first) as u32));
    Work::Done(Box::new(rows), first, complaints)
}
