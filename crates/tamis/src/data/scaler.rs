//! Columns brought to one size, and back: learners see scaled values, models hold weights for raw ones.
//!
//! Values are divided by one number per column. They are not shifted, so that zeros stay zeros, except for the dense
//! columns of [`ScaleKind::Half`], which are centred. The number is known before learning when rows are held (the whole
//! data is surveyed first); when a stream is learned as it comes, it is the largest absolute value *so far*, which
//! settles quickly.

use serde::{Deserialize, Serialize};

use super::{FeatureId, Row};

/// How columns are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleKind {
    /// Not at all where columns are alike already, else to a largest absolute value of 1: see [`ColumnScaler::finish`].
    Auto,
    /// Not at all.
    None,
    /// To variance 1 (needs all rows before learning).
    UnitVariance,
    /// To a largest absolute value of 1.
    MaxAbs,
    /// Half-way between none and variance 1: divided by the root of the standard deviation. Columns of which at least
    /// half is not zero are centred and brought to variance 1 (needs all rows before learning).
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

/// Columns that reach beyond this are scaled by [`ScaleKind::Auto`], as are data of which a tenth stays below `TINY`.
const LARGE: f64 = 10.0;
const TINY: f64 = 1.0 / 64.0;
/// Columns with this share of non-zeros are dense: centring them fills in few zeros.
const DENSE: f64 = 0.5;

/// Statistics of each column over the rows seen, and the divisors they give.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnScaler {
    kind: ScaleKind,
    /// The divisor of each column (largest absolute value), or sums for the variance before [`ColumnScaler::finish`].
    largest: Vec<f64>,
    means: Vec<Moments>,
    rows: f64,
    /// Columns before this one have weights that were learned with their divisor: it may not change.
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
    /// Statistics of nothing yet.
    pub fn new(kind: ScaleKind) -> Self {
        ColumnScaler { kind, largest: Vec::new(), means: Vec::new(), rows: 0.0, restored: 0, centres: Vec::new() }
    }

    /// Whether values are changed at all.
    pub fn is_active(&self) -> bool {
        self.kind != ScaleKind::None
    }

    /// Takes note of a row.
    pub fn observe(&mut self, row: Row<'_>) {
        self.rows += 1.0;
        if !matches!(self.kind, ScaleKind::UnitVariance | ScaleKind::SqrtStd) {
            for (id, value) in row.iter() {
                match self.largest.get_mut(id as usize) {
                    Some(largest) if *largest >= value.abs() => {}
                    Some(largest) => *largest = value.abs(),
                    None => {
                        self.largest.resize(id as usize + 1, 0.0);
                        self.largest[id as usize] = value.abs();
                    }
                }
            }
            return;
        }
        let Some(&top) = row.ids.iter().max() else { return };
        if top as usize >= self.largest.len() {
            self.largest.resize(top as usize + 1, 0.0);
        }
        self.means.resize(self.largest.len(), Moments::default());
        for (id, value) in row.iter() {
            let moments = &mut self.means[id as usize];
            moments.count += 1.0;
            let shift = value - moments.mean;
            moments.mean += shift / moments.count;
            moments.deviation += shift * (value - moments.mean);
        }
    }

    /// Forgets what was observed: the survey begins anew. What was restored stays.
    pub fn restart(&mut self) {
        self.rows = 0.0;
        self.means.clear();
        self.largest.truncate(self.restored);
    }

    /// Ends the survey: the kind of scaling is fixed from here on, and the divisors where all rows were surveyed.
    pub fn finish(&mut self) {
        match self.kind {
            ScaleKind::UnitVariance => self.take_deviations(),
            ScaleKind::SqrtStd => {
                self.take_deviations();
                self.go_halfway();
            }
            ScaleKind::Auto if self.is_alike() => *self = ColumnScaler::new(ScaleKind::None),
            ScaleKind::Auto => self.kind = ScaleKind::MaxAbs,
            ScaleKind::None | ScaleKind::MaxAbs => {}
        }
    }

    /// Whether columns can do without scaling: none is large, and few are tiny. Words, flags and normalised rows are.
    fn is_alike(&self) -> bool {
        let mut sizes: Vec<f64> = self.largest.iter().copied().filter(|&size| size > 0.0).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let Some(&largest) = sizes.last() else { return true };
        largest <= LARGE && sizes[sizes.len() / 10] >= TINY
    }

    /// Sparse columns go half-way to variance 1: divided by √(s·S), S being the mean deviation of sparse columns. So
    /// the unit of the data leaves no trace.
    fn go_halfway(&mut self) {
        let sparse = |moments: &Moments| moments.count > 0.0 && moments.count < DENSE * self.rows;
        let columns = || self.largest.iter().zip(&self.means).filter(|(_, moments)| sparse(moments));
        let mean = columns().map(|(spread, _)| spread).sum::<f64>() / columns().count().max(1) as f64;
        for (spread, moments) in self.largest.iter_mut().zip(&self.means).skip(self.restored) {
            if moments.count > 0.0 && moments.count < DENSE * self.rows {
                *spread = (*spread * mean).sqrt();
            }
        }
    }

    fn take_deviations(&mut self) {
        // The zeros join by the pairwise rule: mean and deviation of n−c zeros are 0.
        for (largest, moments) in self.largest.iter_mut().zip(&self.means).skip(self.restored) {
            let zeros = self.rows - moments.count;
            let deviation = moments.deviation + moments.mean * moments.mean * moments.count * zeros / self.rows;
            let spread = (deviation / self.rows).sqrt();
            // A spread beyond all bounds must not turn the column into zeros: what follows then says that it is too large.
            *largest = if spread.is_finite() { spread } else { f64::MAX.sqrt() };
        }
    }

    /// The divisor of a column: 1 where there is nothing to divide by (never seen, or constant).
    #[inline]
    pub fn divisor(&self, id: FeatureId) -> f64 {
        match self.largest.get(id as usize) {
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

    /// Forgets a column whose id will be given to another.
    pub fn forget(&mut self, id: FeatureId) {
        if let Some(largest) = self.largest.get_mut(id as usize) {
            *largest = 0.0;
        }
    }

    /// The divisors, for checkpoints.
    pub fn divisors(&self) -> &[f64] {
        &self.largest
    }

    /// Sets the divisors from a checkpoint.
    pub fn restore(&mut self, divisors: Vec<f64>) {
        self.kind = match self.kind {
            ScaleKind::Auto if divisors.is_empty() => ScaleKind::None,
            ScaleKind::Auto => ScaleKind::MaxAbs,
            kind => kind,
        };
        self.restored = divisors.len();
        self.largest = divisors;
    }

    /// Sets the means of columns that were centred before, or not: their weights were learned with these.
    pub fn restore_centres(&mut self, centres: Vec<f64>) {
        self.centres = centres;
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.largest.capacity() * 8 + self.means.capacity() * 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(kind: ScaleKind, rows: &[(&[u32], &[f64])]) -> ColumnScaler {
        let mut scale = ColumnScaler::new(kind);
        for (ids, values) in rows {
            scale.observe(Row { ids, values });
        }
        scale.finish();
        scale
    }

    #[test]
    fn unit_variance_counts_absent_as_zero() {
        let scale = survey(ScaleKind::UnitVariance, &[(&[0], &[4.0]), (&[], &[]), (&[0], &[4.0]), (&[1], &[1.0])]);
        assert!((scale.divisor(0) - 2.0).abs() < 1e-15, "values 4 0 4 0");
        assert!((scale.divisor(1) - 0.1875f64.sqrt()).abs() < 1e-15, "values 0 0 0 1");
    }

    #[test]
    fn unit_variance_survives_a_large_mean() {
        let values = [1e6 + 1.0, 1e6 - 1.0, 1e6 + 1.0, 1e6 - 1.0];
        let rows: Vec<(&[u32], &[f64])> = values.iter().map(|v| (&[0u32][..], std::slice::from_ref(v))).collect();
        assert!((survey(ScaleKind::UnitVariance, &rows).divisor(0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_constant_column_is_left_alone() {
        let scale = survey(ScaleKind::UnitVariance, &[(&[0], &[5.0]), (&[0], &[5.0])]);
        assert_eq!(scale.divisor(0), 1.0);
        assert_eq!(scale.divisor(7), 1.0);
    }

    #[test]
    fn a_restored_deviation_stays() {
        let mut scale = ColumnScaler::new(ScaleKind::UnitVariance);
        scale.restore(vec![3.0]);
        for value in [1.0, 5.0] {
            scale.observe(Row { ids: &[0, 1], values: &[value, value] });
        }
        scale.finish();
        assert_eq!([0, 1].map(|id| scale.divisor(id)), [3.0, 2.0]);
    }

    #[test]
    fn auto_leaves_alike_columns_alone() {
        let words = survey(ScaleKind::Auto, &[(&[0, 1], &[1.0, 0.25]), (&[1], &[3.0])]);
        assert!(!words.is_active() && words.divisors().is_empty());
        let mixed = survey(ScaleKind::Auto, &[(&[0, 1], &[1.0, 0.25]), (&[1], &[3000.0])]);
        assert_eq!([0, 1].map(|id| mixed.divisor(id)), [1.0, 3000.0]);
        let tiny = survey(ScaleKind::Auto, &[(&[0, 1], &[1.0, 1e-4])]);
        assert_eq!(tiny.divisor(1), 1e-4);
        for scale in [words, mixed] {
            let mut restored = ColumnScaler::new(ScaleKind::Auto);
            restored.restore(scale.divisors().to_vec());
            assert_eq!(restored.is_active(), scale.is_active());
        }
    }

    #[test]
    fn max_abs() {
        let scale = survey(ScaleKind::MaxAbs, &[(&[0], &[-5.0]), (&[0], &[2.0])]);
        assert_eq!(2.0 / scale.divisor(0), 0.4);
    }
}
