//! The stabilized learner over buffered rows, as a [`Trainer`].

use super::build_model::{base_scores, finish, model_of, only_confirmed, outputs, select};
use super::checkpoint;
use super::cross_fit::CrossFit;
use super::cut_sizes::cut_scores;
use super::feature_order::{LARGEST, set_orders};
use super::feature_tests::test_features;
use super::intermediate_sizes::intermediate_sizes;
use super::params::params_of;
use super::refinement::{gather, has_memory, refine};
use super::rows_in_use::RowsInUse;
use super::setup::set_up;
use crate::data::{ChunkOrder, Example, State};
use crate::io::Block;
use crate::model::{FeatureTests, Model};
use crate::trainer::{BufferedRows, Checkpoint, Position, Session, SizeReport, TrainError, Trainer, TrainingData};

/// A training of the stabilized learner.
pub(crate) struct StabilizedTrainer {
    ensembles: CrossFit,
    /// The rows over the features in use.
    in_use: RowsInUse,
    /// The tests of the features, when all stages are finished.
    tests: Option<FeatureTests>,
    /// The predictions of a model without features, if one may be needed.
    base_scores: Vec<f64>,
}

impl StabilizedTrainer {
    /// A training from the start or from a checkpoint.
    pub(crate) fn start(
        session: &mut Session<'_>,
        rows: &mut BufferedRows,
        mut resume: Option<Checkpoint>,
    ) -> Result<Self, TrainError> {
        if let Some(k) = session.data.recipe.k.filter(|&k| k > session.data.vocabulary.len()) {
            let seen = session.data.vocabulary.len();
            session.observer.note(&format!("{k} features were asked for, but only {seen} were seen: all are kept"));
        }
        let paths = resume.as_mut().and_then(|saved| saved.state.take_count("paths").ok()).map(|paths| paths as usize);
        if let Some(centres) = resume.as_ref().and_then(|saved| saved.state.arrays().get("centres")) {
            session.data.scale.restore_centres(centres.clone());
        }
        let mut ensembles = set_up(session, rows, paths)?;
        match resume {
            Some(saved) => restore(&mut ensembles, session.data, rows, saved)?,
            None => ensembles.begin(),
        }
        Ok(StabilizedTrainer { ensembles, in_use: RowsInUse::default(), tests: None, base_scores: Vec::new() })
    }

    /// Ends a stage: evaluates the size, refines its weights and begins the next stage.
    fn end_stage(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        let ensembles = &mut self.ensembles;
        let mut step = ensembles.size_step();
        let folds = ensembles.take_fold_means();
        let sample = gather(ensembles, rows, &mut self.in_use, session.data.fingerprint.0)?;
        let weights = refine(session.data, ensembles, &sample, &mut step, folds);
        ensembles.record(&step, &weights.means);
        let next = ensembles.next_size();
        let mut between = Vec::new();
        if step.active.len() <= LARGEST {
            if ensembles.main.order.is_empty() && !has_memory(session.data) {
                set_orders(session.data, ensembles, rows, &self.in_use, (&step.outputs, &weights.means))?;
            }
            between = intermediate_sizes(session.data, ensembles, &sample, &step, &weights, next);
        }
        let next = between.first().map_or(next, |size| size.active.len());
        step.cuts = cut_scores(ensembles, &step, &weights.means, next);
        ensembles.between.extend(between);
        ensembles.end_stage(step, &weights.means);
        let step = ensembles.steps.last().expect("just added");
        let unit = session.data.targets.loss_unit();
        let (loss, error) = (step.holdout.loss * unit, step.holdout.error);
        session.observer.size(&SizeReport { size: step.active.len(), loss, error });
        if session.observer.wants_models() {
            let outputs = outputs(session.data, ensembles, step);
            session.observer.model(ensembles.done, &model_of(session.data, ensembles, step, outputs));
        }
        Ok(())
    }

    /// Learns the rows of a chunk from one on; stages may end within it.
    fn learn_chunk(
        &mut self,
        session: &mut Session<'_>,
        rows: &mut BufferedRows,
        order: ChunkOrder,
        start: usize,
    ) -> Result<(), TrainError> {
        let features = self.ensembles.features_in_use();
        let chunk = self.in_use.chunk(&mut rows.store, order, &features, &self.ensembles.preparation())?;
        self.in_use.keep(&chunk, &features, &rows.store);
        let every = session.options.checkpoint_every();
        let rows_left = |done: u64| every.map_or(u64::MAX, |every| every - done % every);
        let mut next = start;
        while next < chunk.len() && !self.ensembles.is_over() {
            let ensembles = &mut self.ensembles;
            let wanted = (ensembles.rows_wanted() as u64).min(rows_left(ensembles.done)) as usize;
            let batch: Vec<(Example<'_>, u64)> = chunk.rows_from(next).take(wanted).collect();
            next += batch.len();
            if ensembles.learn(&batch) {
                self.end_stage(session, rows)?;
            }
            self.pause(session)?;
        }
        Ok(())
    }

    /// An error if a weight is not finite.
    fn check_finite(&self, data: &TrainingData) -> Result<(), TrainError> {
        let Some(step) = self.ensembles.steps.iter().find(|step| !step.is_finite()) else { return Ok(()) };
        let name = |id| format!("{:?}", data.vocabulary.name(id));
        let feature = step.not_finite().map_or("the intercept".into(), name);
        Err(TrainError::Diverged { row: self.ensembles.done, feature })
    }

    /// Between chunks of rows: reports progress, saves a checkpoint if one is due, and stops if that is requested.
    fn pause(&self, session: &mut Session<'_>) -> Result<(), TrainError> {
        let ensembles = &self.ensembles;
        session.observer.tick(ensembles.done, Some(ensembles.lengths.iter().sum()), 0);
        let every = session.options.checkpoint_every();
        if every.is_some_and(|every| ensembles.done.is_multiple_of(every)) && !ensembles.is_over() {
            session.save_and_go_on(self.save(false))?;
        }
        if session.options.is_stopped() {
            let saved = session.save(self.save(false), false)?;
            return Err(TrainError::Interrupted { rows: ensembles.done, saved });
        }
        Ok(())
    }
}

/// Continues a training that was interrupted, or starts from the ensembles of a complete one.
fn restore(
    ensembles: &mut CrossFit,
    data: &TrainingData,
    rows: &BufferedRows,
    mut saved: Checkpoint,
) -> Result<(), TrainError> {
    let invalid = saved.invalid_state();
    if saved.header.is_complete {
        checkpoint::warm_start(ensembles, &mut saved.state, params_of(&data.recipe).warm_start_decay)
            .map_err(invalid)?;
        ensembles.begin();
        return Ok(());
    }
    if saved.header.fingerprint != (rows.rows, rows.fingerprint) {
        return Err(TrainError::OtherData { path: saved.path, row: rows.rows.min(saved.header.buffered_rows) });
    }
    checkpoint::restore(ensembles, &mut saved.state).map_err(invalid)?;
    ensembles.done = saved.header.position.done;
    Ok(())
}

impl Trainer for StabilizedTrainer {
    /// Learns all stages, in as many passes as they need.
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        while !self.ensembles.is_over() {
            // Pass 0 was the survey.
            let (pass, mut skip) = (1 + self.ensembles.done / rows.rows, (self.ensembles.done % rows.rows) as usize);
            for order in rows.store.orders(pass) {
                let start = skip.min(order.len());
                skip -= start;
                if start < order.len() && !self.ensembles.is_over() {
                    self.learn_chunk(session, rows, order, start)?;
                }
            }
        }
        Ok(())
    }

    fn learn_block(&mut self, _session: &mut Session<'_>, _block: Block) -> Result<(), TrainError> {
        unreachable!("all rows are buffered")
    }

    fn flush(&mut self, _session: &mut Session<'_>) -> Result<(), TrainError> {
        Ok(())
    }

    fn model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        self.check_finite(data)?;
        let chosen = select(&self.ensembles, data.recipe.k);
        let none = FeatureTests { entered: self.ensembles.entered, rows: data.fingerprint.0, tests: Vec::new() };
        let model = finish(data, &self.ensembles, chosen, self.tests.clone().unwrap_or(none));
        match (params_of(&data.recipe).fdr, &self.tests) {
            (Some(fdr), Some(_)) => Ok(only_confirmed(data, model, fdr, &self.base_scores)),
            _ => Ok(model),
        }
    }

    fn finish(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<Model, TrainError> {
        self.check_finite(session.data)?;
        let features = &select(&self.ensembles, session.data.recipe.k).active;
        self.tests = Some(test_features(session.data, &self.ensembles, rows, &self.in_use, features)?);
        if params_of(&session.data.recipe).fdr.is_some() {
            self.base_scores = base_scores(&self.ensembles.codings, rows)?;
        }
        self.model(session.data)
    }

    fn save(&self, is_complete: bool) -> (Position, State) {
        let position = Position { done: self.ensembles.done, ..Position::default() };
        (position, checkpoint::save(&self.ensembles, is_complete))
    }

    fn rows_learned(&self) -> u64 {
        self.ensembles.done
    }

    fn bytes(&self) -> usize {
        self.ensembles.max_bytes
    }
}
