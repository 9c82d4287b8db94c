//! Reads Parquet files: only the columns in use, and fewer rows at once if the rows are wide.

use std::fmt::Display;
use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::arrow::Table;
use super::block::{rows_of_columns, rows_of_values};
use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::limits::ColumnarLimits;
use super::parquet_file::PiecewiseFile;
use super::parquet_numbers::NumberColumns;
use super::schema::{Layout, Purpose};
use crate::parse::schema::SchemaOptions;

const KIND: ColumnarKind = ColumnarKind::Parquet;

pub(super) fn open(
    file: File,
    options: &SchemaOptions,
    limits: ColumnarLimits,
    purpose: Purpose,
) -> Result<Table, ColumnarError> {
    let file = PiecewiseFile::new(file)?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).map_err(damaged)?;
    let schema = builder.schema().clone();
    let layout = Layout::new(&schema, options)?.for_purpose(purpose);
    let mask = ProjectionMask::roots(builder.parquet_schema(), layout.used.iter().copied());
    check_rows(builder.metadata(), &mask, limits)?;
    let batches = Batches::new(&file, builder, &layout.used, &mask)?;
    Ok(Table::new(KIND, schema, layout, options, limits, Box::new(batches)))
}

fn damaged(error: impl Display) -> ColumnarError {
    ColumnarError::damaged(KIND, error)
}

/// The rows of the columns in use. Columns of numbers are decoded by [`NumberColumns`], others by Arrow's reader.
struct Batches {
    numbers: NumberColumns,
    number_places: Vec<usize>,
    others: Option<ParquetRecordBatchReader>,
    other_places: Vec<usize>,
    /// The columns in use.
    schema: SchemaRef,
    /// The number of rows of a batch.
    rows: usize,
}

impl Batches {
    fn new(
        file: &PiecewiseFile,
        builder: ParquetRecordBatchReaderBuilder<PiecewiseFile>,
        used: &[usize],
        mask: &ProjectionMask,
    ) -> Result<Self, ColumnarError> {
        let rows = rows_at_once(builder.metadata(), mask);
        let numbers = NumberColumns::new(file, builder.metadata(), builder.schema(), used);
        let schema = Arc::new(builder.schema().project(used).map_err(damaged)?);
        let number_places = numbers.places();
        let mut is_number = vec![false; used.len()];
        number_places.iter().for_each(|&place| is_number[place] = true);
        let other_places: Vec<usize> = (0..used.len()).filter(|&place| !is_number[place]).collect();
        let has_others = number_places.is_empty() || !other_places.is_empty();
        let others = has_others.then(|| {
            let mask = ProjectionMask::roots(builder.parquet_schema(), other_places.iter().map(|&place| used[place]));
            builder.with_projection(mask).with_batch_size(rows).build()
        });
        let others = others.transpose().map_err(damaged)?;
        Ok(Batches { numbers, number_places, others, other_places, schema, rows })
    }

    /// The next rows, or none at the end of the file.
    fn read(&mut self) -> Result<Option<RecordBatch>, ColumnarError> {
        let others = self.others.as_mut().map(|others| others.next().transpose().map_err(damaged)).transpose()?;
        if self.number_places.is_empty() {
            return Ok(others.flatten());
        }
        let numbers = self.numbers.read(self.rows).map_err(damaged)?;
        let other_rows = others.as_ref().map(|others| others.as_ref().map_or(0, RecordBatch::num_rows));
        if numbers[0].is_empty() && other_rows.unwrap_or(0) == 0 {
            return Ok(None);
        }
        let numbers = self.number_places.iter().copied().zip(numbers);
        let others = others.flatten();
        let others =
            others.iter().flat_map(|batch| self.other_places.iter().copied().zip(batch.columns().iter().cloned()));
        let mut columns: Vec<(usize, ArrayRef)> = numbers.chain(others).collect();
        columns.sort_unstable_by_key(|&(place, _)| place);
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(self.schema.clone(), columns).map(Some).map_err(damaged)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ColumnarError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Refuses a group of rows whose vectors are longer than allowed on average: it would be decoded before its rows are
/// known one by one.
fn check_rows(metadata: &ParquetMetaData, mask: &ProjectionMask, limits: ColumnarLimits) -> Result<(), ColumnarError> {
    let (mut row, limit) = (1, limits.entries());
    for group in metadata.row_groups() {
        let rows = group.num_rows().max(0) as u64;
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let values = columns.map(|(_, column)| column.num_values().max(0) as u64).max().unwrap_or(0);
        let entries = values / rows.max(1);
        if entries > limit {
            return Err(ColumnarError::LongRow { row, entries, limit });
        }
        row = row.saturating_add(rows);
    }
    Ok(())
}

/// The number of rows to read at once, by the width of the average row.
fn rows_at_once(metadata: &ParquetMetaData, mask: &ProjectionMask) -> usize {
    let (mut rows, mut values) = (0_u64, 0_u64);
    for group in metadata.row_groups() {
        rows = rows.saturating_add(group.num_rows().max(0) as u64);
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        values = columns.fold(values, |sum, (_, column)| sum.saturating_add(column.num_values().max(0) as u64));
    }
    let per_row = usize::try_from(values.div_ceil(rows.max(1))).unwrap_or(usize::MAX);
    let schema = metadata.file_metadata().schema_descr();
    let is_flat =
        (0..schema.num_columns()).all(|leaf| !mask.leaf_included(leaf) || schema.column(leaf).max_rep_level() == 0);
    if is_flat { rows_of_columns(per_row) } else { rows_of_values(per_row) }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Float64Type, Int32Type};
    use arrow_array::*;
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::{Field, Fields, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::columnar::fixtures::{damage, file, parquet_bytes, read, table};
    use crate::columnar::{BLOCK_ENTRIES, ColumnarReader};

    fn dense() -> RecordBatch {
        table(vec![
            ("when", Arc::new(TimestampSecondArray::from(vec![1, 2]))),
            ("y", Arc::new(StringArray::from(vec!["no", "yes"]))),
            ("a", Arc::new(Float32Array::from(vec![0.5, 0.25]))),
            ("id", Arc::new(Int64Array::from(vec![1, 2]))),
            ("b", Arc::new(StringArray::from(vec!["u", "v"]))),
        ])
    }

    fn options() -> SchemaOptions {
        SchemaOptions { ignore: vec!["when".into(), "id".into()], needs_target: true, ..Default::default() }
    }

    #[test]
    fn ignored_columns_are_not_in_the_way() {
        let lines = read(file(&parquet_bytes(&dense())), KIND, &options()).unwrap();
        let lines: Vec<_> = lines.into_iter().map(Result::unwrap).collect();
        assert_eq!(lines, ["no 1 a:0.5 b=u:1", "yes 1 a:0.25 b=v:1"]);
    }

    /// Columns of all types that [`NumberColumns`] decodes, with empty cells and without, beside others.
    fn numbers_and_others(rows: usize) -> RecordBatch {
        let cell = |at: usize| (at * at + 3) % 11;
        let some = |at: usize, every: usize| (cell(at) % every != 0).then(|| cell(at));
        let strings: Vec<String> = (0..rows).map(|at| format!("text {}", cell(at))).collect();
        let float = |every: usize| (0..rows).map(move |at| some(at, every).map(|cell| cell as f64 / 4.0));
        table(vec![
            ("f64", Arc::new(Float64Array::from_iter_values((0..rows).map(|at| at as f64 / 8.0)))),
            ("f64 with empty cells", Arc::new(float(3).collect::<Float64Array>())),
            ("text", Arc::new(StringArray::from(strings))),
            ("f32", Arc::new((0..rows).map(|at| some(at, 2).map(|cell| cell as f32)).collect::<Float32Array>())),
            ("i64", Arc::new((0..rows).map(|at| some(at, 5).map(|cell| cell as i64 - 7)).collect::<Int64Array>())),
            ("flag", Arc::new((0..rows).map(|at| some(at, 7).map(|cell| cell > 4)).collect::<BooleanArray>())),
            ("i32", Arc::new(Int32Array::from_iter_values((0..rows).map(|at| cell(at) as i32)))),
            ("i16", Arc::new(Int16Array::from_iter_values((0..rows).map(|at| cell(at) as i16)))),
            ("empty", Arc::new(Float64Array::from(vec![None; rows]))),
        ])
    }

    /// Vectors in which nothing is missing, as `convert` writes them, and others.
    fn vectors(rows: usize) -> RecordBatch {
        let lengths: Vec<usize> = (0..rows).map(|at| (at * at + 1) % 5).collect();
        let total: usize = lengths.iter().sum();
        let lists = |values: ArrayRef, is_nullable: bool| -> ArrayRef {
            let item = Arc::new(Field::new("item", values.data_type().clone(), is_nullable));
            Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths.iter().copied()), values, None))
        };
        let indices = || lists(Arc::new(UInt32Array::from_iter_values((0..total as u32).map(|at| at * 7 % 90))), false);
        let values = || -> ArrayRef { Arc::new(Float64Array::from_iter_values((0..total).map(|at| at as f64 / 4.0))) };
        let pair = |indices: ArrayRef, values: ArrayRef, nulls: Option<NullBuffer>| -> ArrayRef {
            let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), false);
            let fields = Fields::from(vec![field("indices", &indices), field("values", &values)]);
            Arc::new(StructArray::new(fields, vec![indices, values], nulls))
        };
        let nulls = || NullBuffer::from_iter((0..rows).map(|at| at % 3 != 1));
        let some = |at: usize| (at % 4 != 1).then_some(at as f64);
        let missing = lists(Arc::new((0..total).map(some).collect::<Float64Array>()), true);
        let columns = vec![
            ("plain", false, pair(indices(), lists(values(), false), None)),
            ("number", false, Arc::new(Float64Array::from_iter_values((0..rows).map(|at| at as f64))) as ArrayRef),
            ("missing rows", true, pair(indices(), lists(values(), false), Some(nulls()))),
            ("missing items", false, pair(indices(), missing, None)),
            ("plain again", false, pair(indices(), lists(values(), false), None)),
        ];
        let field = |(name, is_nullable, array): &(&str, bool, ArrayRef)| {
            Field::new(*name, array.data_type().clone(), *is_nullable)
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, _, array)| array).collect()).unwrap()
    }

    /// With row groups and pages of few rows, that end within batches and between them.
    #[test]
    fn numbers_are_those_of_arrows_reader() {
        batches_are_those_of_arrows_reader(numbers_and_others, &[2, 5, 7]);
        batches_are_those_of_arrows_reader(vectors, &[2, 3]);
    }

    /// `others` are the columns that Arrow's reader decodes.
    fn batches_are_those_of_arrows_reader(table: impl Fn(usize) -> RecordBatch, others: &[usize]) {
        for (rows, group, page, dictionary) in
            [(100, 1000, 1000, true), (100, 33, 10, false), (7, 3, 2, true), (0, 5, 5, false)]
        {
            let expected = table(rows);
            let properties = WriterProperties::builder()
                .set_max_row_group_row_count(Some(group))
                .set_data_page_row_count_limit(page)
                .set_write_batch_size(page)
                .set_dictionary_enabled(dictionary);
            let mut bytes = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut bytes, expected.schema(), Some(properties.build())).unwrap();
            writer.write(&expected).unwrap();
            writer.close().unwrap();
            let width = expected.num_columns();
            for (height, used) in [(1, 0..width), (9, 0..width), (64, 3..width), (500, 0..2), (10, 2..3)] {
                let used: Vec<usize> = used.collect();
                let file = PiecewiseFile::new(file(&bytes)).unwrap();
                let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
                let mask = ProjectionMask::roots(builder.parquet_schema(), used.iter().copied());
                let mut batches = Batches::new(&file, builder, &used, &mask).unwrap();
                assert_eq!(batches.others.is_some(), used.iter().any(|at| others.contains(at)));
                batches.rows = height;
                if let Some(others) = &mut batches.others {
                    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
                    let places = batches.other_places.iter().map(|&place| used[place]);
                    let mask = ProjectionMask::roots(builder.parquet_schema(), places);
                    *others = builder.with_projection(mask).with_batch_size(height).build().unwrap();
                }
                let expected = expected.project(&used).unwrap();
                let mut start = 0;
                for found in batches.map(Result::unwrap) {
                    assert!((1..=height).contains(&found.num_rows()));
                    assert_eq!(found, expected.slice(start, found.num_rows()), "{rows} rows, {height} at once");
                    start += found.num_rows();
                }
                assert_eq!(start, rows);
            }
        }
    }

    #[test]
    fn long_vectors_come_in_low_blocks() {
        let (rows, length) = (40, BLOCK_ENTRIES / 16);
        let list = Some((0..length as i32).map(Some).collect::<Vec<_>>());
        let ones = Some(vec![Some(1.0); length]);
        let batch = table(vec![
            ("indices", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![list; rows]))),
            ("values", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(vec![ones; rows]))),
        ]);
        let reader =
            ColumnarReader::open(file(&parquet_bytes(&batch)), KIND, &Default::default(), Default::default()).unwrap();
        assert_eq!(reader.columns(), None);
        let heights: Vec<usize> = reader.map(|block| block.unwrap().len()).collect();
        assert_eq!((heights[0], heights.iter().sum()), (8, rows), "{heights:?}");
    }

    #[test]
    fn a_file_cut_short_or_of_noise_is_an_error() {
        let bytes = parquet_bytes(&dense());
        for end in [0, 3, 8, bytes.len() / 2, bytes.len() - 1] {
            let error = read(file(&bytes[..end]), KIND, &options()).unwrap_err();
            assert!(error.to_string().starts_with("not a readable Parquet file: "), "{error}");
        }
        let noise: Vec<u8> = (0_u32..1000).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(read(file(&noise), KIND, &options()).is_err());
    }

    #[test]
    fn damage_never_panics() {
        damage(&parquet_bytes(&dense()), KIND, &options());
        damage(&parquet_bytes(&numbers_and_others(40)), KIND, &SchemaOptions::default());
        let plain = vectors(30).project(&[0]).unwrap();
        damage(&parquet_bytes(&plain), KIND, &SchemaOptions::default());
    }
}
