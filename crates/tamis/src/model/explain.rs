//! What each feature of a row adds to its margins.

use super::Predictor;
use crate::data::RawRows;

/// What a feature adds to the margins of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The feature; the product of two features is written `a*b`.
    pub feature: String,
    /// Its value in the row.
    pub value: f64,
    /// What it adds to the margin of each output: weight times value.
    pub parts: Vec<f64>,
}

/// The parts of a prediction: the margins are the intercepts and the sum of all contributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The intercept of each output.
    pub intercepts: Vec<f64>,
    /// The contributions that are not zero, the largest first.
    pub contributions: Vec<Contribution>,
}

impl Predictor {
    /// Whether predictions are sums of contributions.
    pub fn is_linear(&self) -> bool {
        self.kernel.is_none()
    }

    /// The parts of the predictions of rows, by a linear model.
    pub fn explain(&self, rows: &RawRows) -> Vec<Explanation> {
        let rows = self.with_products(rows);
        let batch = rows.lookup(&self.vocabulary);
        (0..batch.len()).map(|row| self.explain_row(batch.row(row), rows.entries(row).count())).collect()
    }

    /// For each row, the number of its features that the model does not use.
    pub fn unknown_features(&self, rows: &RawRows) -> Vec<usize> {
        let outputs = self.intercepts.len();
        let in_products = |id: u32| self.products.iter().any(|(a, b, _)| *a == id || *b == id);
        let is_used = |id: u32| {
            if !self.is_linear() {
                return true;
            }
            let weights = &self.weights[id as usize * outputs..][..outputs];
            weights.iter().any(|weight| *weight != 0.0) || self.offset == Some(id) || in_products(id)
        };
        let is_known = |(key, _)| self.vocabulary.get(key).is_some_and(is_used);
        (0..rows.len()).map(|row| rows.entries(row).filter(|entry| !is_known(*entry)).count()).collect()
    }

    fn explain_row(&self, row: crate::data::Row<'_>, count: usize) -> Explanation {
        let (outputs, factor) = (self.intercepts.len(), self.row_scale.factor(count));
        let mut contributions = Vec::new();
        for (id, value) in row.iter() {
            let weights = &self.weights[id as usize * outputs..][..outputs];
            let own = if self.offset == Some(id) { value } else { 0.0 };
            let parts: Vec<f64> = weights.iter().map(|weight| weight * value * factor + own).collect();
            contributions.push(Contribution { feature: self.vocabulary.name(id), value, parts });
        }
        let value_of = |wanted: u32| row.iter().find(|(id, _)| *id == wanted).map_or(0.0, |(_, value)| value * factor);
        for (a, b, weights) in &self.products {
            let value = value_of(*a) * value_of(*b);
            let feature = format!("{}*{}", self.vocabulary.name(*a), self.vocabulary.name(*b));
            let parts = weights.iter().map(|weight| weight * value).collect();
            contributions.push(Contribution { feature, value, parts });
        }
        contributions.retain(|one| one.parts.iter().any(|part| *part != 0.0));
        let size = |one: &Contribution| one.parts.iter().fold(0.0, |most: f64, part| most.max(part.abs()));
        contributions.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.feature.cmp(&b.feature)));
        Explanation { intercepts: self.intercepts.clone(), contributions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Label, RowScale};
    use crate::loss::LossKind;
    use crate::model::{Feature, Model, Output, Task, TrainingSummary};
    use crate::recipe::Recipe;

    fn model(weights: &[(&str, f64)]) -> Model {
        let feature = |&(name, weight): &(&str, f64)| Feature {
            name: name.into(),
            weight,
            scale: 1.0,
            centre: 0.0,
            frequency: None,
            evidence: None,
            bucket: None,
        };
        let features = weights.iter().map(feature).collect();
        Model {
            recipe: Recipe::default().into(),
            loss: LossKind::Logistic,
            row_scale: RowScale::None,
            task: Task::Classes(vec![Label::Number(0.0), Label::Number(1.0)]),
            columns: None,
            matrix: None,
            seen: TrainingSummary::default(),
            outputs: vec![Output { class: None, intercept: 0.5, features }],
            size_path: None,
            tests: None,
            sampling: None,
            kernel: None,
        }
    }

    #[test]
    fn contributions_and_intercept_are_the_margin() {
        let predictor = Predictor::new(&model(&[("b", -2.0), ("a", 0.25), ("c", 7.0)]));
        let mut rows = RawRows::by_name();
        [("a", 2.0), ("new", 9.0), ("b", 1.0)].iter().for_each(|(name, value)| rows.push_name(&[name], *value));
        rows.end_row(Label::Absent, 1.0, 0);
        let explanation = predictor.explain(&rows).remove(0);
        let parts = explanation.contributions.iter().map(|one| (one.feature.as_str(), one.value, one.parts[0]));
        assert_eq!(parts.collect::<Vec<_>>(), [("b", 1.0, -2.0), ("a", 2.0, 0.5)], "the largest first");
        assert_eq!(predictor.predict(&rows)[0].margins, [0.5 - 2.0 + 0.5]);
        assert_eq!(explanation.intercepts, [0.5]);
        assert_eq!(predictor.unknown_features(&rows), [1]);
    }
}
