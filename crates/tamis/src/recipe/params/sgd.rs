//! Methods that take a gradient step and then shrink: `sgd`, `truncated-gradient`, `rounding`, `fobos`.

use super::{default_l1, default_rate, scheduled};
use crate::recipe::table::{Range, params};
use crate::recipe::{ScheduleKind, Signs};

params! {
    /// Parameters of `sgd`.
    pub struct SgdParams {
        /// c: the first step [default: 0.5, 1 for the schedule inverse].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule [default: auto].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
        /// Average the weights over all steps.
        average: bool = false, AVERAGE;
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second.
        sign: Option<Signs> = None, SIGN;
    }
}
scheduled!(SgdParams, ScheduleKind::Auto, default_rate);

params! {
    /// Parameters of `truncated-gradient`.
    pub struct TruncatedGradientParams {
        /// λ₁ (the gravity g): L1 strength, more is sparser [default: 0.0001, 0 if k is given].
        l1: Option<f64> = None, L1, Range::at_least(0.0);
        /// θ: only weights within ±θ are truncated [default: infinity, or 0.01 for rounding].
        threshold: Option<f64> = None, THRESHOLD, Range::at_least(0.0).or_infinite();
        /// K: steps between two truncations.
        period: u64 = 1, PERIOD, Range::at_least(1.0).at_most(1e9);
        /// c: the first step [default: 0.5, 1 for the schedule inverse].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule [default: auto].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
        /// Average the weights over all steps.
        average: bool = false, AVERAGE;
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second.
        sign: Option<Signs> = None, SIGN;
    }
}
scheduled!(TruncatedGradientParams, ScheduleKind::Auto, default_rate);

impl TruncatedGradientParams {
    /// λ₁ in force.
    pub fn l1(&self, k: Option<usize>) -> f64 {
        self.l1.unwrap_or_else(|| default_l1(k))
    }

    /// θ in force.
    pub fn threshold(&self) -> f64 {
        self.threshold.unwrap_or(f64::INFINITY)
    }
}

params! {
    /// Parameters of `rounding`.
    pub struct RoundingParams {
        /// θ: weights within ±θ become zero [default: 0.01].
        threshold: Option<f64> = None, THRESHOLD, Range::at_least(0.0);
        /// K: steps between two truncations.
        period: u64 = 1, PERIOD, Range::at_least(1.0).at_most(1e9);
        /// c: the first step [default: 0.5, 1 for the schedule inverse].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule [default: auto].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
        /// Average the weights over all steps.
        average: bool = false, AVERAGE;
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second.
        sign: Option<Signs> = None, SIGN;
    }
}
scheduled!(RoundingParams, ScheduleKind::Auto, default_rate);

impl RoundingParams {
    /// θ in force.
    pub fn threshold(&self) -> f64 {
        self.threshold.unwrap_or(0.01)
    }
}

params! {
    /// Parameters of `fobos`.
    pub struct FobosParams {
        /// λ₁: L1 strength, more is sparser [default: 0.0001, 0 if k is given].
        l1: Option<f64> = None, L1, Range::at_least(0.0);
        /// λ₂: ridge strength; above 0 the penalty is an elastic net.
        l2: f64 = 0.0, L2, Range::at_least(0.0);
        /// c: the first step [default: 1, less for large rows].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule [default: inverse-sqrt].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
        /// Average the weights over all steps.
        average: bool = false, AVERAGE;
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second.
        sign: Option<Signs> = None, SIGN;
    }
}
scheduled!(FobosParams, ScheduleKind::InverseSqrt, |_| 1.0);

impl FobosParams {
    /// λ₁ in force.
    pub fn l1(&self, k: Option<usize>) -> f64 {
        self.l1.unwrap_or_else(|| default_l1(k))
    }
}
