//! Small tables for the tests of this folder.

use std::fs::File;
use std::io::{Cursor, Write};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::npy_header::Number;
use super::reader::ColumnarReader;
use super::write_npz;
use crate::data::{FeatureKey, RawRows};
use crate::parse::schema::SchemaOptions;

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

/// Reads a file: each row as `label weight key:value …`, or its error.
pub(super) fn read(
    file: File,
    kind: ColumnarKind,
    options: &SchemaOptions,
) -> Result<Vec<Result<String, ColumnarError>>, ColumnarError> {
    let mut lines = Vec::new();
    for block in ColumnarReader::open(file, kind, options, Default::default())? {
        match block {
            Ok(rows) => lines.extend((0..rows.len()).map(|i| Ok(line(&rows, i)))),
            Err(error) => lines.push(Err(error)),
        }
    }
    Ok(lines)
}

/// Stores a table as Arrow IPC and reads it back; errors as text.
pub(super) fn read_table(batch: &RecordBatch, options: &SchemaOptions) -> Vec<String> {
    let lines = read(file(&ipc_bytes(batch)), ColumnarKind::Ipc, options);
    let lines = lines.unwrap_or_else(|error| vec![Err(error)]);
    lines.into_iter().map(|line| line.unwrap_or_else(|error| error.to_string())).collect()
}

pub(super) fn line(rows: &RawRows, i: usize) -> String {
    let mut text = format!("{} {}", rows.labels[i], rows.weight(i));
    for (key, value) in rows.entries(i) {
        match key {
            FeatureKey::Index(index) => text.push_str(&format!(" {index}:{value}")),
            FeatureKey::Name(name) => text.push_str(&format!(" {name}:{value}")),
        }
    }
    text
}

/// Reads a file many times, each time with one wrong byte or truncated. The result does not matter; nothing may panic.
pub(super) fn damage(bytes: &[u8], kind: ColumnarKind, options: &SchemaOptions) {
    for at in 0..bytes.len() {
        for change in [0x01, 0xff] {
            let mut wrong = bytes.to_vec();
            wrong[at] ^= change;
            read(file(&wrong), kind, options).ok();
        }
        read(file(&bytes[..at]), kind, options).ok();
    }
}

impl Number for bool {
    const DESCR: &'static str = "|b1";

    fn append_to(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }
}

/// An npz that is being written.
pub(super) struct Npz(ZipWriter<Cursor<Vec<u8>>>);

impl Default for Npz {
    fn default() -> Self {
        Npz(ZipWriter::new(Default::default()))
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

    pub fn array<T: Number>(mut self, name: &str, numbers: &[T]) -> Self {
        write_npz::array(&mut self.0, name, numbers.iter().copied()).unwrap();
        self
    }

    /// Adds an array with this header, whatever it says.
    pub fn raw(&mut self, name: &str, header: &str, bytes: &[u8]) {
        self.0.start_file(format!("{name}.npy"), SimpleFileOptions::DEFAULT).unwrap();
        self.0.write_all(b"\x93NUMPY\x01\x00").unwrap();
        self.0.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        self.0.write_all(header.as_bytes()).unwrap();
        self.0.write_all(bytes).unwrap();
    }

    pub fn bytes(self) -> Vec<u8> {
        self.0.finish().unwrap().into_inner()
    }

    pub fn read(self, options: &SchemaOptions) -> Vec<String> {
        let lines = read(file(&self.bytes()), ColumnarKind::Npz, options).unwrap_or_else(|error| vec![Err(error)]);
        lines.into_iter().map(|line| line.unwrap_or_else(|error| error.to_string())).collect()
    }
}
