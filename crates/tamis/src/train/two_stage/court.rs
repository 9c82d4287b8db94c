//! Finalists before their judges: losses row by row, at each size, their weights moved more or less far (`sketch.rs`).
//!
//! Each size is drawn twice, and a drawing is fitted with few entries: what it lacks is less than what drawings differ by.
//! Models of more than 2¹⁴ features are judged as drawn, by more drawings (`judge.rs`).
//!
//! Cost: one reading of the rows, then a path of fits for each drawing, side by side. Memory: 2²² entries and the drawings.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::super::TrainError;
use super::super::bank::Bank;
use super::super::head::Head;
use super::super::progress::Progressive;
use super::super::trainer::Trainer;
use super::judge::{self, Verdict};
use super::sketch::{Few, Sketch, gather, polishes};
use super::{effects, params_of, told_size};
use crate::data::{Batch, Example};
use crate::random::{Purpose, generator};
use crate::sparsify::{Size, Urn, expected_support};

/// The smallest size that is tried.
const SMALLEST: usize = 8;
/// Drawings of a size whose weights are fitted, and features that a model to be fitted has at most.
const FITTED_DRAWINGS: u64 = 2;
const MOST_FITTED: f64 = (1u64 << 14) as f64;

/// A finalist at a size: all of its features, or so many of them; its weights moved so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    pub(super) finalist: usize,
    pub(super) size: Option<usize>,
    pub(super) polish: f64,
    pub(super) verdict: Verdict,
}

/// A drawn model to be fitted, and whose it is: the numbers of finalist and size.
struct Entrant {
    of: (usize, usize),
    sketch: Sketch,
}

/// What the judges say of an entrant, for each τ.
struct Heard {
    of: (usize, usize),
    losses: Vec<Vec<f64>>,
}

/// Losses of each finalist at each size, for each τ.
pub(super) struct Court {
    pub(super) is_told: bool,
    sizes: Vec<Option<usize>>,
    polishes: Vec<f64>,
    losses: Vec<Vec<Vec<Vec<f64>>>>,
    weights: Vec<f64>,
    /// Those to be fitted in this turn.
    entrants: Vec<Entrant>,
}

impl Court {
    pub(super) fn new(trainer: &Trainer<'_>, finalists: usize) -> Self {
        let is_told = told_size(trainer.recipe, &trainer.targets, (&[], 1), 0.0).is_some();
        let sizes = if is_told { vec![None] } else { ladder(trainer.dictionary.len()) };
        let polishes = polishes(trainer.recipe);
        let losses = vec![vec![vec![Vec::new(); polishes.len()]; sizes.len()]; finalists];
        Court { is_told, sizes, polishes, losses, weights: Vec::new(), entrants: Vec::new() }
    }

    /// The judges' losses with what a finalist has learned, or what is to be fitted before they can tell.
    pub(super) fn hear(
        &mut self,
        trainer: &Trainer<'_>,
        finalist: usize,
        (bank, seen): (&Bank, &Progressive),
        judges: &Batch,
    ) {
        let (recipe, targets, learners) = (trainer.recipe, &trainer.targets, bank.learners());
        let effects = effects(learners, params_of(recipe).sampling);
        let told = told_size(recipe, targets, (&effects, learners.len()), seen.mean_loss());
        for (at, (size, losses)) in self.sizes.iter().zip(&mut self.losses[finalist]).enumerate() {
            let size = told.unwrap_or(judge::stand_in(Size::Exactly(size.unwrap_or(usize::MAX))));
            if self.polishes == [0.0] || expected_support(&effects, size) > MOST_FITTED {
                losses[0].extend(judge::losses(learners, targets, &effects, size, judges));
                continue;
            }
            let urn = Urn::new(&effects, size);
            for drawing in 0..if urn.keeps_all() { 1 } else { FITTED_DRAWINGS } {
                let drawn = urn.draw(&mut generator(0, Purpose::Trial, drawing));
                self.entrants.push(Entrant { of: (finalist, at), sketch: Sketch::of(learners, &drawn) });
            }
        }
    }

    /// Ends a turn: entrants are fitted to the rows that are no judges, and judged by those who are.
    pub(super) fn end_turn(
        &mut self,
        (trainer, head): (&mut Trainer<'_>, &mut Head),
        judges: &Batch,
        is_judge: impl Fn(&Example<'_>) -> bool,
    ) -> Result<(), TrainError> {
        self.weights.extend_from_slice(judges.parts().weights);
        let mut entrants = std::mem::take(&mut self.entrants);
        if entrants.is_empty() {
            return Ok(());
        }
        let few = Few::of(entrants.iter().flat_map(|one| one.sketch.ids.iter().copied()), trainer.dictionary.span());
        let rows = gather((trainer, head), &few, |example| !is_judge(example))?;
        let judges = few.restrict(judges);
        entrants.iter_mut().for_each(|one| few.renumber(&mut one.sketch.ids));
        let (targets, intercept) = (&trainer.targets, trainer.recipe.intercept);
        let (seen, polishes) = ((&rows, &judges, few.len()), &self.polishes);
        let stop = &trainer.options.stop;
        let judged = |one: &Entrant| match stop.load(Ordering::Relaxed) {
            true => Err(TrainError::Interrupted { rows: 0, saved: None }),
            false => Ok(Heard { of: one.of, losses: one.sketch.losses(seen, targets, intercept, polishes) }),
        };
        let bank = &trainer.lane.crew().bank;
        let judged = bank.side_by_side(|| entrants.par_iter().map(judged).collect::<Result<Vec<_>, TrainError>>())?;
        judged.chunk_by(|one, other| one.of == other.of).for_each(|same| self.note(same));
        Ok(())
    }

    /// Takes down what judges say of drawings of one finalist and size: the mean.
    fn note(&mut self, same: &[Heard]) {
        let (finalist, size) = same[0].of;
        for (at, to) in self.losses[finalist][size].iter_mut().enumerate() {
            let mean = |judge: usize| same.iter().map(|one| one.losses[at][judge]).sum::<f64>() / same.len() as f64;
            to.extend((0..same[0].losses[at].len()).map(mean));
        }
    }

    /// What all turns say of every finalist at every size, for each τ that was tried.
    pub(super) fn rungs(&self) -> Vec<Rung> {
        let mut rungs = Vec::new();
        for (finalist, losses) in self.losses.iter().enumerate() {
            for (losses, &size) in losses.iter().zip(&self.sizes) {
                // What was too large to be fitted in a turn is judged as drawn only.
                let is_judged = |losses: &[f64]| !losses.is_empty() && losses.len() == self.weights.len();
                let tried = self.polishes.iter().zip(losses).filter(|(_, losses)| is_judged(losses));
                rungs.extend(tried.map(|(&polish, losses)| {
                    let verdict = Verdict::of(losses, &self.weights);
                    Rung { finalist, size, polish, verdict }
                }));
            }
        }
        rungs
    }
}

/// Sizes below this number of features, each twice the one before; then all.
fn ladder(features: usize) -> Vec<Option<usize>> {
    let doubled = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(2));
    doubled.take_while(|&size| size < features).map(Some).chain([None]).collect()
}

/// The rung of least loss, or, where the size is open, the smallest that is about as good; of equal sizes the better.
pub(super) fn choose(rungs: &[Rung], is_told: bool) -> Option<Rung> {
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

    fn rung(finalist: usize, size: Option<usize>, loss: f64, error: f64) -> Rung {
        Rung { finalist, size, polish: 0.0, verdict: Verdict { loss, error } }
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
}
