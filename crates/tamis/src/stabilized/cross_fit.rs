//! Cross-fitted ensembles: the one that becomes the model, and one for each of four folds that never sees its fold.
//!
//! Each ensemble selects its own features. The held-out error of a size is that of the fold ensembles on their own folds:
//! the paths of the model leave out half of the rows each, but its features were selected with all rows, so their
//! out-of-bag predictions would be too optimistic.

use std::sync::Arc;

use rayon::prelude::*;

use super::ensemble::SizeStep;
use super::feature_tests::Nuisance;
use super::folded_ensemble::{FOLDS, FoldedEnsemble};
use super::holdout::evaluate;
use super::member_rows::MemberRows;
use super::row_transform::FeatureSet;
use super::rows_in_use::Preparation;
use super::stage::{ClassCoding, PathMeans};
use super::subsamples::HashedRows;
use crate::data::{Example, fold_of_hash};
use crate::loss::AnyLoss;
use crate::threads::Threads;

/// Rows that the ensembles learn at a time: so many that the states of common features stay in a cache while a block of paths
/// learns them.
pub(super) const CHUNK: u64 = 4096;
/// The main ensemble and the fold ensembles, somewhere on the path of sizes.
pub(super) struct CrossFit {
    pub(super) main: FoldedEnsemble,
    pub(super) folds: Vec<FoldedEnsemble>,
    pub(super) codings: Vec<ClassCoding>,
    pub(super) loss: AnyLoss,
    /// The sizes of the active set.
    pub(super) sizes: Vec<usize>,
    /// Rows visited in each stage.
    pub(super) lengths: Vec<u64>,
    pub(super) steps: Vec<SizeStep>,
    /// Sizes between these (`intermediate_sizes.rs`).
    pub(super) between: Vec<SizeStep>,
    /// What the fold ensembles know, for the tests of the features.
    pub(super) nuisance: Nuisance,
    /// The features that entered the training, or that entered before it and were narrowed to those of its rows.
    pub(super) entered: usize,
    /// Rows visited.
    pub(super) done: u64,
    pub(super) threads: Threads,
    /// The largest number of bytes that all paths took.
    pub(super) max_bytes: usize,
    /// Rows that weights are refined with, once they are needed: scaled, with the features in use.
    pub(super) sample: Option<HashedRows>,
    /// The largest hash of these rows.
    pub(super) sample_limit: u64,
    /// The hash of each row, by row number.
    pub(super) row_hashes: Vec<u64>,
    /// The features that any of the ensembles has in this stage, when its rows are learned.
    pub(super) in_use: Option<Arc<FeatureSet>>,
    /// The rows of the last batch over the features of each ensemble in this stage, when its rows are learned.
    pub(super) member_rows: Option<MemberRows>,
}

impl CrossFit {
    /// Adds a held-out row, scaled, to the ensemble of its fold.
    pub(super) fn add_holdout_row(&mut self, example: Example<'_>, row_hash: u64) {
        let fold = fold_of_hash(row_hash, FOLDS);
        if let Some(fold) = self.folds.get_mut(fold as usize) {
            fold.hold_out(example, row_hash);
        }
    }

    /// Begins the next stage.
    pub(super) fn begin(&mut self) {
        let length = self.lengths[self.steps.len()];
        let rows = self.row_hashes.len() as u64;
        self.all().for_each(|member| member.begin(length, rows));
    }

    fn all(&mut self) -> impl Iterator<Item = &mut FoldedEnsemble> {
        std::iter::once(&mut self.main).chain(&mut self.folds)
    }

    /// Whether all stages are finished.
    pub(super) fn is_over(&self) -> bool {
        self.steps.len() == self.sizes.len()
    }

    /// The number of rows to learn next, at most.
    pub(super) fn rows_wanted(&self) -> usize {
        self.main.ensemble.rows_wanted().min(CHUNK) as usize
    }

    /// Learns scaled rows over the features in use, at most [`CrossFit::rows_wanted`]; returns whether the stage ends with them.
    pub(super) fn learn(&mut self, rows: &[(Example<'_>, u64)]) -> bool {
        self.done += rows.len() as u64;
        if self.all().all(|member| member.ensemble.has_converged()) {
            self.all().for_each(|member| member.ensemble.visit(rows.len() as u64));
            return self.main.ensemble.stage_is_over();
        }
        let CrossFit { main, folds, member_rows, threads, .. } = self;
        let [a, b, c, d] = &mut folds[..] else { unreachable!("one ensemble for each fold") };
        let member_rows = member_rows.get_or_insert_with(|| MemberRows::new(&[main, a, b, c, d]));
        threads.install(|| member_rows.learn([main, a, b, c, d], rows));
        self.main.ensemble.stage_is_over()
    }

    /// How rows of the store are prepared.
    pub(super) fn preparation(&self) -> Preparation<'_> {
        Preparation { transform: &self.main.transform, row_hashes: &self.row_hashes, threads: &self.threads }
    }

    /// The features that any of the ensembles has in this stage.
    pub(super) fn features_in_use(&mut self) -> Arc<FeatureSet> {
        let CrossFit { main, folds, in_use, .. } = self;
        let new = || {
            let active = std::iter::once(&*main).chain(&*folds).flat_map(|member| member.ensemble.active());
            Arc::new(FeatureSet::new(active.copied(), main.transform.span()))
        };
        in_use.get_or_insert_with(new).clone()
    }

    /// Bytes of all paths, row hashes and sampled rows.
    fn bytes(&self) -> usize {
        let rows = size_of_val(&self.row_hashes[..]) + self.sample.as_ref().map_or(0, |sample| sample.batch.bytes());
        rows + self.main.ensemble.bytes() + self.folds.iter().map(|fold| fold.ensemble.bytes()).sum::<usize>()
    }

    /// Records what the fold ensembles know at the end of a stage, with these weights.
    pub(super) fn record(&mut self, step: &SizeStep, means: &[Vec<PathMeans>]) {
        let active = self.folds.iter().map(|fold| fold.ensemble.active());
        let folds: Vec<_> = active.zip(means).collect();
        self.nuisance.record(step, &folds, self.row_hashes.len());
    }

    /// The means of the fold ensembles over their paths, when those of the main ensemble are known. What they are computed from is
    /// freed, unless this is the last stage: a checkpoint then has it.
    pub(super) fn take_fold_means(&mut self) -> Vec<Vec<PathMeans>> {
        self.max_bytes = self.max_bytes.max(self.bytes());
        let is_last = self.next_size() == 0;
        let CrossFit { main, folds, threads, .. } = self;
        let finish = |member: &mut FoldedEnsemble| {
            if !is_last {
                member.ensemble.drop_tallies();
            }
        };
        finish(main);
        let take = |fold: &mut FoldedEnsemble| {
            let means = fold.ensemble.means();
            finish(fold);
            means
        };
        threads.install(|| folds.par_iter_mut().map(take).collect())
    }

    /// The size of the next stage; 0 after the last.
    pub(super) fn next_size(&self) -> usize {
        self.sizes.get(self.steps.len() + 1).copied().unwrap_or(0)
    }

    /// Ends a stage, and begins the next one with fewer features; `folds` are the means of the fold ensembles.
    pub(super) fn end_stage(&mut self, step: SizeStep, folds: &[Vec<PathMeans>]) {
        self.max_bytes = self.max_bytes.max(self.bytes());
        let size = self.next_size();
        if size > 0 {
            let CrossFit { main, folds: members, threads, .. } = self;
            threads.install(|| {
                main.shrink_to(&step.outputs, size);
                members.par_iter_mut().zip(folds).for_each(|(fold, means)| fold.shrink_to(means, size));
            });
        }
        self.steps.push(step);
        (self.in_use, self.member_rows) = (None, None);
        if !self.is_over() {
            self.begin();
        }
    }

    /// The size that the stage has led to: the model of the main ensemble, evaluated by the fold ensembles.
    pub(super) fn size_step(&self) -> SizeStep {
        let mut scores: Vec<Vec<f64>> = vec![Vec::new(); self.codings.len()];
        let mut targets = Vec::new();
        for fold in &self.folds {
            let new = self.threads.install(|| fold.ensemble.scores(fold.holdout_rows()));
            scores.iter_mut().zip(new).for_each(|(all, new)| all.extend(new));
            targets.extend(fold.holdout_rows().batch.examples().map(|example| (example.target, example.weight)));
        }
        let ensemble = &self.main.ensemble;
        let outputs = ensemble.means();
        for (scores, means) in scores.iter_mut().zip(&outputs) {
            // A model without weights predicts the same for every row; differences of the folds' intercepts are chance.
            if means.has_no_weights() {
                scores.fill(0.0);
            }
        }
        let holdout = evaluate(&scores, &self.codings, &targets, self.loss);
        SizeStep {
            active: ensemble.active().to_vec(),
            gravity: ensemble.gravity(),
            outputs,
            holdout,
            before_refinement: None,
            cuts: Vec::new(),
        }
    }
}
