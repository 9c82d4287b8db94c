//! Column scaling: learners see scaled values, models hold weights for raw values.
//!
//! Each column is divided by one number. Values are not shifted, so that zeros stay zeros, except for dense columns:
//! [`ScaleKind::SqrtStd`] centres all of them, the other kinds those whose mean is large against their spread, such as
//! years. Without that, the gradients of such a column say little but what the intercept already knows. If rows are
//! stored, the statistics are computed from all rows before learning. If a stream is learned as it is read, means are
//! those of the first rows, and the divisor is the largest absolute value *so far*.

use std::ops::Range;

use super::column_moments::ColumnMoments;
use super::{FeatureId, Row, ScaleKind, prefetch};

/// [`ScaleKind::Auto`] scales if a column exceeds this, or if a tenth of the columns stays below `TINY`.
const LARGE: f64 = 10.0;
const TINY: f64 = 1.0 / 64.0;

/// The entries of a row in runs of ids that follow each other.
fn runs(row: Row<'_>) -> impl Iterator<Item = (Range<usize>, &[f64])> {
    let mut rest = row;
    std::iter::from_fn(move || {
        let first = *rest.ids.first()? as usize;
        let follows = |pair: &[FeatureId]| pair[0].checked_add(1) == Some(pair[1]);
        let length = 1 + rest.ids.windows(2).take_while(|pair| follows(pair)).count();
        let values = &rest.values[..length];
        rest = Row { ids: &rest.ids[length..], values: &rest.values[length..] };
        Some((first..first + length, values))
    })
}

/// Statistics of each column over the rows seen, and the divisors and means they give.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnScaler {
    pub(super) kind: ScaleKind,
    /// Whether columns may be centred: the model then needs an intercept.
    may_centre: bool,
    /// The divisor of each column: the largest absolute value or, after [`ColumnScaler::finish`], the standard
    /// deviation or its square root.
    pub(super) divisors: Vec<f64>,
    pub(super) moments: Vec<ColumnMoments>,
    /// The number of values of each column, if only those of dense columns will be observed a second time, for their moments.
    pub(super) counts: Option<Vec<u32>>,
    pub(super) rows: f64,
    /// Columns with smaller ids have weights that were learned with their divisor, which may not change.
    restored: usize,
    /// The mean of each column that is centred, 0 for others; there may be fewer means than columns.
    centres: Vec<f64>,
    /// The columns that are centred, ascending.
    centred: Vec<FeatureId>,
    is_finished: bool,
}

impl ColumnScaler {
    /// A scaler that has observed no rows.
    pub fn new(kind: ScaleKind) -> Self {
        ColumnScaler {
            kind,
            may_centre: true,
            divisors: Vec::new(),
            moments: Vec::new(),
            counts: None,
            rows: 0.0,
            restored: 0,
            centres: Vec::new(),
            centred: Vec::new(),
            is_finished: false,
        }
    }

    /// The same scaler; whether it may centre columns.
    pub fn centring(mut self, may_centre: bool) -> Self {
        self.may_centre = may_centre;
        self
    }

    /// A scaler that has observed `rows` rows with these columns, elsewhere.
    pub fn from_moments(kind: ScaleKind, may_centre: bool, rows: u64, moments: Vec<ColumnMoments>) -> Self {
        let divisors =
            if kind == ScaleKind::None { Vec::new() } else { moments.iter().map(ColumnMoments::largest).collect() };
        let mut scaler =
            ColumnScaler { divisors, moments, rows: rows as f64, ..ColumnScaler::new(kind).centring(may_centre) };
        scaler.finish();
        scaler
    }

    /// Whether values are changed at all.
    pub fn is_active(&self) -> bool {
        self.kind != ScaleKind::None || !self.centred.is_empty()
    }

    /// The kind of scaling: not [`ScaleKind::Auto`] after [`ColumnScaler::finish`].
    pub fn kind(&self) -> ScaleKind {
        self.kind
    }

    /// Observes a row.
    pub fn observe(&mut self, row: Row<'_>) {
        if self.kind == ScaleKind::None {
            return;
        }
        self.rows += 1.0;
        let span = row.span();
        self.divisors.resize(self.divisors.len().max(span), 0.0);
        let is_open = self.is_open() && self.counts.is_none();
        if is_open {
            self.moments.resize(self.divisors.len(), ColumnMoments::default());
        } else if self.is_open() {
            self.count(row);
        }
        let has_sizes = matches!(self.kind, ScaleKind::Auto | ScaleKind::MaxAbs);
        // The columns of a dense row are neighbours in memory, too.
        if self.centres.is_empty() && span <= 2 * row.len() {
            for (ids, values) in runs(row) {
                if has_sizes {
                    let largest = self.divisors[ids.clone()].iter_mut();
                    largest.zip(values).for_each(|(largest, value)| *largest = largest.max(value.abs()));
                }
                if is_open {
                    self.moments[ids].iter_mut().zip(values).for_each(|(moments, value)| moments.add(*value));
                }
            }
            return;
        }
        if has_sizes {
            for (id, value) in row.iter() {
                let size = (value - self.centre(id)).abs();
                let largest = &mut self.divisors[id as usize];
                *largest = largest.max(size);
            }
        }
        if is_open {
            row.iter().for_each(|(id, value)| self.moments[id as usize].add(value));
        }
    }

    /// Prefetches what is known of these columns: see [`prefetch`].
    pub(crate) fn fetch(&self, ids: &[FeatureId]) {
        prefetch(&self.divisors, ids);
        prefetch(&self.moments, ids);
        self.counts.iter().for_each(|counts| prefetch(counts, ids));
    }

    /// Whether means and deviations are needed: until the kind of scaling is decided, or centring is.
    pub(super) fn is_open(&self) -> bool {
        match self.kind {
            ScaleKind::UnitVariance | ScaleKind::SqrtStd => true,
            ScaleKind::Auto | ScaleKind::MaxAbs => self.may_centre && self.restored == 0 && !self.is_finished,
            ScaleKind::None => false,
        }
    }

    /// Resets the statistics; restored divisors are kept.
    pub fn restart(&mut self) {
        self.rows = 0.0;
        self.moments.clear();
        self.counts.iter_mut().for_each(Vec::clear);
        self.divisors.truncate(self.restored);
    }

    /// Ends the observation of rows: fixes the kind of scaling, the columns that are centred, and the divisors.
    pub fn finish(&mut self) {
        if self.is_open() && self.may_centre {
            let is_centred = match self.kind {
                ScaleKind::SqrtStd => ColumnMoments::is_dense,
                _ => ColumnMoments::is_far,
            };
            self.centre_columns(is_centred);
        }
        match self.kind {
            ScaleKind::UnitVariance => self.use_std(),
            ScaleKind::SqrtStd => {
                self.use_std();
                self.shrink_to_sqrt_std();
            }
            ScaleKind::Auto if self.needs_no_scaling() => {
                self.kind = ScaleKind::None;
                self.divisors = Vec::new();
            }
            ScaleKind::Auto => self.kind = ScaleKind::MaxAbs,
            ScaleKind::None | ScaleKind::MaxAbs => {}
        }
        self.moments = Vec::new();
        self.is_finished = true;
    }

    /// Centres the new columns of a kind; their sizes are then distances from the mean.
    fn centre_columns(&mut self, is_centred: impl Fn(&ColumnMoments, f64) -> bool) {
        let rows = self.rows;
        let columns = self.moments.iter().enumerate().skip(self.restored);
        for (id, moments) in columns.filter(|(_, moments)| is_centred(moments, rows)) {
            self.centres.resize(id + 1, 0.0);
            self.centres[id] = moments.mean(rows);
            self.divisors[id] = moments.reach(rows);
        }
        self.list_centred();
    }

    fn list_centred(&mut self) {
        let ids = 0..self.centres.len() as FeatureId;
        self.centred = ids.filter(|&id| self.centres[id as usize] != 0.0).collect();
    }

    /// Whether no column is large and few are tiny, as with word counts, flags and normalised rows.
    fn needs_no_scaling(&self) -> bool {
        let (mut all, mut tiny, mut large) = (0_u32, 0, 0);
        for &size in &self.divisors {
            all += u32::from(size > 0.0);
            tiny += u32::from(size > 0.0 && size < TINY);
            large += u32::from(size > LARGE);
        }
        large == 0 && (all == 0 || tiny <= all / 10)
    }

    /// Divides sparse columns by √(s·S), where s is the standard deviation of the column and S the mean over sparse
    /// columns. So the result does not depend on the unit of the data.
    fn shrink_to_sqrt_std(&mut self) {
        let sparse = |moments: &ColumnMoments| moments.count() > 0.0 && !moments.is_dense(self.rows);
        let columns = || self.divisors.iter().zip(&self.moments).filter(|(_, moments)| sparse(moments));
        let mean = columns().map(|(spread, _)| spread).sum::<f64>() / columns().count().max(1) as f64;
        for (spread, moments) in self.divisors.iter_mut().zip(&self.moments).skip(self.restored) {
            if sparse(moments) {
                *spread = (*spread * mean).sqrt();
            }
        }
    }

    /// Sets the divisors to standard deviations over all rows.
    fn use_std(&mut self) {
        for (largest, moments) in self.divisors.iter_mut().zip(&self.moments).skip(self.restored) {
            let spread = moments.std(self.rows);
            // An infinite deviation must not turn the column into zeros: training then reports that values are too
            // large.
            *largest = if spread.is_finite() { spread } else { f64::MAX.sqrt() };
        }
    }

    /// The divisor of a column: 1 for a column that is constant or was never seen.
    #[inline]
    pub fn divisor(&self, id: FeatureId) -> f64 {
        match self.divisors.get(id as usize) {
            Some(&largest) if largest > 0.0 && self.kind != ScaleKind::None => largest,
            _ => 1.0,
        }
    }

    /// The mean of a column that is centred, 0 for one that is not.
    #[inline]
    pub fn centre(&self, id: FeatureId) -> f64 {
        self.centres.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The columns that are centred, ascending.
    pub fn centred(&self) -> &[FeatureId] {
        &self.centred
    }

    /// The means of the first columns, 0 for columns that are not centred.
    pub fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// The divisors, for checkpoints.
    pub fn divisors(&self) -> &[f64] {
        &self.divisors
    }

    /// Sets the kind of scaling, the divisors and the means from a checkpoint.
    pub fn restore(&mut self, kind: ScaleKind, divisors: Vec<f64>, centres: Vec<f64>) {
        self.kind = kind;
        self.restored = divisors.len().max(centres.len());
        self.divisors = divisors;
        self.divisors.resize(self.restored, 0.0);
        self.restore_centres(centres);
    }

    /// Sets the means with which the weights of restored columns were learned.
    pub fn restore_centres(&mut self, centres: Vec<f64>) {
        let later = self.centres.split_off(centres.len().min(self.centres.len()));
        self.centres = centres;
        self.centres.extend(later);
        self.list_centred();
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let counts = self.counts.as_deref().map_or(0, size_of_val);
        counts + size_of_val(&self.divisors[..]) + size_of_val(&self.centres[..]) + size_of_val(&self.moments[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(kind: ScaleKind, rows: &[(&[u32], &[f64])]) -> ColumnScaler {
        let mut scale = ColumnScaler::new(kind);
        for (ids, values) in rows {
            scale.observe(Row { ids, values });
        }
        scale.finish();
        scale
    }

    #[test]
    fn unit_variance_counts_absent_as_zero() {
        let scale = fitted(ScaleKind::UnitVariance, &[(&[0], &[4.0]), (&[], &[]), (&[0], &[4.0]), (&[1], &[1.0])]);
        assert!((scale.divisor(0) - 2.0).abs() < 1e-15, "values 4 0 4 0");
        assert!((scale.divisor(1) - 0.1875f64.sqrt()).abs() < 1e-15, "values 0 0 0 1");
    }

    #[test]
    fn unit_variance_survives_a_large_mean() {
        let values = [1e6 + 1.0, 1e6 - 1.0, 1e6 + 1.0, 1e6 - 1.0];
        let rows: Vec<(&[u32], &[f64])> = values.iter().map(|v| (&[0u32][..], std::slice::from_ref(v))).collect();
        assert!((fitted(ScaleKind::UnitVariance, &rows).divisor(0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_constant_column_is_left_alone() {
        let scale = fitted(ScaleKind::UnitVariance, &[(&[0], &[5.0]), (&[0], &[5.0])]);
        assert_eq!(scale.divisor(0), 1.0);
        assert_eq!(scale.divisor(7), 1.0);
    }

    #[test]
    fn a_restored_divisor_is_kept() {
        let mut scale = ColumnScaler::new(ScaleKind::UnitVariance);
        scale.restore(ScaleKind::UnitVariance, vec![3.0], Vec::new());
        for value in [1.0, 5.0] {
            scale.observe(Row { ids: &[0, 1], values: &[value, value] });
        }
        scale.finish();
        assert_eq!([0, 1].map(|id| scale.divisor(id)), [3.0, 2.0]);
    }

    #[test]
    fn auto_leaves_columns_of_similar_size_alone() {
        let words = fitted(ScaleKind::Auto, &[(&[0, 1], &[1.0, 0.25]), (&[1], &[3.0])]);
        assert!(!words.is_active() && words.divisors().is_empty());
        let mixed = fitted(ScaleKind::Auto, &[(&[0, 1], &[1.0, 0.25]), (&[1], &[3000.0])]);
        assert_eq!([0, 1].map(|id| mixed.divisor(id)), [1.0, 3000.0]);
        let tiny = fitted(ScaleKind::Auto, &[(&[0, 1], &[1.0, 1e-4])]);
        assert_eq!(tiny.divisor(1), 1e-4);
        for scale in [words, mixed] {
            let mut restored = ColumnScaler::new(ScaleKind::Auto);
            restored.restore(scale.kind(), scale.divisors().to_vec(), scale.centres().to_vec());
            assert_eq!(restored.is_active(), scale.is_active());
        }
    }

    #[test]
    fn moments_of_parts_give_the_scaling_of_all_rows() {
        let value = |row: u32, id: u32| f64::from((row * 7 + id * 3) % 11) - 4.5 + f64::from(id);
        let rows: Vec<(Vec<u32>, Vec<f64>)> =
            (0..60).map(|row| (0..4).filter(|id| row % (id + 1) == 0).map(|id| (id, value(row, id))).unzip()).collect();
        for kind in [ScaleKind::SqrtStd, ScaleKind::UnitVariance, ScaleKind::MaxAbs, ScaleKind::None] {
            let mut all = ColumnScaler::new(kind);
            rows.iter().for_each(|(ids, values)| all.observe(Row { ids, values }));
            all.finish();
            let mut merged = vec![ColumnMoments::default(); 4];
            for part in rows.chunks(13) {
                let mut moments = vec![ColumnMoments::default(); 4];
                let entries = part.iter().flat_map(|(ids, values)| ids.iter().zip(values));
                entries.for_each(|(&id, &value)| moments[id as usize].add(value));
                merged.iter_mut().zip(&moments).for_each(|(one, other)| one.merge(other));
            }
            let parts = ColumnScaler::from_moments(kind, true, 60, merged);
            for id in 0..4 {
                let close = |one: f64, other: f64| (one - other).abs() < 1e-12 * one.abs().max(1.0);
                assert!(
                    close(all.divisor(id), parts.divisor(id)) && close(all.centre(id), parts.centre(id)),
                    "{kind:?}"
                );
            }
        }
    }

    #[test]
    fn max_abs() {
        let scale = fitted(ScaleKind::MaxAbs, &[(&[0], &[-5.0]), (&[0], &[2.0])]);
        assert_eq!(2.0 / scale.divisor(0), 0.4);
    }
}
