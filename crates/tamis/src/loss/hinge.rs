//! Hinge loss max(0, 1 − yf), y ∈ {−1, +1}. At the kink yf = 1 the slope is 0.

use super::{Loss, LossDefinition, LossFacts, Targets};

/// The hinge loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge;

impl Loss for Hinge {
    fn value(&self, margin: f64, target: f64) -> f64 {
        (1.0 - target * margin).max(0.0)
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        if target * margin < 1.0 { -target } else { 0.0 }
    }

    fn curvature(&self, _margin: f64, _target: f64) -> f64 {
        0.0
    }
}

impl LossDefinition for Hinge {
    const FACTS: LossFacts = LossFacts {
        name: "hinge",
        targets: Targets::Classes,
        is_probabilistic: false,
        has_bounded_slope: true,
        // It has none: that of the squared loss.
        half_curvature: 1.0,
        divides_rows: false,
        metric: None,
        scales_linearly: false,
        is_online_only: false,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        Hinge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Hinge.value(-0.5, 1.0), 1.5);
        assert_eq!(Hinge.slope(0.9, 1.0), -1.0);
        assert_eq!(Hinge.slope(1.0, 1.0), 0.0, "the kink gives no information");
    }
}
