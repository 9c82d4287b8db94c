//! Comma- or tab-separated tables with a header; quoting as in RFC 4180.
//!
//! A numeric column is a feature with the name of the column; categories are features `column=value` of value 1. The
//! kinds of the columns come from a survey of the first rows, and models store them.

use std::sync::Arc;

use super::column::{self, Cell, Pushed, Role};
use super::records::{Record, Records};
use super::schema::Schema;
use super::survey::{CellPlace, Survey};
use super::{LineError, Missing, ParseError, number};
use crate::data::{ColumnNames, Label, RawRows};

/// The schema and syntax of a table.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Schema,
    delimiter: u8,
    needs_target: bool,
    /// The names of the columns of plain numbers.
    numeric_names: Arc<ColumnNames>,
    /// By column: the place of its name among these.
    name_places: Vec<Option<u32>>,
}

/// The fields of the first record as text, and the bytes they take: a table's header.
pub fn header(block: &[u8], delimiter: u8) -> Result<(Vec<String>, usize), LineError> {
    let block_start = if block.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut records = Records::new(&block[block_start..], delimiter);
    let Some(record) = records.next() else { return Ok((Vec::new(), block.len())) };
    let text = |field| std::str::from_utf8(field).map(|text| text.trim().to_string());
    let names: Result<Vec<_>, _> = record.cells().map(|(field, _)| text(field)).collect();
    Ok((names.map_err(|_| LineError::NotUtf8)?, block_start + record.end))
}

/// Observes the records of a block until the survey has enough rows. `first_line` is the line of the block's first
/// byte. Records with a wrong number of fields are not counted.
pub fn survey(block: &[u8], delimiter: u8, columns: usize, file: &str, first_line: u64, survey: &mut Survey) {
    let mut records = Records::new(block, delimiter);
    while !survey.is_full()
        && let Some(record) = records.next()
    {
        if record.count() != columns {
            continue;
        }
        survey.count_row();
        let line = first_line + u64::from(record.line);
        for (at, (field, short)) in record.cells().enumerate() {
            let column = || field_offset(&block[record.start..record.end], delimiter, at) as u32 + 1;
            survey.observe_bytes(at, field, short, || CellPlace { file: file.into(), line, column: column() });
        }
    }
}

/// The result of a row.
enum Outcome {
    Kept,
    /// A value is missing.
    LeftOut,
    /// There is no row.
    Blank,
}

impl Table {
    /// A table with these columns, the byte between its fields, and whether every row must have a label.
    pub fn new(columns: Schema, delimiter: u8, needs_target: bool) -> Self {
        let is_plain = |role: &Role| match role {
            Role::Numeric(rule) => rule.form.is_plain() && columns.missing.markers.is_empty(),
            _ => false,
        };
        let names =
            columns.names.iter().zip(&columns.roles).map(|(name, role)| is_plain(role).then_some(name.as_str()));
        let (numeric_names, name_places) = ColumnNames::of_some(names);
        Table { columns, delimiter, needs_target, numeric_names, name_places }
    }

    /// Parses a block of whole records; returns the rows and the number of lines.
    pub fn parse(&self, block: &[u8], errors: &mut Vec<ParseError>) -> (RawRows, u32) {
        let lines = count_lines(block) + u32::from(!block.is_empty() && !block.ends_with(b"\n"));
        // A cell has at least two bytes, with its delimiter.
        let cells = (lines as usize).saturating_mul(self.columns.names.len()).min(block.len() / 2 + 1);
        let mut rows = RawRows::of_columns(self.numeric_names.clone(), cells);
        let mut records = Records::new(block, self.delimiter);
        let has_quotes = records.has_quotes();
        while let Some(record) = records.next() {
            let mark = rows.mark();
            // Blocks end outside quotes, but for the end of the file.
            let may_be_open = has_quotes && record.end == block.len();
            let bytes = &block[record.start..record.end];
            let row = match may_be_open.then(|| open_quote(bytes, self.delimiter)).flatten() {
                Some(field) => Err((field, LineError::OpenQuote)),
                None => self.row(&record, &mut rows),
            };
            match row {
                Ok(Outcome::Kept) => {}
                Ok(Outcome::Blank) => {}
                Ok(Outcome::LeftOut) => {
                    rows.rollback(mark);
                    rows.left_out.push(record.line);
                }
                Err((field, problem)) => {
                    rows.rollback(mark);
                    let column = field_offset(bytes, self.delimiter, field) as u32 + 1;
                    errors.push(ParseError { line: record.line, column, problem });
                }
            }
        }
        (rows, lines)
    }

    fn row(&self, record: &Record<'_>, rows: &mut RawRows) -> Result<Outcome, (usize, LineError)> {
        let expected = self.columns.names.len();
        if expected > 1 && record.is_blank() {
            return Ok(Outcome::Blank);
        }
        match self.cells(record, rows) {
            Ok(Outcome::Kept) => Ok(Outcome::Kept),
            // Cells are read before all are counted, but a wrong number of them explains all other errors.
            _ if record.count() != expected => Err(self.ragged(record)),
            outcome => outcome,
        }
    }

    /// The error of a record with a wrong number of cells.
    fn ragged(&self, record: &Record<'_>) -> (usize, LineError) {
        let (expected, found) = (self.columns.names.len(), record.count());
        (found.min(expected).saturating_sub(1), LineError::Ragged { expected, found })
    }

    fn cells(&self, record: &Record<'_>, rows: &mut RawRows) -> Result<Outcome, (usize, LineError)> {
        let (mut label, mut weight, mut tag) = (Label::Absent, 1.0, None);
        let mut cells = record.cells();
        for (at, name_place) in self.name_places.iter().enumerate() {
            let Some((field, short)) = cells.next() else { return Err(self.ragged(record)) };
            if self.columns.id == Some(at) {
                tag = Some(std::str::from_utf8(field).map_err(|_| (at, LineError::NotUtf8))?.trim().into());
            }
            // The usual cell: a plain number in a column of plain numbers.
            if let Some(name) = name_place
                && let Some(value) = short.or_else(|| plain_number(field))
            {
                rows.push_column(*name, value);
                continue;
            }
            let (name, role) = (&self.columns.names[at], &self.columns.roles[at]);
            if matches!(role, Role::Ignored) {
                continue;
            }
            let text = std::str::from_utf8(field).map_err(|_| (at, LineError::NotUtf8))?.trim();
            match role {
                Role::Target(_) => match role.label(Cell::Text(text), &self.columns.missing).map_err(|e| (at, e))? {
                    Some(found) => label = found,
                    None if !self.needs_target => {}
                    None if self.columns.missing.rule == Missing::SkipRow => return Ok(Outcome::LeftOut),
                    None => return Err((at, LineError::NoLabelCell { column: name.clone() })),
                },
                Role::Weight if text.is_empty() && self.columns.missing.rule == Missing::SkipRow => {
                    return Ok(Outcome::LeftOut);
                }
                Role::Weight => weight = column::weight(Cell::Text(text)).map_err(|problem| (at, problem))?,
                role => match role.push(name, Cell::Text(text), &self.columns.missing, rows) {
                    Ok(Pushed::Yes) => {}
                    Ok(Pushed::SkipRow) => return Ok(Outcome::LeftOut),
                    Err(problem) => return Err((at, problem)),
                },
            }
        }
        if cells.next().is_some() {
            return Err(self.ragged(record));
        }
        rows.tags.extend(tag);
        rows.end_row(label, weight, record.line);
        Ok(Outcome::Kept)
    }
}

/// A finite number that fills a cell, blanks aside.
#[inline]
fn plain_number(field: &[u8]) -> Option<f64> {
    number::whole(field.trim_ascii()).filter(|value| value.is_finite())
}

fn count_lines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}

/// The field of a record that a quotation mark opens and none closes. A mark within a field opens nothing.
fn open_quote(record: &[u8], delimiter: u8) -> Option<usize> {
    let (mut field, mut is_quoted, mut is_start) = (0, false, true);
    for &byte in record {
        match byte {
            // Two marks within quotes are one of the text: they close and open.
            b'"' if is_quoted || is_start => is_quoted = !is_quoted,
            byte if byte == delimiter && !is_quoted => (field, is_start) = (field + 1, true),
            _ if !is_quoted => is_start = false,
            _ => {}
        }
    }
    is_quoted.then_some(field)
}

/// Where field number `field` starts within a record.
fn field_offset(record: &[u8], delimiter: u8, field: usize) -> usize {
    let (mut quoted, mut passed) = (false, 0);
    for (at, &byte) in record.iter().enumerate() {
        if passed == field {
            return at;
        }
        quoted ^= byte == b'"';
        passed += usize::from(byte == delimiter && !quoted);
    }
    record.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::schema::SchemaOptions;

    fn table(text: &str, missing: Missing) -> (Table, &[u8]) {
        let (names, end) = header(text.as_bytes(), b',').unwrap();
        let body = &text.as_bytes()[end..];
        let options = SchemaOptions { needs_target: true, missing, ..Default::default() };
        let mut seen = Survey::default();
        seen.begin(&names);
        survey(body, b',', names.len(), "f.csv", 2, &mut seen);
        let (known, _) = seen.decide(&options, b',').unwrap();
        let columns = Schema::resolve(names, &known, &options).unwrap();
        (Table::new(columns, b',', true), body)
    }

    fn parse(text: &str, missing: Missing) -> (RawRows, Vec<ParseError>) {
        let (table, body) = table(text, missing);
        let mut errors = Vec::new();
        let (rows, _) = table.parse(body, &mut errors);
        (rows, errors)
    }

    fn features(rows: &RawRows, i: usize) -> Vec<String> {
        rows.entries(i).map(|(key, value)| format!("{key:?} {value}")).collect()
    }

    #[test]
    fn numbers_categories_and_quotes() {
        let text = "age,town,class\n30,\"St. John's, NL\",yes\n\n0,\"a \"\"b\"\"\nc\",no\n";
        let (rows, errors) = parse(text, Missing::Error);
        assert_eq!(errors, []);
        assert_eq!(rows.labels, [Label::Text("yes".into()), Label::Text("no".into())]);
        assert_eq!(features(&rows, 0), ["Name(\"age\") 30", "Name(\"town=St. John's, NL\") 1"]);
        assert_eq!(features(&rows, 1), ["Name(\"town=a \\\"b\\\"\\nc\") 1"], "a zero is absent");
        assert_eq!(rows.lines, [0, 2]);
    }

    #[test]
    fn a_line_of_delimiters_is_a_row_and_an_empty_one_is_none() {
        let (names, end) = header(b"a\tb\ty\n", b'\t').unwrap();
        let options = SchemaOptions { needs_target: true, ..Default::default() };
        let mut seen = Survey::default();
        seen.begin(&names);
        survey(b"1\t2\t0\n", b'\t', names.len(), "f.tsv", 2, &mut seen);
        let columns = Schema::resolve(names, &seen.decide(&options, b'\t').unwrap().0, &options).unwrap();
        let mut errors = Vec::new();
        let (rows, lines) = Table::new(columns, b'\t', false).parse(b"\t\t\n \n3\t4\t1\n", &mut errors);
        assert_eq!((end, rows.len(), rows.lines.clone(), lines, errors.len()), (6, 2, vec![0, 2], 3, 0));
    }

    #[test]
    fn windows_line_ends_are_no_part_of_the_data() {
        let (rows, errors) = parse("age,class\r\n30,yes\r\n\r\n40,\"no\"\r\n", Missing::Error);
        assert_eq!(errors, []);
        assert_eq!(rows.labels, [Label::Text("yes".into()), Label::Text("no".into())]);
        assert_eq!(rows.lines, [0, 2]);
    }

    #[test]
    fn complaints_say_where_and_what() {
        let (_, errors) = parse("a,b,y\n1,2,0\n1,2\n1,2,0,4\n", Missing::Error);
        let messages: Vec<_> = errors.iter().map(|e| format!("{}:{}: {}", e.line, e.column, e.problem)).collect();
        assert_eq!(messages, ["1:3: 2 fields where the header has 3", "2:5: 4 fields where the header has 3"]);
    }

    #[test]
    fn a_quotation_mark_that_is_not_closed_is_told() {
        for (text, place) in [
            ("a,b,y\n1,2,0\n1,\"2,1\n3,4,5\n", (1, 3)),
            ("a,b,y\n1,2,0\n1,2,\"1\n3,4,5\n", (1, 5)),
            ("a,b,y\n1,2,0\n\"1\"\",2,1", (1, 1)),
        ] {
            let (rows, errors) = parse(text, Missing::Error);
            assert_eq!((rows.len(), errors.len()), (1, 1), "{text}");
            assert_eq!((errors[0].line, errors[0].column), place, "{text}");
            assert_eq!(errors[0].problem, LineError::OpenQuote);
        }
        for whole in ["a,b,y\n1,\"2\",\"0\"\n", "a,b,y\n1,5\" x 3,0", "a,b,y\n1,\"say \"\"x\"\"\",0\n\n"] {
            assert_eq!(parse(whole, Missing::Error).1, [], "{whole}");
        }
    }

    #[test]
    fn missing_cells() {
        let text = "a,b,y\n1,2,0\n,2,1\n";
        let (rows, errors) = parse(text, Missing::Error);
        assert_eq!((rows.len(), errors[0].line, errors[0].column), (1, 1, 1));
        assert_eq!(
            errors[0].problem.to_string(),
            "column \"a\" is empty; use `missing = mean`, `missing = zero` or `missing = skip-row`"
        );
        assert_eq!(parse(text, Missing::Zero).0.len(), 2);
        assert_eq!(features(&parse(text, Missing::Auto).0, 1), ["Name(\"a\") 1", "Name(\"b\") 2"], "the mean");
        assert_eq!(parse(text, Missing::SkipRow).0.len(), 1);
    }

    #[test]
    fn text_in_a_numeric_column_is_told() {
        let (table, _) = table("a,y\n1,0\n", Missing::Error);
        let mut errors = Vec::new();
        table.parse(b"1,0\nred,1\n", &mut errors);
        assert_eq!(
            errors[0].problem.to_string(),
            "column \"a\": \"red\" is not a number; use `na = red` if it means a missing value, or `categorical = a` if the \
             column holds categories"
        );
    }
}
