//! The parameters of `two-stage` that are not given, from the first rows.
//!
//! Source: Li et al. 2017, Theorem 1, Lemma 2 and section 5.
//!
//! | parameter | default | from |
//! |---|---|---|
//! | B, `radius` | m·B₀; B₀ the largest \|y\|, in standard deviations, or 16 for classes | section 5, m by trial |
//! | T₁, `first-epoch-steps` | (8R + 64R√(2 ln(1/δ̃)))², if this leaves room for three epochs; else T/7 | Theorem 1, c = 1 |
//! | η₁, `learning-rate` | m'·B₀/(G√T₁) | Lemma 2, least for ‖w₁ − w*‖ ≤ B₀; m' by trial |
//! | τ, `refine` | the best of 0, 10⁻², …, 10² | ours, by the final selection: see `sampled_model.rs` |
//!
//! R² is the largest ‖x‖² of the surveyed rows, with 1 for the intercept, and G is R times the largest slope inside the
//! ball: for the squared loss 4B₀R (the paper's loss has half the slope: 2B₀R), so that η₁ is that of Theorem 1 for m'
//! = 1. The theorem's T₁ is far more than most data have; T₁ = T/7 gives three whole epochs of T rows. More and shorter
//! epochs forget too soon. If T is not known, T₁ is a third of the number of surveyed rows.
//!
//! The theorem is for the worst case, and the paper tunes these parameters. So does this: for each m in 1, 4, 16, 64
//! and each m' in 1, 4, 16, 64, 256 a learner is tried (`halving.rs`). The best of them is compared, at full length and
//! sampled (`final_selection.rs`), with a careful choice that samples well: among B up to 16B₀ (4B₀ for classes), rates
//! up to those of m' = 64 and five epochs, the one with the best dense model. If no size is given, it is also compared
//! with itself at a quarter of its radius. Parameters that the user sets are not searched, and with radius, rate and
//! refine set there are no trials at all. Cost: see the files; three to four times the training in all, and the fits.

use std::collections::BTreeMap;

use super::final_selection::{Selected, select_candidate};
use super::halving::{Halving, HyperParams};
use super::params::params_of;
use super::row_sample::RowSample;
use super::sampled_model::refinements;
use super::sampling::Size;
use super::size::{SizeFacts, given_size};
use crate::data::TargetKind;
use crate::loss::Loss;
use crate::param::names;
use crate::recipe::Recipe;
use crate::trainer::{BufferedRows, Session, TrainError, TrainingData};

/// The probability of 5 % that the epochs of Theorem 1 share (δ̃ is the part of one epoch).
const CHANCE: f64 = 0.05;
/// m, m', B₀ for classes, and the number of whole epochs that the training should have room for.
const RADII: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
const RATES: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];
const CLASS_RADIUS: f64 = 16.0;
const EPOCHS: f64 = 3.0;
/// The same for careful choices, where the slope is that inside the ball of radius B, and η₁ is for ‖w₁ − w*‖ ≤ B.
const CAREFUL_RADII: [f64; 3] = [1.0, 4.0, 16.0];
const CAREFUL_RATES: [f64; 4] = [1.0, 4.0, 16.0, 64.0];
const CAREFUL_CLASS_RADIUS: f64 = 4.0;
const CAREFUL_EPOCHS: f64 = 5.0;
/// A smaller radius for few features: that of the best, divided by this.
const TIGHTER: f64 = 4.0;

/// With fewer rows, none can be held out.
const MIN_ROWS: f64 = 8.0;

/// Statistics of the buffered rows.
#[derive(Default)]
struct Survey {
    /// R²: the largest squared norm, after scaling.
    max_squared_norm: f64,
    /// The largest |y|, after scaling.
    largest: f64,
    /// Steps of the training, if known, and rows surveyed.
    steps: Option<f64>,
    rows: f64,
    /// Entries of all rows.
    entries: u64,
    /// Some of the rows, scaled.
    sample: RowSample,
}

/// The parameters that a training starts with.
pub(super) struct Found {
    /// The recipe with all parameters known.
    pub(super) recipe: Recipe,
    /// The number of features, where held-out rows chose it.
    pub(super) size: Option<Size>,
    /// The parameters, as the model file lists them.
    pub(super) settings: BTreeMap<String, f64>,
}

/// Finds the parameters that are not set, and the size if none is given.
pub(super) fn find_hyperparams(session: &Session<'_>, rows: &mut BufferedRows) -> Result<Found, TrainError> {
    let data = &*session.data;
    let mut survey = survey(data, rows)?;
    survey.steps = rows.is_all.then(|| rows.rows as f64 * f64::from(data.passes));
    if let (TargetKind::Numbers { spread, .. }, Some(radius)) = (&data.targets.kind, params_of(&data.recipe).radius)
        && survey.largest > radius
    {
        return Err(TrainError::BeyondRadius { largest: survey.largest, spread: *spread, radius });
    }
    let finalists = finalists(session, &mut survey)?;
    let recipe = |params, share| with_params(&data.recipe, &survey, params, share);
    let refinements = refinements(&data.recipe);
    let is_open = finalists.len() > 1 || (refinements.len() > 1 && survey.rows >= MIN_ROWS);
    let selected = if is_open { select_candidate(session, rows, &finalists, survey.entries, recipe)? } else { None };
    let first = Selected { params: finalists[0], size: None, refinement: refinements[0] };
    let Selected { params, size, refinement } = selected.unwrap_or(first);
    let recipe = recipe(params, 1.0);
    let params = params_of(&recipe);
    let settings = [
        (names::RADIUS, params.radius()),
        (names::LEARNING_RATE, params.learning_rate()),
        (names::FIRST_EPOCH_STEPS, params.first_epoch_steps.unwrap_or(0) as f64),
        (names::REFINE, refinement),
    ];
    let settings = settings.into_iter().map(|(param, value)| (param.name.into(), value)).collect();
    Ok(Found { recipe, size, settings })
}

/// One pass over the buffered rows.
fn survey(data: &TrainingData, rows: &mut BufferedRows) -> Result<Survey, TrainError> {
    let scaler = data.scaler();
    let mut survey = Survey { rows: rows.rows as f64, ..Survey::default() };
    for chunk in rows.store.chunks(0) {
        for example in chunk?.examples() {
            let norm = scaler.squared_norm(example.row, data.recipe.intercept);
            survey.max_squared_norm = survey.max_squared_norm.max(norm);
            survey.entries += example.row.len() as u64;
            survey.largest = survey.largest.max(example.target.abs());
            survey.sample.offer_scaled(example, &scaler);
        }
    }
    Ok(survey)
}

/// The candidates that are learned at full length: a careful choice, the best of the halving, and that with a smaller
/// radius. A single one if all parameters are given.
fn finalists(session: &Session<'_>, survey: &mut Survey) -> Result<Vec<HyperParams>, TrainError> {
    let data = &*session.data;
    let given = params_of(&data.recipe);
    let careful = grid(data, survey, true);
    let steps = survey.steps.unwrap_or(survey.rows);
    let halving = Halving {
        targets: &data.targets,
        rows: std::mem::take(&mut survey.sample).renumbered(),
        total: steps,
        recipe: |params, share: f64| with_params(&data.recipe, survey, params, share / steps),
        options: session.options,
    };
    if careful.len() == 1 || !halving.can_evaluate() {
        return Ok(careful[..1].to_vec());
    }
    let best = halving.run(&grid(data, survey, false), given.learning_rate.is_some())?;
    let mut finalists = vec![halving.one_round(&careful)?, best];
    if given_size(&data.recipe, &data.targets, SizeFacts::NONE).is_none() && given.radius.is_none() {
        finalists.push(HyperParams { radius: best.radius / TIGHTER, ..best });
    }
    Ok(finalists)
}

/// Radii and rates to try; a single one of those that are given.
fn grid(data: &TrainingData, survey: &Survey, is_careful: bool) -> Vec<HyperParams> {
    let given = params_of(&data.recipe);
    let (radii, rates, class_radius, epochs) = if is_careful {
        (&CAREFUL_RADII[..], &CAREFUL_RATES[..], CAREFUL_CLASS_RADIUS, CAREFUL_EPOCHS)
    } else {
        (&RADII[..], &RATES[..], CLASS_RADIUS, EPOCHS)
    };
    let (loss, is_numbers) = (data.targets.loss_fn, data.targets.is_numbers());
    let base = if is_numbers { survey.largest.max(f64::MIN_POSITIVE) } else { class_radius };
    let ends = if is_numbers { [-survey.largest, survey.largest] } else { loss.codes() };
    let scaled_rate = |radius: f64, faster: f64| {
        let slopes = ends.map(|target| loss.slope(radius, target).abs().max(loss.slope(-radius, target).abs()));
        faster * radius / (slopes[0].max(slopes[1]).max(f64::MIN_POSITIVE) * survey.max_squared_norm.sqrt())
    };
    let radii = if given.radius.is_some() { &radii[..1] } else { radii };
    let rates = if given.learning_rate.is_some() { &rates[..1] } else { rates };
    let params = |wider: f64, faster: f64| {
        let inside = if is_careful { base * wider } else { base };
        HyperParams { radius: base * wider, scaled_rate: scaled_rate(inside, faster), epochs }
    };
    radii.iter().flat_map(|&wider| rates.iter().map(move |&faster| params(wider, faster))).collect()
}

/// The recipe with these parameters, for a share of the steps of the training.
fn with_params(recipe: &Recipe, survey: &Survey, params: HyperParams, share: f64) -> Recipe {
    let steps = survey.steps.map(|steps| steps * share);
    let mut found = params_of(recipe).clone();
    let length = match found.first_epoch_steps {
        None => first_epoch(survey.max_squared_norm, params.epochs, steps, survey.rows * share),
        // As many epochs as the training on all rows has.
        Some(given) => (given as f64 * share).floor().max(1.0),
    };
    found.radius.get_or_insert(params.radius);
    found.learning_rate.get_or_insert((params.scaled_rate / length.sqrt()).max(f64::MIN_POSITIVE));
    found.first_epoch_steps = Some(length as u64);
    Recipe { method: found.into(), ..recipe.clone() }
}

/// T₁ for rows of squared norm R² at most and `epochs` epochs, in `steps` steps if known, of at least `surveyed` rows.
fn first_epoch(max_squared_norm: f64, epochs: f64, steps: Option<f64>, surveyed: f64) -> f64 {
    let theorem = max_squared_norm * (8.0 + 64.0 * (2.0 * (epochs / CHANCE).ln()).sqrt()).powi(2);
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
