//! Small tables for the tests of this folder.

use std::fs::File;
use std::io::Write;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;

use super::{ColumnarError, ColumnarKind, ColumnarReader};
use crate::data::{FeatureKey, ParsedRows};
use crate::parse::columns::ColumnOptions;

pub(super) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(super) fn parquet_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(super) fn ipc_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    bytes
}

pub(super) fn stream_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    bytes
}

pub(super) fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Each row as `label weight key:value …`; errors as they read.
pub(super) fn read(
    file: File,
    kind: ColumnarKind,
    options: &ColumnOptions,
) -> Result<Vec<Result<String, ColumnarError>>, ColumnarError> {
    let mut lines = Vec::new();
    for block in ColumnarReader::open(file, kind, options)? {
        match block {
            Ok(rows) => lines.extend((0..rows.len()).map(|i| Ok(line(&rows, i)))),
            Err(error) => lines.push(Err(error)),
        }
    }
    Ok(lines)
}

/// As [`read`], of a table stored as Arrow IPC; errors as text.
pub(super) fn read_table(batch: &RecordBatch, options: &ColumnOptions) -> Vec<String> {
    let lines = read(file(&ipc_bytes(batch)), ColumnarKind::Ipc, options);
    let lines = lines.unwrap_or_else(|error| vec![Err(error)]);
    lines.into_iter().map(|line| line.unwrap_or_else(|error| error.to_string())).collect()
}

pub(super) fn line(rows: &ParsedRows, i: usize) -> String {
    let mut text = format!("{} {}", rows.labels[i], rows.weight(i));
    for (key, value) in rows.entries(i) {
        match key {
            FeatureKey::Index(index) => text.push_str(&format!(" {index}:{value}")),
            FeatureKey::Name(name) => text.push_str(&format!(" {name}:{value}")),
        }
    }
    text
}

/// Reads a file again and again with one byte wrong, or cut short: whatever comes out, nothing panics.
pub(super) fn damage(bytes: &[u8], kind: ColumnarKind, options: &ColumnOptions) {
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut wrong = bytes.to_vec();
            wrong[at] ^= change;
            read(file(&wrong), kind, options).ok();
        }
        read(file(&bytes[..at]), kind, options).ok();
    }
}
