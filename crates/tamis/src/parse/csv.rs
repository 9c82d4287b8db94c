//! Comma- or tab-separated tables with a header; quoting as in RFC 4180.
//!
//! A numeric column is a feature with the name of the column; categories are features `column=value` of value 1. The
//! kinds of the columns come from a survey of the first rows, and models store them.

use std::ops::Range;
use std::sync::Arc;

use super::column::{self, Cell, Pushed, Role};
use super::records::{Record, Records, count_lines, field_offset, open_quote};
use super::schema::Schema;
use super::survey::{CellPlace, Survey};
use super::{LineError, Missing, NumberRows, ParseError, number};
use crate::data::{ColumnNames, Label, RawRows, name_runs};

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
    /// The runs of neighbouring columns of plain numbers.
    runs: Vec<Run>,
    /// The other columns in use, if they have no features: labels, weights and ids.
    head_columns: Option<Vec<usize>>,
}

/// Neighbouring columns of plain numbers, and the place of the first of their names.
#[derive(Clone, Debug)]
struct Run {
    columns: Range<usize>,
    first_name: u32,
}

/// What a row is beside its features.
struct Head {
    label: Label,
    weight: f64,
    tag: Option<Box<str>>,
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

/// Observes the records of a block until the survey has enough rows, and returns their numbers: [`Table::parse_known`] need not
/// parse them again. `first_line` is the line of the block's first byte. Records with a wrong number of fields are not counted.
pub fn survey(
    block: &[u8],
    delimiter: u8,
    file: &str,
    first_line: u64,
    survey: &mut Survey,
) -> Option<Arc<NumberRows>> {
    let mut records = Records::new(block, delimiter);
    let has_quotes = records.has_quotes();
    while !survey.is_full()
        && let Some(record) = records.next()
    {
        let line = first_line + u64::from(record.line);
        let column = |at| field_offset(&block[record.start..record.end], delimiter, at) as u32 + 1;
        survey.observe_record(record.line, record.cells(), |at| CellPlace {
            file: file.into(),
            line,
            column: column(at),
        });
    }
    let numbers = survey.end_block();
    (!has_quotes).then_some(numbers)
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
        let run = |(columns, first): (Range<usize>, Option<u32>)| first.map(|first_name| Run { columns, first_name });
        let runs = name_runs(&name_places).into_iter().filter_map(run).collect();
        let used = (0..columns.names.len())
            .filter(|&at| columns.id == Some(at) || (name_places[at].is_none() && columns.roles[at] != Role::Ignored));
        let head_columns: Vec<usize> = used.collect();
        let has_features = |&at: &usize| match columns.roles[at] {
            Role::Target(_) | Role::Weight | Role::Ignored => false,
            _ => name_places[at].is_none(),
        };
        let head_columns = (!head_columns.iter().any(has_features)).then_some(head_columns);
        Table { columns, delimiter, needs_target, numeric_names, name_places, runs, head_columns }
    }

    /// Parses a block of whole records; returns the rows and the number of lines.
    pub fn parse(&self, block: &[u8], errors: &mut Vec<ParseError>) -> (RawRows, u32) {
        self.parse_known(block, None, errors)
    }

    /// Parses a block of which a survey has parsed some rows.
    pub fn parse_known(
        &self,
        block: &[u8],
        known: Option<&NumberRows>,
        errors: &mut Vec<ParseError>,
    ) -> (RawRows, u32) {
        let lines = count_lines(block) + u32::from(!block.is_empty() && !block.ends_with(b"\n"));
        // A cell has at least two bytes, with its delimiter.
        let cells = (lines as usize).saturating_mul(self.columns.names.len()).min(block.len() / 2 + 1);
        let mut rows = RawRows::of_columns(self.numeric_names.clone(), cells);
        // Numbers are known only where there are no quotation marks.
        let mut records = match known {
            Some(_) => Records::with_reader(block, self.delimiter, false),
            None => Records::new(block, self.delimiter),
        };
        let has_quotes = records.has_quotes();
        let (mut known_before, mut numbers_of_run) = (0, Vec::new());
        while let Some(record) = records.next() {
            let numbers = known.and_then(|known| known.in_line(record.line, &mut known_before));
            let mark = rows.mark();
            // Blocks end outside quotes, but for the end of the file.
            let may_be_open = has_quotes && record.end == block.len();
            let bytes = &block[record.start..record.end];
            let row = match may_be_open.then(|| open_quote(bytes, self.delimiter)).flatten() {
                Some(field) => Err((field, LineError::OpenQuote)),
                None => match numbers.and_then(|numbers| self.known_row(&record, numbers, &mut rows)) {
                    Some(row) => row,
                    None => self.row(&record, &mut numbers_of_run, &mut rows),
                },
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

    fn row(
        &self,
        record: &Record<'_>,
        numbers: &mut Vec<f64>,
        rows: &mut RawRows,
    ) -> Result<Outcome, (usize, LineError)> {
        let expected = self.columns.names.len();
        if expected > 1 && record.is_blank() {
            return Ok(Outcome::Blank);
        }
        match self.cells(record, numbers, rows) {
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

    /// Adds a row whose numbers are known. `None` if a cell of a column of plain numbers is none, or if columns with other
    /// features are in use.
    fn known_row(
        &self,
        record: &Record<'_>,
        numbers: &[f64],
        rows: &mut RawRows,
    ) -> Option<Result<Outcome, (usize, LineError)>> {
        let heads = self.head_columns.as_ref()?;
        let has_gap = |run: &Run| numbers[run.columns.clone()].iter().fold(false, |any, value| any | value.is_nan());
        if self.runs.iter().any(has_gap) {
            return None;
        }
        let mut head = Head { label: Label::Absent, weight: 1.0, tag: None };
        for &at in heads {
            let field = record.cell(at, numbers.len());
            match self.read_id(at, field, &mut head).and_then(|()| self.head_cell(at, field, &mut head)) {
                Ok(Outcome::Kept) => {}
                other => return Some(other),
            }
        }
        self.runs.iter().for_each(|run| rows.push_columns(run.first_name, &numbers[run.columns.clone()]));
        Some(Ok(end_row(head, record.line, rows)))
    }

    /// Adds the row of a record; `numbers` is a list to use.
    fn cells(
        &self,
        record: &Record<'_>,
        numbers: &mut Vec<f64>,
        rows: &mut RawRows,
    ) -> Result<Outcome, (usize, LineError)> {
        let mut head = Head { label: Label::Absent, weight: 1.0, tag: None };
        let mut cells = record.cells();
        let (mut at, mut runs) = (0, self.runs.iter().peekable());
        while at < self.name_places.len() {
            // The usual cells: plain numbers in columns of plain numbers.
            while runs.next_if(|run| run.columns.end <= at).is_some() {}
            if let Some(run) = runs.peek().filter(|run| run.columns.contains(&at) && self.columns.id.is_none()) {
                numbers.clear();
                cells.short_numbers(run.columns.end - at, numbers);
                rows.push_columns(run.first_name + (at - run.columns.start) as u32, numbers);
                at += numbers.len();
                if at == run.columns.end {
                    continue;
                }
            }
            let Some((field, short)) = cells.next() else { return Err(self.ragged(record)) };
            self.read_id(at, field, &mut head)?;
            if let Some(name) = self.name_places[at]
                && let Some(value) = short.or_else(|| plain_number(field))
            {
                rows.push_column(name, value);
                at += 1;
                continue;
            }
            let outcome = match &self.columns.roles[at] {
                Role::Ignored | Role::Target(_) | Role::Weight => self.head_cell(at, field, &mut head)?,
                role => {
                    let text = Cell::Text(trimmed(at, field)?);
                    let pushed = role.push(&self.columns.names[at], text, &self.columns.missing, rows);
                    match pushed.map_err(|problem| (at, problem))? {
                        Pushed::Yes => Outcome::Kept,
                        Pushed::SkipRow => Outcome::LeftOut,
                    }
                }
            };
            if !matches!(outcome, Outcome::Kept) {
                return Ok(outcome);
            }
            at += 1;
        }
        if cells.next().is_some() {
            return Err(self.ragged(record));
        }
        Ok(end_row(head, record.line, rows))
    }

    /// Reads a cell as the id of its row, if its column has the ids.
    fn read_id(&self, at: usize, field: &[u8], head: &mut Head) -> Result<(), (usize, LineError)> {
        if self.columns.id == Some(at) {
            head.tag = Some(trimmed(at, field)?.into());
        }
        Ok(())
    }

    /// Reads a cell as the label or the weight of its row, if its column has these.
    fn head_cell(&self, at: usize, field: &[u8], head: &mut Head) -> Result<Outcome, (usize, LineError)> {
        let text = || trimmed(at, field);
        let (role, missing) = (&self.columns.roles[at], &self.columns.missing);
        match role {
            Role::Target(_) => match role.label(Cell::Text(text()?), missing).map_err(|e| (at, e))? {
                Some(found) => head.label = found,
                None if !self.needs_target => {}
                None if missing.rule == Missing::SkipRow => return Ok(Outcome::LeftOut),
                None => return Err((at, LineError::NoLabelCell { column: self.columns.names[at].clone() })),
            },
            Role::Weight if text()?.is_empty() && missing.rule == Missing::SkipRow => return Ok(Outcome::LeftOut),
            Role::Weight => head.weight = column::weight(Cell::Text(text()?)).map_err(|problem| (at, problem))?,
            _ => {}
        }
        Ok(Outcome::Kept)
    }
}

/// The text of a cell without blanks around it.
fn trimmed(at: usize, field: &[u8]) -> Result<&str, (usize, LineError)> {
    std::str::from_utf8(field).map(str::trim).map_err(|_| (at, LineError::NotUtf8))
}

fn end_row(head: Head, line: u32, rows: &mut RawRows) -> Outcome {
    rows.tags.extend(head.tag);
    rows.end_row(head.label, head.weight, line);
    Outcome::Kept
}

/// A finite number that fills a cell, blanks aside.
#[inline]
fn plain_number(field: &[u8]) -> Option<f64> {
    number::whole(field.trim_ascii()).filter(|value| value.is_finite())
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
        survey(body, b',', "f.csv", 2, &mut seen);
        let (known, _) = seen.decide(&options, b',').unwrap();
        let columns = Schema::resolve(names, known, &options).unwrap();
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
        survey(b"1\t2\t0\n", b'\t', "f.tsv", 2, &mut seen);
        let columns = Schema::resolve(names, seen.decide(&options, b'\t').unwrap().0, &options).unwrap();
        let mut errors = Vec::new();
        let (rows, lines) = Table::new(columns, b'\t', false).parse(b"\t\t\n \n3\t4\t1\n", &mut errors);
        assert_eq!((end, rows.len(), rows.lines.clone(), lines, errors.len()), (6, 2, vec![0, 2], 3, 0));
    }

    #[test]
    fn rows_of_a_survey_are_those_of_their_text() {
        let lines = ["1.5,0,yes,3,2", "2,,no,4,1", "", "5,6", "-7,8,yes,-0.5,007", "1,--2,no,2,1", " 3 ,4e1,no,5,0.5"];
        let text = format!("a,b,y,c,w\n{}\n", lines.repeat(8).join("\n"));
        let (names, end) = header(text.as_bytes(), b',').unwrap();
        let body = &text.as_bytes()[end..];
        for weight in [None, Some("w".to_string())] {
            let missing = Missing::Zero;
            let options =
                SchemaOptions { needs_target: true, numeric: vec!["b".into()], weight, missing, ..Default::default() };
            let mut seen = Survey::default();
            seen.begin(&names);
            let known = survey(body, b',', "f.csv", 2, &mut seen).unwrap();
            let columns = Schema::resolve(names.clone(), seen.decide(&options, b',').unwrap().0, &options).unwrap();
            let table = Table::new(columns, b',', true);
            let [mut errors, mut known_errors] = [Vec::new(), Vec::new()];
            let (rows, lines) = table.parse(body, &mut errors);
            assert_eq!(table.parse_known(body, Some(&known), &mut known_errors), (rows.clone(), lines));
            assert_eq!(known_errors, errors);
            assert!(rows.len() >= 30 && !errors.is_empty(), "{} {errors:?}", rows.len());
        }
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
