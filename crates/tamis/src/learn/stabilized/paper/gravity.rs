//! The base gravity g₀: how much pull an informative update must overcome.
//!
//! Source: Ma & Zheng 2016, eq. (11) in the reading of Ma 2017, (3.12)–(3.13) and E1: g₀ is the ⌊β·n⌋-th smallest of
//! the n values |Δw_{j,τ}/k_{j,τ}| of the last stage, over all paths, bursts and features of Ω with k > 0; none if
//! ⌊β·n⌋ = 0. As printed, (11) counts what *survives*; its supremum is infinite.
//!
//! Cost: O(n), by selection.

/// The ⌊β·n⌋-th smallest value, 0 if that is none. The order of the values is changed, their order makes no difference.
pub fn base_gravity(pulls: &mut [f64], rejection: f64) -> f64 {
    // A rate above 1 by a rounding error would ask for one too many.
    let rank = ((rejection * pulls.len() as f64) as usize).min(pulls.len());
    match rank {
        0 => 0.0,
        _ => *pulls.select_nth_unstable_by(rank - 1, f64::total_cmp).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_statistics_by_hand() {
        let pulls = [0.4, 0.1, 0.3, 0.2];
        for (rejection, expected) in [(0.0, 0.0), (0.24, 0.0), (0.25, 0.1), (0.74, 0.2), (0.75, 0.3), (1.0, 0.4)] {
            assert_eq!(base_gravity(&mut pulls.clone(), rejection), expected, "{rejection}");
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
            mut pulls in proptest::collection::vec(1e-3..1.0f64, 1..60), rejection in 0.0..=1.0f64
        ) {
            let gravity = base_gravity(&mut pulls, rejection);
            let rank = (rejection * pulls.len() as f64).floor() as usize;
            let at_most = pulls.iter().filter(|&&pull| pull <= gravity).count();
            let below = pulls.iter().filter(|&&pull| pull < gravity).count();
            prop_assert!(at_most >= rank && below <= rank, "{at_most} {below} {rank}");
        }
    }
}
