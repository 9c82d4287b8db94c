//! Small tables for the tests of this folder.

use std::fs::File;
use std::io::{Seek, Write};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use npyz::npz::NpzWriter;
use npyz::zip::write::FileOptions;
use npyz::{AutoSerialize, WriterBuilder};
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
        for change in [0x01, 0xff] {
            let mut wrong = bytes.to_vec();
            wrong[at] ^= change;
            read(file(&wrong), kind, options).ok();
        }
        read(file(&bytes[..at]), kind, options).ok();
    }
}

/// An npz in the making.
pub(super) struct Npz(NpzWriter<std::io::Cursor<Vec<u8>>>);

impl Default for Npz {
    fn default() -> Self {
        Npz(NpzWriter::new(Default::default()))
    }
}

impl Npz {
    pub fn new(format: &str) -> Self {
        let mut npz = Npz::default();
        npz.raw(
            "format",
            &format!("{{'descr': '|S{}', 'fortran_order': False, 'shape': ()}}", format.len()),
            format.as_bytes(),
        );
        npz
    }

    /// 2 × 4: row 1 has columns 2 (twice) and 0, row 2 has column 3.
    pub fn matrix() -> Self {
        Npz::new("csr")
            .array("shape", &[2_i64, 4])
            .array("indptr", &[0_i32, 3, 4])
            .array("indices", &[2_i32, 0, 2, 3])
            .array("data", &[1.0_f32, 0.5, 2.0, 4.0])
    }

    pub fn array<T: AutoSerialize + Copy>(mut self, name: &str, numbers: &[T]) -> Self {
        let options = FileOptions::default();
        let mut array =
            self.0.array(name, options).unwrap().default_dtype().shape(&[numbers.len() as u64]).begin_nd().unwrap();
        array.extend(numbers.iter().copied()).unwrap();
        array.finish().unwrap();
        self
    }

    pub fn raw(&mut self, name: &str, header: &str, bytes: &[u8]) {
        let zip = self.0.zip_writer();
        zip.start_file(format!("{name}.npy"), FileOptions::default()).unwrap();
        zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
        zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        zip.write_all(header.as_bytes()).unwrap();
        zip.write_all(bytes).unwrap();
    }

    pub fn bytes(mut self) -> Vec<u8> {
        let mut cursor = self.0.zip_writer().finish().unwrap();
        cursor.rewind().unwrap();
        cursor.into_inner()
    }

    pub fn read(self, options: &ColumnOptions) -> Vec<String> {
        let lines = read(file(&self.bytes()), ColumnarKind::Npz, options).unwrap_or_else(|error| vec![Err(error)]);
        lines.into_iter().map(|line| line.unwrap_or_else(|error| error.to_string())).collect()
    }
}
