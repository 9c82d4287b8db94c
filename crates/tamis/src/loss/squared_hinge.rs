//! Squared hinge loss max(0, 1 − yf)², y ∈ {−1, +1}: the loss of LIBLINEAR's L2-loss SVM.

use super::{Loss, LossDefinition, LossFacts, Targets};

/// The squared hinge loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    fn value(&self, margin: f64, target: f64) -> f64 {
        let shortfall = (1.0 - target * margin).max(0.0);
        shortfall * shortfall
    }

    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        (1.0 - target * margin).max(0.0)
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        -2.0 * target * (1.0 - target * margin).max(0.0)
    }

    fn curvature(&self, margin: f64, target: f64) -> f64 {
        if target * margin < 1.0 { 2.0 } else { 0.0 }
    }
}

impl LossDefinition for SquaredHinge {
    const FACTS: LossFacts = LossFacts {
        name: "squared-hinge",
        targets: Targets::Classes,
        is_probabilistic: false,
        has_bounded_slope: false,
        half_curvature: 1.0,
        divides_rows: false,
        metric: None,
        scales_linearly: false,
        is_online_only: false,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        SquaredHinge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(SquaredHinge.value(-1.0, 1.0), 4.0);
        assert_eq!(SquaredHinge.slope(-1.0, 1.0), -4.0);
        assert_eq!(SquaredHinge.slope(2.0, 1.0), 0.0);
    }
}
