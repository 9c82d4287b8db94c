//! Huber loss: ½r² for |r| ≤ δ, δ(|r| − ½δ) beyond, with r = f − y. One outlier pulls with at most δ.

use super::{Loss, LossDefinition, LossFacts, LossShape, Targets};

/// The Huber loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Huber {
    /// δ: where squared becomes linear.
    pub threshold: f64,
}

impl Loss for Huber {
    fn value(&self, margin: f64, target: f64) -> f64 {
        let distance = (margin - target).abs();
        if distance <= self.threshold {
            0.5 * distance * distance
        } else {
            self.threshold * (distance - 0.5 * self.threshold)
        }
    }

    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        (margin - target).abs()
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        (margin - target).clamp(-self.threshold, self.threshold)
    }

    fn curvature(&self, margin: f64, target: f64) -> f64 {
        if (margin - target).abs() <= self.threshold { 1.0 } else { 0.0 }
    }
}

impl LossDefinition for Huber {
    const FACTS: LossFacts = LossFacts {
        name: "huber",
        targets: Targets::Numbers,
        is_probabilistic: false,
        has_bounded_slope: true,
        half_curvature: 0.5,
        divides_rows: false,
        metric: None,
        scales_linearly: false,
        is_online_only: false,
        shape: Some(LossShape::HuberDelta),
    };

    fn build(shape: f64) -> Self {
        Huber { threshold: shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let huber = Huber { threshold: 1.0 };
        assert_eq!(huber.value(0.5, 0.0), 0.125);
        assert_eq!(huber.value(3.0, 0.0), 2.5);
        assert_eq!(huber.slope(3.0, 0.0), 1.0);
    }
}
