//! Squared loss of a prediction clipped to [0, 1], y ∈ {0, 1}.
//!
//! Source: Langford et al. 2009, *Sparse Online Learning via Truncated Gradient*, section 3, caveat 2 (E16): outside
//! [0, 1] the loss goes on as its tangent, so the slope there is the constant 2(clip(f) − y). Caveat 1, the division of
//! the prediction by √(number of non-zeros), is a scaling of the row: see [`crate::data::RowScale`].

use super::{Loss, LossDefinition, LossFacts, Targets};

/// A miss smaller than this is one of rounding: no miss. A rate that divides by the gradients before (`auto`,
/// `adagrad`) would make a whole step of it, whose side the last bit of a sum decides.
const ROUNDING: f64 = 1e-12;

/// The clipped squared loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClippedSquared;

impl Loss for ClippedSquared {
    fn value(&self, margin: f64, target: f64) -> f64 {
        let clipped = margin.clamp(0.0, 1.0);
        let miss = clipped - target;
        miss * miss + 2.0 * miss * (margin - clipped)
    }

    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        (margin.clamp(0.0, 1.0) - target).abs()
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        let miss = margin.clamp(0.0, 1.0) - target;
        if miss.abs() < ROUNDING { 0.0 } else { 2.0 * miss }
    }

    fn curvature(&self, margin: f64, _target: f64) -> f64 {
        if (0.0..=1.0).contains(&margin) { 2.0 } else { 0.0 }
    }

    fn response(&self, margin: f64) -> f64 {
        margin.clamp(0.0, 1.0)
    }

    fn codes(&self) -> [f64; 2] {
        [0.0, 1.0]
    }

    fn boundary(&self) -> f64 {
        0.5
    }
}

impl LossDefinition for ClippedSquared {
    const FACTS: LossFacts = LossFacts {
        name: "clipped-squared",
        targets: Targets::Classes,
        is_probabilistic: true,
        has_bounded_slope: true,
        half_curvature: 1.0,
        divides_rows: true,
        metric: None,
        scales_linearly: false,
        is_online_only: false,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        ClippedSquared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(ClippedSquared.value(0.25, 1.0), 0.5625);
        assert_eq!(ClippedSquared.slope(3.0, 0.0), 2.0, "constant outside");
        assert_eq!(ClippedSquared.slope(3.0, 1.0), 0.0, "right side, no update");
        assert_eq!(ClippedSquared.slope(1e-17, 0.0), 0.0, "what is left of 0.1 + 0.2 − 0.3 is no miss");
        assert_eq!(ClippedSquared.slope(1e-9, 0.0), 2e-9, "a small one is");
        assert_eq!(ClippedSquared.value(3.0, 0.0), 5.0, "tangent: 1 + 2·2");
    }
}
