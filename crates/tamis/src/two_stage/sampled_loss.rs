//! The held-out loss of a learned model after its features are sampled.
//!
//! Source: Li et al. 2017, section 5: the paper samples a hundred times and reports the mean (E56). A single sample of
//! few features says little about the weights it comes from; a handful are enough.
//!
//! Cost: O(entries of the held-out rows) for four samples. Memory: 4 bytes a feature, and 36 for each sampled one.

use super::epoch_sgd::EpochSgd;
use super::sampling::{FeatureSampler, SampledFeature, Size};
use crate::data::{Batch, FeatureId, TargetEncoder};
use crate::learners::Learner;
use crate::loss::Loss;
use crate::rng::{RngStream, generator};
use crate::select::Estimate;

/// Samples at most, and at least: with fewer features, samples differ more.
const MAX_SAMPLES: u64 = 8;
const MIN_SAMPLES: u64 = 2;
/// The total number of features of all samples above which fewer samples are taken.
const ENOUGH_FEATURES: u64 = 1 << 13;
/// Samples that are evaluated together.
const LANES: usize = 4;

/// The loss of each row, the mean over samples of this size and over learners.
pub(super) fn sampled_losses(
    learners: &[EpochSgd],
    targets: &TargetEncoder,
    scores: &[f64],
    size: Size,
    rows: &Batch,
) -> Vec<f64> {
    let sampler = FeatureSampler::new(scores, size);
    let n_samples = if sampler.keeps_all() { 1 } else { n_samples(size) };
    let share = 1.0 / (n_samples as f64 * learners.len() as f64);
    let (mut losses, mut places) = (vec![0.0; rows.len()], vec![0; scores.len()]);
    for first in (0..n_samples).step_by(LANES) {
        let lanes = first..n_samples.min(first + LANES as u64);
        let drawn = Lanes::draw(&sampler, lanes.clone(), &mut places);
        for (number, learner) in learners.iter().enumerate() {
            let (weights, coding) = (drawn.weights(learner), targets.coding(number));
            for (loss, example) in losses.iter_mut().zip(rows.examples()) {
                let mut margins = [learner.bias(); LANES];
                for (id, value) in example.row.iter() {
                    let place = places.get(id as usize).copied().unwrap_or(0) as usize;
                    if place > 0 {
                        margins
                            .iter_mut()
                            .zip(&weights[place - 1])
                            .for_each(|(margin, weight)| *margin += weight * value);
                    }
                }
                let target = coding.code(example.target);
                let of_lane = |&margin: &f64| targets.loss_fn.value(margin, target);
                *loss += share * margins[..(lanes.end - lanes.start) as usize].iter().map(of_lane).sum::<f64>();
            }
        }
        drawn.ids.iter().for_each(|&id| places[id as usize] = 0);
    }
    // A model whose loss is NaN is never chosen.
    losses.iter_mut().filter(|loss| loss.is_nan()).for_each(|loss| *loss = f64::INFINITY);
    losses
}

/// The same number of draws with replacement instead of exactly k features: cheaper with very many features, never
/// better.
pub(super) fn with_replacement(size: Size) -> Size {
    match size {
        Size::Exactly(k) => Size::Draws(k as u64),
        draws => draws,
    }
}

/// The number of samples.
fn n_samples(size: Size) -> u64 {
    let features = match size {
        Size::Exactly(k) => k as u64,
        Size::Draws(draws) => draws,
    };
    (ENOUGH_FEATURES / features.max(1)).clamp(MIN_SAMPLES, MAX_SAMPLES)
}

/// Some samples side by side.
struct Lanes {
    /// The features that are in one of them.
    ids: Vec<FeatureId>,
    /// The factors of their weights.
    factors: Vec<[f64; LANES]>,
}

impl Lanes {
    /// The samples with these numbers. The place of each sampled feature, counted from 1, is written to `places`.
    fn draw(sampler: &FeatureSampler, numbers: std::ops::Range<u64>, places: &mut [u32]) -> Self {
        let mut lanes = Lanes { ids: Vec::new(), factors: Vec::new() };
        for (lane, number) in numbers.enumerate() {
            // All candidates use the same random numbers, so that they share the sampling error.
            for SampledFeature { place, factor } in sampler.draw(&mut generator(0, RngStream::TrialSample, number)) {
                if places[place] == 0 {
                    lanes.ids.push(place as FeatureId);
                    lanes.factors.push([0.0; LANES]);
                    places[place] = lanes.ids.len() as u32;
                }
                lanes.factors[places[place] as usize - 1][lane] = factor;
            }
        }
        lanes
    }

    fn weights(&self, learner: &EpochSgd) -> Vec<[f64; LANES]> {
        let weights = |(&id, factors): (&FeatureId, &[f64; LANES])| {
            let weight = learner.weight(id);
            factors.map(|factor| weight * factor)
        };
        self.ids.iter().zip(&self.factors).map(weights).collect()
    }
}

/// The mean loss over rows of these weights, with its standard error; infinite if it is not finite.
pub(super) fn estimate(losses: &[f64], weights: &[f64]) -> Estimate {
    let estimate = Estimate::of(weights.iter().copied().zip(losses.iter().copied()));
    if estimate.mean.is_finite() { estimate } else { Estimate { mean: f64::INFINITY, standard_error: 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Example, Row, TargetKind};
    use crate::loss::LossKind;
    use crate::recipe::{Method, Recipe};

    /// Weights ¼ on features 0 and 1, and rows with one of them each.
    fn learned() -> (EpochSgd, TargetEncoder, Batch) {
        let numbers = [("radius", 100.0), ("learning-rate", 0.25), ("first-epoch-steps", 2.0)];
        let recipe = Recipe { intercept: false, ..Recipe::new(Method::TwoStage) };
        let recipe = numbers.into_iter().fold(recipe, |recipe, (name, number)| recipe.with(name, number));
        let loss = LossKind::Squared.build(1.0);
        let mut learner = EpochSgd::for_recipe(&recipe, loss);
        let both = Row { ids: &[0, 1], values: &[1.0, 1.0] };
        for _ in 0..2 {
            learner.learn(Example { row: both, target: 1.0, weight: 1.0 });
        }
        let mut rows = Batch::new();
        for id in [0, 1] {
            rows.push(Example { row: Row { ids: &[id], values: &[1.0] }, target: 0.25, weight: 1.0 });
        }
        (learner, TargetEncoder::new(LossKind::Squared, 1.0, TargetKind::Numbers { centre: 0.0, spread: 1.0 }), rows)
    }

    #[test]
    fn sampled_losses_by_hand() {
        let (learner, targets, rows) = learned();
        let scores = [0.25, 0.25];
        let losses_at = |size| sampled_losses(std::slice::from_ref(&learner), &targets, &scores, size, &rows);
        assert_eq!(losses_at(Size::Exactly(2)), [0.0, 0.0], "the dense model is exact");
        // One of the two with twice its weight: both rows are off by ¼.
        let drawn = losses_at(Size::Exactly(1));
        assert!(drawn.iter().all(|loss| (loss - 0.0625).abs() < 1e-15), "{drawn:?}");
        let drawn = losses_at(Size::Draws(1));
        assert!(drawn.iter().all(|loss| (loss - 0.0625).abs() < 1e-15), "{drawn:?}");
    }

    #[test]
    fn few_features_are_sampled_often() {
        assert_eq!([1, 1 << 10, 1 << 11, 1 << 12, usize::MAX].map(|k| n_samples(Size::Exactly(k))), [8, 8, 4, 2, 2]);
        assert_eq!(n_samples(with_replacement(Size::Exactly(1 << 11))), 4);
    }

    #[test]
    fn losses_that_are_not_finite_are_infinite() {
        assert_eq!(estimate(&[1.0, 3.0], &[3.0, 1.0]).mean, 1.5);
        let infinite = Estimate { mean: f64::INFINITY, standard_error: 0.0 };
        assert_eq!(estimate(&[1.0, f64::INFINITY], &[1.0, 1.0]), infinite);
    }
}
