//! The stages of Algorithm 4: all paths in parallel, then one reduction in the order of the paths.
//!
//! [`Path::run_stage`] depends only on the path, the rows and the plan; everything that paths share is computed in
//! [`StageRunner::reduce`], on one thread. So the number of threads does not change a bit.

use rayon::prelude::*;

use super::active::Active;
use super::aggregate::{has_converged, mean_model};
use super::gravity::base_gravity;
use super::path::{Cost, Path, Plan, Rule};
use super::schedule::{burst_size, rejection_rate};
use super::selection_frequency::SelectionFrequency;
use super::{Outcome, PublishedError, PublishedParams, Stage};
use crate::data::{Batch, FeatureId};
use crate::loss::AnyLoss;
use crate::threads::Threads;

/// A stage that visits fewer entries than this runs on one thread: waking others would take longer.
const WORTH_SHARING: f64 = 20_000.0;

/// The state of a run between two stages.
pub(super) struct StageRunner<'a> {
    settings: &'a PublishedParams,
    rule: Rule,
    threads: Threads,
    paths: Vec<Path>,
    active: Active<'a>,
    frequency: SelectionFrequency,
    plan: Plan,
    /// β of the next stage.
    rejection: f64,
    /// The number of paths on which the weight of a feature is not zero.
    nonzero_paths: Vec<u32>,
    nonzeros: usize,
    /// Rows that each path has learned.
    steps: u64,
    history: Vec<Stage>,
    convergence: Convergence,
}

/// The state of the convergence check.
#[derive(Default)]
struct Convergence {
    passes: u64,
    model: Option<(Vec<f64>, f64)>,
    reached: bool,
}

impl<'a> StageRunner<'a> {
    /// All paths with zero weights, before the pilot.
    pub fn new(rows: &'a Batch, loss: AnyLoss, settings: &'a PublishedParams, seed: u64, threads: &Threads) -> Self {
        let active = Active::new(rows, settings.total_columns);
        let span = active.span();
        let path = |number| Path::new(seed, number, rows.len() as u32, span);
        let &PublishedParams { learning_rate: rate, intercept, count, .. } = settings;
        StageRunner {
            rule: Rule { loss, rate, intercept, count },
            paths: (0..u64::from(settings.n_paths)).map(path).collect(),
            frequency: SelectionFrequency::new(span, settings.evidence_in),
            plan: Plan { gravity: 0.0, burst: u64::from(settings.burst), bursts: settings.bursts },
            rejection: 0.0,
            nonzero_paths: vec![0; span],
            nonzeros: 0,
            steps: 0,
            history: Vec::new(),
            convergence: Convergence::default(),
            settings,
            threads: threads.clone(),
            active,
        }
    }

    /// Whether another stage follows: the pilot and one more always run.
    pub fn has_next_stage(&self) -> bool {
        let wanted = u64::from(self.settings.passes) * self.active.rows().len() as u64;
        self.history.len() < 2 || (self.steps < wanted && !self.convergence.reached)
    }

    /// Runs one stage on all paths, then purges and plans the next one.
    pub fn run_stage(&mut self) -> Result<Stage, PublishedError> {
        let (rows, rule, plan) = (self.active.rows(), &self.rule, &self.plan);
        let rows_learned = plan.burst * u64::from(plan.bursts);
        let work = self.active.mean_length() * rows_learned as f64 * self.paths.len() as f64;
        if work < WORTH_SHARING {
            self.paths.iter_mut().for_each(|path| path.run_stage(rows, rule, plan));
        } else {
            let paths = &mut self.paths;
            self.threads.install(|| paths.par_iter_mut().for_each(|path| path.run_stage(rows, rule, plan)));
        }
        self.steps += rows_learned;
        let (done, rejection) = (self.plan, self.rejection);
        self.reduce();
        self.check_convergence();
        let stage = Stage {
            stage: self.history.len() as u64,
            steps: self.steps,
            burst: done.burst,
            rejection,
            gravity: done.gravity,
            active: self.active.size(),
            nonzeros: self.nonzeros,
            loss: self.mean_loss(),
        };
        self.history.push(stage);
        if stage.loss.is_finite() { Ok(stage) } else { Err(self.diverged()) }
    }

    /// Selection frequencies, purge, and the plan of the next stage.
    fn reduce(&mut self) {
        self.count_nonzero_paths();
        if !self.history.is_empty() {
            self.purge();
        }
        let settings = self.settings;
        let share = self.active.share();
        // The first stage after the pilot uses β₀, with either curve.
        self.rejection = match self.history.len() {
            0 => settings.rejection,
            _ => rejection_rate(share, settings.rejection, settings.annealing, settings.annealing_curve),
        };
        let active = &self.active;
        let updates = self.paths.iter().flat_map(|path| &path.burst_updates);
        let mut mean_changes: Vec<f64> = updates.filter(|v| active.contains(v.id)).map(|v| v.mean_change).collect();
        self.plan.gravity = base_gravity(&mut mean_changes, self.rejection);
        self.plan.burst = burst_size(settings.burst, settings.growth, share);
    }

    /// Updates the number of paths with a non-zero weight: the changes over the bursts of a stage add up to its change.
    fn count_nonzero_paths(&mut self) {
        for update in self.paths.iter().flat_map(|path| &path.burst_updates) {
            let nonzero_paths = &mut self.nonzero_paths[update.id as usize];
            let had = *nonzero_paths > 0;
            // Each weight was counted when it became non-zero, so that the difference is never negative.
            *nonzero_paths = *nonzero_paths + u32::from(update.after) - u32::from(update.before);
            self.nonzeros = self.nonzeros + usize::from(*nonzero_paths > 0) - usize::from(had);
        }
    }

    /// Updates the selection frequencies, and removes features below the cutoff from Ω.
    fn purge(&mut self) {
        let updates = || self.paths.iter().flat_map(|path| &path.burst_updates);
        updates().for_each(|update| self.frequency.count(update));
        let &PublishedParams { cutoff, evidence, .. } = self.settings;
        // A feature occurs once for each burst that updated it; the first time, its evidence is used up.
        let mut purged: Vec<FeatureId> = Vec::new();
        for update in updates() {
            if self.frequency.update(update.id, evidence).is_some_and(|frequency| frequency < cutoff) {
                purged.push(update.id);
            }
        }
        for path in &mut self.paths {
            purged.iter().for_each(|&id| path.purge(id));
        }
        // They get no further updates, so that their counts need none either.
        self.nonzeros -= purged.iter().filter(|&&id| self.nonzero_paths[id as usize] > 0).count();
        self.active.purge(&purged);
    }

    /// Once a pass, if a tolerance is given, compares the model with that of the pass before.
    fn check_convergence(&mut self) {
        let passes = self.steps / self.active.rows().len() as u64;
        if self.settings.tolerance == 0.0 || passes == self.convergence.passes || self.history.is_empty() {
            return;
        }
        let model = self.model();
        self.convergence.reached = self
            .convergence
            .model
            .as_ref()
            .is_some_and(|before| has_converged(before, &model, self.settings.tolerance));
        self.convergence.model = Some(model);
        self.convergence.passes = passes;
    }

    /// The mean loss of the last stage.
    fn mean_loss(&self) -> f64 {
        let total = self.paths.iter().fold(Cost::default(), |total, path| Cost {
            loss: total.loss + path.cost.loss,
            importance: total.importance + path.cost.importance,
        });
        if total.importance == 0.0 { 0.0 } else { total.loss / total.importance }
    }

    fn diverged(&self) -> PublishedError {
        PublishedError::Diverged { stage: self.history.len() as u64 - 1, rate: self.settings.learning_rate }
    }

    /// The aggregated weights and intercept now.
    pub fn model(&self) -> (Vec<f64>, f64) {
        mean_model(&self.paths, self.active.span())
    }

    /// The end of the run.
    pub fn finish(self) -> Result<Outcome, PublishedError> {
        let (weights, bias) = self.model();
        if !(bias.is_finite() && weights.iter().all(|weight| weight.is_finite())) {
            return Err(self.diverged());
        }
        Ok(Outcome {
            weights,
            bias,
            examples: self.steps * self.paths.len() as u64,
            frequency: self.frequency.into_frequency(),
            active: self.active.into_flags(),
            history: self.history,
            converged: self.convergence.reached,
        })
    }
}
