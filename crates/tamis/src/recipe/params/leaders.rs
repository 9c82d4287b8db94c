//! Methods that keep sums of gradients: `rda`, `ftrl`.

use super::default_l1;
use crate::recipe::Signs;
use crate::recipe::table::{Range, params};

params! {
    /// Parameters of `rda`.
    pub struct RdaParams {
        /// λ₁: L1 strength, more is sparser [default: 0.0001, 0 if k is given].
        l1: Option<f64> = None, L1, Range::at_least(0.0);
        /// λ₂: ridge strength; above 0 the penalty is an elastic net.
        l2: f64 = 0.0, L2, Range::at_least(0.0);
        /// γ: the inverse of a learning rate [default: 2, more for large rows].
        gamma: Option<f64> = None, GAMMA, Range::above(0.0);
        /// ρ: extra sparsity in the first steps.
        rda_rho: f64 = 0.0, RDA_RHO, Range::at_least(0.0);
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second.
        sign: Option<Signs> = None, SIGN;
    }
}

impl RdaParams {
    /// λ₁ in force.
    pub fn l1(&self, k: Option<usize>) -> f64 {
        self.l1.unwrap_or_else(|| default_l1(k))
    }

    /// γ in force.
    pub fn gamma(&self) -> f64 {
        self.gamma.unwrap_or(2.0)
    }
}

params! {
    /// Parameters of `ftrl`.
    pub struct FtrlParams {
        /// λ₁, compared with sums of slopes: L1 strength, more is sparser [default: 3, 0 if k is given].
        l1: Option<f64> = None, L1, Range::at_least(0.0);
        /// λ₂: ridge strength; above 0 the penalty is an elastic net.
        l2: f64 = 0.0, L2, Range::at_least(0.0);
        /// α: the first step of each weight [default: 0.5].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// β: dampens the steps of rare features.
        beta: f64 = 1.0, BETA, Range::at_least(0.0);
        /// Average the weights over all steps.
        average: bool = false, AVERAGE;
        /// Sign that weights must have, so that the prediction rises or falls with the feature (a monotone constraint): + or -
        /// for all features, or pairs such as age=+,debt=-. With two classes, it is that of the second.
        sign: Option<Signs> = None, SIGN;
    }
}

impl FtrlParams {
    /// λ₁ in force.
    pub fn l1(&self, k: Option<usize>) -> f64 {
        self.l1.unwrap_or(if k.is_some() { 0.0 } else { 3.0 })
    }

    /// α in force.
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate.unwrap_or(0.5)
    }
}
