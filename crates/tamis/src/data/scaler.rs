//! Column scaling: learners see scaled values, models hold weights for raw values.
//!
//! Each column is divided by one number. Values are not shifted, so that zeros stay zeros, except for the dense columns
//! of [`ScaleKind::SqrtStd`], which are centred. If rows are stored, the divisors are computed from all rows before
//! learning. If a stream is learned as it is read, the divisor is the largest absolute value *so far*.

use serde::{Deserialize, Serialize};

use super::{FeatureId, Row};

/// How columns are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleKind {
    /// [`ScaleKind::None`] if the columns have similar ranges, else [`ScaleKind::MaxAbs`]: see
    /// [`ColumnScaler::finish`].
    Auto,
    /// No scaling.
    None,
    /// To variance 1 (needs all rows before learning).
    UnitVariance,
    /// To a largest absolute value of 1.
    MaxAbs,
    /// Division by the square root of the standard deviation. Columns with at least half non-zero values are centred
    /// and scaled to variance 1 (needs all rows before learning).
    SqrtStd,
}

impl ScaleKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [ScaleKind; 5] =
        [ScaleKind::Auto, ScaleKind::None, ScaleKind::UnitVariance, ScaleKind::MaxAbs, ScaleKind::SqrtStd];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ScaleKind::Auto => "auto",
            ScaleKind::None => "none",
            ScaleKind::UnitVariance => "unit-variance",
            ScaleKind::MaxAbs => "max-abs",
            ScaleKind::SqrtStd => "sqrt-std",
        }
    }
}

/// [`ScaleKind::Auto`] scales if a column exceeds this, or if a tenth of the columns stays below `TINY`.
const LARGE: f64 = 10.0;
const TINY: f64 = 1.0 / 64.0;
/// Columns with this share of non-zeros are dense: centring them fills in few zeros.
const DENSE: f64 = 0.5;

/// Statistics of each column over the rows seen, and the divisors they give.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnScaler {
    kind: ScaleKind,
    /// The divisor of each column: the largest absolute value or, after [`ColumnScaler::finish`], the standard
    /// deviation or its square root.
    divisors: Vec<f64>,
    means: Vec<Moments>,
    rows: f64,
    /// Columns with smaller ids have weights that were learned with their divisor, which may not change.
    restored: usize,
    /// The means of restored columns.
    centres: Vec<f64>,
}

/// Welford's running mean and squared deviation over the non-zero values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    count: f64,
    mean: f64,
    deviation: f64,
}

impl ColumnScaler {
    /// A scaler that has observed no rows.
    pub fn new(kind: ScaleKind) -> Self {
        ColumnScaler { kind, divisors: Vec::new(), means: Vec::new(), rows: 0.0, restored: 0, centres: Vec::new() }
    }

    /// Whether values are changed at all.
    pub fn is_active(&self) -> bool {
        self.kind != ScaleKind::None
    }

    /// Observes a row.
    pub fn observe(&mut self, row: Row<'_>) {
        self.rows += 1.0;
        if !matches!(self.kind, ScaleKind::UnitVariance | ScaleKind::SqrtStd) {
            for (id, value) in row.iter() {
                match self.divisors.get_mut(id as usize) {
                    Some(largest) if *largest >= value.abs() => {}
                    Some(largest) => *largest = value.abs(),
                    None => {
                        self.divisors.resize(id as usize + 1, 0.0);
                        self.divisors[id as usize] = value.abs();
                    }
                }
            }
            return;
        }
        let Some(&top) = row.ids.iter().max() else { return };
        if top as usize >= self.divisors.len() {
            self.divisors.resize(top as usize + 1, 0.0);
        }
        self.means.resize(self.divisors.len(), Moments::default());
        for (id, value) in row.iter() {
            let moments = &mut self.means[id as usize];
            moments.count += 1.0;
            let shift = value - moments.mean;
            moments.mean += shift / moments.count;
            moments.deviation += shift * (value - moments.mean);
        }
    }

    /// Resets the statistics; restored divisors are kept.
    pub fn restart(&mut self) {
        self.rows = 0.0;
        self.means.clear();
        self.divisors.truncate(self.restored);
    }

    /// Ends the observation of rows: fixes the kind of scaling and computes divisors from standard deviations.
    pub fn finish(&mut self) {
        match self.kind {
            ScaleKind::UnitVariance => self.use_std(),
            ScaleKind::SqrtStd => {
                self.use_std();
                self.shrink_to_sqrt_std();
            }
            ScaleKind::Auto if self.needs_no_scaling() => *self = ColumnScaler::new(ScaleKind::None),
            ScaleKind::Auto => self.kind = ScaleKind::MaxAbs,
            ScaleKind::None | ScaleKind::MaxAbs => {}
        }
    }

    /// Whether no column is large and few are tiny, as with word counts, flags and normalised rows.
    fn needs_no_scaling(&self) -> bool {
        let mut sizes: Vec<f64> = self.divisors.iter().copied().filter(|&size| size > 0.0).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let Some(&largest) = sizes.last() else { return true };
        largest <= LARGE && sizes[sizes.len() / 10] >= TINY
    }

    /// Divides sparse columns by √(s·S), where s is the standard deviation of the column and S the mean over sparse
    /// columns. So the result does not depend on the unit of the data.
    fn shrink_to_sqrt_std(&mut self) {
        let sparse = |moments: &Moments| moments.count > 0.0 && moments.count < DENSE * self.rows;
        let columns = || self.divisors.iter().zip(&self.means).filter(|(_, moments)| sparse(moments));
        let mean = columns().map(|(spread, _)| spread).sum::<f64>() / columns().count().max(1) as f64;
        for (spread, moments) in self.divisors.iter_mut().zip(&self.means).skip(self.restored) {
            if moments.count > 0.0 && moments.count < DENSE * self.rows {
                *spread = (*spread * mean).sqrt();
            }
        }
    }

    /// Sets the divisors to standard deviations over all rows.
    fn use_std(&mut self) {
        // The zeros are merged by the pairwise rule: mean and deviation of the n−c zeros are 0.
        for (largest, moments) in self.divisors.iter_mut().zip(&self.means).skip(self.restored) {
            let zeros = self.rows - moments.count;
            let deviation = moments.deviation + moments.mean * moments.mean * moments.count * zeros / self.rows;
            let spread = (deviation / self.rows).sqrt();
            // An infinite deviation must not turn the column into zeros: training then reports that values are too
            // large.
            *largest = if spread.is_finite() { spread } else { f64::MAX.sqrt() };
        }
    }

    /// The divisor of a column: 1 for a column that is constant or was never seen.
    #[inline]
    pub fn divisor(&self, id: FeatureId) -> f64 {
        match self.divisors.get(id as usize) {
            Some(&largest) if largest > 0.0 && self.is_active() => largest,
            _ => 1.0,
        }
    }

    /// The mean of a column that is centred, 0 for one that is not.
    pub fn centre(&self, id: FeatureId) -> f64 {
        if let Some(&centre) = self.centres.get(id as usize) {
            return centre;
        }
        match self.means.get(id as usize) {
            Some(moments) if self.kind == ScaleKind::SqrtStd && moments.count >= DENSE * self.rows => {
                moments.mean * moments.count / self.rows
            }
            _ => 0.0,
        }
    }

    /// Resets a column whose id will be reused.
    pub fn forget(&mut self, id: FeatureId) {
        if let Some(largest) = self.divisors.get_mut(id as usize) {
            *largest = 0.0;
        }
    }

    /// The divisors, for checkpoints.
    pub fn divisors(&self) -> &[f64] {
        &self.divisors
    }

    /// Sets the divisors from a checkpoint.
    pub fn restore(&mut self, divisors: Vec<f64>) {
        self.kind = match self.kind {
            ScaleKind::Auto if divisors.is_empty() => ScaleKind::None,
            ScaleKind::Auto => ScaleKind::MaxAbs,
            kind => kind,
        };
        self.restored = divisors.len();
        self.divisors = divisors;
    }

    /// Sets the means with which the weights of restored columns were learned.
    pub fn restore_centres(&mut self, centres: Vec<f64>) {
        self.centres = centres;
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.divisors.capacity() * 8 + self.means.capacity() * 24
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
        scale.restore(vec![3.0]);
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
            restored.restore(scale.divisors().to_vec());
            assert_eq!(restored.is_active(), scale.is_active());
        }
    }

    #[test]
    fn max_abs() {
        let scale = fitted(ScaleKind::MaxAbs, &[(&[0], &[-5.0]), (&[0], &[2.0])]);
        assert_eq!(2.0 / scale.divisor(0), 0.4);
    }
}
