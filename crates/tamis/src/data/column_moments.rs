//! Mean, deviation and range of a column, over the rows seen and mergeable over parts of them.

use super::ToF64s;

/// Columns with this share of non-zeros are dense: centring them fills in few zeros.
const DENSE: f64 = 0.5;
/// A dense column is centred if its mean exceeds this many standard deviations, and if it is not constant but for
/// rounding.
const FAR: f64 = 2.0;
const CONSTANT: f64 = 1e-12;

/// Welford's running mean and squared deviation over the non-zero values of a column, and their range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnMoments {
    count: f64,
    mean: f64,
    deviation: f64,
    range: [f64; 2],
}

impl Default for ColumnMoments {
    fn default() -> Self {
        ColumnMoments { count: 0.0, mean: 0.0, deviation: 0.0, range: [f64::INFINITY, f64::NEG_INFINITY] }
    }
}

impl ToF64s for ColumnMoments {
    const WIDTH: usize = 5;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.count, self.mean, self.deviation, self.range[0], self.range[1]]);
    }
    fn unpack(fields: &[f64]) -> Self {
        ColumnMoments { count: fields[0], mean: fields[1], deviation: fields[2], range: [fields[3], fields[4]] }
    }
}

impl ColumnMoments {
    /// The number of non-zero values.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// The largest absolute value.
    pub(super) fn largest(&self) -> f64 {
        self.range[1].max(-self.range[0]).max(0.0)
    }

    /// Adds a non-zero value.
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        let shift = value - self.mean;
        self.mean += shift / self.count;
        self.deviation += shift * (value - self.mean);
        self.range = [self.range[0].min(value), self.range[1].max(value)];
    }

    /// Adds the values of other rows by the pairwise rule (Chan, Golub & LeVeque 1983).
    pub fn merge(&mut self, other: &ColumnMoments) {
        if other.count == 0.0 {
            return;
        }
        let (count, shift) = (self.count + other.count, other.mean - self.mean);
        self.mean += shift * other.count / count;
        self.deviation += other.deviation + shift * shift * self.count * other.count / count;
        self.count = count;
        self.range = [self.range[0].min(other.range[0]), self.range[1].max(other.range[1])];
    }

    /// The mean over all rows. The others are zeros.
    pub(super) fn mean(&self, rows: f64) -> f64 {
        self.mean * self.count / rows
    }

    /// The standard deviation over all rows. The zeros are merged by the pairwise rule: their mean and deviation are 0.
    pub(super) fn std(&self, rows: f64) -> f64 {
        let zeros = rows - self.count;
        let deviation = self.deviation + self.mean * self.mean * self.count * zeros / rows;
        (deviation / rows).sqrt()
    }

    /// Whether most values are not zero.
    pub(super) fn is_dense(&self, rows: f64) -> bool {
        ColumnMoments::is_dense_count(self.count, rows)
    }

    /// Whether so many values are most of the rows.
    pub(super) fn is_dense_count(count: f64, rows: f64) -> bool {
        count > 0.0 && count >= DENSE * rows
    }

    /// Whether the column is dense and far from zero, but not constant.
    pub(super) fn is_far(&self, rows: f64) -> bool {
        let (mean, std) = (self.mean(rows).abs(), self.std(rows));
        self.is_dense(rows) && mean.is_finite() && mean > FAR * std && std > CONSTANT * mean
    }

    /// The largest distance from the mean over all rows.
    pub(super) fn reach(&self, rows: f64) -> f64 {
        let (mean, [low, high]) = (self.mean(rows), self.range);
        let nonzero = (high - mean).max(mean - low);
        if self.count < rows { nonzero.max(mean.abs()) } else { nonzero }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_count_and_parts_merge() {
        let of = |values: &[f64]| {
            let mut moments = ColumnMoments::default();
            values.iter().for_each(|&value| moments.add(value));
            moments
        };
        // 1, 3, 8 and a zero: mean 3, squared deviations 4 + 0 + 25 + 9.
        let mut merged = of(&[1.0]);
        merged.merge(&of(&[3.0, 8.0]));
        merged.merge(&ColumnMoments::default());
        for moments in [of(&[1.0, 3.0, 8.0]), merged] {
            assert_eq!((moments.count(), moments.mean(4.0), moments.reach(4.0)), (3.0, 3.0, 5.0));
            assert_eq!(moments.largest(), 8.0);
            assert!((moments.std(4.0) - 9.5f64.sqrt()).abs() < 1e-15);
            assert!(moments.is_dense(4.0) && !moments.is_dense(7.0) && !moments.is_far(4.0));
        }
        let years = of(&[2001.0, 2003.0]);
        assert!(years.is_far(2.0) && !of(&[7.0, 7.0]).is_far(2.0), "a constant column is not centred");
        let mut packed = Vec::new();
        years.pack(&mut packed);
        assert_eq!(ColumnMoments::unpack(&packed), years);
    }
}
