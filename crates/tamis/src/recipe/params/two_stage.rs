//! The two-stage learner.

use crate::recipe::SamplingLaw;
use crate::recipe::table::{Range, params};

params! {
    /// Parameters of `two-stage`.
    pub struct TwoStageParams {
        /// B: the largest ‖w‖₁, in scaled units [default: found from the data].
        radius: Option<f64> = None, RADIUS, Range::above(0.0);
        /// η₁: the step of the first epoch [default: found from the data].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// T₁: steps of the first epoch [default: found from the data].
        first_epoch_steps: Option<u64> = None, FIRST_EPOCH_STEPS, Range::at_least(1.0).at_most(1e15);
        /// K: draws of features with replacement, the most features of the model [default: found from the data].
        n_draws: Option<u64> = None, N_DRAWS, Range::at_least(1.0).at_most(1e9);
        /// ε: the loss that sampling may add; it determines the number of draws [default: a twentieth of the training
        /// loss].
        epsilon: Option<f64> = None, EPSILON, Range::above(0.0);
        /// δ: the probability that sampling adds more than epsilon [default: 0.5].
        delta: Option<f64> = None, DELTA, Range::above(0.0).at_most(1.0);
        /// Sampling probabilities: by contribution |w|·√(E x²) or by weight |w|.
        sampling: SamplingLaw = SamplingLaw::Contribution, SAMPLING;
        /// τ: how far sampled weights are moved towards the fit on the rows; 0 leaves them [default: found from the
        /// data].
        refine: Option<f64> = None, REFINE, Range::at_least(0.0);
    }
}

impl TwoStageParams {
    /// B if it is not found from the data.
    pub fn radius(&self) -> f64 {
        self.radius.unwrap_or(10.0)
    }

    /// η₁ if it is not found from the data.
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate.unwrap_or(0.05)
    }

    /// δ in force.
    pub fn delta(&self) -> f64 {
        self.delta.unwrap_or(0.5)
    }
}
