//! Builds rows from pairs in any order.

use super::{Batch, Example, FeatureId, Row};

/// Collects the pairs of a row, sorts them by id and merges duplicates.
#[derive(Default)]
pub(super) struct RowBuilder {
    /// The entries of the current row, in any order.
    pub(super) pairs: Vec<(FeatureId, f64)>,
    ids: Vec<FeatureId>,
    values: Vec<f64>,
    /// The rows made.
    pub(super) batch: Batch,
}

impl RowBuilder {
    /// Ends the row. The values of a repeated id are summed, or it is an error with that id.
    pub(super) fn finish(&mut self, weight: f64, adds: bool) -> Result<(), FeatureId> {
        // By id, then by value: a sum of duplicates has the same bits whatever order they came in.
        self.pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.ids.clear();
        self.values.clear();
        for (id, value) in self.pairs.drain(..) {
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
