//! Builds a model from the weights of scaled columns: in raw units, by decreasing effect.

use crate::data::{FeatureId, TargetEncoder, TargetKind, Vocabulary};
use crate::model::{Feature, Model, Output, TrainingSummary};
use crate::parse::schema::ModelSchema;
use crate::recipe::Recipe;

/// The model of a training, finished or not.
pub(crate) fn assemble(
    recipe: &Recipe,
    targets: &TargetEncoder,
    columns: Option<ModelSchema>,
    summary: TrainingSummary,
    outputs: Vec<Output>,
) -> Model {
    Model {
        recipe: recipe.clone().into(),
        loss: targets.loss,
        row_scale: recipe.row_scaling(),
        task: targets.task(),
        columns,
        matrix: None,
        seen: summary,
        outputs,
        size_path: None,
        tests: None,
        sampling: None,
        kernel: None,
    }
}

/// A weight as learned: of a scaled column, in units of the scaled target.
pub(crate) struct ScaledWeight {
    pub(crate) id: FeatureId,
    pub(crate) weight: f64,
    /// The divisor of the column, and the mean that is subtracted first.
    pub(crate) column: (f64, f64),
    pub(crate) frequency: Option<f64>,
    pub(crate) evidence: Option<[f64; 2]>,
}

/// Sorts by decreasing effect, ties by name. Features are created in their final order, so that a million names are
/// read sequentially.
fn named_by_effect(
    weights: &[ScaledWeight],
    names: impl Fn(&[FeatureId]) -> Vec<(String, Option<u32>)>,
) -> Vec<Feature> {
    let effect = |weight: f64, scale: f64| (weight * scale).abs();
    let mut order: Vec<(f64, usize)> = weights.iter().map(|w| effect(w.weight, w.column.0)).zip(0..).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let ids: Vec<FeatureId> = order.iter().map(|&(_, place)| weights[place].id).collect();
    let named = order.into_iter().zip(names(&ids)).map(|((_, place), (name, bucket))| {
        let ScaledWeight { weight, column: (scale, centre), frequency, evidence, .. } = weights[place];
        Feature { name, weight, scale, centre, frequency, evidence, bucket }
    });
    let mut features: Vec<Feature> = named.collect();
    for tied in features.chunk_by_mut(|a, b| effect(a.weight, a.scale) == effect(b.weight, b.scale)) {
        tied.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
    features
}

/// Output `number` of a model: non-zero weights of raw values in the units of the label, by decreasing effect.
pub(crate) fn output(
    targets: &TargetEncoder,
    vocabulary: &Vocabulary,
    number: usize,
    bias: f64,
    weights: impl Iterator<Item = ScaledWeight>,
) -> Output {
    let (middle, unit) = targets.centre_and_spread();
    let class = match &targets.kind {
        TargetKind::Classes { classes, single: false, .. } => Some(classes[number].clone()),
        _ => None,
    };
    let raw = |weighted: ScaledWeight| ScaledWeight { weight: weighted.weight * unit / weighted.column.0, ..weighted };
    let weights: Vec<ScaledWeight> = weights.map(raw).filter(|weighted| weighted.weight != 0.0).collect();
    let features = named_by_effect(&weights, |ids| vocabulary.names(ids));
    let centred: f64 = features.iter().map(|feature| feature.weight * feature.centre).sum();
    Output { class, intercept: middle + unit * bias - centred, features }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_effect_comes_first_and_ties_go_by_name() {
        let weighted =
            |(id, weight, scale)| ScaledWeight { id, weight, column: (scale, 0.0), frequency: None, evidence: None };
        let name_all = |ids: &[FeatureId]| -> Vec<(String, Option<u32>)> {
            ids.iter().map(|&id| (char::from_digit(id, 36).unwrap().to_string(), None)).collect()
        };
        let list = [(10, 0.5, 1.0), (13, -2.0, 1.0), (12, 1.0, 2.0), (11, 3.0, 1.0), (14, 0.25, 2.0)].map(weighted);
        let names: Vec<String> = named_by_effect(&list, name_all).into_iter().map(|feature| feature.name).collect();
        assert_eq!(names.concat(), "bcdae");
        assert!(named_by_effect(&[], name_all).is_empty());
    }
}
