//! The last trial: what was chosen on few steps is learned with all of them, from most of the rows, and judged by the rest.
//!
//! A short trial misjudges: weights of a short run are less concentrated than those of the whole one, and drawing them costs
//! more. So the best of the trials meets choices that are known to draw well, each learned as it will be; the loss of their
//! drawn models decides.
//!
//! Where no size is asked for, each is drawn at 8, 16, 32, … features and with all. **The smallest size is taken whose loss
//! is at most one standard error above the least of all**: that of the least loss, over the rows that judge. √2 of them, as
//! for the stabilized learner, gave up a twentieth of the RMSE where the errors of a few rows are most of the loss.
//!
//! Rows are judges by what is in them, so that equal rows are on one side, whatever the order: one of four, but no more than
//! there is room for. Below 2048 rows each is a judge once, in one of four turns.
//!
//! Cost: ¾ of the training for each finalist (of fewer than 2048 rows four times that); one learner at a time. Memory:
//! that of the training, and of the judges.

use std::sync::atomic::Ordering;

use super::super::TrainError;
use super::super::bank::Bank;
use super::super::head::{Decoder, Head};
use super::super::progress::Progressive;
use super::super::trainer::{CHUNK, Trainer, push_scaled};
use super::judge::{self, Verdict};
use super::trial::Choice;
use super::{effects, told_size};
use crate::data::{Batch, Example};
use crate::random::mix;
use crate::recipe::Recipe;
use crate::sparsify::Size;

/// The share of rows that judge, and rows and entries they may be.
const JUDGES: f64 = 0.25;
const MOST_JUDGES: f64 = 8192.0;
const MOST_ENTRIES: f64 = (1u64 << 21) as f64;
/// Fewer rows than this are judges in turn.
const FEW_ROWS: u64 = 2048;
const TURNS: usize = 4;
/// The smallest size that is tried.
const SMALLEST: usize = 8;

/// A finalist at a size: all of its features, or so many of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rung {
    finalist: usize,
    size: Option<usize>,
    verdict: Verdict,
}

/// The finalist to be learned from all rows, and how many features it is to have where that was asked.
pub(super) type Won = (Choice, Option<Size>);

/// Learns and judges the finalists. `recipe` makes the recipe of one, for a share of the rows. Nothing if no rows judge.
pub(super) fn duel(
    (trainer, head, passes): (&mut Trainer<'_>, &mut Head, u32),
    finalists: &[Choice],
    entries: u64,
    recipe: impl Fn(&Trainer<'_>, Choice, f64) -> Recipe,
) -> Result<Option<Won>, TrainError> {
    let share = JUDGES.min(MOST_JUDGES / head.rows as f64).min(MOST_ENTRIES / entries.max(1) as f64);
    let turns = if head.rows < FEW_ROWS { TURNS } else { 1 };
    let mut court = Court::new(trainer, finalists.len());
    for turn in 0..turns {
        let bench = turn as f64 * share..(turn + 1) as f64 * share;
        let mut judges = Batch::new();
        for (number, &finalist) in finalists.iter().enumerate() {
            let recipe = recipe(trainer, finalist, 1.0 - share);
            let keep = (number == 0).then_some(&mut judges);
            let (bank, seen) = learn((trainer, head, passes), &recipe, &bench, keep)?;
            court.hear(trainer, number, (&bank, &seen), &judges);
        }
        court.weights.extend_from_slice(judges.parts().weights);
    }
    let Some(rung) = choose(&court.rungs(), court.is_told) else { return Ok(None) };
    let size = Size::Exactly(rung.size.unwrap_or(usize::MAX));
    Ok(Some((finalists[rung.finalist], (!court.is_told).then_some(size))))
}

/// Learners of all rows but the judges, who are put aside if they are to be kept.
fn learn(
    (trainer, head, passes): (&mut Trainer<'_>, &mut Head, u32),
    recipe: &Recipe,
    bench: &std::ops::Range<f64>,
    mut judges: Option<&mut Batch>,
) -> Result<(Bank, Progressive), TrainError> {
    let mut bank = Bank::new(recipe, &trainer.targets, trainer.options.read.threads);
    let texts = head.texts.clone();
    let (mut decoder, mut seen, mut batch) = (Decoder::new(&texts), Progressive::default(), Batch::new());
    for pass in 0..u64::from(passes) {
        head.held.pass(pass, |group| {
            for example in group.examples() {
                let is_judge = bench.contains(&place(&example));
                let to = match &mut judges {
                    Some(judges) if is_judge && pass == 0 => judges,
                    _ if is_judge => continue,
                    _ => &mut batch,
                };
                let target = decoder.target(example.target, &mut trainer.targets)?;
                push_scaled(to, Example { target, ..example }, trainer.row_factor(example.row), &trainer.scale);
                if batch.len() == CHUNK {
                    bank.learn(&batch, &trainer.targets, &mut seen);
                    batch.clear();
                    if trainer.options.stop.load(Ordering::Relaxed) {
                        return Err(TrainError::Interrupted { rows: 0, saved: None });
                    }
                }
            }
            Ok::<bool, TrainError>(true)
        })?;
    }
    bank.learn(&batch, &trainer.targets, &mut seen);
    Ok((bank, seen))
}

/// A number from 0 up to 1, of a row's content.
fn place(example: &Example<'_>) -> f64 {
    let entry = |(id, value): (u32, f64)| mix(u64::from(id) ^ mix(value.to_bits()));
    let content = example.row.iter().map(entry).fold(mix(example.target.to_bits()), u64::wrapping_add);
    (mix(content) >> 11) as f64 * 0.5f64.powi(53)
}

/// Losses row by row, of each finalist at each size.
struct Court {
    is_told: bool,
    sizes: Vec<Option<usize>>,
    losses: Vec<Vec<Vec<f64>>>,
    weights: Vec<f64>,
}

impl Court {
    fn new(trainer: &Trainer<'_>, finalists: usize) -> Self {
        let is_told = told_size(trainer.recipe, &trainer.targets, (&[], 1), 0.0).is_some();
        let sizes = if is_told { vec![None] } else { ladder(trainer.dictionary.len()) };
        let losses = vec![vec![Vec::new(); sizes.len()]; finalists];
        Court { is_told, sizes, losses, weights: Vec::new() }
    }

    /// The judges' losses with what a finalist has learned.
    fn hear(&mut self, trainer: &Trainer<'_>, finalist: usize, (bank, seen): (&Bank, &Progressive), judges: &Batch) {
        let (recipe, targets, learners) = (trainer.recipe, &trainer.targets, bank.learners());
        let effects = effects(learners, recipe.law.unwrap_or_default());
        let told = told_size(recipe, targets, (&effects, learners.len()), seen.mean_loss());
        for (size, losses) in self.sizes.iter().zip(&mut self.losses[finalist]) {
            let size = told.unwrap_or(judge::stand_in(Size::Exactly(size.unwrap_or(usize::MAX))));
            losses.extend(judge::losses(learners, targets, &effects, size, judges));
        }
    }

    fn rungs(&self) -> Vec<Rung> {
        let of_finalist = |(finalist, losses): (usize, &Vec<Vec<f64>>)| {
            let rung = |(losses, &size): (&Vec<f64>, &Option<usize>)| Rung {
                finalist,
                size,
                verdict: Verdict::of(losses, &self.weights),
            };
            losses.iter().zip(&self.sizes).map(rung).collect::<Vec<_>>()
        };
        if self.weights.is_empty() {
            Vec::new()
        } else {
            self.losses.iter().enumerate().flat_map(of_finalist).collect()
        }
    }
}

/// Sizes below this number of features, each twice the one before; then all.
fn ladder(features: usize) -> Vec<Option<usize>> {
    let doubled = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(2));
    doubled.take_while(|&size| size < features).map(Some).chain([None]).collect()
}

/// The rung of least loss, or, where the size is open, the smallest that is about as good; of equal sizes the better.
fn choose(rungs: &[Rung], is_told: bool) -> Option<Rung> {
    let best = *rungs.iter().min_by(|one, other| one.verdict.loss.total_cmp(&other.verdict.loss))?;
    let enough = best.verdict.loss + if is_told { 0.0 } else { best.verdict.error };
    let size = |rung: &Rung| rung.size.unwrap_or(usize::MAX);
    let smaller =
        |one: &&Rung, other: &&Rung| size(one).cmp(&size(other)).then(one.verdict.loss.total_cmp(&other.verdict.loss));
    rungs.iter().filter(|rung| rung.verdict.loss <= enough).min_by(smaller).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    fn rung(finalist: usize, size: Option<usize>, loss: f64, error: f64) -> Rung {
        Rung { finalist, size, verdict: Verdict { loss, error } }
    }

    #[test]
    fn sizes_double() {
        assert_eq!(ladder(33), [Some(8), Some(16), Some(32), None]);
        assert_eq!(ladder(8), [None]);
    }

    #[test]
    fn the_smallest_size_about_as_good_as_the_best_wins() {
        let rungs = [
            rung(0, Some(8), 0.52, 0.0),
            rung(0, Some(16), 0.45, 0.0),
            rung(0, None, 0.44, 0.0),
            rung(1, Some(8), 0.90, 0.0),
            rung(1, Some(16), 0.44, 0.0),
            rung(1, None, 0.40, 0.055), // up to 0.455 will do
        ];
        assert_eq!(choose(&rungs, false), Some(rungs[4]), "of two at 16 the better");
        assert_eq!(choose(&rungs[..5], false), Some(rungs[4]), "equal losses: the smaller");
        let sharper = rung(1, None, 0.40, 0.01);
        assert_eq!(choose(&[&rungs[..5], &[sharper]].concat(), false), Some(sharper));
    }

    #[test]
    fn with_a_size_given_the_least_loss_wins() {
        let rungs = [rung(0, None, 0.5, 0.1), rung(1, None, 0.49, 0.1), rung(2, None, 0.49, 0.1)];
        assert_eq!(choose(&rungs, true), Some(rungs[1]), "of equals the first");
        assert_eq!(choose(&[], true), None);
    }

    #[test]
    fn equal_rows_are_on_one_side_and_others_spread() {
        let of = |ids: &[u32], target: f64| {
            place(&Example { row: Row { ids, values: &vec![1.0; ids.len()] }, target, weight: 1.0 })
        };
        assert_eq!(of(&[1, 5], 1.0), of(&[1, 5], 1.0));
        let judges = (0..4000).filter(|&id| of(&[id, id + 7], f64::from(id % 2)) < JUDGES).count();
        assert!((900..1100).contains(&judges), "{judges}");
    }
}
