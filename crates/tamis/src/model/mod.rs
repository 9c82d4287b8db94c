//! The model: named weights, and how they were learned.

mod check;
mod explain;
mod feature_tests;
mod file;
pub mod kernel;
mod predict;
mod products;
mod resize;
mod size_path;
pub mod summary;

pub use explain::{Contribution, Explanation};
pub use feature_tests::{Certainty, DEFAULT_FDR, FeatureTest, FeatureTests};
pub use file::{FORMAT_VERSION, ModelError};
pub use kernel::KernelModel;
pub use predict::{Prediction, Predictor};
pub use products::{MOST_PRODUCTS, ProductError, Products};
pub use resize::{LARGEST_FDR, Resize, ResizeError};
pub use size_path::{Cut, SizePath, SizePoint};

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use crate::data::{Label, RowScale};
use crate::loss::LossKind;
use crate::parse::schema::ModelSchema;
use crate::recipe::{Provenance, SamplingLaw};

pub use crate::data::Task;

/// A feature of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name, or its number in the file.
    pub name: String,
    /// The weight of its raw value.
    pub weight: f64,
    /// The divisor of raw values during learning: `weight · scale` compares features of different units.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
    /// The mean that was subtracted from raw values during learning, 0 for sparse columns; the intercept accounts for
    /// it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub centre: f64,
    /// The selection frequency: the share of paths that selected it, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
    /// Mean and standard deviation over paths of the evidence for it, in standard errors of its gradient sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<[f64; 2]>,
    /// The bucket it was hashed to, with `--hash-bits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<u32>,
}

fn one() -> f64 {
    1.0
}

fn is_one(number: &f64) -> bool {
    *number == 1.0
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// A linear function: intercept + Σ weight · value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The class it scores, if there are more than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Label>,
    /// The intercept.
    pub intercept: f64,
    /// Its non-zero weights, by decreasing effect.
    pub features: Vec<Feature>,
}

/// A summary of the training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSummary {
    /// Rows of the data.
    pub rows: u64,
    /// Passes over them.
    pub passes: u32,
    /// Distinct features at the end; features that were freed because they had no effect are not counted.
    pub features: u64,
    /// Bad lines that were skipped.
    pub skipped: u64,
    /// The mean loss of predictions made before learning each row; for a solved model, its mean squared error on its
    /// rows.
    pub progressive_loss: f64,
    /// The share of those predictions with the wrong class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progressive_error: Option<f64>,
    /// The learning curve at increasing distances; empty if rows are not learned one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryPoint>,
}

/// A point of the learning curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryPoint {
    /// Rows learned, all passes counted.
    pub rows: u64,
    /// The number of features with a weight.
    pub nonzeros: u64,
    /// The mean loss so far of predictions made before learning.
    pub loss: f64,
    /// The share of them with the wrong class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// A finished model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// How it was learned.
    pub recipe: Provenance,
    /// The loss.
    pub loss: LossKind,
    /// How rows are scaled before the weights apply.
    #[serde(default)]
    pub row_scale: RowScale,
    /// What it predicts.
    pub task: Task,
    /// The columns of the table it learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ModelSchema>,
    /// The columns of the matrix or frame it learned from, where rows are not read from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixColumns>,
    /// A summary of the training.
    pub seen: TrainingSummary,
    /// The linear functions.
    pub outputs: Vec<Output>,
    /// The size path, from which other sizes can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_path: Option<SizePath>,
    /// The tests of its features, if they were tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<FeatureTests>,
    /// How its features were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// The function of a kernel model, whose outputs have no features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelModel>,
}

/// The columns of a matrix or frame, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixColumns {
    /// How many there are.
    pub count: usize,
    /// Their names; empty if they are numbered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The features that columns of categories and numbers gave; empty if each column is a feature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

/// How `two-stage` sampled the features of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// The law that gave each feature its probability.
    pub law: SamplingLaw,
    /// The number of draws with replacement (K); `None` if exactly k features were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<u64>,
    /// The expected number of features.
    pub expected: f64,
    /// The number of features that had a weight before sampling.
    pub candidates: usize,
    /// The number of whole epochs.
    pub epochs: u64,
    /// The parameters of the training by their flags, given or found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, f64>,
}

impl Model {
    /// The number of distinct features with a weight, or of the variables of a kernel model.
    pub fn nonzeros(&self) -> usize {
        if let Some(kernel) = &self.kernel {
            return kernel.names().len();
        }
        if let [output] = &self.outputs[..] {
            return output.features.len();
        }
        let names = self.outputs.iter().flat_map(|output| output.features.iter().map(|feature| &feature.name));
        names.collect::<BTreeSet<_>>().len()
    }

    /// The names of its features: those with a weight, output by output, or the variables of a kernel model.
    pub fn feature_names(&self) -> impl Iterator<Item = &str> {
        let linear = self.outputs.iter().flat_map(|output| &output.features).map(|feature| feature.name.as_str());
        linear.chain(self.kernel.iter().flat_map(KernelModel::names))
    }

    /// The columns of its table that have a weight, ascending. A table without one of them cannot be predicted.
    pub fn used_columns(&self) -> Vec<String> {
        let Some(columns) = &self.columns else { return Vec::new() };
        let whole: HashSet<&str> = columns.numeric.iter().chain(columns.dates.keys()).map(String::as_str).collect();
        let parted = columns.categorical.iter().chain(&columns.text).chain(&columns.lists);
        let parted: HashSet<&str> = parted.map(String::as_str).collect();
        // A category may hold the sign, too: the longest column that fits is the one. `=` comes before a category or
        // `missing`, `:` before a word, `.` before a part of a date.
        let column_of = |name: &str| -> Option<String> {
            if whole.contains(name) {
                return Some(name.into());
            }
            let mut ends = name.rmatch_indices(['=', ':', '.']).map(|(at, _)| &name[..at]);
            ends.find(|column| parted.contains(column) || whole.contains(column)).map(String::from)
        };
        let products = self.recipe.interactions().map(|pairs| Products::new(pairs, self.columns.clone()));
        let mut used: BTreeSet<String> = self.recipe.offset().map(String::from).into_iter().collect();
        for name in self.feature_names() {
            if let Some(pair) = products.as_ref().and_then(|products| products.factors(name)) {
                used.extend(pair.iter().cloned());
                continue;
            }
            match self.recipe.factors(name) {
                Some([a, b]) => used.extend([a, b].into_iter().filter_map(|name| column_of(name))),
                None => used.extend(column_of(name)),
            }
        }
        used.into_iter().collect()
    }

    /// Whether it gives the probability of each class.
    pub fn gives_probabilities(&self) -> bool {
        matches!(self.task, Task::Classes(_)) && self.loss.facts().is_probabilistic
    }

    /// The classes; empty for regression.
    pub fn classes(&self) -> &[Label] {
        match &self.task {
            Task::Regression => &[],
            Task::Classes(classes) => classes,
        }
    }
}
