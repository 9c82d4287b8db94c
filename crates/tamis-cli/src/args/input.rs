//! Flags about the data and how it is read.

use clap::Args;
use tamis::io::{Format, ReadOptions, Source, expand};
use tamis::parse::Missing;
use tamis::parse::schema::SchemaOptions;

use super::training::bytes_parser;
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
    /// Input format: svm, vw, csv, tsv, jsonl, parquet, arrow or npz [default: by file extension]
    #[arg(long, value_parser = format_parser)]
    pub format: Option<Format>,
    /// Column of the target [default: y, label, target or class]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Column of the example weights
    #[arg(long, value_name = "COLUMN")]
    pub weight_column: Option<String>,
    /// Columns to ignore
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Numeric columns to treat as categorical
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// Missing values: error, zero (treat as 0) or skip-row
    #[arg(long, value_name = "ACTION", default_value = "error", value_parser = missing_parser)]
    pub missing: Missing,
    /// Malformed lines: stop, or skip and count them
    #[arg(long, value_name = "ACTION", default_value = "stop", value_parser = ["stop", "skip"])]
    pub on_error: String,
    /// Indices of svmlight files start at 0
    #[arg(long)]
    pub zero_based: bool,
    /// Longest line of a text file, e.g. 1G [default: 64M]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_line: Option<u64>,
    /// Largest size of a compressed Parquet, Arrow or npz file on disk when it is decompressed [default: 16G]
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
    match text {
        "error" => Ok(Missing::Error),
        "zero" => Ok(Missing::Zero),
        "skip-row" => Ok(Missing::SkipRow),
        _ => Err("expected one of error, zero, skip-row".into()),
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
                id: None,
                known: None,
                required: Vec::new(),
                needs_target,
                missing: self.missing,
            },
            zero_based: self.zero_based,
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
        let missing = match self.missing {
            Missing::Error => None,
            Missing::Zero => Some("zero".to_string()),
            Missing::SkipRow => Some("skip-row".to_string()),
        };
        let flags = [
            ("--format", self.format.map(|format| format.name().to_string())),
            ("--target", self.target.clone()),
            ("--weight-column", self.weight_column.clone()),
            ("--ignore", list(&self.ignore)),
            ("--categorical", list(&self.categorical)),
            ("--missing", missing),
            ("--on-error", (self.on_error == "skip").then(|| "skip".to_string())),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", shell_word(&value?))));
        given.chain(self.zero_based.then(|| " --zero-based".to_string())).collect()
    }

    /// The files to read.
    pub fn sources(&self, data: &[String]) -> Result<Vec<Source>, CliError> {
        Ok(expand(data, self.format)?)
    }
}
