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

    /// One more than the largest id, 0 without features.
    #[inline]
    pub fn span(&self) -> usize {
        span_of(self.ids)
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

/// One more than the largest of these ids, 0 without ids. No branch depends on an id, so that many are compared at once.
#[inline]
pub fn span_of(ids: &[FeatureId]) -> usize {
    let largest = || ids.iter().fold(0, |largest, &id| id.max(largest));
    if ids.is_empty() { 0 } else { pulp::Arch::new().dispatch(largest) as usize + 1 }
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
