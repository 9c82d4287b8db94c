//! Quantile (pinball) loss: τ·(y − f) below the label, (1 − τ)·(f − y) above it. Margins are the τ-quantile; half of the
//! absolute error at τ = ½.

use super::{EvalMetric, Loss, LossDefinition, LossFacts, LossShape, Targets};

/// The quantile loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// τ: the share of labels below the prediction.
    pub share: f64,
}

impl Loss for Quantile {
    fn value(&self, margin: f64, target: f64) -> f64 {
        let miss = target - margin;
        if miss >= 0.0 { self.share * miss } else { (self.share - 1.0) * miss }
    }

    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        (margin - target).abs()
    }

    /// 0 on the kink.
    fn slope(&self, margin: f64, target: f64) -> f64 {
        match margin.total_cmp(&target) {
            std::cmp::Ordering::Less => -self.share,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => 1.0 - self.share,
        }
    }

    fn curvature(&self, _margin: f64, _target: f64) -> f64 {
        0.0
    }
}

impl LossDefinition for Quantile {
    const FACTS: LossFacts = LossFacts {
        name: "quantile",
        targets: Targets::Numbers,
        is_probabilistic: false,
        has_bounded_slope: true,
        half_curvature: 1.0,
        divides_rows: false,
        metric: Some(EvalMetric::OwnLoss),
        scales_linearly: true,
        is_online_only: true,
        shape: Some(LossShape::Quantile),
    };

    fn build(shape: f64) -> Self {
        Quantile { share: shape.clamp(0.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let upper = Quantile { share: 0.9 };
        assert_eq!((upper.value(1.0, 3.0), upper.slope(1.0, 3.0)), (1.8, -0.9));
        assert!((upper.value(3.0, 1.0) - 0.2).abs() < 1e-15 && (upper.slope(3.0, 1.0) - 0.1).abs() < 1e-15);
        assert_eq!((upper.value(2.0, 2.0), upper.slope(2.0, 2.0)), (0.0, 0.0));
    }
}
