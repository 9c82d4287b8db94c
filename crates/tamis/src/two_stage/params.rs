//! The parameters of the method.

use crate::recipe::{MethodParams, Recipe, TwoStageParams};

/// The parameters of the method.
pub(super) fn params_of(recipe: &Recipe) -> &TwoStageParams {
    let MethodParams::TwoStage(params) = &recipe.method else {
        unreachable!("{} is not two-stage", recipe.method.name())
    };
    params
}
