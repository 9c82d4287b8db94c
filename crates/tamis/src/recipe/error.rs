//! What can be wrong with a recipe: which parameter, what was found, what was expected.

use thiserror::Error;

use crate::param::{Mention, ParamName};

/// What is wrong with a recipe.
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
        /// What was given.
        found: String,
    },
    /// No method has such a parameter.
    #[error("there is no parameter {name:?}")]
    Unknown {
        /// What was given.
        name: String,
    },
    /// Another method has it.
    #[error("{method} has no parameter {param}; {} {}", owners.join(", "), if owners.len() == 1 { "has" } else { "have" })]
    NotOfMethod {
        /// The method.
        method: &'static str,
        /// The parameter.
        param: ParamName,
        /// The methods that have it.
        owners: Vec<&'static str>,
    },
    /// Parameters that say the same thing are given together.
    #[error("{} are exclusive: {reason}", list(params, "and"))]
    Exclusive {
        /// The parameters.
        params: Vec<ParamName>,
        /// Why.
        reason: &'static str,
    },
    /// Nothing is given where one of several parameters is needed.
    #[error("{what} needs {}{note}", list(params, "or"))]
    Missing {
        /// Who needs it.
        what: Mention,
        /// One of these is needed.
        params: Vec<ParamName>,
        /// What else is to be known, from its first comma or colon on.
        note: &'static str,
    },
    /// The method cannot do what is asked.
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
