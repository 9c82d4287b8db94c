//! The row transform: scales the values, keeps the active features and centres dense columns.

use std::sync::Arc;

use super::subsamples::HashedRows;
use crate::data::{ColumnScaler, Example, FeatureId, Row, RowScale, Vocabulary, scaled};
use crate::recipe::Recipe;

const NONE: u32 = u32::MAX;

/// A set of features, one bit each: small enough for a cache that the tables of positions do not fit.
#[derive(Clone, Debug)]
pub(super) struct FeatureSet(Vec<u64>);

impl FeatureSet {
    pub(super) fn new(features: impl Iterator<Item = FeatureId>, span: usize) -> Self {
        let mut bits = vec![0; span.div_ceil(64)];
        features.for_each(|id| bits[id as usize / 64] |= 1 << (id % 64));
        FeatureSet(bits)
    }

    #[inline]
    fn contains(&self, id: FeatureId) -> bool {
        self.0[id as usize / 64] >> (id % 64) & 1 != 0
    }
}

/// Prepares rows for the paths. Copies share the statistics of the columns.
#[derive(Clone)]
pub(super) struct RowTransform {
    row_scale: RowScale,
    /// By feature: the divisor of its values, and the mean that is subtracted first (0 for sparse columns).
    columns: Arc<[(f64, f64)]>,
    /// By feature: the mean absolute value after the transform.
    sizes: Arc<[f64]>,
    /// By feature: the number of rows that contain it.
    counts: Arc<[u32]>,
    /// By feature: its position in the active set.
    positions: Vec<u32>,
    /// By feature: its number among the centred active columns; empty if there are none.
    slots: Vec<u32>,
    /// The positions of the centred active columns, and their values in a row that does not contain them.
    centred: Vec<(u32, f64)>,
    ids: Vec<u32>,
    values: Vec<f64>,
    /// A buffer for a scaled row.
    scaled: HashedRows,
}

impl RowTransform {
    pub(super) fn new(vocabulary: &Vocabulary, scale: &ColumnScaler, recipe: &Recipe) -> Self {
        let span = vocabulary.span() as FeatureId;
        let columns = (0..span).map(|id| (scale.divisor(id), scale.centre(id))).collect();
        RowTransform::of_columns(recipe.row_scaling(), columns)
    }

    /// Divides by these divisors, after these means are subtracted.
    pub(super) fn of_columns(row_scale: RowScale, columns: Arc<[(f64, f64)]>) -> Self {
        RowTransform {
            row_scale,
            columns,
            sizes: Arc::new([]),
            counts: Arc::new([]),
            positions: Vec::new(),
            slots: Vec::new(),
            centred: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
            scaled: HashedRows::default(),
        }
    }

    /// The divisor of the values of a column, and the mean that is subtracted first.
    pub(super) fn column(&self, id: FeatureId) -> (f64, f64) {
        self.columns[id as usize]
    }

    /// The number of features, active or not.
    pub(super) fn span(&self) -> usize {
        self.columns.len()
    }

    /// The means that are subtracted, by feature.
    pub(super) fn centres(&self) -> Vec<f64> {
        self.columns.iter().map(|&(_, centre)| centre).collect()
    }

    /// Sets the mean absolute scaled value of each feature and the number of rows that contain it.
    pub(super) fn set_survey(&mut self, sizes: Vec<f64>, counts: Vec<u32>) {
        (self.sizes, self.counts) = (sizes.into(), counts.into());
    }

    /// The number of entries of `rows` rows over these features; every row has an entry of a centred column.
    pub(super) fn entries(&self, active: &[FeatureId], rows: u64) -> u64 {
        let in_rows = |&id: &FeatureId| if self.column(id).1 != 0.0 { rows } else { self.counts[id as usize].into() };
        active.iter().map(in_rows).sum()
    }

    /// The mean ℓ₁ norm of a row over these features.
    pub(super) fn row_size(&self, active: &[FeatureId]) -> f64 {
        active.iter().map(|&id| self.sizes[id as usize]).sum()
    }

    /// Restricts rows to these features (ascending).
    pub(super) fn set_active(&mut self, active: &[FeatureId]) {
        self.positions = vec![NONE; self.columns.len()];
        self.slots.clear();
        self.centred.clear();
        for (position, &id) in active.iter().enumerate() {
            self.positions[id as usize] = position as u32;
            let (divisor, centre) = self.column(id);
            if centre != 0.0 {
                self.slots.resize(self.columns.len(), NONE);
                self.slots[id as usize] = self.centred.len() as u32;
                self.centred.push((position as u32, -centre / divisor));
            }
        }
    }

    /// Adds a row with its values scaled, over all features.
    pub(super) fn scale(&self, example: Example<'_>, row_hash: u64, rows: &mut HashedRows) {
        let factor = self.row_scale.factor(example.row.len());
        rows.batch.push_mapped(example, |id, value| scaled(value, factor, self.columns[id as usize].0));
        rows.row_hashes.push(row_hash);
    }

    /// Adds a row with its values scaled, over the features of a set.
    pub(super) fn scale_some(&self, example: Example<'_>, row_hash: u64, set: &FeatureSet, rows: &mut HashedRows) {
        let factor = self.row_scale.factor(example.row.len());
        let map = |id: FeatureId, value| scaled(value, factor, self.columns[id as usize].0);
        rows.batch.push_some(example, |id| set.contains(id), map);
        rows.row_hashes.push(row_hash);
    }

    /// Scales a row and restricts it to the active features.
    pub(super) fn scale_and_restrict(&mut self, example: Example<'_>, row_hash: u64, rows: &mut HashedRows) {
        let mut scaled = std::mem::take(&mut self.scaled);
        scaled.clear();
        self.scale(example, row_hash, &mut scaled);
        self.restrict(scaled.batch.example(0), row_hash, rows);
        self.scaled = scaled;
    }

    /// Restricts a scaled row to the active features.
    pub(super) fn restrict(&mut self, example: Example<'_>, row_hash: u64, rows: &mut HashedRows) {
        if self.centred.is_empty() {
            self.restrict_sparse(example.row)
        } else {
            self.restrict_centred(example.row)
        }
        let restricted = Row { ids: &self.ids, values: &self.values };
        rows.push(Example { row: restricted, ..example }, row_hash);
    }

    /// Each entry is written, and overwritten by the next one if it is not active: a branch here could not be
    /// predicted.
    fn restrict_sparse(&mut self, row: Row<'_>) {
        self.ids.resize(row.len(), 0);
        self.values.resize(row.len(), 0.0);
        let mut kept = 0;
        for (id, value) in row.iter() {
            let position = self.positions[id as usize];
            (self.ids[kept], self.values[kept]) = (position, value);
            kept += usize::from(position != NONE);
        }
        self.ids.truncate(kept);
        self.values.truncate(kept);
    }

    /// The centred columns come first; every row has them.
    fn restrict_centred(&mut self, row: Row<'_>) {
        self.ids.clear();
        self.values.clear();
        self.ids.extend(self.centred.iter().map(|&(position, _)| position));
        self.values.extend(self.centred.iter().map(|&(_, value)| value));
        for (id, value) in row.iter() {
            match (self.positions[id as usize], self.slots[id as usize]) {
                (NONE, _) => {}
                (position, NONE) => {
                    self.ids.push(position);
                    self.values.push(value);
                }
                (_, slot) => self.values[slot as usize] += value,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_features_contains_its_own() {
        let set = FeatureSet::new([0, 63, 64, 99].into_iter(), 100);
        assert_eq!((0..100).filter(|&id| set.contains(id)).collect::<Vec<_>>(), [0, 63, 64, 99]);
    }

    #[test]
    fn a_row_over_some_features_is_that_row_without_the_others() {
        let transform = RowTransform::of_columns(RowScale::SqrtCount, vec![(2.0, 0.0); 9].into());
        let row = Row { ids: &[7, 1, 4, 8], values: &[3.0, 4.0, 5.0, 6.0] };
        let (example, mut some, mut all) =
            (Example { row, target: 1.0, weight: 2.0 }, HashedRows::default(), HashedRows::default());
        transform.scale_some(example, 5, &FeatureSet::new([1, 8].into_iter(), 9), &mut some);
        transform.scale(example, 5, &mut all);
        let kept: Vec<_> = all.batch.row(0).iter().filter(|(id, _)| [1, 8].contains(id)).collect();
        assert_eq!(
            some.batch.row(0).iter().collect::<Vec<_>>(),
            kept,
            "the factor of a row is that of all its entries"
        );
        assert_eq!((some.batch.example(0).weight, &some.row_hashes), (2.0, &all.row_hashes));
    }
}
