//! The numbers of a recipe, in one table: flags, checks and documentation are read from here.

use super::RecipeError;

/// A number of a recipe: its name, default, interval and meaning.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name, as a flag and in the recipe.
    pub name: &'static str,
    /// The value if nothing is said; NaN where the method decides.
    pub default: f64,
    /// The smallest value.
    pub low: f64,
    /// Whether `low` itself is allowed.
    pub closed: bool,
    /// The largest value, allowed.
    pub high: f64,
    /// What it does, in a line.
    pub help: &'static str,
}

impl Parameter {
    /// Whether a value lies in the interval.
    pub fn check(&self, value: f64) -> Result<(), RecipeError> {
        let above = if self.closed { value >= self.low } else { value > self.low };
        if above && value <= self.high {
            return Ok(());
        }
        let upper = if self.high.is_finite() { format!(" and at most {}", self.high) } else { String::new() };
        let lower = if self.closed { "of at least" } else { "above" };
        Err(RecipeError::Range { name: self.name, range: format!("{lower} {}{upper}", self.low), value })
    }
}

const INF: f64 = f64::INFINITY;
const BY_METHOD: f64 = f64::NAN;

/// Every number a recipe may carry.
pub const PARAMETERS: [Parameter; 20] = [
    Parameter {
        name: "penalty",
        default: BY_METHOD,
        low: 0.0,
        closed: true,
        high: INF,
        help: "strength of the pull to zero (λ₁, gravity g); more is sparser",
    },
    Parameter {
        name: "l2",
        default: 0.0,
        low: 0.0,
        closed: true,
        high: INF,
        help: "ridge strength (λ₂) of ftrl, fobos, rda",
    },
    Parameter {
        name: "learning-rate",
        default: BY_METHOD,
        low: 0.0,
        closed: false,
        high: INF,
        help: "size of the first step (c; α of ftrl)",
    },
    Parameter {
        name: "power",
        default: 0.5,
        low: 0.0,
        closed: true,
        high: 1.0,
        help: "how fast the rate `power` falls: c/t^q",
    },
    Parameter {
        name: "period",
        default: 1.0,
        low: 1.0,
        closed: true,
        high: 1e9,
        help: "steps between two truncations (K)",
    },
    Parameter {
        name: "threshold",
        default: BY_METHOD,
        low: 0.0,
        closed: true,
        high: INF,
        help: "θ: gravity acts on weights within ±θ; rounding zeroes those below it",
    },
    Parameter {
        name: "beta",
        default: 1.0,
        low: 0.0,
        closed: true,
        high: INF,
        help: "β of ftrl: steps below it are damped",
    },
    Parameter {
        name: "gamma",
        default: 2.0,
        low: 0.0,
        closed: false,
        high: INF,
        help: "γ of rda: the inverse of a learning rate",
    },
    Parameter {
        name: "rho",
        default: BY_METHOD,
        low: 0.0,
        closed: true,
        high: INF,
        help: "ρ: extra early sparsity of rda; stiffness of sadmm",
    },
    Parameter {
        name: "decay",
        default: 0.01,
        low: 0.0,
        closed: false,
        high: 1.0,
        help: "λ of fofs: decay, and ball of radius 1/√λ",
    },
    Parameter {
        name: "spread",
        default: 1.0,
        low: 0.0,
        closed: false,
        high: INF,
        help: "r of sofs: how much one example may change",
    },
    Parameter {
        name: "radius",
        default: BY_METHOD,
        low: 0.0,
        closed: false,
        high: INF,
        help: "B of two-stage and single-stage: the largest ‖w‖₁ (scaled units)",
    },
    Parameter {
        name: "first-epoch",
        default: 0.0,
        low: 0.0,
        closed: true,
        high: 1e15,
        help: "T₁ of two-stage: steps of the first epoch; 0 takes it from the data",
    },
    Parameter {
        name: "draws",
        default: 0.0,
        low: 0.0,
        closed: true,
        high: 1e9,
        help: "K of two-stage: draws of features, at most so many are kept; 0 takes it from epsilon and delta, or from the data",
    },
    Parameter {
        name: "polish",
        default: BY_METHOD,
        low: 0.0,
        closed: true,
        high: INF,
        help: "how far two-stage moves drawn weights towards the fit on the rows: 0 not at all; found from the rows",
    },
    Parameter {
        name: "epsilon",
        default: 0.0,
        low: 0.0,
        closed: true,
        high: INF,
        help: "ε of two-stage: the loss that drawing may add; 0 takes a twentieth of the loss while learning, if delta is given",
    },
    Parameter {
        name: "delta",
        default: 0.5,
        low: 0.0,
        closed: false,
        high: 1.0,
        help: "δ of two-stage: the chance that drawing adds more than epsilon",
    },
    Parameter {
        name: "huber",
        default: 1.345,
        low: 0.0,
        closed: false,
        high: INF,
        help: "δ of the Huber loss, in standard deviations of the target",
    },
    Parameter {
        name: "paths",
        default: 0.0,
        low: 0.0,
        closed: true,
        high: 1024.0,
        help: "paths of the stabilized learner; 0 takes 32, and fewer for many classes",
    },
    Parameter {
        name: "forget",
        default: 0.0,
        low: 0.0,
        closed: true,
        high: 1.0,
        help: "share of its evidence the stabilized learner forgets when it goes on with new data",
    },
];
