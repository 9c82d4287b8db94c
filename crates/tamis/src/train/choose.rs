//! From learners to a model: which features stay, in raw units, largest effect first.

use super::bank::Bank;
use super::task::{Kind, Targets};
use super::two_stage::Linear;
use crate::data::{ColumnScale, Dictionary, FeatureId};
use crate::learn::{AnyLearner, Learner};
use crate::model::{Feature, Model, Output, Seen};
use crate::parse::columns::KnownColumns;
use crate::recipe::Recipe;

/// The features of a model.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) ids: Vec<FeatureId>,
    /// Their weights, if a single learner was scanned for them: looking each up again would be a walk through memory.
    weights: Vec<f64>,
    /// The outputs' own weights and intercepts, if they are not the learners'.
    outputs: Vec<Linear>,
}

impl Chosen {
    /// Features by id, with weights and intercepts of their own, or with the learners' if there are none.
    pub(super) fn with_outputs(ids: Vec<FeatureId>, outputs: Vec<Linear>) -> Self {
        Chosen { ids, outputs, ..Chosen::default() }
    }

    /// The weight of the feature at a place.
    fn weight(&self, learner: &AnyLearner, place: usize) -> f64 {
        self.weights.get(place).copied().unwrap_or_else(|| learner.weight(self.ids[place]))
    }
}

/// Features with a non-zero weight; with `k`, the k of largest effect over all learners (Euclidean norm, ties by id). One
/// whose weight is no number is always among them.
pub(super) fn support(bank: &Bank, k: Option<usize>) -> Chosen {
    let mut sized: Vec<(f64, FeatureId)> = Vec::new();
    match bank.learners() {
        [learner] => learner.each_weight(|id, weight| {
            if weight != 0.0 {
                sized.push((weight, id));
            }
        }),
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
    Chosen { ids, weights: if bank.learners().len() == 1 { weights } else { Vec::new() }, ..Chosen::default() }
}

/// The [`support`], or nothing if a weight is no number: one scan tells both.
pub(super) fn finite_support(bank: &Bank, k: Option<usize>) -> Option<Chosen> {
    let chosen = support(bank, k);
    let is_finite = |learner| (0..chosen.ids.len()).all(|place| chosen.weight(learner, place).is_finite());
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
        let own = chosen.outputs.get(number);
        let weighted = |(place, &id): (usize, &FeatureId)| Weighted {
            id,
            weight: own.map_or_else(|| chosen.weight(learner, place), |linear| linear.weights[place]),
            column: (scale.divisor(id), 0.0),
            stability: None,
            evidence: None,
        };
        let bias = own.map_or_else(|| learner.bias(), |linear| linear.bias);
        output(targets, dictionary, number, bias, chosen.ids.iter().enumerate().map(weighted))
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

/// Largest effect first, ties by name. Features are made when their place is known: a million names in the order they are
/// written are read at the speed of memory.
fn named_by_effect(weights: &[Weighted], feature: impl Fn(&Weighted) -> Feature) -> Vec<Feature> {
    let effect = |weight: f64, scale: f64| (weight * scale).abs();
    let mut order: Vec<(f64, usize)> = weights.iter().map(|w| effect(w.weight, w.column.0)).zip(0..).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut features: Vec<Feature> = order.into_iter().map(|(_, place)| feature(&weights[place])).collect();
    for tied in features.chunk_by_mut(|a, b| effect(a.weight, a.scale) == effect(b.weight, b.scale)) {
        tied.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
    features
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
    let feature = |&Weighted { id, weight, column: (scale, centre), stability, evidence }: &Weighted| {
        let (name, bucket) = (dictionary.name(id), dictionary.bucket(id));
        Feature { name, weight, scale, centre, stability, evidence, bucket }
    };
    let raw = |weighted: Weighted| Weighted { weight: weighted.weight * unit / weighted.column.0, ..weighted };
    let weights: Vec<Weighted> = weights.map(raw).filter(|weighted| weighted.weight != 0.0).collect();
    let features = named_by_effect(&weights, feature);
    let centred: f64 = features.iter().map(|feature| feature.weight * feature.centre).sum();
    Output { class, intercept: middle + unit * bias - centred, features }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_effect_comes_first_and_ties_go_by_name() {
        let weighted =
            |(id, weight, scale)| Weighted { id, weight, column: (scale, 0.0), stability: None, evidence: None };
        let feature = |w: &Weighted| {
            let name = char::from_digit(w.id, 36).unwrap().to_string();
            let (scale, centre) = w.column;
            Feature { name, weight: w.weight, scale, centre, stability: None, evidence: None, bucket: None }
        };
        let list = [(10, 0.5, 1.0), (13, -2.0, 1.0), (12, 1.0, 2.0), (11, 3.0, 1.0), (14, 0.25, 2.0)].map(weighted);
        let names: Vec<String> = named_by_effect(&list, feature).into_iter().map(|feature| feature.name).collect();
        assert_eq!(names.concat(), "bcdae");
        assert!(named_by_effect(&[], feature).is_empty());
    }
}
