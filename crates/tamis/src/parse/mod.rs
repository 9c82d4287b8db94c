//! Parsers of text formats: pure functions without I/O, which can be fuzzed.
//!
//! A parser gets a block of whole lines and appends rows. A malformed line is rolled back and reported as a line error
//! with its byte offset, and parsing continues with the next line. The caller decides whether to stop.

pub mod column;
pub mod csv;
pub mod date;
pub mod json_table;
pub mod jsonl;
pub mod missing;
pub mod number;
pub mod number_form;
pub mod row_log;
pub mod schema;
pub mod survey;
pub mod svmlight;
pub mod vw;

mod column_decision;
mod column_levels;
mod column_survey;
mod line_error;
mod many_numbers;
mod missing_cells;
mod model_schema;
mod number_columns;
mod number_rows;
mod plain_rows;
mod records;
mod sorting_network;
mod swar;
mod wide_numbers;
mod words;

pub use line_error::{LONGEST_NAME, LineError, ParseError};
pub(crate) use missing_cells::{Among as MissingAmong, missing_texts};
pub use number_rows::NumberRows;
pub(crate) use records::count_lines;

use serde::{Deserialize, Serialize};

use crate::data::RawRows;

/// A parser of one line.
pub trait LineParser {
    /// Parses `line` (without its end) as line number `number` of the block. Returns whether there is a row (blank
    /// lines and comments have none); an error has the offset within the line.
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)>;

    /// Parses lines of the usual form from `start` on, if the parser has a faster way for them; the first has the number
    /// `first`. Returns where the next line begins and the number of lines read; all others are left to [`LineParser::line`].
    fn usual_lines(&self, _block: &[u8], start: usize, _first: u32, _rows: &mut RawRows) -> (usize, u32) {
        (start, 0)
    }
}

/// Parses a block line by line. Returns the number of lines.
pub fn parse_lines(block: &[u8], parser: &impl LineParser, rows: &mut RawRows, errors: &mut Vec<ParseError>) -> u32 {
    let (mut start, mut number) = (0, 0);
    // Where lines of the usual form are rare, they are looked for less and less often.
    let (mut failures, mut next_try) = (0_u32, 0);
    while start < block.len() {
        if number >= next_try {
            let (end, lines) = parser.usual_lines(block, start, number, rows);
            (start, number) = (end, number + lines);
            failures = if lines > 0 { 0 } else { failures + 1 };
            next_try = number + (1 << failures.min(6));
            if start == block.len() {
                break;
            }
        }
        let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |length| start + length);
        let mut line = &block[start..end];
        if let [text @ .., b'\r'] = line {
            line = text;
        }
        let mark = rows.mark();
        if let Err((offset, problem)) = parser.line(line, number, rows) {
            rows.rollback(mark);
            errors.push(ParseError { line: number, column: offset as u32 + 1, problem });
        }
        start = end + 1;
        number += 1;
    }
    number
}

/// What to do about a missing value (NaN, an empty cell, null).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// In tables the mean of its column (categories have none), elsewhere an error.
    #[default]
    Auto,
    /// It is an error.
    Error,
    /// It is zero, that is, absent.
    Zero,
    /// The row is skipped.
    SkipRow,
    /// It is the mean of its column; a missing category is no category.
    Mean,
    /// As the mean, with a feature `column=missing` of value 1 beside it.
    Indicator,
}

impl Missing {
    /// All rules, in the order of the documentation.
    pub const ALL: [Missing; 6] =
        [Missing::Auto, Missing::Mean, Missing::Indicator, Missing::Zero, Missing::SkipRow, Missing::Error];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Missing::Auto => "auto",
            Missing::Error => "error",
            Missing::Zero => "zero",
            Missing::SkipRow => "skip-row",
            Missing::Mean => "mean",
            Missing::Indicator => "indicator",
        }
    }
}

/// Text as UTF-8 for names.
pub(crate) fn utf8(bytes: &[u8], offset: usize) -> Result<&str, (usize, LineError)> {
    std::str::from_utf8(bytes).map_err(|error| (offset + error.valid_up_to(), LineError::NotUtf8))
}

/// At most 40 characters of what was found, for messages.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}
