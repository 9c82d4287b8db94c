//! Runs of candidates on the folds of cross-validation. They wait between calls, so that a few of them may go on.

use std::ops::Range;

use rayon::prelude::*;

use super::boost::{Boost, Limits, PausedRun};
use super::candidate::Candidate;
use super::classify::vote;
use super::dataset::Dataset;
use super::early_stopping::{EarlyStopping, steps_of};
use super::euclidean::euclidean_neighbors;
use super::folds::{Fold, folds_of};
use super::knn::{NeighborList, Points, Search, search_in_blocks};
use super::learning_curve::{CvResult, LearningCurve};
use super::neighbor_graph::NeighborGraph;
use super::params::Params;
use super::sample::Sample;

/// A plan of cross-validation.
#[derive(Clone, Copy, Debug)]
pub(super) struct CvPlan {
    pub(super) folds: usize,
    /// Of the folds of a repetition, so many are held out.
    pub(super) held_out_folds: usize,
    pub(super) repeats: usize,
    /// Repetitions for the best candidates, at least as many.
    pub(super) final_repeats: usize,
    pub(super) early_stopping: EarlyStopping,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    /// The best metric may take this many times its steps.
    pub(super) max_extension: usize,
}

/// Who hears of the steps of boosting runs.
pub(super) trait Steps: Sync {
    /// Called before runs begin or go on, with the most steps that they may take.
    fn begin(&self, steps: u64);
    /// Called before each step; no further step is taken if it is false.
    fn go_on(&self) -> bool;
}

/// Rows to cross-validate on, and how.
pub(super) struct CrossValidation<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) plan: &'a CvPlan,
    pub(super) steps: &'a dyn Steps,
}

/// A candidate and its runs, one a fold.
pub(super) struct CandidateRuns<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) runs: Vec<FoldRun>,
}

impl CrossValidation<'_> {
    /// The folds of some repetitions.
    pub(super) fn folds(&self, repetitions: Range<usize>) -> Vec<Fold> {
        let plan = self.plan;
        let folds = |one: usize| folds_of(self.dataset, plan.folds, plan.seed, one as u64);
        repetitions.flat_map(|one| folds(one).into_iter().take(plan.held_out_folds)).collect()
    }

    /// Runs before their first step.
    pub(super) fn start<'a>(&self, candidates: &[&'a Candidate], folds: &[Fold]) -> Vec<CandidateRuns<'a>> {
        let runs = || folds.iter().map(|_| FoldRun::default()).collect();
        candidates.iter().map(|&candidate| CandidateRuns { candidate, runs: runs() }).collect()
    }

    /// Continues runs up to the step that `last` says. `None` if the steps were ended.
    pub(super) fn go_on<'a, 'b: 'a>(
        &self,
        all: impl IntoIterator<Item = &'a mut CandidateRuns<'b>>,
        folds: &[Fold],
        last: impl Fn(&Params) -> usize,
    ) -> Option<()> {
        let (mut jobs, mut steps) = (folds.iter().map(|_| Vec::new()).collect::<Vec<_>>(), 0);
        for one in all {
            let last = one.candidate.params.as_ref().map_or(0, &last);
            for (run, jobs) in one.runs.iter_mut().zip(&mut jobs).filter(|(run, _)| !run.is_done(last)) {
                steps += last.saturating_sub(run.steps());
                jobs.push((one.candidate, last, run));
            }
        }
        self.steps.begin(steps as u64);
        let go_on = || self.steps.go_on();
        let with_jobs = jobs.into_par_iter().zip(folds).with_max_len(1).filter(|(jobs, _)| !jobs.is_empty());
        let done = with_jobs.all(|(jobs, fold)| {
            let starting = jobs.iter().filter(|(_, _, run)| run.waiting.is_none()).map(|(candidate, ..)| *candidate);
            let rows = FoldRows::new(self.dataset, fold, starting);
            let jobs = jobs.into_par_iter().with_max_len(1);
            jobs.all(|(candidate, last, run)| run.go_on(&rows, candidate, self.plan.limits, last, &go_on))
        });
        done.then_some(())
    }

    /// The learning curve of a candidate so far.
    pub(super) fn curve(&self, one: &CandidateRuns<'_>, folds: &[Fold]) -> LearningCurve {
        let curves = one.runs.iter().zip(folds).map(|(run, fold)| {
            let rows = self.dataset.rows() - fold.held_out.len();
            run.wrong_by_step(self.plan.early_stopping, rows)
        });
        let held_out = folds[..one.runs.len()].iter().map(|fold| fold.held_out.len()).sum();
        LearningCurve { curves: curves.collect(), held_out }
    }

    /// The result of a candidate so far. Every row counts once, however often it was held out.
    pub(super) fn result(&self, one: &CandidateRuns<'_>, folds: &[Fold]) -> CvResult {
        let curve = self.curve(one, folds);
        curve.result(&one.candidate.name, self.dataset.rows().min(curve.held_out))
    }
}

/// What the runs on a fold share.
struct FoldRows {
    sample: Sample<f32>,
    /// The held-out rows, variable by variable.
    held_out: Vec<f32>,
    /// Their classes.
    truth: Vec<u32>,
    /// Neighbours by the Euclidean distance of the variables, if several runs start from them.
    euclidean: Option<NeighborGraph>,
}

impl FoldRows {
    fn new<'a>(dataset: &Dataset, fold: &Fold, starting: impl Iterator<Item = &'a Candidate>) -> Self {
        let sample = Sample::new(dataset, &fold.train);
        let held_out = sample.scaled(dataset, &fold.held_out);
        let truth = fold.held_out.iter().map(|&row| dataset.class_of[row]).collect();
        let params = starting.filter_map(|one| one.params.as_ref());
        let wanted: Vec<usize> = params.filter(|one| !one.squares).map(|one| one.metric_neighbors).collect();
        let most = wanted.iter().max().filter(|_| wanted.len() > 1);
        let euclidean = most.map(|&most| euclidean_neighbors(&sample, &sample.values, sample.most_neighbors(most)));
        FoldRows { sample, held_out, truth, euclidean }
    }
}

/// The run of a candidate on a fold.
#[derive(Default)]
pub(super) struct FoldRun {
    waiting: Option<PausedRun<f32>>,
    /// Held-out rows that plain k-NN puts in the wrong class.
    wrong_by_plain_knn: Option<f64>,
}

impl FoldRun {
    fn steps(&self) -> usize {
        self.waiting.as_ref().map_or(0, |run| run.taken)
    }

    /// Whether the steps up to `last` were taken.
    fn is_done(&self, last: usize) -> bool {
        self.wrong_by_plain_knn.is_some() || last > 0 && self.steps() >= last
    }

    /// Takes the steps up to `last`. Returns whether `go_on` always said yes.
    fn go_on(
        &mut self,
        rows: &FoldRows,
        candidate: &Candidate,
        limits: Limits,
        last: usize,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let FoldRows { sample, held_out, truth, euclidean } = rows;
        let Some(params) = &candidate.params else {
            self.wrong_by_plain_knn = Some(wrong_by_plain_knn(sample, held_out, truth, limits.n_neighbors));
            return true;
        };
        let mut boost = match self.waiting.take() {
            Some(run) => run.resume(sample, params, limits, (held_out, truth)),
            None => {
                let mut boost = Boost::with_neighbors(sample, params, limits, euclidean.as_ref());
                boost.hold_out(held_out, truth);
                boost
            }
        };
        let went_on = boost.run(last, &go_on);
        self.waiting = Some(boost.pause());
        went_on
    }

    /// The number of misclassified held-out rows at each update, or at the step that another rule than theirs keeps.
    fn wrong_by_step(&self, early_stopping: EarlyStopping, rows: usize) -> Vec<(usize, f64)> {
        if let Some(wrong) = self.wrong_by_plain_knn {
            return vec![(0, wrong)];
        }
        let points = self.waiting.as_ref().map_or(&[][..], |run| &run.curve);
        let wrong = |counts: Option<[usize; 2]>| counts.map_or(0.0, |[knn, _]| knn as f64);
        let curve = points.iter().map(|point| (point.step, wrong(point.held_out_wrong)));
        if early_stopping == EarlyStopping::HeldOut {
            return curve.collect();
        }
        let kept = steps_of(points, early_stopping, rows);
        curve.filter(|(step, _)| *step == kept).map(|(_, wrong)| (0, wrong)).collect()
    }
}

fn wrong_by_plain_knn(sample: &Sample<f32>, values: &[f32], truth: &[u32], n_neighbors: usize) -> f64 {
    let search = Search { classes: &sample.classes, k: n_neighbors, exclude_self: false };
    let rows = Points { count: sample.rows(), values: &sample.values };
    let queries = Points { count: truth.len(), values };
    let wrong = |row: usize, lists: &[NeighborList<f32>]| vote(lists, n_neighbors).class != truth[row] as usize;
    search_in_blocks(rows, queries, &search, wrong).into_iter().filter(|&wrong| wrong).count() as f64
}
