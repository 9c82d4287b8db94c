//! Rows to an npz that `scipy.sparse.load_npz` reads: a CSR matrix, and labels `y` and weights beside it.

use std::fs::File;
use std::io::{BufWriter, Write};

use npyz::npz::NpzWriter;
use npyz::zip::write::FileOptions;
use npyz::{AutoSerialize, DType, WriteOptions, WriterBuilder};

use super::ColumnarError;
use super::write::distinct;
use crate::data::{FeatureKey, Label, ParsedRows};

/// The longest array a plain zip holds, in elements of 8 bytes (and a header).
const MOST_ENTRIES: usize = (1 << 29) - (1 << 10);

/// A matrix in the making, in memory: its size is known only at the end.
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

    pub fn write(&mut self, rows: &ParsedRows) -> Result<(), ColumnarError> {
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
        let mut npz = NpzWriter::new(BufWriter::new(self.file));
        let width = self.columns.iter().max().map_or(0, |&column| i64::from(column) + 1);
        let dtype = DType::Plain("|S3".parse().expect("three bytes are a type"));
        let mut format = npz.array("format", FileOptions::default())?.dtype(dtype).shape(&[]).begin_nd()?;
        format.push(b"csr".as_slice())?;
        format.finish()?;
        array(&mut npz, "shape", [self.labels.len() as i64, width].into_iter())?;
        array(&mut npz, "indptr", self.ends.into_iter())?;
        match width <= i64::from(i32::MAX) {
            true => array(&mut npz, "indices", self.columns.into_iter().map(|column| column as i32))?,
            false => array(&mut npz, "indices", self.columns.into_iter().map(i64::from))?,
        }
        array(&mut npz, "data", self.data.into_iter())?;
        if self.labels.iter().any(|label| !label.is_nan()) {
            array(&mut npz, "y", self.labels.into_iter())?;
        }
        if self.weights.iter().any(|weight| *weight != 1.0) {
            array(&mut npz, "weight", self.weights.into_iter())?;
        }
        npz.zip_writer().finish().map_err(std::io::Error::from)?.into_inner().map_err(|error| error.into_error())?;
        Ok(())
    }
}

fn array<T: AutoSerialize>(
    npz: &mut NpzWriter<BufWriter<File>>,
    name: &str,
    numbers: impl ExactSizeIterator<Item = T>,
) -> std::io::Result<()> {
    let zip = npz.zip_writer();
    zip.start_file(npyz::npz::file_name_from_array_name(name), FileOptions::default())?;
    let (shape, mut bytes) = ([numbers.len() as u64], BufWriter::with_capacity(1 << 16, zip));
    let mut array = WriteOptions::new().default_dtype().shape(&shape).writer(&mut bytes).begin_nd()?;
    array.extend(numbers)?;
    array.finish()?;
    bytes.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::testing::read;
    use crate::columnar::{ColumnarKind, writer};
    use crate::parse::columns::ColumnOptions;

    fn rows(label: Label, weight: f64, index: u32) -> ParsedRows {
        let mut rows = ParsedRows::by_index();
        rows.push_index(index, 0.5);
        rows.push_index(index + 1, 2.0);
        rows.end_row(label, weight, 0);
        rows.end_row(Label::Absent, 1.0, 1);
        rows
    }

    fn round(rows: &ParsedRows) -> Vec<String> {
        let file = tempfile::tempfile().unwrap();
        let mut writer = writer(ColumnarKind::Npz, file.try_clone().unwrap()).unwrap();
        writer.write(rows).unwrap();
        writer.write(rows).unwrap();
        writer.finish().unwrap();
        let lines = read(file, ColumnarKind::Npz, &ColumnOptions::default()).unwrap();
        lines.into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let lines = round(&rows(Label::Number(-1.0), 1.0, 1));
        assert_eq!(lines, ["-1 1 1:0.5 2:2", "(none) 1", "-1 1 1:0.5 2:2", "(none) 1"]);
        let lines = round(&rows(Label::Absent, 3.0, 4_294_967_293));
        assert_eq!(lines[0], "(none) 3 4294967293:0.5 4294967294:2");
        assert!(round(&ParsedRows::by_index()).is_empty());
    }

    #[test]
    fn what_an_npz_cannot_hold_is_refused() {
        let refused = |rows: &ParsedRows| {
            let mut writer = writer(ColumnarKind::Npz, tempfile::tempfile().unwrap()).unwrap();
            writer.write(rows).unwrap_err().to_string()
        };
        let zero = refused(&rows(Label::Absent, 1.0, 0));
        assert_eq!(zero, "row 1: feature index 0; columns of an npz are numbered from 1");
        assert!(
            refused(&rows(Label::Text("spam".into()), 1.0, 1)).starts_with("row 1: label \"spam\" is not a number")
        );
        let mut named = ParsedRows::by_name();
        named.push_name(&["a"], 1.0);
        named.end_row(Label::Absent, 1.0, 0);
        assert!(refused(&named).starts_with("row 1: feature \"a\" has a name, and npz has none"));
    }
}
