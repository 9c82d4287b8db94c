//! What a wrong prediction costs: value, slope and response of a margin.
//!
//! A margin `f = b + w·x` is compared with a target `y`. For two classes the target is one of the two
//! [`Loss::codes`]; for regression it is the number itself. To add a loss, write one file with its functions and its
//! facts ([`LossDefinition`]) and add one line to the list `losses!` below.

mod clipped;
mod hinge;
mod huber;
mod logistic;
mod poisson;
mod quantile;
mod squared;
mod squared_hinge;

pub use clipped::ClippedSquared;
pub use hinge::Hinge;
pub use huber::Huber;
pub use logistic::Logistic;
pub use poisson::Poisson;
pub use quantile::Quantile;
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
    /// ℓ(f, y) and ∂ℓ/∂f.
    fn value_and_slope(&self, margin: f64, target: f64) -> [f64; 2] {
        [self.value(margin, target), self.slope(margin, target)]
    }
    /// ∂²ℓ/∂f², off the kinks.
    fn curvature(&self, margin: f64, target: f64) -> f64;
    /// ∂ℓ/∂f and ∂²ℓ/∂f².
    fn derivatives(&self, margin: f64, target: f64) -> [f64; 2] {
        [self.slope(margin, target), self.curvature(margin, target)]
    }
    /// Σ w·ℓ(f, y) over rows.
    fn total(&self, weights: &[f64], margins: &[f64], targets: &[f64]) -> f64 {
        let rows = weights.iter().zip(margins).zip(targets);
        rows.map(|((weight, &margin), &target)| weight * self.value(margin, target)).sum()
    }
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

/// A loss of the library: its functions, and what the rest of the library must know about it.
pub trait LossDefinition: Loss {
    /// The facts.
    const FACTS: LossFacts;
    /// The loss; `shape` is its parameter, for losses that have one ([`LossFacts::shape`]).
    fn build(shape: f64) -> Self;
}

/// What the rest of the library must know about a loss. No other place decides by the name of a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossFacts {
    /// The name in files and front ends: that of the struct in kebab-case.
    pub name: &'static str,
    /// What it can predict.
    pub targets: Targets,
    /// Whether [`Loss::response`] of a classifier is the probability of the positive class.
    pub is_probabilistic: bool,
    /// Whether its slope is bounded: if not, a step that is too long makes errors grow.
    pub has_bounded_slope: bool,
    /// Half of its largest second derivative.
    pub half_curvature: f64,
    /// Whether rows are divided by √(number of non-zeros) unless the recipe says otherwise.
    pub divides_rows: bool,
    /// The metric of an evaluation that is the mean of this loss, if there is one.
    pub metric: Option<EvalMetric>,
    /// Whether c times the label and the prediction give c times the loss; otherwise it is c² times.
    pub scales_linearly: bool,
    /// Whether only online learners minimise it. The other methods need a bounded curvature that is not 0.
    pub is_online_only: bool,
    /// Its parameter, if it has one.
    pub shape: Option<LossShape>,
}

/// The parameter of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossShape {
    /// δ of the Huber loss.
    HuberDelta,
    /// τ of the quantile loss.
    Quantile,
}

/// What a loss can predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// Classes only: targets are [`Loss::codes`].
    Classes,
    /// Numbers; classes only where the task says so.
    Numbers,
    /// Numbers of at least 0, whose logarithm is predicted.
    Counts,
}

/// A metric of an evaluation that is the mean of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalMetric {
    /// The log loss: margins are log-odds.
    LogLoss,
    /// The mean squared error, reported by its root.
    SquaredError,
    /// The mean of the loss itself, in the units of the label.
    OwnLoss,
}

/// Makes [`LossKind`] and [`AnyLoss`] of a list of losses.
macro_rules! losses {
    ($($(#[$doc:meta])* $Loss:ident,)*) => {
        /// A loss by name, as recipes and models have it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum LossKind { $($(#[$doc])* $Loss,)* }

        impl LossKind {
            /// All losses, in the order of the documentation.
            pub const ALL: [LossKind; [$(stringify!($Loss)),*].len()] = [$(LossKind::$Loss),*];

            /// What the loss states about itself.
            pub const fn facts(self) -> LossFacts {
                match self { $(LossKind::$Loss => <$Loss as LossDefinition>::FACTS,)* }
            }

            /// The loss itself.
            pub fn build(self, shape: f64) -> AnyLoss {
                match self { $(LossKind::$Loss => AnyLoss::$Loss(<$Loss as LossDefinition>::build(shape)),)* }
            }
        }

        /// Any of the losses: one branch an example, none in the loop over its features.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each arm is named for the loss it holds")]
        pub enum AnyLoss { $($Loss($Loss),)* }

        impl Loss for AnyLoss {
            fn value(&self, margin: f64, target: f64) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.value(margin, target),)* }
            }
            fn slope(&self, margin: f64, target: f64) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.slope(margin, target),)* }
            }
            fn value_and_slope(&self, margin: f64, target: f64) -> [f64; 2] {
                match self { $(AnyLoss::$Loss(loss) => loss.value_and_slope(margin, target),)* }
            }
            fn curvature(&self, margin: f64, target: f64) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.curvature(margin, target),)* }
            }
            fn derivatives(&self, margin: f64, target: f64) -> [f64; 2] {
                match self { $(AnyLoss::$Loss(loss) => loss.derivatives(margin, target),)* }
            }
            fn total(&self, weights: &[f64], margins: &[f64], targets: &[f64]) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.total(weights, margins, targets),)* }
            }
            fn shortfall(&self, margin: f64, target: f64) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.shortfall(margin, target),)* }
            }
            fn response(&self, margin: f64) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.response(margin),)* }
            }
            fn codes(&self) -> [f64; 2] {
                match self { $(AnyLoss::$Loss(loss) => loss.codes(),)* }
            }
            fn boundary(&self) -> f64 {
                match self { $(AnyLoss::$Loss(loss) => loss.boundary(),)* }
            }
        }
    };
}

losses! {
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
    /// eᶠ − yf for counts: f is the logarithm of the expected count.
    Poisson,
    /// τ(y − f) or (1 − τ)(f − y): f is the τ-quantile.
    Quantile,
}

impl LossKind {
    /// The loss where none is given.
    pub fn default_for(is_numbers: bool) -> Self {
        if is_numbers { LossKind::Squared } else { LossKind::Logistic }
    }

    /// The name in files and front ends.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether the loss only makes sense for classes.
    pub fn needs_classes(self) -> bool {
        self.facts().targets == Targets::Classes
    }

    /// Whether labels that could be classes are numbers to this loss.
    pub fn needs_numbers(self) -> bool {
        self.facts().targets != Targets::Classes
    }

    /// Whether labels are counts, whose logarithm is predicted.
    pub fn needs_counts(self) -> bool {
        self.facts().targets == Targets::Counts
    }
}

/// The number of the largest margin, of equals the first.
pub fn argmax(margins: &[f64]) -> usize {
    (1..margins.len()).fold(0, |best, class| if margins[class] > margins[best] { class } else { best })
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
                let [value, slope] = loss.value_and_slope(margin, target);
                prop_assert!((value - loss.value(margin, target)).abs() <= 1e-15 * value.abs());
                prop_assert!((slope - loss.slope(margin, target)).abs() <= 1e-14 * slope.abs());
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

    /// The facts of each loss agree with its functions, on a grid of margins.
    #[test]
    fn facts_agree_with_the_functions() {
        let margins: Vec<f64> = (-400..=400).map(|step| f64::from(step) / 8.0).collect();
        for kind in LossKind::ALL {
            let (facts, loss) = (kind.facts(), kind.build(1.0));
            let each = |f: &dyn Fn(f64, f64) -> f64| {
                let all = loss.codes().into_iter().flat_map(|code| margins.iter().map(move |&margin| (margin, code)));
                all.map(|(margin, code)| f(margin, code)).fold(0.0, f64::max)
            };
            let steepest = |scale: f64| each(&|margin, target| loss.slope(scale * margin, target).abs());
            assert_eq!(facts.has_bounded_slope, steepest(1.0) < 1.5 * steepest(0.5), "{kind:?}");
            let curvature = each(&|margin, target| loss.curvature(margin, target));
            let expected = if curvature > 0.0 { curvature / 2.0 } else { LossKind::Squared.facts().half_curvature };
            assert_eq!(facts.half_curvature, expected, "{kind:?}");
            let outside = each(&|margin, _| if (0.0..=1.0).contains(&loss.response(margin)) { 0.0 } else { 1.0 });
            assert_eq!(facts.is_probabilistic, outside == 0.0, "{kind:?}");
            let metric =
                |value: f64, metric| (value - loss.value(1.5, 1.0)).abs() < 1e-12 && facts.metric == Some(metric);
            let is_mean =
                metric((-1.5f64).exp().ln_1p(), EvalMetric::LogLoss) || metric(0.25, EvalMetric::SquaredError);
            let is_own = facts.metric == Some(EvalMetric::OwnLoss);
            assert_eq!(facts.metric.is_some() && !is_own, is_mean, "{kind:?}");
            if is_own {
                let (margin, unit) = (0.3, 3.0);
                let shift = if kind.needs_counts() { margin + f64::ln(unit) } else { unit * margin };
                let [one, scaled] = [loss.value(margin, 0.5), loss.value(shift, unit * 0.5)];
                assert!(facts.scales_linearly && (scaled - unit * one).abs() < 1e-12, "{kind:?}");
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
            (LossKind::Poisson, -0.5, 1.0, 0.5),
            (LossKind::Quantile, 3.0, 1.0, 2.0),
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
