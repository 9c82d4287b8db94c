//! Bounds at zero: weights that may not be negative, or not positive.
//!
//! The minimiser of a convex function of one weight on a half-line is the minimiser on the whole line, moved to the
//! nearest point of the half-line. So a gradient step, a soft threshold or a leader with a sign is the one without, clipped
//! at zero. Every operator of this folder keeps signs and leaves zero alone: a weight that was clipped after its step stays
//! within its bounds, however much shrinkage is pending, and clipping before the shrinkage is the same as after it.
//!
//! A linear model is monotone in a column exactly if the weight of the column has one sign.

use crate::data::FeatureId;

/// The interval of each weight: those of the first ids are given one by one, the others have the same.
#[derive(Clone, Debug, PartialEq)]
pub struct SignBounds {
    first: Vec<(f64, f64)>,
    others: (f64, f64),
    is_free: bool,
}

/// No bounds.
pub const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

impl SignBounds {
    /// The bounds of the first ids, and those of all others.
    pub fn new(first: Vec<(f64, f64)>, others: (f64, f64)) -> Self {
        let is_free = others == FREE && first.iter().all(|&bounds| bounds == FREE);
        SignBounds { first, others, is_free }
    }

    /// The weight within its bounds. A weight that is not a number stays so.
    #[inline]
    pub fn clip(&self, id: FeatureId, weight: f64) -> f64 {
        if self.is_free {
            return weight;
        }
        let (least, most) = self.first.get(id as usize).copied().unwrap_or(self.others);
        weight.clamp(least, most)
    }

    /// Whether no weight has bounds.
    pub fn is_free(&self) -> bool {
        self.is_free
    }

    /// Whether the bounds of this feature belong to its id, so that the id cannot be given to another feature.
    pub fn belongs(&self, id: FeatureId) -> bool {
        (id as usize) < self.first.len()
    }
}

impl Default for SignBounds {
    fn default() -> Self {
        SignBounds::new(Vec::new(), FREE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prox::soft_threshold;
    use proptest::prelude::*;

    const PLUS: (f64, f64) = (0.0, f64::INFINITY);
    const MINUS: (f64, f64) = (f64::NEG_INFINITY, 0.0);

    #[test]
    fn bounds_by_hand() {
        let bounds = SignBounds::new(vec![PLUS, MINUS, FREE], PLUS);
        assert_eq!([0, 1, 2, 3].map(|id| bounds.clip(id, -2.0)), [0.0, -2.0, -2.0, 0.0]);
        assert_eq!([0, 1, 2, 3].map(|id| bounds.clip(id, 2.0)), [2.0, 0.0, 2.0, 2.0]);
        assert!(bounds.clip(0, f64::NAN).is_nan() && SignBounds::default().clip(0, f64::NAN).is_nan());
        assert!(bounds.belongs(2) && !bounds.belongs(3));
    }

    proptest! {
        /// The minimiser of ½(v − w)² + a|v| over v ≥ 0, found on a fine grid.
        #[test]
        fn a_clipped_threshold_is_the_minimiser_on_the_half_line(w in -2.0..2.0f64, a in 0.0..1.0f64) {
            let bounds = SignBounds::new(Vec::new(), PLUS);
            let found = soft_threshold(bounds.clip(0, w), a);
            prop_assert!((found - bounds.clip(0, soft_threshold(w, a))).abs() < 1e-15, "the order does not matter");
            let value = |v: f64| 0.5 * (v - w).powi(2) + a * v.abs();
            let least = (0..=4000).map(|step| value(f64::from(step) * 1e-3)).fold(f64::INFINITY, f64::min);
            prop_assert!(found >= 0.0 && value(found) <= least + 1e-12);
        }
    }
}
