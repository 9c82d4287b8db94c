//! No shrinkage: plain stochastic gradient descent.

use super::{ClockHistory, LazyProx};

/// The identity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoProx;

impl LazyProx for NoProx {
    type Timestamp = ();

    #[inline]
    fn advance(&mut self, _h: f64) {}

    #[inline]
    fn timestamp(&self) {}

    #[inline]
    fn apply_pending(&self, weight: f64, _mark: &(), _factor: f64) -> f64 {
        weight
    }

    fn trajectory_sum(&self, weight: f64, _mark: &(), _factor: f64, from: u64, history: &ClockHistory) -> f64 {
        weight * history.count_since(from) as f64
    }

    fn reset_clock(&mut self) {}

    fn save(&self) -> Vec<f64> {
        Vec::new()
    }

    fn load(&mut self, clock: &[f64]) -> bool {
        clock.is_empty()
    }
}
