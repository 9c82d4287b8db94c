//! Which data, and how it is read.

use clap::Args;
use tamis::parse::Missing;
use tamis::parse::columns::ColumnOptions;
use tamis::read::{Format, ReadOptions, Source, expand};
use tamis_report::shell;

use crate::command::Failure;

/// How data is read.
#[derive(Args, Clone, Default)]
pub struct DataArgs {
    /// Files, directories, patterns, or - for standard input
    #[arg(required = true, value_name = "DATA")]
    pub data: Vec<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// How data is read, apart from which.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArgs {
    /// svm, vw, csv, tsv, jsonl, parquet, arrow or npz [default: by the file's name]
    #[arg(long, value_parser = format_parser)]
    pub format: Option<Format>,
    /// The label's column of a table [default: y, label, target or class]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The importance weight's column of a table
    #[arg(long, value_name = "COLUMN")]
    pub weight_column: Option<String>,
    /// Columns not to be used
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Columns that hold categories though they look like numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// What a missing value is: error, zero or skip-row
    #[arg(long, value_name = "WHAT", default_value = "error", value_parser = missing_parser)]
    pub missing: Missing,
    /// What to do about a bad line: stop, or skip and count
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = ["stop", "skip"])]
    pub on_error: String,
    /// svmlight indices start at 0
    #[arg(long)]
    pub zero_based: bool,
    /// Threads [default: all]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads_parser)]
    pub threads: Option<usize>,
}

/// A number of threads that a machine can be asked for.
pub fn threads_parser(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|threads| *threads <= 1024).ok_or_else(|| "a whole number of at most 1024".into())
}

pub fn format_parser(text: &str) -> Result<Format, String> {
    Format::from_name(text).ok_or_else(|| "one of svm, vw, csv, tsv, jsonl, parquet, arrow, npz".into())
}

fn missing_parser(text: &str) -> Result<Missing, String> {
    match text {
        "error" => Ok(Missing::Error),
        "zero" => Ok(Missing::Zero),
        "skip-row" => Ok(Missing::SkipRow),
        _ => Err("one of error, zero, skip-row".into()),
    }
}

impl ReadingArgs {
    /// The threads to use.
    pub fn threads(&self) -> usize {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or(all).max(1)
    }

    /// What the library needs to know.
    pub fn options(&self, needs_target: bool) -> ReadOptions {
        ReadOptions {
            columns: ColumnOptions {
                target: self.target.clone(),
                weight: self.weight_column.clone(),
                ignore: self.ignore.clone(),
                categorical: self.categorical.clone(),
                known: None,
                needs_target,
                missing: self.missing,
            },
            zero_based: self.zero_based,
            skip_bad: self.on_error == "skip",
            threads: self.threads(),
            rows: Vec::new(),
        }
    }

    /// The flags as they would be typed again, each with a blank before it.
    pub fn typed(&self) -> String {
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
        let given = flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", shell(&value?))));
        given.chain(self.zero_based.then(|| " --zero-based".to_string())).collect()
    }

    /// The files meant.
    pub fn sources(&self, data: &[String]) -> Result<Vec<Source>, Failure> {
        Ok(expand(data, self.format)?)
    }
}
