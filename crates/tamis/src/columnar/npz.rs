//! Reads a CSR matrix as `scipy.sparse.save_npz` writes it, or a dense one as `numpy.savez` does, with optional arrays of
//! labels and weights.

use std::fs::File;

use super::block::{BLOCK_ENTRIES, BLOCK_ROWS, Block};
use super::error::ColumnarError;
use super::limits::ColumnarLimits;
use super::npy::{Archive, Array};
use super::npz_arrays::{dense_matrix, find_labels, sparse_arrays, sparse_shape};
use crate::data::{Label, RawRows};
use crate::parse::schema::SchemaOptions;
use crate::parse::{LineError, Missing};

const WEIGHT: &str = "weight";

/// A matrix that is being read.
pub(super) struct Csr {
    rows: u64,
    columns: u64,
    next_row: u64,
    /// The position of the next row's first entry.
    start: i64,
    /// Where rows start, and the columns of their entries; `None` for a dense matrix.
    sparse: Option<(Array, Array)>,
    data: Array,
    labels: Option<Array>,
    weights: Option<Array>,
    missing: Missing,
    needs_target: bool,
    row: RowBuffer,
    limits: ColumnarLimits,
}

/// The buffers for one row.
#[derive(Default)]
struct RowBuffer {
    integers: Vec<i64>,
    floats: Vec<f64>,
    entries: Vec<(u32, f64)>,
}

/// The column with the error, if any, and the error.
type CellError = (Option<String>, LineError);

impl Csr {
    pub fn open(file: File, options: &SchemaOptions, limits: ColumnarLimits) -> Result<Csr, ColumnarError> {
        let archive = Archive::open(file)?;
        let dense = if archive.find("format")?.is_none() { dense_matrix(&archive)? } else { None };
        let (rows, columns) = match &dense {
            Some(matrix) => (matrix.shape()[0], matrix.shape()[1]),
            None => sparse_shape(&archive)?,
        };
        let labels = find_labels(&archive, options)?;
        let weights = match &options.weight {
            Some(name) => Some(archive.array(name)?),
            None => archive.find(WEIGHT)?,
        };
        for array in labels.iter().chain(&weights) {
            if array.len() != rows {
                return Err(array.fault(format!("it has {} elements for {rows} rows", array.len())));
            }
        }
        let mut row = RowBuffer::default();
        let (sparse, data) = match dense {
            Some(matrix) => (None, matrix),
            None => {
                let (starts, indices, data) = sparse_arrays(&archive, rows, &mut row.integers)?;
                (Some((starts, indices)), data)
            }
        };
        let (missing, needs_target) = (options.missing, options.needs_target);
        let (next_row, start) = (0, 0);
        Ok(Csr { rows, columns, next_row, start, sparse, data, labels, weights, missing, needs_target, row, limits })
    }

    pub fn block(&mut self) -> Result<Option<Block>, ColumnarError> {
        if self.next_row == self.rows {
            return Ok(None);
        }
        let mut block = Block { rows: RawRows::by_index(), refused: Vec::new(), first_row: self.next_row };
        let (mut entries, mut lines) = (0, 0);
        while self.next_row < self.rows && lines < BLOCK_ROWS && entries < BLOCK_ENTRIES {
            let (label, weight) = self.read_row()?;
            entries += self.row.integers.len();
            match self.make_row(label, weight) {
                Ok(Some((label, weight))) => {
                    self.row.entries.iter().for_each(|(index, value)| block.rows.push_index(*index, *value));
                    block.rows.end_row(label, weight, lines as u32);
                }
                Ok(None) => block.rows.left_out.push(lines as u32),
                Err((column, problem)) => {
                    block.refused.push(ColumnarError::Row { row: self.next_row + 1, column, problem });
                }
            }
            lines += 1;
            self.next_row += 1;
        }
        if self.next_row == self.rows {
            self.finish()?;
        }
        Ok(Some(block))
    }

    /// Reads the entries of the next row, and returns its label and weight.
    fn read_row(&mut self) -> Result<(f64, f64), ColumnarError> {
        let RowBuffer { integers, floats, .. } = &mut self.row;
        let (mut label, mut weight) = (f64::NAN, 1.0);
        if let Some(labels) = &mut self.labels {
            labels.floats(1, floats)?;
            label = floats[0];
        }
        if let Some(weights) = &mut self.weights {
            weights.floats(1, floats)?;
            weight = floats[0];
        }
        let limit = self.limits.entries();
        let check = |row: u64, entries: u64| match entries > limit {
            true => Err(ColumnarError::LongRow { row, entries, limit }),
            false => Ok(()),
        };
        let Some((starts, indices)) = &mut self.sparse else {
            check(self.next_row + 1, self.columns)?;
            integers.clear();
            integers.extend(0..self.columns as i64);
            self.data.floats(self.columns as usize, floats)?;
            return Ok((label, weight));
        };
        starts.integers(1, integers)?;
        let (start, end) = (self.start, integers[0]);
        let row = self.next_row + 1;
        if end < start {
            return Err(starts.fault(format!("it decreases from {start} to {end} at row {row}")));
        }
        if end as u64 > self.data.len() {
            let fault = format!("it is {end} at row {row}, but data has {} elements", self.data.len());
            return Err(starts.fault(fault));
        }
        self.start = end;
        check(row, (end - start) as u64)?;
        let count = (end - start) as usize;
        indices.integers(count, integers)?;
        self.data.floats(count, floats)?;
        Ok((label, weight))
    }

    /// Sorts the row's entries by id and sums duplicates; `None` if the row is skipped.
    fn make_row(&mut self, label: f64, weight: f64) -> Result<Option<(Label, f64)>, CellError> {
        let Some(label) = self.label(label)? else { return Ok(None) };
        if weight.is_nan() && self.missing == Missing::SkipRow {
            return Ok(None);
        }
        if !(weight.is_finite() && weight >= 0.0) {
            return Err((None, LineError::BadWeight { found: weight.to_string() }));
        }
        let RowBuffer { integers, floats, entries } = &mut self.row;
        entries.clear();
        for (&column, &value) in integers.iter().zip(floats.iter()) {
            let id = id(column, self.columns).map_err(|problem| (None, problem))?;
            match self.missing {
                _ if !value.is_nan() => entries.push((id, value)),
                Missing::Zero => {}
                Missing::SkipRow => return Ok(None),
                _ => return Err((Some(id.to_string()), LineError::Empty { column: id.to_string() })),
            }
        }
        add_up(entries);
        match entries.iter().find(|(_, value)| !value.is_finite()) {
            Some((id, value)) => {
                Err((Some(id.to_string()), LineError::NotFinite { what: "feature value", found: value.to_string() }))
            }
            None => Ok(Some((label, weight))),
        }
    }

    fn label(&self, label: f64) -> Result<Option<Label>, CellError> {
        match label {
            number if number.is_finite() => Ok(Some(Label::Number(number))),
            number if !number.is_nan() => {
                Err((None, LineError::NotFinite { what: "label", found: number.to_string() }))
            }
            _ if !self.needs_target => Ok(Some(Label::Absent)),
            _ if self.missing == Missing::SkipRow => Ok(None),
            _ => Err((None, LineError::NoLabel)),
        }
    }

    fn finish(&mut self) -> Result<(), ColumnarError> {
        let beside = self.labels.iter_mut().chain(&mut self.weights);
        let sparse = self.sparse.iter_mut().flat_map(|(starts, indices)| [starts, indices]);
        sparse.chain([&mut self.data]).chain(beside).try_for_each(Array::finish)
    }
}

/// The feature number of a column: numbers start at 1.
fn id(column: i64, columns: u64) -> Result<u32, LineError> {
    match u64::try_from(column) {
        Err(_) => Err(LineError::Other(format!("column index {column} is negative"))),
        Ok(index) if index >= columns => {
            Err(LineError::Other(format!("column index {column} is outside a matrix of {columns} columns")))
        }
        Ok(index) => match u32::try_from(index + 1) {
            Ok(id) if id < u32::MAX => Ok(id),
            _ => Err(LineError::IndexTooLarge { found: (index + 1).to_string() }),
        },
    }
}

/// Sorts entries by id and sums those with equal ids. The sum does not depend on the order of the entries.
fn add_up(entries: &mut Vec<(u32, f64)>) {
    if entries.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        return;
    }
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::ColumnarKind;
    use crate::columnar::fixtures::{Npz, damage, file, read};
    use crate::columnar::npz_arrays::DENSE;

    fn labelled() -> SchemaOptions {
        SchemaOptions { needs_target: true, ..Default::default() }
    }

    #[test]
    fn columns_count_from_one_and_duplicates_add_up() {
        assert_eq!(Npz::matrix().read(&SchemaOptions::default()), ["(none) 1 1:0.5 3:3", "(none) 1 4:4"]);
    }

    #[test]
    fn a_dense_matrix_is_read_row_by_row() {
        let matrix = |name: &str| {
            let mut npz = Npz::default().array("y", &[1_i8, 0]);
            let bytes: Vec<u8> = [0.5_f64, 0.0, 3.0, 0.0, -1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
            npz.raw(name, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", &bytes);
            npz.read(&labelled())
        };
        for name in DENSE {
            assert_eq!(matrix(name), ["1 1 1:0.5 3:3", "0 1 2:-1 3:2"], "{name}");
        }
        let mut columns = Npz::default().array("y", &[1_i8, 0]);
        columns.raw("X", "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1), }", &[0; 16]);
        assert!(columns.read(&labelled())[0].contains("stored column by column"));
        assert!(matrix("other")[0].starts_with("the file has no array \"format\""));
    }

    #[test]
    fn labels_and_weights_lie_beside() {
        let npz = || Npz::matrix().array("weight", &[0.5_f64, 2.0]);
        assert_eq!(npz().array("y", &[1_i8, -1]).read(&labelled()), ["1 0.5 1:0.5 3:3", "-1 2 4:4"]);
        assert_eq!(npz().array("labels", &[true, false]).read(&labelled())[1], "0 2 4:4");
        let own = SchemaOptions { target: Some("price".into()), ..labelled() };
        assert_eq!(npz().array("price", &[9.5_f64, 8.5]).read(&own)[1], "8.5 2 4:4");
        let text = &npz().read(&labelled())[0];
        assert!(text.starts_with("the npz has no labels; add an array `y`, e.g. numpy.savez"), "{text}");
        let text = &npz().array("y", &[1_u64]).read(&labelled())[0];
        assert_eq!(text, "array \"y\": it has 1 elements for 2 rows");
        let missing = npz().array("y", &[f64::NAN, f64::INFINITY]).read(&labelled());
        assert_eq!(missing[0], "row 1: the line has no label");
        assert!(missing[1].starts_with("row 2: label \"inf\" is not finite"));
    }

    #[test]
    fn labels_of_strings_are_refused() {
        let mut npz = Npz::matrix();
        npz.raw("y", "{'descr': '<U1', 'fortran_order': False, 'shape': (2,)}", &[b'a', 0, 0, 0, b'b', 0, 0, 0]);
        assert_eq!(npz.read(&labelled()), ["array \"y\": it has type \"<U1\", but numbers or booleans are expected"]);
    }

    #[test]
    fn other_formats_are_refused() {
        let text = "the matrix is stored as \"csc\", not \"csr\"; convert with .tocsr() first";
        assert_eq!(Npz::new("csc").read(&labelled()), [text]);
        let text = &Npz::default().array("arr_0", &[1.0_f64]).read(&labelled())[0];
        assert!(text.starts_with("the file has no array \"format\"; scipy.sparse.save_npz writes"));
    }

    #[test]
    fn missing_and_infinite_values_follow_the_rule() {
        let npz = || {
            Npz::new("csr")
                .array("shape", &[3_i64, 2])
                .array("indptr", &[0_i64, 1, 2, 3])
                .array("indices", &[0_i64, 1, 1])
                .array("data", &[f64::NAN, f64::INFINITY, 1.0])
        };
        let with = |missing| npz().read(&SchemaOptions { missing, ..Default::default() });
        let lines = with(Missing::Error);
        assert!(lines[0].starts_with("row 1: column \"1\" is empty"), "{lines:?}");
        assert!(lines[1].starts_with("row 2, column \"2\": feature value \"inf\" is not finite"), "{lines:?}");
        assert_eq!(lines[2], "(none) 1 2:1");
        assert_eq!(with(Missing::Zero)[1..], ["(none) 1", "(none) 1 2:1"]);
        assert_eq!(with(Missing::SkipRow)[1..], ["(none) 1 2:1"]);
    }

    #[test]
    fn columns_outside_the_matrix_are_told_row_by_row() {
        let npz = Npz::new("csr")
            .array("shape", &[4_i64, 1 << 33])
            .array("indptr", &[0_i64, 1, 2, 3, 4])
            .array("indices", &[-1_i64, 1 << 34, 4_294_967_294, 4_294_967_293])
            .array("data", &[true; 4]);
        let expected = [
            "row 1: column index -1 is negative",
            "row 2: column index 17179869184 is outside a matrix of 8589934592 columns",
            "row 3: feature index 4294967295 is larger than 4294967294",
            "(none) 1 4294967294:1",
        ];
        assert_eq!(npz.read(&SchemaOptions::default()), expected);
    }

    #[test]
    fn sizes_that_disagree_are_told() {
        let with = |rows: i64, starts: &[i64], indices: &[i32]| {
            let npz = Npz::new("csr").array("shape", &[rows, 9]).array("indptr", starts).array("indices", indices);
            npz.array("data", &[1_i16, 2]).read(&SchemaOptions::default()).pop().unwrap()
        };
        assert_eq!(
            with(2, &[0, 2], &[1, 2]),
            "array \"indptr\": it has 2 elements for 2 rows, but one more is expected"
        );
        assert_eq!(with(1, &[0, 2], &[1]), "array \"indices\": it has 1 elements, but data has 2");
        assert_eq!(with(1, &[1, 2], &[1, 2]), "array \"indptr\": it starts with 1, but 0 is expected");
        assert_eq!(with(2, &[0, 2, 1], &[1, 2]), "array \"indptr\": it decreases from 2 to 1 at row 2");
        assert_eq!(
            with(1, &[0, i64::MAX], &[1, 2]),
            format!("array \"indptr\": it is {} at row 1, but data has 2 elements", i64::MAX)
        );
        assert_eq!(with(-1, &[0], &[1, 2]), "array \"shape\": two numbers are expected, rows and columns");
        assert_eq!(with(i64::MAX, &[0], &[1, 2]).split(" rows").count(), 2);
    }

    #[test]
    fn a_shape_larger_than_its_bytes_is_refused_before_it_is_read() {
        for shape in ["(1000000000000,)", "(18446744073709551615, 2)"] {
            let mut npz =
                Npz::new("csr").array("shape", &[1_i64, 9]).array("indptr", &[0_i64, 1]).array("indices", &[0_i32]);
            npz.raw("data", &format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"), &[0; 64]);
            let text = &npz.read(&SchemaOptions::default())[0];
            assert!(
                text.starts_with("array \"data\": it declares shape [") && text.ends_with("but holds only 64 bytes"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_wrong_checksum_is_found() {
        let mut bytes = Npz::matrix().bytes();
        let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        bytes[at + 16] ^= 1;
        let error = read(file(&bytes), ColumnarKind::Npz, &SchemaOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "array \"format\": the checksum is wrong");
    }

    #[test]
    fn a_declared_size_that_the_packed_bytes_cannot_reach_is_refused() {
        let mut bytes = Npz::matrix().bytes();
        let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        bytes[at + 24..at + 28].copy_from_slice(&(1_u32 << 30).to_le_bytes());
        let error = read(file(&bytes), ColumnarKind::Npz, &SchemaOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("array \"format\": it declares 1073741824 bytes, but "), "{error}");
    }

    #[test]
    fn damage_never_panics() {
        damage(&Npz::matrix().array("y", &[1.0, 2.0]).bytes(), ColumnarKind::Npz, &labelled());
    }
}
