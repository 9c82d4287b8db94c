//! Errors of recipes: the parameter, the value found and the value expected.

use thiserror::Error;

use crate::param::{Mention, ParamName};

/// An error of a recipe.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RecipeError {
    /// A value is not of the parameter's type, or outside its range.
    #[error("{param} must be {expected}, got {found}")]
    Value {
        /// The parameter.
        param: ParamName,
        /// Its type and range in words.
        expected: String,
        /// The given text.
        found: String,
    },
    /// No method has such a parameter.
    #[error("there is no parameter {name:?}")]
    Unknown {
        /// The given text.
        name: String,
    },
    /// The parameter belongs to another method.
    #[error("{method} has no parameter {param}; {} {}", owners.join(", "), if owners.len() == 1 { "has" } else { "have" })]
    NotOfMethod {
        /// The method.
        method: &'static str,
        /// The parameter.
        param: ParamName,
        /// The methods that have it.
        owners: Vec<&'static str>,
    },
    /// Exclusive parameters are given together.
    #[error("{} are exclusive: {reason}", list(params, "and"))]
    Exclusive {
        /// The parameters.
        params: Vec<ParamName>,
        /// The reason.
        reason: &'static str,
    },
    /// One of several parameters is required.
    #[error("{what} needs {}{note}", list(params, "or"))]
    Missing {
        /// The method or parameter that requires it.
        what: Mention,
        /// One of these is needed.
        params: Vec<ParamName>,
        /// A note that starts with a comma or a colon.
        note: &'static str,
    },
    /// The method does not support a parameter.
    #[error("{method} does not support {param}: {reason}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// The parameter, perhaps with its value.
        param: Mention,
        /// Why, or what to do instead.
        reason: &'static str,
    },
}

/// Names in a sentence.
fn list(params: &[ParamName], word: &str) -> String {
    let names: Vec<String> = params.iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
