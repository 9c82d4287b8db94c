//! The elastic net: soft threshold, then decay, after every step.
//!
//! One event with step size η: w ← sign(w)·max(|w| − ηλ₁, 0)/(1 + ηλ₂), the proximal step of λ₁|w| + ½λ₂w².
//!
//! Many events at once. With a global step size, let S = Π 1/(1 + hλ₂) (the decay so far) and D = Σ hλ₁/S_before (the
//! amount due, in units of undecayed weights). A weight with timestamp (S₀, D₀) is now S·max(|w|/S₀ − (D − D₀), 0).
//! With a step size a per weight, a is constant between updates, so n events have a closed form: q = 1/(1 + aλ₂),
//! |w|·qⁿ − aλ₁(q + q² + … + qⁿ).

use super::{ClockHistory, LazyProx};
use crate::data::ToF64s;

/// Shrinks by λ₁ and decays by λ₂ times the rate.
#[derive(Clone, Debug, PartialEq)]
pub struct ElasticNetProx {
    /// λ₁.
    pub l1: f64,
    /// λ₂.
    pub l2: f64,
    /// Whether each weight has its own step size.
    pub per_weight: bool,
    due: f64,
    decay: f64,
    events: f64,
}

/// The clock of [`ElasticNetProx`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ElasticNetTimestamp {
    /// D.
    pub due: f64,
    /// S, or 0 for a weight that was never touched.
    pub decay: f64,
    /// The number of events.
    pub events: f64,
}

impl ToF64s for ElasticNetTimestamp {
    const WIDTH: usize = 3;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.due, self.decay, self.events]);
    }
    fn unpack(fields: &[f64]) -> Self {
        ElasticNetTimestamp { due: fields[0], decay: fields[1], events: fields[2] }
    }
}

impl ElasticNetProx {
    /// The elastic net with the given strengths.
    pub fn new(l1: f64, l2: f64, per_weight: bool) -> Self {
        ElasticNetProx { l1, l2, per_weight, due: 0.0, decay: 1.0, events: 0.0 }
    }

    fn settle_own(&self, size: f64, rate: f64, events: f64) -> f64 {
        // The logarithm keeps its digits where 1 + aλ₂ is nearly 1; q/(1 − q) is 1/(aλ₂).
        let ridge = rate * self.l2;
        let fall = (-events * ridge.ln_1p()).exp_m1();
        let decay = 1.0 + fall;
        let due = if ridge == 0.0 { events } else { -fall / ridge };
        size * decay - rate * self.l1 * due
    }
}

impl LazyProx for ElasticNetProx {
    type Timestamp = ElasticNetTimestamp;

    #[inline]
    fn advance(&mut self, h: f64) {
        self.events += 1.0;
        if !self.per_weight {
            self.due += h * self.l1 / self.decay;
            self.decay /= 1.0 + h * self.l2;
        }
    }

    #[inline]
    fn timestamp(&self) -> ElasticNetTimestamp {
        ElasticNetTimestamp { due: self.due, decay: self.decay, events: self.events }
    }

    #[inline]
    fn apply_pending(&self, weight: f64, mark: &ElasticNetTimestamp, factor: f64) -> f64 {
        if weight == 0.0 || self.events == mark.events {
            return weight;
        }
        let size = weight.abs();
        let left = if self.per_weight {
            self.settle_own(size, factor, self.events - mark.events)
        } else {
            self.decay * (size / mark.decay - (self.due - mark.due))
        };
        if left > 0.0 { left.copysign(weight) } else { 0.0 }
    }

    fn trajectory_sum(
        &self,
        weight: f64,
        mark: &ElasticNetTimestamp,
        _factor: f64,
        from: u64,
        history: &ClockHistory,
    ) -> f64 {
        if weight == 0.0 {
            return 0.0;
        }
        weight.signum() * history.shrinking_sum(weight.abs() / mark.decay, mark.due, 1.0, from)
    }

    fn reset_clock(&mut self) {
        (self.due, self.decay, self.events) = (0.0, 1.0, 0.0);
    }

    fn save(&self) -> Vec<f64> {
        vec![self.due, self.decay, self.events]
    }

    fn load(&mut self, clock: &[f64]) -> bool {
        let &[due, decay, events] = clock else { return false };
        (self.due, self.decay, self.events) = (due, decay, events);
        true
    }

    fn needs_reset(&self) -> bool {
        self.decay < 1e-3 || self.events >= (1 << 22) as f64
    }

    fn reading(&self) -> (f64, f64) {
        (self.due, self.decay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_event(weight: f64, rate: f64, l1: f64, l2: f64) -> f64 {
        super::super::soft_threshold(weight, rate * l1) / (1.0 + rate * l2)
    }

    proptest! {
        #[test]
        fn lazy_equals_one_by_one(weight in -2.0..2.0f64, l1 in 0.0..0.3f64, l2 in 0.0..0.5f64, rates in prop::collection::vec(0.01..0.9f64, 1..30)) {
            let mut elastic = ElasticNetProx::new(l1, l2, false);
            elastic.advance(0.7);
            let mark = elastic.timestamp();
            let mut eager = weight;
            for &rate in &rates {
                elastic.advance(rate);
                eager = one_event(eager, rate, l1, l2);
            }
            prop_assert!((elastic.apply_pending(weight, &mark, 1.0) - eager).abs() < 1e-12);
        }

        #[test]
        fn own_rates_have_a_closed_form(weight in -2.0..2.0f64, l1 in 0.0..0.3f64, l2 in 0.0..0.5f64, rate in 0.01..0.9f64, n in 1..40) {
            let mut elastic = ElasticNetProx::new(l1, l2, true);
            let mark = elastic.timestamp();
            let mut eager = weight;
            for _ in 0..n {
                elastic.advance(1.0);
                eager = one_event(eager, rate, l1, l2);
            }
            prop_assert!((elastic.apply_pending(weight, &mark, rate) - eager).abs() < 1e-12);
        }
    }
}
