//! Penalties on one standardised coefficient, one file each, and the minimiser each has in one dimension.
//!
//! Source: Sun et al. 2018, section 3.5, equations (11) and (12); MCP: Zhang 2010; SCAD: Fan & Li 2001; elastic net:
//! Zou & Hastie 2005. On standardised moments the curvature of the loss in one coordinate is 1, so coordinate descent
//! needs
//! ```text
//! Θ(t; λ) = argmin_β  ½β² − tβ + P(β; λ)
//! lasso        S(t, λ)                     S(t, a) = sign(t)·max(|t| − a, 0)
//! elastic net  S(t, ρλ)/(1 + (1 − ρ)λ)
//! MCP          S(t, λ)/(1 − 1/b) up to |t| = bλ, then t                                                (12)
//! SCAD         S(t, λ) up to 2λ, S(t, aλ/(a − 1))/(1 − 1/(a − 1)) up to aλ, then t
//! ```
//! | symbol | parameter | default |
//! |---|---|---|
//! | λ | `lambda` | by k, by a criterion or given; in units of the target, as scikit-learn's `alpha` on standardised columns |
//! | ρ | `l1_ratio` | 0.5, scikit-learn's `l1_ratio` |
//! | b | `concavity` of MCP | 3, Breheny & Huang 2011 |
//! | a | `concavity` of SCAD | 3.7, Fan & Li 2001 |
//!
//! Departure (E26): the paper takes gradient steps with Θ(·; ηλ), which is not the proximal map of ηP for MCP; with
//! coordinate descent the curvature is 1 and (12) is exact.
//!
//! To add a penalty, write one file with `impl Penalty` and `impl PenaltyDefinition`, add one line to the list
//! `penalties!` below, and one row to the table of solvers in `recipe/solve.rs`.

mod elastic_net;
mod lasso;
mod mcp;
mod scad;

pub use elastic_net::ElasticNet;
pub use lasso::Lasso;
pub use mcp::Mcp;
pub use scad::Scad;

use crate::recipe::{SolveRecipe, Solver};

/// A penalty P(β; λ), symmetric in β, with a kink at zero; λ is given with each question.
///
/// Laws: [`Penalty::prox`] minimises ½β² − tβ + P(β; λ); [`Penalty::piece`] is the derivative of [`Penalty::value`].
pub trait Penalty: Copy {
    /// P(β; λ).
    fn value(self, beta: f64, lambda: f64) -> f64;

    /// Θ(t; λ): the proximal map.
    fn prox(self, t: f64, lambda: f64) -> f64;

    /// Where β ≠ 0 the slope is l·sign(β) + q·β: the l and q of the piece that β lies in.
    fn piece(self, beta: f64, lambda: f64) -> (f64, f64);

    /// A coefficient of zero stays zero while the size of its gradient is at most this.
    fn zero_threshold(self, lambda: f64) -> f64 {
        lambda
    }

    /// Whether it is convex with one piece for all β: then the problem has a duality gap.
    fn is_convex(self) -> bool;
}

/// A penalty of the library: how a recipe names it.
pub trait PenaltyDefinition: Penalty {
    /// Its name as a solver.
    const SOLVER: Solver;

    /// The penalty with the parameters of a recipe.
    fn from_recipe(recipe: &SolveRecipe) -> Self;
}

/// Makes [`AnyPenalty`] of a list of penalties.
macro_rules! penalties {
    ($($Penalty:ident,)*) => {
        /// Any of the penalties.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each arm is named for the penalty it holds")]
        pub enum AnyPenalty { $($Penalty($Penalty),)* }

        impl AnyPenalty {
            /// The penalty of a recipe, if its solver has one.
            pub fn of(recipe: &SolveRecipe) -> Option<Self> {
                $(if recipe.method == <$Penalty as PenaltyDefinition>::SOLVER {
                    return Some(AnyPenalty::$Penalty(<$Penalty as PenaltyDefinition>::from_recipe(recipe)));
                })*
                None
            }
        }

        impl Penalty for AnyPenalty {
            fn value(self, beta: f64, lambda: f64) -> f64 {
                match self { $(AnyPenalty::$Penalty(penalty) => penalty.value(beta, lambda),)* }
            }
            #[inline]
            fn prox(self, t: f64, lambda: f64) -> f64 {
                match self { $(AnyPenalty::$Penalty(penalty) => penalty.prox(t, lambda),)* }
            }
            fn piece(self, beta: f64, lambda: f64) -> (f64, f64) {
                match self { $(AnyPenalty::$Penalty(penalty) => penalty.piece(beta, lambda),)* }
            }
            fn zero_threshold(self, lambda: f64) -> f64 {
                match self { $(AnyPenalty::$Penalty(penalty) => penalty.zero_threshold(lambda),)* }
            }
            fn is_convex(self) -> bool {
                match self { $(AnyPenalty::$Penalty(penalty) => penalty.is_convex(),)* }
            }
        }

        $(impl From<$Penalty> for AnyPenalty {
            fn from(penalty: $Penalty) -> Self {
                AnyPenalty::$Penalty(penalty)
            }
        })*
    };
}

penalties! {
    Lasso,
    ElasticNet,
    Mcp,
    Scad,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every penalty of the table of solvers, with parameters by default.
    fn all() -> Vec<AnyPenalty> {
        Solver::ALL.into_iter().filter_map(|solver| AnyPenalty::of(&SolveRecipe::new(solver))).collect()
    }

    #[test]
    fn penalised_solvers_have_penalties() {
        for solver in Solver::ALL {
            assert_eq!(AnyPenalty::of(&SolveRecipe::new(solver)).is_some(), solver.is_penalised(), "{solver:?}");
        }
    }

    #[test]
    fn the_prox_minimises() {
        for penalty in all() {
            for lambda in [0.3, 1.0] {
                for step in -60..=60 {
                    let t = f64::from(step) / 10.0;
                    let cost = |beta: f64| 0.5 * beta * beta - t * beta + penalty.value(beta, lambda);
                    let found = penalty.prox(t, lambda);
                    let best = (-8000..=8000).map(|i| cost(f64::from(i) / 1000.0)).fold(f64::INFINITY, f64::min);
                    assert!(cost(found) <= best + 1e-12, "{penalty:?} {lambda} {t}: {found}");
                    let stays = t.abs() <= penalty.zero_threshold(lambda);
                    assert_eq!(found == 0.0, stays, "{penalty:?} {lambda} {t}: {found}");
                }
            }
        }
    }

    #[test]
    fn pieces_are_slopes_and_join() {
        for penalty in all() {
            for size in [0.05, 0.4, 0.9, 1.3, 2.0, 2.9, 3.5, 5.0] {
                let (l, q) = penalty.piece(size, 1.0);
                let slope = (penalty.value(size + 1e-6, 1.0) - penalty.value(size - 1e-6, 1.0)) / 2e-6;
                assert!((l + q * size - slope).abs() < 1e-6, "{penalty:?} {size}");
                assert_eq!(penalty.value(-size, 1.0), penalty.value(size, 1.0));
            }
        }
    }

    /// The soft threshold of one table of signs: what coordinate descent relies on.
    #[test]
    fn zero_keeps_the_sign_of_its_argument() {
        for t in [-0.0, 0.0, -0.25, 0.25] {
            assert_eq!(Lasso.prox(t, 1.0).to_bits(), (t.signum() * 0.0_f64).to_bits(), "{t:?}");
        }
    }
}
