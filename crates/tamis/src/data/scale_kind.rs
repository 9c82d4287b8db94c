//! The kinds of column scaling.

use serde::{Deserialize, Serialize};

/// How columns are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleKind {
    /// [`ScaleKind::None`] if the columns have similar ranges, else [`ScaleKind::MaxAbs`]: see
    /// [`ColumnScaler::finish`](super::ColumnScaler::finish).
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
