//! One learner, or one a class: all learn from the same rows.

use std::ops::Range;

use rayon::prelude::*;

use super::TrainError;
use super::progress::Progressive;
use super::task::{Kind, Targets};
use crate::data::{Batch, Dictionary, Example, FeatureId};
use crate::learn::{AnyLearner, Learner, State, StateError};
use crate::loss::Loss;
use crate::model::best_class;
use crate::recipe::Recipe;

/// The learners of a training.
#[derive(Debug)]
pub(super) struct Bank {
    learners: Vec<AnyLearner>,
    recipe: Recipe,
    threads: rayon::ThreadPool,
}

impl Bank {
    pub(super) fn new(recipe: &Recipe, targets: &Targets, threads: usize) -> Self {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build().expect("threads can be made");
        let mut bank = Bank { learners: Vec::new(), recipe: recipe.clone(), threads };
        bank.grow(targets);
        bank
    }

    /// Adds learners for classes that came late: each starts where its class did.
    pub(super) fn grow(&mut self, targets: &Targets) {
        while self.learners.len() < targets.learners() {
            self.learners.push(AnyLearner::new(&self.recipe, targets.built));
        }
    }

    pub(super) fn learners(&self) -> &[AnyLearner] {
        &self.learners
    }

    /// Does work of many parts on the learners' threads.
    pub(super) fn side_by_side<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.install(work)
    }

    /// Learns all rows of a batch; returns the last prediction.
    pub(super) fn learn(&mut self, batch: &Batch, targets: &Targets, seen: &mut Progressive) -> f64 {
        let (mut at, mut last) = (0, 0.0);
        while at < batch.len() {
            let now = seen.rows_to_remember().min((batch.len() - at) as u64);
            let rows = at..at + now as usize;
            at = rows.end;
            last = match &mut self.learners[..] {
                [learner] => learn_alone(learner, batch, rows, targets, seen),
                _ => self.learn_together(batch, rows, targets, seen),
            };
            seen.learned(now, || self.nonzeros());
        }
        last
    }

    /// The same rows for every learner, learners side by side: each sees its rows in order, so threads change nothing.
    fn learn_together(&mut self, batch: &Batch, rows: Range<usize>, targets: &Targets, seen: &mut Progressive) -> f64 {
        let examples = || rows.clone().map(|row| batch.example(row));
        let steps = |(number, learner): (usize, &mut AnyLearner)| {
            let mut steps = Vec::with_capacity(rows.len());
            let coded = examples().map(|e| Example { target: targets.code(e.target, number), ..e });
            learner.learn_all(coded, |_, step| steps.push(step));
            steps
        };
        let learners = &mut self.learners;
        let all: Vec<Vec<_>> = self.threads.install(|| learners.par_iter_mut().enumerate().map(steps).collect());
        let mut last = 0.0;
        for (row, example) in examples().enumerate() {
            let margins: Vec<f64> = all.iter().map(|steps| steps[row].margin).collect();
            let loss = all.iter().map(|steps| steps[row].loss).sum::<f64>() / all.len() as f64;
            last = best_class(&margins) as f64;
            seen.add(loss, last != example.target, example.weight);
        }
        last
    }

    pub(super) fn nonzeros(&self) -> usize {
        if let [learner] = &self.learners[..] {
            return learner.nonzeros();
        }
        let span = self.learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
        (0..span).filter(|&id| self.learners.iter().any(|learner| learner.weight(id) != 0.0)).count()
    }

    pub(super) fn bytes(&self) -> usize {
        self.learners.iter().map(Learner::bytes).sum()
    }

    pub(super) fn is_idle(&self, id: FeatureId) -> bool {
        self.learners.iter().all(|learner| learner.is_idle(id))
    }

    pub(super) fn forget(&mut self, id: FeatureId) {
        self.learners.iter_mut().for_each(|learner| learner.forget(id));
    }

    /// A weight that is not finite, if there is one.
    pub(super) fn not_finite(&self) -> Option<FeatureId> {
        let first_bad = |learner: &AnyLearner| {
            let mut bad = None;
            learner.each_weight(|id, weight| {
                if !weight.is_finite() {
                    bad = bad.or(Some(id));
                }
            });
            bad
        };
        self.learners.iter().find_map(first_bad)
    }

    /// Gives back features that left no trace, so that memory follows the features alive.
    pub(super) fn give_back(&mut self, dictionary: &mut Dictionary) {
        let idle: Vec<FeatureId> = dictionary.ids().filter(|&id| self.is_idle(id)).collect();
        for id in idle {
            self.forget(id);
            dictionary.release(id);
        }
    }

    /// What to say when a loss was not finite, so many rows being learned.
    pub(super) fn diverged(&self, row: u64, dictionary: &Dictionary) -> TrainError {
        let name = |id| format!("{:?}", dictionary.name(id));
        TrainError::Diverged { row, feature: self.not_finite().map_or("the intercept".into(), name) }
    }

    pub(super) fn save(&self, state: &mut State) {
        for (number, learner) in self.learners.iter().enumerate() {
            state.set_prefix(format!("learner{number}."));
            learner.save(state);
        }
        state.set_prefix(String::new());
    }

    pub(super) fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        for (number, learner) in self.learners.iter_mut().enumerate() {
            state.set_prefix(format!("learner{number}."));
            learner.load(state)?;
        }
        state.set_prefix(String::new());
        Ok(())
    }
}

fn learn_alone(
    learner: &mut AnyLearner,
    batch: &Batch,
    rows: Range<usize>,
    targets: &Targets,
    seen: &mut Progressive,
) -> f64 {
    let mut last = 0.0;
    let boundary = targets.built.boundary();
    let classes = matches!(targets.kind, Kind::Classes { .. });
    let positive = targets.built.codes()[1];
    let coded = rows.map(|row| batch.example(row)).map(|e| Example { target: targets.code(e.target, 0), ..e });
    learner.learn_all(coded, |example, step| {
        let wrong = classes && (step.margin > boundary) != (example.target == positive);
        seen.add(step.loss, wrong, example.weight);
        last = step.margin;
    });
    if classes { f64::from(u8::from(last > boundary)) } else { last }
}
