//! The minimax concave penalty (Zhang 2010): λ|β| − β²/(2b) up to |β| = bλ, constant beyond.

use super::{Penalty, PenaltyDefinition};
use crate::prox::soft_threshold;
use crate::recipe::{SolveRecipe, Solver};

/// The minimax concave penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mcp {
    /// b > 1: the larger, the more it is like the lasso.
    pub concavity: f64,
}

impl Penalty for Mcp {
    fn value(self, beta: f64, lambda: f64) -> f64 {
        let (size, b) = (beta.abs(), self.concavity);
        if size <= b * lambda { lambda * size - size * size / (2.0 * b) } else { b * lambda * lambda / 2.0 }
    }

    #[inline]
    fn prox(self, t: f64, lambda: f64) -> f64 {
        let b = self.concavity;
        if t.abs() <= b * lambda { soft_threshold(t, lambda) / (1.0 - 1.0 / b) } else { t }
    }

    fn piece(self, beta: f64, lambda: f64) -> (f64, f64) {
        if beta.abs() <= self.concavity * lambda { (lambda, -1.0 / self.concavity) } else { (0.0, 0.0) }
    }

    fn is_convex(self) -> bool {
        false
    }
}

impl PenaltyDefinition for Mcp {
    const SOLVER: Solver = Solver::Mcp;

    fn from_recipe(recipe: &SolveRecipe) -> Self {
        Mcp { concavity: recipe.concavity() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Mcp { concavity: 2.0 }.prox(1.5, 1.0), 1.0);
        assert_eq!(Mcp { concavity: 2.0 }.prox(-2.5, 1.0), -2.5);
    }
}
