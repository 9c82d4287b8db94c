//! Which radius and which rate suit the rows: many are tried on subset steps, the best of them on more.
//!
//! Source: after Karnin, Koren & Somekh, *Almost Optimal Exploration in Multi-Armed Bandits* (ICML 2013), section 3
//! (sequential halving): what does badly on little is not worth much.
//!
//! | round | tried | steps each |
//! |---|---|---|
//! | 1 | all | s = T/128, at least 512 where rows are short |
//! | 2 | the best five | 4s |
//! | 3 | the best, and it with half and twice the rate | 16s |
//!
//! A learner goes over three of four of the sampled rows, and the fourth say how good it is: by the loss of the model drawn
//! at the size that was asked for, or of the whole one where no size was. The sample is every 1st, 2nd, 4th … row of those at
//! hand, as many as there is room for, so that it is spread over all of them. Short rounds visit rows spread over the sample
//! in the same scheme. A rate belongs to a number of steps: what wins a short trial is carried to the whole training by its
//! 1/√T₁ ([`HyperParams::scaled_rate`]).
//!
//! Cost: 0.7·T steps, or 2²⁵ entries if that is more, and half of T for a single round; one learner at a time. Memory: that
//! of the sample, and a learner of its features.

use super::epoch_sgd::EpochSgd;
use super::params::params_of;
use super::sampled_loss::{estimate, sampled_losses, with_replacement};
use super::sampling::Size;
use super::size::{SizeFacts, feature_scores, given_size};
use crate::data::{Batch, Example, TargetEncoder};
use crate::learners::Learner;
use crate::recipe::Recipe;
use crate::trainer::{FitOptions, TrainError};

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HyperParams {
    /// B.
    pub(super) radius: f64,
    /// η₁√T₁.
    pub(super) scaled_rate: f64,
    /// Whole epochs there should be room for.
    pub(super) epochs: f64,
}

/// How many go to the second round.
const SECOND_ROUND: usize = 5;
/// Rates beside the best one, in the last round.
const BESIDE: [f64; 2] = [0.5, 2.0];
/// A first round's share of the steps there will be, and the steps and entries that are always affordable.
const SHARE: f64 = 1.0 / 128.0;
const SHORT_STEPS: f64 = 512.0;
const SHORT_ENTRIES: f64 = (1u64 << 25) as f64;
/// How many times as many steps a round has as the one before.
const LONGER: f64 = 4.0;
/// A single round: its share of the steps for all together, and bounds for each.
const ONE_ROUND: f64 = 0.5;
const ONE_ROUND_STEPS: std::ops::RangeInclusive<f64> = 1024.0..=16384.0;
/// Of so many rows of the sample one is kept to judge; of these at least so many do, and as many as there were steps.
const JUDGES: usize = 4;
const LEAST_JUDGES: usize = 1024;

/// What trials need to know.
pub(super) struct Halving<'a, R> {
    pub(super) targets: &'a TargetEncoder,
    /// The sample.
    pub(super) rows: Batch,
    /// Steps there will be in all.
    pub(super) total: f64,
    /// The recipe of a choice for so many steps.
    pub(super) recipe: R,
    /// Where the user may ask to stop.
    pub(super) options: &'a FitOptions,
}

impl<R: Fn(HyperParams, f64) -> Recipe> Halving<'_, R> {
    /// Whether there are rows enough to learn from and to judge by.
    pub(super) fn can_evaluate(&self) -> bool {
        self.rows.len() >= 2 * JUDGES
    }

    /// The choice whose whole model is best after one round; of equals the first.
    pub(super) fn one_round(&self, choices: &[HyperParams]) -> Result<HyperParams, TrainError> {
        let fair = ONE_ROUND * self.total / choices.len() as f64;
        let steps = self.total.min(fair.clamp(*ONE_ROUND_STEPS.start(), *ONE_ROUND_STEPS.end()));
        Ok(rank(choices, |choice| self.trial(choice, steps, false))?[0])
    }

    /// The choice that is best after three rounds, drawn if a size was asked for.
    pub(super) fn run(&self, choices: &[HyperParams], is_paced: bool) -> Result<HyperParams, TrainError> {
        let work = choices.len() as f64 + LONGER * SECOND_ROUND as f64 + LONGER * LONGER * 3.0;
        let row = self.rows.entries() as f64 / self.rows.len() as f64;
        let mut steps = (self.total * SHARE).max(SHORT_STEPS.min(SHORT_ENTRIES / (work * row.max(1.0))));
        let mut round = |choices: &[HyperParams]| {
            let now = steps.min(self.total);
            steps *= LONGER;
            rank(choices, |choice| self.trial(choice, now, true))
        };
        let first = round(choices)?;
        let best = round(&first[..first.len().min(SECOND_ROUND)])?[0];
        if is_paced {
            return Ok(best);
        }
        let [slower, faster] = BESIDE.map(|times| HyperParams { scaled_rate: best.scaled_rate * times, ..best });
        Ok(round(&[best, slower, faster])?[0])
    }

    /// The mean loss, on rows of the fourth kind, of a learner that has made so many steps over the others. With several
    /// classes it tells the first from the rest.
    fn trial(&self, choice: HyperParams, steps: f64, is_sampled: bool) -> Result<f64, TrainError> {
        if self.options.is_stopped() {
            return Err(TrainError::Interrupted { rows: 0, saved: None });
        }
        let Halving { targets, rows, .. } = self;
        let (recipe, steps) = ((self.recipe)(choice, steps), steps as usize);
        let mut learner = EpochSgd::for_recipe(&recipe, targets.loss_fn);
        let holdout = rows.len() / JUDGES;
        let learned = rows.len() - holdout;
        // The n-th row that is no judge's: three of four.
        let row_of = |n: usize| n + n / (JUDGES - 1);
        let visit = |step: usize| row_of(if steps < learned { step * learned / steps } else { step % learned });
        let coding = targets.coding(0);
        let coded = |place: usize| {
            let example = rows.example(place);
            Example { target: coding.code(example.target), ..example }
        };
        let mut seen = 0.0;
        learner.learn_all((0..steps).map(|step| coded(visit(step))), |_, step| seen += step.loss / steps as f64);
        let asked = holdout.min(steps.max(LEAST_JUDGES));
        let mut evaluated = Batch::new();
        for judge in (0..asked).map(|judge| judge * holdout / asked) {
            evaluated.push_mapped(rows.example(judge * JUDGES + JUDGES - 1), |_, value| value);
        }
        let learners = [learner];
        let scores = feature_scores(&learners, params_of(&recipe).sampling);
        let facts = SizeFacts { scores: &scores, outputs: 1, loss: seen };
        let given = if is_sampled { given_size(&recipe, targets, facts) } else { None };
        let size = given.map_or(Size::Draws(u64::MAX), with_replacement);
        let losses = sampled_losses(&learners, targets, &scores, size, &evaluated);
        Ok(estimate(&losses, evaluated.parts().weights).mean)
    }
}

/// The choices, those of least loss first; of equals the earlier.
fn rank(
    choices: &[HyperParams],
    loss: impl Fn(HyperParams) -> Result<f64, TrainError>,
) -> Result<Vec<HyperParams>, TrainError> {
    let judge = |&choice: &HyperParams| loss(choice).map(|loss| (loss, choice));
    let mut judged: Vec<(f64, HyperParams)> = choices.iter().map(judge).collect::<Result<_, _>>()?;
    judged.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(judged.into_iter().map(|(_, choice)| choice).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_are_no_numbers_come_last_and_equals_stay_in_order() {
        let choice = |radius, scaled_rate| HyperParams { radius, scaled_rate, epochs: 3.0 };
        let loss = |HyperParams { radius, scaled_rate, .. }: HyperParams| {
            Ok(if scaled_rate == 4.0 { f64::INFINITY } else { radius })
        };
        let [a, b, c, d] = [choice(2.0, 1.0), choice(1.0, 4.0), choice(1.0, 1.0), choice(1.0, 2.0)];
        assert_eq!(rank(&[a, b, c, d], loss).unwrap(), [c, d, a, b]);
    }
}
