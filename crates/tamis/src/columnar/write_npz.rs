//! Writes rows to an npz that `scipy.sparse.load_npz` reads: a CSR matrix, and arrays of labels `y` and of weights.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::distinct::distinct;
use super::error::ColumnarError;
use super::npy_header::{self, Number};
use crate::data::{FeatureKey, Label, RawRows};

/// The most elements of 8 bytes that an array of a zip without zip64 can hold.
const MOST_ENTRIES: usize = (1 << 29) - (1 << 10);

/// Bytes handed to the compressor at once.
const BUFFER: usize = 1 << 16;

/// A matrix in memory: its size is known only at the end.
pub(super) struct NpzRows {
    file: File,
    data: Vec<f64>,
    columns: Vec<u32>,
    ends: Vec<i64>,
    labels: Vec<f64>,
    weights: Vec<f64>,
}

impl NpzRows {
    pub fn new(file: File) -> Self {
        let (data, columns, labels, weights) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        NpzRows { file, data, columns, ends: vec![0], labels, weights }
    }

    pub fn write(&mut self, rows: &RawRows) -> Result<(), ColumnarError> {
        for i in 0..rows.len() {
            let row = self.labels.len() as u64 + 1;
            for (key, value) in distinct(rows, i, row)? {
                match key {
                    FeatureKey::Index(0) => return Err(ColumnarError::ZeroInNpz { row }),
                    FeatureKey::Index(index) => self.columns.push(index - 1),
                    FeatureKey::Name(name) => return Err(ColumnarError::NameInNpz { row, name: name.to_string() }),
                }
                self.data.push(value);
            }
            self.ends.push(self.data.len() as i64);
            self.weights.push(rows.weight(i));
            self.labels.push(match &rows.labels[i] {
                Label::Number(number) => *number,
                Label::Absent => f64::NAN,
                Label::Text(text) => return Err(ColumnarError::TextInNpz { row, label: text.to_string() }),
            });
        }
        let entries = self.data.len().max(self.labels.len());
        if entries > MOST_ENTRIES { Err(ColumnarError::LargeNpz { entries }) } else { Ok(()) }
    }

    pub fn finish(self) -> Result<(), ColumnarError> {
        let mut zip = ZipWriter::new(BufWriter::new(self.file));
        let width = self.columns.iter().max().map_or(0, |&column| i64::from(column) + 1);
        start_array(&mut zip, "format", "|S3", None)?;
        zip.write_all(b"csr")?;
        array(&mut zip, "shape", [self.labels.len() as i64, width].into_iter())?;
        array(&mut zip, "indptr", self.ends.into_iter())?;
        if width <= i64::from(i32::MAX) {
            array(&mut zip, "indices", self.columns.into_iter().map(|column| column as i32))?;
        } else {
            array(&mut zip, "indices", self.columns.into_iter().map(i64::from))?;
        }
        array(&mut zip, "data", self.data.into_iter())?;
        if self.labels.iter().any(|label| !label.is_nan()) {
            array(&mut zip, "y", self.labels.into_iter())?;
        }
        if self.weights.iter().any(|weight| *weight != 1.0) {
            array(&mut zip, "weight", self.weights.into_iter())?;
        }
        zip.finish().map_err(io::Error::from)?.into_inner().map_err(|error| error.into_error())?;
        Ok(())
    }
}

/// Begins an array: the file within the zip and the header. The options fix the time, so that equal rows give equal
/// bytes.
pub(super) fn start_array<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    name: &str,
    descr: &str,
    length: Option<usize>,
) -> io::Result<()> {
    zip.start_file(format!("{name}.npy"), SimpleFileOptions::DEFAULT)?;
    zip.write_all(&npy_header::encode(descr, length))
}

/// Writes an array of one dimension.
pub(super) fn array<W: Write + Seek, T: Number>(
    zip: &mut ZipWriter<W>,
    name: &str,
    numbers: impl ExactSizeIterator<Item = T>,
) -> io::Result<()> {
    start_array(zip, name, T::DESCR, Some(numbers.len()))?;
    let mut bytes = Vec::with_capacity(BUFFER);
    for number in numbers {
        number.append_to(&mut bytes);
        if bytes.len() >= BUFFER {
            zip.write_all(&bytes)?;
            bytes.clear();
        }
    }
    zip.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::columnar::fixtures::read;
    use crate::columnar::{ColumnarKind, writer};
    use crate::parse::schema::SchemaOptions;

    fn rows(label: Label, weight: f64, index: u32) -> RawRows {
        let mut rows = RawRows::by_index();
        rows.push_index(index, 0.5);
        rows.push_index(index + 1, 2.0);
        rows.end_row(label, weight, 0);
        rows.end_row(Label::Absent, 1.0, 1);
        rows
    }

    fn round(rows: &RawRows) -> Vec<String> {
        let file = tempfile::tempfile().unwrap();
        let mut writer = writer(ColumnarKind::Npz, file.try_clone().unwrap()).unwrap();
        writer.write(rows).unwrap();
        writer.write(rows).unwrap();
        writer.finish().unwrap();
        let lines = read(file, ColumnarKind::Npz, &SchemaOptions::default()).unwrap();
        lines.into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let lines = round(&rows(Label::Number(-1.0), 1.0, 1));
        assert_eq!(lines, ["-1 1 1:0.5 2:2", "(none) 1", "-1 1 1:0.5 2:2", "(none) 1"]);
        let lines = round(&rows(Label::Absent, 3.0, 4_294_967_293));
        assert_eq!(lines[0], "(none) 3 4294967293:0.5 4294967294:2");
        assert!(round(&RawRows::by_index()).is_empty());
    }

    #[test]
    fn equal_rows_give_equal_bytes() {
        let bytes = || {
            let mut file = tempfile::tempfile().unwrap();
            let mut writer = writer(ColumnarKind::Npz, file.try_clone().unwrap()).unwrap();
            writer.write(&rows(Label::Number(1.0), 2.0, 7)).unwrap();
            writer.finish().unwrap();
            let mut bytes = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            bytes
        };
        let first = bytes();
        assert_eq!(first, bytes());
        assert_eq!(first[10..14], [0, 0, 0x21, 0], "the time is midnight, 1 January 1980");
    }

    #[test]
    fn what_an_npz_cannot_hold_is_refused() {
        let refused = |rows: &RawRows| {
            let mut writer = writer(ColumnarKind::Npz, tempfile::tempfile().unwrap()).unwrap();
            writer.write(rows).unwrap_err().to_string()
        };
        let zero = refused(&rows(Label::Absent, 1.0, 0));
        assert_eq!(zero, "row 1: the feature index is 0, but npz columns are numbered from 1");
        assert!(
            refused(&rows(Label::Text("spam".into()), 1.0, 1)).starts_with("row 1: label \"spam\" is not a number")
        );
        let mut named = RawRows::by_name();
        named.push_name(&["a"], 1.0);
        named.end_row(Label::Absent, 1.0, 0);
        assert!(refused(&named).starts_with("row 1: feature \"a\" has a name, but an npz stores no names"));
    }
}
