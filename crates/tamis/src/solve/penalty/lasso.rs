//! The lasso: P(β; λ) = λ|β| (Tibshirani 1996).

use super::{Penalty, PenaltyDefinition};
use crate::prox::soft_threshold;
use crate::recipe::{SolveRecipe, Solver};

/// The lasso penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lasso;

impl Penalty for Lasso {
    fn value(self, beta: f64, lambda: f64) -> f64 {
        lambda * beta.abs()
    }

    #[inline]
    fn prox(self, t: f64, lambda: f64) -> f64 {
        soft_threshold(t, lambda)
    }

    fn piece(self, _beta: f64, lambda: f64) -> (f64, f64) {
        (lambda, 0.0)
    }

    fn is_convex(self) -> bool {
        true
    }
}

impl PenaltyDefinition for Lasso {
    const SOLVER: Solver = Solver::Lasso;

    fn from_recipe(_recipe: &SolveRecipe) -> Self {
        Lasso
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Lasso.prox(-1.5, 1.0), -0.5);
        assert_eq!(Lasso.prox(-1.0, 1.0), 0.0);
        assert_eq!(Lasso.value(-2.0, 0.5), 1.0);
    }
}
