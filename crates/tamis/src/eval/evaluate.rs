//! Evaluates a model on a stream of labelled rows.

use thiserror::Error;

use super::mean_loss::MeanLoss;
use super::per_class::ClassTally;
use super::{ClassReport, Metrics, Scored};
use crate::data::{Label, RawRows};
use crate::io::{ReadError, RowSource};
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
pub fn measure(model: &Model, stream: &mut dyn RowSource, unknown: UnknownClasses) -> Result<Metrics, EvalError> {
    let (mut scored, predictor) = (Vec::new(), Predictor::new(model));
    let mut loss = MeanLoss::new(model, &predictor);
    score_rows(&predictor, model, stream, unknown, |row| {
        loss.add(row.prediction, row.scored, row.weight);
        scored.push((row.scored, row.weight));
    })?;
    Ok(Metrics { loss: loss.value(), ..Metrics::of(&scored) })
}

/// The metrics of a model on a stream of labelled rows, and those of each class if it predicts classes.
pub fn measure_classes(
    model: &Model,
    stream: &mut dyn RowSource,
    unknown: UnknownClasses,
) -> Result<(Metrics, Option<ClassReport>), EvalError> {
    let (mut scored, mut tally) = (Vec::new(), ClassTally::new(model.classes().len()));
    let predictor = Predictor::new(model);
    let mut loss = MeanLoss::new(model, &predictor);
    score_rows(&predictor, model, stream, unknown, |row| {
        loss.add(row.prediction, row.scored, row.weight);
        tally.add(&predictor, row.prediction, row.truth, row.weight);
        scored.push((row.scored, row.weight));
    })?;
    Ok((Metrics { loss: loss.value(), ..Metrics::of(&scored) }, tally.report(model)))
}

/// A row with its prediction.
pub(super) struct EvaluatedRow<'a> {
    /// The row, and its number in the block.
    pub(super) row: (&'a RawRows, usize),
    pub(super) prediction: &'a Prediction,
    /// The number of the true class, if the model knows it.
    pub(super) truth: Option<usize>,
    pub(super) scored: Scored,
    pub(super) weight: f64,
}

/// Calls back with every row of a stream and its prediction.
pub(super) fn score_rows(
    predictor: &Predictor,
    model: &Model,
    stream: &mut dyn RowSource,
    unknown: UnknownClasses,
    mut show: impl FnMut(EvaluatedRow<'_>),
) -> Result<(), EvalError> {
    let mut any = false;
    while let Some(block) = stream.next_block()? {
        let rows = predictor.with_products(&block.rows);
        for (row, prediction) in predictor.predict_expanded(&rows).iter().enumerate() {
            let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
            let label = &block.rows.labels[row];
            if !prediction.is_finite() {
                return Err(EvalError::NotFinite { place: place() });
            }
            let scored = score(predictor, model, prediction, label, unknown, place)?;
            let truth = model.classes().iter().position(|class| class == label);
            let weight = block.rows.weight(row);
            any = true;
            show(EvaluatedRow { row: (&rows, row), prediction, truth, scored, weight });
        }
    }
    if any { Ok(()) } else { Err(EvalError::NoRows) }
}

fn score(
    predictor: &Predictor,
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
            let true_probability = predictor
                .probabilities(&prediction.margins)
                .map(|probabilities| truth.map_or(0.0, |truth| probabilities[truth]));
            Ok(Scored::Class { right, true_probability, binary })
        }
    }
}
