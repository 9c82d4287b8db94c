//! The first step of learners that follow the squared loss at a rate of their own, from the rows read first.
//!
//! The slope of the squared loss grows with the error. A step of η on a row x leaves 1 − 2η‖x‖² times its error: beyond
//! η = 1/‖x‖² the error grows, the next step is longer still, and weights end at 10⁵⁰. So no fixed default suits all rows.
//! With R² the largest ‖x‖², the intercept's 1 included:
//!
//! | rate | first step at most | why |
//! |---|---|---|
//! | c/√t, and γ of `rda` as 1/c | 2/R² | below 1/R² from the fourth step on; the least that learns well in one go |
//! | constant (`fofs`) | 1/(2R²) | no step passes its target |
//!
//! A method's default holds where it is shorter, and so does whatever was set. Other losses have bounded slopes and keep
//! the defaults. A training that goes on with other rows keeps the R² it began with. Cost: one look over the rows held.

use super::TrainError;
use super::bank::Bank;
use super::head::Head;
use super::trainer::Trainer;
use crate::data::{ColumnScale, FeatureId, Row};
use crate::loss::LossKind;
use crate::recipe::{MethodParams, Recipe};

/// Shortens the first step where the default could be too long. `before` is the R² of the training that goes on.
pub(super) fn settle(trainer: &mut Trainer<'_>, head: &mut Head, before: Option<f64>) -> Result<(), TrainError> {
    let loss = trainer.targets.loss;
    if limit(trainer.recipe, loss).is_none() {
        return Ok(());
    }
    trainer.longest = match before {
        Some(longest) if longest > 0.0 => longest,
        _ => longest(trainer, head)?,
    };
    let settled = settled(trainer.recipe, loss, trainer.longest);
    trainer.lane.crew_mut().bank = Bank::new(&settled, &trainer.targets, trainer.options.read.threads);
    Ok(())
}

/// The longest first step in units of 1/R², where R² decides; nothing where the first step stays as it is.
pub(super) fn limit(recipe: &Recipe, loss: LossKind) -> Option<f64> {
    let (is_given, most) = match &recipe.method {
        MethodParams::Fobos(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 2.0),
        MethodParams::Tsgd(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 2.0),
        MethodParams::Sadmm(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 2.0),
        MethodParams::Fofs(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 0.5),
        MethodParams::Rda(params) => (params.gamma.is_some(), 2.0),
        _ => return None,
    };
    let grows = matches!(loss, LossKind::Squared | LossKind::SquaredHinge);
    (grows && !is_given).then_some(most)
}

/// The recipe with its first step as R² allows it.
pub(super) fn settled(recipe: &Recipe, loss: LossKind, longest: f64) -> Recipe {
    let mut recipe = recipe.clone();
    let Some(most) = limit(&recipe, loss).filter(|_| longest > 0.0) else { return recipe };
    let safe = most / longest;
    let rate = recipe.method.steps().map(|steps| steps.learning_rate.min(safe));
    match &mut recipe.method {
        MethodParams::Fobos(params) => params.learning_rate = rate,
        MethodParams::Tsgd(params) => params.learning_rate = rate,
        MethodParams::Sadmm(params) => params.learning_rate = rate,
        MethodParams::Fofs(params) => params.learning_rate = rate,
        MethodParams::Rda(params) => params.gamma = Some(params.gamma().max(1.0 / safe)),
        _ => unreachable!("no other method is limited"),
    }
    recipe
}

/// ‖x‖² of a row as learners see it, with the intercept's 1.
pub(super) fn square(recipe: &Recipe, scale: &ColumnScale, row: Row<'_>) -> f64 {
    let factor = recipe.row_scaling().factor(row.len());
    let square = |(id, value): (FeatureId, f64)| (value * factor / scale.divisor(id)).powi(2);
    let intercept = if recipe.intercept { 1.0 } else { 0.0 };
    intercept + row.iter().map(square).sum::<f64>()
}

/// R².
fn longest(trainer: &Trainer<'_>, head: &mut Head) -> Result<f64, TrainError> {
    let mut longest: f64 = 0.0;
    head.held.pass(0, |group| {
        longest = group.examples().fold(longest, |longest, example| longest.max(trainer.square(example.row)));
        Ok::<bool, TrainError>(true)
    })?;
    Ok(longest)
}
