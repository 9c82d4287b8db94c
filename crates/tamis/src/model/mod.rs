//! What remains of the learning: a few named weights, and how they came to be.

mod file;
mod predict;
mod size_path;
pub mod summary;

pub use file::{FORMAT_VERSION, ModelError};
pub use predict::{Prediction, Predictor};
pub use size_path::{Resize, ResizeError, SizePath, SizePoint};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::{Label, RowScale};
use crate::loss::LossKind;
use crate::parse::schema::ModelSchema;
use crate::recipe::{Provenance, SamplingLaw};

pub use crate::data::Task;

/// A feature the model uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name, or its number in the file.
    pub name: String,
    /// The weight of its raw value.
    pub weight: f64,
    /// What raw values were divided by while learning: `weight · scale` compares features of different units.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
    /// The mean that was taken off raw values while learning, 0 for sparse columns; the intercept accounts for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub centre: f64,
    /// The share of paths that selected it, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<f64>,
    /// Mean and spread over paths of the evidence for it, in standard errors of its gradient sum.
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

/// One linear function: intercept + Σ weight · value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The class it speaks for, when there are more than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Label>,
    /// The intercept.
    pub intercept: f64,
    /// Its non-zero weights, largest effect first.
    pub features: Vec<Feature>,
}

/// What the learner saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSummary {
    /// Rows of the data.
    pub rows: u64,
    /// Passes over them.
    pub passes: u32,
    /// Different features known at the end: those that left no trace and were given back are not counted.
    pub features: u64,
    /// Bad lines left out.
    pub skipped: u64,
    /// Mean loss of predictions made before learning each row; of a solved model, its mean squared error on its rows.
    pub progressive_loss: f64,
    /// Share of those predictions that named the wrong class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progressive_error: Option<f64>,
    /// How it went, row after row, further and further apart; nothing where rows are not learned one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryPoint>,
}

/// A moment of a training, kept for the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryPoint {
    /// Rows learned, all passes counted.
    pub rows: u64,
    /// Features with a weight.
    pub nonzeros: u64,
    /// Mean loss so far of predictions made before learning.
    pub loss: f64,
    /// Share of them that named the wrong class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// A finished model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// How it was made.
    pub recipe: Provenance,
    /// The loss in force.
    pub loss: LossKind,
    /// How rows are scaled before the weights apply.
    #[serde(default)]
    pub row_scale: RowScale,
    /// What it predicts.
    pub task: Task,
    /// The columns of the table it learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ModelSchema>,
    /// What it saw.
    pub seen: TrainingSummary,
    /// The linear functions.
    pub outputs: Vec<Output>,
    /// How its features were chosen, and what other choices there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_path: Option<SizePath>,
    /// How its features were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

/// How `two-stage` drew the features of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// What decided how likely a feature was.
    pub law: SamplingLaw,
    /// Draws with replacement (K); nothing where exactly k features were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<u64>,
    /// The number of features that was expected.
    pub expected: f64,
    /// Features that had a weight before.
    pub candidates: usize,
    /// Whole epochs learned.
    pub epochs: u64,
    /// The numbers it was learned with, by their flags: those given, and those found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, f64>,
}

impl Model {
    /// The number of different features with a weight.
    pub fn nonzeros(&self) -> usize {
        if let [output] = &self.outputs[..] {
            return output.features.len();
        }
        let names = self.outputs.iter().flat_map(|output| output.features.iter().map(|feature| &feature.name));
        names.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The classes, or nothing for numbers.
    pub fn classes(&self) -> &[Label] {
        match &self.task {
            Task::Regression => &[],
            Task::Classes(classes) => classes,
        }
    }
}
