//! Refits the selected features: without penalty, without the other features, with the same number of passes.

use super::one_vs_rest::OneVsRest;
use super::support::Support;
use crate::data::{Batch, Example, FeatureId, Row};
use crate::learners::AnyLearner;
use crate::model::Output;
use crate::recipe::{FtrlParams, Recipe};
use crate::trainer::{BufferedRows, ProgressiveValidation, Session, TrainError};

/// The outputs of a model with these features.
pub(crate) fn refit(
    session: &Session<'_>,
    rows: &mut BufferedRows,
    chosen: &[FeatureId],
) -> Result<Vec<Output>, TrainError> {
    let (data, scaler) = (&*session.data, session.data.scaler());
    let recipe = &data.recipe;
    let method = FtrlParams { l1: Some(0.0), sign: recipe.method.signs().cloned(), ..FtrlParams::default() }.into();
    let plain = Recipe { method, intercept: recipe.intercept, loss: recipe.loss, ..Recipe::default() };
    let start = AnyLearner::new(&plain, data.targets.loss_fn);
    let mut learners = OneVsRest::new(start, data.targets.outputs(), session.threads);
    let mut is_chosen = vec![false; data.vocabulary.span()];
    chosen.iter().for_each(|&id| is_chosen[id as usize] = true);
    let mut progressive = ProgressiveValidation::default();
    let (mut batch, mut ids, mut values) = (Batch::new(), Vec::new(), Vec::new());
    for pass in 0..u64::from(data.passes) {
        for chunk in rows.store.chunks(pass) {
            batch.clear();
            for example in chunk?.examples() {
                ids.clear();
                values.clear();
                for (id, value) in scaler.entries(example.row).filter(|(id, _)| is_chosen[*id as usize]) {
                    ids.push(id);
                    values.push(value);
                }
                batch.push(Example { row: Row { ids: &ids, values: &values }, ..example });
            }
            learners.learn(&batch, &data.targets, &mut progressive);
        }
    }
    Ok(Support::new(chosen.to_vec()).outputs(learners.learners(), data))
}
