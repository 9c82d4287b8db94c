//! From learners to a model: which features stay, in raw units, largest effect first.

use super::bank::Bank;
use super::task::{Kind, Targets};
use crate::data::{ColumnScale, Dictionary, FeatureId, Label};
use crate::learn::Learner;
use crate::model::{Feature, Output};

/// Features with a non-zero weight; with `k`, the k of largest effect over all learners (Euclidean norm, ties by id).
pub(super) fn support(bank: &Bank, k: Option<usize>) -> Vec<FeatureId> {
    let learners = bank.learners();
    let span = learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
    let size = |id: FeatureId| match learners {
        [learner] => learner.weight(id).abs(),
        _ => learners.iter().map(|learner| learner.weight(id).powi(2)).sum::<f64>().sqrt(),
    };
    let mut sized: Vec<(f64, FeatureId)> = (0..span).map(|id| (size(id), id)).filter(|(size, _)| *size > 0.0).collect();
    if let Some(k) = k.filter(|&k| k < sized.len()) {
        sized.select_nth_unstable_by(k, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        sized.truncate(k);
    }
    let mut ids: Vec<FeatureId> = sized.into_iter().map(|(_, id)| id).collect();
    ids.sort_unstable();
    ids
}

/// The learners' weights on `support` as the outputs of a model.
pub(super) fn outputs(
    bank: &Bank,
    targets: &Targets,
    support: &[FeatureId],
    dictionary: &Dictionary,
    scale: &ColumnScale,
) -> Vec<Output> {
    let (centre, spread) = match targets.kind {
        Kind::Numbers { centre, spread } => (centre, spread),
        Kind::Classes { .. } => (0.0, 1.0),
    };
    let class = |number: usize| -> Option<Label> {
        match &targets.kind {
            Kind::Classes { classes, single: false, .. } => Some(classes[number].clone()),
            _ => None,
        }
    };
    let output = |(number, learner): (usize, &crate::learn::AnyLearner)| {
        let feature = |&id: &FeatureId| {
            let (divisor, weight) = (scale.divisor(id), learner.weight(id));
            let raw = weight * spread / divisor;
            let (name, bucket) = (dictionary.name(id), dictionary.bucket(id));
            (raw != 0.0).then_some(Feature {
                name,
                weight: raw,
                scale: divisor,
                centre: 0.0,
                stability: None,
                evidence: None,
                bucket,
            })
        };
        let mut features: Vec<Feature> = support.iter().filter_map(feature).collect();
        let effect = |feature: &Feature| (feature.weight * feature.scale).abs();
        features.sort_by(|a, b| effect(b).total_cmp(&effect(a)).then_with(|| a.name.cmp(&b.name)));
        Output { class: class(number), intercept: centre + spread * learner.bias(), features }
    };
    bank.learners().iter().enumerate().map(output).collect()
}
