//! Rounding: every K steps, weights smaller than θ become zero.
//!
//! Source: Langford et al. 2009, eq. (2). Departure (E13): the printed operator keeps the small weights and
//! removes the large ones; v·1(|v| ≥ θ) is meant. Rounding is idempotent, so it only matters whether there was an event
//! since the last update of a weight.

use super::{ClockHistory, LazyProx};

/// Zeroes weights below `threshold` every `period` steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// θ.
    pub threshold: f64,
    /// K: steps between events.
    pub period: u64,
    steps: u64,
    events: f64,
}

impl Rounding {
    /// Rounding at `threshold` every `period` steps.
    pub fn new(threshold: f64, period: u64) -> Self {
        Rounding { threshold, period, steps: 0, events: 0.0 }
    }
}

impl LazyProx for Rounding {
    type Timestamp = f64;

    #[inline]
    fn advance(&mut self, _h: f64) {
        self.steps += 1;
        if self.steps == self.period {
            self.steps = 0;
            self.events += 1.0;
        }
    }

    #[inline]
    fn timestamp(&self) -> f64 {
        self.events
    }

    #[inline]
    fn apply_pending(&self, weight: f64, mark: &f64, _factor: f64) -> f64 {
        if self.events > *mark && weight.abs() < self.threshold { 0.0 } else { weight }
    }

    fn trajectory_sum(&self, weight: f64, _mark: &f64, _factor: f64, from: u64, history: &ClockHistory) -> f64 {
        // Step s is followed by an event when K divides s, so the weight after step s is zero from the first such s on.
        let steps = history.count_since(from);
        let until_event = (self.period - from % self.period) % self.period;
        weight * if weight.abs() < self.threshold { steps.min(until_event) as f64 } else { steps as f64 }
    }

    fn reset_clock(&mut self) {
        self.events = 0.0;
    }

    fn save(&self) -> Vec<f64> {
        vec![self.steps as f64, self.events]
    }

    fn load(&mut self, clock: &[f64]) -> bool {
        let &[steps, events] = clock else { return false };
        (self.steps, self.events) = (steps as u64, events);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_large_and_kills_the_small() {
        let mut rounding = Rounding::new(0.1, 2);
        rounding.advance(1.0);
        assert_eq!(rounding.apply_pending(0.05, &0.0, 1.0), 0.05, "no event yet");
        rounding.advance(1.0);
        assert_eq!(rounding.apply_pending(0.05, &0.0, 1.0), 0.0);
        assert_eq!(rounding.apply_pending(-0.1, &0.0, 1.0), -0.1, "the threshold itself is kept");
    }
}
