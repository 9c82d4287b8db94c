//! The survey of a table: what its first rows say about each column.
//!
//! The survey counts rows, and bytes of texts in their order, so that its result does not depend on how rows are split
//! into files and blocks. It decides by the column and not by a cell: see `column_decision.rs` for the rules.

use std::fmt;

use rustc_hash::FxHashMap;

use super::column::Cell;
use super::column_decision::{Decision, Rules};
use super::column_survey::ColumnSurvey;
use super::number;
use super::schema::{DateColumn, ModelSchema, SchemaError, SchemaOptions, find_target};
use crate::data::TextMap;
use crate::param::{Message, names};

/// Rows of a survey, fewer if a table has many columns.
const MOST_ROWS: u64 = 20_000;
const FEWEST_ROWS: u64 = 256;
const MOST_CELLS: u64 = 1 << 20;
/// Rows whose numbers are added to the columns at once.
const PENDING_ROWS: usize = 16;
/// Bytes of the texts of a survey: they are kept in memory.
const MOST_BYTES: u64 = 1 << 28;

/// Where a cell stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPlace {
    /// The file.
    pub file: String,
    /// The line, or the row of a columnar file.
    pub line: u64,
    /// The byte within the line, from 1; 0 if cells have no bytes.
    pub column: u32,
}

impl fmt::Display for CellPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CellPlace { file, line, column } = self;
        match column {
            0 => write!(f, "{file}: row {line}"),
            _ => write!(f, "{file}:{line}:{column}"),
        }
    }
}

/// Statistics of the first rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    rows: u64,
    /// Bytes of the texts.
    bytes: u64,
    columns: Vec<ColumnSurvey>,
    /// Whether the text of numbers is kept, too, by column.
    keeps_text: Vec<bool>,
    at: TextMap<String, usize>,
    /// The columns of the table that is being read.
    current: Vec<usize>,
    /// Numbers of the last rows of that table, row by row; NaN where there is none.
    pending: Vec<f64>,
}

/// What the user should know about a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnNote {
    /// The column.
    pub column: String,
    /// What became of it.
    pub text: Message,
    /// Whether it may be an error of the data.
    pub is_warning: bool,
}

impl fmt::Display for ColumnNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {:?}: {}", self.column, self.text)
    }
}

impl Survey {
    /// Begins a table with these columns.
    pub fn begin(&mut self, names: &[String]) {
        self.settle();
        self.current.clear();
        for name in names {
            let index = self.index_of(name);
            self.current.push(index);
        }
    }

    fn index_of(&mut self, name: &str) -> usize {
        let Survey { columns, at, keeps_text, .. } = self;
        *at.entry(name.to_string()).or_insert_with(|| {
            columns.push(ColumnSurvey::new(name));
            keeps_text.push(false);
            columns.len() - 1
        })
    }

    /// Whether enough rows were seen.
    pub fn is_full(&self) -> bool {
        let columns = self.columns.len().max(1) as u64;
        self.rows >= (MOST_CELLS / columns).clamp(FEWEST_ROWS, MOST_ROWS) || self.bytes >= MOST_BYTES
    }

    /// Whether no row was seen.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Counts a row, which begins.
    pub fn count_row(&mut self) {
        self.rows += 1;
        if self.pending.len() >= PENDING_ROWS * self.current.len() {
            self.settle();
        }
        self.pending.resize(self.pending.len() + self.current.len(), f64::NAN);
    }

    /// Adds a number to column `at` of the current table. In a wide table, every column of a row is elsewhere in memory: the
    /// numbers of a few rows are added to a column at once.
    fn number(&mut self, at: usize, value: f64) {
        let row = self.pending.len().saturating_sub(self.current.len());
        match self.pending.get_mut(row + at) {
            Some(place) => *place = value,
            None => self.columns[self.current[at]].number(value),
        }
    }

    /// Adds the pending numbers to their columns.
    fn settle(&mut self) {
        (0..self.current.len()).for_each(|at| self.settle_column(at));
        self.pending.clear();
    }

    /// Adds the pending numbers of column `at`, before a cell that is none.
    fn settle_column(&mut self, at: usize) {
        let column = &mut self.columns[self.current[at]];
        for value in self.pending.iter_mut().skip(at).step_by(self.current.len().max(1)).filter(|value| !value.is_nan())
        {
            column.number(std::mem::replace(value, f64::NAN));
        }
    }

    /// Observes the bytes of a text cell of column `at` of the current table, and the number that they are if it is known.
    pub fn observe_bytes(&mut self, at: usize, field: &[u8], number: Option<f64>, place: impl FnOnce() -> CellPlace) {
        let Some(&index) = self.current.get(at) else { return };
        let field = field.trim_ascii();
        match number.or_else(|| number::whole(field)) {
            Some(value) if value.is_finite() && !is_code(field) && !self.keeps_text[index] => self.number(at, value),
            _ => {
                self.bytes += field.len() as u64;
                self.settle_column(at);
                self.columns[index].text(&String::from_utf8_lossy(field), place);
            }
        }
    }

    /// Observes a cell of column `at` of the current table.
    pub fn observe(&mut self, at: usize, cell: Cell<'_>, place: impl FnOnce() -> CellPlace) {
        match cell {
            Cell::Text(text) => self.observe_bytes(at, text.as_bytes(), None, place),
            Cell::Number(value) if value.is_finite() => self.number(at, value),
            Cell::Number(_) | Cell::Missing => {
                self.settle_column(at);
                self.columns[self.current[at]].empty();
            }
        }
    }

    /// Observes a cell of a column by its name: of a table whose rows name their columns.
    pub fn observe_named(&mut self, name: &str, cell: Cell<'_>, place: impl FnOnce() -> CellPlace) {
        self.settle();
        let index = self.index_of(name);
        self.current.clear();
        self.current.push(index);
        self.observe(0, cell, place);
    }

    /// The columns so far.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Says that the file itself stores column `at` as dates, whose cells are days.
    pub fn declare_date(&mut self, at: usize) {
        self.columns[self.current[at]].is_date = true;
    }

    /// Keeps the text of every cell of these columns, even of numbers.
    pub fn keep_text_of(&mut self, names: &[String]) {
        for name in names {
            if let Some(&index) = self.at.get(name) {
                self.keeps_text[index] = true;
            }
        }
    }

    /// Decides how each column is read, and what to say about it.
    pub fn decide(
        mut self,
        options: &SchemaOptions,
        delimiter: u8,
    ) -> Result<(ModelSchema, Vec<ColumnNote>), SchemaError> {
        self.settle();
        let columns: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let target = find_target(&columns, options)?;
        let weight = options.weight.clone();
        let rules = Rules::new(options, delimiter, self.rows);
        let mut schema = ModelSchema { target, weight, na: options.na.clone(), ..ModelSchema::default() };
        let mut notes = Vec::new();
        let copies = copies(&self.columns, &schema, options);
        for column in self.columns {
            let name = column.name.clone();
            if options.ignore.contains(&name) {
                schema.ignored.push(name);
                continue;
            }
            if let Some(first) = copies.get(&name) {
                // Braces of the data are no places for parameters.
                let first = first.replace(['{', '}'], "·");
                let text = format!("it has the same cells as {first:?} and is left out; {{}} or {{}} uses it");
                let text = Message::new(text, advice_to_use(&name));
                notes.push(ColumnNote { column: name.clone(), text, is_warning: false });
                schema.ignored.push(name);
                continue;
            }
            if Some(&name) == schema.weight.as_ref() {
                continue;
            }
            if Some(&name) == schema.target.as_ref() {
                schema.forms.extend(column.label_form(&rules).map(|form| (name, form)));
                continue;
            }
            let (decision, said) = column.decide(&rules, options);
            let note = |(text, is_warning)| ColumnNote { column: name.clone(), text, is_warning };
            notes.extend(said.into_iter().map(note));
            put(&mut schema, &name, decision);
        }
        Ok((schema, notes))
    }
}

/// Columns that repeat another one cell by cell, and the name of that one: the first by name, so that the order of the
/// columns does not matter. Two copies of a column would share its weight, and neither would seem to matter.
fn copies(columns: &[ColumnSurvey], schema: &ModelSchema, options: &SchemaOptions) -> TextMap<String, String> {
    let named = [&options.categorical, &options.numeric, &options.text, &options.keep, &options.ignore];
    let is_free = |column: &&ColumnSurvey| {
        let name = Some(&column.name);
        name != schema.target.as_ref()
            && name != schema.weight.as_ref()
            && name != options.id.as_ref()
            && !named.iter().any(|list| list.contains(&column.name))
    };
    let mut by_name: Vec<&ColumnSurvey> = columns.iter().filter(is_free).collect();
    by_name.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut firsts: FxHashMap<u64, &ColumnSurvey> = FxHashMap::default();
    let mut copies = TextMap::default();
    for column in by_name {
        let first = *firsts.entry(column.cells()).or_insert(column);
        if first.name != column.name && column.is_copy_of(first) {
            copies.insert(column.name.clone(), first.name.clone());
        }
    }
    copies
}

fn put(schema: &mut ModelSchema, name: &str, decision: Decision) {
    let name = name.to_string();
    match decision {
        Decision::Numeric { form, mean, odd_is_missing } => {
            if form != Default::default() {
                schema.forms.insert(name.clone(), form);
            }
            schema.means.extend(mean.map(|mean| (name.clone(), mean)));
            if odd_is_missing {
                schema.odd_is_missing.push(name.clone());
            }
            schema.numeric.push(name);
        }
        Decision::Date { form, parts, mean, odd_is_missing } => {
            schema.means.extend(mean.map(|mean| (name.clone(), mean)));
            if odd_is_missing {
                schema.odd_is_missing.push(name.clone());
            }
            schema.dates.insert(name, DateColumn { form, parts });
        }
        Decision::Category { levels } => {
            schema.levels.extend(levels.map(|levels| (name.clone(), levels)));
            schema.categorical.push(name);
        }
        Decision::Text => schema.text.push(name),
        Decision::Ignored => schema.ignored.push(name),
    }
}

/// Whether digits are a code and not a number: a number does not begin with a zero before other digits.
fn is_code(field: &[u8]) -> bool {
    matches!(field, [b'0', b'0'..=b'9', ..]) && field.iter().all(u8::is_ascii_digit)
}

/// The advice to use a column that was left out.
pub(super) fn advice_to_use(column: &str) -> [crate::param::Mention; 2] {
    [names::CATEGORICAL.with(column), names::NUMERIC.with(column)]
}
