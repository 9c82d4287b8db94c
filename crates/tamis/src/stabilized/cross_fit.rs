//! Cross-fitted ensembles: the one that becomes the model, and one for each of four folds that never sees its fold.
//!
//! Each ensemble selects its own features. The held-out error of a size is that of the fold ensembles on their own folds:
//! the paths of the model leave out half of the rows each, but its features were selected with all rows, so their
//! out-of-bag predictions would be too optimistic.

use std::sync::Arc;

use rayon::prelude::*;

use super::ensemble::{Ensemble, SizeStep};
use super::feature_tests::Nuisance;
use super::holdout::evaluate;
use super::member_rows::MemberRows;
use super::row_transform::{FeatureSet, RowTransform};
use super::rows_in_use::Preparation;
use super::stage::{ClassCoding, PathMeans, first_in_order};
use super::subsamples::HashedRows;
use crate::data::{Example, FeatureId, State, StateError, fold_of_hash};
use crate::loss::AnyLoss;
use crate::threads::Threads;

/// Rows that the ensembles learn at a time: so many that the states of common features stay in a cache while a block of paths
/// learns them.
pub(super) const CHUNK: u64 = 4096;
/// Folds, and the paths of their ensembles.
pub(super) const FOLDS: u32 = 4;
pub(super) const FOLD_PATHS: usize = 8;

/// An ensemble and its view of the rows.
pub(super) struct FoldedEnsemble {
    pub(super) ensemble: Ensemble,
    pub(super) transform: RowTransform,
    /// Rows of the fold it never sees, or a sample of them.
    holdout_rows: HashedRows,
    /// The fold it never sees.
    excluded: Option<u32>,
    /// The features that come first at small sizes (`feature_order.rs`); empty before these.
    pub(super) order: Vec<FeatureId>,
}

impl FoldedEnsemble {
    /// The transform restricts rows to the active features of the ensemble.
    pub(super) fn new(ensemble: Ensemble, transform: RowTransform, excluded: Option<u32>) -> Self {
        FoldedEnsemble { ensemble, transform, holdout_rows: HashedRows::default(), excluded, order: Vec::new() }
    }

    /// Begins a stage of `length` rows, in passes over `rows` of them.
    pub(super) fn begin(&mut self, length: u64, rows: u64) {
        let row_size = self.transform.row_size(self.ensemble.active());
        self.ensemble.begin(length, rows, row_size);
    }

    pub(super) fn holdout_rows(&self) -> &HashedRows {
        &self.holdout_rows
    }

    /// Whether its paths may learn from a row.
    pub(super) fn trains_on(&self, row_hash: u64) -> bool {
        self.excluded.is_none_or(|fold| fold != fold_of_hash(row_hash, FOLDS))
    }

    /// The positions of the first `size` features, given the means over its paths, and the least evidence among them.
    pub(super) fn first(&self, means: &[PathMeans], size: usize) -> (Vec<u32>, f64) {
        first_in_order(self.ensemble.active(), &self.order, means, size)
    }

    /// Keeps the first `size` features.
    fn shrink_to(&mut self, means: &[PathMeans], size: usize) {
        let (positions, gravity) = self.first(means, size);
        let places = self.ensemble.keep(&positions, gravity);
        self.holdout_rows = self.holdout_rows.restricted_to(&places);
        self.transform.set_active(self.ensemble.active());
    }

    /// Restores the state of the ensemble.
    pub(super) fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        let before = self.ensemble.active().to_vec();
        self.ensemble.load(state)?;
        self.order = state.take("order")?.into_iter().map(|id| id as FeatureId).collect();
        let active = self.ensemble.active();
        // The file may be damaged.
        if active.iter().chain(&self.order).any(|&id| id as usize >= self.transform.span()) {
            return Err(state.wrong_shape("active"));
        }
        let place = |id| active.binary_search(id).ok().map(|place| place as u32);
        let places: Vec<Option<u32>> = before.iter().map(place).collect();
        self.holdout_rows = self.holdout_rows.restricted_to(&places);
        self.transform.set_active(active);
        Ok(())
    }

    /// Starts from the saved state of an ensemble with `outputs` outputs, multiplied by `kept`.
    pub(super) fn warm_start_from(&mut self, state: &mut State, outputs: usize, kept: f64) -> Result<(), StateError> {
        let mut old = self.ensemble.with_outputs(outputs);
        old.load(state)?;
        self.ensemble.warm_start_from(&old, kept);
        Ok(())
    }
}

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
        if let Some(FoldedEnsemble { transform, holdout_rows, .. }) = self.folds.get_mut(fold as usize) {
            transform.restrict(example, row_hash, holdout_rows);
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
            let new = self.threads.install(|| fold.ensemble.scores(&fold.holdout_rows));
            scores.iter_mut().zip(new).for_each(|(all, new)| all.extend(new));
            targets.extend(fold.holdout_rows.batch.examples().map(|example| (example.target, example.weight)));
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
