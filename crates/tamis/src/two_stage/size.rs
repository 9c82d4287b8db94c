//! The number of features to sample: given by the user, chosen on held-out rows, or derived from the theorems.

use super::epoch_sgd::EpochSgd;
use super::params::params_of;
use super::sampling::{Size, draws_for};
use crate::data::{FeatureId, TargetEncoder};
use crate::learners::Learner;
use crate::recipe::{Recipe, SamplingLaw};

/// The share of the progressive loss that sampling may add, if no size is given and none was chosen on held-out rows.
const LOSS_SHARE: f64 = 0.05;

/// The score of each feature, with the sign of its weight; over several outputs their norm.
pub(super) fn feature_scores(learners: &[EpochSgd], law: SamplingLaw) -> Vec<f64> {
    let span = learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
    let weight = |id: FeatureId| match learners {
        [learner] => learner.weight(id),
        _ => learners.iter().map(|learner| learner.weight(id).powi(2)).sum::<f64>().sqrt(),
    };
    // The first learner has seen every row; that of a class that appeared late has not.
    let part = |id: FeatureId| match law {
        SamplingLaw::Weight => 1.0,
        SamplingLaw::Contribution => learners[0].mean_square(id).sqrt(),
    };
    (0..span).map(|id| weight(id) * part(id)).collect()
}

/// What the number of features is derived from: the scores of the features, the number of outputs they come from, and
/// the progressive loss.
#[derive(Clone, Copy)]
pub(super) struct SizeFacts<'a> {
    pub(super) scores: &'a [f64],
    pub(super) outputs: usize,
    pub(super) loss: f64,
}

impl SizeFacts<'_> {
    /// Enough to see whether the user has set a size.
    pub(super) const NONE: SizeFacts<'static> = SizeFacts { scores: &[], outputs: 1, loss: 0.0 };
}

/// The size that the user has set.
pub(super) fn given_size(recipe: &Recipe, targets: &TargetEncoder, facts: SizeFacts<'_>) -> Option<Size> {
    let params = params_of(recipe);
    match (recipe.k, params.n_draws) {
        (Some(k), _) => Some(Size::Exactly(k)),
        (None, Some(draws)) => Some(Size::Draws(draws)),
        (None, None) if params.epsilon.is_some() || params.delta.is_some() => {
            Some(size_by_theorem(recipe, targets, facts))
        }
        _ => None,
    }
}

/// K of Theorems 2 and 3.
pub(super) fn size_by_theorem(recipe: &Recipe, targets: &TargetEncoder, facts: SizeFacts<'_>) -> Size {
    let params = params_of(recipe);
    let epsilon = params.epsilon.map_or(LOSS_SHARE * facts.loss, |epsilon| epsilon / targets.loss_unit());
    let sum: f64 = facts.scores.iter().map(|score| score.abs()).sum();
    let spread = targets.loss.facts().half_curvature * sum.powi(2) / facts.outputs as f64;
    Size::Draws(draws_for(spread, epsilon, params.delta()))
}
