//! Writes rows to columnar files: `y`, `weight`, and the features as sparse vectors `x`.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch, StringArray, StructArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::block::BLOCK_ENTRIES;
use super::distinct::distinct;
use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::write_npz::NpzRows;
use crate::data::{FeatureKey, Label, RawRows};

/// A Parquet row group of more encoded bytes is closed.
const ROW_GROUP_BYTES: usize = 1 << 27;

/// Opens a writer. The first rows decide whether features have numbers or names and whether labels are numbers or text,
/// unless [`ColumnarWriter::named`] or [`ColumnarWriter::text_labels`] is called.
pub fn writer(kind: ColumnarKind, file: File) -> Result<ColumnarWriter, ColumnarError> {
    let sink = match kind {
        ColumnarKind::Npz => Sink::Npz(NpzRows::new(file)),
        _ => Sink::Waiting(Some(file)),
    };
    Ok(ColumnarWriter { kind, sink, form: Form::default(), rows: 0 })
}

/// Writes a columnar file. The file is complete only after [`ColumnarWriter::finish`].
pub struct ColumnarWriter {
    kind: ColumnarKind,
    sink: Sink,
    form: Form,
    rows: u64,
}

enum Sink {
    /// No rows have been written.
    Waiting(Option<File>),
    Parquet(Box<ArrowWriter<File>>),
    Ipc(Box<FileWriter<BufWriter<File>>>),
    Npz(NpzRows),
}

/// How labels and features are stored.
#[derive(Clone, Copy, Default)]
struct Form {
    named: bool,
    text_labels: bool,
}

impl ColumnarWriter {
    /// Stores features by name even if the first rows have only numbers.
    pub fn named(mut self) -> Self {
        self.form.named = true;
        self
    }

    /// Stores labels as text even if the first are numbers.
    pub fn text_labels(mut self) -> Self {
        self.form.text_labels = true;
        self
    }

    /// Adds rows. Tags are not kept.
    pub fn write(&mut self, rows: &RawRows) -> Result<(), ColumnarError> {
        if let Sink::Npz(matrix) = &mut self.sink {
            return matrix.write(rows);
        }
        if matches!(self.sink, Sink::Waiting(_)) && !rows.is_empty() {
            let has_name = |i| rows.entries(i).any(|(key, _)| matches!(key, FeatureKey::Name(_)));
            self.form.named |= (0..rows.len()).any(has_name);
            self.form.text_labels |= rows.labels.iter().any(|label| matches!(label, Label::Text(_)));
            self.start()?;
        }
        let mut start = 0;
        while start < rows.len() {
            let columns = Columns::collect(rows, start, self.form, self.rows)?;
            start += columns.weights.len();
            self.rows += columns.weights.len() as u64;
            self.put(&columns.batch(self.form).map_err(failed)?)?;
        }
        Ok(())
    }

    /// Writes the remaining rows and closes the file.
    pub fn finish(mut self) -> Result<(), ColumnarError> {
        if matches!(self.sink, Sink::Waiting(_)) {
            self.start()?;
        }
        match self.sink {
            Sink::Waiting(_) => Ok(()),
            Sink::Parquet(writer) => writer.close().map(drop).map_err(failed),
            Sink::Ipc(mut writer) => writer.finish().map_err(failed),
            Sink::Npz(matrix) => matrix.finish(),
        }
    }

    fn start(&mut self) -> Result<(), ColumnarError> {
        let Sink::Waiting(file) = &mut self.sink else { return Ok(()) };
        let Some(file) = file.take() else { return Ok(()) };
        let schema = schema(self.form);
        self.sink = match self.kind {
            ColumnarKind::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default()));
                let writer = ArrowWriter::try_new(file, schema, Some(properties.build())).map_err(failed)?;
                Sink::Parquet(Box::new(writer))
            }
            _ => Sink::Ipc(Box::new(FileWriter::try_new_buffered(file, &schema).map_err(failed)?)),
        };
        Ok(())
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<(), ColumnarError> {
        match &mut self.sink {
            Sink::Parquet(writer) => {
                writer.write(batch).map_err(failed)?;
                if writer.in_progress_size() > ROW_GROUP_BYTES { writer.flush().map_err(failed) } else { Ok(()) }
            }
            Sink::Ipc(writer) => writer.write(batch).map_err(failed),
            Sink::Waiting(_) | Sink::Npz(_) => unreachable!("a table was started"),
        }
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> ColumnarError {
    ColumnarError::Io(std::io::Error::other(error))
}

fn schema(form: Form) -> SchemaRef {
    let label = if form.text_labels { DataType::Utf8 } else { DataType::Float64 };
    Arc::new(Schema::new(vec![
        Field::new("y", label, true),
        Field::new("weight", DataType::Float64, false),
        Field::new("x", DataType::Struct(vector_fields(form)), false),
    ]))
}

fn vector_fields(form: Form) -> Fields {
    let list = |name: &str, item: DataType| Field::new_list(name, Field::new_list_field(item, false), false);
    let keys = if form.named { list("names", DataType::Utf8) } else { list("indices", DataType::UInt32) };
    Fields::from(vec![keys, list("values", DataType::Float64)])
}

/// The columns of some rows.
#[derive(Default)]
struct Columns {
    numbers: Vec<Option<f64>>,
    texts: Vec<Option<String>>,
    weights: Vec<f64>,
    lengths: Vec<usize>,
    indices: Vec<u32>,
    names: Vec<String>,
    values: Vec<f64>,
}

impl Columns {
    /// Takes rows from `start` on until a batch is full. `before` rows were written earlier.
    fn collect(rows: &RawRows, start: usize, form: Form, before: u64) -> Result<Columns, ColumnarError> {
        let mut columns = Columns::default();
        for i in start..rows.len() {
            if columns.values.len() >= BLOCK_ENTRIES {
                break;
            }
            let row = before + (i - start) as u64 + 1;
            columns.label(&rows.labels[i], form, row)?;
            columns.weights.push(rows.weight(i));
            columns.features(rows, i, form, row)?;
        }
        Ok(columns)
    }

    fn label(&mut self, label: &Label, form: Form, row: u64) -> Result<(), ColumnarError> {
        match label {
            Label::Absent if form.text_labels => self.texts.push(None),
            label if form.text_labels => self.texts.push(Some(label.to_string())),
            Label::Absent => self.numbers.push(None),
            Label::Number(number) => self.numbers.push(Some(*number)),
            Label::Text(text) => return Err(ColumnarError::LateText { row, label: text.to_string() }),
        }
        Ok(())
    }

    fn features(&mut self, rows: &RawRows, i: usize, form: Form, row: u64) -> Result<(), ColumnarError> {
        let entries = distinct(rows, i, row)?;
        self.lengths.push(entries.len());
        for (key, value) in entries {
            match key {
                FeatureKey::Index(index) if !form.named => self.indices.push(index),
                FeatureKey::Index(index) => self.names.push(index.to_string()),
                FeatureKey::Name(name) if form.named => self.names.push(name.to_string()),
                FeatureKey::Name(name) => return Err(ColumnarError::LateName { row, name: name.to_string() }),
            }
            self.values.push(value);
        }
        Ok(())
    }

    fn batch(self, form: Form) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let labels: ArrayRef = if form.text_labels {
            Arc::new(StringArray::from(self.texts))
        } else {
            Arc::new(Float64Array::from(self.numbers))
        };
        let keys: ArrayRef = if form.named {
            Arc::new(StringArray::from(self.names))
        } else {
            Arc::new(UInt32Array::from(self.indices))
        };
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let list = |items: ArrayRef| -> Result<ArrayRef, arrow_schema::ArrowError> {
            let field = Arc::new(Field::new_list_field(items.data_type().clone(), false));
            Ok(Arc::new(ListArray::try_new(field, offsets.clone(), items, None)?))
        };
        let lists = vec![list(keys)?, list(Arc::new(Float64Array::from(self.values)))?];
        let vectors = StructArray::try_new(vector_fields(form), lists, None)?;
        let weights = Float64Array::from(self.weights);
        RecordBatch::try_new(schema(form), vec![labels, Arc::new(weights), Arc::new(vectors)])
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;
    use crate::columnar::fixtures::{damage, read};
    use crate::parse::schema::SchemaOptions;

    const TABLES: [ColumnarKind; 2] = [ColumnarKind::Parquet, ColumnarKind::Ipc];

    fn numbered() -> RawRows {
        let mut rows = RawRows::by_index();
        rows.push_index(0, 0.5);
        rows.push_index(4_294_967_294, -2.0);
        rows.end_row(Label::Number(1.0), 2.5, 0);
        rows.end_row(Label::Absent, 1.0, 1);
        rows
    }

    fn named(label: Label) -> RawRows {
        let mut rows = RawRows::by_name();
        rows.push_name(&["b"], 1.0);
        rows.push_name(&["town", "=", "Bern"], 1.0);
        rows.push_name(&["17"], 3.0);
        rows.end_row(label, 1.0, 0);
        rows
    }

    fn round(writer: impl Fn(File) -> ColumnarWriter, kind: ColumnarKind, blocks: &[RawRows]) -> Vec<String> {
        let file = tempfile::tempfile().unwrap();
        let mut writer = writer(file.try_clone().unwrap());
        blocks.iter().for_each(|rows| writer.write(rows).unwrap());
        writer.finish().unwrap();
        let lines = read(file, kind, &SchemaOptions::default()).unwrap();
        lines.into_iter().map(Result::unwrap).collect()
    }

    fn plain(kind: ColumnarKind, blocks: &[RawRows]) -> Vec<String> {
        round(|file| super::writer(kind, file).unwrap(), kind, blocks)
    }

    #[test]
    fn what_is_written_is_read() {
        for kind in TABLES {
            let lines = plain(kind, &[numbered(), RawRows::by_index(), numbered()]);
            assert_eq!(lines, ["1 2.5 0:0.5 4294967294:-2", "(none) 1", "1 2.5 0:0.5 4294967294:-2", "(none) 1"]);
            let lines = plain(kind, &[named(Label::Text("spam".into())), named(Label::Number(-1.5))]);
            assert_eq!(lines, ["spam 1 17:3 b:1 town=Bern:1", "-1.5 1 17:3 b:1 town=Bern:1"]);
            assert!(plain(kind, &[]).is_empty());
        }
    }

    #[test]
    fn the_first_rows_decide_unless_told() {
        for kind in TABLES {
            let mut writer = super::writer(kind, tempfile::tempfile().unwrap()).unwrap();
            writer.write(&numbered()).unwrap();
            let text = writer.write(&named(Label::Absent)).unwrap_err().to_string();
            assert_eq!(text, "row 3: feature \"b\" has a name, but the features of earlier rows had numbers");
            let text = writer.write(&named(Label::Text("spam".into()))).unwrap_err().to_string();
            assert_eq!(text, "row 3: label \"spam\" is not a number, but the labels of earlier rows were");
            let forced = |file| super::writer(kind, file).unwrap().named().text_labels();
            let lines = round(forced, kind, &[numbered(), named(Label::Text("spam".into()))]);
            assert_eq!(lines, ["1 2.5 0:0.5 4294967294:-2", "(none) 1", "spam 1 17:3 b:1 town=Bern:1"]);
        }
    }

    #[test]
    fn a_name_twice_is_added_up_or_refused() {
        let mut rows = RawRows::by_name();
        rows.push_name(&["a"], 1.0);
        rows.push_name(&["a"], 2.0);
        rows.end_row(Label::Absent, 1.0, 0);
        let mut writer = super::writer(ColumnarKind::Ipc, tempfile::tempfile().unwrap()).unwrap();
        assert_eq!(writer.write(&rows).unwrap_err().to_string(), "row 1: feature \"a\" occurs twice");
        rows.adds_duplicates = true;
        assert_eq!(plain(ColumnarKind::Ipc, &[rows]), ["(none) 1 a:3"]);
    }

    #[test]
    fn damage_never_panics() {
        for kind in [ColumnarKind::Parquet, ColumnarKind::Ipc, ColumnarKind::Npz] {
            let mut file = tempfile::tempfile().unwrap();
            let mut rows = RawRows::by_index();
            for row in 1..20 {
                (1..row).for_each(|index| rows.push_index(index, f64::from(index * row)));
                rows.end_row(Label::Number(row.into()), 1.0, row);
            }
            let mut writer = super::writer(kind, file.try_clone().unwrap()).unwrap();
            writer.write(&rows).unwrap();
            writer.finish().unwrap();
            let mut bytes = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            damage(&bytes, kind, &SchemaOptions::default());
        }
    }
}
