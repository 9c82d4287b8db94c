//! The stages of Algorithm 4: paths side by side, then one reduction in the order of the paths.
//!
//! [`Path::run_stage`] depends on nothing but the path, the rows and the plan; everything paths share is decided in
//! [`Engine::reduce`], on one thread. So the number of threads cannot change a bit.

use rayon::prelude::*;

use super::active::Active;
use super::aggregate::{at_rest, mean_model};
use super::gravity::base_gravity;
use super::path::{Cost, Path, Plan, Rule};
use super::schedule::{burst_size, rejection_rate};
use super::votes::Votes;
use super::{Outcome, PaperError, PublishedParams, Stage};
use crate::data::{Batch, FeatureId};
use crate::loss::AnyLoss;

/// A stage with less work than this, in entries visited, is done on one thread: waking others would take longer.
const WORTH_SHARING: f64 = 20_000.0;

/// A run between two stages.
pub(super) struct Engine<'a> {
    settings: &'a PublishedParams,
    rule: Rule,
    threads: rayon::ThreadPool,
    paths: Vec<Path>,
    active: Active<'a>,
    votes: Votes,
    plan: Plan,
    /// β of the stage to come.
    rejection: f64,
    /// On how many paths a feature's weight is not zero.
    carriers: Vec<u32>,
    nonzeros: usize,
    /// Rows a path has learned.
    steps: u64,
    history: Vec<Stage>,
    rest: Rest,
}

/// What is needed to see that the weights have come to rest.
#[derive(Default)]
struct Rest {
    passes: u64,
    model: Option<(Vec<f64>, f64)>,
    reached: bool,
}

impl<'a> Engine<'a> {
    /// All paths at zero, before the pilot.
    pub fn new(rows: &'a Batch, loss: AnyLoss, settings: &'a PublishedParams, seed: u64, threads: usize) -> Self {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build().expect("threads can be made");
        let active = Active::new(rows, settings.total_columns);
        let span = active.span();
        let path = |number| Path::new(seed, number, rows.len() as u32, span);
        let &PublishedParams { learning_rate: rate, intercept, count, .. } = settings;
        Engine {
            rule: Rule { loss, rate, intercept, count },
            paths: (0..u64::from(settings.n_paths)).map(path).collect(),
            votes: Votes::new(span, settings.evidence_in),
            plan: Plan { gravity: 0.0, burst: u64::from(settings.burst), bursts: settings.bursts },
            rejection: 0.0,
            carriers: vec![0; span],
            nonzeros: 0,
            steps: 0,
            history: Vec::new(),
            rest: Rest::default(),
            settings,
            threads,
            active,
        }
    }

    /// Whether another stage follows: the pilot and one more always do.
    pub fn goes_on(&self) -> bool {
        let wanted = u64::from(self.settings.passes) * self.active.rows().len() as u64;
        self.history.len() < 2 || (self.steps < wanted && !self.rest.reached)
    }

    /// One stage on all paths, and what follows from it.
    pub fn run_stage(&mut self) -> Result<Stage, PaperError> {
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
        self.look_for_rest();
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

    /// Votes, purge, and the plan of the next stage.
    fn reduce(&mut self) {
        self.count_carriers();
        if !self.history.is_empty() {
            self.purge();
        }
        let settings = self.settings;
        let share = self.active.share();
        // The first stage after the pilot begins at β₀, whichever way up the curve stands.
        self.rejection = match self.history.len() {
            0 => settings.rejection,
            _ => rejection_rate(share, settings.rejection, settings.annealing, settings.annealing_curve),
        };
        let active = &self.active;
        let verdicts = self.paths.iter().flat_map(|path| &path.verdicts);
        let mut pulls: Vec<f64> = verdicts.filter(|v| active.contains(v.id)).map(|v| v.pull).collect();
        self.plan.gravity = base_gravity(&mut pulls, self.rejection);
        self.plan.burst = burst_size(settings.burst, settings.growth, share);
    }

    /// Follows how many paths carry a weight: the changes over the bursts of a stage add up to its change.
    fn count_carriers(&mut self) {
        for verdict in self.paths.iter().flat_map(|path| &path.verdicts) {
            let carriers = &mut self.carriers[verdict.id as usize];
            let had = *carriers > 0;
            // Paths come one after the other and each path's weight was counted: never below zero.
            *carriers = *carriers + u32::from(verdict.after) - u32::from(verdict.before);
            self.nonzeros = self.nonzeros + usize::from(*carriers > 0) - usize::from(had);
        }
    }

    /// Counts the votes and takes out of Ω who lost.
    fn purge(&mut self) {
        let verdicts = || self.paths.iter().flat_map(|path| &path.verdicts);
        verdicts().for_each(|verdict| self.votes.count(verdict));
        let &PublishedParams { cutoff, evidence, .. } = self.settings;
        // A feature comes once for every burst that saw it; judged the first time, its evidence is then used up.
        let mut lost: Vec<FeatureId> = Vec::new();
        for verdict in verdicts() {
            if self.votes.judge(verdict.id, evidence).is_some_and(|frequency| frequency < cutoff) {
                lost.push(verdict.id);
            }
        }
        for path in &mut self.paths {
            lost.iter().for_each(|&id| path.purge(id));
        }
        // No verdict on them will come again, so their carriers need no update.
        self.nonzeros -= lost.iter().filter(|&&id| self.carriers[id as usize] > 0).count();
        self.active.purge(&lost);
    }

    /// Once a pass, if a tolerance was given, compares the model with that of a pass before.
    fn look_for_rest(&mut self) {
        let passes = self.steps / self.active.rows().len() as u64;
        if self.settings.tolerance == 0.0 || passes == self.rest.passes || self.history.is_empty() {
            return;
        }
        let model = self.model();
        self.rest.reached =
            self.rest.model.as_ref().is_some_and(|before| at_rest(before, &model, self.settings.tolerance));
        self.rest.model = Some(model);
        self.rest.passes = passes;
    }

    /// The mean loss of the last stage.
    fn mean_loss(&self) -> f64 {
        let total = self.paths.iter().fold(Cost::default(), |total, path| Cost {
            loss: total.loss + path.cost.loss,
            importance: total.importance + path.cost.importance,
        });
        if total.importance == 0.0 { 0.0 } else { total.loss / total.importance }
    }

    fn diverged(&self) -> PaperError {
        PaperError::Diverged { stage: self.history.len() as u64 - 1, rate: self.settings.learning_rate }
    }

    /// The aggregated weights and intercept now.
    pub fn model(&self) -> (Vec<f64>, f64) {
        mean_model(&self.paths, self.active.span())
    }

    /// The end of the run.
    pub fn finish(self) -> Result<Outcome, PaperError> {
        let (weights, bias) = self.model();
        if !(bias.is_finite() && weights.iter().all(|weight| weight.is_finite())) {
            return Err(self.diverged());
        }
        Ok(Outcome {
            weights,
            bias,
            examples: self.steps * self.paths.len() as u64,
            frequency: self.votes.into_frequency(),
            active: self.active.into_flags(),
            history: self.history,
            converged: self.rest.reached,
        })
    }
}
