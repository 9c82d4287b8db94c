//! The intercept of a classifier of a rare class: probabilities that have the share of the class as their mean.
//!
//! Steps of stochastic gradients, and penalties on the weights, leave the intercept off its best value. Of balanced classes
//! that is hardly seen; of a class with one row in a hundred, the mean probability can be off by a third of that share. So
//! the intercept b is moved to b + δ with Σ wᵢ·σ(mᵢ + δ) = Σ wᵢ·[yᵢ = 1], the condition that logistic regression has at its
//! minimum. Margins mᵢ are gathered in bins of width 1/64 with their means, so that one pass over the stored rows is
//! enough, whatever their number; the error of the sum is below 10⁻⁵.
//!
//! This needs all rows. A stream that is learned in one pass is not stored, and progressive margins are those of earlier
//! weights: there the intercept stays as it was learned.

use crate::data::{FeatureKey, TargetKind};
use crate::loss::EvalMetric;
use crate::model::Output;
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// A class is rare if its share is below this.
const RARE: f64 = 0.1;
/// Bins per unit of the margin, and the largest margin with a bin of its own.
const PER_UNIT: f64 = 64.0;
const LARGEST: f64 = 40.0;

/// Moves the intercept of a model of two classes, of which one is rare.
pub(super) fn calibrate_rare_class(
    data: &TrainingData,
    rows: &mut BufferedRows,
    outputs: &mut [Output],
) -> Result<(), TrainError> {
    let is_logistic = data.targets.loss.facts().metric == Some(EvalMetric::LogLoss);
    let is_two = matches!(data.targets.kind, TargetKind::Classes { single: true, .. });
    let has_rows = rows.is_all && data.rows_before == 0 && data.recipe.passes != Some(1);
    let [output] = outputs else { return Ok(()) };
    if !is_logistic || !is_two || !has_rows || !data.recipe.intercept {
        return Ok(());
    }
    let margins = MarginBins::of(data, rows, output)?;
    let share = margins.positive / margins.total();
    if share.min(1.0 - share) > 0.0 && share.min(1.0 - share) < RARE {
        output.intercept += margins.shift();
    }
    Ok(())
}

/// The margins of rows: for each bin, the weight of its rows and their mean margin.
struct MarginBins {
    bins: Vec<(f64, f64)>,
    /// The weight of the rows of the second class.
    positive: f64,
}

impl MarginBins {
    fn new() -> Self {
        MarginBins { bins: vec![(0.0, 0.0); 2 * (PER_UNIT * LARGEST) as usize + 1], positive: 0.0 }
    }

    fn of(data: &TrainingData, rows: &mut BufferedRows, output: &Output) -> Result<Self, TrainError> {
        let mut weights = vec![0.0; data.vocabulary.span()];
        for feature in &output.features {
            if let Some(id) = data.vocabulary.get(FeatureKey::from_name(&feature.name)) {
                weights[id as usize] = feature.weight;
            }
        }
        let mut found = MarginBins::new();
        for chunk in rows.store.chunks(0) {
            for example in chunk?.examples() {
                let factor = data.recipe.row_scaling().factor(example.row.len());
                let sum: f64 = example.row.iter().map(|(id, value)| weights[id as usize] * value).sum();
                found.add(output.intercept + factor * sum, example.weight, example.target == 1.0);
            }
        }
        Ok(found)
    }

    fn add(&mut self, margin: f64, weight: f64, is_positive: bool) {
        let place = ((margin.clamp(-LARGEST, LARGEST) + LARGEST) * PER_UNIT).round() as usize;
        let (total, mean) = &mut self.bins[place];
        *total += weight;
        *mean += (margin - *mean) * weight / *total;
        self.positive += if is_positive { weight } else { 0.0 };
    }

    fn total(&self) -> f64 {
        self.bins.iter().map(|(weight, _)| weight).sum()
    }

    /// δ, by bisection: the sum of probabilities grows with it.
    fn shift(&self) -> f64 {
        let excess = |shift: f64| -> f64 {
            let probability = |margin: f64| 1.0 / (1.0 + (-margin - shift).exp());
            let used = self.bins.iter().filter(|(weight, _)| *weight > 0.0);
            used.map(|&(weight, mean)| weight * probability(mean)).sum::<f64>() - self.positive
        };
        let (mut low, mut high) = (-2.0 * LARGEST, 2.0 * LARGEST);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if excess(middle) > 0.0 { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_probability_is_the_share() {
        let mut bins = MarginBins::new();
        let margins: Vec<f64> = (0..1000).map(|row| -9.0 + f64::from(row) / 137.0).collect();
        for (row, margin) in margins.iter().enumerate() {
            bins.add(*margin, 1.0 + (row % 3) as f64, row % 50 == 0);
        }
        let shift = bins.shift();
        let sum: f64 = margins
            .iter()
            .enumerate()
            .map(|(row, margin)| (1.0 + (row % 3) as f64) / (1.0 + (-margin - shift).exp()))
            .sum();
        assert!((sum / bins.positive - 1.0).abs() < 1e-4, "{sum} {}", bins.positive);
    }
}
