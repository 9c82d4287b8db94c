//! What is learned: numbers, or classes with one output for each.

use serde::{Deserialize, Serialize};

use super::Label;

/// What the user says the labels are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// The labels decide.
    #[default]
    Auto,
    /// Two classes, and nothing else.
    Binary,
    /// Any number of classes.
    Multiclass,
    /// Numbers.
    Regression,
}

impl TaskKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [TaskKind; 4] = [TaskKind::Auto, TaskKind::Binary, TaskKind::Multiclass, TaskKind::Regression];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Auto => "auto",
            TaskKind::Binary => "binary",
            TaskKind::Multiclass => "multiclass",
            TaskKind::Regression => "regression",
        }
    }
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A number.
    Regression,
    /// One of these labels; two have one output (for the second), more have one each.
    Classes(Vec<Label>),
}

/// How class numbers become the codes of a loss, for one output of a one-vs-rest model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputCoding {
    /// The class this output predicts; `None` for numbers.
    pub class: Option<f64>,
    /// The codes of the other classes and of this class.
    pub codes: [f64; 2],
}

impl OutputCoding {
    /// The code of a class number, or the number itself.
    #[inline]
    pub fn code(&self, target: f64) -> f64 {
        match self.class {
            Some(class) => self.codes[usize::from(target == class)],
            None => target,
        }
    }
}
