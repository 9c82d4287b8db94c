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
//! the defaults. Cost: one look over the rows held.

use super::TrainError;
use super::bank::Bank;
use super::head::Head;
use super::trainer::Trainer;
use crate::loss::LossKind;
use crate::recipe::Method;

/// Shortens the first step where the default could be too long.
pub(super) fn settle(trainer: &mut Trainer<'_>, head: &mut Head) -> Result<(), TrainError> {
    let recipe = trainer.recipe;
    let (name, most) = match recipe.method {
        Method::Fobos | Method::Tsgd | Method::Sadmm => ("learning-rate", 2.0),
        Method::Fofs => ("learning-rate", 0.5),
        Method::Rda => ("gamma", 2.0),
        _ => return Ok(()),
    };
    let grows = matches!(trainer.targets.loss, LossKind::Squared | LossKind::SquaredHinge);
    if !grows || recipe.rate.is_some() || recipe.numbers.contains_key(name) {
        return Ok(());
    }
    let safe = most / longest(trainer, head)?;
    let number = match name {
        "gamma" => recipe.number(name).max(1.0 / safe),
        _ => recipe.number(name).min(safe),
    };
    let settled = recipe.clone().set(name, number);
    trainer.lane.crew_mut().bank = Bank::new(&settled, &trainer.targets, trainer.options.read.threads);
    Ok(())
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
