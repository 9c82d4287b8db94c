//! How far to go along a direction: the weight w ≥ 0 that makes the exponential loss least.
//!
//! Source: Ma 2017, (2.13): w solves h(w) = −Σ ρᵢgᵢ exp(−w gᵢ) = 0. h rises, so a Newton step that leaves the bracket
//! is replaced by bisection. Departures (E21): there may be no root (all margins positive), so w is at most 5/mean|g|;
//! exponents are clipped at ±30.

/// Exponents beyond this are clipped.
pub(super) const CLIP: f64 = 30.0;
/// Of the largest weight; the root is found to it.
const TOLERANCE: f64 = 1e-12;

/// e^x, x clipped.
pub(super) fn bounded_exp(exponent: f64) -> f64 {
    exponent.clamp(-CLIP, CLIP).exp()
}

/// The weight, or nothing if the loss falls nowhere.
pub(super) fn best_weight(residuals: &[f64], margins: &[f64]) -> Option<f64> {
    let mean = margins.iter().map(|margin| margin.abs()).sum::<f64>() / margins.len().max(1) as f64;
    if mean == 0.0 || !mean.is_finite() {
        return None;
    }
    let most = 5.0 / mean;
    let slopes = |weight: f64| {
        residuals.iter().zip(margins).fold((0.0, 0.0), |(slope, bend), (residual, margin)| {
            let pull = residual * margin * bounded_exp(-weight * margin);
            (slope - pull, bend + pull * margin)
        })
    };
    if slopes(0.0).0 >= 0.0 {
        return None;
    }
    if slopes(most).0 <= 0.0 {
        return Some(most);
    }
    let (mut low, mut high, mut weight) = (0.0, most, 0.0);
    for _ in 0..200 {
        let (slope, bend) = slopes(weight);
        if slope < 0.0 {
            low = weight
        } else {
            high = weight
        }
        let newton = weight - slope / bend;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        let moved = (next - weight).abs();
        weight = next;
        if moved.min(high - low) <= TOLERANCE * most {
            break;
        }
    }
    Some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_by_hand() {
        // 3·e^{−w} = 1·e^{w}: w = ln 3 / 2.
        let weight = best_weight(&[3.0, 1.0], &[1.0, -1.0]).unwrap();
        assert!((weight - 3f64.ln() / 2.0).abs() < 1e-9, "{weight}");
    }

    #[test]
    fn without_a_root_the_weight_is_capped_or_nothing() {
        assert_eq!(best_weight(&[1.0, 1.0], &[1.0, 3.0]), Some(2.5));
        assert_eq!(best_weight(&[1.0, 2.0], &[1.0, -1.0]), None);
        assert_eq!(best_weight(&[1.0], &[0.0]), None);
        assert_eq!(best_weight(&[], &[]), None);
    }
}
