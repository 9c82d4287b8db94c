//! Models for other programs: SQL, scikit-learn, ONNX, C, Python and scorecards.
//!
//! [`LinearForm`] says once what a linear model computes from the cells of a row: inputs with their missing values, terms
//! with a weight for each output, and what becomes of the margins. Each target is one file that writes this form in its
//! language. What a target cannot express is an error; nothing is left out silently.

mod c;
mod linear_form;
mod onnx;
mod protobuf;
mod python;
mod scorecard;
mod sklearn;
mod sql;
mod sql_long;
mod values;

pub use linear_form::{Answer, Input, InputKind, LevelTable, LinearForm, Term, WhenMissing};
pub use scorecard::{Points, Scorecard, ScorecardRow, no_formula};
pub use sql::Dialect;
pub use values::Value;

use thiserror::Error;

use crate::model::Model;

/// A model cannot be exported.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ExportError {
    #[error("a kernel model is no weighted sum of its columns and cannot be exported; fit another method")]
    Kernel,
    #[error(
        "its rows are scaled by the number of their features, which an export cannot know; fit with row scaling none"
    )]
    RowScale,
    #[error("its features are hashed, and an export needs their names; fit without hash bits")]
    Hashed,
    #[error("the feature {feature:?} is {what}, which {target} does not express; {instead}")]
    Feature { feature: String, what: &'static str, target: &'static str, instead: &'static str },
    #[error("the feature {feature:?} belongs to no column of the model's table")]
    NoColumn { feature: String },
    #[error("{classes} classes are more than {most}, the most of this SQL; export it in long form")]
    Classes { classes: usize, most: usize },
    #[error("the name {name:?} holds a character that {target} cannot hold")]
    Name { name: String, target: &'static str },
    #[error("the model has no features, and {target} needs an input; its prediction is a constant")]
    NoFeatures { target: &'static str },
    #[error("{what} must be {expected}, got {found}")]
    Number { what: &'static str, expected: &'static str, found: f64 },
}

/// The language of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A query.
    Sql,
    /// A Python file that builds a plain scikit-learn estimator.
    Sklearn,
    /// An ONNX graph.
    Onnx,
    /// C functions.
    C,
    /// A Python file without dependencies.
    Python,
    /// A table of points.
    Scorecard,
}

impl Target {
    /// All of them, in the order of the documentation.
    pub const ALL: [Target; 6] =
        [Target::Sql, Target::Sklearn, Target::Onnx, Target::C, Target::Python, Target::Scorecard];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Target::Sql => "sql",
            Target::Sklearn => "sklearn",
            Target::Onnx => "onnx",
            Target::C => "c",
            Target::Python => "python",
            Target::Scorecard => "scorecard",
        }
    }

    /// The target with a name.
    pub fn of_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// The details of an export; each target uses those that concern it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportOptions {
    /// SQL: the dialect.
    pub dialect: Dialect,
    /// SQL: rows are entries with an id, a feature and a value.
    pub is_long: bool,
    /// SQL: the table to read.
    pub table: String,
    /// SQL: the column that identifies a row, in long form.
    pub id: String,
    /// Scorecards: how log-odds become points.
    pub points: Points,
}

impl Default for ExportOptions {
    fn default() -> Self {
        ExportOptions {
            dialect: Dialect::Ansi,
            is_long: false,
            table: "data".into(),
            id: "id".into(),
            points: Points::default(),
        }
    }
}

/// The bytes of the file that an export writes. All but ONNX are text in UTF-8.
pub fn export(model: &Model, target: Target, options: &ExportOptions) -> Result<Vec<u8>, ExportError> {
    if target == Target::Sql && options.is_long {
        return sql_long::write(model, options).map(String::into_bytes);
    }
    let form = LinearForm::new(model, target)?;
    let text = match target {
        Target::Onnx => return onnx::write(&form),
        Target::Sql => sql::write(&form, options)?,
        Target::Sklearn => sklearn::write(&form)?,
        Target::C => c::write(&form)?,
        Target::Python => python::write(&form),
        Target::Scorecard => Scorecard::new(&form, options.points)?.csv(),
    };
    Ok(text.into_bytes())
}

/// What is not expressible without the names and values of features that an export has.
fn check(model: &Model) -> Result<(), ExportError> {
    if model.kernel.is_some() {
        return Err(ExportError::Kernel);
    }
    if model.row_scale != crate::data::RowScale::None || model.loss.facts().divides_rows {
        return Err(ExportError::RowScale);
    }
    if model.recipe.hash_bits().is_some() {
        return Err(ExportError::Hashed);
    }
    Ok(())
}
