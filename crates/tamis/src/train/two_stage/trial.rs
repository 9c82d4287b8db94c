//! Which radius and which rate suit the rows: many are tried on few steps, the best of them on more.
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
//! in the same way. A rate belongs to a number of steps: what wins a short trial is carried to the whole training by its
//! 1/√T₁ ([`Choice::pace`]).
//!
//! Cost: 0.7·T steps, or 2²⁵ entries if that is more, and half of T for a single round; one learner at a time. Memory: that
//! of the sample, and a learner of its features.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::TrainError;
use super::super::task::Targets;
use super::judge::{self, Verdict};
use super::{effects, params_of, told_size};
use crate::data::{Batch, Example, FeatureId};
use crate::learn::AnyLearner;
use crate::recipe::Recipe;
use crate::sparsify::Size;

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    /// B.
    pub(super) radius: f64,
    /// η₁√T₁.
    pub(super) pace: f64,
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
/// Rows and entries of a sample at most.
const MOST_ROWS: usize = 1 << 14;
const MOST_ENTRIES: usize = 1 << 22;
/// Of so many rows of the sample one is kept to judge; of these at least so many do, and as many as there were steps.
const JUDGES: usize = 4;
const LEAST_JUDGES: usize = 1024;

/// Rows spread over all that were offered.
pub(super) struct Sample {
    rows: Batch,
    /// So many rows and entries at most.
    most: (usize, usize),
    offered: u64,
    /// Every 2ˢ-th row is taken.
    sparser: u32,
}

impl Default for Sample {
    fn default() -> Self {
        Sample::of(MOST_ROWS, MOST_ENTRIES)
    }
}

impl Sample {
    /// Of so many rows and entries at most.
    pub(super) fn of(rows: usize, entries: usize) -> Self {
        Sample { rows: Batch::new(), most: (rows, entries), offered: 0, sparser: 0 }
    }

    /// The rows as they were taken.
    pub(super) fn into_rows(self) -> Batch {
        self.rows
    }

    /// Takes the row, its values mapped, or lets it pass.
    pub(super) fn offer(&mut self, example: Example<'_>, map: impl Fn(FeatureId, f64) -> f64) {
        if self.offered.trailing_zeros() >= self.sparser {
            self.rows.push_mapped(example, map);
        }
        self.offered += 1;
        let (most_rows, most_entries) = self.most;
        while self.rows.len() > most_rows || (self.rows.entries() > most_entries && self.rows.len() > 1) {
            let mut kept = Batch::new();
            self.rows.examples().step_by(2).for_each(|example| kept.push_mapped(example, |_, value| value));
            self.rows = kept;
            self.sparser += 1;
        }
    }

    /// The rows, their features numbered anew in the same order: a learner needs no room for those that do not occur.
    pub(super) fn rows(self) -> Batch {
        let parts = self.rows.parts();
        let span = parts.ids.iter().max().map_or(0, |&largest| largest as usize + 1);
        let mut places = vec![0; span];
        parts.ids.iter().for_each(|&id| places[id as usize] = 1);
        let mut next: FeatureId = 0;
        for place in &mut places {
            (*place, next) = (next, next + *place);
        }
        let ids = parts.ids.iter().map(|&id| places[id as usize]).collect();
        let (offsets, values) = (parts.offsets.to_vec(), parts.values.to_vec());
        Batch::from_parts(offsets, ids, values, parts.targets.to_vec(), parts.weights.to_vec())
    }
}

/// What trials need to know.
pub(super) struct Trials<'a, R> {
    pub(super) targets: &'a Targets,
    /// The sample.
    pub(super) rows: Batch,
    /// Steps there will be in all.
    pub(super) total: f64,
    /// The recipe of a choice for so many steps.
    pub(super) recipe: R,
    /// Set when the user wants to stop.
    pub(super) stop: &'a AtomicBool,
}

impl<R: Fn(Choice, f64) -> Recipe> Trials<'_, R> {
    /// Whether there are rows enough to learn from and to judge by.
    pub(super) fn can_judge(&self) -> bool {
        self.rows.len() >= 2 * JUDGES
    }

    /// The choice whose whole model is best after one round; of equals the first.
    pub(super) fn one_round(&self, choices: &[Choice]) -> Result<Choice, TrainError> {
        let fair = ONE_ROUND * self.total / choices.len() as f64;
        let steps = self.total.min(fair.clamp(*ONE_ROUND_STEPS.start(), *ONE_ROUND_STEPS.end()));
        Ok(rank(choices, |choice| self.trial(choice, steps, false))?[0])
    }

    /// The choice that is best after three rounds, drawn if a size was asked for.
    pub(super) fn halving(&self, choices: &[Choice], is_paced: bool) -> Result<Choice, TrainError> {
        let work = choices.len() as f64 + LONGER * SECOND_ROUND as f64 + LONGER * LONGER * 3.0;
        let row = self.rows.entries() as f64 / self.rows.len() as f64;
        let mut steps = (self.total * SHARE).max(SHORT_STEPS.min(SHORT_ENTRIES / (work * row.max(1.0))));
        let mut round = |choices: &[Choice]| {
            let now = steps.min(self.total);
            steps *= LONGER;
            rank(choices, |choice| self.trial(choice, now, true))
        };
        let first = round(choices)?;
        let best = round(&first[..first.len().min(SECOND_ROUND)])?[0];
        if is_paced {
            return Ok(best);
        }
        let [slower, faster] = BESIDE.map(|times| Choice { pace: best.pace * times, ..best });
        Ok(round(&[best, slower, faster])?[0])
    }

    /// The mean loss, on rows of the fourth kind, of a learner that has made so many steps over the others. With several
    /// classes it tells the first from the rest.
    fn trial(&self, choice: Choice, steps: f64, is_drawn: bool) -> Result<f64, TrainError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TrainError::Interrupted { rows: 0, saved: None });
        }
        let Trials { targets, rows, .. } = self;
        let (recipe, steps) = ((self.recipe)(choice, steps), steps as usize);
        let mut learner = AnyLearner::new(&recipe, targets.built);
        let judges = rows.len() / JUDGES;
        let learned = rows.len() - judges;
        // The n-th row that is no judge's: three of four.
        let row_of = |n: usize| n + n / (JUDGES - 1);
        let visit = |step: usize| row_of(if steps < learned { step * learned / steps } else { step % learned });
        let coded = |place: usize| {
            let example = rows.example(place);
            Example { target: targets.code(example.target, 0), ..example }
        };
        let mut seen = 0.0;
        learner.learn_all((0..steps).map(|step| coded(visit(step))), |_, step| seen += step.loss / steps as f64);
        let asked = judges.min(steps.max(LEAST_JUDGES));
        let mut court = Batch::new();
        for judge in (0..asked).map(|judge| judge * judges / asked) {
            court.push_mapped(rows.example(judge * JUDGES + JUDGES - 1), |_, value| value);
        }
        let learners = [learner];
        let effects = effects(&learners, params_of(&recipe).sampling);
        let told = if is_drawn { told_size(&recipe, targets, (&effects, 1), seen) } else { None };
        let size = told.map_or(Size::Draws(u64::MAX), judge::stand_in);
        let losses = judge::losses(&learners, targets, &effects, size, &court);
        Ok(Verdict::of(&losses, court.parts().weights).loss)
    }
}

/// The choices, those of least loss first; of equals the earlier.
fn rank(choices: &[Choice], loss: impl Fn(Choice) -> Result<f64, TrainError>) -> Result<Vec<Choice>, TrainError> {
    let judge = |&choice: &Choice| loss(choice).map(|loss| (loss, choice));
    let mut judged: Vec<(f64, Choice)> = choices.iter().map(judge).collect::<Result<_, _>>()?;
    judged.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(judged.into_iter().map(|(_, choice)| choice).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    fn offer(sample: &mut Sample, ids: &[FeatureId], target: f64) {
        let row = Row { ids, values: &vec![1.0; ids.len()] };
        sample.offer(Example { row, target, weight: 1.0 }, |_, value| 2.0 * value);
    }

    #[test]
    fn samples_are_spread_over_all_rows() {
        let mut sample = Sample::default();
        let offered = 5 * MOST_ROWS;
        (0..offered).for_each(|row| offer(&mut sample, &[], row as f64));
        let rows = sample.rows();
        assert!(rows.len() > MOST_ROWS / 2 && rows.len() <= MOST_ROWS, "{}", rows.len());
        assert!(rows.examples().enumerate().all(|(place, example)| example.target == 8.0 * place as f64));
    }

    #[test]
    fn samples_of_long_rows_stay_in_bounds() {
        let mut sample = Sample::default();
        let ids: Vec<FeatureId> = (0..MOST_ENTRIES as FeatureId / 3).collect();
        (0..9).for_each(|row| offer(&mut sample, &ids, f64::from(row)));
        assert_eq!(sample.rows().examples().map(|example| example.target).collect::<Vec<_>>(), [0.0, 4.0, 8.0]);
    }

    #[test]
    fn features_of_a_sample_are_numbered_anew_in_their_order() {
        let mut sample = Sample::default();
        offer(&mut sample, &[7, 900_000], 0.0);
        offer(&mut sample, &[3, 7], 0.0);
        let rows = sample.rows();
        assert_eq!((rows.row(0).ids, rows.row(1).ids), (&[1, 2][..], &[0, 1][..]));
        assert_eq!(rows.row(0).values, [2.0, 2.0]);
    }

    #[test]
    fn losses_that_are_no_numbers_come_last_and_equals_stay_in_order() {
        let choice = |radius, pace| Choice { radius, pace, epochs: 3.0 };
        let loss = |Choice { radius, pace, .. }: Choice| Ok(if pace == 4.0 { f64::INFINITY } else { radius });
        let [a, b, c, d] = [choice(2.0, 1.0), choice(1.0, 4.0), choice(1.0, 1.0), choice(1.0, 2.0)];
        assert_eq!(rank(&[a, b, c, d], loss).unwrap(), [c, d, a, b]);
    }
}
