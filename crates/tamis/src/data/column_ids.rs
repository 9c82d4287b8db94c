//! The ids of the columns of a table, kept from block to block.
//!
//! Rows have their entries by place: numbers ascending, then names by id. The columns of a table have another order, but
//! the same one in every row. So it is sorted once, when all columns have ids, and not for every row.

use std::sync::Arc;

use super::{Batch, ColumnNames, Example, FeatureId, Row};

/// Rows with fewer columns are sorted by themselves: one in this many.
const DENSE: usize = 4;

/// What the vocabulary knows of the names of columns.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnIds {
    names: Arc<ColumnNames>,
    /// The place in a row and the id of each name that the vocabulary has.
    known: Vec<Option<(u64, FeatureId)>>,
    unknown: usize,
    /// The numbers of the names by their place, and their ids. Empty until all are known, and if two share a place.
    order: Vec<u32>,
    ids: Vec<FeatureId>,
    /// The value of each name in the current row; zeros between rows.
    values: Vec<f64>,
}

impl ColumnIds {
    /// These ids if they are of the same names, or else those of others, of which none is known yet.
    pub(super) fn of(self, names: &Arc<ColumnNames>) -> Self {
        if Arc::ptr_eq(&self.names, names) {
            return self;
        }
        let columns = names.len();
        ColumnIds { names: names.clone(), known: vec![None; columns], unknown: columns, ..Self::default() }
    }

    /// The place in a row and the id of a name.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<(u64, FeatureId)> {
        self.known[number]
    }

    /// Remembers the place and the id of a name that was not known.
    pub(super) fn set(&mut self, number: usize, place: u64, id: FeatureId) {
        self.unknown -= usize::from(self.known[number].is_none());
        self.known[number] = Some((place, id));
        if self.unknown == 0 {
            self.sort();
        }
    }

    fn sort(&mut self) {
        let mut sorted: Vec<(u64, u32, FeatureId)> =
            (0..).zip(&self.known).filter_map(|(number, known)| known.map(|(place, id)| (place, number, id))).collect();
        sorted.sort_unstable();
        if sorted.is_sorted_by(|a, b| a.0 < b.0) {
            (self.order, self.ids) = sorted.into_iter().map(|(_, number, id)| (number, id)).unzip();
            self.values = vec![0.0; self.order.len()];
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
        let example = Example { row: Row { ids: &[], values: &[] }, target: 0.0, weight };
        if numbers.len() == columns {
            let values = self.order.iter().map(|&number| values[number as usize]);
            batch.push_entries(example, self.ids.iter().copied().zip(values));
            return true;
        }
        numbers.iter().zip(values).for_each(|(&number, &value)| self.values[number as usize] = value);
        let entries = self.ids.iter().zip(&self.order).map(|(&id, &number)| (id, self.values[number as usize]));
        batch.push_entries(example, entries.filter(|(_, value)| *value != 0.0));
        numbers.iter().for_each(|&number| self.values[number as usize] = 0.0);
        true
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.known.capacity() * 24 + self.order.capacity() * 8 + self.values.capacity() * 8
    }
}
