//! What to do, as plain data: a recipe names the learner, its numbers, the loss, the scaling and the seed.
//!
//! The command line and other languages make recipes, [`Recipe::check`] looks at them once, models keep them. Each
//! number stands in one table ([`PARAMETERS`]) with its default, its interval and its help; checks, command-line flags
//! and documentation are read from there.

mod choices;
mod parameters;
mod solving;

pub use choices::{Law, Method, RateKind};
pub use parameters::{PARAMETERS, Parameter};
pub use solving::{Criterion, Origin, SolveRecipe, Solver};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::data::{RowScale, ScaleKind, TargetOptions};
use crate::loss::LossKind;
use crate::stabilized::published::Settings as PaperSettings;

/// The [`Recipe::key`] of rows that go by their number in the stream.
pub const ROW_NUMBER: &str = "#row";

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
    /// The column (or feature) that tells rows apart: the halves of `stabilized` are drawn by it. [`ROW_NUMBER`] stands
    /// for the row's number in the stream, `None` for the whole content of a row.
    #[serde(default)]
    pub key: Option<String>,
    /// `stabilized` as it was published, with these numbers.
    #[serde(default)]
    pub paper: Option<PaperSettings>,
    /// How `two-stage` draws features; `None` takes the distribution's law.
    #[serde(default)]
    pub law: Option<Law>,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            method: Method::Stabilized,
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
            key: None,
            paper: None,
            law: None,
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
            ("penalty", Method::Ftrl) => 3.0,
            ("penalty", _) => 1e-4,
            ("learning-rate", Method::Fofs) => 0.2,
            ("learning-rate", Method::Fobos) => 1.0,
            ("learning-rate", Method::TwoStage) => 0.05,
            ("learning-rate", _) if self.rate_kind() == RateKind::Inverse => 1.0,
            ("learning-rate", _) => 0.5,
            ("threshold", Method::Rounding) => 0.01,
            ("threshold", _) => f64::INFINITY,
            ("rho", Method::Sadmm) => 1.0,
            ("rho", _) => 0.0,
            ("radius", _) => 10.0,
            // Where nothing was found from the rows.
            ("polish", _) => 0.0,
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

    /// The column scaling in force: the stabilized learner and the two-stage one have standards of their own.
    pub fn scaling(&self) -> ScaleKind {
        match (self.scale, self.method) {
            (ScaleKind::Auto, Method::Stabilized) if self.paper.is_some() => ScaleKind::UnitVariance,
            (ScaleKind::Auto, Method::Stabilized) => ScaleKind::Half,
            (ScaleKind::Auto, Method::TwoStage) => ScaleKind::MaxAbs,
            (scale, _) => scale,
        }
    }

    /// Whether the order in which rows come matters. The stabilized learner visits them in an order made of what they hold.
    pub fn follows_order(&self) -> bool {
        self.method != Method::Stabilized || self.paper.is_some()
    }

    /// What the recipe says about targets.
    pub fn target_options(&self) -> TargetOptions {
        let standardize = self.scale != ScaleKind::None;
        TargetOptions { loss: self.loss, huber_delta: self.number("huber"), standardize }
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
        if self.method == Method::Stabilized {
            self.check_stabilized()?;
        } else if self.paper.is_some() {
            return clash(format!("--preset paper is a form of stabilized: leave --method {method} out"));
        } else if self.key.is_some() {
            return clash(format!("{method} has no use for --key: only stabilized draws halves of the rows"));
        }
        if self.method == Method::TwoStage {
            self.check_two_stage()?;
        } else if self.law.is_some() {
            return clash(format!("{method} draws no features: --law is a choice of two-stage"));
        } else if self.numbers.contains_key("polish") {
            return clash(format!("{method} draws no features: --polish is a number of two-stage"));
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
        if self.key.is_some() && self.hash_bits.is_some() {
            return clash(
                "--key goes by the name of a feature, and --hash-bits keeps no names: leave one of them out".into(),
            );
        }
        if self.passes == Some(0) {
            return clash("--passes must be at least 1".into());
        }
        Ok(())
    }
}

impl Recipe {
    fn check_two_stage(&self) -> Result<(), RecipeError> {
        let clash = |text: &str| Err(RecipeError::Clash(text.into()));
        let is_set = |name: &str| self.numbers.get(name).is_some_and(|&number| number > 0.0);
        if self.numbers.contains_key("penalty") {
            return clash("two-stage has no --penalty: give --k, --draws or --epsilon");
        }
        let sizes = [self.k.is_some(), is_set("draws"), is_set("epsilon")];
        if sizes.into_iter().filter(|given| *given).count() > 1 {
            return clash("--k, --draws and --epsilon all say how many features are drawn: give one of them");
        }
        Ok(())
    }

    fn check_stabilized(&self) -> Result<(), RecipeError> {
        let clash = |text: &str| Err(RecipeError::Clash(text.into()));
        if self.numbers.contains_key("penalty") {
            return clash("stabilized has no --penalty: give --k, or nothing to let the data choose");
        }
        if let Some(settings) = &self.paper {
            if self.k.is_some() {
                return clash("--preset paper finds its own size: leave --k out");
            }
            settings.check().map_err(|error| RecipeError::Clash(error.to_string()))?;
        }
        if self.refit {
            return clash("stabilized needs no --refit: it fits its weights by itself, as far as that helps");
        }
        if self.loss == Some(LossKind::ClippedSquared) {
            return clash("stabilized does not take the clipped-squared loss: use truncated-gradient");
        }
        Ok(())
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
        let two_stage = Recipe::new(Method::TwoStage);
        assert!(clash(two_stage.clone().set("penalty", 1.0)).contains("no --penalty"));
        assert!(clash(two_stage.clone().set("draws", 9.0).set("epsilon", 0.1)).contains("give one of them"));
        assert!(clash(Recipe { k: Some(3), ..two_stage }.set("draws", 9.0)).contains("give one of them"));
        assert!(clash(Recipe { law: Some(Law::Magnitude), ..Recipe::new(Method::Sgd) }).contains("draws no features"));
    }

    #[test]
    fn recipes_survive_json() {
        let recipe = Recipe { k: Some(5), ..Recipe::new(Method::SingleStage) }.set("radius", 2.5);
        let text = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
        assert!(text.contains("\"single-stage\""));
    }
}
