//! Step-size schedules, global and per weight.
//!
//! The step size of weight j at step t is η = h_t · a_j: a global part h_t ([`StepSize::at`]) and a part per weight
//! ([`StepSize::factor`]), which changes only when the weight is updated. A schedule has one or the other, never both,
//! so that pending shrinkage can be applied exactly (see [`crate::prox`]).
//!
//! | name | h_t | a_j |
//! |---|---|---|
//! | `constant` | c | 1 |
//! | `inverse-sqrt` | c/√t | 1 |
//! | `inverse` | c/t | 1 |
//! | `power` | c/t^q | 1 |
//! | `adagrad` | 1 | c/√(Σ g_j²) |
//! | `auto` | 1 | c/(s_j √(Σ g_j² ‖x/s‖²)), s_j = largest \|x_j\| so far |
//!
//! `auto` is scale-invariant: multiplying a feature by 1000 divides its weight by 1000 and changes no prediction, and
//! rows of large norm take smaller steps. When a value exceeds s_j, the weight is first multiplied by s_j/|x_j|
//! ([`StepSize::rescale_weight`]), because it was learned at the smaller scale. It follows Ross, Mineiro & Langford,
//! *Normalized Online Learning* (UAI 2013) on top of AdaGrad (Duchi, Hazan & Singer, JMLR 2011).

use serde::{Deserialize, Serialize};

use crate::data::ToF64s;

/// A step-size schedule.
pub trait StepSize {
    /// The state of a weight for its own part of the step size.
    type Cell: Copy + Default + PartialEq + ToF64s;
    /// The alignment of a weight's state: with [`CacheLine`], no large state lies in two cache lines.
    type Align: Copy + Default + PartialEq;
    /// Whether each weight has its own step size.
    const PER_WEIGHT: bool;
    /// h_t for step t = 1, 2, …
    fn at(&self, step: u64) -> f64;
    /// Observes a gradient. `row_norm` is ‖x/s‖² of the row, from [`StepSize::observe_value`].
    fn observe(&self, cell: &mut Self::Cell, gradient: f64, row_norm: f64);
    /// a_j.
    fn factor(&self, cell: &Self::Cell) -> f64;
    /// The factor by which a weight is multiplied before a value is used.
    #[inline]
    fn rescale_weight(&self, _cell: &Self::Cell, _value: f64) -> f64 {
        1.0
    }
    /// Observes a value before the update and returns its contribution to ‖x/s‖².
    #[inline]
    fn observe_value(&self, _cell: &mut Self::Cell, _value: f64) -> f64 {
        0.0
    }
}

/// A step size that is the same for all weights and decreases with time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// c: the first step.
    pub start: f64,
    /// q: the exponent; 0 is constant, ½ inverse square root, 1 inverse.
    pub power: f64,
}

/// Alignment to half a cache line, so that no state of 32 bytes lies in two lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub struct CacheLine;

impl StepSize for Schedule {
    type Cell = ();
    type Align = ();
    const PER_WEIGHT: bool = false;

    fn at(&self, step: u64) -> f64 {
        let t = step as f64;
        match self.power {
            0.0 => self.start,
            0.5 => self.start / t.sqrt(),
            1.0 => self.start / t,
            q => self.start * t.powf(-q),
        }
    }

    #[inline]
    fn observe(&self, _cell: &mut (), _gradient: f64, _row_norm: f64) {}

    #[inline]
    fn factor(&self, _cell: &()) -> f64 {
        1.0
    }
}

/// AdaGrad: a step size per weight, from its own gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveStep {
    /// c: the size of the first step.
    pub start: f64,
    /// Whether the scale of the feature and the length of the row are divided out (`auto`).
    pub scale_free: bool,
}

/// The state of [`AdaptiveStep`] for a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdaptiveCell {
    /// √(Σ g_j²), each term times ‖x/s‖² if scale-invariant. Storing the root makes reading the step size cheap.
    pub root: f64,
    /// 1/s_j, s_j being the largest |x_j| so far; 0 before the first.
    pub inverse: f64,
}

impl ToF64s for AdaptiveCell {
    const WIDTH: usize = 2;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.root, self.inverse]);
    }
    fn unpack(fields: &[f64]) -> Self {
        AdaptiveCell { root: fields[0], inverse: fields[1] }
    }
}

impl StepSize for AdaptiveStep {
    type Cell = AdaptiveCell;
    type Align = CacheLine;
    const PER_WEIGHT: bool = true;

    fn at(&self, _step: u64) -> f64 {
        1.0
    }

    /// A value larger than all before changes the scale of the feature. The weight is rescaled so that its contribution
    /// stays that of the largest value before; otherwise a weight learned on tiny values would give a huge prediction.
    #[inline]
    fn rescale_weight(&self, cell: &AdaptiveCell, value: f64) -> f64 {
        if self.scale_free { 1.0 / (value.abs() * cell.inverse).max(1.0) } else { 1.0 }
    }

    #[inline]
    fn observe_value(&self, cell: &mut AdaptiveCell, value: f64) -> f64 {
        if !self.scale_free {
            return 0.0;
        }
        // Both results are computed, so that several weights are at once.
        let (size, inverse) = (value.abs(), cell.inverse);
        let (relative, own) = (size * inverse, 1.0 / size);
        let is_largest = (inverse == 0.0) | (relative > 1.0);
        cell.inverse = if is_largest { own } else { inverse };
        if is_largest { 1.0 } else { relative * relative }
    }

    #[inline]
    fn observe(&self, cell: &mut AdaptiveCell, gradient: f64, row_norm: f64) {
        let weight = if self.scale_free { row_norm } else { 1.0 };
        cell.root = (cell.root * cell.root + gradient * gradient * weight).sqrt();
    }

    #[inline]
    fn factor(&self, cell: &AdaptiveCell) -> f64 {
        let start = if self.scale_free { self.start * cell.inverse } else { self.start };
        if cell.root > 0.0 { start / cell.root } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_by_hand() {
        let at = |power, step| Schedule { start: 2.0, power }.at(step);
        assert_eq!(at(0.0, 9), 2.0);
        assert_eq!(at(0.5, 4), 1.0);
        assert_eq!(at(1.0, 4), 0.5);
        assert!((at(0.25, 16) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn adagrad_by_hand() {
        let rate = AdaptiveStep { start: 0.5, scale_free: false };
        let mut cell = AdaptiveCell::default();
        assert_eq!(rate.factor(&cell), 0.0);
        rate.observe(&mut cell, 3.0, 7.0);
        rate.observe(&mut cell, -4.0, 7.0);
        assert_eq!(rate.factor(&cell), 0.1);
    }

    #[test]
    fn a_longer_unit_carries_less_weight() {
        let rate = AdaptiveStep { start: 0.5, scale_free: true };
        let mut cell = AdaptiveCell::default();
        assert_eq!(rate.rescale_weight(&cell, 5.0), 1.0, "the first value has nothing before it");
        rate.observe_value(&mut cell, -2.0);
        assert_eq!([0.5, -2.0, 8.0].map(|value| rate.rescale_weight(&cell, value)), [1.0, 1.0, 0.25]);
        assert_eq!(AdaptiveStep { scale_free: false, ..rate }.rescale_weight(&cell, 8.0), 1.0);
    }

    #[test]
    fn auto_is_free_of_scale() {
        let rate = AdaptiveStep { start: 0.5, scale_free: true };
        let step = |scale: f64| {
            let mut cell = AdaptiveCell::default();
            let mut weight = 0.0;
            for (value, slope) in [(1.0, -0.5), (3.0, 0.25), (2.0, -0.125)] {
                let norm = rate.observe_value(&mut cell, value * scale);
                rate.observe(&mut cell, slope * value * scale, norm);
                weight -= rate.factor(&cell) * slope * value * scale;
            }
            weight * scale
        };
        assert!((step(1.0) - step(1000.0)).abs() < 1e-12);
    }
}
