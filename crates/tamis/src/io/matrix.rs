//! A matrix in memory as a stream of rows: dense, or compressed sparse rows. Only the current block is copied.
//!
//! Column `j` is feature `j + 1`, as in the svmlight file of the same matrix, or has a name. So a matrix gives the same
//! model, bit for bit, as its file.

use std::sync::Arc;

use pulp::NullaryFnOnce;

use super::error::bad_shape;
use super::matrix_labels::Labels;
use super::{Block, ReadError, RowSource};
use crate::data::RawRows;

/// Rows and entries after which a block ends: small enough that its rows are learned before they leave the cache, large enough that
/// a learner on another thread seldom waits for the next one.
const BLOCK_ROWS: usize = 4096;
const BLOCK_ENTRIES: usize = 1 << 14;

/// Numbers in rows and columns.
pub trait Matrix {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// The number of columns.
    fn columns(&self) -> usize;
    /// Visits the cells of a row that may not be zero: column and value, columns ascending.
    fn visit(&self, row: usize, see: impl FnMut(usize, f64));
    /// Appends the features and values of a row, and returns how many: the fast path for a row whose values are all finite and
    /// not zero. Any other row, or one that is wrong, is left to [`Matrix::visit`].
    fn append(&self, _row: usize, _features: &mut Vec<u32>, _values: &mut Vec<f64>) -> Option<usize> {
        None
    }
}

/// Whether all values are finite and not zero. All of them are looked at, so that many are at once.
#[inline(always)]
fn are_plain<V: Copy + Into<f64>>(values: &[V]) -> bool {
    values.iter().fold(true, |plain, &value| {
        let value: f64 = value.into();
        plain & value.is_finite() & (value != 0.0)
    })
}

/// Every cell, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, V> {
    cells: &'a [V],
    rows: usize,
    columns: usize,
}

impl<'a, V> Dense<'a, V> {
    /// A matrix with `columns` columns.
    pub fn new(cells: &'a [V], rows: usize, columns: usize) -> Result<Self, ReadError> {
        match rows.checked_mul(columns) == Some(cells.len()) {
            true => Ok(Dense { cells, rows, columns }),
            false => Err(bad_shape(format!("{} cells where {rows} × {columns} were expected", cells.len()))),
        }
    }
}

impl<V: Copy + Into<f64>> Matrix for Dense<'_, V> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    #[inline]
    fn visit(&self, row: usize, mut see: impl FnMut(usize, f64)) {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        cells.iter().enumerate().for_each(|(column, &value)| see(column, value.into()));
    }

    fn append(&self, row: usize, features: &mut Vec<u32>, values: &mut Vec<f64>) -> Option<usize> {
        let cells = &self.cells[row * self.columns..(row + 1) * self.columns];
        if !are_plain(cells) {
            return None;
        }
        features.extend(1..=self.columns as u32);
        values.extend(cells.iter().map(|&value| value.into()));
        Some(cells.len())
    }
}

/// Compressed sparse rows: row `i` has the entries `offsets[i] .. offsets[i + 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a, I, V> {
    offsets: &'a [I],
    places: &'a [I],
    values: &'a [V],
    columns: usize,
}

impl<'a, I: Copy + Into<i64>, V> Csr<'a, I, V> {
    /// A matrix with `columns` columns; the shape of its arrays is checked here, their content as rows are read.
    pub fn new(offsets: &'a [I], places: &'a [I], values: &'a [V], columns: usize) -> Result<Self, ReadError> {
        let ends = offsets.first().zip(offsets.last()).map(|(&first, &last)| (first.into(), last.into()));
        let fits = |last: i64| usize::try_from(last).is_ok_and(|last| last <= values.len() && last <= places.len());
        match ends {
            Some((0, last)) if fits(last) && offsets.is_sorted_by_key(|&offset| offset.into()) => {
                Ok(Csr { offsets, places, values, columns })
            }
            _ => Err(bad_shape("the offsets of its rows do not fit its entries".into())),
        }
    }
}

impl<I: Copy + Ord + Into<i64>, V: Copy + Into<f64>> Matrix for Csr<'_, I, V> {
    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn columns(&self) -> usize {
        self.columns
    }

    #[inline]
    fn visit(&self, row: usize, mut see: impl FnMut(usize, f64)) {
        let [start, end] = [self.offsets[row], self.offsets[row + 1]].map(|at| at.into() as usize);
        for (&place, &value) in self.places[start..end].iter().zip(&self.values[start..end]) {
            // A negative index becomes a huge one, and is reported as such.
            see(place.into() as usize, value.into());
        }
    }

    fn append(&self, row: usize, features: &mut Vec<u32>, values: &mut Vec<f64>) -> Option<usize> {
        let [start, end] = [self.offsets[row], self.offsets[row + 1]].map(|at| at.into() as usize);
        let (places, cells) = (&self.places[start..end], &self.values[start..end]);
        let ends = places.first().zip(places.last());
        let fit = ends.is_none_or(|(&first, &last)| first.into() >= 0 && last.into() < self.columns as i64);
        if fit { pulp::Arch::new().dispatch(AppendRow { places, cells, features, values }) } else { None }
    }
}

/// Appends a row with the widest vectors of the processor. All that it calls is inlined: a closure would not be compiled for them.
struct AppendRow<'a, I, V> {
    places: &'a [I],
    cells: &'a [V],
    features: &'a mut Vec<u32>,
    values: &'a mut Vec<f64>,
}

impl<I: Copy + Ord + Into<i64>, V: Copy + Into<f64>> NullaryFnOnce for AppendRow<'_, I, V> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let AppendRow { places, cells, features, values } = self;
        let pairs = places.iter().zip(places.get(1..).unwrap_or_default());
        let ascend = pairs.fold(true, |ascend, (one, next)| ascend & (one < next));
        if !(ascend && are_plain(cells)) {
            return None;
        }
        features.extend(places.iter().map(|&place| place.into() as u32 + 1));
        values.extend(cells.iter().map(|&value| value.into()));
        Some(places.len())
    }
}

/// The rows of a matrix, as a stream.
pub struct MatrixRows<'a, M> {
    matrix: M,
    labels: Labels<'a>,
    weights: Option<&'a [f64]>,
    names: Option<&'a [String]>,
    next: usize,
    name: Arc<str>,
}

impl<'a, M: Matrix> MatrixRows<'a, M> {
    /// Rows with labels, importance weights and names of columns, where there are any.
    pub fn new(
        matrix: M,
        labels: Labels<'a>,
        weights: Option<&'a [f64]>,
        names: Option<&'a [String]>,
    ) -> Result<Self, ReadError> {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        if columns >= u32::MAX as usize {
            return Err(bad_shape(format!("{columns} columns are more than can be numbered ({})", u32::MAX - 1)));
        }
        if let Some(names) = names.filter(|names| names.len() != columns) {
            return Err(bad_shape(format!("{} names for {columns} columns", names.len())));
        }
        labels.check(weights, Some(rows))?;
        Ok(MatrixRows { matrix, labels, weights, names, next: 0, name: "X".into() })
    }

    /// Puts row number `row` at the end of `rows`, as line `line`.
    fn push(&self, row: usize, line: u32, rows: &mut RawRows) -> Result<usize, ReadError> {
        let appended = match self.names {
            None => {
                let (features, values) = rows.index_columns();
                self.matrix.append(row, features, values)
            }
            Some(_) => None,
        };
        let count = appended.map_or_else(|| self.push_entries(row, rows), Ok)?;
        rows.end_row(self.labels.of(row), self.weights.map_or(1.0, |weights| weights[row]), line);
        Ok(count)
    }

    /// Puts the entries of a row at the end of `rows`, one by one.
    fn push_entries(&self, row: usize, rows: &mut RawRows) -> Result<usize, ReadError> {
        let (columns, mut least, mut count, mut problem) = (self.matrix.columns(), 0, 0, None);
        self.matrix.visit(row, |column, value| {
            if column >= columns || column < least || !value.is_finite() {
                problem.get_or_insert((column, value));
                return;
            }
            (least, count) = (column + 1, count + 1);
            match self.names {
                None => rows.push_index(column as u32 + 1, value),
                Some(names) => rows.push_name(&[&names[column]], value),
            }
        });
        if let Some((column, value)) = problem {
            let problem = match value.is_finite() {
                true => format!("column {column} of {columns} is out of range, or not in ascending order"),
                false => format!("the value {value} in column {column} is not finite"),
            };
            return Err(ReadError::Row { row: row as u64, problem });
        }
        Ok(count)
    }
}

impl<M: Matrix> RowSource for MatrixRows<'_, M> {
    fn next_block(&mut self) -> Result<Option<Block>, ReadError> {
        let first = self.next;
        let room = BLOCK_ENTRIES + BLOCK_ENTRIES / 8;
        let mut rows = if self.names.is_some() { RawRows::by_name() } else { RawRows::for_entries(room) };
        let mut entries = 0;
        while self.next < self.matrix.rows() && rows.len() < BLOCK_ROWS && entries < BLOCK_ENTRIES {
            entries += self.push(self.next, (self.next - first) as u32, &mut rows)?;
            self.next += 1;
        }
        let block = Block { rows, file: self.name.clone(), first_line: first as u64 };
        Ok((self.next > first).then_some(block))
    }

    fn width(&self) -> usize {
        self.matrix.columns()
    }

    fn name(&self) -> String {
        self.name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    /// The rows of a source, as text.
    fn rows_as_text(source: &mut impl RowSource) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(block) = source.next_block().unwrap() {
            for row in 0..block.rows.len() {
                let entries: Vec<String> =
                    block.rows.entries(row).map(|(key, value)| format!("{key:?}={value}")).collect();
                let (label, weight) = (&block.rows.labels[row], block.rows.weight(row));
                lines.push(format!("{label} {weight} {}", entries.join(" ")));
            }
        }
        lines
    }

    #[test]
    fn dense_and_sparse_cells_are_the_same_rows() {
        let cells = [0.0, 2.0, 0.0, 0.5, 0.0, -1.0];
        let labels = [Label::Text("no".into()), Label::Text("yes".into())];
        let labels = Labels::Classes(&[1, 0], &labels);
        let dense = Dense::new(&cells, 2, 3).unwrap();
        let sparse = Csr::new(&[0_i32, 1, 3], &[1, 0, 2], &[2.0_f32, 0.5, -1.0], 3).unwrap();
        let expected = ["yes 1 Index(2)=2", "no 1 Index(1)=0.5 Index(3)=-1"];
        assert_eq!(rows_as_text(&mut MatrixRows::new(dense, labels, None, None).unwrap()), expected);
        assert_eq!(rows_as_text(&mut MatrixRows::new(sparse, labels, None, None).unwrap()), expected);
    }

    /// A row is appended at once only if it is the one that a visit of its cells gives.
    #[test]
    fn rows_are_appended_at_once_as_cell_by_cell() {
        let offsets = [0_i64, 3, 5, 5, 7, 9, 10, 11, 13];
        let places = [0_i64, 4, 9, 2, 3, 3, 2, 0, 9, 10, -1, 1, 1];
        let values = [1.0, -2.0, 0.5, 0.0, 4.0, 1.0, 1.0, f64::NAN, 1.0, 1.0, 1.0, 1.0, 2.0];
        let sparse = Csr::new(&offsets, &places, &values, 10).unwrap();
        let are_plain = [true, false, true, false, false, false, false, false];
        for (row, is_plain) in are_plain.into_iter().enumerate() {
            let (mut features, mut found) = (vec![7], vec![7.0]);
            let count = sparse.append(row, &mut features, &mut found);
            assert_eq!(count.is_some(), is_plain, "row {row}");
            let (mut expected, mut cells) = (vec![7], vec![7.0]);
            if is_plain {
                sparse.visit(row, |column, value| {
                    expected.push(column as u32 + 1);
                    cells.push(value);
                });
            }
            assert_eq!((features, found), (expected, cells), "row {row}");
        }
        let dense = Dense::new(&[1.0_f32, 2.0, 0.0, 3.0, f32::INFINITY, 1.0], 3, 2).unwrap();
        let (mut features, mut found) = (Vec::new(), Vec::new());
        assert_eq!([0, 1, 2].map(|row| dense.append(row, &mut features, &mut found)), [Some(2), None, None]);
        assert_eq!((features, found), (vec![1, 2], vec![1.0, 2.0]));
    }

    #[test]
    fn names_and_weights_go_with_the_rows() {
        let names = ["a".to_string(), "7".to_string()];
        let dense = Dense::new(&[1.0, 2.0, 0.0, 3.0], 2, 2).unwrap();
        let mut rows = MatrixRows::new(dense, Labels::Numbers(&[5.0, 6.0]), Some(&[1.0, 0.5]), Some(&names)).unwrap();
        assert_eq!(rows_as_text(&mut rows), ["5 1 Name(\"a\")=1 Index(7)=2", "6 0.5 Index(7)=3"]);
    }

    #[test]
    fn long_matrices_come_in_blocks() {
        let cells = vec![1_u8; 10_000];
        let mut rows = MatrixRows::new(Dense::new(&cells, 10_000, 1).unwrap(), Labels::None, None, None).unwrap();
        let sizes: Vec<usize> = std::iter::from_fn(|| rows.next_block().unwrap()).map(|b| b.rows.len()).collect();
        assert_eq!(sizes, [4096, 4096, 1808]);
    }

    #[test]
    fn complaints_say_where() {
        let message = |made: Result<_, ReadError>| made.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message(Dense::new(&[1.0; 5], 2, 3).map(drop)).contains("5 cells where 2 × 3 were expected"));
        assert!(message(Csr::new(&[0_i64, 9], &[0], &[1.0], 3).map(drop)).contains("do not fit"));
        assert!(message(Csr::new(&[0_i64, 1, 0], &[0], &[1.0], 3).map(drop)).contains("do not fit"));
        let rows = |matrix: Csr<'static, i64, f64>, labels, weights| {
            let mut rows = MatrixRows::new(matrix, labels, weights, None)?;
            while rows.next_block()?.is_some() {}
            Ok(())
        };
        let csr = |places: &'static [i64], values: &'static [f64]| Csr::new(&[0, 2], places, values, 3).unwrap();
        let good = || csr(&[0, 2], &[1.0, 2.0]);
        assert_eq!(message(rows(good(), Labels::None, None)), "");
        for places in [&[0, 3], &[-1, 2], &[2, 1], &[1, 1]] {
            assert!(message(rows(csr(places, &[1.0, 2.0]), Labels::None, None)).starts_with("row 0: column"));
        }
        assert_eq!(
            message(rows(csr(&[0, 2], &[1.0, f64::NAN]), Labels::None, None)),
            "row 0: the value NaN in column 2 is not finite"
        );
        assert!(message(rows(good(), Labels::Numbers(&[1.0, 2.0]), None)).contains("2 labels for 1 rows"));
        assert!(message(rows(good(), Labels::Classes(&[1], &[Label::Number(1.0)]), None)).contains("label of row 0"));
        assert!(message(rows(good(), Labels::None, Some(&[-1.0]))).contains("row 0: the weight -1 is not"));
    }
}
