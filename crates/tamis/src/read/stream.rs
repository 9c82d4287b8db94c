//! Many files as one stream of parsed blocks, parsed on several threads, handed on in order.
//!
//! Whoever is free takes the next block: the input is behind one lock (reading and unpacking are cheap next to
//! parsing), finished blocks wait in a map until their turn. The consumer parses too when its next block is not ready,
//! so two threads mean two busy cores. With one thread the consumer does everything. The rows are the same either way.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use super::blocks::{BlockCutter, Cut};
use super::open::{io_error, open, seekable};
use super::{Compression, Format, ReadError, Source};
use crate::columnar::{ColumnarKind, ColumnarReader};
use crate::data::ParsedRows;
use crate::parse::columns::{ColumnOptions, Columns, KnownColumns};
use crate::parse::csv::{Table, header, numeric_columns};
use crate::parse::jsonl::JsonLines;
use crate::parse::nan::WithMissing;
use crate::parse::svmlight::Svmlight;
use crate::parse::vw::VowpalWabbit;
use crate::parse::{ParseError, parse_lines};

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Columns of tables, and missing values.
    pub columns: ColumnOptions,
    /// Whether svmlight indices start at 0.
    pub zero_based: bool,
    /// Whether bad lines are counted and left out instead of ending the stream.
    pub skip_bad: bool,
    /// Threads that parse, the consumer included; 0 counts as 1.
    pub threads: usize,
}

/// Rows of one block, and where they stand.
#[derive(Debug)]
pub struct Block {
    /// The rows.
    pub rows: ParsedRows,
    /// The file.
    pub file: Arc<str>,
    /// The line of the file (or row, in columnar files) with the block's line 0, from 1.
    pub first_line: u64,
}

/// A stream of blocks over many sources.
pub struct RowStream {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    next: u64,
    file: usize,
    line: u64,
    skipped: u64,
    first_skipped: Vec<String>,
    skip_bad: bool,
}

struct Shared {
    input: Mutex<Input>,
    finished: Mutex<Finished>,
    changed: Condvar,
    bytes: Arc<AtomicU64>,
}

/// Blocks that are parsed and wait for their turn.
#[derive(Default)]
struct Finished {
    blocks: BTreeMap<u64, Outcome>,
    taken: u64,
    consumed: u64,
    end: Option<u64>,
    stop: bool,
}

/// A block parsed, or the reason the stream ends here.
type Outcome = Result<ParsedBlock, ReadError>;

struct ParsedBlock {
    rows: ParsedRows,
    errors: Vec<ParseError>,
    /// Bad rows of a columnar file that are to be left out, in words.
    left_out: Vec<String>,
    lines: u64,
    file: usize,
    header_lines: u64,
    /// The first line, where the file knows it.
    first_line: Option<u64>,
}

/// Blocks that may be taken ahead of the consumer.
const AHEAD: u64 = 8;

impl RowStream {
    /// Opens the stream. Files are opened one by one as the stream reaches them.
    pub fn open(sources: Vec<Source>, options: ReadOptions) -> Self {
        let bytes = Arc::new(AtomicU64::new(0));
        let (threads, skip_bad) = (options.threads, options.skip_bad);
        let shared = Arc::new(Shared {
            input: Mutex::new(Input::new(sources, options, bytes.clone())),
            finished: Mutex::default(),
            changed: Condvar::new(),
            bytes,
        });
        let worker = |shared: Arc<Shared>| move || while shared.work(true) {};
        let workers = (1..threads).map(|_| std::thread::spawn(worker(shared.clone()))).collect();
        RowStream { shared, workers, next: 0, file: 0, line: 1, skipped: 0, first_skipped: Vec::new(), skip_bad }
    }

    /// The next block, in order, or `None` at the end.
    pub fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        loop {
            let mut finished = self.shared.finished();
            if let Some(outcome) = finished.blocks.remove(&self.next) {
                finished.consumed += 1;
                self.next += 1;
                drop(finished);
                self.shared.changed.notify_all();
                return self.hand_on(outcome?).map(Some);
            }
            match finished.end {
                Some(end) if end <= self.next => return Ok(None),
                Some(_) => drop(self.shared.changed.wait(finished).expect("no thread panicked")),
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
        let file: Arc<str> = self.shared.input().sources[block.file].name.as_str().into();
        let first_line = block.first_line.unwrap_or(self.line + block.header_lines);
        self.line = first_line + block.lines;
        self.skipped += block.left_out.len() as u64;
        let room = 5_usize.saturating_sub(self.first_skipped.len());
        self.first_skipped.extend(block.left_out.into_iter().take(room));
        for error in block.errors {
            let line = first_line + u64::from(error.line);
            let told = ReadError::Line { file: file.to_string(), line, column: error.column, problem: error.problem };
            if !self.skip_bad {
                return Err(told);
            }
            self.skipped += 1;
            if self.first_skipped.len() < 5 {
                self.first_skipped.push(told.to_string());
            }
        }
        Ok(Block { rows: block.rows, file, first_line })
    }

    /// Bad lines left out so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The first few complaints about lines left out.
    pub fn first_skipped(&self) -> &[String] {
        &self.first_skipped
    }

    /// Bytes taken from disk so far.
    pub fn bytes_read(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// The roles of the columns, if a table was read.
    pub fn columns(&self) -> Option<KnownColumns> {
        self.shared.input().known.clone()
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
    fn input(&self) -> MutexGuard<'_, Input> {
        self.input.lock().expect("no thread panicked while reading")
    }

    fn finished(&self) -> MutexGuard<'_, Finished> {
        self.finished.lock().expect("no thread panicked while handing on")
    }

    /// Takes a block, parses it, puts it in its place. False when there is nothing left to do.
    fn work(&self, wait_for_room: bool) -> bool {
        let mut finished = self.finished();
        while wait_for_room && !finished.stop && finished.end.is_none() && finished.taken >= finished.consumed + AHEAD {
            finished = self.changed.wait(finished).expect("no thread panicked");
        }
        if finished.stop || finished.end.is_some() {
            return false;
        }
        drop(finished);
        let (number, job) = {
            let mut input = self.input();
            let job = input.next();
            let number = input.number;
            input.number += u64::from(job.is_some());
            self.finished().taken = input.number;
            (number, job)
        };
        let Some(job) = job else {
            self.finished().end.get_or_insert(number);
            self.changed.notify_all();
            return false;
        };
        let outcome = job.and_then(Job::run);
        let failed = outcome.is_err();
        let mut finished = self.finished();
        finished.blocks.insert(number, outcome);
        if failed {
            finished.end.get_or_insert(number + 1);
        }
        drop(finished);
        self.changed.notify_all();
        !failed
    }
}

/// How the blocks of the open file are parsed.
#[derive(Clone)]
enum TextParser {
    Svmlight(WithMissing<Svmlight>),
    VowpalWabbit(WithMissing<VowpalWabbit>),
    Table(Arc<Table>),
    JsonLines(JsonLines),
}

/// A block of bytes to be parsed, or rows that came parsed.
struct Job {
    file: usize,
    header_lines: u64,
    work: Work,
}

enum Work {
    Text(Vec<u8>, TextParser),
    /// Rows, the file's row with line 0, and complaints about rows left out.
    Done(ParsedRows, u64, Vec<String>),
}

impl Job {
    fn run(self) -> Outcome {
        let mut errors = Vec::new();
        let (mut left_out, mut first_line) = (Vec::new(), None);
        let (rows, lines) = match self.work {
            Work::Done(rows, first, complaints) => {
                (left_out, first_line) = (complaints, Some(first));
                (rows, 0)
            }
            Work::Text(bytes, TextParser::Svmlight(parser)) => {
                let mut rows = ParsedRows::for_text(bytes.len());
                let lines = parse_lines(&bytes, &parser, &mut rows, &mut errors);
                (rows, lines.into())
            }
            Work::Text(bytes, parser) => {
                let mut rows = ParsedRows::by_name();
                let lines = match parser {
                    TextParser::Table(table) => table.parse(&bytes, &mut rows, &mut errors),
                    TextParser::JsonLines(parser) => parse_lines(&bytes, &parser, &mut rows, &mut errors),
                    TextParser::VowpalWabbit(parser) => parse_lines(&bytes, &parser, &mut rows, &mut errors),
                    TextParser::Svmlight(_) => unreachable!("its rows go by number"),
                };
                (rows, lines.into())
            }
        };
        Ok(ParsedBlock { rows, errors, left_out, lines, file: self.file, header_lines: self.header_lines, first_line })
    }
}

/// The sources and the one that is open.
struct Input {
    sources: Vec<Source>,
    options: ReadOptions,
    bytes: Arc<AtomicU64>,
    open: Option<OpenFile>,
    next_file: usize,
    number: u64,
    known: Option<KnownColumns>,
}

enum OpenFile {
    Text { cutter: BlockCutter, compression: Compression, parser: TextParser, ahead: Option<(Vec<u8>, u64)> },
    Columnar(Box<ColumnarReader>),
}

impl Input {
    fn new(sources: Vec<Source>, options: ReadOptions, bytes: Arc<AtomicU64>) -> Self {
        Input { sources, options, bytes, open: None, next_file: 0, number: 0, known: None }
    }

    fn next(&mut self) -> Option<Result<Job, ReadError>> {
        loop {
            let file = self.next_file.wrapping_sub(1);
            let source = self.sources.get(file);
            match (&mut self.open, source) {
                (Some(open), Some(source)) => match open.next(source, self.options.skip_bad) {
                    Ok(Some((work, header_lines))) => return Some(Ok(Job { file, header_lines, work })),
                    Ok(None) => self.open = None,
                    Err(error) => return Some(Err(error)),
                },
                _ => match self.sources.get(self.next_file).cloned() {
                    None => return None,
                    Some(source) => {
                        self.next_file += 1;
                        match self.open_file(&source) {
                            Ok(open) => self.open = open,
                            Err(error) => return Some(Err(error)),
                        }
                    }
                },
            }
        }
    }

    fn open_file(&mut self, source: &Source) -> Result<Option<OpenFile>, ReadError> {
        let kind = match source.format {
            Format::Parquet => ColumnarKind::Parquet,
            Format::Arrow => ColumnarKind::Ipc,
            Format::Npz => ColumnarKind::Npz,
            _ => return self.open_text(source),
        };
        let file = seekable(source, self.bytes.clone())?;
        let named = |error| ReadError::Columnar { file: source.name.clone(), source: error };
        let options = self.column_options();
        let reader = ColumnarReader::open(file, kind, &options).map_err(named)?;
        if let Some(columns) = reader.columns() {
            self.known.get_or_insert(columns.known());
        }
        Ok(Some(OpenFile::Columnar(Box::new(reader))))
    }

    /// What the user said, and what the first table of the stream looked like.
    fn column_options(&self) -> ColumnOptions {
        let mut options = self.options.columns.clone();
        options.known = options.known.or(self.known.clone());
        options
    }

    fn open_text(&mut self, source: &Source) -> Result<Option<OpenFile>, ReadError> {
        let opened = open(source, self.bytes.clone())?;
        let (compression, missing) = (opened.compression, self.options.columns.missing);
        let is_table = matches!(source.format, Format::Csv | Format::Tsv);
        let mut cutter = BlockCutter::new(opened.reader, is_table);
        let mut ahead = None;
        let parser = match source.format {
            Format::VowpalWabbit => TextParser::VowpalWabbit(WithMissing { parser: VowpalWabbit, missing }),
            Format::JsonLines => TextParser::JsonLines(JsonLines { missing }),
            _ if is_table => {
                let block = match cutter.next().map_err(|error| io_error(source, compression, error))? {
                    Cut::Block(block) => block,
                    _ => return Err(ReadError::NoHeader { file: source.name.clone() }),
                };
                let (table, start) = self.table(source, &block)?;
                let lines = memchr::memchr_iter(b'\n', &block[..start]).count() as u64;
                ahead = Some((block[start..].to_vec(), lines));
                TextParser::Table(Arc::new(table))
            }
            _ => {
                let parser = Svmlight { zero_based: self.options.zero_based };
                TextParser::Svmlight(WithMissing { parser, missing })
            }
        };
        Ok(Some(OpenFile::Text { cutter, compression, parser, ahead }))
    }

    fn table(&mut self, source: &Source, block: &[u8]) -> Result<(Table, usize), ReadError> {
        let file = source.name.clone();
        let delimiter = if source.format == Format::Tsv { b'\t' } else { b',' };
        let at = |problem| ReadError::Line { file: file.clone(), line: 1, column: 1, problem };
        let (names, start) = header(block, delimiter).map_err(at)?;
        let looks = numeric_columns(&block[start..], delimiter, names.len());
        let options = self.column_options();
        let columns = Columns::resolve(names, |at| looks[at], &options);
        let columns = columns.map_err(|error| ReadError::Columns { file: source.name.clone(), source: error })?;
        self.known.get_or_insert(columns.known());
        let (missing, needs_target) = (options.missing, options.needs_target);
        Ok((Table { columns, delimiter, missing, needs_target }, start))
    }
}

impl OpenFile {
    /// The next piece of work, with the lines of a header before it.
    fn next(&mut self, source: &Source, skip_bad: bool) -> Result<Option<(Work, u64)>, ReadError> {
        match self {
            OpenFile::Text { parser, ahead: ahead @ Some(_), .. } => {
                let (block, lines) = ahead.take().expect("just seen");
                Ok(Some((Work::Text(block, parser.clone()), lines)))
            }
            OpenFile::Text { cutter, compression, parser, .. } => {
                match cutter.next().map_err(|error| io_error(source, *compression, error))? {
                    Cut::Block(block) => Ok(Some((Work::Text(block, parser.clone()), 0))),
                    Cut::End => Ok(None),
                    Cut::LongLine => Err(ReadError::LongLine { file: source.name.clone(), line: 0 }),
                }
            }
            OpenFile::Columnar(reader) => {
                let mut complaints = Vec::new();
                loop {
                    let error = match reader.next() {
                        None if complaints.is_empty() => return Ok(None),
                        None => return Ok(Some((Work::Done(ParsedRows::by_name(), 1, complaints), 0))),
                        Some(Ok(rows)) => return Ok(Some((Work::Done(rows, reader.first_row() + 1, complaints), 0))),
                        Some(Err(error)) => error,
                    };
                    let is_row = error.is_row();
                    let error = ReadError::Columnar { file: source.name.clone(), source: error };
                    match skip_bad && is_row {
                        true => complaints.push(error.to_string()),
                        false => return Err(error),
                    }
                }
            }
        }
    }
}
