//! Squared loss (f − y)², without the half (Langford et al. 2009, section 1; Vowpal Wabbit): slope 2(f − y).

use super::{EvalMetric, Loss, LossDefinition, LossFacts, Targets};

/// The squared loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Squared;

impl Loss for Squared {
    fn value(&self, margin: f64, target: f64) -> f64 {
        (margin - target) * (margin - target)
    }

    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        (margin - target).abs()
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        2.0 * (margin - target)
    }

    fn curvature(&self, _margin: f64, _target: f64) -> f64 {
        2.0
    }
}

impl LossDefinition for Squared {
    const FACTS: LossFacts = LossFacts {
        name: "squared",
        targets: Targets::Numbers,
        is_probabilistic: false,
        has_bounded_slope: false,
        half_curvature: 1.0,
        divides_rows: false,
        metric: Some(EvalMetric::SquaredError),
        scales_linearly: false,
        is_online_only: false,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        Squared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Squared.value(3.0, 1.0), 4.0);
        assert_eq!(Squared.slope(3.0, 1.0), 4.0);
    }
}
