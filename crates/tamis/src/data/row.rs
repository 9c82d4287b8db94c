//! One sparse example, borrowed from wherever it lives.

/// A feature's dense id: its place in every per-feature table.
pub type FeatureId = u32;

/// The non-zero features of one example. Ids are distinct, values finite and not zero.
///
/// The order of the ids is the same for every example with the same features, however the input wrote them,
/// so sums over a row have the same bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// Which features are not zero.
    pub ids: &'a [FeatureId],
    /// Their values, in the same order.
    pub values: &'a [f64],
}

impl<'a> Row<'a> {
    /// Pairs of id and value.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (FeatureId, f64)> + use<'a> {
        self.ids.iter().copied().zip(self.values.iter().copied())
    }

    /// The number of non-zero features.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether every feature is zero.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// A row with its target and importance weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Example<'a> {
    /// The features.
    pub row: Row<'a>,
    /// The target: a number, or the number of the class.
    pub target: f64,
    /// The importance weight, 1 by default.
    pub weight: f64,
}
