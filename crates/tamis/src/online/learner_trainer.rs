//! Drives online learners over rows: scaling, reports, checkpoints and the freeing of idle features.

use super::learner_thread::{LearnerState, LearnerThread};
use super::one_vs_rest::OneVsRest;
use super::stream_position::StreamPosition;
use super::support::Support;
use crate::data::{Batch, Example, FeatureId, RawRows, State, TargetKind};
use crate::learners::Learner;
use crate::model::{Model, Output, TrainingSummary};
use crate::recipe::Signs;
use crate::trainer::{BufferedRows, Checkpoint, Position, Progress, Session, TrainError, TrainingData};

/// Rows learned at once, at most.
pub(crate) const CHUNK_ROWS: usize = 256;
/// The number of features at which idle ones are first freed.
const FIRST_SWEEP: usize = 1 << 16;

/// The training of learners of one type.
pub(crate) struct LearnerTrainer<L> {
    pub(super) thread: LearnerThread<L>,
    /// The number of learners.
    outputs: usize,
    /// Rows learned, all passes counted.
    pub(super) done: u64,
    /// Rows expected in all, if known.
    total: Option<u64>,
    pass: u32,
    pub(super) stream: StreamPosition,
    max_squared_norm: f64,
    next_sweep: usize,
    /// Rows to be learned next.
    pending: Batch,
    /// The target and the number of features of the last row.
    last_row: (f64, usize),
    next_report: u64,
    next_save: u64,
    /// The number of features at which memory is measured next.
    next_measure: usize,
    /// Features whose sign is given by name and that no row has had so far.
    absent: Vec<FeatureId>,
}

impl<L: Learner + Clone + Send + Sync + 'static> LearnerTrainer<L> {
    /// Learners in the initial state `start`, before the first buffered row.
    pub(crate) fn new(start: L, session: &Session<'_>, rows: &BufferedRows, outputs: usize) -> Self {
        let mut learners = OneVsRest::new(start, outputs, session.threads);
        learners.reserve(session.width);
        let has_thread = !session.is_incremental && session.threads.count() > threads_in_use(session, rows);
        let total = rows.is_all.then(|| rows.rows * u64::from(session.data.passes));
        LearnerTrainer {
            thread: LearnerThread::new(learners, has_thread),
            outputs,
            done: 0,
            total,
            pass: 1,
            stream: StreamPosition::after(rows, session),
            max_squared_norm: 0.0,
            next_sweep: FIRST_SWEEP,
            pending: Batch::new(),
            last_row: (0.0, 0),
            next_report: next_report(session, 0),
            next_save: session.options.checkpoint_every().unwrap_or(u64::MAX),
            next_measure: FIRST_SWEEP,
            absent: (0..)
                .zip(session.data.recipe.method.signs().into_iter().flat_map(Signs::names))
                .map(|(id, _)| id)
                .collect(),
        }
    }

    /// Continues from a checkpoint. The rows must be those of the checkpoint, unless it was complete.
    pub(crate) fn restore(
        &mut self,
        mut checkpoint: Checkpoint,
        session: &mut Session<'_>,
        rows: &BufferedRows,
    ) -> Result<(), TrainError> {
        let invalid = checkpoint.invalid_state();
        self.thread.state_mut().learners.load(&mut checkpoint.state).map_err(invalid)?;
        let header = &checkpoint.header;
        // Earlier rows are not seen again.
        self.absent.clear();
        if header.is_complete {
            return Ok(());
        }
        let position = header.position.clone();
        let is_in_buffer = position.done < header.buffered_rows || rows.is_all;
        let is_same = header.buffered_rows == rows.rows && (!is_in_buffer || header.fingerprint.1 == rows.fingerprint);
        if !is_same {
            let row = rows.rows.min(header.buffered_rows);
            return Err(TrainError::OtherData { path: checkpoint.path, row });
        }
        self.set_position(position, session);
        if !is_in_buffer {
            session.data.scale = checkpoint.scale();
            session.data.fingerprint = header.fingerprint;
            session.data.vocabulary = checkpoint.vocabulary;
        }
        // Passes over buffered rows are not rows of the stream.
        let streamed = if rows.is_all { 0 } else { self.done.max(rows.rows) - rows.rows };
        self.stream.resume(checkpoint.path, streamed, session.data.fingerprint);
        Ok(())
    }

    /// Sets counters and sums, so that reports and checkpoints come at the same rows as without the interruption.
    pub(crate) fn set_position(&mut self, position: Position, session: &Session<'_>) {
        let Position { done, progressive, next_sweep, max_squared_norm } = position;
        (self.done, self.next_sweep, self.max_squared_norm) = (done, next_sweep, max_squared_norm);
        let state = self.thread.state_mut();
        (state.rows, state.progressive) = (done, progressive);
        self.next_report = next_report(session, done);
        if let Some(every) = session.options.checkpoint_every() {
            self.next_save = (done / every + 1) * every;
        }
    }

    /// Sets R² of the first rows, on which the initial step depends.
    pub(crate) fn set_max_squared_norm(&mut self, norm: f64) {
        self.max_squared_norm = norm;
    }

    /// Continues after this many rows of the stream.
    pub(crate) fn set_streamed_rows(&mut self, rows: u64) {
        self.stream.set_rows(rows);
    }

    /// Sets the learners' state.
    pub(crate) fn load(&mut self, state: &mut State) -> Result<(), crate::data::StateError> {
        self.thread.state_mut().learners.load(state)
    }

    /// The learners and their progressive validation. All rows must have been learned.
    pub(crate) fn state(&self) -> &LearnerState<L> {
        self.thread.state()
    }

    /// Learns the buffered rows in all remaining passes.
    pub(crate) fn learn_buffered(
        &mut self,
        session: &mut Session<'_>,
        rows: &mut BufferedRows,
    ) -> Result<(), TrainError> {
        if rows.rows == 0 {
            return Ok(());
        }
        let first = self.done / rows.rows;
        let mut skip = self.done % rows.rows;
        for pass in first..u64::from(session.data.passes) {
            self.pass = pass as u32 + 1;
            for chunk in rows.store.chunks(pass) {
                let chunk = chunk?;
                let now = skip.min(chunk.len() as u64);
                skip -= now;
                for example in chunk.examples().skip(now as usize) {
                    self.take(session, example)?;
                }
            }
            self.flush(session)?;
        }
        Ok(())
    }

    /// Takes a row whose target is encoded; learns when a chunk is full.
    #[inline]
    pub(super) fn take(&mut self, session: &mut Session<'_>, example: Example<'_>) -> Result<(), TrainError> {
        self.add_class(session, example.target)?;
        session.data.scaler().push(example, &mut self.pending);
        let rows = self.done + self.pending.len() as u64;
        if rows == self.next_report || rows == self.next_save {
            return self.flush(session);
        }
        if self.pending.len() == CHUNK_ROWS {
            self.send(session)?;
        }
        Ok(())
    }

    /// Adds a learner for a class that appears late, before its first row is learned and after all earlier rows.
    #[inline]
    fn add_class(&mut self, session: &mut Session<'_>, target: f64) -> Result<(), TrainError> {
        if let TargetKind::Classes { single: false, .. } = session.data.targets.kind
            && target as usize >= self.outputs
        {
            self.learn_pending(session)?;
            self.outputs = target as usize + 1;
            self.thread.state_mut().learners.resize(self.outputs);
        }
        Ok(())
    }

    /// Whether rows can be taken as one batch: their weights need no scaling, and no report, checkpoint or sweep is due
    /// among them.
    pub(super) fn takes_whole(&self, session: &Session<'_>, batch: &Batch) -> bool {
        let rows = self.done + (self.pending.len() + batch.len()) as u64;
        let has_weights = session.data.weight_unit != 1.0 || session.data.recipe.class_weight.is_some();
        !has_weights && rows < self.next_report.min(self.next_save)
    }

    /// Takes scaled rows whose targets are encoded as one batch; `fingerprint` is that after them. At every [`Self::send`],
    /// the rows learned are those covered by the fingerprint.
    pub(super) fn take_whole(
        &mut self,
        session: &mut Session<'_>,
        batch: Batch,
        fingerprint: u64,
    ) -> Result<(), TrainError> {
        self.send(session)?;
        session.data.fingerprint = (session.data.fingerprint.0 + batch.len() as u64, fingerprint);
        self.pending = batch;
        self.send(session)
    }

    /// Learns the rows taken so far, then saves if a checkpoint is due.
    pub(crate) fn flush(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        self.learn_pending(session)?;
        if self.done == self.next_save {
            self.next_save += session.options.checkpoint_every().unwrap_or(0);
            session.save_and_go_on(self.save())?;
        }
        Ok(())
    }

    /// Learns the rows taken so far, and waits until they are learned.
    fn learn_pending(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        self.send(session)?;
        self.wait(session)
    }

    /// Sends the rows taken so far to the learners without waiting; stops if that is requested.
    fn send(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        let rows = self.pending.len();
        if rows == 0 {
            return Ok(());
        }
        self.done += rows as u64;
        if !self.absent.is_empty() {
            let pending = &self.pending;
            self.absent.retain(|id| !(0..rows).any(|row| pending.row(row).ids.contains(id)));
        }
        self.last_row = (self.pending.example(rows - 1).target, self.pending.row(rows - 1).len());
        self.pending = self.thread.learn(std::mem::take(&mut self.pending), &session.data.targets);
        session.observer.tick(self.done, self.total, session.bytes_read);
        if self.thread.has_diverged() {
            return self.wait(session);
        }
        if session.options.is_stopped() {
            self.wait(session)?;
            let saved = session.save(self.save(), false)?;
            return Err(TrainError::Interrupted { rows: self.done, saved });
        }
        Ok(())
    }

    /// Waits for the learners, then checks and reports their losses.
    fn wait(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        self.thread.wait();
        if !self.state().progressive.loss.is_finite() {
            return Err(self.divergence(session.data));
        }
        if self.done == self.next_report {
            self.next_report = next_report(session, self.done);
            self.report(session);
        }
        Ok(())
    }

    /// The error of a training that diverged.
    pub(crate) fn divergence(&self, data: &TrainingData) -> TrainError {
        let LearnerState { learners, rows, .. } = self.state();
        learners.divergence(*rows, &data.vocabulary)
    }

    fn report(&mut self, session: &mut Session<'_>) {
        let data = &*session.data;
        let memory = self.bytes() + data.vocabulary.bytes() + data.scale.bytes();
        let unit = data.targets.loss_unit();
        let (target, row_features) = self.last_row;
        let LearnerState { learners, progressive, last, .. } = self.thread.state_mut();
        let progress = Progress {
            rows: self.done,
            pass: self.pass,
            loss: progressive.mean_loss() * unit,
            recent_loss: progressive.recent_loss() * unit,
            error: (!data.targets.is_numbers()).then(|| progressive.mean_error()),
            label: data.targets.describe(target),
            prediction: data.targets.describe(*last),
            row_features,
            nonzeros: learners.nonzeros(),
            memory,
        };
        session.observer.report(&progress);
        if session.observer.wants_models() {
            let support = Support::of(&self.state().learners, data.recipe.k);
            let outputs = support.outputs(self.state().learners.learners(), data);
            let model = data.model(outputs, TrainingSummary { passes: self.pass, ..self.summary(data) });
            session.observer.model(self.done, &model);
        }
    }

    /// The training summary with progressive validation.
    fn summary(&self, data: &TrainingData) -> TrainingSummary {
        TrainingSummary { passes: data.passes, ..self.state().progressive.summary(&data.targets) }
    }

    /// A model with these outputs.
    pub(crate) fn model(&self, data: &TrainingData, outputs: Vec<Output>) -> Model {
        data.model(outputs, self.summary(data))
    }

    /// The features of the model, or the error of a training that diverged.
    pub(crate) fn support(&self, data: &TrainingData) -> Result<Support, TrainError> {
        Support::finite(&self.state().learners, data.recipe.k).ok_or_else(|| self.divergence(data))
    }

    /// The model of the learners as they are.
    pub(crate) fn current_model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        let outputs = self.support(data)?.outputs(self.state().learners.learners(), data);
        Ok(self.model(data, outputs))
    }

    /// Whether idle features may be freed, or memory measured, among rows with at most so many new features.
    pub(super) fn may_sweep(&self, session: &Session<'_>, new: usize) -> bool {
        let frees = !session.data.scale.is_active() && session.data.vocabulary.len() + new >= self.next_sweep;
        let measures =
            session.options.max_memory.is_some() && session.data.vocabulary.span() + new >= self.next_measure;
        frees || measures
    }

    /// Frees idle features if that changes nothing: a scaled column would lose its largest value.
    pub(super) fn free_idle_features(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        if session.data.vocabulary.len() < self.next_sweep || session.data.scale.is_active() {
            return Ok(());
        }
        self.flush(session)?;
        self.thread.state_mut().learners.free_idle_features(&mut session.data.vocabulary);
        self.next_sweep = FIRST_SWEEP.max(2 * session.data.vocabulary.len());
        Ok(())
    }

    /// Measures the memory whenever the number of features has grown by a quarter.
    pub(super) fn check_memory(&mut self, session: &mut Session<'_>) -> Result<(), TrainError> {
        let features = session.data.vocabulary.span();
        if session.options.max_memory.is_none() || features < self.next_measure {
            return Ok(());
        }
        self.next_measure = features + features / 4;
        self.flush(session)?;
        session.check_memory(self.bytes(), || Some(self.save()))
    }

    /// Margins of rows in units of the label: row by row, one margin for each output.
    pub(crate) fn margins(&self, data: &TrainingData, rows: &RawRows) -> Result<Vec<f64>, TrainError> {
        let learners = self.state().learners.learners();
        let known = rows.lookup(&data.vocabulary);
        let (middle, unit) = data.targets.centre_and_spread();
        let mut margins = Vec::with_capacity(known.len() * learners.len());
        let part = |learner: &L, id: u32, value: f64| learner.weight(id) * value / data.scale.divisor(id);
        // Centred columns have entries in every row: those of their means are part of the intercept.
        let centred = |learner: &L| -> f64 {
            data.scale.centred().iter().map(|&id| part(learner, id, data.scale.centre(id))).sum()
        };
        let biases: Vec<f64> = learners.iter().map(|learner| learner.bias() - centred(learner)).collect();
        for (place, example) in known.examples().enumerate() {
            let factor = data.recipe.row_scaling().factor(rows.entries(place).count());
            for (learner, bias) in learners.iter().zip(&biases) {
                let parts = example.row.iter().map(|(id, value)| part(learner, id, value));
                margins.push(middle + unit * (bias + factor * parts.sum::<f64>()));
            }
        }
        if margins.iter().all(|margin| margin.is_finite()) { Ok(margins) } else { Err(self.divergence(data)) }
    }

    /// The position of the training and its state.
    pub(crate) fn save(&self) -> (Position, State) {
        let mut state = State::default();
        self.state().learners.save(&mut state);
        let position = Position {
            done: self.done,
            progressive: self.state().progressive.clone(),
            next_sweep: self.next_sweep,
            max_squared_norm: self.max_squared_norm,
        };
        (position, state)
    }

    /// Features whose sign is given by name and that no row has.
    pub(crate) fn absent_features(&self, data: &TrainingData) -> Vec<String> {
        self.absent.iter().map(|&id| data.vocabulary.name(id)).collect()
    }

    /// Bytes of the learners.
    pub(crate) fn bytes(&self) -> usize {
        self.state().learners.bytes()
    }

    /// Rows learned, all passes counted.
    pub(crate) fn rows_learned(&self) -> u64 {
        self.done
    }
}

/// The row after which the observer wants the next report; an incremental training has no reports.
fn next_report(session: &Session<'_>, done: u64) -> u64 {
    if session.is_incremental { u64::MAX } else { session.observer.next_report(done).max(done + 1) }
}

/// The number of threads that are busy while a learner learns. Where another thread parses, the one that interns and scales rows also
/// learns them: a third thread would take turns with these two (measured on two cores: one pass takes a tenth more time).
fn threads_in_use(session: &Session<'_>, rows: &BufferedRows) -> usize {
    let is_read = session.reading_threads > 0 && !rows.is_all;
    1 + usize::from(is_read)
}
