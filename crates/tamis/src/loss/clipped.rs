//! Squared loss of a prediction clipped to [0, 1], y ∈ {0, 1}.
//!
//! Source: Langford, Li & Zhang, *Sparse Online Learning via Truncated Gradient*, section 3, caveat 2 (E16): outside
//! [0, 1] the loss goes on as its tangent, so the slope there is the constant 2(clip(f) − y). Caveat 1, the division of
//! the prediction by √(number of non-zeros), is a scaling of the row: see [`crate::recipe::RowScale`].

use super::Loss;

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
        2.0 * (margin.clamp(0.0, 1.0) - target)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(ClippedSquared.value(0.25, 1.0), 0.5625);
        assert_eq!(ClippedSquared.slope(3.0, 0.0), 2.0, "constant outside");
        assert_eq!(ClippedSquared.slope(3.0, 1.0), 0.0, "right side, no update");
        assert_eq!(ClippedSquared.value(3.0, 0.0), 5.0, "tangent: 1 + 2·2");
    }
}
