//! A model of sampled features, and its weights refined on the rows.
//!
//! Sampling raises the weights of the few features it keeps, so that the expected model is the dense one. The rows
//! correct the error of a single sample: the model with weights w̃ and intercept b is moved by the change (d, c) that
//! minimises
//! ```text
//! Σ_i v_i·ℓ(w̃·x_i + b + d·x_i + c, y_i) + ‖d‖²/(2τ)       over the buffered rows and the sampled features, columns scaled
//! ```
//! τ = 0 is the paper's model, τ → ∞ the unpenalised fit on its features ([`Refinement`], a ridge of 1/τ). The final
//! selection chooses τ on held-out rows, together with radius, rate and size (`final_selection.rs`).
//!
//! | parameter | value | from |
//! |---|---|---|
//! | τ, `refine` | 0, 10⁻², 10⁻¹, 1, 10, 10² | held-out rows; for rows of mean importance 1 |
//! | entries of a fit | 2²², in the final selection 2¹⁸ | further rows are left out, evenly |
//! | negligible gain | a hundredth of the mean loss of a row, for each feature | noise costs a fit about one of them for each feature |
//!
//! Departure: the paper stops at w̃, and so does this with `--refine 0`. Only buffered rows can be fitted: those are
//! the first 200,000 of a longer stream, and a training that continues a complete one leaves w̃ as it is.
//!
//! Cost: one pass over the rows, then 20 to 100 visits of each entry for a τ. Memory: 12 bytes for each entry of the
//! fit, 4 for each known feature.

use super::epoch_sgd::EpochSgd;
use super::params::params_of;
use super::row_sample::RowSample;
use super::sampling::SampledFeature;
use crate::data::{Batch, Example, FeatureId, Row, TargetEncoder};
use crate::learners::Learner;
use crate::loss::Loss;
use crate::recipe::Recipe;
use crate::refine::{Refinement, margins};
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// τ, from none to strong.
const REFINEMENTS: [f64; 6] = [0.0, 1e-2, 1e-1, 1e0, 1e1, 1e2];
/// The largest number of rows and of entries of a fit.
const MOST_ROWS: usize = 1 << 18;
const MOST_ENTRIES: usize = 1 << 22;
/// The largest number of entries of a fit in the final selection.
const ENTRIES_TO_TRY: usize = 1 << 18;

/// The values of τ to try: the given one, or all. None are needed if the weights are refitted in the end.
pub(super) fn refinements(recipe: &Recipe) -> Vec<f64> {
    match params_of(recipe).refine {
        _ if recipe.refits() => vec![0.0],
        Some(given) => vec![given],
        None => REFINEMENTS.to_vec(),
    }
}

/// A subset of the features, numbered in their order.
pub(super) struct FeatureSubset {
    /// The number of each feature, counted from 1; 0 for features outside of the subset.
    numbers: Vec<u32>,
}

impl FeatureSubset {
    /// The subset with these features, of `span` in all.
    pub(super) fn of(ids: impl IntoIterator<Item = FeatureId>, span: usize) -> Self {
        let mut numbers = vec![0; span];
        ids.into_iter().for_each(|id| numbers[id as usize] = 1);
        let mut next = 0;
        for number in numbers.iter_mut().filter(|number| **number > 0) {
            next += 1;
            *number = next;
        }
        FeatureSubset { numbers }
    }

    /// The number of a feature.
    fn number(&self, id: FeatureId) -> Option<FeatureId> {
        self.numbers.get(id as usize)?.checked_sub(1)
    }

    /// The number of features.
    pub(super) fn len(&self) -> usize {
        self.numbers.iter().filter(|number| **number > 0).count()
    }

    /// Replaces ids by numbers in the subset.
    ///
    /// # Panics
    /// If a feature is not in the subset.
    pub(super) fn renumber(&self, ids: &mut [FeatureId]) {
        ids.iter_mut().for_each(|id| *id = self.number(*id).expect("one of the subset"));
    }

    /// The rows restricted to these features.
    pub(super) fn restrict(&self, rows: &Batch) -> Batch {
        let (mut kept, mut scratch) = (Batch::new(), Scratch::default());
        for example in rows.examples() {
            let row = scratch.row(example.row.iter().filter_map(|(id, value)| Some((self.number(id)?, value))));
            kept.push_mapped(Example { row, ..example }, |_, value| value);
        }
        kept
    }
}

/// A buffer for one row.
#[derive(Default)]
struct Scratch {
    ids: Vec<FeatureId>,
    values: Vec<f64>,
}

impl Scratch {
    fn row(&mut self, entries: impl Iterator<Item = (FeatureId, f64)>) -> Row<'_> {
        self.ids.clear();
        self.values.clear();
        for (id, value) in entries {
            self.ids.push(id);
            self.values.push(value);
        }
        Row { ids: &self.ids, values: &self.values }
    }
}

/// Scaled buffered rows over a subset of the features: those whose numbers the filter takes, or as many as the limits allow.
pub(super) fn gather(
    data: &TrainingData,
    rows: &mut BufferedRows,
    subset: &FeatureSubset,
    is_taken: impl Fn(usize) -> bool,
) -> Result<Batch, TrainError> {
    let (scaler, mut scratch) = (data.scaler(), Scratch::default());
    let mut sample = RowSample::of(MOST_ROWS, MOST_ENTRIES);
    for chunk in rows.store.chunks(0) {
        let chunk = chunk?;
        for (_, example) in chunk.numbers().zip(chunk.examples()).filter(|&(number, _)| is_taken(number)) {
            let row =
                scratch.row(scaler.entries(example.row).filter_map(|(id, value)| Some((subset.number(id)?, value))));
            sample.offer(Example { row, ..example }, |_, value| value);
        }
    }
    Ok(sample.into_rows())
}

/// An output's weights and intercept.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    pub(super) weights: Vec<f64>,
    pub(super) bias: f64,
}

impl Linear {
    /// The weights and the intercept with a change added.
    fn moved(&self, change: &[f64]) -> Self {
        let weights = self.weights.iter().zip(change).map(|(weight, change)| weight + change).collect();
        Linear { weights, bias: self.bias + change[self.weights.len()] }
    }
}

/// A sampled model: its features, ascending, and its outputs.
#[derive(Clone, Debug)]
pub(super) struct SampledModel {
    pub(super) ids: Vec<FeatureId>,
    pub(super) outputs: Vec<Linear>,
}

impl SampledModel {
    /// The model of these learners with the sampled features.
    pub(super) fn of(learners: &[EpochSgd], drawn: &[SampledFeature]) -> Self {
        let raised = |learner: &EpochSgd| {
            let weight = |drawn: &SampledFeature| learner.weight(drawn.place as FeatureId) * drawn.factor;
            Linear { weights: drawn.iter().map(weight).collect(), bias: learner.bias() }
        };
        let ids = drawn.iter().map(|drawn| drawn.place as FeatureId).collect();
        SampledModel { ids, outputs: learners.iter().map(raised).collect() }
    }

    /// The outputs, refined on rows over the features of this model. An output that cannot be fitted stays as it is.
    pub(super) fn refined(self, rows: &Batch, targets: &TargetEncoder, intercept: bool, refine: f64) -> Vec<Linear> {
        let fit = |(number, linear): (usize, Linear)| {
            let refinement = refinement(rows, targets, number, &linear, intercept);
            let moved = linear.moved(&refinement.solve(importance(rows) / refine, &refinement.unchanged()));
            let is_finite = moved.bias.is_finite() && moved.weights.iter().all(|weight| weight.is_finite());
            if is_finite { moved } else { linear }
        };
        self.outputs.into_iter().enumerate().map(fit).collect()
    }

    /// The mean loss of each held-out row over outputs, for each τ, ascending. Rows and held-out rows are over `span`
    /// features, among them those of this model.
    pub(super) fn losses(
        &self,
        rows: &Batch,
        holdout: &Batch,
        span: usize,
        targets: &TargetEncoder,
        intercept: bool,
        refinements: &[f64],
    ) -> Vec<Vec<f64>> {
        let subset = FeatureSubset::of(self.ids.iter().copied(), span);
        let mut sample = RowSample::of(MOST_ROWS, ENTRIES_TO_TRY);
        subset.restrict(rows).examples().for_each(|example| sample.offer(example, |_, value| value));
        let (rows, holdout) = (sample.into_rows(), subset.restrict(holdout));
        let mut losses = vec![vec![0.0; holdout.len()]; refinements.len()];
        let share = 1.0 / self.outputs.len() as f64;
        for (number, linear) in self.outputs.iter().enumerate() {
            let refinement = refinement(&rows, targets, number, linear, intercept);
            let (mut change, prepared) = (refinement.unchanged(), refinement.prepare());
            let coding = targets.coding(number);
            for (&refine, losses) in refinements.iter().zip(&mut losses) {
                if refine > 0.0 {
                    change = prepared.solve(importance(&rows) / refine, &change);
                }
                let moved = linear.moved(&change);
                let margins = margins(&holdout, &moved.weights, moved.bias);
                for ((loss, example), margin) in losses.iter_mut().zip(holdout.examples()).zip(margins) {
                    *loss += share * targets.loss_fn.value(margin, coding.code(example.target));
                }
            }
        }
        losses
    }
}

/// The refinement problem of an output.
fn refinement<'a>(
    rows: &'a Batch,
    targets: &TargetEncoder,
    number: usize,
    linear: &Linear,
    intercept: bool,
) -> Refinement<'a> {
    let (features, coding) = (linear.weights.len(), targets.coding(number));
    Refinement {
        rows,
        targets: rows.examples().map(|example| coding.code(example.target)).collect(),
        margins: margins(rows, &linear.weights, linear.bias).collect(),
        is_free: std::iter::repeat_n(true, features).chain([intercept]).collect(),
        loss: targets.loss_fn,
        tolerance: Refinement::TOLERANCE * features.max(1) as f64,
    }
}

/// The mean importance weight of rows: only ratios of weights matter.
fn importance(rows: &Batch) -> f64 {
    rows.parts().weights.iter().sum::<f64>() / rows.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TargetKind;
    use crate::loss::LossKind;

    fn numbers() -> TargetEncoder {
        TargetEncoder::new(LossKind::Squared, 1.0, TargetKind::Numbers { centre: 0.0, spread: 1.0 })
    }

    fn rows(rows: &[(&[FeatureId], &[f64], f64)]) -> Batch {
        let mut batch = Batch::new();
        rows.iter().for_each(|&(ids, values, target)| {
            batch.push(Example { row: Row { ids, values }, target, weight: 1.0 });
        });
        batch
    }

    fn sampled(ids: &[FeatureId], weights: &[f64]) -> SampledModel {
        SampledModel { ids: ids.to_vec(), outputs: vec![Linear { weights: weights.to_vec(), bias: 0.0 }] }
    }

    #[test]
    fn a_subset_is_numbered_in_order() {
        let subset = FeatureSubset::of([7, 2, 7], 9);
        assert_eq!(
            (subset.number(2), subset.number(7), subset.number(3), subset.number(90)),
            (Some(0), Some(1), None, None)
        );
        let kept = subset.restrict(&rows(&[(&[2, 3, 7], &[1.0, 2.0, 3.0], 5.0), (&[90], &[1.0], 6.0)]));
        assert_eq!((subset.len(), kept.len(), kept.row(1).len()), (2, 2, 0));
        assert_eq!((kept.row(0).ids, kept.row(0).values), (&[0, 1][..], &[1.0, 3.0][..]));
        let mut ids = [7, 2];
        subset.renumber(&mut ids);
        assert_eq!(ids, [1, 0]);
    }

    #[test]
    fn a_refinement_by_hand() {
        // (d + 1 − 3)² + (2d + 2 − 6)² + d²/(2τ), τ = 0.1: 10d − 20 + 10d = 0.
        let training_rows = rows(&[(&[0], &[1.0], 3.0), (&[0], &[2.0], 6.0)]);
        let refined = |refine: f64| sampled(&[0], &[1.0]).refined(&training_rows, &numbers(), false, refine).remove(0);
        assert!((refined(0.1).weights[0] - 2.0).abs() < 1e-9);
        assert!((refined(1e9).weights[0] - 3.0).abs() < 1e-6);
        assert!((refined(1e-9).weights[0] - 1.0).abs() < 1e-6);
        assert_eq!(refined(0.1).bias, 0.0);
    }

    #[test]
    fn only_ratios_of_importance_matter() {
        let mut heavy = Batch::new();
        let light = rows(&[(&[0], &[1.0], 3.0), (&[0], &[2.0], 5.0)]);
        light.examples().for_each(|example| heavy.push(Example { weight: 8.0, ..example }));
        let weight = |rows: &Batch| sampled(&[0], &[1.0]).refined(rows, &numbers(), true, 1.0)[0].weights[0];
        assert!((weight(&light) - weight(&heavy)).abs() < 1e-9);
    }

    #[test]
    fn held_out_losses_by_hand() {
        let training_rows = rows(&[(&[4], &[1.0], 3.0), (&[1, 4], &[9.0, 2.0], 6.0)]);
        let holdout = rows(&[(&[4], &[1.0], 3.0)]);
        let losses = sampled(&[4], &[1.0]).losses(&training_rows, &holdout, 5, &numbers(), false, &[0.0, 0.1, 1e9]);
        // Weights 1, 2 and 3, where 3 is right.
        for (losses, expected) in losses.iter().zip([4.0, 1.0, 0.0]) {
            assert!((losses[0] - expected).abs() < 1e-6, "{losses:?} instead of {expected}");
        }
    }

    #[test]
    fn a_given_refinement_is_the_only_one() {
        let recipe = Recipe::new(crate::recipe::Method::TwoStage);
        assert_eq!(refinements(&recipe), REFINEMENTS);
        assert_eq!(refinements(&recipe.clone().with("refine", 0.5)), [0.5]);
        assert_eq!(refinements(&Recipe { refit: Some(true), k: Some(3), ..recipe }), [0.0]);
    }
}
