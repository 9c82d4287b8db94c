//! `two-stage`: what the data say about its numbers, and the features drawn at the end.
//!
//! Source: Li, Yang, Zhang & Jin (AAAI 2017), Theorem 1 and section 5.
//!
//! | number | default | from |
//! |---|---|---|
//! | B, `radius` | the largest \|y\|, in standard deviations; 10 for classes | section 5 |
//! | T₁, `first-epoch` | (8R + 64R√(2 ln(1/δ̃)))², if so many leave room for five epochs; else T/31 | Theorem 1, c = 1 |
//! | η₁, `learning-rate` | B/(G√T₁), at most 1/(R²·ℓ'') | Lemma 2, least for ‖w₁ − w*‖ ≤ B |
//!
//! R² is the largest ‖x‖² of the rows surveyed, the intercept's 1 included, and G the largest slope inside the ball times R:
//! for the squared loss 4BR (the paper's loss has half the slope: 2BR), so that η₁ is that of Theorem 1. The theorem's T₁
//! is far more than most data have; T₁ = T/31 makes five whole epochs of T rows. Where T is not known, T₁ is a third of
//! the rows surveyed.

use super::TrainError;
use super::bank::Bank;
use super::choose::Chosen;
use super::head::{Decoder, Head};
use super::task::Kind;
use super::trainer::Trainer;
use crate::data::FeatureId;
use crate::learn::{AnyLearner, Learner};
use crate::loss::Loss;
use crate::model::Sampling;
use crate::random::{Purpose, generator};
use crate::recipe::{Law, Recipe};
use crate::sparsify::{Drawn, Size, draw as draw_features, draws_for, expected_support, half_curvature};

/// δ̃ of Theorem 1: a chance of 5 % shared by five epochs.
const CHANCE: f64 = 0.05 / EPOCHS;
/// Whole epochs there should be room for.
const EPOCHS: f64 = 5.0;
/// The share of the loss while learning that drawing features may add, if nothing is said.
const SHARE: f64 = 0.05;

/// What the rows of the head say.
struct Survey {
    /// R²: the largest squared norm, after scaling.
    longest: f64,
    /// The largest |y|, after scaling.
    largest: f64,
}

/// Gives the learners the numbers that nobody set.
pub(super) fn settle(trainer: &mut Trainer<'_>, head: &mut Head, passes: u32) -> Result<(), TrainError> {
    let survey = survey(trainer, head)?;
    let mut recipe = trainer.recipe.clone();
    if let Kind::Numbers { spread, .. } = trainer.targets.kind {
        let radius = *recipe.numbers.entry("radius".into()).or_insert(survey.largest.max(f64::MIN_POSITIVE));
        if survey.largest > radius {
            return Err(TrainError::BeyondRadius { largest: survey.largest, spread, radius });
        }
    }
    let rows = head.is_all.then(|| head.rows as f64 * f64::from(passes));
    if recipe.number("first-epoch") == 0.0 {
        let length = first_epoch(survey.longest, rows, head.rows as f64);
        recipe.numbers.insert("first-epoch".into(), length);
    }
    let rate = first_rate(&recipe, &survey, trainer);
    recipe.numbers.entry("learning-rate".into()).or_insert(rate);
    trainer.lane.crew_mut().bank = Bank::new(&recipe, &trainer.targets, trainer.options.read.threads);
    Ok(())
}

/// One look over the head.
fn survey(trainer: &mut Trainer<'_>, head: &mut Head) -> Result<Survey, TrainError> {
    let texts = head.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let start = if trainer.recipe.intercept { 1.0 } else { 0.0 };
    let mut survey = Survey { longest: start, largest: 0.0 };
    head.held.pass(0, |group| {
        for example in group.examples() {
            let factor = trainer.row_factor(example.row);
            let scaled = |(id, value): (FeatureId, f64)| (value * factor / trainer.scale.divisor(id)).powi(2);
            survey.longest = survey.longest.max(start + example.row.iter().map(scaled).sum::<f64>());
            let target = decoder.target(example.target, &mut trainer.targets)?;
            survey.largest = survey.largest.max(target.abs());
        }
        Ok::<bool, TrainError>(true)
    })?;
    Ok(survey)
}

/// T₁ for rows of R² at most, `rows` of them in all if that is known, `surveyed` at least.
fn first_epoch(longest: f64, rows: Option<f64>, surveyed: f64) -> f64 {
    let theorem = longest * (8.0 + 64.0 * (2.0 * (1.0 / CHANCE).ln()).sqrt()).powi(2);
    let room = rows.map_or(surveyed / 3.0, |rows| rows / (EPOCHS.exp2() - 1.0));
    theorem.min(room).floor().max(1.0)
}

/// η₁.
fn first_rate(recipe: &Recipe, survey: &Survey, trainer: &Trainer<'_>) -> f64 {
    let (radius, loss) = (recipe.number("radius"), trainer.targets.built);
    let ends = match trainer.targets.is_numbers() {
        true => [-survey.largest, survey.largest],
        false => loss.codes(),
    };
    let slopes = ends.map(|target| loss.slope(radius, target).abs().max(loss.slope(-radius, target).abs()));
    let steepest = slopes[0].max(slopes[1]).max(f64::MIN_POSITIVE);
    let length = recipe.number("first-epoch").max(1.0);
    let bound = radius / (steepest * (survey.longest * length).sqrt());
    let stable = 1.0 / (2.0 * half_curvature(trainer.targets.loss) * survey.longest);
    bound.min(stable).max(f64::MIN_POSITIVE)
}

/// Draws the features of the model. The expected number of them is told first.
pub(super) fn draw(trainer: &mut Trainer<'_>) -> Result<(Chosen, Sampling), TrainError> {
    let recipe = trainer.recipe;
    let learners = trainer.lane.crew().bank.learners();
    let epochs = learners[0].epochs().expect("two-stage learns in epochs");
    if epochs.epochs() == 0 {
        return Err(TrainError::NoEpoch { rows: trainer.done, first: epochs.epoch_length() });
    }
    let whole_epochs = epochs.epochs();
    let law = recipe.law.unwrap_or_default();
    let scores = scores(learners, law);
    let candidates = scores.iter().filter(|score| **score > 0.0).count();
    if candidates == 0 {
        return Err(TrainError::NothingLearned { rows: trainer.done });
    }
    let size = size(trainer, &scores);
    let expected = expected_support(&scores, size);
    let draws = if let Size::Draws(draws) = size { Some(draws) } else { None };
    let sampling = Sampling { law, draws, expected, candidates, epochs: whole_epochs };
    trainer.observer.drawing(&sampling);
    let drawn = draw_features(&scores, size, &mut generator(recipe.seed, Purpose::Draw, 0));
    let (ids, factors) = drawn.into_iter().map(|Drawn { place, factor }| (place as FeatureId, factor)).unzip();
    Ok((Chosen { ids, factors }, sampling))
}

/// Each feature's score over all outputs.
fn scores(learners: &[AnyLearner], law: Law) -> Vec<f64> {
    let span = learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
    let weight = |id: FeatureId| match learners {
        [learner] => learner.weight(id).abs(),
        _ => learners.iter().map(|learner| learner.weight(id).powi(2)).sum::<f64>().sqrt(),
    };
    // The first learner has seen every row; one of a class that came late has not.
    let part = |id: FeatureId| match law {
        Law::Magnitude => 1.0,
        Law::Distribution => learners[0].epochs().map_or(1.0, |epochs| epochs.mean_square(id).sqrt()),
    };
    (0..span).map(|id| weight(id) * part(id)).collect()
}

/// How many features: as the user said, or as the theorems say.
fn size(trainer: &Trainer<'_>, scores: &[f64]) -> Size {
    let recipe = trainer.recipe;
    if let Some(k) = recipe.k {
        return Size::Exactly(k);
    }
    let draws = recipe.number("draws");
    if draws > 0.0 {
        return Size::Draws(draws as u64);
    }
    let told = recipe.number("epsilon") / trainer.targets.loss_unit();
    let epsilon = if told > 0.0 { told } else { SHARE * trainer.lane.crew().progressive.mean_loss() };
    let outputs = trainer.targets.learners() as f64;
    let spread = half_curvature(trainer.targets.loss) * scores.iter().sum::<f64>().powi(2) / outputs;
    Size::Draws(draws_for(spread, epsilon, recipe.number("delta")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_epochs_leave_room_for_five() {
        assert_eq!(first_epoch(1.0, Some(31_000.0), 31_000.0), 1000.0);
        assert_eq!(first_epoch(1.0, Some(10.0), 10.0), 1.0);
        assert_eq!(first_epoch(1.0, None, 300.0), 100.0);
        // (8 + 64·√(2·ln 100))² = 202.23²
        let theorem = first_epoch(1.0, Some(1e12), 1e12);
        assert!((theorem - 40_896.0).abs() < 3.0, "{theorem}");
        assert!((first_epoch(4.0, Some(1e12), 1e12) / theorem - 4.0).abs() < 1e-3, "R² times");
    }
}
