//! The table of candidates: each finalist at each size, with its held-out losses for each strength of refinement.
//!
//! Each size is sampled twice, and the sampled model is fitted with few entries: the difference to a full fit is
//! smaller than that between samples (`sampled_model.rs`). Models of more than 2¹⁴ features are evaluated without
//! refinement, with more samples (`sampled_loss.rs`).
//!
//! Cost: one pass over the rows, then a sequence of fits for each sample, in parallel. Memory: 2²² entries and the
//! samples.

use rayon::prelude::*;

use super::epoch_sgd::EpochSgd;
use super::params::params_of;
use super::sampled_loss::{estimate, sampled_losses, with_replacement};
use super::sampled_model::{FeatureSubset, SampledModel, gather, refinements};
use super::sampling::{FeatureSampler, Size, expected_support};
use super::size::{SizeFacts, feature_scores, given_size};
use crate::data::Batch;
use crate::rng::{RngStream, generator};
use crate::select::{Estimate, smallest_within_se};
use crate::trainer::{BufferedRows, Session, TrainError, TrainingData};

/// The smallest size that is tried.
const SMALLEST: usize = 8;
/// Samples of a size whose weights are fitted, and the largest number of features of such a model.
const FITTED_SAMPLES: u64 = 2;
const MAX_FITTED: f64 = (1u64 << 14) as f64;

/// A finalist at a size (`None` for all features) with a strength of refinement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) finalist: usize,
    pub(super) size: Option<usize>,
    pub(super) refinement: f64,
    pub(super) loss: Estimate,
}

/// A sampled model to be fitted: the numbers of its finalist and its size.
struct Entry {
    finalist: usize,
    size: usize,
    sampled: SampledModel,
}

/// The losses of an entry on the held-out rows, for each τ.
struct EntryLosses {
    finalist: usize,
    size: usize,
    losses: Vec<Vec<f64>>,
}

/// Held-out losses of each finalist at each size, for each τ.
pub(super) struct CandidateTable {
    /// Whether a size is given.
    pub(super) is_given: bool,
    sizes: Vec<Option<usize>>,
    refinements: Vec<f64>,
    /// The losses of held-out rows, by finalist, size and τ.
    losses: Vec<Vec<Vec<Vec<f64>>>>,
    /// The weights of held-out rows.
    weights: Vec<f64>,
    /// The models to be fitted in this fold.
    entries: Vec<Entry>,
}

impl CandidateTable {
    pub(super) fn new(data: &TrainingData, finalists: usize) -> Self {
        let is_given = given_size(&data.recipe, &data.targets, SizeFacts::NONE).is_some();
        let sizes = if is_given { vec![None] } else { doubling_sizes(data.vocabulary.len()) };
        let refinements = refinements(&data.recipe);
        let losses = vec![vec![vec![Vec::new(); refinements.len()]; sizes.len()]; finalists];
        CandidateTable { is_given, sizes, refinements, losses, weights: Vec::new(), entries: Vec::new() }
    }

    /// Adds the held-out losses of a finalist at each size, or the sampled models that are to be fitted for them.
    /// `loss` is its progressive loss.
    pub(super) fn score(
        &mut self,
        data: &TrainingData,
        finalist: usize,
        learners: &[EpochSgd],
        loss: f64,
        holdout: &Batch,
    ) {
        let scores = feature_scores(learners, params_of(&data.recipe).sampling);
        let facts = SizeFacts { scores: &scores, outputs: learners.len(), loss };
        let given = given_size(&data.recipe, &data.targets, facts);
        for (number, (size, losses)) in self.sizes.iter().zip(&mut self.losses[finalist]).enumerate() {
            let size = given.unwrap_or(with_replacement(Size::Exactly(size.unwrap_or(usize::MAX))));
            if self.refinements == [0.0] || expected_support(&scores, size) > MAX_FITTED {
                losses[0].extend(sampled_losses(learners, &data.targets, &scores, size, holdout));
                continue;
            }
            let sampler = FeatureSampler::new(&scores, size);
            for sample in 0..if sampler.keeps_all() { 1 } else { FITTED_SAMPLES } {
                let drawn = sampler.draw(&mut generator(0, RngStream::TrialSample, sample));
                self.entries.push(Entry { finalist, size: number, sampled: SampledModel::of(learners, &drawn) });
            }
        }
    }

    /// Ends a fold: entries are fitted to the rows outside of it, and evaluated on those in it.
    pub(super) fn end_fold(
        &mut self,
        session: &Session<'_>,
        rows: &mut BufferedRows,
        holdout: &Batch,
        is_held_out: impl Fn(usize) -> bool,
    ) -> Result<(), TrainError> {
        self.weights.extend_from_slice(holdout.parts().weights);
        let mut entries = std::mem::take(&mut self.entries);
        if entries.is_empty() {
            return Ok(());
        }
        let data = &*session.data;
        let ids = entries.iter().flat_map(|entry| entry.sampled.ids.iter().copied());
        let subset = FeatureSubset::of(ids, data.vocabulary.span());
        let rows = gather(data, rows, &subset, |row| !is_held_out(row))?;
        let holdout = subset.restrict(holdout);
        entries.iter_mut().for_each(|entry| subset.renumber(&mut entry.sampled.ids));
        let (intercept, refinements, span) = (data.recipe.intercept, &self.refinements, subset.len());
        let options = session.options;
        let evaluate = |&Entry { finalist, size, ref sampled }: &Entry| {
            if options.is_stopped() {
                return Err(TrainError::Interrupted { rows: 0, saved: None });
            }
            let losses = sampled.losses(&rows, &holdout, span, &data.targets, intercept, refinements);
            Ok(EntryLosses { finalist, size, losses })
        };
        let all: Vec<EntryLosses> =
            session.threads.install(|| entries.par_iter().map(evaluate).collect::<Result<_, TrainError>>())?;
        let is_same = |a: &EntryLosses, b: &EntryLosses| (a.finalist, a.size) == (b.finalist, b.size);
        all.chunk_by(is_same).for_each(|same| self.add_mean(same));
        Ok(())
    }

    /// Adds the mean losses over the samples of one finalist and size.
    fn add_mean(&mut self, same: &[EntryLosses]) {
        for (at, to) in self.losses[same[0].finalist][same[0].size].iter_mut().enumerate() {
            let mean = |row: usize| same.iter().map(|one| one.losses[at][row]).sum::<f64>() / same.len() as f64;
            to.extend((0..same[0].losses[at].len()).map(mean));
        }
    }

    /// All candidates with their held-out loss over all folds.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (finalist, losses) in self.losses.iter().enumerate() {
            for (losses, &size) in losses.iter().zip(&self.sizes) {
                // A model that was too large to be fitted in a fold is evaluated without refinement only.
                let is_complete = |losses: &[f64]| !losses.is_empty() && losses.len() == self.weights.len();
                let tried = self.refinements.iter().zip(losses).filter(|(_, losses)| is_complete(losses));
                candidates.extend(tried.map(|(&refinement, losses)| {
                    let loss = estimate(losses, &self.weights);
                    Candidate { finalist, size, refinement, loss }
                }));
            }
        }
        candidates
    }
}

/// The sizes below the number of features, each twice the one before; then all features.
fn doubling_sizes(features: usize) -> Vec<Option<usize>> {
    let doubled = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(2));
    doubled.take_while(|&size| size < features).map(Some).chain([None]).collect()
}

/// The candidate of least loss or, if no size is given, the smallest within one standard error of it.
pub(super) fn choose(candidates: &[Candidate], is_given: bool) -> Option<Candidate> {
    let size = |candidate: &Candidate| candidate.size.unwrap_or(usize::MAX) as f64;
    let scored: Vec<(Estimate, f64)> = candidates.iter().map(|one| (one.loss, size(one))).collect();
    smallest_within_se(&scored, if is_given { 0.0 } else { 1.0 }).map(|number| candidates[number])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(finalist: usize, size: Option<usize>, loss: f64, error: f64) -> Candidate {
        Candidate { finalist, size, refinement: 0.0, loss: Estimate { mean: loss, standard_error: error } }
    }

    #[test]
    fn sizes_double() {
        assert_eq!(doubling_sizes(33), [Some(8), Some(16), Some(32), None]);
        assert_eq!(doubling_sizes(8), [None]);
    }

    #[test]
    fn the_smallest_size_about_as_good_as_the_best_wins() {
        let candidates = [
            candidate(0, Some(8), 0.52, 0.0),
            candidate(0, Some(16), 0.45, 0.0),
            candidate(0, None, 0.44, 0.0),
            candidate(1, Some(8), 0.90, 0.0),
            candidate(1, Some(16), 0.44, 0.0),
            candidate(1, None, 0.40, 0.055), // the limit is 0.455
        ];
        assert_eq!(choose(&candidates, false), Some(candidates[4]), "the better one of size 16");
        assert_eq!(choose(&candidates[..5], false), Some(candidates[4]), "the smaller one if losses are equal");
        let sharper = candidate(1, None, 0.40, 0.01);
        assert_eq!(choose(&[&candidates[..5], &[sharper]].concat(), false), Some(sharper));
    }

    #[test]
    fn with_a_given_size_the_least_loss_wins() {
        let candidates = [candidate(0, None, 0.5, 0.1), candidate(1, None, 0.49, 0.1), candidate(2, None, 0.49, 0.1)];
        assert_eq!(choose(&candidates, true), Some(candidates[1]), "the first one of ties");
        assert_eq!(choose(&[], true), None);
    }
}
