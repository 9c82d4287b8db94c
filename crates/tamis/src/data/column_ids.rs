//! The ids of the names of parsed rows. Those of the columns of a table are kept from block to block.
//!
//! Rows have their entries by place: numbers ascending, then names by id. The columns of a table have another order, but
//! the same one in every row. So it is sorted once, when all columns have ids, and not for every row.

use std::sync::Arc;

use super::{Batch, ColumnNames, Example, FeatureId, Names, Row};

/// Rows with fewer than one in this many of the columns are sorted by themselves.
const DENSE: usize = 4;

/// What the vocabulary knows of the names of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnIds {
    columns: Arc<ColumnNames>,
    /// The place in a row and the id of each name that the vocabulary has: first the columns, then the other names.
    known: Vec<Option<(u64, FeatureId)>>,
    /// Columns that it does not have.
    unknown: usize,
    /// The numbers of the columns by their place, and their ids. Empty until all are known, and if two share a place.
    order: Vec<u32>,
    ids: Vec<FeatureId>,
    /// Whether this order is that of the columns.
    is_in_order: bool,
    /// The value of each column in the current row; zeros between rows.
    values: Vec<f64>,
    /// The ids, or the values, of the current row.
    row_ids: Vec<FeatureId>,
    row_values: Vec<f64>,
}

impl ColumnIds {
    /// For the names of a block. Those of the columns are kept if they are of the same table.
    pub(super) fn of(self, names: &Names) -> Self {
        let columns = names.columns();
        let mut ids = if Arc::ptr_eq(&self.columns, columns) {
            self
        } else {
            ColumnIds { columns: columns.clone(), unknown: columns.len(), ..Self::default() }
        };
        ids.known.resize(names.stored(), None);
        ids
    }

    /// The ids of the columns alone.
    pub(super) fn of_columns(mut self) -> Self {
        self.known.truncate(self.columns.len());
        self
    }

    /// The place in a row and the id of a name.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<(u64, FeatureId)> {
        self.known[number]
    }

    /// Remembers the place and the id of a name that was not known.
    pub(super) fn set(&mut self, number: usize, place: u64, id: FeatureId) {
        self.known[number] = Some((place, id));
        if number < self.columns.len() {
            self.unknown -= 1;
            if self.unknown == 0 {
                self.sort();
            }
        }
    }

    fn sort(&mut self) {
        let numbered = |(number, known): (u32, &Option<(u64, FeatureId)>)| known.map(|(place, id)| (place, number, id));
        let mut sorted: Vec<(u64, u32, FeatureId)> =
            (0..).zip(&self.known).take(self.columns.len()).filter_map(numbered).collect();
        sorted.sort_unstable();
        if sorted.is_sorted_by(|a, b| a.0 < b.0) {
            (self.order, self.ids) = sorted.into_iter().map(|(_, number, id)| (number, id)).unzip();
            self.values = vec![0.0; self.order.len()];
            self.is_in_order = self.order.is_sorted();
        }
    }

    /// Adds a row whose entries have these numbers and values, if it consists of many of the columns and nothing else.
    pub(super) fn push_row(&mut self, numbers: &[u32], values: &[f64], weight: f64, batch: &mut Batch) -> bool {
        let columns = self.order.len();
        let is_dense = columns > 0 && numbers.len() * DENSE >= columns;
        let has_only_columns = || numbers.last().is_some_and(|&last| (last as usize) < columns);
        if !is_dense || !has_only_columns() || !numbers.is_sorted_by(|a, b| a < b) {
            return false;
        }
        let example = |row| Example { row, target: 0.0, weight };
        if self.is_in_order {
            self.row_ids.clear();
            self.row_ids.extend(numbers.iter().map(|&number| self.ids[number as usize]));
            batch.push(example(Row { ids: &self.row_ids, values }));
            return true;
        }
        if numbers.len() == columns {
            self.row_values.clear();
            self.row_values.extend(self.order.iter().map(|&number| values[number as usize]));
            batch.push(example(Row { ids: &self.ids, values: &self.row_values }));
            return true;
        }
        let example = example(Row { ids: &[], values: &[] });
        numbers.iter().zip(values).for_each(|(&number, &value)| self.values[number as usize] = value);
        let entries = self.ids.iter().zip(&self.order).map(|(&id, &number)| (id, self.values[number as usize]));
        batch.push_entries(example, entries.filter(|(_, value)| *value != 0.0));
        numbers.iter().for_each(|&number| self.values[number as usize] = 0.0);
        true
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.known.len() * 24
            + self.order.len() * 8
            + (self.values.len() + self.row_values.len()) * 8
            + self.row_ids.len() * 4
    }
}
