//! Stability of feature selection: Cohen's κ between selected sets, the agreement beyond chance for sets of their
//! sizes.
//!
//! Source: Ma & Zheng 2016, *Stabilized sparse online learning for sparse data*, section 6.1, equation 17. For two sets
//! over p columns, with p₁₁ columns in both, p₁₂ in the first only, p₂₁ in the second only and p₂₂ in neither,
//! ```text
//! κ = (q_o − q_e)/(1 − q_e)    q_o = (p₁₁ + p₂₂)/p
//!                              q_e = (p₁₁ + p₁₂)(p₁₁ + p₂₁)/p² + (p₁₂ + p₂₂)(p₂₁ + p₂₂)/p²
//! ```
//! and the stability of B sets is the mean of κ over all pairs.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | S₁, S₂ | slices of ids | the sets: ascending, each id once |
//! | p | `columns` | all columns, also those that never occur (E7) |
//! | B | `sets.len()` | runs |
//!
//! Departures: two sets that are both empty or both full agree fully, κ = 1, where the formula is 0/0 (E12). With
//! κ ≥ −1 the paper's case of "complete disagreement" is −1 only for two halves of the columns; it is less far below
//! zero for other sizes. All computations use integers until the final division, so no digits are lost for
//! millions of columns. Cost: O(|S₁| + |S₂|) per pair.

use crate::data::FeatureId;

/// Cohen's κ of two sets over `columns` columns. Sets are ascending, each id once.
///
/// # Panics
/// If the sets together have more ids than there are columns.
pub fn kappa(first: &[FeatureId], second: &[FeatureId], columns: u64) -> f64 {
    let both = shared(first, second);
    let [one, other] = [first.len() as u64, second.len() as u64];
    assert!(one + other - both <= columns, "{columns} columns cannot hold the {} selected", one + other - both);
    let neither = columns - (one + other - both);
    // Numerator and denominator of κ, both multiplied by p²: whole numbers that fit 128 bits.
    let wide = |number: u64| i128::from(number);
    let chance = wide(one) * wide(other) + wide(columns - one) * wide(columns - other);
    let square = wide(columns) * wide(columns);
    if chance == square {
        return 1.0;
    }
    ((wide(both) + wide(neither)) * wide(columns) - chance) as f64 / (square - chance) as f64
}

/// The number of ids that two ascending lists share.
fn shared(first: &[FeatureId], second: &[FeatureId]) -> u64 {
    let (mut left, mut right, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (first.get(left), second.get(right)) {
        left += usize::from(a <= b);
        right += usize::from(b <= a);
        count += u64::from(a == b);
    }
    count
}

/// The mean of κ over all pairs of sets (eq. 17); `None` with fewer than two.
pub fn mean_kappa(sets: &[Vec<FeatureId>], columns: u64) -> Option<f64> {
    let pairs = (0..sets.len()).flat_map(|one| (one + 1..sets.len()).map(move |other| (one, other)));
    let all: Vec<f64> = pairs.map(|(one, other)| kappa(&sets[one], &sets[other], columns)).collect();
    (!all.is_empty()).then(|| mean(&all))
}

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample (divided by n − 1); 0 of a single value.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kappa_by_hand() {
        // p₁₁ = 2, p₁₂ = 1, p₂₁ = 1, p₂₂ = 6: q_o = 0.8, q_e = (9 + 49)/100, κ = 0.22/0.42.
        assert!((kappa(&[1, 2, 3], &[2, 3, 4], 10) - 0.22 / 0.42).abs() < 1e-15);
        // p₁₁ = 1, p₁₂ = 3, p₂₁ = 0, p₂₂ = 4: q_o = 5/8, q_e = (4·1 + 4·7)/64 = 1/2, κ = 1/4.
        assert_eq!(kappa(&[0, 1, 2, 3], &[2], 8), 0.25);
    }

    #[test]
    fn kappa_at_its_ends() {
        assert_eq!(kappa(&[3, 5], &[3, 5], 100), 1.0);
        assert_eq!(kappa(&[0, 1], &[2, 3], 4), -1.0, "two halves that share nothing");
        assert!(kappa(&[0], &[1], 100) < 0.0, "worse than chance");
        assert_eq!(kappa(&[], &[1, 2], 10), 0.0, "an empty set agrees as chance does");
    }

    #[test]
    fn both_empty_or_both_full_agree_fully() {
        assert_eq!(kappa(&[], &[], 10), 1.0);
        assert_eq!(kappa(&[0, 1, 2], &[0, 1, 2], 3), 1.0);
        assert_eq!(kappa(&[], &[], 0), 1.0);
        assert_eq!(kappa(&[], &[0, 1], 2), 0.0, "one empty, one full");
    }

    #[test]
    fn columns_never_seen_count() {
        let [few, many] = [10, 1_000_000].map(|columns| kappa(&[1, 2, 3], &[2, 3, 4], columns));
        assert!(few < many && (many - 2.0 / 3.0).abs() < 1e-5, "{few} {many}");
        let wide = kappa(&[1, 2, 3], &[2, 3, 4], u64::from(u32::MAX));
        assert!((wide - 2.0 / 3.0).abs() < 1e-9, "no digits are lost: {wide}");
    }

    #[test]
    #[should_panic(expected = "2 columns cannot hold the 3 selected")]
    fn more_selected_than_there_are() {
        kappa(&[0, 1], &[2], 2);
    }

    #[test]
    fn the_mean_is_over_all_pairs() {
        let sets = [vec![0, 1, 2, 3], vec![2], vec![0, 1, 2, 3]];
        assert_eq!(mean_kappa(&sets, 8), Some((0.25 + 1.0 + 0.25) / 3.0));
        assert_eq!(mean_kappa(&sets[..1], 8), None);
    }

    #[test]
    fn mean_and_deviation_by_hand() {
        assert_eq!((mean(&[1.0, 2.0, 6.0]), deviation(&[1.0, 2.0, 6.0])), (3.0, 7f64.sqrt()));
        assert_eq!(deviation(&[4.0]), 0.0);
        assert!(mean(&[]).is_nan());
    }
}
