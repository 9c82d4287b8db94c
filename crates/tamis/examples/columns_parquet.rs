//! Writes a CSV file of numbers as a Parquet file with a column for each of its columns, compressed and encoded as pandas does:
//! `columns_parquet CSV PARQUET`. (`tamis convert` writes sparse vectors.)

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().expect("usage: columns_parquet CSV PARQUET");
    let (from, to) = (argument(), argument());
    let text = std::fs::read_to_string(from).expect("the file can be read");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for line in lines {
        for (column, cell) in columns.iter_mut().zip(line.split(',')) {
            column.push(cell.parse().expect("a number"));
        }
    }
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Float64, true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).expect("columns of the same length");
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(to).expect("the file can be written");
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).expect("a table");
    writer.write(&batch).expect("the file can be written");
    writer.close().expect("the file can be written");
}
