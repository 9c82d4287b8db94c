//! From learners to a model: which features stay, in raw units, largest effect first.

use super::bank::Bank;
use super::task::{Kind, Targets};
use crate::data::{ColumnScale, Dictionary, FeatureId};
use crate::learn::{AnyLearner, Learner};
use crate::model::{Feature, Model, Output, Seen};
use crate::parse::columns::KnownColumns;
use crate::recipe::Recipe;

/// The features of a model: those that were chosen and what their weights are multiplied with; nothing is nothing.
pub(super) struct Chosen {
    pub(super) ids: Vec<FeatureId>,
    pub(super) factors: Vec<f64>,
}

impl Chosen {
    fn factor(&self, place: usize) -> f64 {
        self.factors.get(place).copied().unwrap_or(1.0)
    }
}

/// Features with a non-zero weight; with `k`, the k of largest effect over all learners (Euclidean norm, ties by id). One
/// whose weight is no number is always among them.
pub(super) fn support(bank: &Bank, k: Option<usize>) -> Chosen {
    let mut sized: Vec<(f64, FeatureId)> = Vec::new();
    match bank.learners() {
        [learner] => learner.each_weight(|id, weight| {
            if weight != 0.0 {
                sized.push((weight.abs(), id));
            }
        }),
        learners => {
            let span = learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
            let size = |id| learners.iter().map(|learner| learner.weight(id).powi(2)).sum::<f64>().sqrt().abs();
            sized.extend((0..span).map(|id| (size(id), id)).filter(|(size, _)| *size != 0.0));
        }
    }
    if let Some(k) = k.filter(|&k| k < sized.len()) {
        sized.select_nth_unstable_by(k, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        sized.truncate(k);
    }
    let mut ids: Vec<FeatureId> = sized.into_iter().map(|(_, id)| id).collect();
    ids.sort_unstable();
    Chosen { ids, factors: Vec::new() }
}

/// The [`support`], or nothing if a weight is no number: one scan tells both.
pub(super) fn finite_support(bank: &Bank, k: Option<usize>) -> Option<Chosen> {
    let chosen = support(bank, k);
    let is_finite = |learner: &AnyLearner| chosen.ids.iter().all(|&id| learner.weight(id).is_finite());
    bank.learners().iter().all(is_finite).then_some(chosen)
}

/// The model of a training that is over, or might go on.
pub(super) fn assemble(
    recipe: &Recipe,
    targets: &Targets,
    columns: Option<KnownColumns>,
    seen: Seen,
    outputs: Vec<Output>,
) -> Model {
    Model {
        recipe: recipe.clone().into(),
        loss: targets.loss,
        row_scale: recipe.row_scaling(),
        task: targets.task(),
        columns,
        seen,
        outputs,
        selection: None,
        sampling: None,
    }
}

/// The learners' weights on the chosen features as the outputs of a model.
pub(super) fn outputs(
    bank: &Bank,
    targets: &Targets,
    chosen: &Chosen,
    dictionary: &Dictionary,
    scale: &ColumnScale,
) -> Vec<Output> {
    let of_learner = |(number, learner): (usize, &AnyLearner)| {
        let weighted = |(place, &id): (usize, &FeatureId)| Weighted {
            id,
            weight: learner.weight(id) * chosen.factor(place),
            column: (scale.divisor(id), 0.0),
            stability: None,
            evidence: None,
        };
        output(targets, dictionary, number, learner.bias(), chosen.ids.iter().enumerate().map(weighted))
    };
    bank.learners().iter().enumerate().map(of_learner).collect()
}

/// A weight as it was learned: of a scaled column, in units of the target.
pub(super) struct Weighted {
    pub(super) id: FeatureId,
    pub(super) weight: f64,
    /// What the column was divided by, and the mean that was taken off first.
    pub(super) column: (f64, f64),
    pub(super) stability: Option<f64>,
    pub(super) evidence: Option<[f64; 2]>,
}

/// Output `number` of a model: non-zero weights of raw values in the label's own units, largest effect first.
pub(super) fn output(
    targets: &Targets,
    dictionary: &Dictionary,
    number: usize,
    bias: f64,
    weights: impl Iterator<Item = Weighted>,
) -> Output {
    let (middle, unit) = match targets.kind {
        Kind::Numbers { centre, spread } => (centre, spread),
        Kind::Classes { .. } => (0.0, 1.0),
    };
    let class = match &targets.kind {
        Kind::Classes { classes, single: false, .. } => Some(classes[number].clone()),
        _ => None,
    };
    let feature = |Weighted { id, weight, column: (scale, centre), stability, evidence }| {
        let (name, bucket) = (dictionary.name(id), dictionary.bucket(id));
        Feature { name, weight: weight * unit / scale, scale, centre, stability, evidence, bucket }
    };
    let mut features: Vec<Feature> = weights.map(feature).filter(|feature| feature.weight != 0.0).collect();
    let effect = |feature: &Feature| (feature.weight * feature.scale).abs();
    features.sort_by(|a, b| effect(b).total_cmp(&effect(a)).then_with(|| a.name.cmp(&b.name)));
    let centred: f64 = features.iter().map(|feature| feature.weight * feature.centre).sum();
    Output { class, intercept: middle + unit * bias - centred, features }
}
