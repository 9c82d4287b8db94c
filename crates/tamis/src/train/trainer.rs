//! Rows in, learned rows out: scaling, reports, checkpoints and the giving back of idle features.

use super::TrainError;
use super::bank::Bank;
use super::checkpoint::{self, CheckpointPlan, Position};
use super::choose::{assemble, outputs, support};
use super::fit::FitOptions;
use super::lane::{Crew, Lane};
use super::progress::{Observer, Progress};
use super::steps;
use super::task::{Kind, Targets};
use crate::data::{Batch, ColumnScale, Dictionary, Example, Row};
use crate::learn::State;
use crate::model::{Model, Output, Seen};
use crate::parse::columns::KnownColumns;
use crate::recipe::{Recipe, RowScale};
use crate::sparsify::Size;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Rows learned in one go at most.
pub(super) const CHUNK: usize = 256;
/// Idle features are first looked for at this many.
pub(super) const FIRST_SWEEP: usize = 1 << 16;

/// The state of a training.
pub(super) struct Trainer<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) options: &'a FitOptions,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) dictionary: Dictionary,
    pub(super) scale: ColumnScale,
    pub(super) targets: Targets,
    pub(super) lane: Lane,
    /// How many learners there are.
    pub(super) learners: usize,
    pub(super) columns: Option<KnownColumns>,
    /// Rows learned in this run, all passes counted.
    pub(super) done: u64,
    /// Rows expected in all, if known.
    pub(super) total: Option<u64>,
    pub(super) pass: u32,
    pub(super) head_rows: u64,
    pub(super) rows_before: u64,
    /// Rows covered, and the fingerprint after them.
    pub(super) fingerprint: (u64, u64),
    pub(super) bytes_read: u64,
    /// R² of the first rows, where the first step hangs on it ([`steps`]).
    pub(super) longest: f64,
    pub(super) next_sweep: usize,
    /// What the trials of `two-stage` found: how many features it is to draw, if nothing was said, and its numbers.
    pub(super) drawn: Option<Size>,
    pub(super) settled: BTreeMap<String, f64>,
    row_scaling: RowScale,
    scratch: Batch,
    /// The target and the number of features of the last row sent.
    last_row: (f64, usize),
    next_report: u64,
    next_save: u64,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        recipe: &'a Recipe,
        options: &'a FitOptions,
        observer: &'a mut dyn Observer,
        (dictionary, scale, targets): (Dictionary, ColumnScale, Targets),
    ) -> Self {
        let threads = options.read.threads;
        let bank = Bank::new(recipe, &targets, threads);
        let every = options.checkpoint.as_ref().and_then(|plan| plan.every);
        let next_report = observer.next_report(0).max(1);
        Trainer {
            recipe,
            options,
            observer,
            dictionary,
            scale,
            learners: targets.learners(),
            targets,
            lane: Lane::new(bank, threads),
            columns: None,
            done: 0,
            total: None,
            pass: 1,
            head_rows: 0,
            rows_before: 0,
            fingerprint: (0, 0),
            bytes_read: 0,
            longest: 0.0,
            next_sweep: FIRST_SWEEP,
            drawn: None,
            settled: BTreeMap::new(),
            row_scaling: recipe.row_scaling(),
            scratch: Batch::new(),
            last_row: (0.0, 0),
            next_report,
            next_save: every.unwrap_or(u64::MAX),
        }
    }

    /// Sets counters after a resume: reports and saves come at the same rows as without the interruption.
    pub(super) fn resume_at(&mut self, done: u64) {
        self.done = done;
        self.lane.crew_mut().rows = done;
        self.next_report = self.observer.next_report(done).max(done + 1);
        if let Some(every) = self.options.checkpoint.as_ref().and_then(|plan| plan.every) {
            self.next_save = (done / every + 1) * every;
        }
    }

    /// Takes a row whose target is ready; learns when enough have come.
    #[inline]
    pub(super) fn take(&mut self, example: Example<'_>) -> Result<(), TrainError> {
        let factor = self.row_factor(example.row);
        push_scaled(&mut self.scratch, example, factor, &self.scale);
        let rows = self.done + self.scratch.len() as u64;
        if rows == self.next_report || rows == self.next_save {
            return self.flush();
        }
        if self.scratch.len() == CHUNK {
            self.send()?;
        }
        Ok(())
    }

    /// Whether rows can be taken all at once: learners see them as they are, and nothing is due among them.
    pub(super) fn takes_whole(&self, batch: &Batch) -> bool {
        let rows = self.done + (self.scratch.len() + batch.len()) as u64;
        let is_raw = !self.scale.is_active() && self.row_scaling == RowScale::None;
        is_raw && rows < self.next_report.min(self.next_save)
    }

    /// Takes rows whose targets are ready, all at once; `print` is the fingerprint after them. What a checkpoint says of
    /// itself is true at every [`Trainer::send`]: rows learned and rows covered by the fingerprint are the same.
    pub(super) fn take_all(&mut self, batch: Batch, print: u64) -> Result<(), TrainError> {
        self.send()?;
        self.fingerprint = (self.fingerprint.0 + batch.len() as u64, print);
        self.scratch = batch;
        self.send()
    }

    /// How far `two-stage` moves the weights it draws (τ): not at all where nothing was settled.
    pub(super) fn polish(&self) -> f64 {
        self.settled.get(crate::param::names::REFINE.name).copied().unwrap_or(0.0)
    }

    /// What a row's values are multiplied with before they are scaled by column.
    pub(super) fn row_factor(&self, row: Row<'_>) -> f64 {
        self.row_scaling.factor(row.len())
    }

    /// ‖x‖² of a row as learners see it, with the intercept's 1.
    pub(super) fn square(&self, row: Row<'_>) -> f64 {
        steps::square(self.recipe, &self.scale, row)
    }

    /// Learns the rows taken so far, then saves if it is time.
    pub(super) fn flush(&mut self) -> Result<(), TrainError> {
        self.learn_taken()?;
        if self.done == self.next_save {
            self.next_save += self.options.checkpoint.as_ref().and_then(|plan| plan.every).unwrap_or(0);
            self.save(false)?;
        }
        Ok(())
    }

    /// Learns the rows taken so far, and waits until they are learned.
    pub(super) fn learn_taken(&mut self) -> Result<(), TrainError> {
        self.send()?;
        self.settle()
    }

    /// Lets the rows taken so far be learned while the next are taken; stops if that is asked for.
    fn send(&mut self) -> Result<(), TrainError> {
        let rows = self.scratch.len();
        if rows == 0 {
            return Ok(());
        }
        self.done += rows as u64;
        self.last_row = (self.scratch.example(rows - 1).target, self.scratch.row(rows - 1).len());
        self.scratch = self.lane.learn(std::mem::take(&mut self.scratch), &self.targets);
        self.observer.tick(self.done, self.total, self.bytes_read);
        if self.lane.has_failed() {
            return self.settle();
        }
        if self.options.stop.load(Ordering::Relaxed) {
            self.settle()?;
            let saved = self.save(false)?;
            return Err(TrainError::Interrupted { rows: self.done, saved });
        }
        Ok(())
    }

    /// Waits for the learners, and looks at what became of the rows.
    fn settle(&mut self) -> Result<(), TrainError> {
        self.lane.call_home();
        if !self.lane.crew().progressive.loss.is_finite() {
            return Err(self.diverged());
        }
        if self.done == self.next_report {
            self.next_report = self.observer.next_report(self.done).max(self.done + 1);
            self.report();
        }
        Ok(())
    }

    pub(super) fn diverged(&self) -> TrainError {
        let Crew { bank, rows, .. } = self.lane.crew();
        bank.diverged(*rows, &self.dictionary)
    }

    fn report(&mut self) {
        let (target, row_features) = self.last_row;
        let text = |number: f64| match &self.targets.kind {
            Kind::Numbers { centre, spread } => format!("{:.4}", centre + spread * number),
            Kind::Classes { classes, .. } => classes[number as usize].to_string(),
        };
        let unit = self.targets.loss_unit();
        let (classes, memory) = (self.is_classes(), self.memory());
        let Crew { bank, progressive, last, .. } = self.lane.crew_mut();
        let progress = Progress {
            rows: self.done,
            pass: self.pass,
            loss: progressive.mean_loss() * unit,
            recent_loss: progressive.recent_loss() * unit,
            error: classes.then(|| progressive.mean_error()),
            label: text(target),
            prediction: text(*last),
            row_features,
            nonzeros: bank.nonzeros(),
            memory,
        };
        self.observer.report(&progress);
        if self.observer.wants_models() {
            let model = self.model_now();
            self.observer.model(self.done, &model);
        }
    }

    /// What the model would be if the rows ended here; of two stages, what the first has learned.
    fn model_now(&self) -> Model {
        let bank = &self.lane.crew().bank;
        let chosen = support(bank, self.recipe.k);
        let outputs = outputs(bank, &self.targets, &chosen, &self.dictionary, &self.scale);
        self.model(outputs, self.pass, self.fingerprint.0, 0)
    }

    /// A model with these outputs, learned from so many rows of this data.
    pub(super) fn model(&self, outputs: Vec<Output>, passes: u32, rows: u64, skipped: u64) -> Model {
        let seen = Seen {
            rows: self.rows_before + rows,
            passes,
            features: self.dictionary.len() as u64,
            skipped,
            ..self.lane.crew().progressive.seen(&self.targets)
        };
        assemble(self.recipe, &self.targets, self.columns.clone(), seen, outputs)
    }

    pub(super) fn is_classes(&self) -> bool {
        matches!(self.targets.kind, Kind::Classes { .. })
    }

    /// Bytes of learner, names and scaling.
    pub(super) fn memory(&self) -> usize {
        self.lane.crew().bank.bytes() + self.dictionary.bytes() + self.scale.bytes()
    }

    /// Writes a checkpoint if one is asked for; returns its path.
    pub(super) fn save(&mut self, complete: bool) -> Result<Option<std::path::PathBuf>, TrainError> {
        let Some(CheckpointPlan { path, .. }) = &self.options.checkpoint else { return Ok(None) };
        let mut state = State::default();
        self.lane.crew().bank.save(&mut state);
        let position = Position {
            version: 1,
            recipe: self.recipe.clone(),
            loss: self.targets.loss,
            kind: self.targets.kind.clone(),
            columns: self.columns.clone(),
            complete,
            done: self.done,
            head_rows: self.head_rows,
            fingerprint: self.fingerprint,
            rows_before: self.rows_before,
            progressive: self.lane.crew().progressive.clone(),
            next_sweep: self.next_sweep,
            longest: self.longest,
            free: Vec::new(),
        };
        checkpoint::write(path, &position, &self.dictionary, self.scale.divisors(), &state)?;
        Ok(Some(path.clone()))
    }

    /// Gives back idle features. Only where forgetting one changes nothing: a scaled column would lose its largest value.
    pub(super) fn sweep(&mut self) -> Result<(), TrainError> {
        if self.dictionary.len() < self.next_sweep || self.scale.is_active() {
            return Ok(());
        }
        self.flush()?;
        self.lane.crew_mut().bank.give_back(&mut self.dictionary);
        self.next_sweep = FIRST_SWEEP.max(2 * self.dictionary.len());
        Ok(())
    }
}

/// Adds a row to a batch as learners see it: multiplied by the row's factor, divided column by column.
#[inline]
pub(super) fn push_scaled(batch: &mut Batch, example: Example<'_>, factor: f64, scale: &ColumnScale) {
    match (scale.is_active(), factor) {
        (false, 1.0) => batch.push_mapped(example, |_, value| value),
        (false, factor) => batch.push_mapped(example, |_, value| value * factor),
        (true, factor) => batch.push_mapped(example, |id, value| value * factor / scale.divisor(id)),
    }
}
