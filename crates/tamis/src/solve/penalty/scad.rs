//! The smoothly clipped absolute deviation (Fan & Li 2001): λ|β| up to λ, a parabola up to aλ, constant beyond.

use super::{Penalty, PenaltyDefinition};
use crate::prox::soft_threshold;
use crate::recipe::{SolveRecipe, Solver};

/// The smoothly clipped absolute deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scad {
    /// a > 2: the larger, the more it is like the lasso.
    pub concavity: f64,
}

impl Penalty for Scad {
    fn value(self, beta: f64, lambda: f64) -> f64 {
        let (size, a) = (beta.abs(), self.concavity);
        if size <= lambda {
            lambda * size
        } else if size <= a * lambda {
            (2.0 * a * lambda * size - size * size - lambda * lambda) / (2.0 * (a - 1.0))
        } else {
            lambda * lambda * (a + 1.0) / 2.0
        }
    }

    #[inline]
    fn prox(self, t: f64, lambda: f64) -> f64 {
        let a = self.concavity;
        if t.abs() <= 2.0 * lambda {
            soft_threshold(t, lambda)
        } else if t.abs() <= a * lambda {
            soft_threshold(t, a * lambda / (a - 1.0)) / (1.0 - 1.0 / (a - 1.0))
        } else {
            t
        }
    }

    fn piece(self, beta: f64, lambda: f64) -> (f64, f64) {
        let (size, a) = (beta.abs(), self.concavity);
        if size <= lambda {
            (lambda, 0.0)
        } else if size <= a * lambda {
            (a * lambda / (a - 1.0), -1.0 / (a - 1.0))
        } else {
            (0.0, 0.0)
        }
    }

    fn is_convex(self) -> bool {
        false
    }
}

impl PenaltyDefinition for Scad {
    const SOLVER: Solver = Solver::Scad;

    fn from_recipe(recipe: &SolveRecipe) -> Self {
        Scad { concavity: recipe.concavity() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Scad { concavity: 3.0 }.prox(2.5, 1.0), 2.0);
        assert_eq!(Scad { concavity: 3.0 }.prox(-3.5, 1.0), -3.5);
    }
}
