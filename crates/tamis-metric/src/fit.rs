//! From a dataset to a metric: cross-validation selects a candidate, which is then learned from all rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde::Serialize;
use tamis::io::memory_of_this_machine;
use tamis::threads::Threads;
use tamis::train::Observer;

use super::MetricError;
use super::boost::{Boost, Limits};
use super::candidate::Candidate;
use super::classify::{check_neighbors, vote};
use super::cross_validate::cross_validate;
use super::dataset::Dataset;
use super::early_stopping::{EarlyStopping, steps_of};
use super::fold_runs::{CvPlan, Steps};
use super::knn::{NeighborList, Points, Search, search_in_blocks};
use super::learning_curve::CvResult;
use super::metric::Metric;
use super::param::Param;
use super::params::check_range;
use super::race::parts;
use super::sample::Sample;

/// How to learn a metric.
#[derive(Clone, Debug)]
pub struct MetricOptions {
    /// The candidates of cross-validation.
    pub candidates: Vec<Candidate>,
    /// Number of cross-validation folds.
    pub folds: usize,
    /// Repetitions of cross-validation; `None` repeats more often for fewer rows.
    pub repeats: Option<usize>,
    /// Maximum number of rows used for cross-validation.
    pub cv_rows: usize,
    /// The rule that selects the number of boosting steps.
    pub early_stopping: EarlyStopping,
    /// The number of boosting steps of every candidate. `None` leaves each candidate its own, and with held-out rows the best
    /// metric may take up to four times as many while they lower its error.
    pub max_iter: Option<usize>,
    /// Number of neighbours of the k-NN classifier.
    pub n_neighbors: usize,
    /// With more rows than this, distances are computed block by block and not stored.
    pub dense_rows: usize,
    /// Seed of the folds and subsamples.
    pub seed: u64,
    /// Threads; 0 takes one for each core. The metric does not depend on them.
    pub threads: usize,
    /// The memory limit in bytes.
    pub memory: u64,
    /// Set from outside to stop.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for MetricOptions {
    fn default() -> Self {
        MetricOptions {
            candidates: Candidate::defaults(),
            folds: 5,
            repeats: None,
            cv_rows: 5000,
            early_stopping: EarlyStopping::HeldOut,
            max_iter: None,
            n_neighbors: 3,
            dense_rows: 20_000,
            seed: 0,
            threads: 0,
            memory: memory_of_this_machine(),
            interrupt: Arc::default(),
        }
    }
}

/// A metric and how it was selected.
#[derive(Clone, Debug)]
pub struct FittedMetric {
    /// The metric.
    pub metric: Metric,
    /// The number of the candidate that was selected.
    pub selected: usize,
    /// The leave-one-out error of k-NN on the training rows. It is optimistic: the metric was learned from these rows.
    pub leave_one_out_error: f64,
    /// Boosting steps that were kept.
    pub steps: usize,
    /// The run of the selected candidate.
    pub curve: Vec<CurvePoint>,
    /// Notes for the user, in sentences.
    pub notes: Vec<String>,
}

/// A boosting run at one update of the neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Steps so far.
    pub step: usize,
    /// Σ c exp(−margin).
    pub loss: f64,
    /// Variables in the metric.
    pub variables: usize,
    /// The leave-one-out error of k-NN on the training rows.
    pub leave_one_out_error: f64,
}

/// How often the observer hears of progress.
const TICK: Duration = Duration::from_millis(20);

/// Learns a metric. The observer is called on this thread only, with the steps done and all steps.
pub fn fit(
    dataset: &Dataset,
    options: &MetricOptions,
    observer: &mut dyn Observer,
) -> Result<FittedMetric, MetricError> {
    let options = options.with_max_iter();
    options.check()?;
    // A metric is learned from pairs of rows of a class; plain k-NN needs none.
    let is_learned = options.candidates.iter().any(|candidate| candidate.params.is_some());
    dataset.check_classes(if is_learned { 2 } else { 1 })?;
    let threads = Threads::new(options.threads);
    let steps = StepCount::default();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let fitted =
                threads.install(|| Fitting { dataset, options: &options, steps: &steps, notes: Vec::new() }.run());
            drop(sender);
            fitted
        });
        // Nothing is ever sent: the channel closes when the work has ended, even in a panic.
        while receiver.recv_timeout(TICK) == Err::<(), _>(RecvTimeoutError::Timeout) {
            let total = steps.total.load(Ordering::Relaxed);
            observer.tick(steps.done.load(Ordering::Relaxed).min(total), Some(total), 0);
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Boosting steps done, counted on all threads, and all steps.
#[derive(Default)]
struct StepCount {
    done: AtomicU64,
    total: AtomicU64,
}

impl StepCount {
    fn restart(&self) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
    }
}

/// How many times its steps the best metric may take, if the number of steps is not given.
const MAX_EXTENSION: usize = 4;

/// From this number of rows on, cross-validation holds out some of its folds only, unless the number of repetitions is given.
const MANY_ROWS: usize = 2000;
/// How many: 1,200 rows of 2,000 are held out, and the standard error of an error of 0.1 is 0.009.
const FOLDS_OF_MANY_ROWS: usize = 3;

impl MetricOptions {
    /// The same options with `max_iter` in every candidate.
    fn with_max_iter(&self) -> Self {
        let mut options = self.clone();
        let params = options.candidates.iter_mut().filter_map(|one| one.params.as_mut());
        params.for_each(|params| params.max_iter = self.max_iter.unwrap_or(params.max_iter));
        options
    }

    fn check(&self) -> Result<(), MetricError> {
        if self.candidates.is_empty() {
            return Err(MetricError::NoCandidate);
        }
        check_range(Param::Folds, (2..=100).contains(&self.folds))?;
        check_range(Param::Repeats, self.repeats.is_none_or(|repeats| (1..=100).contains(&repeats)))?;
        check_neighbors(self.n_neighbors)?;
        if let EarlyStopping::Complexity(penalty) = self.early_stopping {
            check_range(Param::ComplexityPenalty, penalty >= 0.0 && penalty.is_finite())?;
        }
        self.candidates.iter().filter_map(|one| one.params.as_ref()).try_for_each(|one| one.check())
    }

    /// A quarter of the memory for distances (four bytes each), a quarter for terms and their margins.
    fn limits(&self) -> Limits {
        let fits = ((self.memory / 4 / 4) as f64).sqrt() as usize;
        let dense_rows = self.dense_rows.min(fits);
        Limits { dense_rows, term_bytes: self.memory / 4, n_neighbors: self.n_neighbors, seed: self.seed }
    }
}

impl Steps for Fitting<'_> {
    /// Rounds follow each other, and how many there are is not known before: each is added when it begins.
    fn begin(&self, steps: u64) {
        self.steps.total.store(self.steps.done.load(Ordering::Relaxed) + steps, Ordering::Relaxed);
    }

    fn go_on(&self) -> bool {
        self.steps.done.fetch_add(1, Ordering::Relaxed);
        !self.options.interrupt.load(Ordering::Relaxed)
    }
}

struct Fitting<'a> {
    dataset: &'a Dataset,
    options: &'a MetricOptions,
    steps: &'a StepCount,
    notes: Vec<String>,
}

impl Fitting<'_> {
    fn run(mut self) -> Result<FittedMetric, MetricError> {
        self.note_the_data();
        let (candidates, options) = (&self.options.candidates, self.options);
        let alone = candidates.len() == 1
            && (options.early_stopping != EarlyStopping::HeldOut || candidates[0].params.is_none());
        let (results, selected) = if alone { (Vec::new(), 0) } else { self.select()? };
        let steps = results.get(selected).map(|one| one.steps).filter(|&steps| steps > 0);
        let mut fitted = self.learn(&candidates[selected], steps)?;
        fitted.metric.name = candidates[selected].name.clone();
        fitted.notes.splice(0..0, std::mem::take(&mut self.notes));
        if candidates[selected].params.is_none() && candidates.len() > 1 {
            let text = "plain k-NN on standardized variables was selected: no metric is better by more than one standard error";
            fitted.notes.push(text.into());
        }
        fitted.metric.cv_results = results;
        Ok(FittedMetric { selected, ..fitted })
    }

    fn note_the_data(&mut self) {
        let dataset = self.dataset;
        if dataset.constant > 0 {
            let all = dataset.variables.len() + dataset.constant;
            self.notes.push(format!("{} of {all} variables are constant and were left out", dataset.constant));
        }
        let sizes = dataset.class_sizes();
        let (class, size) = sizes.iter().enumerate().min_by_key(|(_, size)| **size).expect("there are classes");
        let wanted = self.options.candidates.iter().filter_map(|one| one.params.as_ref());
        if let Some(most) = wanted.map(|one| one.metric_neighbors).max().filter(|&most| *size <= most) {
            let (label, used) = (&dataset.classes[class], size - 1);
            self.notes.push(format!(
                "class {label} has {size} rows, too few for {most} neighbours of the same class: {used} will be used"
            ));
        }
    }

    fn select(&mut self) -> Result<(Vec<CvResult>, usize), MetricError> {
        let options = self.options;
        self.dataset.check_classes(3)?;
        let part = self.part_for_cross_validation();
        let dataset = part.as_ref().unwrap_or(self.dataset);
        let for_few_rows = |times: usize, most: usize| (times * 2000 / dataset.rows().max(1)).clamp(1, most);
        let repeats = options.repeats.unwrap_or_else(|| for_few_rows(1, 5));
        // A race has compared the candidates several times.
        let final_repeats = if parts(dataset.rows()).next().is_some() { 1 } else { for_few_rows(3, 3) };
        let is_much = options.repeats.is_none() && dataset.rows() >= MANY_ROWS;
        let plan = CvPlan {
            folds: options.folds,
            held_out_folds: if is_much { options.folds.min(FOLDS_OF_MANY_ROWS) } else { options.folds },
            repeats,
            final_repeats: options.repeats.unwrap_or_else(|| final_repeats.max(repeats)),
            early_stopping: options.early_stopping,
            limits: options.limits(),
            seed: options.seed,
            max_extension: if options.max_iter.is_some() { 1 } else { MAX_EXTENSION },
        };
        cross_validate(dataset, &options.candidates, &plan, self).ok_or(MetricError::Interrupted)
    }

    /// A part of very many rows, stratified by class.
    fn part_for_cross_validation(&mut self) -> Option<Dataset> {
        let (rows, wanted) = (self.dataset.rows(), self.options.cv_rows.max(3));
        if rows <= wanted {
            return None;
        }
        let part = self.dataset.stratified_part(wanted, self.options.seed);
        self.notes.push(format!("cross-validation used {} of {rows} rows", part.rows()));
        Some(part)
    }

    /// Learns the selected candidate from all rows.
    fn learn(&mut self, candidate: &Candidate, steps: Option<usize>) -> Result<FittedMetric, MetricError> {
        let (dataset, options) = (self.dataset, self.options);
        let sample = Sample::<f32>::new(dataset, &(0..dataset.rows()).collect::<Vec<_>>());
        let Some(params) = &candidate.params else { return Ok(plain(dataset, &sample, options.n_neighbors)) };
        let mut params = params.clone();
        params.max_iter = steps.unwrap_or(params.max_iter);
        self.steps.restart();
        self.begin(params.max_iter as u64);
        let mut boost = Boost::new(&sample, &params, options.limits());
        if !boost.run(params.max_iter, &|| self.go_on()) {
            return Err(MetricError::Interrupted);
        }
        if boost.steps.is_empty() {
            let mut fitted = plain(dataset, &sample, options.n_neighbors);
            fitted.notes.push("no direction separates the classes: plain k-NN was learned".into());
            return Ok(fitted);
        }
        let kept = steps.unwrap_or_else(|| steps_of(&boost.curve, options.early_stopping, sample.rows()));
        let rows = sample.rows() as f64;
        let curve: Vec<CurvePoint> = boost
            .curve
            .iter()
            .map(|point| CurvePoint {
                step: point.step,
                loss: point.loss,
                variables: point.variables,
                leave_one_out_error: point.wrong as f64 / rows,
            })
            .collect();
        let last = curve.iter().rfind(|point| point.step <= kept);
        let leave_one_out_error = last.map_or(1.0, |point| point.leave_one_out_error);
        let metric = Metric::learned(dataset, &sample, &boost, &params, kept, options.n_neighbors);
        Ok(FittedMetric { metric, selected: 0, leave_one_out_error, steps: kept, curve, notes: Vec::new() })
    }
}

/// Plain k-NN and its leave-one-out error.
fn plain(dataset: &Dataset, sample: &Sample<f32>, n_neighbors: usize) -> FittedMetric {
    let all = Points { count: sample.rows(), values: &sample.values };
    let search = Search { classes: &sample.classes, k: n_neighbors, exclude_self: true };
    let wrong =
        |row: usize, lists: &[NeighborList<f32>]| vote(lists, n_neighbors).class != sample.class_of[row] as usize;
    let wrong = search_in_blocks(all, all, &search, wrong).into_iter().filter(|&wrong| wrong).count();
    FittedMetric {
        metric: Metric::plain(dataset, sample, n_neighbors),
        selected: 0,
        leave_one_out_error: wrong as f64 / sample.rows().max(1) as f64,
        steps: 0,
        curve: Vec::new(),
        notes: Vec::new(),
    }
}
