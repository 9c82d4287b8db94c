//! The truncated gradient: L1 shrinkage of the weights within ±θ.
//!
//! Source: Langford et al. 2009, *Sparse Online Learning via Truncated Gradient* (JMLR 10), eq. (3): every K
//! steps w ← T₁(w, g·Σ η over those steps, θ). With K = 1 and θ = ∞ it is the proximal step of L1.
//!
//! A weight within ±θ shrinks and stays within; one outside does not change. So the amounts of several events add up.

use super::{ClockHistory, LazyProx, soft_threshold};

/// Shrinks by `gravity` times the sum of the step sizes since the last event.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncatedL1 {
    /// g: the shrinkage per unit of step size.
    pub gravity: f64,
    /// θ: larger weights are not shrunk.
    pub threshold: f64,
    /// K: steps between events.
    pub period: u64,
    due: f64,
    pending: f64,
    steps: u64,
    age: u64,
}

/// Steps after which the clock is reset: sums stay small enough to keep 11 digits of a difference.
const LIFE: u64 = 1 << 22;

impl TruncatedL1 {
    /// Shrinkage by `gravity` every `period` steps for weights within ±`threshold`.
    pub fn new(gravity: f64, threshold: f64, period: u64) -> Self {
        TruncatedL1 { gravity, threshold, period, due: 0.0, pending: 0.0, steps: 0, age: 0 }
    }
}

impl LazyProx for TruncatedL1 {
    type Timestamp = f64;

    #[inline]
    fn advance(&mut self, h: f64) {
        self.pending += h;
        self.steps += 1;
        self.age += 1;
        if self.steps == self.period {
            self.due += self.pending * self.gravity;
            self.pending = 0.0;
            self.steps = 0;
        }
    }

    #[inline]
    fn timestamp(&self) -> f64 {
        self.due
    }

    #[inline]
    fn apply_pending(&self, weight: f64, mark: &f64, factor: f64) -> f64 {
        // Computed for all weights, so that several are at once.
        let shrunk = soft_threshold(weight, factor * (self.due - mark));
        if weight.abs() <= self.threshold { shrunk } else { weight }
    }

    fn trajectory_sum(&self, weight: f64, mark: &f64, factor: f64, from: u64, history: &ClockHistory) -> f64 {
        if weight.abs() <= self.threshold {
            weight.signum() * history.shrinking_sum(weight.abs(), *mark, factor, from)
        } else {
            weight * history.count_since(from) as f64
        }
    }

    fn reset_clock(&mut self) {
        self.due = 0.0;
        self.age = 0;
    }

    fn save(&self) -> Vec<f64> {
        vec![self.due, self.pending, self.steps as f64, self.age as f64]
    }

    fn load(&mut self, clock: &[f64]) -> bool {
        let &[due, pending, steps, age] = clock else { return false };
        (self.due, self.pending, self.steps, self.age) = (due, pending, steps as u64, age as u64);
        true
    }

    fn needs_reset(&self) -> bool {
        self.age >= LIFE
    }

    fn reading(&self) -> (f64, f64) {
        (self.due, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(amount: f64) -> TruncatedL1 {
        let mut gravity = TruncatedL1::new(1.0, 1.5, 1);
        gravity.advance(amount);
        gravity
    }

    proptest! {
        #[test]
        fn amounts_add_up(weight in -3.0..3.0f64, a in 0.0..2.0f64, b in 0.0..2.0f64) {
            let twice = after(b).apply_pending(after(a).apply_pending(weight, &0.0, 1.0), &0.0, 1.0);
            let once = after(a + b).apply_pending(weight, &0.0, 1.0);
            prop_assert!((twice - once).abs() < 1e-12);
            prop_assert!(once * weight >= 0.0 && once.abs() <= weight.abs());
        }
    }

    #[test]
    fn acts_every_period_with_the_sum_of_rates() {
        let mut gravity = TruncatedL1::new(0.5, f64::INFINITY, 3);
        for h in [0.1, 0.2, 0.3, 0.4] {
            gravity.advance(h);
        }
        assert!((gravity.timestamp() - 0.3).abs() < 1e-15, "three steps count, the fourth is pending");
    }

    #[test]
    fn weights_beyond_the_threshold_are_left_alone() {
        assert_eq!(after(1.0).apply_pending(1.6, &0.0, 1.0), 1.6);
        assert_eq!(after(1.0).apply_pending(1.5, &0.0, 1.0), 0.5);
    }
}
