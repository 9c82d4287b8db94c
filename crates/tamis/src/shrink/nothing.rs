//! No shrinkage: plain stochastic gradient descent.

use super::{History, Shrink};

/// Leaves weights alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nothing;

impl Shrink for Nothing {
    type Mark = ();

    #[inline]
    fn tick(&mut self, _h: f64) {}

    #[inline]
    fn now(&self) {}

    #[inline]
    fn settle(&self, weight: f64, _mark: &(), _factor: f64) -> f64 {
        weight
    }

    fn path_sum(&self, weight: f64, _mark: &(), _factor: f64, from: u64, history: &History) -> f64 {
        weight * history.count_since(from) as f64
    }

    fn rebase(&mut self) {}

    fn save(&self) -> Vec<f64> {
        Vec::new()
    }

    fn load(&mut self, clock: &[f64]) -> bool {
        clock.is_empty()
    }
}
