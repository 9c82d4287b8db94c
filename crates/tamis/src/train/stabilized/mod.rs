//! The stabilized learner over held rows: see [`crate::learn::stabilized`] for what it does.

mod outcome;
mod polishing;
mod prepare;
mod published;
mod saving;
mod sieve;
mod standing;
mod walk;

use std::sync::atomic::Ordering;

use self::outcome::{choose, finish, model_of, outputs};
use self::polishing::polish;
use self::prepare::prepare;
pub(super) use self::standing::standing;
use self::walk::Walk;
use super::TrainError;
use super::checkpoint::{self, Position, Saved};
use super::choose::assemble;
use super::fit::{FitOptions, Fitted};
use super::head::{Decoder, Texts};
use super::progress::{Observer, Progressive, RungReport};
use super::task::Targets;
use crate::data::{ColumnScale, Dictionary, Example};
use crate::model::{Model, Output, Seen};
use crate::parse::columns::KnownColumns;
use crate::read::Held;
use crate::recipe::{MethodParams, Recipe, StabilizedParams};

/// All that was read.
pub(super) struct Job<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) options: &'a FitOptions,
    pub(super) dictionary: Dictionary,
    pub(super) scale: ColumnScale,
    pub(super) targets: Targets,
    pub(super) texts: Texts,
    /// Rows read, and the fingerprint after them.
    pub(super) rows: u64,
    pub(super) fingerprint: u64,
    pub(super) columns: Option<KnownColumns>,
    /// Bad lines left out: how many, and what was wrong with the first few.
    pub(super) skipped: (u64, Vec<String>),
    pub(super) rows_before: u64,
    /// Paths of the training that is gone on with.
    pub(super) paths_before: Option<usize>,
}

/// The parameters of the method.
fn params_of(recipe: &Recipe) -> &StabilizedParams {
    let MethodParams::Stabilized(params) = &recipe.method else {
        unreachable!("{} is not stabilized", recipe.method.name())
    };
    params
}

/// Learns from held rows, from the start or from where a saved training stood.
pub(super) fn learn(
    mut job: Job<'_>,
    mut held: Held,
    mut resume: Option<Saved>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    if let MethodParams::StabilizedPublished(params) = &job.recipe.method {
        return published::learn(job, held, params, observer);
    }
    if let Some(k) = job.recipe.k.filter(|&k| k > job.dictionary.len()) {
        let seen = job.dictionary.len();
        observer.note(&format!("{k} features were asked for, but only {seen} were seen: all of them are kept"));
    }
    job.paths_before =
        resume.as_mut().and_then(|saved| saved.state.take_count("paths").ok()).map(|paths| paths as usize);
    if let Some(centres) = resume.as_ref().and_then(|saved| saved.state.arrays().get("centres")) {
        job.scale.restore_centres(centres.clone());
    }
    let mut walk = prepare(&mut job, &mut held)?;
    if let Some(saved) = resume {
        take_up(&mut job, &mut walk, saved)?;
    } else {
        walk.begin();
    }
    descend(&mut job, &mut held, &mut walk, observer)?;
    if let Some(rung) = walk.rungs.iter().find(|rung| !rung.is_finite()) {
        let feature = rung.not_finite().map_or("the intercept".into(), |id| format!("{:?}", job.dictionary.name(id)));
        return Err(TrainError::Diverged { row: walk.done, feature });
    }
    let chosen = choose(&walk.rungs, job.recipe.k);
    let model = finish(&job, &walk, chosen);
    if let Some(path) = &job.options.model {
        model.save(path)?;
    }
    save(&job, &walk, true)?;
    let memory = walk.most_bytes + job.dictionary.bytes() + job.scale.bytes();
    Ok(Fitted { model, rows_learned: walk.done, memory, skipped: job.skipped.1, open: None })
}

/// Goes on where a saved training stood, or with what it knew if it was over.
fn take_up(job: &mut Job<'_>, walk: &mut Walk, mut saved: Saved) -> Result<(), TrainError> {
    let path = saved.path.clone();
    let misfit = |source| TrainError::CheckpointState { path: path.clone(), source };
    job.rows_before = saved.rows_before();
    if saved.position.complete {
        saving::remember(walk, &mut saved.state, params_of(job.recipe).warm_start_decay).map_err(misfit)?;
        walk.begin();
        return Ok(());
    }
    if saved.position.fingerprint != (job.rows, job.fingerprint) {
        return Err(TrainError::OtherData { path, row: job.rows.min(saved.position.head_rows) });
    }
    saving::restore(walk, &mut saved.state).map_err(misfit)?;
    walk.done = saved.position.done;
    Ok(())
}

/// All stages, over as many passes as they take.
fn descend(job: &mut Job<'_>, held: &mut Held, walk: &mut Walk, observer: &mut dyn Observer) -> Result<(), TrainError> {
    let texts = job.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let every = job.options.checkpoint.as_ref().and_then(|plan| plan.every);
    let rows_left = |done: u64| every.map_or(u64::MAX, |every| every - done % every);
    while !walk.is_over() {
        // Pass 0 was for looking.
        let (pass, skip) = (1 + walk.done / job.rows, walk.done % job.rows);
        let (mut passed, mut stage_ends) = (0, false);
        held.pass(pass, |group| {
            let start = (skip.max(passed) - passed).min(group.len() as u64);
            passed += group.len() as u64;
            let mut examples = group.numbers().zip(group.examples()).skip(start as usize).peekable();
            while examples.peek().is_some() {
                let wanted = (walk.rows_wanted() as u64).min(rows_left(walk.done));
                let mut rows: Vec<(Example<'_>, u64)> = Vec::with_capacity(wanted as usize);
                for (number, mut example) in examples.by_ref().take(wanted as usize) {
                    example.target = decoder.target(example.target, &mut job.targets)?;
                    rows.push((example, walk.identities[number]));
                }
                stage_ends = walk.learn(&rows);
                if stage_ends {
                    return Ok(false);
                }
                pause(job, walk, observer)?;
            }
            Ok::<bool, TrainError>(true)
        })?;
        if stage_ends {
            end_stage(job, walk, observer);
            pause(job, walk, observer)?;
        }
    }
    Ok(())
}

/// The rung a stage has led to, its weights fitted to the rows, is reported; the next stage begins.
fn end_stage(job: &Job<'_>, walk: &mut Walk, observer: &mut dyn Observer) {
    let mut rung = walk.rung();
    polish(job, walk, &mut rung);
    walk.end_stage(rung);
    let rung = walk.rungs.last().expect("just made");
    observer.rung(&RungReport::of(rung, job.targets.loss_unit()));
    if observer.wants_models() {
        observer.model(walk.done, &model_of(job, walk, rung, outputs(job, walk, rung)));
    }
}

/// After a few rows: tells how far it is, saves if that is due, stops if that is asked for.
fn pause(job: &Job<'_>, walk: &Walk, observer: &mut dyn Observer) -> Result<(), TrainError> {
    observer.tick(walk.done, Some(walk.lengths.iter().sum()), 0);
    let every = job.options.checkpoint.as_ref().and_then(|plan| plan.every);
    if every.is_some_and(|every| walk.done.is_multiple_of(every)) && !walk.is_over() {
        save(job, walk, false)?;
    }
    if job.options.stop.load(Ordering::Relaxed) {
        let saved = save(job, walk, false)?;
        return Err(TrainError::Interrupted { rows: walk.done, saved });
    }
    Ok(())
}

/// Writes a checkpoint if one is asked for; returns its path.
fn save(job: &Job<'_>, walk: &Walk, complete: bool) -> Result<Option<std::path::PathBuf>, TrainError> {
    let Some(plan) = &job.options.checkpoint else { return Ok(None) };
    let position = Position {
        version: 1,
        recipe: job.recipe.clone(),
        loss: job.targets.loss,
        kind: job.targets.kind.clone(),
        columns: job.columns.clone(),
        complete,
        done: walk.done,
        head_rows: job.rows,
        fingerprint: (job.rows, job.fingerprint),
        rows_before: job.rows_before,
        progressive: Progressive::default(),
        next_sweep: 0,
        longest: 0.0,
        free: Vec::new(),
    };
    checkpoint::write(&plan.path, &position, &job.dictionary, job.scale.divisors(), &saving::save(walk, complete))?;
    Ok(Some(plan.path.clone()))
}

impl Job<'_> {
    /// A model with these outputs; `judged` are its loss and its error.
    fn model(&self, outputs: Vec<Output>, passes: u32, judged: (f64, Option<f64>)) -> Model {
        let seen = Seen {
            rows: self.rows_before + self.rows,
            passes,
            features: self.dictionary.len() as u64,
            skipped: self.skipped.0,
            progressive_loss: judged.0 * self.targets.loss_unit(),
            progressive_error: judged.1,
            ..Seen::default()
        };
        assemble(self.recipe, &self.targets, self.columns.clone(), seen, outputs)
    }

    /// Whether the paths' memory of all features fits; the message says what to do if not.
    fn check_memory(&self, features: usize, blocks: usize) -> Result<(), TrainError> {
        let needed = (features * blocks * crate::learn::stabilized::BYTES_PER_BLOCK) as u64;
        match needed <= self.options.memory.max(MEMORY_AT_LEAST) {
            true => Ok(()),
            false => Err(TrainError::TooManyFeatures { features, needed, memory: self.options.memory }),
        }
    }
}

/// So much is always allowed.
const MEMORY_AT_LEAST: u64 = 64 << 20;
