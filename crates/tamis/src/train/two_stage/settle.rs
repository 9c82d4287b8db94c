//! The numbers of `two-stage` that nobody set, from the rows read first.
//!
//! Source: Li et al. 2017, Theorem 1, Lemma 2 and section 5.
//!
//! | number | default | from |
//! |---|---|---|
//! | B, `radius` | m·B₀; B₀ the largest \|y\|, in standard deviations, or 16 for classes | section 5, m by trial |
//! | T₁, `first-epoch` | (8R + 64R√(2 ln(1/δ̃)))², if so many leave room for three epochs; else T/7 | Theorem 1, c = 1 |
//! | η₁, `learning-rate` | m'·B₀/(G√T₁) | Lemma 2, least for ‖w₁ − w*‖ ≤ B₀; m' by trial |
//! | τ, `polish` | the best of 0, 10⁻², …, 10² | ours, by the last trial: see `sketch.rs` |
//!
//! R² is the largest ‖x‖² of the rows surveyed, the intercept's 1 included, and G the largest slope inside the ball times R:
//! for the squared loss 4B₀R (the paper's loss has half the slope: 2B₀R), so that η₁ is that of Theorem 1 where m' = 1. The
//! theorem's T₁ is far more than most data have; T₁ = T/7 makes three whole epochs of T rows. More and shorter ones forget
//! too soon. Where T is not known, T₁ is a third of the rows surveyed.
//!
//! The theorem is for the worst case, and the paper tunes. So does this: for each m in 1, 4, 16, 64 and each m' in 1, 4, 16,
//! 64, 256 a learner is tried (`trial.rs`). The best of them meets, learned at full length and drawn (`duel.rs`), a careful
//! choice that draws well: of B up to 16B₀, or 4B₀ for classes, rates up to those of m' = 64 and five epochs, that of the
//! best whole model. Where no size is given it meets itself with a quarter of its radius, too. What the user gives is not
//! tried, and with radius, rate and polish given there is no trial at all. Cost: see the files; all together three to four
//! times the training, and the fits.

use super::super::TrainError;
use super::super::bank::Bank;
use super::super::head::{Decoder, Head};
use super::super::task::Kind;
use super::super::trainer::Trainer;
use super::duel::{Won, duel};
use super::sketch::polishes;
use super::told_size;
use super::trial::{Choice, Sample, Trials};
use crate::data::{Example, FeatureId};
use crate::loss::Loss;
use crate::recipe::Recipe;

/// The chance of 5 % that Theorem 1's epochs share (δ̃ is an epoch's part).
const CHANCE: f64 = 0.05;
/// m, m', B₀ for classes, and whole epochs there should be room for.
const RADII: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
const RATES: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];
const CLASS_RADIUS: f64 = 16.0;
const EPOCHS: f64 = 3.0;
/// The same of careful choices, where the slope is that inside the ball of radius B, and η₁ for ‖w₁ − w*‖ ≤ B.
const CAREFUL_RADII: [f64; 3] = [1.0, 4.0, 16.0];
const CAREFUL_RATES: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
const CAREFUL_CLASS_RADIUS: f64 = 4.0;
const CAREFUL_EPOCHS: f64 = 5.0;
/// A smaller radius for those who want few features: that of the best, divided by this.
const TIGHTER: f64 = 4.0;

/// With fewer rows than this nothing can be held out.
const FEWEST_ROWS: f64 = 8.0;

/// What the rows of the head say.
#[derive(Default)]
struct Survey {
    /// R²: the largest squared norm, after scaling.
    longest: f64,
    /// The largest |y|, after scaling.
    largest: f64,
    /// Steps there will be, if that is known, and rows surveyed.
    steps: Option<f64>,
    rows: f64,
    /// Entries of all rows.
    entries: u64,
    /// Some of the rows, scaled.
    sample: Sample,
}

/// Gives the learners the numbers that nobody set, and finds the size if nothing is said of it.
pub(in super::super) fn settle(trainer: &mut Trainer<'_>, head: &mut Head, passes: u32) -> Result<(), TrainError> {
    let mut survey = survey(trainer, head)?;
    survey.steps = head.is_all.then(|| head.rows as f64 * f64::from(passes));
    if let (Kind::Numbers { spread, .. }, Some(&radius)) = (&trainer.targets.kind, trainer.recipe.numbers.get("radius"))
        && survey.largest > radius
    {
        return Err(TrainError::BeyondRadius { largest: survey.largest, spread: *spread, radius });
    }
    let finalists = finalists(trainer, &mut survey)?;
    let recipe = |trainer: &Trainer<'_>, choice, share| with(trainer.recipe, &survey, choice, share);
    let polishes = polishes(trainer.recipe);
    let won = match finalists.len() {
        1 if polishes.len() == 1 || survey.rows < FEWEST_ROWS => None,
        _ => duel((trainer, head, passes), &finalists, survey.entries, recipe)?,
    };
    let Won { choice, size, polish } = won.unwrap_or(Won { choice: finalists[0], size: None, polish: polishes[0] });
    let recipe = recipe(trainer, choice, 1.0);
    trainer.drawn = size;
    let learned = ["radius", "learning-rate", "first-epoch"].map(|name| (name.into(), recipe.number(name)));
    trainer.settled = learned.into_iter().chain([("polish".into(), polish)]).collect();
    trainer.lane.crew_mut().bank = Bank::new(&recipe, &trainer.targets, trainer.options.read.threads);
    Ok(())
}

/// One look over the head.
fn survey(trainer: &mut Trainer<'_>, head: &mut Head) -> Result<Survey, TrainError> {
    let texts = head.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let mut survey = Survey { rows: head.rows as f64, ..Survey::default() };
    head.held.pass(0, |group| {
        for example in group.examples() {
            let factor = trainer.row_factor(example.row);
            let scaled = |id: FeatureId, value: f64| value * factor / trainer.scale.divisor(id);
            survey.longest = survey.longest.max(trainer.square(example.row));
            survey.entries += example.row.len() as u64;
            let target = decoder.target(example.target, &mut trainer.targets)?;
            survey.largest = survey.largest.max(target.abs());
            survey.sample.offer(Example { target, ..example }, scaled);
        }
        Ok::<bool, TrainError>(true)
    })?;
    Ok(survey)
}

/// Those who are learned at full length: a careful choice, the best of the trials, and that with a smaller radius. One alone
/// where nothing is to be chosen.
fn finalists(trainer: &Trainer<'_>, survey: &mut Survey) -> Result<Vec<Choice>, TrainError> {
    let given = |name: &str| trainer.recipe.numbers.contains_key(name);
    let careful = choices(trainer, survey, true);
    let trials = Trials {
        targets: &trainer.targets,
        rows: std::mem::take(&mut survey.sample).rows(),
        total: survey.steps.unwrap_or(survey.rows),
        recipe: |choice, steps: f64| with(trainer.recipe, survey, choice, steps / survey.steps.unwrap_or(survey.rows)),
        stop: &trainer.options.stop,
    };
    if careful.len() == 1 || !trials.can_judge() {
        return Ok(careful[..1].to_vec());
    }
    let best = trials.halving(&choices(trainer, survey, false), given("learning-rate"))?;
    let mut finalists = vec![trials.one_round(&careful)?, best];
    if told_size(trainer.recipe, &trainer.targets, (&[], 1), 0.0).is_none() && !given("radius") {
        finalists.push(Choice { radius: best.radius / TIGHTER, ..best });
    }
    Ok(finalists)
}

/// Radii and rates to try, one of what is given.
fn choices(trainer: &Trainer<'_>, survey: &Survey, is_careful: bool) -> Vec<Choice> {
    let given = |name: &str| trainer.recipe.numbers.contains_key(name);
    let (radii, rates, class_radius, epochs) = match is_careful {
        true => (&CAREFUL_RADII[..], &CAREFUL_RATES[..], CAREFUL_CLASS_RADIUS, CAREFUL_EPOCHS),
        false => (&RADII[..], &RATES[..], CLASS_RADIUS, EPOCHS),
    };
    let (loss, numbers) = (trainer.targets.built, trainer.targets.is_numbers());
    let base = if numbers { survey.largest.max(f64::MIN_POSITIVE) } else { class_radius };
    let ends = if numbers { [-survey.largest, survey.largest] } else { loss.codes() };
    let pace = |radius: f64, faster: f64| {
        let slopes = ends.map(|target| loss.slope(radius, target).abs().max(loss.slope(-radius, target).abs()));
        faster * radius / (slopes[0].max(slopes[1]).max(f64::MIN_POSITIVE) * survey.longest.sqrt())
    };
    let radii = if given("radius") { &radii[..1] } else { radii };
    let rates = if given("learning-rate") { &rates[..1] } else { rates };
    let choice = |wider: f64, faster: f64| {
        let inside = if is_careful { base * wider } else { base };
        Choice { radius: base * wider, pace: pace(inside, faster), epochs }
    };
    radii.iter().flat_map(|&wider| rates.iter().map(move |&faster| choice(wider, faster))).collect()
}

/// The recipe of a choice, for this share of the steps there will be.
fn with(recipe: &Recipe, survey: &Survey, choice: Choice, share: f64) -> Recipe {
    let length = match recipe.number("first-epoch") {
        0.0 => first_epoch(survey.longest, choice.epochs, survey.steps.map(|steps| steps * share), survey.rows * share),
        // As many epochs as there will be.
        told => (told * share).floor().max(1.0),
    };
    let mut recipe = recipe.clone();
    recipe.numbers.entry("radius".into()).or_insert(choice.radius);
    recipe.numbers.entry("learning-rate".into()).or_insert((choice.pace / length.sqrt()).max(f64::MIN_POSITIVE));
    recipe.set("first-epoch", length)
}

/// T₁ for rows of R² at most and so many epochs, so many steps in all if that is known, so many rows at least.
fn first_epoch(longest: f64, epochs: f64, steps: Option<f64>, surveyed: f64) -> f64 {
    let theorem = longest * (8.0 + 64.0 * (2.0 * (epochs / CHANCE).ln()).sqrt()).powi(2);
    let room = steps.map_or(surveyed / 3.0, |steps| steps / (epochs.exp2() - 1.0));
    theorem.min(room).floor().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_epochs_leave_room_for_the_others() {
        assert_eq!(first_epoch(1.0, 3.0, Some(7000.0), 7000.0), 1000.0);
        assert_eq!(first_epoch(1.0, 5.0, Some(31_000.0), 31_000.0), 1000.0);
        assert_eq!(first_epoch(1.0, 3.0, Some(5.0), 5.0), 1.0);
        assert_eq!(first_epoch(1.0, 3.0, None, 300.0), 100.0);
        // (8 + 64·√(2·ln 100))² = 202.23²
        let theorem = first_epoch(1.0, 5.0, Some(1e12), 1e12);
        assert!((theorem - 40_896.0).abs() < 3.0, "{theorem}");
        assert!((first_epoch(4.0, 5.0, Some(1e12), 1e12) / theorem - 4.0).abs() < 1e-3, "R² times");
    }
}
