//! The base gravity g₀: the shrinkage for each informative update.
//!
//! Source: Ma & Zheng 2016, eq. (11) in the reading of Ma 2017, (3.12)–(3.13) and E1: g₀ is the ⌊β·n⌋-th smallest of
//! the n values |Δw_{j,τ}/k_{j,τ}| of the last stage, over all paths, bursts and features of Ω with k > 0; 0 if ⌊β·n⌋ =
//! 0. As printed, (11) counts the values that *survive*; its supremum is infinite.
//!
//! Cost: O(n), by selection.

/// The ⌊β·n⌋-th smallest value, or 0 if ⌊β·n⌋ = 0. Reorders the values; their order does not matter.
pub fn base_gravity(mean_changes: &mut [f64], rejection: f64) -> f64 {
    // By rounding, the rate may be slightly above 1.
    let rank = ((rejection * mean_changes.len() as f64) as usize).min(mean_changes.len());
    match rank {
        0 => 0.0,
        _ => *mean_changes.select_nth_unstable_by(rank - 1, f64::total_cmp).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_statistics_by_hand() {
        let mean_changes = [0.4, 0.1, 0.3, 0.2];
        for (rejection, expected) in [(0.0, 0.0), (0.24, 0.0), (0.25, 0.1), (0.74, 0.2), (0.75, 0.3), (1.0, 0.4)] {
            assert_eq!(base_gravity(&mut mean_changes.clone(), rejection), expected, "{rejection}");
        }
    }

    #[test]
    fn nothing_to_reject_needs_no_gravity() {
        assert_eq!(base_gravity(&mut [], 0.7), 0.0);
        assert_eq!(base_gravity(&mut [0.0, 0.0, 5.0], 0.7), 0.0);
    }

    proptest! {
        #[test]
        fn the_share_at_or_below_gravity_is_the_rate(
            mut mean_changes in proptest::collection::vec(1e-3..1.0f64, 1..60), rejection in 0.0..=1.0f64
        ) {
            let gravity = base_gravity(&mut mean_changes, rejection);
            let rank = (rejection * mean_changes.len() as f64).floor() as usize;
            let at_most = mean_changes.iter().filter(|&&pull| pull <= gravity).count();
            let below = mean_changes.iter().filter(|&&pull| pull < gravity).count();
            prop_assert!(at_most >= rank && below <= rank, "{at_most} {below} {rank}");
        }
    }
}
