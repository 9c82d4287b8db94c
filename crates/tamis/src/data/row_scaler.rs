//! Rows as learners see them: the one place where values are scaled.
//!
//! ```text
//! x'_j = x_j · f(x) / d_j        f: the factor of the row (RowScale),  d: the divisor of the column (ColumnScaler)
//! ```

use serde::{Deserialize, Serialize};

use super::{Batch, ColumnScaler, Example, FeatureId, Row};

/// The factor by which the values of a row are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowScale {
    /// 1.
    #[default]
    None,
    /// 1/√(number of non-zeros) (Langford et al. 2009, section 3, caveat 1).
    SqrtCount,
}

impl RowScale {
    /// All of them, in the order of the documentation.
    pub const ALL: [RowScale; 2] = [RowScale::None, RowScale::SqrtCount];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            RowScale::None => "none",
            RowScale::SqrtCount => "sqrt-count",
        }
    }

    /// The factor of a row with `count` non-zeros.
    #[inline]
    pub fn factor(self, count: usize) -> f64 {
        match self {
            RowScale::SqrtCount if count > 0 => 1.0 / (count as f64).sqrt(),
            _ => 1.0,
        }
    }
}

/// A value after scaling, with the factor of its row and the divisor of its column.
#[inline]
pub fn scaled(value: f64, factor: f64, divisor: f64) -> f64 {
    value * factor / divisor
}

/// Scales rows by their own factor and by column.
#[derive(Clone, Copy, Debug)]
pub struct RowScaler<'a> {
    /// The scaling of rows.
    pub rows: RowScale,
    /// The scaling of columns.
    pub columns: &'a ColumnScaler,
}

impl RowScaler<'_> {
    /// Whether rows are left as they are.
    pub fn is_identity(&self) -> bool {
        self.rows == RowScale::None && !self.columns.is_active()
    }

    /// Adds a scaled row to a batch.
    #[inline]
    pub fn push(&self, example: Example<'_>, batch: &mut Batch) {
        match (self.columns.is_active(), self.rows.factor(example.row.len())) {
            (false, 1.0) => batch.push_mapped(example, |_, value| value),
            (false, factor) => batch.push_mapped(example, |_, value| value * factor),
            (true, factor) => batch.push_mapped(example, |id, value| scaled(value, factor, self.columns.divisor(id))),
        }
    }

    /// The scaled entries of a row.
    pub fn entries<'a>(self, row: Row<'a>) -> impl Iterator<Item = (FeatureId, f64)> + 'a
    where
        Self: 'a,
    {
        let factor = self.rows.factor(row.len());
        row.iter().map(move |(id, value)| (id, scaled(value, factor, self.columns.divisor(id))))
    }

    /// ‖x‖² of a scaled row, with 1 for the intercept if there is one.
    pub fn squared_norm(&self, row: Row<'_>, intercept: bool) -> f64 {
        let factor = self.rows.factor(row.len());
        let square = |(id, value)| scaled(value, factor, self.columns.divisor(id)).powi(2);
        let intercept = if intercept { 1.0 } else { 0.0 };
        intercept + row.iter().map(square).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ScaleKind;

    #[test]
    fn values_are_scaled_by_row_and_by_column() {
        let row = Row { ids: &[0, 1, 3, 4], values: &[2.0, 8.0, -3.0, 1.0] };
        let mut columns = ColumnScaler::new(ScaleKind::MaxAbs);
        columns.observe(row);
        let scaler = RowScaler { rows: RowScale::SqrtCount, columns: &columns };
        assert_eq!(scaler.entries(row).collect::<Vec<_>>(), [(0, 0.5), (1, 0.5), (3, -0.5), (4, 0.5)]);
        let mut batch = Batch::new();
        scaler.push(Example { row, target: 1.0, weight: 1.0 }, &mut batch);
        assert_eq!(batch.row(0).values, [0.5, 0.5, -0.5, 0.5]);
        assert_eq!((scaler.squared_norm(row, true), scaler.is_identity()), (2.0, false));
        let none = ColumnScaler::new(ScaleKind::None);
        assert!(RowScaler { rows: RowScale::None, columns: &none }.is_identity());
    }
}
