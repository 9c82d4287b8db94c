//! The schedules of the rejection rate β and the burst size K, functions of the share d of active features.
//!
//! Source: Ma & Zheng 2016, eq. (12) and Figure 2, with the curve corrected by E2; section 5 for K, at least K₀ (E5).
//! ```text
//! γ ≥ 0   β = β₀·[e^{−γ(1−d)} − (1−d)·e^{−γ}]        γ = 0 gives β₀·d
//! γ < 0   β = β₀·ln(1 − γd)/ln(1 − γ)
//!         K = max(K₀, ⌈K₀·ln(1/(αd))⌉)
//! ```
//! The printed curve has d in place of 1 − d and 1 − d in place of d.

use crate::recipe::Curve;

/// φ(d; β₀, γ): the rejection rate of the next stage.
pub fn rejection_rate(share_active: f64, highest: f64, annealing: f64, curve: Curve) -> f64 {
    let active = match curve {
        Curve::Corrected => share_active,
        Curve::Printed => 1.0 - share_active,
    };
    let purged = 1.0 - active;
    let shape = if annealing >= 0.0 {
        (-annealing * purged).exp() - purged * (-annealing).exp()
    } else {
        // ln_1p keeps the quotient accurate as γ approaches 0, where it tends to d.
        (-annealing * active).ln_1p() / (-annealing).ln_1p()
    };
    highest * shape
}

/// K_s: the rows of a burst; `growth` is α, `None` keeps K₀. If no feature is active, K₀ is kept.
pub fn burst_size(start: u32, growth: Option<f64>, share_active: f64) -> u64 {
    let start = u64::from(start);
    match growth {
        Some(alpha) if share_active > 0.0 => {
            // A logarithm is far below 1000, so the product fits; a negative one becomes 0 and then K₀.
            let grown = (start as f64 * -(alpha * share_active).ln()).ceil();
            start.max(grown as u64)
        }
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn corrected(share: f64, annealing: f64) -> f64 {
        rejection_rate(share, 1.0, annealing, Curve::Corrected)
    }

    #[test]
    fn the_curves_of_figure_2_by_hand() {
        // γ = 0 is a straight line; e^{−2.5} − e^{−5}/2; ln 3.5/ln 6.
        assert_eq!(corrected(0.5, 0.0), 0.5);
        assert!((corrected(0.5, 5.0) - 0.078_716_025_124_356).abs() < 1e-12);
        assert!((corrected(0.5, -5.0) - 0.699_180_325_267_150).abs() < 1e-12);
        // "A positive annealing rate would reduce the rejection rate quickly, a negative one keep it high."
        assert!(corrected(0.8, 5.0) < 0.8 && 0.8 < corrected(0.8, -5.0));
    }

    #[test]
    fn the_curve_runs_from_the_highest_rate_to_zero() {
        for annealing in [-7.0, -5.0, -1.0, 0.0, 1.0, 3.0, 5.0] {
            assert_eq!(rejection_rate(1.0, 0.7, annealing, Curve::Corrected), 0.7, "{annealing}");
            assert!(rejection_rate(0.0, 0.7, annealing, Curve::Corrected).abs() < 1e-16, "{annealing}");
        }
    }

    #[test]
    fn the_printed_curve_is_inverted() {
        for annealing in [-5.0, 0.0, 5.0] {
            assert!(rejection_rate(1.0, 0.7, annealing, Curve::Printed).abs() < 1e-16);
            assert_eq!(rejection_rate(0.0, 0.7, annealing, Curve::Printed), 0.7);
        }
        // (12) as printed at d = 0.25: e^{−5/4} − e^{−5}/4, and ln(1 + 5·0.75)/ln 6.
        let [positive, negative] = [5.0, -5.0].map(|annealing| rejection_rate(0.25, 1.0, annealing, Curve::Printed));
        assert!((positive - ((-1.25f64).exp() - 0.25 * (-5f64).exp())).abs() < 1e-15);
        assert!((negative - 4.75f64.ln() / 6f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn the_two_branches_meet_at_zero() {
        for share in [0.0, 0.1, 0.5, 0.9, 1.0] {
            for annealing in [-1e-9, -1e-300, 0.0, 1e-9] {
                assert!((corrected(share, annealing) - share).abs() < 1e-8, "{share} {annealing}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_rate_falls_as_features_are_purged(a in 0.0..1.0f64, b in 0.0..1.0f64, annealing in -8.0..8.0f64) {
            let [low, high] = [a.min(b), a.max(b)].map(|share| rejection_rate(share, 0.7, annealing, Curve::Corrected));
            prop_assert!(-1e-15 <= low && low <= high + 1e-15 && high <= 0.7 + 1e-15);
        }

        #[test]
        fn bursts_grow_as_features_are_purged(a in 1e-6..1.0f64, b in 1e-6..1.0f64, alpha in 0.01..10.0f64) {
            prop_assert!(burst_size(5, Some(alpha), a.min(b)) >= burst_size(5, Some(alpha), a.max(b)));
        }
    }

    #[test]
    fn burst_sizes_by_hand() {
        assert_eq!(burst_size(5, None, 0.001), 5);
        // 5·ln 100 = 23.03; 5·ln 2 = 3.47 and ln(1/4) < 0 would be smaller than K₀.
        assert_eq!(burst_size(5, Some(1.0), 0.01), 24);
        assert_eq!(burst_size(5, Some(1.0), 0.5), 5);
        assert_eq!(burst_size(5, Some(4.0), 1.0), 5);
        assert_eq!(burst_size(5, Some(1.0), 0.0), 5);
    }
}
