//! Turns record batches into rows.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::arrow_chunk::Chunk;
use super::arrow_survey::survey_chunk;
use super::block::{BLOCK_ENTRIES, Block, rows_of_columns};
use super::cells::{Cells, are_finite};
use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::limits::ColumnarLimits;
use super::list_columns::push_list;
use super::schema::{KeyKind, Layout, Place};
use super::sparse_columns::Read;
use crate::data::{ColumnNames, Label, RawRows, name_runs};
use crate::parse::column::{self, Cell, MissingCells, Pushed, Role};
use crate::parse::schema::{Schema as RowSchema, SchemaOptions};
use crate::parse::survey::{CellPlace, Survey};
use crate::parse::{LineError, Missing, NumberRows};

/// A source of record batches; each holds the columns in use and no others.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ColumnarError>> + Send>;

/// A table that is being read.
pub(super) struct Table {
    kind: ColumnarKind,
    schema: SchemaRef,
    layout: Layout,
    missing: MissingCells,
    target: Role,
    needs_target: bool,
    limits: ColumnarLimits,
    /// The names of the columns of numbers.
    numeric_names: Arc<ColumnNames>,
    /// By feature of the layout: the place of its name among these.
    name_places: Vec<Option<u32>>,
    /// The runs of neighbouring features: columns of numbers, with the place of the first name, or others.
    runs: Vec<(Range<usize>, Option<u32>)>,
    batches: Batches,
    /// The batches of a survey.
    surveyed: Option<Vec<RecordBatch>>,
    /// The numbers of the features in the chunks of a survey, and of the label.
    surveyed_numbers: VecDeque<Arc<NumberRows>>,
    /// The current batch and the number of its rows that have been decoded.
    rest: Option<(RecordBatch, usize)>,
    chunk: Option<Chunk>,
    next_row: u64,
}

/// The column with the error, and the error.
type CellError = (String, LineError);

impl Table {
    pub fn new(
        kind: ColumnarKind,
        schema: SchemaRef,
        layout: Layout,
        options: &SchemaOptions,
        limits: ColumnarLimits,
        batches: Batches,
    ) -> Self {
        let columns = layout.columns.as_ref();
        let missing =
            columns.map_or(MissingCells { rule: options.missing, markers: Vec::new() }, |c| c.missing.clone());
        let target = columns.and_then(|columns| columns.roles.iter().find(|role| matches!(role, Role::Target(_))));
        let target = target.cloned().unwrap_or(Role::Ignored);
        let features = layout.features.iter();
        let names = features.map(|(place, role)| matches!(role, Role::Numeric(_)).then_some(place.name.as_str()));
        let (numeric_names, name_places) = ColumnNames::of_some(names);
        Table {
            kind,
            schema,
            numeric_names,
            runs: name_runs(&name_places),
            name_places,
            layout,
            missing,
            target,
            needs_target: options.needs_target,
            limits,
            batches,
            surveyed: None,
            surveyed_numbers: VecDeque::new(),
            rest: None,
            chunk: None,
            next_row: 0,
        }
    }

    /// The table from its first row on, by the schema that its survey has decided; `None` if other columns are in use then.
    pub fn after_survey(self, options: &SchemaOptions) -> Result<Option<Self>, ColumnarError> {
        let layout = Layout::new(&self.schema, options)?;
        if layout.used != self.layout.used {
            return Ok(None);
        }
        let batches = self.surveyed.unwrap_or_default().into_iter().map(Ok).chain(self.batches);
        let places = |layout: &Layout| layout.features.iter().map(|(place, _)| place.at).collect::<Vec<_>>();
        let is_same = places(&layout) == places(&self.layout);
        let surveyed_numbers = if is_same { self.surveyed_numbers } else { VecDeque::new() };
        let table = Table::new(self.kind, self.schema, layout, options, self.limits, Box::new(batches));
        Ok(Some(Table { surveyed_numbers, ..table }))
    }

    pub fn kind(&self) -> ColumnarKind {
        self.kind
    }

    pub fn columns(&self) -> Option<&RowSchema> {
        self.layout.columns.as_ref()
    }

    pub fn block(&mut self) -> Result<Option<Block>, ColumnarError> {
        let Some(mut chunk) = self.chunk()? else { return Ok(None) };
        let rows = match self.layout.keys() {
            KeyKind::Index => RawRows::by_index(),
            KeyKind::Name => {
                let columns = self.layout.features.len();
                let cells = (chunk.rows - chunk.done).saturating_mul(columns).min(BLOCK_ENTRIES + columns);
                RawRows::of_columns(self.numeric_names.clone(), cells)
            }
        };
        let mut block = Block { rows, refused: Vec::new(), first_row: self.next_row };
        let mut entries = 0;
        while chunk.done < chunk.rows && entries < BLOCK_ENTRIES {
            chunk.put_in_rows();
            let line = (self.next_row - block.first_row) as u32;
            let mark = block.rows.mark();
            match self.row(&mut chunk, line, &mut block.rows) {
                Ok(Some(features)) => entries += features,
                Ok(None) => {
                    block.rows.rollback(mark);
                    block.rows.left_out.push(line);
                }
                Err((column, problem)) => {
                    block.rows.rollback(mark);
                    let row = self.next_row + 1;
                    block.refused.push(ColumnarError::Row { row, column: Some(column), problem });
                }
            }
            chunk.done += 1;
            self.next_row += 1;
        }
        self.chunk = (chunk.done < chunk.rows).then_some(chunk);
        Ok(Some(block))
    }

    /// Observes the rows until the survey has enough, as a table of its features and its label.
    pub fn survey(&mut self, file: &str, survey: &mut Survey) -> Result<(), ColumnarError> {
        let target = self.layout.target.iter().map(|place| place.name.clone());
        let names: Vec<String> =
            self.layout.features.iter().map(|(place, _)| place.name.clone()).chain(target).collect();
        survey.begin(&names);
        let dates = self.layout.features.iter().enumerate().filter(|(_, (_, role))| matches!(role, Role::Date(_)));
        dates.for_each(|(at, _)| survey.declare_date(at));
        self.surveyed = Some(Vec::new());
        let mut numbers_of_chunks = VecDeque::new();
        while !survey.is_full()
            && let Some(chunk) = self.chunk()?
        {
            let columns: Vec<&Cells> = chunk.features.iter().chain(&chunk.target).collect();
            let numbers = survey_chunk(&columns, chunk.rows, survey, |row| CellPlace {
                file: file.into(),
                line: self.next_row + row as u64 + 1,
                column: 0,
            });
            numbers_of_chunks.push_back(numbers);
            self.next_row += chunk.rows as u64;
        }
        self.surveyed_numbers = numbers_of_chunks;
        Ok(())
    }

    /// The current chunk or, if it is used up, the next one.
    fn chunk(&mut self) -> Result<Option<Chunk>, ColumnarError> {
        if self.chunk.is_some() {
            return Ok(self.chunk.take());
        }
        let (batch, start) = loop {
            match self.rest.take() {
                Some((batch, start)) if start < batch.num_rows() => break (batch, start),
                _ => match self.batches.next().transpose()? {
                    Some(batch) => {
                        self.surveyed.iter_mut().for_each(|surveyed| surveyed.push(batch.clone()));
                        self.rest = Some((batch, 0));
                    }
                    None => return Ok(None),
                },
            }
        };
        // Fewer rows if the table is wide.
        let rows = rows_of_columns(self.layout.used.len()).min(batch.num_rows() - start);
        let slice = if rows == batch.num_rows() { batch.clone() } else { batch.slice(start, rows) };
        self.rest = Some((batch, start + slice.num_rows()));
        let numbers = self.surveyed_numbers.pop_front();
        let chunk =
            Chunk::new(&self.layout, &slice, numbers).map_err(|error| ColumnarError::damaged(self.kind, error))?;
        Ok(Some(chunk))
    }

    /// Adds a row and returns the number of its features; `None` if the row is skipped.
    fn row(&self, chunk: &mut Chunk, line: u32, rows: &mut RawRows) -> Result<Option<usize>, CellError> {
        let Some(label) = self.label(chunk)? else { return Ok(None) };
        let Some(weight) = self.weight(chunk)? else { return Ok(None) };
        let Some(dense) = self.dense(chunk, rows)? else { return Ok(None) };
        let Some(listed) = self.lists(chunk, rows)? else { return Ok(None) };
        let Some(sparse) = self.sparse(chunk, rows)? else { return Ok(None) };
        rows.end_row(label, weight, line);
        if let Some(ids) = &chunk.id {
            let text = match ids.at(chunk.done) {
                Cell::Text(text) => text.into(),
                Cell::Number(number) => number.to_string(),
                Cell::Missing => String::new(),
            };
            rows.tags.push(text.into());
        }
        Ok(Some(dense + listed + sparse))
    }

    fn label(&self, chunk: &Chunk) -> Result<Option<Label>, CellError> {
        let (Some(place), Some(cells)) = (&self.layout.target, &chunk.target) else { return Ok(Some(Label::Absent)) };
        match self.target.label(cells.at(chunk.done), &self.missing).map_err(|problem| (place.name.clone(), problem))? {
            Some(label) => Ok(Some(label)),
            None if !self.needs_target => Ok(Some(Label::Absent)),
            None if self.missing.rule == Missing::SkipRow => Ok(None),
            None => cell_error(place, LineError::NoLabel),
        }
    }

    fn weight(&self, chunk: &Chunk) -> Result<Option<f64>, CellError> {
        let (Some(place), Some(cells)) = (&self.layout.weight, &chunk.weight) else { return Ok(Some(1.0)) };
        match cells.at(chunk.done) {
            Cell::Missing if self.missing.rule == Missing::SkipRow => Ok(None),
            cell => match column::weight(cell) {
                Ok(weight) => Ok(Some(weight)),
                Err(problem) => cell_error(place, problem),
            },
        }
    }

    fn dense(&self, chunk: &Chunk, rows: &mut RawRows) -> Result<Option<usize>, CellError> {
        let numbers = chunk.numbers();
        for (features, first_name) in &self.runs {
            let values = &numbers[features.clone()];
            match first_name {
                Some(first) if are_finite(values) => {
                    rows.push_columns(*first, values);
                }
                _ => {
                    for at in features.clone() {
                        if !self.dense_cell(at, chunk, rows)? {
                            return Ok(None);
                        }
                    }
                }
            }
        }
        Ok(Some(self.layout.features.len()))
    }

    /// Adds the features of a cell; false if the row is skipped.
    fn dense_cell(&self, at: usize, chunk: &Chunk, rows: &mut RawRows) -> Result<bool, CellError> {
        let (place, role) = &self.layout.features[at];
        let cell = chunk.features[at].at(chunk.done);
        if let (Some(name), Cell::Number(value)) = (self.name_places[at], cell)
            && value.is_finite()
        {
            rows.push_column(name, value);
            return Ok(true);
        }
        match role.push(&place.name, cell, &self.missing, rows) {
            Ok(pushed) => Ok(pushed == Pushed::Yes),
            Err(problem) => cell_error(place, problem),
        }
    }

    fn lists(&self, chunk: &Chunk, rows: &mut RawRows) -> Result<Option<usize>, CellError> {
        let mut entries = 0;
        for (place, lists) in self.layout.lists.iter().zip(&chunk.lists) {
            match push_list(&place.name, lists, chunk.done, &self.missing, rows) {
                Ok(Some(added)) => entries += added,
                Ok(None) => return Ok(None),
                Err(problem) => return cell_error(place, problem),
            }
        }
        Ok(Some(entries))
    }

    fn sparse(&self, chunk: &mut Chunk, rows: &mut RawRows) -> Result<Option<usize>, CellError> {
        let (Some(sparse), Some(vectors)) = (&self.layout.sparse, &mut chunk.vectors) else { return Ok(Some(0)) };
        let column = || sparse.name().to_string();
        let (is_zero, limit) = (self.missing.rule == Missing::Zero, self.limits.entries());
        match vectors.read(chunk.done, is_zero, limit).map_err(|problem| (column(), problem))? {
            Read::Missing if self.missing.rule == Missing::SkipRow => Ok(None),
            Read::Missing => Err((column(), LineError::Empty { column: column() })),
            Read::Whole if self.layout.keys() == KeyKind::Index => Ok(Some(vectors.push_indices(rows))),
            Read::Whole => Ok(Some(vectors.push_names(rows))),
        }
    }
}

fn cell_error<T>(place: &Place, problem: LineError) -> Result<T, CellError> {
    Err((place.name.clone(), problem))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::*;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::columnar::fixtures::{file, ipc_bytes, read_table, table};
    use crate::columnar::{BLOCK_ROWS, ColumnarReader};
    use crate::parse::schema::ModelSchema;

    fn labelled() -> SchemaOptions {
        SchemaOptions { needs_target: true, ..Default::default() }
    }

    fn floats(numbers: Vec<Option<f64>>) -> ArrayRef {
        Arc::new(Float64Array::from(numbers))
    }

    #[test]
    fn numbers_are_features_and_strings_are_categories() {
        let batch = table(vec![
            ("y", Arc::new(BooleanArray::from(vec![true, false]))),
            ("age", Arc::new(Int32Array::from(vec![30, 0]))),
            ("town", Arc::new(StringArray::from(vec!["Oslo", "Bern"]))),
            ("sex", Arc::new(vec!["f", "m"].into_iter().collect::<DictionaryArray<Int8Type>>())),
            ("zip", Arc::new(Int64Array::from(vec![17, 18]))),
            ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ]);
        let words = |list: &[&str]| list.iter().map(|word| word.to_string()).collect();
        let options = SchemaOptions { categorical: words(&["zip"]), ignore: words(&["id"]), ..labelled() };
        let lines = read_table(&batch, &options);
        assert_eq!(lines, ["1 1 age:30 town=Oslo:1 sex=f:1 zip=17:1", "0 1 town=Bern:1 sex=m:1 zip=18:1"]);
        let reader =
            ColumnarReader::open(file(&ipc_bytes(&batch)), ColumnarKind::Ipc, &options, Default::default()).unwrap();
        let roles: Vec<String> = reader.columns().unwrap().roles.iter().map(|role| format!("{role:?}")).collect();
        let starts = ["Target", "Numeric", "Category", "Category", "Category", "Ignored"];
        assert!(roles.iter().zip(starts).all(|(role, start)| role.starts_with(start)), "{roles:?}");
    }

    #[test]
    fn labels_of_strings_are_numbers_if_they_read_as_such() {
        let batch = table(vec![
            ("class", Arc::new(StringViewArray::from(vec!["spam", "-1"]))),
            ("w", Arc::new(UInt8Array::from(vec![2, 0]))),
        ]);
        let options = SchemaOptions { weight: Some("w".into()), ..labelled() };
        assert_eq!(read_table(&batch, &options), ["spam 2", "-1 0"]);
    }

    #[test]
    fn a_missing_feature_is_an_error_a_zero_or_a_row_less() {
        let batch = table(vec![
            ("y", floats(vec![Some(1.0), Some(2.0), Some(3.0)])),
            ("a", floats(vec![Some(0.5), None, Some(f64::NAN)])),
            ("b", Arc::new(StringArray::from(vec![Some("u"), Some("v"), Some("w")]))),
        ]);
        let with = |missing| read_table(&batch, &SchemaOptions { missing, ..labelled() });
        let text = "column \"a\" is empty; use `missing = mean`, `missing = zero` or `missing = skip-row`";
        assert_eq!(
            with(Missing::Error),
            [format!("row 2: {text}"), format!("row 3: {text}"), "1 1 a:0.5 b=u:1".into()]
        );
        assert_eq!(with(Missing::Zero), ["1 1 a:0.5 b=u:1", "2 1 b=v:1", "3 1 b=w:1"]);
        assert_eq!(with(Missing::SkipRow), ["1 1 a:0.5 b=u:1"]);
    }

    #[test]
    fn infinite_cells_bad_weights_and_missing_labels_are_told() {
        let batch = table(vec![
            ("y", floats(vec![Some(1.0), Some(1.0), None, Some(f64::INFINITY), Some(1.0)])),
            ("w", floats(vec![Some(1.0), Some(-2.0), Some(1.0), Some(1.0), None])),
            ("a", floats(vec![Some(f64::NEG_INFINITY), Some(1.0), Some(1.0), Some(1.0), Some(1.0)])),
        ]);
        let options = SchemaOptions { weight: Some("w".into()), ..labelled() };
        let lines = read_table(&batch, &options);
        assert!(lines[0].starts_with("row 1, column \"a\": cell \"-inf\" is not finite"), "{lines:?}");
        assert_eq!(lines[1], "row 2, column \"w\": importance weight \"-2\" is not a number of at least 0");
        assert_eq!(lines[2], "row 3, column \"y\": the line has no label");
        assert!(lines[3].starts_with("row 4, column \"y\": label \"inf\" is not finite"), "{lines:?}");
        assert_eq!(lines[4], "row 5, column \"w\": importance weight \"null\" is not a number of at least 0");
    }

    #[test]
    fn without_need_a_label_may_be_missing() {
        let batch = table(vec![("y", floats(vec![None])), ("a", floats(vec![Some(2.0)]))]);
        assert_eq!(read_table(&batch, &SchemaOptions::default()), ["(none) 1 a:2"]);
    }

    #[test]
    fn a_model_may_know_a_column_of_strings_as_numbers() {
        let batch = table(vec![("a", Arc::new(StringArray::from(vec![" 2.5", "x"])))]);
        let known = ModelSchema { numeric: vec!["a".into()], ..Default::default() };
        let lines = read_table(&batch, &SchemaOptions { known: Some(known), ..Default::default() });
        let text = "row 2: column \"a\": \"x\" is not a number; use `na = x` if it means a missing value, or \
                    `categorical = a` if the column holds categories";
        assert_eq!(lines, [text, "(none) 1 a:2.5"]);
    }

    #[test]
    fn blocks_are_bounded_and_lines_count_within_them() {
        let rows = 3 * BLOCK_ROWS / 2;
        let numbers: Vec<_> = (0..rows).map(|row| (row != 10).then_some(row as f64)).collect();
        let batch = table(vec![("a", floats(numbers))]);
        let options = SchemaOptions { missing: Missing::SkipRow, ..Default::default() };
        let mut reader =
            ColumnarReader::open(file(&ipc_bytes(&batch)), ColumnarKind::Ipc, &options, Default::default()).unwrap();
        let first = reader.next().unwrap().unwrap();
        assert_eq!((first.len(), first.lines[9], first.lines[10]), (BLOCK_ROWS - 1, 9, 11));
        let second = reader.next().unwrap().unwrap();
        assert_eq!((second.len(), second.lines[0]), (rows - BLOCK_ROWS, 0));
        assert_eq!(reader.first_row(), BLOCK_ROWS as u64);
        assert!(reader.next().is_none());
    }

    #[test]
    fn wide_tables_come_in_low_blocks() {
        let names: Vec<String> = (0..1000).map(|at| format!("c{at}")).collect();
        let column = floats(vec![Some(1.0); 3000]);
        let batch = table(names.iter().map(|name| (name.as_str(), column.clone())).collect());
        let reader =
            ColumnarReader::open(file(&ipc_bytes(&batch)), ColumnarKind::Ipc, &Default::default(), Default::default())
                .unwrap();
        let heights: Vec<usize> = reader.map(|block| block.unwrap().len()).collect();
        assert_eq!(heights, [1048, 1048, 904]);
    }

    #[test]
    fn a_batch_that_claims_many_rows_takes_no_memory() {
        let schema = Schema::new(vec![Field::new("nothing", DataType::Null, true)]);
        let nothing: ArrayRef = Arc::new(NullArray::new(1 << 60));
        let batch = RecordBatch::try_new(Arc::new(schema), vec![nothing]).unwrap();
        let options = SchemaOptions { missing: Missing::Zero, ..Default::default() };
        let mut reader =
            ColumnarReader::open(file(&ipc_bytes(&batch)), ColumnarKind::Ipc, &options, Default::default()).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().len(), BLOCK_ROWS);
    }
}
