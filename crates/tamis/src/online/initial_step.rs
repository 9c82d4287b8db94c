//! The first step of learners that follow the squared loss with a step size of their own, from the rows read first.
//!
//! The slope of the squared loss grows with the error. A step of η on a row x multiplies its error by 1 − 2η‖x‖²: beyond
//! η = 1/‖x‖² the error grows, the next step is longer still, and weights reach 10⁵⁰. So no fixed default suits all rows.
//! With R² the largest ‖x‖², the intercept's 1 included:
//!
//! | step size | first step at most | why |
//! |---|---|---|
//! | c/√t, and γ of `rda` as 1/c | 2/R² | below 1/R² from the fourth step on; the shortest that learns well in one pass |
//! | constant (`fofs`) | 1/(2R²) | no step passes its target |
//!
//! A method's default holds where it is shorter, and so does a step size that was set. Other losses have bounded slopes and
//! keep the defaults. A training that continues with other rows keeps its R². Cost: one pass over the buffered rows.

use crate::data::Example;
use crate::loss::LossKind;
use crate::recipe::{Method, Recipe};
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// The parameter of a recipe that depends on R², and the longest step in units of 1/R²; `None` if it stays as it is.
pub(crate) fn limit(recipe: &Recipe, loss: LossKind) -> Option<(&'static str, f64)> {
    let (name, most) = match recipe.method {
        Method::Fobos | Method::Tsgd | Method::Sadmm => ("learning-rate", 2.0),
        Method::Fofs => ("learning-rate", 0.5),
        Method::Rda => ("gamma", 2.0),
        _ => return None,
    };
    let grows = !loss.has_bounded_slope();
    (grows && recipe.rate.is_none() && !recipe.numbers.contains_key(name)).then_some((name, most))
}

/// The recipe with a first step that R² allows.
pub(crate) fn cap_initial_step(recipe: &Recipe, loss: LossKind, max_squared_norm: f64) -> Recipe {
    let Some((name, most)) = limit(recipe, loss).filter(|_| max_squared_norm > 0.0) else { return recipe.clone() };
    let safe = most / max_squared_norm;
    let number = match name {
        "gamma" => recipe.number(name).max(1.0 / safe),
        _ => recipe.number(name).min(safe),
    };
    recipe.clone().set(name, number)
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
