//! The row transform: scales the values, keeps the active features and centres dense columns.

use std::sync::Arc;

use super::subsamples::HashedRows;
use crate::data::{ColumnScaler, Example, FeatureId, Row, RowScale, Vocabulary, scaled};
use crate::recipe::Recipe;

/// The position of a feature that is not active.
pub(super) const NONE: u32 = u32::MAX;
/// The position of a centred active column is this plus its number among those.
const CENTRED: u32 = 1 << 31;

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
    pub(super) fn contains(&self, id: FeatureId) -> bool {
        self.0[id as usize / 64] >> (id % 64) & 1 != 0
    }

    /// Whether another set of the same span is a part of this one.
    pub(super) fn contains_all(&self, other: &FeatureSet) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| other & !own == 0)
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
    /// By feature: its position in the active set, [`NONE`], or its number among the centred active columns.
    positions: Arc<[u32]>,
    /// The positions of the centred active columns, and their values in a row that does not contain them.
    centred: Vec<(u32, f64)>,
    entries: Entries,
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
            positions: Arc::new([]),
            centred: Vec::new(),
            entries: Entries::default(),
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

    /// The position of each feature in the active set, [`NONE`], or a number of the centred columns.
    pub(super) fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The positions of the centred active columns, and their values in a row that does not contain them.
    pub(super) fn centred(&self) -> &[(u32, f64)] {
        &self.centred
    }

    /// The factor of a row.
    pub(super) fn factor(&self, row: Row<'_>) -> f64 {
        self.row_scale.factor(row.len())
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
        let mut positions: Arc<[u32]> = std::iter::repeat_n(NONE, self.columns.len()).collect();
        let places = Arc::get_mut(&mut positions).expect("not shared yet");
        self.centred.clear();
        for (position, &id) in (0..).zip(active) {
            let (divisor, centre) = self.column(id);
            if centre == 0.0 {
                places[id as usize] = position;
            } else {
                places[id as usize] = CENTRED + self.centred.len() as u32;
                self.centred.push((position, -centre / divisor));
            }
        }
        self.positions = positions;
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
        let place = |id: FeatureId| [self.positions[id as usize]];
        restrict_to_each(example.row, place, [&self.centred], std::slice::from_mut(&mut self.entries));
        rows.push(Example { row: self.entries.row(), ..example }, row_hash);
    }
}

/// The entries of a row while they are restricted.
#[derive(Clone, Default)]
pub(super) struct Entries {
    ids: Vec<u32>,
    values: Vec<f64>,
    kept: usize,
}

impl Entries {
    pub(super) fn row(&self) -> Row<'_> {
        Row { ids: &self.ids[..self.kept], values: &self.values[..self.kept] }
    }

    /// Makes room for a row of `length` entries after the centred columns, which come first: every row has them.
    fn begin(&mut self, centred: &[(u32, f64)], length: usize) -> (&mut [u32], &mut [f64]) {
        let most = centred.len() + length;
        self.ids.resize(self.ids.len().max(most), 0);
        self.values.resize(self.values.len().max(most), 0.0);
        let places = self.ids.iter_mut().zip(&mut self.values);
        centred.iter().zip(places).for_each(|(&(position, value), place)| (*place.0, *place.1) = (position, value));
        (&mut self.ids[..most], &mut self.values[..most])
    }
}

/// Restricts a row to `N` active sets at once, given the positions of a feature in all of them and the centred columns of each.
/// Each entry is written, and overwritten by the next one if it is not active: a branch here could not be predicted.
#[inline]
pub(super) fn restrict_to_each<const N: usize>(
    row: Row<'_>,
    positions: impl Fn(FeatureId) -> [u32; N],
    centred: [&[(u32, f64)]; N],
    entries: &mut [Entries],
) {
    let mut kept = centred.map(<[_]>::len);
    let mut unused = entries.iter_mut();
    let mut lists = centred.map(|centred| unused.next().expect("one for each set").begin(centred, row.len()));
    for (id, value) in row.iter() {
        for ((position, (ids, values)), kept) in positions(id).into_iter().zip(&mut lists).zip(&mut kept) {
            (ids[*kept], values[*kept]) = (position, value);
            *kept += usize::from(position < CENTRED);
            if position >= CENTRED && position != NONE {
                values[(position - CENTRED) as usize] += value;
            }
        }
    }
    entries.iter_mut().zip(kept).for_each(|(entries, kept)| entries.kept = kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_features_contains_its_own() {
        let set = FeatureSet::new([0, 63, 64, 99].into_iter(), 100);
        assert_eq!((0..100).filter(|&id| set.contains(id)).collect::<Vec<_>>(), [0, 63, 64, 99]);
        assert!(set.contains_all(&FeatureSet::new([63, 99].into_iter(), 100)) && set.contains_all(&set));
        assert!(!set.contains_all(&FeatureSet::new([63, 98].into_iter(), 100)));
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
