//! The survey of a table: what its first rows say about each column.
//!
//! The survey counts rows, and bytes of texts in their order, so that its result does not depend on how rows are split
//! into files and blocks. It decides by the column and not by a cell: see `column_decision.rs` for the rules.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::column::Cell;
use super::column_decision::{Decision, Rules};
use super::column_survey::ColumnSurvey;
use super::number;
use super::number_columns;
use super::number_rows::{NumberRows, PendingRows};
use super::records::{Cells, is_code};
use super::schema::{DateColumn, ModelSchema, SchemaError, SchemaOptions, find_target};
use super::wide_numbers::WideNumbers;
use crate::data::TextMap;
use crate::param::{Message, names};

/// Rows of a survey, fewer if a table has many columns.
const MOST_ROWS: u64 = 20_000;
const FEWEST_ROWS: u64 = 256;
const MOST_CELLS: u64 = 1 << 20;
/// The fewest columns of a table whose numbers stay in their rows.
const WIDE: usize = 64;
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
    keeps_any_text: bool,
    at: TextMap<String, usize>,
    /// The columns of the table that is being read.
    current: Vec<usize>,
    /// Rows of that table whose numbers are not with its columns yet.
    pending: PendingRows,
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
        let current: Vec<usize> = names.iter().map(|name| self.index_of(name)).collect();
        if current != self.current {
            self.settle();
            self.current = current;
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
        self.rows >= self.most_rows() || self.bytes >= MOST_BYTES
    }

    /// The number of rows that are enough.
    fn most_rows(&self) -> u64 {
        (MOST_CELLS / self.columns.len().max(1) as u64).clamp(FEWEST_ROWS, MOST_ROWS)
    }

    /// Whether no row was seen.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Counts a row.
    pub fn count_row(&mut self) {
        self.rows += 1;
    }

    /// Makes room for the numbers of rows of the current table that will be counted, at most so many.
    pub fn reserve_rows(&mut self, rows: usize) {
        let left = self.most_rows().saturating_sub(self.rows);
        self.pending.reserve(self.current.len(), rows.min(left as usize));
    }

    /// Counts a row of the current table whose cells follow. Cells that are not observed are to be set by
    /// [`Survey::last_numbers`].
    pub fn begin_row(&mut self) {
        self.rows += 1;
        self.pending.add_rows(self.current.len(), 1);
    }

    /// The numbers of the last rows of the block of the current table that is being read, row by row; NaN where there is none.
    pub fn last_numbers(&mut self, rows: usize) -> &mut [f64] {
        self.pending.open.last_rows(rows)
    }

    /// Observes an empty cell of column `at` in one of the last rows; the last one is 0.
    pub fn observe_empty(&mut self, at: usize, row_from_end: usize) {
        let row = self.pending.len() - 1 - row_from_end;
        self.columns[self.current[at]].empty(Some(row));
    }

    /// Ends a block of rows of the current table, and returns their numbers.
    pub fn end_block(&mut self) -> Arc<NumberRows> {
        self.pending.end_block()
    }

    /// Observes a row of the current table in a line of its block. A row with another number of cells than the table has columns
    /// is not counted.
    pub(super) fn observe_record(&mut self, line: u32, mut cells: Cells<'_>, place: impl Fn(usize) -> CellPlace) {
        let Survey { keeps_any_text, keeps_text, current, pending, .. } = self;
        let keeps = |at: usize| *keeps_any_text && current.get(at).is_some_and(|&index| keeps_text[index]);
        let columns = current.len();
        let (start, numbers) = pending.open.begin_row(columns);
        let mut others: Vec<(usize, &[u8])> = Vec::new();
        loop {
            let at = numbers.len() - start;
            if !*keeps_any_text {
                cells.short_numbers(columns.saturating_sub(at), numbers);
            }
            let at = numbers.len() - start;
            let Some((field, number)) = cells.next() else { break };
            let number = number.filter(|_| !is_code(field)).or_else(|| number_of(field));
            numbers.push(number.filter(|_| !keeps(at)).unwrap_or_else(|| {
                others.push((at, field));
                f64::NAN
            }));
        }
        if !self.pending.open.end_row(line) {
            return;
        }
        self.rows += 1;
        for (at, field) in others {
            self.observe_text(at, field.trim_ascii(), || place(at));
        }
    }

    /// Adds the pending numbers to their columns.
    fn settle(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        let rows = pending.rows();
        for (at, &index) in self.current.iter().enumerate() {
            self.columns[index].pending_numbers(rows.iter().map(|row| row[at]));
        }
    }

    /// Observes a text of column `at` of the current table.
    fn observe_text(&mut self, at: usize, text: &[u8], place: impl FnOnce() -> CellPlace) {
        self.bytes += text.len() as u64;
        let row = self.pending.len().checked_sub(1);
        self.columns[self.current[at]].text(&String::from_utf8_lossy(text), row, place);
    }

    /// Observes a cell of column `at` of the current table, in the row that was begun last or after the cells before.
    pub fn observe(&mut self, at: usize, cell: Cell<'_>, place: impl FnOnce() -> CellPlace) {
        let number = match cell {
            Cell::Text(text) => number_of(text.as_bytes()).filter(|_| !self.keeps_text[self.current[at]]),
            Cell::Number(value) => Some(value).filter(|value| value.is_finite()),
            Cell::Missing => None,
        };
        match (number, cell) {
            (Some(value), _) if self.pending.is_empty() => self.columns[self.current[at]].number(value),
            (Some(value), _) => self.pending.open.last_rows(1)[at] = value,
            (None, Cell::Text(text)) => self.observe_text(at, text.as_bytes().trim_ascii(), place),
            (None, _) => self.columns[self.current[at]].empty(self.pending.len().checked_sub(1)),
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
                self.keeps_any_text = true;
            }
        }
    }

    /// Decides how each column is read, and what to say about it.
    pub fn decide(
        mut self,
        options: &SchemaOptions,
        delimiter: u8,
    ) -> Result<(ModelSchema, Vec<ColumnNote>), SchemaError> {
        let pending = self.wide_rows();
        let numbers = WideNumbers::new(&pending, &self.current, &mut self.columns);
        let columns: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let target = find_target(&columns, options)?;
        let weight = options.weight.clone();
        let rules = Rules::new(options, delimiter, self.rows);
        let mut schema = ModelSchema { target, weight, na: options.na.clone(), ..ModelSchema::default() };
        let mut notes = Vec::new();
        let copies = self.copies(&schema, options, &numbers);
        for (index, mut column) in std::mem::take(&mut self.columns).into_iter().enumerate() {
            if options.ignore.contains(&column.name) {
                schema.ignored.push(column.name);
                continue;
            }
            if let Some(first) = copies.get(&column.name) {
                // Braces of the data are no places for parameters.
                let first = first.replace(['{', '}'], "·");
                let text = format!("it has the same cells as {first:?} and is left out; {{}} or {{}} uses it");
                let text = Message::new(text, advice_to_use(&column.name));
                notes.push(ColumnNote { column: column.name.clone(), text, is_warning: false });
                schema.ignored.push(column.name);
                continue;
            }
            if Some(&column.name) == schema.weight.as_ref() {
                continue;
            }
            let is_target = Some(&column.name) == schema.target.as_ref();
            if let Some(mean) = numbers.mean_of_fractions(index).filter(|_| !is_target && column.is_open(options)) {
                put(&mut schema, column.name, rules.decide_fractions(Some(mean)));
                continue;
            }
            numbers.fill(index, &mut column);
            let name = column.name.clone();
            if is_target {
                schema.forms.extend(column.label_form(&rules).map(|form| (name, form)));
                continue;
            }
            let (decision, said) = column.decide(&rules, options);
            let note = |(text, is_warning)| ColumnNote { column: name.clone(), text, is_warning };
            notes.extend(said.into_iter().map(note));
            put(&mut schema, name, decision);
        }
        Ok((schema, notes))
    }

    /// The rows of a wide table, which keep the numbers of its columns. Those of others are added to the columns.
    fn wide_rows(&mut self) -> PendingRows {
        let is_wide = self.current.len() >= WIDE && self.pending.len() <= number_columns::MOST_ROWS;
        if !is_wide || self.columns.iter().any(|column| column.seen() > 0) {
            self.settle();
        }
        std::mem::take(&mut self.pending)
    }

    /// Columns that repeat another one cell by cell, and the name of that one: the first by name, so that the order of the
    /// columns does not matter. Two copies of a column would share its weight, and neither would seem to matter.
    fn copies(
        &mut self,
        schema: &ModelSchema,
        options: &SchemaOptions,
        numbers: &WideNumbers,
    ) -> TextMap<String, String> {
        let named = [&options.categorical, &options.numeric, &options.text, &options.keep, &options.ignore];
        let is_free = |column: &ColumnSurvey| {
            let name = Some(&column.name);
            name != schema.target.as_ref()
                && name != schema.weight.as_ref()
                && name != options.id.as_ref()
                && !named.iter().any(|list| list.contains(&column.name))
        };
        let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
        self.columns.iter().for_each(|column| *counts.entry(column.cells()).or_default() += 1);
        let mut by_name = Vec::new();
        for (index, column) in self.columns.iter_mut().enumerate() {
            if counts[&column.cells()] > 1 && is_free(column) {
                numbers.fill(index, column);
                by_name.push(&*column);
            }
        }
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
}

fn put(schema: &mut ModelSchema, name: String, decision: Decision) {
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

/// The finite number that fills a cell, if it is not a code.
fn number_of(field: &[u8]) -> Option<f64> {
    let field = field.trim_ascii();
    number::whole(field).filter(|value| value.is_finite() && !is_code(field))
}

/// The advice to use a column that was left out.
pub(super) fn advice_to_use(column: &str) -> [crate::param::Mention; 2] {
    [names::CATEGORICAL.with(column), names::NUMERIC.with(column)]
}
