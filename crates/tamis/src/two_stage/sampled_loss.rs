//! What a learned model is worth once its features are drawn, on rows it has not learned.
//!
//! Source: Li et al. 2017, section 5: the paper draws a hundred times and shows the mean (E56). One drawing of
//! subset features says little of the weights it was drawn from; a handful say enough.
//!
//! Cost: O(entries of the holdout) for every four drawings. Memory: 4 bytes a feature, and 36 for each that was drawn.

use super::epoch_sgd::EpochSgd;
use super::sampling::{FeatureSampler, SampledFeature, Size};
use crate::data::{Batch, FeatureId, TargetEncoder};
use crate::learners::Learner;
use crate::loss::Loss;
use crate::rng::{RngStream, generator};
use crate::select::Estimate;

/// Drawings at most, and at least: the fewer features, the more one drawing differs from the next.
const MOST_DRAWINGS: u64 = 8;
const LEAST_DRAWINGS: u64 = 2;
/// Features of all drawings together, above which there are fewer of these.
const ENOUGH_FEATURES: u64 = 1 << 13;
/// Drawings worked on together.
const LANES: usize = 4;

/// The loss of every row, in its mean over drawings of this size and over learners.
pub(super) fn sampled_losses(
    learners: &[EpochSgd],
    targets: &TargetEncoder,
    scores: &[f64],
    size: Size,
    rows: &Batch,
) -> Vec<f64> {
    let sampler = FeatureSampler::new(scores, size);
    let drawings = if sampler.keeps_all() { 1 } else { drawings(size) };
    let share = 1.0 / (drawings as f64 * learners.len() as f64);
    let (mut losses, mut places) = (vec![0.0; rows.len()], vec![0; scores.len()]);
    for first in (0..drawings).step_by(LANES) {
        let lanes = first..drawings.min(first + LANES as u64);
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
    // A loss that is no number is no reason to choose.
    losses.iter_mut().filter(|loss| loss.is_nan()).for_each(|loss| *loss = f64::INFINITY);
    losses
}

/// So many draws instead of systematic_sample so many features: that costs less where features are very many, and is not better.
pub(super) fn with_replacement(size: Size) -> Size {
    match size {
        Size::Exactly(k) => Size::Draws(k as u64),
        draws => draws,
    }
}

/// How often to draw.
fn drawings(size: Size) -> u64 {
    let features = match size {
        Size::Exactly(k) => k as u64,
        Size::Draws(draws) => draws,
    };
    (ENOUGH_FEATURES / features.max(1)).clamp(LEAST_DRAWINGS, MOST_DRAWINGS)
}

/// Some drawings side by side.
struct Lanes {
    /// Features that are in one of them.
    ids: Vec<FeatureId>,
    /// What their weights are multiplied with.
    factors: Vec<[f64; LANES]>,
}

impl Lanes {
    /// The drawings of these numbers. The place of each feature drawn, counted from 1, is written among `places`.
    fn draw(sampler: &FeatureSampler, numbers: std::ops::Range<u64>, places: &mut [u32]) -> Self {
        let mut lanes = Lanes { ids: Vec::new(), factors: Vec::new() };
        for (lane, number) in numbers.enumerate() {
            // The same numbers for all that are compared: what luck does, it does to all.
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

    /// Weights ¼ on features 0 and 1, and rows that have one of them each.
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
    fn drawn_losses_by_hand() {
        let (learner, targets, rows) = learned();
        let scores = [0.25, 0.25];
        let judged = |size| sampled_losses(std::slice::from_ref(&learner), &targets, &scores, size, &rows);
        assert_eq!(judged(Size::Exactly(2)), [0.0, 0.0], "the whole model is right");
        // One of the two at twice its weight: one row is off by ¼, the other by ¼ as well.
        let drawn = judged(Size::Exactly(1));
        assert!(drawn.iter().all(|loss| (loss - 0.0625).abs() < 1e-15), "{drawn:?}");
        let drawn = judged(Size::Draws(1));
        assert!(drawn.iter().all(|loss| (loss - 0.0625).abs() < 1e-15), "{drawn:?}");
    }

    #[test]
    fn few_features_are_drawn_often() {
        assert_eq!([1, 1 << 10, 1 << 11, 1 << 12, usize::MAX].map(|k| drawings(Size::Exactly(k))), [8, 8, 4, 2, 2]);
        assert_eq!(drawings(with_replacement(Size::Exactly(1 << 11))), 4);
    }

    #[test]
    fn losses_that_are_not_finite_are_infinite() {
        assert_eq!(estimate(&[1.0, 3.0], &[3.0, 1.0]).mean, 1.5);
        let infinite = Estimate { mean: f64::INFINITY, standard_error: 0.0 };
        assert_eq!(estimate(&[1.0, f64::INFINITY], &[1.0, 1.0]), infinite);
    }
}
