//! The support: which features of the learners become the model, and their weights.

use super::one_vs_rest::OneVsRest;
use crate::data::FeatureId;
use crate::learners::Learner;
use crate::model::Output;
use crate::trainer::{ScaledWeight, TrainingData, output};

/// The features of a model.
#[derive(Debug, Default)]
pub(crate) struct Support {
    pub(crate) ids: Vec<FeatureId>,
    /// Their weights, if there is a single learner: another lookup would be a random access.
    weights: Vec<f64>,
}

impl Support {
    /// These features, with the weights of the learners.
    pub(crate) fn new(ids: Vec<FeatureId>) -> Self {
        Support { ids, weights: Vec::new() }
    }

    /// Features with a non-zero weight; with `k`, the k of largest effect over all learners (Euclidean norm, ties by
    /// id). A feature whose weight is NaN is always among them.
    pub(crate) fn of<L: Learner + Clone + Send + Sync>(learners: &OneVsRest<L>, k: Option<usize>) -> Self {
        let mut sized: Vec<(f64, FeatureId)> = Vec::new();
        match learners.learners() {
            [learner] => learner.each_nonzero(|id, weight| sized.push((weight, id))),
            learners => {
                let span = learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
                let size = |id| learners.iter().map(|learner| learner.weight(id).powi(2)).sum::<f64>().sqrt();
                sized.extend((0..span).map(|id| (size(id), id)).filter(|(size, _)| *size != 0.0));
            }
        }
        if let Some(k) = k.filter(|&k| k < sized.len()) {
            sized.select_nth_unstable_by(k, |a, b| b.0.abs().total_cmp(&a.0.abs()).then(a.1.cmp(&b.1)));
            sized.truncate(k);
            sized.sort_unstable_by_key(|&(_, id)| id);
        }
        let (weights, ids) = sized.into_iter().unzip();
        Support { ids, weights: if learners.learners().len() == 1 { weights } else { Vec::new() } }
    }

    /// The support, or `None` if a weight is not finite.
    pub(crate) fn finite<L: Learner + Clone + Send + Sync>(learners: &OneVsRest<L>, k: Option<usize>) -> Option<Self> {
        let support = Support::of(learners, k);
        let is_finite = |learner| (0..support.ids.len()).all(|place| support.weight(learner, place).is_finite());
        learners.learners().iter().all(is_finite).then_some(support)
    }

    /// The weight of the feature at a position.
    fn weight<L: Learner>(&self, learner: &L, place: usize) -> f64 {
        self.weights.get(place).copied().unwrap_or_else(|| learner.weight(self.ids[place]))
    }

    /// The outputs of a model with these features.
    pub(crate) fn outputs<L: Learner>(&self, learners: &[L], data: &TrainingData) -> Vec<Output> {
        let of_learner = |(number, learner): (usize, &L)| {
            let weights: Vec<f64> = (0..self.ids.len()).map(|place| self.weight(learner, place)).collect();
            linear_output(data, number, &self.ids, &weights, learner.bias())
        };
        learners.iter().enumerate().map(of_learner).collect()
    }
}

/// Output `number` of a model, from weights of scaled columns.
pub(crate) fn linear_output(
    data: &TrainingData,
    number: usize,
    ids: &[FeatureId],
    weights: &[f64],
    bias: f64,
) -> Output {
    let weighted = ids.iter().zip(weights).map(|(&id, &weight)| ScaledWeight {
        id,
        weight,
        column: (data.scale.divisor(id), data.scale.centre(id)),
        frequency: None,
        evidence: None,
    });
    output(&data.targets, &data.vocabulary, number, bias, weighted)
}
