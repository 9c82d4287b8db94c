//! A sample of rows spread over all rows, of bounded size: every 2ˢ-th row.

use crate::data::{Batch, Example, FeatureId, RowScaler, span_of};

/// Rows and entries of a sample, at most.
const MOST_ROWS: usize = 1 << 14;
const MOST_ENTRIES: usize = 1 << 22;

/// A sample of rows, spread over all rows that were offered.
pub(super) struct RowSample {
    rows: Batch,
    /// The largest number of rows and of entries.
    most: (usize, usize),
    offered: u64,
    /// Every 2ˢ-th row is taken.
    sparser: u32,
}

impl Default for RowSample {
    fn default() -> Self {
        RowSample::of(MOST_ROWS, MOST_ENTRIES)
    }
}

impl RowSample {
    /// An empty sample with limits on its rows and entries.
    pub(super) fn of(rows: usize, entries: usize) -> Self {
        RowSample { rows: Batch::new(), most: (rows, entries), offered: 0, sparser: 0 }
    }

    /// The sampled rows.
    pub(super) fn into_rows(self) -> Batch {
        self.rows
    }

    /// Takes the row with its values mapped, or skips it.
    pub(super) fn offer(&mut self, example: Example<'_>, map: impl Fn(FeatureId, f64) -> f64) {
        self.offer_pushed(|rows| rows.push_mapped(example, map));
    }

    /// Takes the scaled row, or skips it.
    pub(super) fn offer_scaled(&mut self, example: Example<'_>, scaler: &RowScaler<'_>) {
        self.offer_pushed(|rows| scaler.push(example, rows));
    }

    fn offer_pushed(&mut self, push: impl FnOnce(&mut Batch)) {
        if self.offered.trailing_zeros() >= self.sparser {
            push(&mut self.rows);
        }
        self.offered += 1;
        let (most_rows, most_entries) = self.most;
        while self.rows.len() > most_rows || (self.rows.entries() > most_entries && self.rows.len() > 1) {
            let mut kept = Batch::new();
            self.rows.examples().step_by(2).for_each(|example| kept.push_mapped(example, |_, value| value));
            self.rows = kept;
            self.sparser += 1;
        }
    }

    /// The rows, with their features renumbered in the same order: a learner needs no memory for features that do not
    /// occur.
    pub(super) fn renumbered(self) -> Batch {
        let parts = self.rows.parts();
        let span = span_of(parts.ids);
        let mut places = vec![0; span];
        parts.ids.iter().for_each(|&id| places[id as usize] = 1);
        let mut next: FeatureId = 0;
        for place in &mut places {
            (*place, next) = (next, next + *place);
        }
        let ids = parts.ids.iter().map(|&id| places[id as usize]).collect();
        let (offsets, values) = (parts.offsets.to_vec(), parts.values.to_vec());
        Batch::from_parts(offsets, ids, values, parts.targets.to_vec(), parts.weights.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    fn offer(sample: &mut RowSample, ids: &[FeatureId], target: f64) {
        let row = Row { ids, values: &vec![1.0; ids.len()] };
        sample.offer(Example { row, target, weight: 1.0 }, |_, value| 2.0 * value);
    }

    #[test]
    fn samples_are_spread_over_all_rows() {
        let mut sample = RowSample::default();
        let offered = 5 * MOST_ROWS;
        (0..offered).for_each(|row| offer(&mut sample, &[], row as f64));
        let rows = sample.renumbered();
        assert!(rows.len() > MOST_ROWS / 2 && rows.len() <= MOST_ROWS, "{}", rows.len());
        assert!(rows.examples().enumerate().all(|(place, example)| example.target == 8.0 * place as f64));
    }

    #[test]
    fn samples_of_long_rows_stay_in_bounds() {
        let mut sample = RowSample::default();
        let ids: Vec<FeatureId> = (0..MOST_ENTRIES as FeatureId / 3).collect();
        (0..9).for_each(|row| offer(&mut sample, &ids, f64::from(row)));
        assert_eq!(sample.renumbered().examples().map(|example| example.target).collect::<Vec<_>>(), [0.0, 4.0, 8.0]);
    }

    #[test]
    fn features_of_a_sample_are_renumbered_in_order() {
        let mut sample = RowSample::default();
        offer(&mut sample, &[7, 900_000], 0.0);
        offer(&mut sample, &[3, 7], 0.0);
        let rows = sample.renumbered();
        assert_eq!((rows.row(0).ids, rows.row(1).ids), (&[1, 2][..], &[0, 1][..]));
        assert_eq!(rows.row(0).values, [2.0, 2.0]);
    }
}
