//! A few rows of a record batch, with their columns decoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::block::rows_of_values;
use super::cells::Cells;
use super::schema::{Layout, Place, Sparse};
use super::sparse_columns::{Lists, Vectors};
use super::transpose::put_numbers;
use crate::parse::NumberRows;
use crate::parse::column::Role;

/// A few rows with their columns decoded, and the number of rows already returned.
pub(super) struct Chunk {
    pub(super) target: Option<Cells>,
    pub(super) id: Option<Cells>,
    pub(super) weight: Option<Cells>,
    pub(super) features: Vec<Cells>,
    pub(super) lists: Vec<Lists>,
    pub(super) vectors: Option<Vectors>,
    pub(super) rows: usize,
    pub(super) done: usize,
    /// The numbers of the features in the first rows, if a survey has put them in rows.
    surveyed: Option<Arc<NumberRows>>,
    /// The numbers of the features in some rows, row by row; NaN where there is none.
    numbers: Vec<f64>,
    /// The rows they are of.
    number_rows: Range<usize>,
}

impl Chunk {
    /// Decodes the columns in use.
    pub(super) fn new(
        layout: &Layout,
        batch: &RecordBatch,
        surveyed: Option<Arc<NumberRows>>,
    ) -> Result<Chunk, ArrowError> {
        let plain = |place: &Place| Cells::plain(batch.column(place.at));
        let feature = |(place, role): &(Place, Role)| match role {
            Role::Category(_) | Role::Text => Cells::categories(batch.column(place.at)),
            _ => plain(place),
        };
        let vectors = match &layout.sparse {
            Some(Sparse::Struct(place, _)) => Some(Vectors::from_struct(batch.column(place.at))?),
            Some(Sparse::Pair { indices, values }) => {
                Some(Vectors::from_pair(batch.column(indices.at), batch.column(values.at))?)
            }
            None => None,
        };
        Ok(Chunk {
            target: layout.target.as_ref().map(plain).transpose()?,
            weight: layout.weight.as_ref().map(plain).transpose()?,
            id: layout.id.as_ref().map(plain).transpose()?,
            features: layout.features.iter().map(feature).collect::<Result<_, _>>()?,
            lists: layout.lists.iter().map(|place| Lists::new(batch.column(place.at))).collect::<Result<_, _>>()?,
            vectors,
            rows: batch.num_rows(),
            done: 0,
            surveyed,
            numbers: Vec::new(),
            number_rows: 0..0,
        })
    }

    /// Puts the numbers of the current row, and of a few rows after it, side by side.
    pub(super) fn put_in_rows(&mut self) {
        let is_surveyed = self.surveyed.as_ref().is_some_and(|rows| self.done < rows.len());
        if is_surveyed || self.number_rows.contains(&self.done) {
            return;
        }
        let columns: Vec<&Cells> = self.features.iter().collect();
        self.number_rows = self.done..self.rows.min(self.done + rows_of_values(columns.len()));
        self.numbers.clear();
        self.numbers.resize(self.number_rows.len() * columns.len(), f64::NAN);
        put_numbers(&columns, self.number_rows.clone(), &mut self.numbers);
    }

    /// The numbers of the features of the current row.
    pub(super) fn numbers(&self) -> &[f64] {
        let columns = self.features.len();
        if let Some(rows) = self.surveyed.as_ref().filter(|rows| self.done < rows.len()) {
            return &rows.row(self.done)[..columns];
        }
        &self.numbers[(self.done - self.number_rows.start) * columns..][..columns]
    }
}
