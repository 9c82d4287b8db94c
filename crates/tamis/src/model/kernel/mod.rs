//! What a model file holds of a kernel model: its variables, its functions of every size, held-out errors, curves.
//!
//! The outputs of the [`Model`] have no features then. A size is a finished function of its variables, so
//! that a smaller model needs no data.

mod cosine;
mod function;
mod input_map;
mod predictor;

pub use cosine::{cos_all, cos_sin, cos_sin_all};
pub use function::KernelFunction;
pub use input_map::InputMap;
pub(super) use predictor::KernelPredictor;

use serde::{Deserialize, Serialize};

use super::{Model, Resize, ResizeError};
use crate::recipe::{FrequencyFamily, InputKind};

/// The part of a model that `kernel` learns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelModel {
    /// The input map of all variables.
    pub inputs: InputKind,
    /// The family of frequencies.
    pub family: FrequencyFamily,
    /// The place of the model among the sizes; `None` for a model without variables, which predicts a constant.
    pub chosen: Option<usize>,
    /// The place of the size with the least held-out error.
    pub best: usize,
    /// Whether some size has a held-out error that is lower than that of a constant, beyond one standard error.
    pub is_better_than_constant: bool,
    /// Whether a linear model does as well as the chosen size, within one standard error.
    pub is_linear_as_good: bool,
    /// The constant prediction, a margin for each output.
    pub constant: Vec<f64>,
    /// The held-out error of the constant.
    pub constant_score: KernelScore,
    /// The held-out error of a linear model of the same folds, by forward selection.
    pub linear_score: KernelScore,
    /// The mean number of variables of that linear model.
    pub linear_size: f64,
    /// The variables that some kept size uses.
    pub variables: Vec<KernelVariable>,
    /// The sizes, the largest first.
    pub sizes: Vec<KernelSize>,
    /// The searches that were compared.
    pub searches: Vec<KernelSearch>,
    /// What the scan looked at.
    pub scan: KernelScan,
    /// The tests of variables and pairs on rows of outer folds, by increasing q-value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<KernelTest>,
    /// Rows of the training that searched for variables.
    #[serde(default)]
    pub rows_of_search: u64,
    /// Rows that have updated the weights since.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rows_since: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A variable and its input map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelVariable {
    /// The name of the feature.
    pub name: String,
    /// How its values become inputs.
    pub map: InputMap,
}

/// An error on rows of outer folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelScore {
    /// The mean squared error, in units of the variance of the target (of the ±1 codes of classes).
    pub squared: f64,
    /// Its standard error.
    pub squared_se: f64,
    /// The share of misclassified rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The standard error of that share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_se: Option<f64>,
    /// The mean loss of the model, in units of the label: squared error of numbers, log loss of classes.
    pub loss: f64,
}

/// A size of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSize {
    /// The number of variables.
    pub size: usize,
    /// Its error on the rows of outer folds.
    pub score: KernelScore,
    /// The ridge penalty of its weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub penalty: Option<f64>,
    /// Its variables, the most sensitive first; empty for sizes that are not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<KernelEffect>,
    /// Its strong pairs, the most sensitive first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<KernelInteraction>,
    /// The function; `None` for sizes that are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<KernelFunction>,
}

/// The effect of a variable at some size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelEffect {
    /// The variable, by its place in [`KernelModel::variables`].
    pub variable: usize,
    /// The cross-fitted mean product of the partial derivatives of two half-sample fits.
    pub sensitivity: f64,
    /// The least of the split halves.
    pub least: f64,
    /// The share of outer folds that select the variable at this size.
    pub share: f64,
    /// Partial dependence: raw values of the variable, ascending.
    pub at: Vec<f64>,
    /// By output: the mean margin at each of these values.
    pub margins: Vec<Vec<f64>>,
}

/// A pair of variables at some size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelInteraction {
    /// The two variables, by their place in [`KernelModel::variables`].
    pub variables: [usize; 2],
    /// The cross-fitted mean product of the mixed second derivatives.
    pub sensitivity: f64,
    /// The least of the split halves.
    pub least: f64,
    /// Partial dependence: raw values of both variables, ascending.
    pub at: [Vec<f64>; 2],
    /// By output: the mean margin at the grid of these values, the second variable changing fastest.
    pub margins: Vec<Vec<f64>>,
}

/// One of the searches that were compared on all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSearch {
    /// The input map.
    pub inputs: InputKind,
    /// The family of frequencies.
    pub family: FrequencyFamily,
    /// The least squared error of a half-sample fit on the other half, down to the size at which searches are compared.
    /// It is optimistic: the variables were selected on the same rows.
    pub inner: f64,
}

/// The test of a variable or a pair: does the target depend on it, given the others?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelTest {
    /// The name of the variable, or both names of the pair.
    pub names: Vec<String>,
    /// The q-value: of variables (or pairs) with this q or less, at most a share q is expected to be false discoveries.
    pub q: f64,
}

/// What the scan looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelScan {
    /// Variables that are not constant.
    pub variables: usize,
    /// Variables all of whose pairs were scored.
    pub in_pairs: usize,
    /// Whether all triples were scored, too.
    pub triples: bool,
    /// A triple that stood out of them, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triple: Option<[String; 3]>,
    /// Rows of the search.
    pub rows: usize,
}

impl KernelSize {
    /// The penalty, and the numbers of all variables and pairs.
    fn effects(&self) -> impl Iterator<Item = f64> {
        let variables = self.variables.iter().flat_map(|one| {
            let curve = one.at.iter().chain(one.margins.iter().flatten());
            [one.sensitivity, one.least, one.share].into_iter().chain(curve.copied())
        });
        let pairs = self.interactions.iter().flat_map(|one| {
            let surface = one.at.iter().flatten().chain(one.margins.iter().flatten());
            [one.sensitivity, one.least].into_iter().chain(surface.copied())
        });
        self.penalty.into_iter().chain(variables).chain(pairs)
    }
}

#[cfg(feature = "moments")]
impl KernelSize {
    /// A size without a function.
    pub(crate) fn not_kept(size: usize, score: KernelScore) -> Self {
        KernelSize { size, score, penalty: None, variables: Vec::new(), interactions: Vec::new(), function: None }
    }
}

impl KernelModel {
    /// The size that the model is; `None` for a constant.
    pub fn size(&self) -> Option<&KernelSize> {
        self.sizes.get(self.chosen?)
    }

    /// The held-out score of the model.
    pub fn score(&self) -> &KernelScore {
        self.size().map_or(&self.constant_score, |size| &size.score)
    }

    /// The names of the model's variables, the most sensitive first.
    pub fn names(&self) -> Vec<&str> {
        let effects = self.size().map(|size| &size.variables[..]).unwrap_or_default();
        effects.iter().map(|effect| self.variables[effect.variable].name.as_str()).collect()
    }

    /// The q-value of a variable, or of a pair in any order; `None` if it was not tested.
    pub fn q_value(&self, names: &[&str]) -> Option<f64> {
        let is_named = |test: &&KernelTest| {
            test.names.len() == names.len() && names.iter().all(|name| test.names.iter().any(|one| one == name))
        };
        self.tests.iter().find(is_named).map(|test| test.q)
    }

    /// The confirmed variables: those with a q-value of at most `fdr`, by increasing q-value.
    pub fn confirmed(&self, fdr: f64) -> Vec<&str> {
        let singles = self.tests.iter().filter(|test| test.names.len() == 1 && test.q <= fdr);
        singles.map(|test| test.names[0].as_str()).collect()
    }

    /// The sizes that the model can be resized to, ascending.
    pub fn kept_sizes(&self) -> Vec<usize> {
        self.sizes.iter().rev().filter(|size| size.function.is_some()).map(|size| size.size).collect()
    }

    /// The first reason why it cannot be used.
    pub(super) fn problem(&self, outputs: usize) -> Option<String> {
        if self.best >= self.sizes.len() || self.constant.len() != outputs {
            return Some("the sizes of the kernel model do not fit together".into());
        }
        let is_kept = |chosen: usize| self.sizes.get(chosen).is_some_and(|size| size.function.is_some());
        if self.chosen.is_some_and(|chosen| !is_kept(chosen)) {
            return Some("the kernel model has no function of its size".into());
        }
        let bad_map = |one: &KernelVariable| Some(format!("the variable {:?} {}", one.name, one.map.problem()?));
        let scores = self.sizes.iter().map(|size| &size.score).chain([&self.constant_score, &self.linear_score]);
        let numbers = scores.flat_map(|score| {
            [score.squared, score.squared_se, score.loss, score.error.unwrap_or(0.0), score.error_se.unwrap_or(0.0)]
        });
        let numbers = numbers.chain(self.searches.iter().map(|search| search.inner)).chain([self.linear_size]);
        let q_values = self.tests.iter().map(|test| test.q);
        if numbers.chain(self.constant.iter().copied()).chain(q_values).any(|number| !number.is_finite()) {
            return Some("a held-out error is not a finite number".into());
        }
        let of_size = |size: &KernelSize| {
            let places = size.variables.iter().map(|effect| effect.variable);
            let pairs = size.interactions.iter().flat_map(|pair| pair.variables);
            if places.chain(pairs).any(|place| place >= self.variables.len()) {
                return Some(format!("the kernel model of {} variables has no such variable", size.size));
            }
            if size.effects().any(|number| !number.is_finite()) {
                return Some(format!("a curve of the kernel model of {} variables is not a finite number", size.size));
            }
            let problem = size.function.as_ref()?.problem(size.variables.len(), outputs)?;
            Some(format!("the kernel model of {} variables {problem}", size.size))
        };
        let names: std::collections::BTreeSet<&str> = self.variables.iter().map(|one| one.name.as_str()).collect();
        if names.len() != self.variables.len() {
            return Some("a variable comes twice".into());
        }
        self.variables.iter().find_map(bad_map).or_else(|| self.sizes.iter().find_map(of_size))
    }
}

impl Model {
    /// The same kernel model with another number of variables.
    pub(super) fn resize_kernel(&self, kernel: &KernelModel, cut: Resize) -> Result<Model, ResizeError> {
        let Resize::Size(asked) = cut else {
            return Err(ResizeError::Range("a kernel model is resized by its number of features"));
        };
        let place = kernel.sizes.iter().position(|size| size.size == asked && size.function.is_some());
        let chosen = place.ok_or_else(|| ResizeError::NotASize { asked, sizes: kernel.kept_sizes() })?;
        let kernel = KernelModel { chosen: Some(chosen), ..kernel.clone() };
        let mut seen = self.seen.clone();
        (seen.progressive_loss, seen.progressive_error) = (kernel.score().loss, kernel.score().error);
        Ok(Model { kernel: Some(kernel), seen, ..self.clone() })
    }
}
