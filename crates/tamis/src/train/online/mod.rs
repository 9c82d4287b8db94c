//! A training that stays open: rows whenever they come, a model whenever one is asked for.
//!
//! The model is that of a fit with one pass over the same rows, bit for bit, however they were cut into pieces. A fit
//! looks at a head of the stream before it learns, to see how columns and targets are to be scaled. So the first rows are
//! kept here until there are as many ([`JUDGED_ROWS`]); a model asked for meanwhile is learned from those there are.
//! Where nothing is scaled and no step hangs on the rows there is nothing to look at, and no row is kept.

mod saving;
mod scoring;
#[cfg(test)]
mod tests;

use super::TrainError;
use super::bank::Bank;
use super::choose::{assemble, finite_support, outputs};
use super::fit::SWEEP_EVERY;
use super::head::JUDGED_ROWS;
use super::lane::Crew;
use super::progress::Progressive;
use super::steps;
use super::task::{Kind, LabelSurvey, Targets, TaskKind};
use super::trainer::{CHUNK, FIRST_SWEEP, Trainer, push_scaled};
use crate::data::{Batch, ColumnScale, Dictionary, Example, Label, ParsedRows, ScaleKind};
use crate::loss::LossKind;
use crate::model::{Model, Seen};
use crate::param::names;
use crate::read::ReadError;
use crate::recipe::Recipe;

/// Rows that are kept at most, if all have the same label.
const MOST_KEPT: usize = 1 << 16;

/// What is to be predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// Numbers.
    Numbers,
    /// One of these classes, two or more: none comes later.
    Classes(Vec<Label>),
}

/// An open training.
#[derive(Debug)]
pub struct Online {
    recipe: Recipe,
    goal: Goal,
    threads: usize,
    dictionary: Dictionary,
    scale: ColumnScale,
    survey: LabelSurvey,
    /// Rows that wait; their targets are labels: a number, or the number of the class.
    head: Batch,
    running: Option<Running>,
}

/// Learners at work.
#[derive(Debug)]
struct Running {
    targets: Targets,
    bank: Bank,
    progressive: Progressive,
    rows: u64,
    /// Idle features are given back at fixed rows, counted from here on as a fit counts them.
    sweeps_from: u64,
    next_sweep: usize,
    /// R² of the first rows, where the first step hangs on it ([`steps`]).
    longest: f64,
}

impl Online {
    /// A training of no rows yet. The recipe must be one that needs no row twice.
    pub fn new(recipe: &Recipe, goal: Goal, threads: usize) -> Result<Online, TrainError> {
        recipe.check()?;
        check_online(recipe)?;
        if let Goal::Classes(classes) = &goal
            && classes.len() < 2
        {
            let label = classes.first().map(ToString::to_string).unwrap_or_default();
            return Err(TrainError::OneClass { rows: 0, label });
        }
        Ok(Online {
            recipe: recipe.clone(),
            goal,
            threads,
            dictionary: Dictionary::new(recipe.hash_bits),
            scale: ColumnScale::new(recipe.scaling()),
            survey: LabelSurvey::default(),
            head: Batch::new(),
            running: None,
        })
    }

    /// A fit that is over, open again.
    pub(super) fn after(trainer: Trainer<'_>, head_rows: u64, tail_rows: u64) -> Online {
        let goal = match &trainer.targets.kind {
            Kind::Numbers { .. } => Goal::Numbers,
            Kind::Classes { classes, .. } => Goal::Classes(classes.clone()),
        };
        let (recipe, threads) = (trainer.recipe.clone(), trainer.options.read.threads);
        let Crew { bank, progressive, .. } = trainer.lane.into_crew();
        let running = Running {
            targets: trainer.targets,
            bank,
            progressive,
            rows: trainer.rows_before + head_rows + tail_rows,
            sweeps_from: trainer.rows_before + head_rows,
            next_sweep: trainer.next_sweep,
            longest: trainer.longest,
        };
        let (dictionary, scale, survey) = (trainer.dictionary, trainer.scale, LabelSurvey::default());
        Online { recipe, goal, threads, dictionary, scale, survey, head: Batch::new(), running: Some(running) }
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.running.as_ref().map_or(self.head.len() as u64, |running| running.rows)
    }

    /// Learns rows, in their order. `place` says where a row stands, for messages.
    pub fn learn(&mut self, mut rows: ParsedRows, place: impl Fn(usize) -> String) -> Result<(), TrainError> {
        let mut done = 0;
        while !rows.is_empty() {
            let now = self.piece().min(rows.len());
            let later = rows.split_off(now);
            self.learn_piece(rows, |row| place(done + row))?;
            (rows, done) = (later, done + now);
        }
        Ok(())
    }

    /// Rows that may be numbered before any of them is learned: idle features are given back at fixed rows.
    fn piece(&self) -> usize {
        match &self.running {
            Some(Running { rows, sweeps_from, .. }) if rows < sweeps_from => (sweeps_from - rows) as usize,
            Some(Running { rows, sweeps_from, .. }) => (SWEEP_EVERY - (rows - sweeps_from) % SWEEP_EVERY) as usize,
            None => CHUNK,
        }
    }

    fn learn_piece(&mut self, rows: ParsedRows, place: impl Fn(usize) -> String) -> Result<(), TrainError> {
        let duplicate = |(row, name)| TrainError::DuplicateName { place: place(row), name };
        let (batch, labels) = rows.intern(&mut self.dictionary).map_err(duplicate)?;
        if self.running.is_none() && !self.looks_first() {
            self.running = Some(self.begun()?);
        }
        let mut ready = Batch::new();
        for (row, (example, label)) in batch.examples().zip(&labels).enumerate() {
            let example = Example { target: self.goal.code(label, || place(row))?, ..example };
            if self.running.is_none() {
                self.keep(example, label);
                if self.has_seen_enough() {
                    self.running = Some(self.begun()?);
                    self.head = Batch::new();
                }
                continue;
            }
            let Online { running: Some(running), scale, recipe, .. } = self else { unreachable!("it runs") };
            if scale.is_active() {
                scale.observe(example.row);
            }
            running.rows += 1;
            running.take(example, recipe, scale, &mut ready);
            if ready.len() == CHUNK {
                running.learn(&mut ready, &self.dictionary)?;
            }
        }
        let Some(running) = &mut self.running else { return Ok(()) };
        running.learn(&mut ready, &self.dictionary)?;
        if running.is_at_sweep() && !self.scale.is_active() {
            running.sweep(&mut self.dictionary);
        }
        Ok(())
    }

    /// Whether something hangs on the first rows.
    fn looks_first(&self) -> bool {
        let loss = self.recipe.loss.unwrap_or(match self.goal {
            Goal::Numbers => LossKind::Squared,
            Goal::Classes(_) => LossKind::Logistic,
        });
        self.recipe.scaling() != ScaleKind::None || steps::limit(&self.recipe, loss).is_some()
    }

    fn keep(&mut self, example: Example<'_>, label: &Label) {
        self.survey.observe(label, String::new);
        if self.scale.is_active() {
            self.scale.observe(example.row);
        }
        self.head.push(example);
    }

    /// Whether scaling can be decided: as in a fit, by a number of rows that do not all have the same label.
    fn has_seen_enough(&self) -> bool {
        let rows = self.head.len();
        rows >= MOST_KEPT || (rows as u64 >= JUDGED_ROWS && self.survey.has_variety())
    }

    /// Learners that have learned the rows kept, and the scaling that these rows tell.
    fn begin(&self) -> Result<(Running, ColumnScale), TrainError> {
        let mut scale = self.scale.clone();
        scale.finish();
        let targets = match &self.goal {
            Goal::Numbers => self.survey.decide(&self.recipe, TaskKind::Regression)?,
            Goal::Classes(classes) => class_targets(&self.recipe, classes),
        };
        let mut longest: f64 = 0.0;
        if steps::limit(&self.recipe, targets.loss).is_some() {
            let square = |example: Example<'_>| steps::square(&self.recipe, &scale, example.row);
            longest = self.head.examples().map(square).fold(longest, f64::max);
        }
        let settled = steps::settled(&self.recipe, targets.loss, longest);
        let bank = Bank::new(&settled, &targets, if targets.learners() > 1 { self.threads } else { 1 });
        let progressive = Progressive::default();
        let rows = self.head.len() as u64;
        let sweeps_from = rows.max(JUDGED_ROWS);
        let mut running = Running { targets, bank, progressive, rows, sweeps_from, next_sweep: FIRST_SWEEP, longest };
        let mut ready = Batch::new();
        for example in self.head.examples() {
            running.take(example, &self.recipe, &scale, &mut ready);
            if ready.len() == CHUNK {
                running.learn(&mut ready, &self.dictionary)?;
            }
        }
        running.learn(&mut ready, &self.dictionary)?;
        Ok((running, scale))
    }

    /// As [`Online::begin`], and the scaling stays.
    fn begun(&mut self) -> Result<Running, TrainError> {
        let (running, scale) = self.begin()?;
        self.scale = scale;
        Ok(running)
    }

    /// The model so far.
    pub fn model(&self) -> Result<Model, TrainError> {
        if self.rows() == 0 {
            return Err(ReadError::NoRows { files: "the batches so far".into() }.into());
        }
        match &self.running {
            Some(running) => running.model(&self.recipe, &self.dictionary, &self.scale),
            None => {
                let (running, scale) = self.begin()?;
                running.model(&self.recipe, &self.dictionary, &scale)
            }
        }
    }
}

impl Running {
    /// Makes a row ready to be learned.
    fn take(&mut self, example: Example<'_>, recipe: &Recipe, scale: &ColumnScale, ready: &mut Batch) {
        let target = match self.targets.kind {
            Kind::Numbers { centre, spread } => (example.target - centre) / spread,
            Kind::Classes { .. } => example.target,
        };
        let factor = recipe.row_scaling().factor(example.row.len());
        push_scaled(ready, Example { target, ..example }, factor, scale);
    }

    fn learn(&mut self, ready: &mut Batch, dictionary: &Dictionary) -> Result<(), TrainError> {
        if !ready.is_empty() {
            self.bank.learn(ready, &self.targets, &mut self.progressive);
            ready.clear();
        }
        if self.progressive.loss.is_finite() { Ok(()) } else { Err(self.bank.diverged(self.rows, dictionary)) }
    }

    fn is_at_sweep(&self) -> bool {
        self.rows > self.sweeps_from && (self.rows - self.sweeps_from).is_multiple_of(SWEEP_EVERY)
    }

    fn sweep(&mut self, dictionary: &mut Dictionary) {
        if dictionary.len() < self.next_sweep {
            return;
        }
        self.bank.give_back(dictionary);
        self.next_sweep = FIRST_SWEEP.max(2 * dictionary.len());
    }

    fn model(&self, recipe: &Recipe, dictionary: &Dictionary, scale: &ColumnScale) -> Result<Model, TrainError> {
        let diverged = || self.bank.diverged(self.rows, dictionary);
        let chosen = finite_support(&self.bank, recipe.k).ok_or_else(diverged)?;
        let outputs = outputs(&self.bank, &self.targets, &chosen, dictionary, scale);
        let seen = Seen {
            rows: self.rows,
            passes: 1,
            features: dictionary.len() as u64,
            ..self.progressive.seen(&self.targets)
        };
        Ok(assemble(recipe, &self.targets, None, seen, outputs))
    }
}

impl Goal {
    /// The number a label is kept as.
    fn code(&self, label: &Label, place: impl Fn() -> String) -> Result<f64, TrainError> {
        let found = match (self, label) {
            (_, Label::Absent) => return Err(TrainError::NoLabel { place: place() }),
            (Goal::Numbers, Label::Number(number)) => Some(*number),
            (Goal::Numbers, _) => None,
            (Goal::Classes(classes), _) => classes.iter().position(|class| class == label).map(|at| at as f64),
        };
        found.ok_or_else(|| match self {
            Goal::Numbers => {
                let reason = "numbers are to be predicted".into();
                TrainError::NotANumber { place: place(), found: label.to_string(), reason }
            }
            Goal::Classes(_) => TrainError::LateClass { place: place(), found: label.to_string() },
        })
    }

    /// The label that was kept as a number.
    fn label(&self, code: f64) -> Option<Label> {
        match self {
            Goal::Numbers => code.is_finite().then_some(Label::Number(code)),
            Goal::Classes(classes) => classes.get(code as usize).cloned(),
        }
    }
}

fn class_targets(recipe: &Recipe, classes: &[Label]) -> Targets {
    let kind = Kind::Classes { classes: classes.to_vec(), single: classes.len() == 2, may_grow: false };
    Targets::from_parts(recipe.loss.unwrap_or(LossKind::Logistic), recipe, kind)
}

/// Rows that come one by one cannot be passed over twice, nor be looked at before they are learned.
fn check_online(recipe: &Recipe) -> Result<(), TrainError> {
    if !recipe.method.info().partial_fit {
        return Err(TrainError::NotIncremental { method: recipe.method.name() });
    }
    if let Some(passes) = recipe.passes.filter(|passes| *passes > 1) {
        return Err(TrainError::NeedsAllRows { param: names::PASSES.with(passes) });
    }
    let needs_all = [
        (recipe.refit, names::REFIT.into()),
        (recipe.shuffle == Some(true), names::SHUFFLE.into()),
        (
            matches!(recipe.scaling(), ScaleKind::UnitVariance | ScaleKind::SqrtStd),
            names::SCALE.with(recipe.scaling().name()),
        ),
    ];
    match needs_all.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, param)) => Err(TrainError::NeedsAllRows { param }),
        None => Ok(()),
    }
}
