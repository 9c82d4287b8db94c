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
use crate::recipe::{Method, Recipe};

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

/// The number of a recipe that is settled by R², and the longest step in units of 1/R²; nothing if it stays as it is.
pub(super) fn limit(recipe: &Recipe, loss: LossKind) -> Option<(&'static str, f64)> {
    let (name, most) = match recipe.method {
        Method::Fobos | Method::Tsgd | Method::Sadmm => ("learning-rate", 2.0),
        Method::Fofs => ("learning-rate", 0.5),
        Method::Rda => ("gamma", 2.0),
        _ => return None,
    };
    let grows = matches!(loss, LossKind::Squared | LossKind::SquaredHinge);
    (grows && recipe.rate.is_none() && !recipe.numbers.contains_key(name)).then_some((name, most))
}

/// The recipe with its first step as R² allows it.
pub(super) fn settled(recipe: &Recipe, loss: LossKind, longest: f64) -> Recipe {
    let Some((name, most)) = limit(recipe, loss).filter(|_| longest > 0.0) else { return recipe.clone() };
    let safe = most / longest;
    let number = match name {
        "gamma" => recipe.number(name).max(1.0 / safe),
        _ => recipe.number(name).min(safe),
    };
    recipe.clone().set(name, number)
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
