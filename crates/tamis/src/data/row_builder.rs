//! Builds rows from pairs in any order.

use super::{Batch, Example, FeatureId, Row};

/// Collects the entries of a row, sorts them and merges duplicates.
#[derive(Default)]
pub(super) struct RowBuilder {
    /// The entries of the current row, in any order: the place in the row, the same for equal ids, the id and the value.
    pub(super) entries: Vec<(u64, FeatureId, f64)>,
    ids: Vec<FeatureId>,
    values: Vec<f64>,
    /// The rows made.
    pub(super) batch: Batch,
}

impl RowBuilder {
    /// Ends the row. The values of a repeated id are summed, or it is an error with that id.
    pub(super) fn finish(&mut self, weight: f64, adds: bool) -> Result<(), FeatureId> {
        // By place, then by value: a sum of duplicates has the same bits whatever order they came in.
        if !self.entries.is_sorted_by(|a, b| a.0 < b.0) {
            self.entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.2.total_cmp(&b.2)));
        }
        self.ids.clear();
        self.values.clear();
        for (_, id, value) in self.entries.drain(..) {
            if self.ids.last() != Some(&id) {
                self.ids.push(id);
                self.values.push(value);
            } else if adds {
                let sum = self.values.last_mut().expect("as many values as ids");
                // Values are finite, and so is what they add up to: nothing else may reach a learner.
                *sum = (*sum + value).clamp(f64::MIN, f64::MAX);
            } else {
                return Err(id);
            }
        }
        let row = Row { ids: &self.ids, values: &self.values };
        self.batch.push(Example { row, target: 0.0, weight });
        Ok(())
    }
}
