//! `two-stage` as it is driven: its numbers come from the data (`settle.rs`), its features are drawn at the end, and their
//! weights moved towards the fit on the rows (`sketch.rs`).
//!
//! Source: Li et al. 2017, Theorems 2 and 3. The mathematics is in [`crate::sparsify`].

mod court;
mod duel;
mod judge;
mod settle;
mod sketch;
mod trial;

pub(super) use settle::settle;
pub(super) use sketch::Linear;

use super::TrainError;
use super::choose::Chosen;
use super::head::Head;
use super::task::Targets;
use super::trainer::Trainer;
use crate::data::FeatureId;
use crate::learn::{AnyLearner, Learner};
use crate::model::Sampling;
use crate::random::{Purpose, generator};
use crate::recipe::{Law, Recipe};
use crate::sparsify::{Size, draw as draw_features, draws_for, expected_support, half_curvature};
use sketch::{Few, Sketch, gather};

/// The share of the loss while learning that drawing features may add, if nothing is said and nothing was tried.
const SHARE: f64 = 0.05;

/// Draws the features of the model. The expected number of them is told first.
pub(super) fn draw(trainer: &mut Trainer<'_>, head: &mut Head) -> Result<(Chosen, Sampling), TrainError> {
    let recipe = trainer.recipe;
    let learners = trainer.lane.crew().bank.learners();
    let epochs = learners[0].epochs().expect("two-stage learns in epochs");
    if epochs.epochs() == 0 {
        return Err(TrainError::NoEpoch { rows: trainer.done, first: epochs.epoch_length() });
    }
    let whole_epochs = epochs.epochs();
    let law = recipe.law.unwrap_or_default();
    let effects = effects(learners, law);
    let candidates = effects.iter().filter(|effect| **effect != 0.0).count();
    if candidates == 0 {
        return Err(TrainError::NothingLearned { rows: trainer.done });
    }
    let size = size(trainer, &effects);
    let expected = expected_support(&effects, size);
    let draws = if let Size::Draws(draws) = size { Some(draws) } else { None };
    let settings = trainer.settled.clone();
    let sampling = Sampling { law, draws, expected, candidates, epochs: whole_epochs, settings };
    trainer.observer.drawing(&sampling);
    let drawn = draw_features(&effects, size, &mut generator(recipe.seed, Purpose::Draw, 0));
    let sketch = Sketch::of(trainer.lane.crew().bank.learners(), &drawn);
    let polish = trainer.polish();
    if polish == 0.0 {
        return Ok((Chosen::with_outputs(sketch.ids, sketch.outputs), sampling));
    }
    let few = Few::of(sketch.ids.iter().copied(), trainer.dictionary.span());
    let rows = gather((trainer, head), &few, |_| true)?;
    let ids = sketch.ids.clone();
    Ok((Chosen::with_outputs(ids, sketch.polished(&rows, &trainer.targets, recipe.intercept, polish)), sampling))
}

/// Each feature's score, with the sign of its weight; over several outputs their norm.
fn effects(learners: &[AnyLearner], law: Law) -> Vec<f64> {
    let span = learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
    let weight = |id: FeatureId| match learners {
        [learner] => learner.weight(id),
        _ => learners.iter().map(|learner| learner.weight(id).powi(2)).sum::<f64>().sqrt(),
    };
    // The first learner has seen every row; one of a class that came late has not.
    let part = |id: FeatureId| match law {
        Law::Magnitude => 1.0,
        Law::Distribution => learners[0].epochs().map_or(1.0, |epochs| epochs.mean_square(id).sqrt()),
    };
    (0..span).map(|id| weight(id) * part(id)).collect()
}

/// How many features: as the user said, as trials did, or as the theorems say.
fn size(trainer: &Trainer<'_>, effects: &[f64]) -> Size {
    let (recipe, targets) = (trainer.recipe, &trainer.targets);
    let (effects, seen) = ((effects, targets.learners()), trainer.lane.crew().progressive.mean_loss());
    let told = told_size(recipe, targets, effects, seen).or(trainer.drawn);
    told.unwrap_or_else(|| size_by_theorem(recipe, targets, effects, seen))
}

/// How many of the features that so many learners give these effects, if the user said anything of it.
fn told_size(recipe: &Recipe, targets: &Targets, effects: (&[f64], usize), seen: f64) -> Option<Size> {
    let (draws, epsilon) = (recipe.number("draws"), recipe.number("epsilon"));
    match recipe.k {
        Some(k) => Some(Size::Exactly(k)),
        None if draws > 0.0 => Some(Size::Draws(draws as u64)),
        None if epsilon > 0.0 || recipe.numbers.contains_key("delta") => {
            Some(size_by_theorem(recipe, targets, effects, seen))
        }
        None => None,
    }
}

/// K of Theorems 2 and 3, `seen` being the loss while learning.
fn size_by_theorem(recipe: &Recipe, targets: &Targets, (effects, outputs): (&[f64], usize), seen: f64) -> Size {
    let told = recipe.number("epsilon") / targets.loss_unit();
    let epsilon = if told > 0.0 { told } else { SHARE * seen };
    let sum: f64 = effects.iter().map(|effect| effect.abs()).sum();
    let spread = half_curvature(targets.loss) * sum.powi(2) / outputs as f64;
    Size::Draws(draws_for(spread, epsilon, recipe.number("delta")))
}
