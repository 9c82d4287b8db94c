//! Ω, the active features, and the rows restricted to them.
//!
//! Source: Ma & Zheng 2016, eq. (9), (10) and d = |Ω|/p. The rows are copied without purged features whenever fewer
//! than half of the stored entries are active: each copy is paid for by the purged entries, and a visit of a row costs
//! at most twice its active non-zeros.

use std::borrow::Cow;

use crate::data::{Batch, Example, FeatureId, Row, span_of};

/// The active set, and the rows with at most as many purged as active entries.
#[derive(Debug)]
pub(super) struct Active<'a> {
    rows: Cow<'a, Batch>,
    active: Vec<bool>,
    /// The number of rows that contain each feature.
    entries: Vec<u32>,
    /// Entries of active features.
    active_entries: usize,
    /// |Ω|, counting only features that occur.
    size: usize,
    /// p.
    columns: f64,
    /// The number of columns that never occur: they stay in Ω.
    absent: f64,
}

impl<'a> Active<'a> {
    /// All features that occur. `columns` is p, if it is larger than their number.
    pub fn new(rows: &'a Batch, columns: Option<u64>) -> Self {
        let ids = rows.parts().ids;
        let span = span_of(ids);
        let mut entries = vec![0; span];
        ids.iter().for_each(|&id| entries[id as usize] += 1);
        let active: Vec<bool> = entries.iter().map(|&count| count > 0).collect();
        let size = active.iter().filter(|&&active| active).count();
        let columns = columns.unwrap_or(0).max(size as u64) as f64;
        let absent = columns - size as f64;
        Active { rows: Cow::Borrowed(rows), active, entries, active_entries: ids.len(), size, columns, absent }
    }

    /// One more than the largest id.
    pub fn span(&self) -> usize {
        self.active.len()
    }

    pub fn rows(&self) -> &Batch {
        &self.rows
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn contains(&self, id: FeatureId) -> bool {
        self.active[id as usize]
    }

    /// d = |Ω|/p; 1 if there are no columns at all.
    pub fn share(&self) -> f64 {
        if self.columns == 0.0 { 1.0 } else { (self.size as f64 + self.absent) / self.columns }
    }

    /// Mean active non-zeros of a row.
    pub fn mean_length(&self) -> f64 {
        self.active_entries as f64 / self.rows.len().max(1) as f64
    }

    /// Removes features from Ω.
    pub fn purge(&mut self, purged: &[FeatureId]) {
        for &id in purged {
            self.active[id as usize] = false;
            self.active_entries -= self.entries[id as usize] as usize;
        }
        self.size -= purged.len();
        if 2 * self.active_entries < self.rows.entries() {
            self.compact();
        }
    }

    /// Copies the rows without purged features.
    fn compact(&mut self) {
        let mut rows = Batch::new();
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        for example in self.rows.examples() {
            ids.clear();
            values.clear();
            for (id, value) in example.row.iter().filter(|&(id, _)| self.active[id as usize]) {
                ids.push(id);
                values.push(value);
            }
            rows.push(Example { row: Row { ids: &ids, values: &values }, ..example });
        }
        self.rows = Cow::Owned(rows);
    }

    pub fn into_flags(self) -> Vec<bool> {
        self.active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feature 0 in three rows, 2 in two, 4 in one.
    fn rows() -> Batch {
        let mut rows = Batch::new();
        for ids in [&[0, 2, 4][..], &[0, 2], &[0]] {
            let values: Vec<f64> = ids.iter().map(|&id| 1.0 + f64::from(id)).collect();
            rows.push(Example { row: Row { ids, values: &values }, target: 1.0, weight: 2.0 });
        }
        rows
    }

    #[test]
    fn only_features_that_occur_are_active() {
        let rows = rows();
        let active = Active::new(&rows, None);
        assert_eq!((active.span(), active.size(), active.share(), active.mean_length()), (5, 3, 1.0, 2.0));
        assert_eq!([0, 1, 2, 3, 4].map(|id| active.contains(id)), [true, false, true, false, true]);
    }

    #[test]
    fn columns_that_never_occur_raise_the_share() {
        let rows = rows();
        let mut active = Active::new(&rows, Some(10));
        assert_eq!(active.share(), 1.0);
        active.purge(&[0, 2, 4]);
        assert_eq!((active.size(), active.share()), (0, 0.7));
        assert_eq!(Active::new(&rows, Some(2)).share(), 1.0, "p is at least what occurs");
    }

    #[test]
    fn rows_are_copied_when_most_entries_are_purged() {
        let rows = rows();
        let mut active = Active::new(&rows, None);
        active.purge(&[0]);
        assert_eq!(active.rows().entries(), 6, "half are active: not yet");
        active.purge(&[4]);
        assert_eq!((active.rows().entries(), active.size()), (2, 1));
        let kept = Example { row: Row { ids: &[2], values: &[3.0] }, target: 1.0, weight: 2.0 };
        assert_eq!([active.rows().example(0), active.rows().example(1)], [kept, kept]);
        assert!(active.rows().row(2).is_empty());
    }

    #[test]
    fn no_columns_are_all_active() {
        let mut rows = Batch::new();
        rows.push(Example { row: Row { ids: &[], values: &[] }, target: 1.0, weight: 1.0 });
        let active = Active::new(&rows, None);
        assert_eq!((active.span(), active.size(), active.share()), (0, 0, 1.0));
    }
}
