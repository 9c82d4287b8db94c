//! Flags about the data and how it is read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tamis::io::{Encoding, Format, ReadOptions, Source, TableSyntax, expand, read_vocabulary};
use tamis::parse::Missing;
use tamis::parse::date::DatePart;
use tamis::parse::schema::SchemaOptions;

use super::byte_size::bytes_parser;
use crate::error::CliError;
use crate::output::format::shell_word;

/// Data and how it is read.
#[derive(Args, Clone, Default)]
pub struct DataArgs {
    /// Files, directories or glob patterns; - for standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    #[command(flatten)]
    pub input: InputArgs,
}

impl DataArgs {
    /// The files to read.
    pub fn sources(&self) -> Result<Vec<Source>, CliError> {
        self.input.sources(&self.data)
    }
}

/// How data is read.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// Input format: svm, vw, csv, tsv, jsonl, parquet, arrow, npz or tamislog [default: by file extension]
    #[arg(long, value_parser = format_parser)]
    pub format: Option<Format>,
    /// Column of the target [default: y, label, target or class]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// File of labels, one a line in the order of the rows, instead of a column of the data
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub labels: Option<PathBuf>,
    /// Column of the example weights
    #[arg(long, value_name = "COLUMN")]
    pub weight_column: Option<String>,
    /// Columns to ignore
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Columns of categories, even if they look like numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// Columns of numbers, even if they look like ids
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub numeric: Vec<String>,
    /// Columns of free text: their words and pairs of words are features
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub text: Vec<String>,
    /// Features of a date: days (since 1970), year, month, day, weekday, hour as numbers, months and weekdays as one
    /// feature each [default: days, month, weekday, and hour if there are times]
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = date_parser)]
    pub dates: Vec<DatePart>,
    /// Fewest rows of a category with a feature of its own; rarer ones share one [default: 5, or rows/20 if fewer]
    #[arg(long, value_name = "ROWS")]
    pub min_count: Option<u64>,
    /// Texts that mean a missing value, beside NA, N/A, null, None, ? and an empty cell (- among numbers)
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', allow_hyphen_values = true)]
    pub na: Vec<String>,
    /// Missing values: mean (of the column), indicator (mean and a feature that says so), zero, skip-row or error
    /// [default: the model's rule, else mean in tables and error elsewhere]
    #[arg(long, value_name = "RULE", default_value = "auto", hide_default_value = true, value_parser = missing_parser)]
    pub missing: Missing,
    /// Decimal sign of numbers in tables: a point or a comma [default: by the cells of each column]
    #[arg(long, value_name = "SIGN", value_parser = [".", ","])]
    pub decimal: Option<String>,
    /// Character between the fields of a table, or tab [default: by the header]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter_parser)]
    pub delimiter: Option<u8>,
    /// Encoding of text files: utf-8, latin-1 (also windows-1252), utf-16 or utf-16be
    /// [default: utf-8, or utf-16 if the file is marked as such]
    #[arg(long, value_name = "NAME", default_value = "utf-8", hide_default_value = true, value_parser = encoding_parser)]
    pub encoding: Encoding,
    /// The first line of a table is data: columns are called 1, 2, …
    #[arg(long)]
    pub no_header: bool,
    /// Malformed lines: stop, or skip and count them
    #[arg(long, value_name = "ACTION", default_value = "stop", value_parser = ["stop", "skip"])]
    pub on_error: String,
    /// Indices of svmlight files start at 0
    #[arg(long)]
    pub zero_based: bool,
    /// Names of svmlight indices: a text file with a name a line, as `convert --map` writes it
    #[arg(long, value_name = "FILE", value_parser = vocabulary_parser)]
    pub vocabulary: Option<Vocabulary>,
    /// Longest line of a text file, or entries of a row of Parquet, Arrow or npz in bytes, e.g. 1G [default: 64M]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_line: Option<u64>,
    /// Largest size of a compressed Parquet, Arrow or npz file on disk when it is decompressed [default: 16G], or of
    /// a compressed batch of Arrow in memory [default: half of the machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_unpacked: Option<u64>,
    /// Number of threads [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads_parser)]
    pub threads: Option<usize>,
}

pub fn threads_parser(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| *threads <= 1024);
    threads.ok_or_else(|| "expected a whole number up to 1024".into())
}

pub fn format_parser(text: &str) -> Result<Format, String> {
    let names = || Format::ALL.map(Format::name).join(", ");
    Format::from_name(text).ok_or_else(|| format!("expected one of {}", names()))
}

fn missing_parser(text: &str) -> Result<Missing, String> {
    let found = Missing::ALL.into_iter().find(|rule| rule.name() == text);
    found.ok_or_else(|| format!("expected one of {}", Missing::ALL.map(Missing::name).join(", ")))
}

fn date_parser(text: &str) -> Result<DatePart, String> {
    let found = DatePart::ALL.into_iter().find(|part| part.name() == text);
    found.ok_or_else(|| format!("expected some of {}", DatePart::ALL.map(DatePart::name).join(", ")))
}

/// A file of names and its content.
#[derive(Clone)]
pub struct Vocabulary {
    path: String,
    names: Arc<Vec<String>>,
}

fn vocabulary_parser(path: &str) -> Result<Vocabulary, String> {
    let names = read_vocabulary(Path::new(path)).map_err(|error| error.to_string())?;
    Ok(Vocabulary { path: path.into(), names: Arc::new(names) })
}

fn encoding_parser(text: &str) -> Result<Encoding, String> {
    Encoding::from_name(text).ok_or_else(|| format!("expected one of {}", Encoding::ALL.map(Encoding::name).join(", ")))
}

fn delimiter_parser(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r') => {
            Ok(*byte)
        }
        _ => Err("expected one character such as ; or |, or the word tab".into()),
    }
}

impl InputArgs {
    /// The number of threads to use.
    pub fn threads(&self) -> usize {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(all).max(1)
    }

    /// The library's options.
    pub fn options(&self, needs_target: bool) -> ReadOptions {
        ReadOptions {
            columns: SchemaOptions {
                target: self.target.clone(),
                weight: self.weight_column.clone(),
                ignore: self.ignore.clone(),
                categorical: self.categorical.clone(),
                numeric: self.numeric.clone(),
                text: self.text.clone(),
                keep: Vec::new(),
                dates: (!self.dates.is_empty()).then(|| self.dates.clone()),
                min_count: self.min_count,
                na: self.na.clone(),
                decimal_comma: self.decimal.as_ref().map(|sign| sign == ","),
                id: None,
                known: None,
                required: Vec::new(),
                needs_target: needs_target && self.labels.is_none(),
                has_own_labels: self.labels.is_some(),
                missing: self.missing,
            },
            syntax: TableSyntax { delimiter: self.delimiter, no_header: self.no_header, encoding: self.encoding },
            labels: self.labels.clone(),
            zero_based: self.zero_based,
            vocabulary: self.vocabulary.as_ref().map(|vocabulary| vocabulary.names.clone()),
            skip_bad: self.on_error == "skip",
            threads: self.threads(),
            max_line: self.max_line,
            max_unpacked: self.max_unpacked,
            ..ReadOptions::default()
        }
    }

    /// The flags as a user would type them again, each with a space before it.
    pub fn command_line(&self) -> String {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        let missing = (self.missing != Missing::Auto).then(|| self.missing.name().to_string());
        let dates: Vec<String> = self.dates.iter().map(|part| part.name().to_string()).collect();
        let delimiter =
            self.delimiter.map(|byte| if byte == b'\t' { "tab".into() } else { char::from(byte).to_string() });
        let flags = [
            ("--format", self.format.map(|format| format.name().to_string())),
            ("--target", self.target.clone()),
            ("--labels", self.labels.as_ref().map(|path| path.display().to_string())),
            ("--weight-column", self.weight_column.clone()),
            ("--ignore", list(&self.ignore)),
            ("--categorical", list(&self.categorical)),
            ("--numeric", list(&self.numeric)),
            ("--text", list(&self.text)),
            ("--dates", list(&dates)),
            ("--min-count", self.min_count.map(|count| count.to_string())),
            ("--na", list(&self.na)),
            ("--decimal", self.decimal.clone()),
            ("--delimiter", delimiter),
            ("--encoding", (self.encoding != Encoding::Auto).then(|| self.encoding.name().to_string())),
            ("--missing", missing),
            ("--vocabulary", self.vocabulary.as_ref().map(|vocabulary| vocabulary.path.clone())),
            ("--on-error", (self.on_error == "skip").then(|| "skip".to_string())),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", shell_word(&value?))));
        let switches = [("--zero-based", self.zero_based), ("--no-header", self.no_header)];
        let switches = switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| format!(" {flag}"));
        given.chain(switches).collect()
    }

    /// The same for other data, which have their own labels.
    pub fn options_of_labelled(&self) -> ReadOptions {
        InputArgs { labels: None, ..self.clone() }.options(true)
    }

    /// The files to read.
    pub fn sources(&self, data: &[String]) -> Result<Vec<Source>, CliError> {
        Ok(expand(data, self.format)?)
    }
}
