//! The numbers of `two-stage` that nobody set, from the rows read first.
//!
//! Source: Li, Yang, Zhang & Jin (AAAI 2017), Theorem 1, Lemma 2 and section 5.
//!
//! | number | default | from |
//! |---|---|---|
//! | B, `radius` | m times the largest \|y\|, in standard deviations; m·4 for classes | section 5, m by trial |
//! | T₁, `first-epoch` | (8R + 64R√(2 ln(1/δ̃)))², if so many leave room for five epochs; else T/31 | Theorem 1, c = 1 |
//! | η₁, `learning-rate` | m'·B/(G√T₁) | Lemma 2, least for ‖w₁ − w*‖ ≤ B; m' by trial |
//!
//! R² is the largest ‖x‖² of the rows surveyed, the intercept's 1 included, and G the largest slope inside the ball times R:
//! for the squared loss 4BR (the paper's loss has half the slope: 2BR), so that η₁ is that of Theorem 1 where m' = 1. The
//! theorem's T₁ is far more than most data have; T₁ = T/31 makes five whole epochs of T rows. Where T is not known, T₁ is a
//! third of the rows surveyed.
//!
//! The theorem is for the worst case, and the paper tunes. So does this, on a small part: for each m in 1, 4, 16 and each m'
//! in 1, 4, 16, 64 a learner goes over three of four of the first few thousand rows, and the fourth says which was best.
//! What the user gives is not tried. Cost: about as much as half the training; one learner at a time.

use super::super::TrainError;
use super::super::bank::Bank;
use super::super::head::{Decoder, Head};
use super::super::task::Kind;
use super::super::trainer::Trainer;
use crate::data::{Batch, FeatureId};
use crate::learn::{AnyLearner, Learner};
use crate::loss::Loss;
use crate::recipe::Recipe;

/// δ̃ of Theorem 1: a chance of 5 % shared by five epochs.
const CHANCE: f64 = 0.05 / EPOCHS;
/// Whole epochs there should be room for.
const EPOCHS: f64 = 5.0;
/// m and m'.
const RADII: [f64; 3] = [1.0, 4.0, 16.0];
const RATES: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
/// B for classes, where m is 1.
const CLASS_RADIUS: f64 = 4.0;
/// Rows and entries a trial holds, and steps it makes.
const TRIAL_ROWS: usize = 4096;
const TRIAL_ENTRIES: usize = 1 << 22;
const TRIAL_STEPS: std::ops::RangeInclusive<f64> = 1024.0..=16384.0;
/// Of so many rows of a trial one is kept to judge.
const JUDGES: usize = 4;

/// What the rows of the head say.
#[derive(Default)]
struct Survey {
    /// R²: the largest squared norm, after scaling.
    longest: f64,
    /// The largest |y|, after scaling.
    largest: f64,
    /// The first rows, scaled.
    rows: Batch,
}

/// Gives the learners the numbers that nobody set.
pub(in super::super) fn settle(trainer: &mut Trainer<'_>, head: &mut Head, passes: u32) -> Result<(), TrainError> {
    let survey = survey(trainer, head)?;
    if let (Kind::Numbers { spread, .. }, Some(&radius)) = (&trainer.targets.kind, trainer.recipe.numbers.get("radius"))
        && survey.largest > radius
    {
        return Err(TrainError::BeyondRadius { largest: survey.largest, spread: *spread, radius });
    }
    let steps = head.is_all.then(|| head.rows as f64 * f64::from(passes));
    let length = match trainer.recipe.number("first-epoch") {
        0.0 => first_epoch(survey.longest, steps, head.rows as f64),
        told => told,
    };
    let judged = best(trainer, &survey, steps.unwrap_or(head.rows as f64));
    let recipe = with(trainer, &survey, judged, length);
    trainer.lane.crew_mut().bank = Bank::new(&recipe, &trainer.targets, trainer.options.read.threads);
    Ok(())
}

/// One look over the head.
fn survey(trainer: &mut Trainer<'_>, head: &mut Head) -> Result<Survey, TrainError> {
    let texts = head.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let mut survey = Survey::default();
    head.held.pass(0, |group| {
        for example in group.examples() {
            let factor = trainer.row_factor(example.row);
            let scaled = |id: FeatureId, value: f64| value * factor / trainer.scale.divisor(id);
            survey.longest = survey.longest.max(trainer.square(example.row));
            let target = decoder.target(example.target, &mut trainer.targets)?;
            survey.largest = survey.largest.max(target.abs());
            if survey.rows.len() < TRIAL_ROWS && survey.rows.entries() < TRIAL_ENTRIES {
                survey.rows.push_mapped(crate::data::Example { target, ..example }, scaled);
            }
        }
        Ok::<bool, TrainError>(true)
    })?;
    Ok(survey)
}

/// T₁ for rows of R² at most, so many steps in all if that is known, so many rows at least.
fn first_epoch(longest: f64, steps: Option<f64>, surveyed: f64) -> f64 {
    let theorem = longest * (8.0 + 64.0 * (2.0 * (1.0 / CHANCE).ln()).sqrt()).powi(2);
    let room = steps.map_or(surveyed / 3.0, |steps| steps / (EPOCHS.exp2() - 1.0));
    theorem.min(room).floor().max(1.0)
}

/// The recipe with numbers for a first epoch of this length, `(m, m')` times those of the theorem.
fn with(trainer: &Trainer<'_>, survey: &Survey, (wider, faster): (f64, f64), length: f64) -> Recipe {
    let mut recipe = trainer.recipe.clone();
    let (loss, numbers) = (trainer.targets.built, trainer.targets.is_numbers());
    let base = if numbers { survey.largest.max(f64::MIN_POSITIVE) } else { CLASS_RADIUS };
    let radius = *recipe.numbers.entry("radius".into()).or_insert(base * wider);
    let ends = if numbers { [-survey.largest, survey.largest] } else { loss.codes() };
    let slopes = ends.map(|target| loss.slope(radius, target).abs().max(loss.slope(-radius, target).abs()));
    let steepest = slopes[0].max(slopes[1]).max(f64::MIN_POSITIVE);
    let rate = faster * radius / (steepest * (survey.longest * length).sqrt());
    recipe.numbers.entry("learning-rate".into()).or_insert(rate.max(f64::MIN_POSITIVE));
    recipe.set("first-epoch", length)
}

/// The pair (m, m') of least loss on rows not learned; of equals the first.
fn best(trainer: &Trainer<'_>, survey: &Survey, steps: f64) -> (f64, f64) {
    let given = |name: &str| trainer.recipe.numbers.contains_key(name);
    let radii = if given("radius") { &RADII[..1] } else { &RADII[..] };
    let rates = if given("learning-rate") { &RATES[..1] } else { &RATES[..] };
    let pairs: Vec<(f64, f64)> = radii.iter().flat_map(|&m| rates.iter().map(move |&n| (m, n))).collect();
    if pairs.len() == 1 || survey.rows.len() < 2 * JUDGES {
        return pairs[0];
    }
    let steps = steps.min((steps / (2 * pairs.len()) as f64).clamp(*TRIAL_STEPS.start(), *TRIAL_STEPS.end()));
    let losses = pairs.iter().map(|&pair| {
        let recipe = with(trainer, survey, pair, first_epoch(survey.longest, Some(steps), 0.0));
        (trial(trainer, &recipe, &survey.rows, steps as usize), pair)
    });
    losses.reduce(|best, next| if next.0 < best.0 { next } else { best }).expect("at least one pair").1
}

/// The mean loss, on every fourth row, of a learner that has made so many steps over the others. With several classes it
/// tells the first from the rest.
fn trial(trainer: &Trainer<'_>, recipe: &Recipe, rows: &Batch, steps: usize) -> f64 {
    let targets = &trainer.targets;
    let mut learner = AnyLearner::new(recipe, targets.built);
    let coded = |place: usize| {
        let example = rows.example(place);
        crate::data::Example { target: targets.code(example.target, 0), ..example }
    };
    let learned = (0..rows.len()).filter(|place| place % JUDGES != JUDGES - 1).cycle().take(steps);
    learner.learn_all(learned.map(coded), |_, _| ());
    let (mut loss, mut weight) = (0.0, 0.0);
    for example in (JUDGES - 1..rows.len()).step_by(JUDGES).map(coded) {
        loss += targets.built.value(learner.margin(example.row), example.target) * example.weight;
        weight += example.weight;
    }
    // A loss that is no number is no reason to choose.
    if (loss / weight).is_nan() { f64::INFINITY } else { loss / weight }
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
