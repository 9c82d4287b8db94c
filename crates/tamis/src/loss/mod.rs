//! What a wrong prediction costs: value, slope and response of a margin.
//!
//! A margin `f = b + w·x` is judged against a target `y`. For two classes the target is one of the two
//! [`Loss::codes`]; for regression it is the number itself. To add a loss: one file here, one arm in [`AnyLoss`].

mod clipped;
mod hinge;
mod huber;
mod logistic;
mod squared;
mod squared_hinge;

pub use clipped::ClippedSquared;
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;

use serde::{Deserialize, Serialize};

/// A cost ℓ(margin, target), convex in the margin.
///
/// Laws: `value >= 0`; `slope` is the derivative in the margin off the kinks and a documented subgradient on them.
pub trait Loss: Copy {
    /// ℓ(f, y).
    fn value(&self, margin: f64, target: f64) -> f64;
    /// ∂ℓ/∂f.
    fn slope(&self, margin: f64, target: f64) -> f64;
    /// ∂²ℓ/∂f², off the kinks.
    fn curvature(&self, margin: f64, target: f64) -> f64;
    /// How far the margin is from costing nothing, in units of the margin: for the hinge that is the loss itself.
    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        self.value(margin, target)
    }
    /// What is told to the user instead of the margin: a probability, or the number itself.
    fn response(&self, margin: f64) -> f64 {
        margin
    }
    /// The targets of the negative and the positive class.
    fn codes(&self) -> [f64; 2] {
        [-1.0, 1.0]
    }
    /// A margin above this means the positive class.
    fn boundary(&self) -> f64 {
        0.0
    }
}

/// The name of a loss, as recipes and the command line write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// ln(1 + exp(−yf)); gives probabilities.
    Logistic,
    /// max(0, 1 − yf).
    Hinge,
    /// (f − y)².
    Squared,
    /// max(0, 1 − yf)².
    SquaredHinge,
    /// Squared near zero, linear far away.
    Huber,
    /// (f − y)² with f clipped to [0, 1] and rows divided by √(number of non-zeros).
    ClippedSquared,
}

impl LossKind {
    /// All losses, in the order of the documentation.
    pub const ALL: [LossKind; 6] = [
        LossKind::Logistic,
        LossKind::Hinge,
        LossKind::Squared,
        LossKind::SquaredHinge,
        LossKind::Huber,
        LossKind::ClippedSquared,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::Logistic => "logistic",
            LossKind::Hinge => "hinge",
            LossKind::Squared => "squared",
            LossKind::SquaredHinge => "squared-hinge",
            LossKind::Huber => "huber",
            LossKind::ClippedSquared => "clipped-squared",
        }
    }

    /// Whether the loss only makes sense for classes.
    pub fn needs_classes(self) -> bool {
        matches!(self, LossKind::Logistic | LossKind::Hinge | LossKind::SquaredHinge | LossKind::ClippedSquared)
    }

    /// Whether the loss only makes sense for numbers.
    pub fn needs_numbers(self) -> bool {
        matches!(self, LossKind::Squared | LossKind::Huber)
    }

    /// Whether its slope is bounded: if not, a step that is too long makes errors grow.
    pub fn has_bounded_slope(self) -> bool {
        !matches!(self, LossKind::Squared | LossKind::SquaredHinge)
    }

    /// Half of its largest second derivative; of the hinge, which has none, that of the squared loss.
    pub fn half_curvature(self) -> f64 {
        match self {
            LossKind::Logistic => 0.125,
            LossKind::Huber => 0.5,
            LossKind::Squared | LossKind::SquaredHinge | LossKind::ClippedSquared | LossKind::Hinge => 1.0,
        }
    }

    /// The loss itself; `threshold` is Huber's δ.
    pub fn build(self, threshold: f64) -> AnyLoss {
        match self {
            LossKind::Logistic => AnyLoss::Logistic(Logistic),
            LossKind::Hinge => AnyLoss::Hinge(Hinge),
            LossKind::Squared => AnyLoss::Squared(Squared),
            LossKind::SquaredHinge => AnyLoss::SquaredHinge(SquaredHinge),
            LossKind::Huber => AnyLoss::Huber(Huber { threshold }),
            LossKind::ClippedSquared => AnyLoss::ClippedSquared(ClippedSquared),
        }
    }
}

/// The number of the largest margin, of equals the first.
pub fn argmax(margins: &[f64]) -> usize {
    (1..margins.len()).fold(0, |best, class| if margins[class] > margins[best] { class } else { best })
}

/// Any of the losses: one branch an example, none in the loop over its features.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each arm is named for the loss it holds")]
pub enum AnyLoss {
    Logistic(Logistic),
    Hinge(Hinge),
    Squared(Squared),
    SquaredHinge(SquaredHinge),
    Huber(Huber),
    ClippedSquared(ClippedSquared),
}

macro_rules! each_loss {
    ($self:ident, $loss:ident => $call:expr) => {
        match $self {
            AnyLoss::Logistic($loss) => $call,
            AnyLoss::Hinge($loss) => $call,
            AnyLoss::Squared($loss) => $call,
            AnyLoss::SquaredHinge($loss) => $call,
            AnyLoss::Huber($loss) => $call,
            AnyLoss::ClippedSquared($loss) => $call,
        }
    };
}

impl Loss for AnyLoss {
    fn value(&self, margin: f64, target: f64) -> f64 {
        each_loss!(self, loss => loss.value(margin, target))
    }
    fn slope(&self, margin: f64, target: f64) -> f64 {
        each_loss!(self, loss => loss.slope(margin, target))
    }
    fn curvature(&self, margin: f64, target: f64) -> f64 {
        each_loss!(self, loss => loss.curvature(margin, target))
    }
    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        each_loss!(self, loss => loss.shortfall(margin, target))
    }
    fn response(&self, margin: f64) -> f64 {
        each_loss!(self, loss => loss.response(margin))
    }
    fn codes(&self) -> [f64; 2] {
        each_loss!(self, loss => loss.codes())
    }
    fn boundary(&self) -> f64 {
        each_loss!(self, loss => loss.boundary())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slope_is_the_derivative(margin in -5.0..5.0f64, positive: bool, delta in 0.1..3.0f64) {
            for kind in LossKind::ALL {
                let loss = kind.build(delta);
                let target = loss.codes()[usize::from(positive)];
                let step = 1e-6;
                let numeric = (loss.value(margin + step, target) - loss.value(margin - step, target)) / (2.0 * step);
                let [low, high] = [loss.slope(margin - step, target), loss.slope(margin + step, target)];
                let slack = 1e-6 * (1.0 + numeric.abs());
                prop_assert!(low - slack <= numeric && numeric <= high + slack, "{kind:?} at {margin}: {numeric}");
            }
        }

        #[test]
        fn curvature_is_the_derivative_of_the_slope(margin in -5.0..5.0f64, positive: bool, delta in 0.1..3.0f64) {
            for kind in LossKind::ALL {
                let loss = kind.build(delta);
                let target = loss.codes()[usize::from(positive)];
                let step = 1e-6;
                let slope = |shift: f64| loss.slope(margin + shift, target);
                let [left, right] = [(slope(0.0) - slope(-step)) / step, (slope(step) - slope(0.0)) / step];
                // Next to a kink the two sides differ, and there is no derivative.
                if (left - right).abs() < 1e-3 {
                    prop_assert!((loss.curvature(margin, target) - left).abs() < 1e-3, "{kind:?} at {margin}: {left}");
                }
            }
        }

        #[test]
        fn losses_are_convex_and_not_negative(a in -9.0..9.0f64, b in -9.0..9.0f64, share in 0.0..1.0f64, positive: bool) {
            for kind in LossKind::ALL {
                let loss = kind.build(1.0);
                let target = loss.codes()[usize::from(positive)];
                let middle = loss.value(share * a + (1.0 - share) * b, target);
                let chord = share * loss.value(a, target) + (1.0 - share) * loss.value(b, target);
                prop_assert!(middle >= 0.0 && middle <= chord + 1e-9);
            }
        }
    }

    #[test]
    fn shortfalls_are_distances() {
        for (kind, margin, target, distance) in [
            (LossKind::Hinge, -0.5, 1.0, 1.5),
            (LossKind::SquaredHinge, -1.0, 1.0, 2.0),
            (LossKind::Squared, 3.0, 1.0, 2.0),
            (LossKind::Huber, 7.0, 1.0, 6.0),
            (LossKind::ClippedSquared, 0.25, 1.0, 0.75),
        ] {
            assert_eq!(kind.build(1.0).shortfall(margin, target), distance, "{kind:?}");
        }
    }

    #[test]
    fn far_margins_stay_finite() {
        for kind in LossKind::ALL {
            let loss = kind.build(1.0);
            for margin in [-1e6, 1e6] {
                for target in loss.codes() {
                    assert!(loss.value(margin, target).is_finite() && loss.slope(margin, target).is_finite());
                }
            }
        }
    }

    #[test]
    fn names_round_trip_through_serde() {
        for kind in LossKind::ALL {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{}\"", kind.name()));
            assert_eq!(serde_json::from_str::<LossKind>(&text).unwrap(), kind);
        }
    }
}
