//! From a table to a metric: the candidates compete, the winner is learned from all rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;

use super::MetricError;
use super::boost::{Boost, Limits};
use super::candidate::Candidate;
use super::choose::{Plan, judge, steps_in_all};
use super::course::Judged;
use super::learned::Metric;
use super::nearest::{Nearest, Points, Search, stream};
use super::sample::Sample;
use super::stop::{Stop, steps_of};
use super::table::Table;
use super::vote::{check_voters, vote};
use crate::param::{Message, ParamName, names};
use crate::random::{Purpose, generator, shuffle};
use crate::read::memory_of_this_machine;

/// How to find a metric.
#[derive(Clone, Debug)]
pub struct MetricOptions {
    /// What competes.
    pub candidates: Vec<Candidate>,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Deals of the cross-validation; `None` takes more for fewer rows, and three for the best of up to 2000 rows.
    pub repeats: Option<usize>,
    /// Rows the choice looks at, at most.
    pub choice_rows: usize,
    /// When a run stops.
    pub stop: Stop,
    /// So many steps for every candidate, and no more. `None`: each candidate's own, and with rows held out the best metric
    /// may take up to four times as many, while they help.
    pub steps: Option<usize>,
    /// Rows that vote.
    pub voters: usize,
    /// Rows from which distances are streamed and not kept.
    pub dense_rows: usize,
    /// Seed of folds and bags.
    pub seed: u64,
    /// Threads; 0 takes all. The metric does not depend on it.
    pub threads: usize,
    /// Bytes that may be used.
    pub memory: u64,
    /// Set from outside to stop.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for MetricOptions {
    fn default() -> Self {
        MetricOptions {
            candidates: Candidate::usual(),
            folds: 5,
            repeats: None,
            choice_rows: 5000,
            stop: Stop::HeldOut,
            steps: None,
            voters: 3,
            dense_rows: 20_000,
            seed: 0,
            threads: 0,
            memory: memory_of_this_machine(),
            interrupt: Arc::default(),
        }
    }
}

/// Watches a metric being learned, from any thread.
pub trait Watcher: Sync {
    /// Steps done, and steps there are in all.
    fn tick(&self, _done: u64, _total: u64) {}
}

impl Watcher for () {}

/// A metric and how it was chosen.
#[derive(Clone, Debug)]
pub struct FittedMetric {
    /// The metric.
    pub metric: Metric,
    /// Which of the candidates was chosen.
    pub chosen: usize,
    /// The leave-one-out error of the vote on the training rows: too good, since the metric knows them.
    pub leave_one_out: f64,
    /// Steps taken.
    pub steps: usize,
    /// The leave-one-out error along the steps.
    pub curve: Vec<CurvePoint>,
    /// What a user should know, in sentences.
    pub notes: Vec<String>,
}

/// A run at one update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Steps.
    pub step: usize,
    /// Σ c exp(−margin).
    pub loss: f64,
    /// Variables used.
    pub variables: usize,
    /// The leave-one-out error.
    pub leave_one_out: f64,
}

/// Learns a metric.
pub fn fit(table: &Table, options: &MetricOptions, watcher: &dyn Watcher) -> Result<FittedMetric, MetricError> {
    let options = options.settled();
    options.check()?;
    table.check_classes(2)?;
    let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().expect("threads can be made");
    threads.install(|| Fitting::new(table, &options, watcher).run())
}

/// How many times its steps the best metric may take, if nobody said how many there are to be.
const LONGER: usize = 4;

impl MetricOptions {
    /// The same with the steps asked for in every candidate.
    fn settled(&self) -> Self {
        let mut options = self.clone();
        let settings = options.candidates.iter_mut().filter_map(|one| one.settings.as_mut());
        settings.for_each(|settings| settings.steps = self.steps.unwrap_or(settings.steps));
        options
    }

    fn check(&self) -> Result<(), MetricError> {
        let wrong = |param: ParamName, rule| Err(MetricError::Choice(Message::new(rule, [param])));
        if self.candidates.is_empty() {
            return Err(MetricError::Choice("there is nothing to choose from: name a candidate".into()));
        }
        if !(2..=100).contains(&self.folds) {
            return wrong(names::METRIC_FOLDS, "{} must be from 2 to 100");
        }
        if self.repeats.is_some_and(|repeats| !(1..=100).contains(&repeats)) {
            return wrong(names::REPEATS, "{} must be from 1 to 100");
        }
        check_voters(self.voters)?;
        if matches!(self.stop, Stop::Complexity(price) if !(price >= 0.0 && price.is_finite())) {
            return wrong(names::COMPLEXITY, "{} must be at least 0");
        }
        self.candidates.iter().filter_map(|one| one.settings.as_ref()).try_for_each(|one| one.check())
    }

    /// A fourth of the memory for distances (four bytes each), a fourth for candidates and their margins.
    fn limits(&self) -> Limits {
        let fits = ((self.memory / 4 / 4) as f64).sqrt() as usize;
        let dense_rows = self.dense_rows.min(fits);
        Limits { dense_rows, term_bytes: self.memory / 4, voters: self.voters, seed: self.seed }
    }
}

struct Fitting<'a> {
    table: &'a Table,
    options: &'a MetricOptions,
    watcher: &'a dyn Watcher,
    done: AtomicU64,
    total: u64,
    notes: Vec<String>,
}

impl<'a> Fitting<'a> {
    fn new(table: &'a Table, options: &'a MetricOptions, watcher: &'a dyn Watcher) -> Self {
        Fitting { table, options, watcher, done: AtomicU64::new(0), total: 0, notes: Vec::new() }
    }

    fn run(mut self) -> Result<FittedMetric, MetricError> {
        self.note_what_is_odd();
        let (candidates, options) = (&self.options.candidates, self.options);
        let alone = candidates.len() == 1 && (options.stop != Stop::HeldOut || candidates[0].settings.is_none());
        let (judged, chosen) = if alone { (Vec::new(), 0) } else { self.choose()? };
        let steps = judged.get(chosen).map(|one| one.steps).filter(|&steps| steps > 0);
        let mut fitted = self.learn(&candidates[chosen], steps)?;
        fitted.metric.name = candidates[chosen].name.clone();
        fitted.notes.splice(0..0, std::mem::take(&mut self.notes));
        if candidates[chosen].settings.is_none() && candidates.len() > 1 {
            fitted.notes.push(
                "no metric did better, by a standard error, than plain k-NN on scaled variables, which is what you get"
                    .into(),
            );
        }
        fitted.metric.judged = judged;
        Ok(FittedMetric { chosen, ..fitted })
    }

    fn note_what_is_odd(&mut self) {
        let table = self.table;
        if table.constant > 0 {
            let all = table.variables.len() + table.constant;
            self.notes.push(format!("{} of {all} variables do not vary and were left out", table.constant));
        }
        let sizes = table.class_sizes();
        let (class, size) = sizes.iter().enumerate().min_by_key(|(_, size)| **size).expect("there are classes");
        let wanted = self.options.candidates.iter().filter_map(|one| one.settings.as_ref()).map(|one| one.neighbours);
        if let Some(most) = wanted.max().filter(|&most| *size <= most) {
            let label = &table.classes[class];
            let taken = if *size == 2 { "one is taken".into() } else { format!("{} are taken", size - 1) };
            self.notes.push(format!(
                "class {label} has {size} rows, too few for {most} neighbours of the own class: {taken}"
            ));
        }
    }

    fn choose(&mut self) -> Result<(Vec<Judged>, usize), MetricError> {
        let options = self.options;
        self.table.check_classes(3)?;
        let part = self.part_to_choose_by();
        let table = part.as_ref().unwrap_or(self.table);
        let for_few_rows = |times: usize, most: usize| (times * 2000 / table.rows().max(1)).clamp(1, most);
        let repeats = options.repeats.unwrap_or_else(|| for_few_rows(1, 5));
        let plan = Plan {
            folds: options.folds,
            repeats,
            final_repeats: options.repeats.unwrap_or_else(|| for_few_rows(3, 3).max(repeats)),
            stop: options.stop,
            limits: options.limits(),
            seed: options.seed,
            longer: if options.steps.is_some() { 1 } else { LONGER },
        };
        self.total = steps_in_all(&options.candidates, &plan);
        judge(table, &options.candidates, &plan, &|| self.go_on()).ok_or(MetricError::Interrupted)
    }

    /// A part of very many rows, with every class's share.
    fn part_to_choose_by(&mut self) -> Option<Table> {
        let (rows, wanted) = (self.table.rows(), self.options.choice_rows.max(3));
        if rows <= wanted {
            return None;
        }
        let mut chosen = Vec::new();
        for (class, size) in self.table.class_sizes().into_iter().enumerate() {
            let mut of_class: Vec<usize> =
                (0..rows).filter(|&row| self.table.class_of[row] as usize == class).collect();
            let mut random = generator(self.options.seed, Purpose::Fold, u64::MAX - class as u64);
            shuffle(&mut random, &mut of_class);
            of_class.truncate((size * wanted / rows).max(size.min(3)));
            chosen.extend(of_class);
        }
        chosen.sort_unstable();
        self.notes.push(format!("candidates were compared on {} of {rows} rows", chosen.len()));
        Some(self.table.part(&chosen))
    }

    fn go_on(&self) -> bool {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.watcher.tick(done.min(self.total), self.total);
        !self.options.interrupt.load(Ordering::Relaxed)
    }

    /// Learns the winner from all rows.
    fn learn(&mut self, candidate: &Candidate, steps: Option<usize>) -> Result<FittedMetric, MetricError> {
        let (table, options) = (self.table, self.options);
        let sample = Sample::<f32>::new(table, &(0..table.rows()).collect::<Vec<_>>());
        let Some(settings) = &candidate.settings else { return Ok(plain(table, &sample, options.voters)) };
        let mut settings = settings.clone();
        settings.steps = steps.unwrap_or(settings.steps);
        self.done = AtomicU64::new(0);
        self.total = settings.steps as u64;
        let mut boost = Boost::new(&sample, &settings, options.limits());
        if !boost.run(&|| self.go_on()) {
            return Err(MetricError::Interrupted);
        }
        if boost.steps.is_empty() {
            let mut fitted = plain(table, &sample, options.voters);
            fitted.notes.push("no direction was found in which classes come apart: this is plain k-NN".into());
            return Ok(fitted);
        }
        let kept = match steps {
            Some(steps) => steps,
            None => steps_of(&boost.curve, options.stop, sample.rows()),
        };
        let rows = sample.rows() as f64;
        let curve: Vec<CurvePoint> = boost
            .curve
            .iter()
            .map(|point| CurvePoint {
                step: point.step,
                loss: point.loss,
                variables: point.variables,
                leave_one_out: point.wrong as f64 / rows,
            })
            .collect();
        let leave_one_out = curve.iter().rfind(|point| point.step <= kept).map_or(1.0, |point| point.leave_one_out);
        let metric = Metric::learned(table, &sample, &boost, &settings, (kept, options.voters));
        Ok(FittedMetric { metric, chosen: 0, leave_one_out, steps: kept, curve, notes: Vec::new() })
    }
}

/// Plain k-NN and its leave-one-out error.
fn plain(table: &Table, sample: &Sample<f32>, voters: usize) -> FittedMetric {
    let all = Points { count: sample.rows(), values: &sample.values };
    let search = Search { classes: &sample.classes, keep: voters, itself: true };
    let wrong = |row: usize, lists: &[Nearest<f32>]| vote(lists, voters).class != sample.class_of[row] as usize;
    let wrong = stream(all, all, &search, wrong).into_iter().filter(|&wrong| wrong).count();
    FittedMetric {
        metric: Metric::plain(table, sample, voters),
        chosen: 0,
        leave_one_out: wrong as f64 / sample.rows().max(1) as f64,
        steps: 0,
        curve: Vec::new(),
        notes: Vec::new(),
    }
}
