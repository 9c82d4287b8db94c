//! The initial step size of learners that minimise the squared loss with a fixed schedule, from the first rows.
//!
//! The slope of the squared loss grows with the error. A step of η on a row x multiplies its error by 1 − 2η‖x‖²: above
//! η = 1/‖x‖² the error grows, the next step is longer still, and weights reach 10⁵⁰. So no fixed default suits all
//! data. With R² the largest ‖x‖², with 1 for the intercept:
//!
//! | step size | first step at most | why |
//! |---|---|---|
//! | c/√t, and γ of `rda` as 1/c | 2/R² | below 1/R² from the fourth step on; the shortest that learns well in one pass |
//! | constant (`fofs`) | 1/(2R²) | no step overshoots its target |
//!
//! The default of a method applies if it is shorter, and a step size that is given always does. Other losses have
//! bounded slopes and keep the defaults. A training that continues with other rows keeps its R². Cost: one pass over
//! the buffered rows.

use crate::data::Example;
use crate::loss::LossKind;
use crate::recipe::{MethodParams, Recipe};
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// The longest initial step in units of 1/R², if it depends on R².
pub(crate) fn limit(recipe: &Recipe, loss: LossKind) -> Option<f64> {
    let (is_given, most) = match &recipe.method {
        MethodParams::Fobos(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 2.0),
        MethodParams::Tsgd(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 2.0),
        MethodParams::Sadmm(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 2.0),
        MethodParams::Fofs(params) => (params.schedule.is_some() || params.learning_rate.is_some(), 0.5),
        MethodParams::Rda(params) => (params.gamma.is_some(), 2.0),
        _ => return None,
    };
    (!loss.facts().has_bounded_slope && !is_given).then_some(most)
}

/// The recipe with an initial step that R² allows.
pub(crate) fn cap_initial_step(recipe: &Recipe, loss: LossKind, max_squared_norm: f64) -> Recipe {
    let mut recipe = recipe.clone();
    let Some(most) = limit(&recipe, loss).filter(|_| max_squared_norm > 0.0) else { return recipe };
    let safe = most / max_squared_norm;
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

/// R² of the buffered rows, or 0 if nothing depends on it.
pub(crate) fn max_squared_norm(data: &TrainingData, rows: &mut BufferedRows) -> Result<f64, TrainError> {
    let mut largest: f64 = 0.0;
    if limit(&data.recipe, data.targets.loss).is_none() {
        return Ok(largest);
    }
    let scaler = data.scaler();
    for chunk in rows.store.chunks(0) {
        let norm = |example: Example<'_>| scaler.squared_norm(example.row, data.recipe.intercept);
        largest = chunk?.examples().map(norm).fold(largest, f64::max);
    }
    Ok(largest)
}
