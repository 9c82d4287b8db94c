//! The elastic net: P(β; λ) = λ(ρ|β| + (1 − ρ)β²/2) (Zou & Hastie 2005).
//!
//! The ridge part depends on the unit of the target, as in scikit-learn: where the target varies much, a share ρ near 1 or a
//! refit keeps it from shrinking everything.

use super::{Penalty, PenaltyDefinition};
use crate::prox::soft_threshold;
use crate::recipe::{SolveRecipe, Solver};

/// The elastic-net penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElasticNet {
    /// ρ in (0, 1]: the L1 share.
    pub l1_ratio: f64,
}

impl Penalty for ElasticNet {
    fn value(self, beta: f64, lambda: f64) -> f64 {
        let size = beta.abs();
        lambda * (self.l1_ratio * size + (1.0 - self.l1_ratio) * size * size / 2.0)
    }

    #[inline]
    fn prox(self, t: f64, lambda: f64) -> f64 {
        soft_threshold(t, self.l1_ratio * lambda) / (1.0 + (1.0 - self.l1_ratio) * lambda)
    }

    fn piece(self, _beta: f64, lambda: f64) -> (f64, f64) {
        (self.l1_ratio * lambda, (1.0 - self.l1_ratio) * lambda)
    }

    fn zero_threshold(self, lambda: f64) -> f64 {
        self.l1_ratio * lambda
    }

    fn is_convex(self) -> bool {
        true
    }
}

impl PenaltyDefinition for ElasticNet {
    const SOLVER: Solver = Solver::ElasticNet;

    fn from_recipe(recipe: &SolveRecipe) -> Self {
        ElasticNet { l1_ratio: recipe.l1_ratio() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(ElasticNet { l1_ratio: 0.5 }.prox(3.0, 2.0), 1.0);
        assert_eq!(ElasticNet { l1_ratio: 0.5 }.zero_threshold(2.0), 1.0);
    }
}
