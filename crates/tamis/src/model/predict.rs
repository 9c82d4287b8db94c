//! Predictions of a model for raw rows of any format.
//!
//! **Probabilities of several classes.** The outputs of one-vs-rest are log-odds m of one class against the others, each
//! learned alone, so that their probabilities σ(m) do not sum to one. Two ways to make them sum to one are to divide them
//! by their sum, and softmax, ∝ eᵐ: they agree where σ(m) is small, and differ where several outputs claim a row. The
//! first is too timid, the second too bold; their geometric mean, p ∝ √(σ(m)·eᵐ), has the lower log loss on most data or
//! is close to the better one. The order of the classes is that of the margins.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::kernel::KernelPredictor;
use super::{Model, Products, Task};
use crate::data::RowScale;
use crate::data::{Batch, FeatureId, FeatureKey, RawRows, Row, Vocabulary};
use crate::loss::{AnyLoss, Loss, argmax};

/// The weights of a model, indexed for fast lookup.
pub struct Predictor {
    pub(super) vocabulary: Vocabulary,
    /// The weights of feature `id` start at `id·outputs`.
    pub(super) weights: Vec<f64>,
    pub(super) intercepts: Vec<f64>,
    /// Columns whose products are features.
    pub(super) interactions: Option<Products>,
    /// The feature that is added to margins.
    pub(super) offset: Option<FeatureId>,
    /// Products of two features, with their weights.
    pub(super) products: Vec<(FeatureId, FeatureId, Vec<f64>)>,
    pub(super) kernel: Option<KernelPredictor>,
    pub(super) loss: AnyLoss,
    /// Whether numbers are predicted through the response of the loss.
    pub(super) has_link: bool,
    pub(super) row_scale: RowScale,
    pub(super) classes: usize,
    pub(super) is_probabilistic: bool,
}

/// The prediction for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Raw scores, one for each output.
    pub margins: Vec<f64>,
    /// The predicted number, or the probability of the second of two classes or of the best of several; a margin if the
    /// loss gives no probabilities.
    pub response: f64,
    /// The number of the predicted class.
    pub class: Option<usize>,
}

impl Prediction {
    /// Whether all scores are finite: values that are very large can make them infinite.
    pub fn is_finite(&self) -> bool {
        self.margins.iter().chain([&self.response]).all(|score| score.is_finite())
    }
}

impl Predictor {
    /// The predictor of a model.
    pub fn new(model: &Model) -> Self {
        let outputs = model.outputs.len();
        let mut vocabulary = Vocabulary::new(model.recipe.hash_bits());
        let mut weights = Vec::new();
        let mut products: BTreeMap<(FeatureId, FeatureId), Vec<f64>> = BTreeMap::new();
        for (number, output) in model.outputs.iter().enumerate() {
            for feature in &output.features {
                if let Some([a, b]) = model.recipe.factors(&feature.name) {
                    let [a, b] = [a, b].map(|name| vocabulary.intern(FeatureKey::from_name(name)));
                    products.entry((a, b)).or_insert_with(|| vec![0.0; outputs])[number] = feature.weight;
                    continue;
                }
                let id = match feature.bucket {
                    Some(bucket) => vocabulary.insert_bucket(bucket, &feature.name),
                    None => vocabulary.intern(FeatureKey::from_name(&feature.name)),
                } as usize;
                weights.resize(weights.len().max((id + 1) * outputs), 0.0);
                weights[id * outputs + number] = feature.weight;
            }
        }
        let offset = model.recipe.offset().map(|name| vocabulary.intern(FeatureKey::from_name(name)));
        let kernel = model.kernel.as_ref().map(|kernel| KernelPredictor::new(kernel, &mut vocabulary));
        weights.resize(weights.len().max(vocabulary.span() * outputs), 0.0);
        Predictor {
            vocabulary,
            kernel,
            interactions: model.recipe.interactions().map(|pairs| Products::new(pairs, model.columns.clone())),
            offset,
            products: products.into_iter().map(|((a, b), weights)| (a, b, weights)).collect(),
            weights,
            intercepts: model.outputs.iter().map(|output| output.intercept).collect(),
            loss: model.loss.build(model.recipe.loss_shape(model.loss)),
            has_link: model.loss.needs_counts(),
            row_scale: model.row_scale,
            is_probabilistic: model.loss.facts().is_probabilistic,
            classes: match &model.task {
                Task::Regression => 0,
                Task::Classes(classes) => classes.len(),
            },
        }
    }

    /// The loss that the model minimises.
    pub fn loss(&self) -> AnyLoss {
        self.loss
    }

    /// The rows with the products that the model uses.
    pub fn with_products<'a>(&self, rows: &'a RawRows) -> Cow<'a, RawRows> {
        let is_known = |name: &str| self.vocabulary.get(FeatureKey::from_name(name)).is_some();
        match &self.interactions {
            Some(products) => Cow::Owned(products.expand_wanted(rows, is_known)),
            None => Cow::Borrowed(rows),
        }
    }

    /// Predicts the rows of a block.
    pub fn predict(&self, rows: &RawRows) -> Vec<Prediction> {
        self.predict_expanded(&self.with_products(rows))
    }

    /// Predicts rows that have their products.
    pub fn predict_expanded(&self, rows: &RawRows) -> Vec<Prediction> {
        let batch: Batch = rows.lookup(&self.vocabulary);
        let counts = |i: usize| rows.entries(i).count();
        (0..batch.len()).map(|i| self.predict_row(batch.row(i), counts(i))).collect()
    }

    /// Predicts one row of known features; `count` is its number of non-zeros, unknown features included.
    pub fn predict_row(&self, row: Row<'_>, count: usize) -> Prediction {
        if let Some(kernel) = &self.kernel {
            return self.prediction(kernel.margins(row));
        }
        let outputs = self.intercepts.len();
        let factor = self.row_scale.factor(count);
        let mut margins = self.intercepts.clone();
        if let Some((_, offset)) = self.offset.and_then(|offset| row.iter().find(|(id, _)| *id == offset)) {
            margins.iter_mut().for_each(|margin| *margin += offset);
        }
        for (id, value) in row.iter() {
            let weights = &self.weights[id as usize * outputs..(id as usize + 1) * outputs];
            margins.iter_mut().zip(weights).for_each(|(margin, weight)| *margin += weight * value * factor);
        }
        if !self.products.is_empty() {
            self.add_products(row, factor, &mut margins);
        }
        self.prediction(margins)
    }

    /// The prediction of margins.
    fn prediction(&self, margins: Vec<f64>) -> Prediction {
        let (response, class) = match (self.classes, &margins[..]) {
            (0, [margin]) if self.has_link => (self.loss.response(*margin), None),
            (0, [margin]) => (*margin, None),
            (2, [margin]) => (self.loss.response(*margin), Some(usize::from(*margin > self.loss.boundary()))),
            (_, margins) => {
                let best = argmax(margins);
                let probabilities = self.probabilities(margins);
                (probabilities.map_or(margins[best], |probabilities| probabilities[best]), Some(best))
            }
        };
        Prediction { margins, response, class }
    }

    /// The probability of each class for the margins of a row; they sum to one. `None` for regression, and for losses
    /// that give no probabilities.
    pub fn probabilities(&self, margins: &[f64]) -> Option<Vec<f64>> {
        if self.classes == 0 || !self.is_probabilistic {
            return None;
        }
        if let [margin] = margins {
            let second = self.loss.response(*margin);
            return Some(vec![1.0 - second, second]);
        }
        // The loss of the positive class is −ln σ(m).
        let positive = self.loss.codes()[1];
        let logs: Vec<f64> = margins.iter().map(|&margin| 0.5 * (margin - self.loss.value(margin, positive))).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let parts: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
        let sum: f64 = parts.iter().sum();
        Some(parts.iter().map(|part| part / sum).collect())
    }

    fn add_products(&self, row: Row<'_>, factor: f64, margins: &mut [f64]) {
        let mut values = vec![0.0; self.vocabulary.span()];
        row.iter().for_each(|(id, value)| values[id as usize] = value * factor);
        for (a, b, weights) in &self.products {
            let product = values[*a as usize] * values[*b as usize];
            margins.iter_mut().zip(weights).for_each(|(margin, weight)| *margin += weight * product);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;
    use crate::loss::LossKind;
    use crate::model::{Feature, Output, TrainingSummary};
    use crate::recipe::Recipe;

    fn output(class: Option<f64>, intercept: f64, weights: &[(&str, f64)]) -> Output {
        let feature = |&(name, weight): &(&str, f64)| Feature {
            name: name.into(),
            weight,
            scale: 1.0,
            centre: 0.0,
            frequency: None,
            evidence: None,
            bucket: None,
        };
        Output { class: class.map(Label::Number), intercept, features: weights.iter().map(feature).collect() }
    }

    fn predict(loss: LossKind, classes: &[f64], outputs: Vec<Output>, row: &[(&str, f64)]) -> Prediction {
        let task = match classes {
            [] => Task::Regression,
            _ => Task::Classes(classes.iter().map(|&class| Label::Number(class)).collect()),
        };
        let row_scale = if loss == LossKind::ClippedSquared { RowScale::SqrtCount } else { RowScale::None };
        let (recipe, seen) = (Recipe::default().into(), TrainingSummary::default());
        let model = Model {
            recipe,
            loss,
            row_scale,
            task,
            columns: None,
            matrix: None,
            seen,
            outputs,
            size_path: None,
            tests: None,
            sampling: None,
            kernel: None,
        };
        let mut rows = RawRows::by_name();
        row.iter().for_each(|(name, value)| rows.push_name(&[name], *value));
        rows.end_row(Label::Absent, 1.0, 0);
        Predictor::new(&model).predict(&rows).remove(0)
    }

    #[test]
    fn numbers_two_classes_and_more() {
        let row = [("a", 2.0), ("unknown", 9.0), ("b", 1.0)];
        let one = || vec![output(None, 0.5, &[("a", 1.0), ("b", -2.5)])];
        let number = predict(LossKind::Squared, &[], one(), &row);
        assert_eq!((number.response, number.class), (0.0, None));
        let two = predict(LossKind::Logistic, &[-1.0, 1.0], one(), &row);
        assert_eq!((two.response, two.class), (0.5, Some(0)));
        let three = vec![
            output(Some(1.0), 0.0, &[("a", 1.0)]),
            output(Some(2.0), 3.0, &[]),
            output(Some(3.0), 0.0, &[("b", 1.0)]),
        ];
        assert_eq!(predict(LossKind::Hinge, &[1.0, 2.0, 3.0], three, &row).class, Some(1));
    }

    #[test]
    fn probabilities_of_classes_sum_to_one() {
        let three = |loss| {
            let outputs =
                vec![output(Some(1.0), -800.0, &[]), output(Some(2.0), 1.0, &[]), output(Some(3.0), -2.0, &[])];
            predict(loss, &[1.0, 2.0, 3.0], outputs, &[("a", 2.0)])
        };
        let sigmoid = |margin: f64| 1.0 / (1.0 + (-margin).exp());
        let parts = [(sigmoid(1.0) * 1f64.exp()).sqrt(), (sigmoid(-2.0) * (-2f64).exp()).sqrt()];
        let found = three(LossKind::Logistic);
        assert!((found.response - parts[0] / (parts[0] + parts[1])).abs() < 1e-12, "{found:?}");
        assert_eq!(found.class, Some(1));
        assert_eq!(three(LossKind::Hinge).response, 1.0, "no probability, but the margin");
    }

    #[test]
    fn rows_are_divided_by_the_root_of_their_length() {
        let row = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0)];
        let clipped = predict(LossKind::ClippedSquared, &[0.0, 1.0], vec![output(None, 0.25, &[("a", 1.0)])], &row);
        assert_eq!(clipped.margins, [0.75], "unknown features count in the length");
        assert_eq!(clipped.class, Some(1));
    }
}
