//! What comes out: a model and its solution path, or an error.

use serde::Serialize;
use thiserror::Error;

use crate::model::Model;
use crate::param::names;
use crate::recipe::{Criterion, RecipeError};

/// No model can be fitted.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum SolveError {
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error("the moments hold no rows")]
    NoRows,
    #[error(
        "these moments cannot be those of any rows: {what}. Were rows subtracted that were never added? Compute them \
         from the data again"
    )]
    Impossible { what: String },
    #[error("one row is not enough: no column varies")]
    OneRow,
    #[error("no column {name:?} to predict; the targets are {targets}")]
    NoTarget { name: String, targets: String },
    #[error("there are several targets: name one with {}; they are {targets}", names::TARGET)]
    WhichTarget { targets: String },
    #[error("the moments hold only the class {label}, but classification needs two: merge them with other moments")]
    OneClass { label: String },
    #[error("{} names {name:?}, but the moments have no such feature", names::SIGN)]
    NoSuchFeature { name: String },
    #[error("{} needs numbers or two classes to predict: with more classes, each has weights of its own", names::SIGN)]
    SignsOfClasses,
    #[error("the target {name:?} is the same in all rows: there is nothing to predict")]
    ConstantTarget { name: String },
    #[error("no feature varies: there is nothing to predict from")]
    NoFeatures,
    #[error(
        "{k} features were requested, but only {usable} of {all} vary and are not copies of others; lower {}",
        names::K
    )]
    TooMany { k: usize, usable: usize, all: usize },
    #[error(
        "{features} features need {needed} MiB to solve, but the limit is {limit} MiB: make moments with {}", names::SCREEN.with("N")
    )]
    TooWide { features: u64, needed: u64, limit: u64 },
    #[error("cross-validation needs folds, but these moments have none: make them with {}", names::MOMENTS_FOLDS.with(5))]
    NoFolds,
    #[error("fold {fold} has all rows: use more {} or more rows", names::MOMENTS_FOLDS)]
    FullFold { fold: usize },
}

/// A model on a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathPoint {
    /// λ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Features.
    pub size: usize,
    /// R² on the rows of the moments.
    pub r2: f64,
    /// AIC.
    pub aic: f64,
    /// BIC.
    pub bic: f64,
    /// Extended BIC.
    pub ebic: f64,
    /// The mean squared error in cross-validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv_error: Option<f64>,
    /// Its standard error over folds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv_deviation: Option<f64>,
    /// Features that enter at this model.
    pub entered: Vec<String>,
    /// Features that leave at this model.
    pub left: Vec<String>,
}

impl PathPoint {
    /// The value of a criterion.
    pub fn value(&self, criterion: Criterion) -> Option<f64> {
        match criterion {
            Criterion::Aic => Some(self.aic),
            Criterion::Bic => Some(self.bic),
            Criterion::Ebic => Some(self.ebic),
            Criterion::Cv => self.cv_error,
        }
    }
}

/// A feature along the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// Its weight on standardised columns in each model of the path; over several outputs, the Euclidean norm.
    pub effects: Vec<f64>,
}

/// A model and its solution path.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The model.
    pub model: Model,
    /// The candidate models, from small to large.
    pub path: Vec<PathPoint>,
    /// The index of the selected model.
    pub chosen: usize,
    /// The strongest features along the path, for charts; empty if no path was requested.
    pub traces: Vec<Trace>,
    /// Notes for the user.
    pub notes: Vec<String>,
}
