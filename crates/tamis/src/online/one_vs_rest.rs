//! One learner, or one for each class (one-vs-rest): all learn from the same rows.

use std::ops::Range;

use rayon::prelude::*;

use crate::data::{Batch, Example, FeatureId, State, StateError, TargetEncoder, Vocabulary};
use crate::learners::Learner;
use crate::loss::{Loss, argmax};
use crate::threads::Threads;
use crate::trainer::{ProgressiveValidation, TrainError};

/// The learners of a training.
#[derive(Debug)]
pub(crate) struct OneVsRest<L> {
    learners: Vec<L>,
    /// The initial state of each learner.
    start: L,
    threads: Threads,
}

impl<L: Learner + Clone + Send + Sync> OneVsRest<L> {
    /// One learner for each output.
    pub(crate) fn new(start: L, outputs: usize, threads: &Threads) -> Self {
        OneVsRest { learners: vec![start.clone(); outputs], start, threads: threads.clone() }
    }

    /// Adds learners for classes that appear late. Each starts with the first row of its class.
    pub(crate) fn resize(&mut self, outputs: usize) {
        self.learners.resize(outputs, self.start.clone());
    }

    /// Reserves memory for this many features, if there is a single learner.
    pub(crate) fn reserve(&mut self, features: usize) {
        if let [learner] = &mut self.learners[..] {
            learner.reserve(features);
        }
    }

    pub(crate) fn learners(&self) -> &[L] {
        &self.learners
    }

    /// Learns all rows of a batch; returns the last prediction.
    pub(crate) fn learn(
        &mut self,
        batch: &Batch,
        targets: &TargetEncoder,
        progressive: &mut ProgressiveValidation,
    ) -> f64 {
        let (mut at, mut last) = (0, 0.0);
        while at < batch.len() {
            let now = progressive.rows_to_next_point().min((batch.len() - at) as u64);
            let rows = at..at + now as usize;
            at = rows.end;
            last = match &mut self.learners[..] {
                [learner] => learn_single(learner, batch, rows, targets, progressive),
                _ => self.learn_classes(batch, rows, targets, progressive),
            };
            progressive.learned(now, || self.nonzeros());
        }
        last
    }

    /// Learns the same rows with all learners in parallel: each sees the rows in order, so that threads do not change a
    /// bit.
    fn learn_classes(
        &mut self,
        batch: &Batch,
        rows: Range<usize>,
        targets: &TargetEncoder,
        progressive: &mut ProgressiveValidation,
    ) -> f64 {
        let examples = || rows.clone().map(|row| batch.example(row));
        let steps = |(output, learner): (usize, &mut L)| {
            let mut steps = Vec::with_capacity(rows.len());
            let coding = targets.coding(output);
            let coded = examples().map(|e| Example { target: coding.code(e.target), ..e });
            learner.learn_all(coded, |_, step| steps.push(step));
            steps
        };
        let learners = &mut self.learners;
        let all: Vec<Vec<_>> = self.threads.install(|| learners.par_iter_mut().enumerate().map(steps).collect());
        let mut last = 0.0;
        for (row, example) in examples().enumerate() {
            let margins: Vec<f64> = all.iter().map(|steps| steps[row].margin).collect();
            let loss = all.iter().map(|steps| steps[row].loss).sum::<f64>() / all.len() as f64;
            last = argmax(&margins) as f64;
            progressive.add(loss, last != example.target, example.weight);
        }
        last
    }

    pub(crate) fn nonzeros(&self) -> usize {
        if let [learner] = &self.learners[..] {
            return learner.nonzeros();
        }
        let span = self.learners.iter().map(Learner::span).max().unwrap_or(0) as FeatureId;
        (0..span).filter(|&id| self.learners.iter().any(|learner| learner.weight(id) != 0.0)).count()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.learners.iter().map(Learner::bytes).sum()
    }

    pub(crate) fn is_idle(&self, id: FeatureId) -> bool {
        self.learners.iter().all(|learner| learner.is_idle(id))
    }

    pub(crate) fn forget(&mut self, id: FeatureId) {
        self.learners.iter_mut().for_each(|learner| learner.forget(id));
    }

    /// A weight that is not finite, if there is one.
    pub(crate) fn not_finite(&self) -> Option<FeatureId> {
        let first_bad = |learner: &L| {
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

    /// Frees features that are idle in all learners, so that memory grows with the active features.
    pub(crate) fn free_idle_features(&mut self, vocabulary: &mut Vocabulary) {
        let idle: Vec<FeatureId> = vocabulary.ids().filter(|&id| self.is_idle(id)).collect();
        for id in idle {
            self.forget(id);
            vocabulary.free(id);
        }
    }

    /// The error of a training that diverged at a row.
    pub(crate) fn divergence(&self, row: u64, vocabulary: &Vocabulary) -> TrainError {
        let name = |id| format!("{:?}", vocabulary.name(id));
        TrainError::Diverged { row, feature: self.not_finite().map_or("the intercept".into(), name) }
    }

    pub(crate) fn save(&self, state: &mut State) {
        for (number, learner) in self.learners.iter().enumerate() {
            state.set_prefix(format!("learner{number}."));
            learner.save(state);
        }
        state.set_prefix(String::new());
    }

    pub(crate) fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        for (number, learner) in self.learners.iter_mut().enumerate() {
            state.set_prefix(format!("learner{number}."));
            learner.load(state)?;
        }
        state.set_prefix(String::new());
        Ok(())
    }
}

/// Learns rows with the learner of a single output.
fn learn_single<L: Learner>(
    learner: &mut L,
    batch: &Batch,
    rows: Range<usize>,
    targets: &TargetEncoder,
    progressive: &mut ProgressiveValidation,
) -> f64 {
    let mut last = 0.0;
    let boundary = targets.loss_fn.boundary();
    let is_classes = !targets.is_numbers();
    let coding = targets.coding(0);
    let positive = coding.codes[1];
    let coded = rows.map(|row| batch.example(row)).map(|e| Example { target: coding.code(e.target), ..e });
    learner.learn_all(coded, |example, step| {
        let wrong = is_classes && (step.margin > boundary) != (example.target == positive);
        progressive.add(step.loss, wrong, example.weight);
        last = step.margin;
    });
    if is_classes { f64::from(u8::from(last > boundary)) } else { targets.loss_fn.response(last) }
}
