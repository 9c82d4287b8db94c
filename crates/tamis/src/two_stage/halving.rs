//! Successive halving: many radii and rates are tried with few steps, the best of them with more.
//!
//! Source: after Karnin, Koren & Somekh, *Almost Optimal Exploration in Multi-Armed Bandits* (ICML 2013), section 3
//! (sequential halving): what performs badly with few steps is dropped.
//!
//! | round | tried | steps each |
//! |---|---|---|
//! | 1 | all | s = T/128, at least 512 where rows are short |
//! | 2 | the best five | 4s |
//! | 3 | the best, and the same with half and twice the rate | 16s |
//!
//! A learner visits three of four sampled rows, and is evaluated on every fourth: by the loss of the model sampled at
//! the given size, or of the dense model if no size is given. The sample is every 1st, 2nd, 4th, … row, as many as the
//! limits allow, so that it is spread over all rows. Short rounds visit rows that are spread over the sample in the
//! same way. A rate belongs to a number of steps: the best rate of a short trial is carried over to the training by its
//! factor 1/√T₁ ([`HyperParams::scaled_rate`]).
//!
//! Cost: 0.7·T steps, or 2²⁵ entries if that is more, and half of T for a single round; one learner at a time. Memory:
//! that of the sample, and a learner of its features.

use super::epoch_sgd::EpochSgd;
use super::params::params_of;
use super::sampled_loss::{estimate, sampled_losses, with_replacement};
use super::sampling::Size;
use super::size::{SizeFacts, feature_scores, given_size};
use crate::data::{Batch, Example, TargetEncoder};
use crate::learners::Learner;
use crate::recipe::Recipe;
use crate::trainer::{FitOptions, TrainError};

/// The parameters that are searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HyperParams {
    /// B.
    pub(super) radius: f64,
    /// η₁√T₁.
    pub(super) scaled_rate: f64,
    /// The number of whole epochs that the training should have room for.
    pub(super) epochs: f64,
}

/// How many go to the second round.
const SECOND_ROUND: usize = 5;
/// Multiples of the best rate that are tried in the last round.
const BESIDE: [f64; 2] = [0.5, 2.0];
/// The steps of the first round as a share of those of the training, and the steps and entries that are always allowed.
const SHARE: f64 = 1.0 / 128.0;
const SHORT_STEPS: f64 = 512.0;
const SHORT_ENTRIES: f64 = (1u64 << 25) as f64;
/// The steps of a round as a multiple of those of the round before.
const LONGER: f64 = 4.0;
/// A single round: its share of the steps, over all trials, and bounds for each trial.
const ONE_ROUND: f64 = 0.5;
const ONE_ROUND_STEPS: std::ops::RangeInclusive<f64> = 1024.0..=16384.0;
/// One of this many rows of the sample is held out; trials use at least [`MIN_HOLDOUT`] of them, or one for each step.
const HOLDOUT_EVERY: usize = 4;
const MIN_HOLDOUT: usize = 1024;

/// The data and limits of all trials.
pub(super) struct Halving<'a, R> {
    pub(super) targets: &'a TargetEncoder,
    /// The sample.
    pub(super) rows: Batch,
    /// The number of steps of the training.
    pub(super) total: f64,
    /// The recipe for given parameters and a number of steps.
    pub(super) recipe: R,
    /// The options, which tell whether the user has evaluated_rows to stop.
    pub(super) options: &'a FitOptions,
}

impl<R: Fn(HyperParams, f64) -> Recipe> Halving<'_, R> {
    /// Whether there are enough rows to learn and to evaluate.
    pub(super) fn can_evaluate(&self) -> bool {
        self.rows.len() >= 2 * HOLDOUT_EVERY
    }

    /// The parameters whose dense model is best after one round; the first one if there are ties.
    pub(super) fn one_round(&self, choices: &[HyperParams]) -> Result<HyperParams, TrainError> {
        let fair = ONE_ROUND * self.total / choices.len() as f64;
        let steps = self.total.min(fair.clamp(*ONE_ROUND_STEPS.start(), *ONE_ROUND_STEPS.end()));
        Ok(rank(choices, |choice| self.trial(choice, steps, false))?[0])
    }

    /// The parameters that are best after three rounds, by the sampled model if a size is given.
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

    /// The mean held-out loss of a learner after `steps` steps over the other rows. With several classes it separates
    /// the first one from the rest.
    fn trial(&self, choice: HyperParams, steps: f64, is_sampled: bool) -> Result<f64, TrainError> {
        if self.options.is_stopped() {
            return Err(TrainError::Interrupted { rows: 0, saved: None });
        }
        let Halving { targets, rows, .. } = self;
        let (recipe, steps) = ((self.recipe)(choice, steps), steps as usize);
        let mut learner = EpochSgd::for_recipe(&recipe, targets.loss_fn);
        let holdout = rows.len() / HOLDOUT_EVERY;
        let learned = rows.len() - holdout;
        // The n-th row that is not held out: three of four.
        let row_of = |n: usize| n + n / (HOLDOUT_EVERY - 1);
        let visit = |step: usize| row_of(if steps < learned { step * learned / steps } else { step % learned });
        let coding = targets.coding(0);
        let coded = |place: usize| {
            let example = rows.example(place);
            Example { target: coding.code(example.target), ..example }
        };
        let mut loss = 0.0;
        learner.learn_all((0..steps).map(|step| coded(visit(step))), |_, step| loss += step.loss / steps as f64);
        let evaluated_rows = holdout.min(steps.max(MIN_HOLDOUT));
        let mut evaluated = Batch::new();
        for row in (0..evaluated_rows).map(|row| row * holdout / evaluated_rows) {
            evaluated.push_mapped(rows.example(row * HOLDOUT_EVERY + HOLDOUT_EVERY - 1), |_, value| value);
        }
        let learners = [learner];
        let scores = feature_scores(&learners, params_of(&recipe).sampling);
        let facts = SizeFacts { scores: &scores, outputs: 1, loss };
        let given = if is_sampled { given_size(&recipe, targets, facts) } else { None };
        let size = given.map_or(Size::Draws(u64::MAX), with_replacement);
        let losses = sampled_losses(&learners, targets, &scores, size, &evaluated);
        Ok(estimate(&losses, evaluated.parts().weights).mean)
    }
}

/// The parameters by increasing loss; ties keep their order.
fn rank(
    choices: &[HyperParams],
    loss: impl Fn(HyperParams) -> Result<f64, TrainError>,
) -> Result<Vec<HyperParams>, TrainError> {
    let evaluate = |&choice: &HyperParams| loss(choice).map(|loss| (loss, choice));
    let mut ranked: Vec<(f64, HyperParams)> = choices.iter().map(evaluate).collect::<Result<_, _>>()?;
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(ranked.into_iter().map(|(_, choice)| choice).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinite_losses_come_last_and_ties_keep_their_order() {
        let choice = |radius, scaled_rate| HyperParams { radius, scaled_rate, epochs: 3.0 };
        let loss = |HyperParams { radius, scaled_rate, .. }: HyperParams| {
            Ok(if scaled_rate == 4.0 { f64::INFINITY } else { radius })
        };
        let [a, b, c, d] = [choice(2.0, 1.0), choice(1.0, 4.0), choice(1.0, 1.0), choice(1.0, 2.0)];
        assert_eq!(rank(&[a, b, c, d], loss).unwrap(), [c, d, a, b]);
    }
}
