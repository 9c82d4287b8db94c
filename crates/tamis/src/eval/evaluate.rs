//! Evaluates a model on a stream of labelled rows.

use thiserror::Error;

use super::{Metrics, Scored};
use crate::data::{Label, RawRows};
use crate::io::{ReadError, RowStream};
use crate::model::{Model, Prediction, Predictor, Task};

/// A model could not be evaluated.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum EvalError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{place}: the row has no label")]
    NoLabel { place: String },
    #[error("{place}: label {found} is not a number, and the model predicts numbers")]
    NotANumber { place: String, found: String },
    #[error("{place}: label {found} is not a class of the model ({known})")]
    UnknownLabel { place: String, found: String, known: String },
    #[error("{place}: the prediction is not a finite number; the values of this row are too large for the model")]
    NotFinite { place: String },
    #[error("no rows to evaluate on")]
    NoRows,
}

/// How classes that the model does not have are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownClasses {
    /// As an error, if the model has two classes: most likely these are other data.
    Refused,
    /// As a wrong prediction: a fold may hold the only rows of a class.
    Wrong,
}

/// The metrics of a model on a stream of labelled rows.
pub fn measure(model: &Model, stream: &mut RowStream, unknown: UnknownClasses) -> Result<Metrics, EvalError> {
    let mut scored = Vec::new();
    score_rows(model, stream, unknown, |row| scored.push((row.scored, row.weight)))?;
    Ok(Metrics::of(&scored))
}

/// A row with its prediction.
pub(super) struct EvaluatedRow<'a> {
    /// The row, and its number in the block.
    pub(super) row: (&'a RawRows, usize),
    /// The number of the true class, if the model knows it, and of the predicted one.
    pub(super) classes: (Option<usize>, Option<usize>),
    pub(super) scored: Scored,
    pub(super) weight: f64,
}

/// Calls back with every row of a stream and its prediction.
pub(super) fn score_rows(
    model: &Model,
    stream: &mut RowStream,
    unknown: UnknownClasses,
    mut show: impl FnMut(EvaluatedRow<'_>),
) -> Result<(), EvalError> {
    let predictor = Predictor::new(model);
    let mut any = false;
    while let Some(block) = stream.next_block()? {
        for (row, prediction) in predictor.predict(&block.rows).iter().enumerate() {
            let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
            let label = &block.rows.labels[row];
            if !prediction.is_finite() {
                return Err(EvalError::NotFinite { place: place() });
            }
            let scored = score(model, prediction, label, unknown, place)?;
            let truth = model.classes().iter().position(|class| class == label);
            let weight = block.rows.weight(row);
            any = true;
            show(EvaluatedRow { row: (&block.rows, row), classes: (truth, prediction.class), scored, weight });
        }
    }
    if any { Ok(()) } else { Err(EvalError::NoRows) }
}

fn score(
    model: &Model,
    prediction: &Prediction,
    label: &Label,
    unknown: UnknownClasses,
    place: impl Fn() -> String,
) -> Result<Scored, EvalError> {
    match (&model.task, label) {
        (_, Label::Absent) => Err(EvalError::NoLabel { place: place() }),
        (Task::Regression, Label::Number(truth)) => Ok(Scored::Number(*truth, prediction.response)),
        (Task::Regression, label) => Err(EvalError::NotANumber { place: place(), found: label.to_string() }),
        (Task::Classes(classes), label) => {
            let truth = classes.iter().position(|class| class == label);
            let right = truth.is_some() && truth == prediction.class;
            let single = prediction.margins.len() == 1;
            let probability = model.loss.facts().is_probabilistic.then_some(prediction.response);
            let binary = truth.filter(|_| single).map(|truth| (truth == 1, prediction.margins[0], probability));
            if truth.is_none() && single && unknown == UnknownClasses::Refused {
                let known: Vec<String> = classes.iter().map(ToString::to_string).collect();
                let (found, known) = (label.to_string(), known.join(", "));
                return Err(EvalError::UnknownLabel { place: place(), found, known });
            }
            Ok(Scored::Class { right, binary })
        }
    }
}
