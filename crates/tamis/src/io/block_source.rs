//! Opens sources one after the other and splits them into blocks that can be parsed on any thread.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::decompress::seekable;
use super::log_file::LogFile;
use super::read_options::ReadOptions;
use super::table_survey::{
    ReadAhead, TableHead, TextBlock, columnar_limits, open_json, survey_columnar, survey_json, survey_text,
};
use super::{Format, ReadError, Source};
use crate::columnar::{ColumnarError, ColumnarKind, ColumnarReader};
use crate::data::{RawRows, TextSet};
use crate::parse::csv::Table;
use crate::parse::json_table::JsonTable;
use crate::parse::jsonl::JsonLines;
use crate::parse::missing::MissingPolicy;
use crate::parse::schema::{ModelSchema, Schema, SchemaOptions};
use crate::parse::survey::{ColumnNote, Survey};
use crate::parse::svmlight::Svmlight;
use crate::parse::vw::VowpalWabbit;
use crate::parse::{LineParser, Missing, ParseError, parse_lines};

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
pub(super) type TextParser = Arc<dyn Fn(&TextBlock, &mut Vec<ParseError>) -> (RawRows, u32) + Send + Sync>;

/// A parser of lines whose features have names.
fn by_name(parser: impl LineParser + Send + Sync + 'static) -> TextParser {
    Arc::new(move |block, errors| {
        let mut rows = RawRows::by_name();
        let lines = parse_lines(&block.bytes, &parser, &mut rows, errors);
        (rows, lines)
    })
}

/// A parser of lines whose features have numbers.
fn by_index(parser: impl LineParser + Send + Sync + 'static) -> TextParser {
    Arc::new(move |block, errors| {
        let mut rows = RawRows::for_text(block.bytes.len());
        let lines = parse_lines(&block.bytes, &parser, &mut rows, errors);
        (rows, lines)
    })
}

/// A parser whose numbers are given names; `first` is the number of the first name.
fn named_by(parser: TextParser, names: Arc<Vec<String>>, first: u32) -> TextParser {
    Arc::new(move |block, errors| {
        let (rows, lines) = parser(block, errors);
        (rows.named(|index| names.get(index.checked_sub(first)? as usize).map(String::as_str)), lines)
    })
}

/// A block of bytes to parse, or rows that are already parsed.
pub(super) struct Job {
    file: usize,
    header_lines: u64,
    work: Work,
}

pub(super) enum Work {
    Text(TextBlock, TextParser),
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
            Work::Text(block, parser) => {
                let (rows, lines) = parser(&block, &mut errors);
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
    /// How columns are read: by the model, or by a survey of the first rows.
    known: Option<Arc<ModelSchema>>,
    pub(super) notes: Vec<ColumnNote>,
    is_table: bool,
}

pub(super) enum OpenFile {
    Text { ahead: ReadAhead, parser: TextParser },
    Columnar(Box<ColumnarReader>),
    Log(LogFile),
}

impl Input {
    pub(super) fn new(sources: Vec<Source>, options: ReadOptions, bytes: Arc<AtomicU64>) -> Self {
        let known = options.columns.known.clone().map(Arc::new);
        let (open, notes) = (None, Vec::new());
        Input { sources, options, bytes, open, next_file: 0, number: 0, known, notes, is_table: false }
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
                let numbered = by_index(MissingPolicy { parser, missing });
                let parser = match self.options.vocabulary.clone() {
                    None => numbered,
                    Some(names) => named_by(numbered, names, u32::from(!self.options.zero_based)),
                };
                self.open_lines(source, parser)
            }
            Format::VowpalWabbit => self.open_lines(source, by_name(MissingPolicy { parser: VowpalWabbit, missing })),
            Format::JsonLines => self.open_json(source, missing),
            Format::Csv => self.open_table(source, b','),
            Format::Tsv => self.open_table(source, b'\t'),
            Format::Parquet => self.open_columnar(source, ColumnarKind::Parquet),
            Format::Arrow => self.open_columnar(source, ColumnarKind::Ipc),
            Format::Npz => self.open_columnar(source, ColumnarKind::Npz),
            Format::RowLog => LogFile::open(source, &self.options, self.bytes.clone()).map(OpenFile::Log),
        }
    }

    fn open_columnar(&mut self, source: &Source, kind: ColumnarKind) -> Result<OpenFile, ReadError> {
        let file = seekable(source, &self.options, self.bytes.clone())?;
        let named = |error| ReadError::Columnar { file: source.name.clone(), source: error };
        let mut surveyed = None;
        if self.known.is_none() && kind != ColumnarKind::Npz && source.path.is_some() {
            let options = self.column_options();
            let mut survey = Survey::default();
            surveyed = Some(survey_columnar(source, kind, &self.options, &options, &mut survey)?);
            self.survey_later(&options, &mut survey);
            if !survey.is_empty() {
                self.decide(source, survey, b',', &options)?;
            }
        }
        let options = self.column_options();
        let surveyed = surveyed.map(|reader| reader.after_survey(&options)).transpose().map_err(named)?.flatten();
        let reader = match surveyed {
            Some(reader) => reader,
            None => ColumnarReader::open(file, kind, &options, columnar_limits(&self.options)).map_err(named)?,
        };
        if let Some(columns) = reader.columns() {
            self.remember(columns.stored());
        }
        Ok(OpenFile::Columnar(Box::new(reader)))
    }

    fn open_lines(&self, source: &Source, parser: TextParser) -> Result<OpenFile, ReadError> {
        let (mut ahead, block) = ReadAhead::open(source, false, &self.options, self.bytes.clone())?;
        ahead.blocks.extend(block.map(TextBlock::new));
        Ok(OpenFile::Text { ahead, parser })
    }

    /// JSON lines: flat ones are a table, others have their features in `x`.
    fn open_json(&mut self, source: &Source, missing: Missing) -> Result<OpenFile, ReadError> {
        let (mut ahead, is_flat) = open_json(source, &self.options, self.bytes.clone())?;
        if !is_flat {
            return Ok(OpenFile::Text { ahead, parser: by_name(JsonLines { missing }) });
        }
        let options = self.text_options();
        let mut survey = Survey::default();
        if !(self.options.live && self.known.is_some()) {
            survey_json(&mut ahead, source, &mut survey)?;
        }
        let names = survey.names();
        if self.lacks(&names) {
            if self.known.is_none() {
                self.survey_later(&options, &mut survey);
            }
            self.decide(source, survey, b',', &options)?;
        }
        let known = self.known.clone().unwrap_or_default();
        // A key may be in later lines only, so every column that is known has its role.
        let more = known.columns().filter(|name| !names.contains(name)).cloned();
        let names = names.iter().cloned().chain(more).collect();
        let named = |error| ReadError::Schema { file: source.name.clone(), source: error };
        let schema = Schema::resolve(names, (*known).clone(), &self.text_options()).map_err(named)?;
        self.remember(schema.stored());
        Ok(OpenFile::Text { ahead, parser: by_name(JsonTable::new(schema, options.needs_target)) })
    }

    fn open_table(&mut self, source: &Source, usual: u8) -> Result<OpenFile, ReadError> {
        let mut head = TableHead::open(source, usual, &self.options, self.bytes.clone())?;
        if self.lacks(&head.names) {
            self.survey_table(source, &mut head)?;
        }
        let options = self.text_options();
        let columns = Schema::resolve(head.names, self.known.as_deref().cloned().unwrap_or_default(), &options);
        let columns = columns.map_err(|error| ReadError::Schema { file: source.name.clone(), source: error })?;
        self.remember(columns.stored());
        let table = Table::new(columns, head.delimiter, options.needs_target);
        let parser: TextParser =
            Arc::new(move |block, errors| table.parse_known(&block.bytes, block.known.as_deref(), errors));
        Ok(OpenFile::Text { ahead: head.ahead, parser })
    }

    /// Whether a table has columns that no survey has seen.
    fn lacks(&self, names: &[String]) -> bool {
        let Some(known) = &self.known else { return true };
        // Lines of a pipe are answered as they come: there is no time to look ahead.
        if self.options.live {
            return false;
        }
        let known: TextSet<&String> = known.columns().collect();
        !names.iter().all(|name| known.contains(name))
    }

    /// Surveys the first rows of this table and, if it is the first of the stream, of the tables after it.
    fn survey_table(&mut self, source: &Source, head: &mut TableHead) -> Result<(), ReadError> {
        let options = self.text_options();
        let mut survey = Survey::default();
        head.survey(source, &options, &mut survey)?;
        if self.known.is_none() {
            self.survey_later(&options, &mut survey);
        }
        self.decide(source, survey, head.delimiter, &options)
    }

    /// Surveys tables after the open one. Their errors are told when the stream reaches them.
    fn survey_later(&self, options: &SchemaOptions, survey: &mut Survey) {
        for source in &self.sources[self.next_file..] {
            if survey.is_full() || source.path.is_none() {
                return;
            }
            let done = match source.format {
                Format::Csv => survey_text(source, b',', &self.options, options, survey),
                Format::Tsv => survey_text(source, b'\t', &self.options, options, survey),
                Format::Parquet => {
                    survey_columnar(source, ColumnarKind::Parquet, &self.options, options, survey).map(drop)
                }
                Format::Arrow => survey_columnar(source, ColumnarKind::Ipc, &self.options, options, survey).map(drop),
                Format::JsonLines => open_json(source, &self.options, Arc::default())
                    .and_then(|(mut ahead, flat)| if flat { survey_json(&mut ahead, source, survey) } else { Ok(()) }),
                _ => Ok(()),
            };
            if done.is_err() {
                return;
            }
        }
    }

    fn decide(
        &mut self,
        source: &Source,
        survey: Survey,
        delimiter: u8,
        options: &SchemaOptions,
    ) -> Result<(), ReadError> {
        let named = |error| ReadError::Schema { file: source.name.clone(), source: error };
        let (schema, notes) = survey.decide(options, delimiter).map_err(named)?;
        match &mut self.known {
            Some(known) => Arc::make_mut(known).extend(schema),
            None => {
                self.known = Some(Arc::new(schema));
                self.notes = notes;
            }
        }
        Ok(())
    }

    fn remember(&mut self, schema: &ModelSchema) {
        self.is_table = true;
        let Some(known) = &mut self.known else {
            self.known = Some(Arc::new(schema.clone()));
            return;
        };
        let known = Arc::make_mut(known);
        (known.missing, known.na) = (schema.missing, schema.na.clone());
        let fresh = schema.lists.iter().filter(|name| !known.lists.contains(name)).cloned().collect::<Vec<_>>();
        known.lists.extend(fresh);
        known.target = known.target.take().or(schema.target.clone());
        known.weight = known.weight.take().or(schema.weight.clone());
    }

    /// The schema, if a table was read.
    pub(super) fn columns(&self) -> Option<Arc<ModelSchema>> {
        self.known.clone().filter(|_| self.is_table)
    }

    /// The options of the user, with the schema of the tables so far.
    fn column_options(&self) -> SchemaOptions {
        SchemaOptions { known: self.known.as_deref().cloned(), ..self.options.columns.clone() }
    }

    /// The options of the user, with the label of the tables so far: all that a table of text needs beside its schema.
    fn text_options(&self) -> SchemaOptions {
        let label = |known: &ModelSchema| ModelSchema { target: known.target.clone(), ..ModelSchema::default() };
        SchemaOptions { known: self.known.as_deref().map(label), ..self.options.columns.clone() }
    }
}

impl OpenFile {
    /// The next piece of work, with the lines of a header before it.
    pub(super) fn next(&mut self, source: &Source, options: &ReadOptions) -> Result<Option<(Work, u64)>, ReadError> {
        match self {
            OpenFile::Text { ahead, parser } => {
                let block = ahead.take(source)?;
                Ok(block.map(|block| {
                    let lines = block.header_lines;
                    (Work::Text(block, parser.clone()), lines)
                }))
            }
            OpenFile::Log(file) => {
                let record = file.next()?;
                Ok(record.map(|record| (Work::Done(Box::new(record.rows), record.first_row, Vec::new()), 0)))
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
