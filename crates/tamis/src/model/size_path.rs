//! The size path of a stabilized model: its finished sizes, with their held-out estimates.

use serde::{Deserialize, Serialize};

use super::Output;

/// The size path of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizePath {
    /// The number of paths.
    pub paths: usize,
    /// The number of the size that became the model.
    pub chosen: usize,
    /// The sizes, from all features down.
    pub sizes: Vec<SizePoint>,
}

/// A point of the size path: a finished model of some size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizePoint {
    /// The number of features.
    pub size: usize,
    /// The evidence that a feature needs on a path to get a weight.
    pub gravity: f64,
    /// The mean held-out loss, on rows that its features were selected without.
    pub loss: f64,
    /// The share of misclassified held-out rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The standard error of the error rate, or of the loss for regression.
    pub standard_error: f64,
    /// q: the mean number of features that a path selects.
    pub selected: f64,
    /// Its outputs; empty for sizes much larger than the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// The features that leave it on the way to the next smaller point, the first to leave first, with the estimates of the
    /// sizes in between. These have the weights of this point. Models of earlier versions have no such list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// Whether a resized model has this point for its own size: it is cut from the next larger one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// A point without a feature, and without those that leave before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// The feature.
    pub without: String,
    /// The mean held-out loss without it.
    pub loss: f64,
    /// The share of misclassified held-out rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The standard error of the error rate, or of the loss for regression.
    pub standard_error: f64,
}
