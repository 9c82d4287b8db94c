//! Recipes: the method with its parameters, the loss, the scaling and the seed, as plain data.
//!
//! Each method has a struct of parameters ([`params`](self)), made of a table: name, type, default, range, help. The
//! tables give checks, flags of the command line, axes of a search, and signatures and documentation in Python. Front
//! ends set parameters by name ([`Recipe::set`]); [`Recipe::check`] validates a recipe; models store it.

mod choices;
mod class_weight;
mod error;
mod interactions;
mod method;
mod params;
mod signs;
mod solve;
pub mod table;

pub use choices::{Count, Curve, Evidence, FrequencyFamily, InputKind, SamplingLaw, ScheduleKind};
pub use class_weight::ClassWeight;
pub use error::RecipeError;
pub use interactions::Interactions;
pub use method::{Family, Method, MethodInfo, MethodParams, Schedules};
pub use params::*;
pub use signs::{Sign, Signs};
pub use solve::{Criterion, Provenance, SolveRecipe, Solver, SolverKind};
pub use table::{Entry, Kind, Param, Params, Range};

use crate::data::{RowScale, ScaleKind, TargetOptions};
use crate::loss::{LossKind, LossShape};
use crate::param::{ParamName, names};
use table::params;

/// The [`StabilizedParams::row_id`] that identifies rows by their number in the stream.
pub const ROW_NUMBER: &str = "#row";

params! {
    /// Everything that decides what is learned from given data.
    pub struct Recipe {
        also
        /// The method and its parameters.
        method: MethodParams = MethodParams::Stabilized(StabilizedParams::default());
        /// The loss [default: logistic for classes, squared for numbers].
        loss: Option<LossKind> = None, LOSS;
        /// δ of the Huber loss, in standard deviations of the target.
        huber_delta: f64 = 1.345, HUBER_DELTA, Range::above(0.0);
        /// τ of the quantile loss: the share of labels below the prediction.
        quantile: f64 = 0.5, QUANTILE, Range::above(0.0).below(1.0);
        /// Exactly this many features; with a refit their weights are learned alone.
        k: Option<usize> = None, K, Range::at_least(1.0);
        /// Scaling of columns; the model takes raw values in any case.
        scale: ScaleKind = ScaleKind::Auto, SCALE;
        /// Scaling of rows [default: none, sqrt-count for the clipped-squared loss].
        row_scale: Option<RowScale> = None, ROW_SCALE;
        /// Passes over the data [default: 1, more for small data].
        passes: Option<u32> = None, PASSES, Range::at_least(1.0);
        /// Visit rows in random order [default: for several passes, and for two-stage].
        shuffle: Option<bool> = None, SHUFFLE;
        /// Whether there is an intercept.
        intercept: bool = true, INTERCEPT;
        /// Fit the chosen features again without penalty [default: if k cuts the weights of a method at the end, and rows
        /// are stored: not with one pass, nor where another training is continued].
        refit: Option<bool> = None, REFIT;
        /// Weights of classes, by which those of their rows are multiplied: balanced (the same total for each), or pairs
        /// such as yes=5,no=1. Probabilities and held-out errors are those of the weighted rows.
        class_weight: Option<ClassWeight> = None, CLASS_WEIGHT;
        /// Products of columns, or of namespaces of Vowpal Wabbit, as features: pairs such as a*b,a*c. A column of
        /// categories gives a product for each category.
        interactions: Option<Interactions> = None, INTERACTIONS;
        /// Column that is added to the prediction with weight 1; for the poisson loss, the logarithm of the exposure. It needs
        /// a loss of numbers, and is no feature.
        offset: Option<String> = None, OFFSET;
        /// Hash names into 2^BITS features to bound memory.
        hash_bits: Option<u32> = None, HASH_BITS, Range::at_least(1.0).at_most(31.0);
        /// Seed of all randomness.
        seed: u64 = 0, SEED, Range::at_least(0.0);
    }
}

impl Recipe {
    /// A recipe for a method with default parameters.
    pub fn new(method: Method) -> Self {
        Recipe { method: method.with_defaults(), ..Recipe::default() }
    }

    /// Sets a parameter from text: one of the method, or one that all methods have. `method` takes another method with
    /// its defaults.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), RecipeError> {
        if name == names::METHOD.name {
            let unknown = || RecipeError::Value {
                param: names::METHOD,
                expected: format!("one of {}", Method::ALL.map(Method::name).join(", ")),
                found: format!("{text:?}"),
            };
            self.method = Method::of_name(text).ok_or_else(unknown)?.with_defaults();
            return Ok(());
        }
        if self.method.kind().has(name) || !self.assign(name, text)? {
            return self.method.set(name, text);
        }
        Ok(())
    }

    /// The recipe with a parameter set.
    ///
    /// # Panics
    /// If there is no such parameter, or if the value is not of its type.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.set(name, &value.to_string()).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// A parameter as text, of the method or of all methods; `None` if it is not given.
    pub fn get(&self, name: &str) -> Option<String> {
        let own = || self.entries().into_iter().find(|entry| entry.param.name.name == name)?.value;
        if self.method.kind().has(name) { self.method.get(name) } else { own() }
    }

    /// λ₁ in force, for methods that have it.
    pub fn l1(&self) -> Option<f64> {
        self.method.l1(self.k)
    }

    /// The column that identifies a row, for the method that asks for it; [`ROW_NUMBER`] stands for the row's number in
    /// the stream.
    pub fn row_id(&self) -> Option<&str> {
        if let MethodParams::Stabilized(params) = &self.method { params.row_id.as_deref() } else { None }
    }

    /// Whether the chosen features are fitted again. Weights that are cut to k at the end would be wrong without the others,
    /// so they are where rows can be visited again.
    pub fn refits(&self) -> bool {
        let info = self.method.info();
        let is_cut = self.k.is_some() && info.family == Family::Online && !info.keeps_k;
        self.refit.unwrap_or(is_cut && self.passes != Some(1))
    }

    /// The column scaling in force.
    pub fn scaling(&self) -> ScaleKind {
        if self.scale == ScaleKind::Auto { self.method.info().scale } else { self.scale }
    }

    /// Whether columns may be centred. A model without intercept, and one whose rows are scaled, could not undo it; the
    /// published algorithm does not do it.
    pub fn may_centre(&self) -> bool {
        match self.method.kind() {
            Method::Stabilized => true,
            Method::StabilizedPublished => self.scale == ScaleKind::SqrtStd,
            _ => self.intercept && self.row_scaling() == RowScale::None,
        }
    }

    /// What the recipe says about targets.
    pub fn target_options(&self) -> TargetOptions {
        let standardize = self.scale != ScaleKind::None;
        TargetOptions { loss: self.loss, shape: self.loss.map_or(1.0, |loss| self.loss_shape(loss)), standardize }
    }

    /// The parameter of a loss; 1 if it has none.
    pub fn loss_shape(&self, loss: LossKind) -> f64 {
        match loss.facts().shape {
            Some(LossShape::HuberDelta) => self.huber_delta,
            Some(LossShape::Quantile) => self.quantile,
            None => 1.0,
        }
    }

    /// The row scaling in force.
    pub fn row_scaling(&self) -> RowScale {
        let is_divided = self.loss.is_some_and(|loss| loss.facts().divides_rows);
        self.row_scale.unwrap_or(if is_divided { RowScale::SqrtCount } else { RowScale::None })
    }

    /// Validates every parameter and their combinations.
    pub fn check(&self) -> Result<(), RecipeError> {
        self.check_ranges()?;
        self.method.params().check_ranges()?;
        if self.k.is_some() && self.method.get(names::L1.name).is_some() {
            return exclusive(&[names::K, names::L1], "both determine how sparse the model is");
        }
        if self.refit == Some(true) && self.is_dense() {
            let params = vec![names::K, names::L1];
            return Err(RecipeError::Missing { what: names::REFIT.into(), params, note: ", to select features first" });
        }
        self.check_loss()?;
        self.check_rows()?;
        self.check_schedule()?;
        match &self.method {
            MethodParams::Stabilized(params) => self.check_stabilized(params),
            MethodParams::StabilizedPublished(_) if self.k.is_some() => {
                self.unsupported(names::K, "it finds its own size")
            }
            MethodParams::StabilizedPublished(_) => self.check_staged(),
            MethodParams::TwoStage(params) => self.check_two_stage(params),
            MethodParams::Kernel(params) => self.check_kernel(params),
            MethodParams::Fobos(params)
                if params.l2 > 0.0 && params.average && params.steps().schedule.is_adaptive() =>
            {
                let reason = "an elastic net with averaged weights needs a schedule with one rate for all weights";
                self.unsupported(names::AVERAGE, reason)
            }
            _ => Ok(()),
        }
    }

    /// Whether no parameter makes the model sparse.
    fn is_dense(&self) -> bool {
        let dense = matches!(self.method, MethodParams::Sgd(_)) || self.l1() == Some(0.0);
        self.k.is_none() && dense
    }

    fn unsupported(&self, param: ParamName, reason: &'static str) -> Result<(), RecipeError> {
        Err(RecipeError::Unsupported { method: self.method.name(), param: param.into(), reason })
    }

    fn check_loss(&self) -> Result<(), RecipeError> {
        let is_online = self.method.info().family == Family::Online;
        match self.loss.filter(|loss| loss.facts().is_online_only && !is_online) {
            Some(loss) => Err(RecipeError::Unsupported {
                method: self.method.name(),
                param: names::LOSS.with(loss.name()),
                reason: "use an online learner such as ftrl or truncated-gradient",
            }),
            None => Ok(()),
        }
    }

    fn check_rows(&self) -> Result<(), RecipeError> {
        if self.interactions.is_some() && self.row_scaling() != RowScale::None {
            return exclusive(&[names::INTERACTIONS, names::ROW_SCALE], "products would change the scale of their row");
        }
        if self.hash_bits.is_some() && self.method.signs().is_some_and(|signs| signs.names().next().is_some()) {
            return exclusive(&[names::SIGN, names::HASH_BITS], "hashing keeps no names to find the features by");
        }
        if self.offset.is_some() && self.hash_bits.is_some() {
            return exclusive(&[names::OFFSET, names::HASH_BITS], "hashing keeps no names to find the column by");
        }
        if self.offset.is_some() && !self.loss.is_some_and(LossKind::needs_numbers) {
            let note = " of numbers: squared, huber, quantile or poisson";
            return Err(RecipeError::Missing { what: names::OFFSET.into(), params: vec![names::LOSS], note });
        }
        Ok(())
    }

    fn check_schedule(&self) -> Result<(), RecipeError> {
        let adaptive = self.method.steps().filter(|steps| steps.schedule.is_adaptive());
        match adaptive.filter(|_| self.method.info().schedules == Schedules::OneRate) {
            Some(steps) => Err(RecipeError::Unsupported {
                method: self.method.name(),
                param: names::SCHEDULE.with(steps.schedule.name()),
                reason: "it needs one rate for all weights: constant, inverse-sqrt, inverse or power",
            }),
            None => Ok(()),
        }
    }

    fn check_staged(&self) -> Result<(), RecipeError> {
        if self.refit == Some(true) {
            return self.unsupported(names::REFIT, "it fits its weights by itself, as far as that helps");
        }
        if let Some(loss) = self.loss.filter(|loss| loss.facts().divides_rows) {
            let param = names::LOSS.with(loss.name());
            let method = self.method.name();
            return Err(RecipeError::Unsupported { method, param, reason: "use truncated-gradient" });
        }
        Ok(())
    }

    fn check_stabilized(&self, params: &StabilizedParams) -> Result<(), RecipeError> {
        if params.fdr.is_some() && self.k.is_some() {
            return exclusive(&[names::K, names::FDR], "each determines the number of features");
        }
        if params.row_id.is_some() && self.hash_bits.is_some() {
            return exclusive(&[names::ROW_ID, names::HASH_BITS], "hashing keeps no names to find the column by");
        }
        self.check_staged()
    }

    fn check_kernel(&self, params: &KernelParams) -> Result<(), RecipeError> {
        let given = [
            (names::REFIT, self.refit == Some(true), "its weights are those of a ridge regression"),
            (names::SCALE, self.scale != ScaleKind::Auto, "it has its own input maps"),
            (names::ROW_SCALE, self.row_scale.is_some(), "it has its own input maps"),
            (names::INTERACTIONS, self.interactions.is_some(), "it finds interactions by itself"),
            (names::OFFSET, self.offset.is_some(), "use an online learner such as ftrl"),
            (names::HASH_BITS, self.hash_bits.is_some(), "it needs the names of its variables"),
            (names::INTERCEPT, !self.intercept, "it always has an intercept"),
        ];
        if let Some((name, _, reason)) = given.into_iter().find(|(_, is_given, _)| *is_given) {
            return self.unsupported(name, reason);
        }
        if let Some(loss) = self.loss.filter(|loss| !matches!(loss, LossKind::Squared | LossKind::Logistic)) {
            let (method, param) = (self.method.name(), names::LOSS.with(loss.name()));
            let reason = "it minimises the squared error, and calibrates classes by the logistic loss";
            return Err(RecipeError::Unsupported { method, param, reason });
        }
        match self.k.filter(|&k| k > params.max_variables) {
            Some(_) => {
                let reason = "a model has at most as many features as the scan passes on";
                exclusive(&[names::K, names::MAX_VARIABLES], reason)
            }
            None => Ok(()),
        }
    }

    fn check_two_stage(&self, params: &TwoStageParams) -> Result<(), RecipeError> {
        let sizes = [
            (names::K, self.k.is_some()),
            (names::N_DRAWS, params.n_draws.is_some()),
            (names::EPSILON, params.epsilon.is_some()),
        ];
        let given: Vec<ParamName> = sizes.into_iter().filter_map(|(name, given)| given.then_some(name)).collect();
        if given.len() > 1 { exclusive(&given, "each determines the number of features") } else { Ok(()) }
    }
}

fn exclusive(params: &[ParamName], reason: &'static str) -> Result<(), RecipeError> {
    Err(RecipeError::Exclusive { params: params.to_vec(), reason })
}

#[cfg(test)]
mod tests;
