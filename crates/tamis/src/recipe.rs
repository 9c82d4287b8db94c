//! What to do, as plain data: a recipe names the learner, its numbers, the loss, the scaling and the seed.
//!
//! The command line and other languages make recipes, [`Recipe::check`] looks at them once, models keep them. Each
//! number stands in one table ([`PARAMETERS`]) with its default, its interval and its help; checks, command-line flags
//! and documentation are read from there.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::data::ScaleKind;
use crate::loss::LossKind;

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Stochastic gradient descent.
    Sgd,
    /// Shrink by gravity every K steps, only weights within ±θ.
    TruncatedGradient,
    /// Zero weights below θ every K steps.
    Rounding,
    /// Forward-backward splitting (L1 or elastic net).
    Fobos,
    /// Regularised dual averaging (L1 or elastic net).
    Rda,
    /// FTRL-proximal.
    Ftrl,
    /// Keep the k largest weights after each step.
    Tsgd,
    /// First-order online feature selection.
    Fofs,
    /// Second-order online feature selection.
    Sofs,
    /// Stochastic ADMM.
    Sadmm,
    /// Projection on an ℓ₁ ball after each step.
    SingleStage,
}

impl Method {
    /// All methods, in the order of the documentation.
    pub const ALL: [Method; 11] = [
        Method::Sgd,
        Method::TruncatedGradient,
        Method::Rounding,
        Method::Fobos,
        Method::Rda,
        Method::Ftrl,
        Method::Tsgd,
        Method::Fofs,
        Method::Sofs,
        Method::Sadmm,
        Method::SingleStage,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sgd => "sgd",
            Method::TruncatedGradient => "truncated-gradient",
            Method::Rounding => "rounding",
            Method::Fobos => "fobos",
            Method::Rda => "rda",
            Method::Ftrl => "ftrl",
            Method::Tsgd => "tsgd",
            Method::Fofs => "fofs",
            Method::Sofs => "sofs",
            Method::Sadmm => "sadmm",
            Method::SingleStage => "single-stage",
        }
    }

    /// One line for the help.
    pub fn about(self) -> &'static str {
        match self {
            Method::Sgd => "plain stochastic gradient descent, no sparsity",
            Method::TruncatedGradient => "gravity pulls small weights to zero (Langford, Li & Zhang)",
            Method::Rounding => "small weights are zeroed now and then",
            Method::Fobos => "soft threshold after each step; --l2 makes it an elastic net",
            Method::Rda => "regularised dual averaging; --l2 makes it an elastic net",
            Method::Ftrl => "FTRL-proximal, a step size for each weight: the default",
            Method::Tsgd => "keeps the k largest weights at each step (needs --k)",
            Method::Fofs => "first-order online feature selection (needs --k)",
            Method::Sofs => "second-order online feature selection: keeps the k surest weights (needs --k)",
            Method::Sadmm => "stochastic ADMM for L1; costs O(features) a row",
            Method::SingleStage => "projection on an l1 ball (--radius) at each step",
        }
    }

    /// Whether the number of features is a part of the algorithm and not a cut at the end.
    pub fn keeps_k(self) -> bool {
        matches!(self, Method::Tsgd | Method::Fofs | Method::Sofs)
    }

    /// Whether its rate is a free choice.
    pub fn takes_rate(self) -> bool {
        !matches!(self, Method::Rda | Method::Ftrl | Method::Sofs)
    }

    /// Whether its rate may differ between weights.
    pub fn takes_adaptive_rate(self) -> bool {
        matches!(self, Method::Sgd | Method::TruncatedGradient | Method::Rounding | Method::Fobos)
    }

    /// Whether its weights can be averaged over time.
    pub fn takes_average(self) -> bool {
        self.takes_adaptive_rate() || self == Method::Ftrl
    }
}

/// Which rule makes the step sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateKind {
    /// Free of scale: see [`crate::rate`].
    Auto,
    /// c.
    Constant,
    /// c/√t.
    InverseSqrt,
    /// c/t.
    Inverse,
    /// c/t^q.
    Power,
    /// c/√(Σ g²), each weight its own.
    Adagrad,
}

impl RateKind {
    /// All rates, in the order of the documentation.
    pub const ALL: [RateKind; 6] = [
        RateKind::Auto,
        RateKind::Constant,
        RateKind::InverseSqrt,
        RateKind::Inverse,
        RateKind::Power,
        RateKind::Adagrad,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            RateKind::Auto => "auto",
            RateKind::Constant => "constant",
            RateKind::InverseSqrt => "inverse-sqrt",
            RateKind::Inverse => "inverse",
            RateKind::Power => "power",
            RateKind::Adagrad => "adagrad",
        }
    }
}

/// What is done to each row before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowScale {
    /// Nothing.
    #[default]
    None,
    /// Values are divided by √(number of non-zeros) (001 section 3, caveat 1).
    SqrtCount,
}

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

const INF: f64 = f64::INFINITY;
const BY_METHOD: f64 = f64::NAN;

/// Every number a recipe may carry.
pub const PARAMETERS: [Parameter; 13] = [
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
        default: 10.0,
        low: 0.0,
        closed: false,
        high: INF,
        help: "B of single-stage: the largest ‖w‖₁ (scaled units)",
    },
    Parameter {
        name: "huber",
        default: 1.345,
        low: 0.0,
        closed: false,
        high: INF,
        help: "δ of the Huber loss, in standard deviations of the target",
    },
];

/// What is wrong with a recipe.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RecipeError {
    /// A number is outside its interval.
    #[error("{name} must be a number {range}, got {value}")]
    Range {
        /// The parameter.
        name: &'static str,
        /// Its interval in words.
        range: String,
        /// What was given.
        value: f64,
    },
    /// No such parameter.
    #[error("unknown parameter {0:?}")]
    Unknown(String),
    /// Two choices do not go together.
    #[error("{0}")]
    Clash(String),
}

/// Everything that decides what is learned from given data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recipe {
    /// The learner.
    pub method: Method,
    /// The loss; `None` lets the labels decide (logistic for classes, squared for numbers).
    pub loss: Option<LossKind>,
    /// The step-size rule; `None` takes the method's own.
    pub rate: Option<RateKind>,
    /// Exactly this many features.
    pub k: Option<usize>,
    /// Numbers that differ from their defaults, by name.
    #[serde(default)]
    pub numbers: std::collections::BTreeMap<String, f64>,
    /// How columns are scaled.
    pub scale: ScaleKind,
    /// How rows are scaled; `None` lets the loss decide.
    pub row_scale: Option<RowScale>,
    /// Passes over the data; `None` takes as many as small data needs.
    pub passes: Option<u32>,
    /// Whether rows are visited in random order; `None` does so whenever they are held for several passes.
    pub shuffle: Option<bool>,
    /// Whether there is an intercept.
    pub intercept: bool,
    /// Whether weights are averaged over all steps.
    pub average: bool,
    /// Whether the chosen weights are learned again without penalty.
    pub refit: bool,
    /// Bits of feature hashing.
    pub hash_bits: Option<u32>,
    /// The seed of all randomness.
    pub seed: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            method: Method::Ftrl,
            loss: None,
            rate: None,
            k: None,
            numbers: Default::default(),
            scale: ScaleKind::Auto,
            row_scale: None,
            passes: None,
            shuffle: None,
            intercept: true,
            average: false,
            refit: false,
            hash_bits: None,
            seed: 0,
        }
    }
}

impl Recipe {
    /// A recipe for a method, all else by default.
    pub fn new(method: Method) -> Self {
        Recipe { method, ..Recipe::default() }
    }

    /// Sets a number.
    pub fn set(mut self, name: &str, value: f64) -> Self {
        self.numbers.insert(name.to_string(), value);
        self
    }

    /// A number: what was set, or the default, which may depend on the method.
    ///
    /// # Panics
    /// If there is no such parameter: names in code are checked by tests.
    pub fn number(&self, name: &str) -> f64 {
        let parameter = PARAMETERS.iter().find(|parameter| parameter.name == name).expect("a known parameter");
        match self.numbers.get(name) {
            Some(&value) => value,
            None if parameter.default.is_nan() => self.method_default(name),
            None => parameter.default,
        }
    }

    fn method_default(&self, name: &str) -> f64 {
        match (name, self.method) {
            ("penalty", Method::Sgd | Method::Rounding) => 0.0,
            ("penalty", _) if self.k.is_some() => 0.0,
            ("penalty", Method::Ftrl) => 1.0,
            ("penalty", _) => 1e-4,
            ("learning-rate", Method::Fofs) => 0.2,
            ("learning-rate", Method::Fobos) => 1.0,
            ("learning-rate", _) if self.rate_kind() == RateKind::Inverse => 1.0,
            ("learning-rate", _) => 0.5,
            ("threshold", Method::Rounding) => 0.01,
            ("threshold", _) => INF,
            ("rho", Method::Sadmm) => 1.0,
            ("rho", _) => 0.0,
            _ => unreachable!("only parameters without a default ask the method"),
        }
    }

    /// The rate in force.
    pub fn rate_kind(&self) -> RateKind {
        self.rate.unwrap_or(match self.method {
            Method::Fofs => RateKind::Constant,
            Method::Fobos | Method::Tsgd | Method::Sadmm | Method::SingleStage => RateKind::InverseSqrt,
            _ => RateKind::Auto,
        })
    }

    /// The row scaling in force.
    pub fn row_scaling(&self) -> RowScale {
        let by_loss = if self.loss == Some(LossKind::ClippedSquared) { RowScale::SqrtCount } else { RowScale::None };
        self.row_scale.unwrap_or(by_loss)
    }

    /// Looks at every number and every pair of choices once.
    pub fn check(&self) -> Result<(), RecipeError> {
        for (name, &value) in &self.numbers {
            let found = PARAMETERS.iter().find(|parameter| parameter.name == name);
            let parameter = found.ok_or_else(|| RecipeError::Unknown(name.clone()))?;
            parameter.check(value)?;
        }
        self.check_choices()
    }

    fn check_choices(&self) -> Result<(), RecipeError> {
        let method = self.method.name();
        let clash = |text: String| Err(RecipeError::Clash(text));
        if self.k == Some(0) {
            return clash("--k must be at least 1".into());
        }
        if self.k.is_some() && self.numbers.contains_key("penalty") {
            return clash("--k and --penalty both say how sparse the model is: give one of them".into());
        }
        if self.refit && self.k.is_none() && self.number("penalty") == 0.0 && self.method != Method::Rounding {
            return clash("--refit needs something chosen first: give --k or --penalty".into());
        }
        if self.rate.is_some() && !self.method.takes_rate() {
            return clash(format!("{method} has a step size of its own: leave --rate out"));
        }
        let adaptive = matches!(self.rate, Some(RateKind::Auto | RateKind::Adagrad));
        if adaptive && !self.method.takes_adaptive_rate() {
            return clash(format!("{method} needs one rate for all weights: constant, inverse-sqrt, inverse or power"));
        }
        if self.average && !self.method.takes_average() {
            return clash(format!(
                "{method} cannot average its weights: use sgd, truncated-gradient, rounding, fobos or ftrl"
            ));
        }
        let l2 = self.number("l2") > 0.0;
        if l2 && !matches!(self.method, Method::Ftrl | Method::Fobos | Method::Rda) {
            return clash(format!("{method} has no --l2: use ftrl, fobos or rda"));
        }
        if l2
            && self.average
            && matches!(self.rate_kind(), RateKind::Auto | RateKind::Adagrad)
            && self.method == Method::Fobos
        {
            return clash("fobos with --l2 and --average needs a rate that is the same for all weights".into());
        }
        if self.method == Method::Sadmm && self.number("rho") == 0.0 {
            return clash("sadmm needs --rho above 0".into());
        }
        if self.hash_bits.is_some_and(|bits| !(1..=31).contains(&bits)) {
            return clash("--hash-bits must lie between 1 and 31".into());
        }
        if self.passes == Some(0) {
            return clash("--passes must be at least 1".into());
        }
        Ok(())
    }
}

impl Parameter {
    fn check(&self, value: f64) -> Result<(), RecipeError> {
        let above = if self.closed { value >= self.low } else { value > self.low };
        if above && value <= self.high {
            return Ok(());
        }
        let upper = if self.high.is_finite() { format!(" and at most {}", self.high) } else { String::new() };
        let lower = if self.closed { "of at least" } else { "above" };
        Err(RecipeError::Range { name: self.name, range: format!("{lower} {}{upper}", self.low), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_allowed_for_every_method() {
        for method in Method::ALL {
            let recipe = Recipe::new(method);
            assert_eq!(recipe.check(), Ok(()), "{method:?}");
            for parameter in &PARAMETERS {
                assert_eq!(parameter.check(recipe.number(parameter.name)), Ok(()), "{method:?} {}", parameter.name);
            }
        }
    }

    #[test]
    fn bad_numbers_are_told_with_their_interval() {
        let text = |name, value| Recipe::default().set(name, value).check().unwrap_err().to_string();
        assert_eq!(text("penalty", -0.1), "penalty must be a number of at least 0, got -0.1");
        assert_eq!(text("learning-rate", 0.0), "learning-rate must be a number above 0, got 0");
        assert_eq!(text("power", 2.0), "power must be a number of at least 0 and at most 1, got 2");
        assert_eq!(text("gamma", f64::NAN), "gamma must be a number above 0, got NaN");
        assert_eq!(text("gama", 1.0), "unknown parameter \"gama\"");
    }

    #[test]
    fn clashes_say_what_to_do() {
        let clash = |recipe: Recipe| recipe.check().unwrap_err().to_string();
        assert!(clash(Recipe { k: Some(3), ..Recipe::default() }.set("penalty", 1.0)).contains("give one of them"));
        assert!(clash(Recipe { average: true, ..Recipe::new(Method::Rda) }).contains("cannot average"));
        assert!(clash(Recipe { rate: Some(RateKind::Auto), ..Recipe::new(Method::Tsgd) }).contains("one rate"));
        assert!(clash(Recipe { rate: Some(RateKind::Auto), ..Recipe::new(Method::Rda) }).contains("of its own"));
        assert!(clash(Recipe::new(Method::Sgd).set("l2", 1.0)).contains("no --l2"));
    }

    #[test]
    fn recipes_survive_json() {
        let recipe = Recipe { k: Some(5), ..Recipe::new(Method::SingleStage) }.set("radius", 2.5);
        let text = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
        assert!(text.contains("\"single-stage\""));
    }
}
