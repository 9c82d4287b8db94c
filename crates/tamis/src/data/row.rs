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

/// The sum of products, from eight partial sums: an addition waits only for the one eight places before.
#[inline]
pub(crate) fn dot(weights: &[f64], values: &[f64]) -> f64 {
    pulp::Arch::new().dispatch(|| sum_of_products(weights, values))
}

#[inline(always)]
fn sum_of_products(weights: &[f64], values: &[f64]) -> f64 {
    let (mut sums, products) = ([0.0; 8], |(weight, value): (&f64, &f64)| weight * value);
    let ((weights, last_weights), (values, last_values)) = (weights.as_chunks::<8>(), values.as_chunks::<8>());
    for (weights, values) in weights.iter().zip(values) {
        let parts = weights.iter().zip(values).map(products);
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let parts = last_weights.iter().zip(last_values).map(products);
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_sums_are_the_sum() {
        let numbers: Vec<f64> = (0..40u32).map(|i| f64::from(i * i % 17) - 5.0).collect();
        for length in 0..20 {
            let (one, other) = (&numbers[..length], &numbers[20..20 + length]);
            let naive: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
            assert_eq!(dot(one, other), naive, "sums of whole numbers are exact");
        }
    }
}
