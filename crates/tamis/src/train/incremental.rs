//! Incremental training (`partial_fit`): rows may arrive, and models may be requested, at any time.
//!
//! The model is that of a fit with one pass over the same rows, bit for bit, however they are split into pieces. A fit
//! buffers the first rows of the stream to find the scaling of columns and targets, and so does this; a model that is
//! requested before the buffer is full is learned from the buffered rows. If nothing is scaled and the initial step
//! does not depend on the rows, none are buffered.

use std::path::Path;

use super::training::Training;
use crate::data::{Batch, Example, FeatureId, Label, LabelCode, Parts, ScaleKind, State, StateError, TargetEncoder};
use crate::io::{Block, ReadOptions};
use crate::loss::LossKind;
use crate::online::OnlineTrainer;
use crate::online::initial_step;
use crate::param::names;
use crate::recipe::{ClassWeight, Recipe};
use crate::trainer::{BufferPlan, Checkpoint, FitOptions, Position, TrainError, checkpoint_bytes, class_factors};

/// The kind of target.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetSpec {
    /// Numbers.
    Numbers,
    /// One of these classes, two or more. No other class may appear later.
    Classes(Vec<Label>),
}

impl Training {
    /// An incremental training without rows. The recipe must need each row only once.
    pub fn incremental(recipe: &Recipe, spec: TargetSpec, threads: usize) -> Result<Training, TrainError> {
        recipe.check()?;
        check_incremental(recipe)?;
        let options = FitOptions {
            read: ReadOptions { threads, ..ReadOptions::default() },
            task: crate::data::TaskKind::Regression,
            memory: u64::MAX,
            ..FitOptions::default()
        };
        let loss = recipe.loss.unwrap_or(LossKind::default_for(spec == TargetSpec::Numbers));
        let is_needed = recipe.scaling() != ScaleKind::None || initial_step::limit(recipe, loss).is_some();
        let plan = BufferPlan::incremental(recipe, is_needed);
        let mut training = Training::with_plan(recipe, &options, plan, None);
        training.is_incremental = true;
        if let TargetSpec::Classes(classes) = spec {
            training.declared = Some(TargetEncoder::for_classes(&recipe.target_options(), classes)?);
        }
        Ok(training)
    }

    /// Learns the rows of a block, and waits until they are learned.
    pub fn learn(&mut self, block: Block) -> Result<(), TrainError> {
        self.push(block, 0, &mut ())?;
        let mut nobody = ();
        let (trainer, mut session) = self.session(0, &mut nobody);
        trainer.map_or(Ok(()), |trainer| trainer.flush(&mut session))
    }

    /// Everything that is needed to continue, as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.save_bytes(false)
    }

    /// A checkpoint as bytes. Buffered rows are part of it.
    pub(super) fn save_bytes(&self, is_complete: bool) -> Vec<u8> {
        if let Some(trainer) = &self.trainer {
            let (position, state) = trainer.save(is_complete);
            return checkpoint_bytes(&self.data, position, is_complete, &state);
        }
        let mut data = self.data.clone();
        if let Some(declared) = &self.declared {
            data.targets = declared.clone();
        }
        data.buffered_rows = self.rows.rows;
        let mut state = State::default();
        put_rows(&mut state, &self.waiting_rows());
        checkpoint_bytes(&data, Position::default(), is_complete, &state)
    }

    /// The buffered rows, with targets that are numbers or class numbers.
    fn waiting_rows(&self) -> Batch {
        let mut copy = self.rows.copy_in_memory();
        copy.store.finish().expect("rows are in memory");
        let mut declared = self.declared.clone();
        let map = declared.as_mut().map(|targets| targets.map(&self.rows.labels).expect("labels were checked"));
        let mut rows = Batch::new();
        for chunk in copy.store.chunks(0) {
            let chunk = chunk.expect("rows are in memory");
            for (example, label) in chunk.examples().zip(chunk.labels()) {
                let target = match (&map, label) {
                    (Some(map), label) => map.target(label),
                    (None, LabelCode::Number(number)) => number,
                    (None, LabelCode::Text(_)) => unreachable!("labels were checked"),
                };
                rows.push(Example { target, ..example });
            }
        }
        rows
    }

    /// The training that [`Training::to_bytes`] saved. Results do not depend on `threads`.
    pub fn from_bytes(bytes: &[u8], threads: usize) -> Result<Training, TrainError> {
        Training::of_checkpoint(Checkpoint::from_bytes(bytes, Path::new("a saved training"))?, threads)
    }

    /// The training of a checkpoint, which continues with rows as they come.
    pub(super) fn of_checkpoint(mut checkpoint: Checkpoint, threads: usize) -> Result<Training, TrainError> {
        checkpoint.recipe().check()?;
        let recipe = checkpoint.recipe().clone();
        if !recipe.method.info().partial_fit {
            return Err(check_incremental(&recipe).expect_err("it cannot be incremental"));
        }
        let targets = checkpoint.targets();
        let spec =
            if targets.is_numbers() { TargetSpec::Numbers } else { TargetSpec::Classes(targets.classes().to_vec()) };
        let mut training = Training::incremental(&Recipe { passes: Some(1), ..recipe.clone() }, spec, threads)?;
        training.data.recipe = recipe;
        training.data.vocabulary = checkpoint.vocabulary.clone();
        if checkpoint.state.arrays().contains_key("rows.offsets") {
            training.buffer_again(&mut checkpoint)?;
        } else {
            training.reopen(targets, checkpoint)?;
        }
        Ok(training)
    }

    /// Restores the buffered rows.
    fn buffer_again(&mut self, checkpoint: &mut Checkpoint) -> Result<(), TrainError> {
        let invalid = checkpoint.invalid_state();
        let span = self.data.vocabulary.span();
        let rows = take_rows(&mut checkpoint.state, span).map_err(&invalid)?;
        for example in rows.examples() {
            let label = match &self.declared {
                None => Some(Label::Number(example.target)).filter(|_| example.target.is_finite()),
                Some(declared) => declared.classes().get(example.target as usize).cloned(),
            };
            let label = label.ok_or_else(|| invalid(checkpoint.state.wrong_shape("rows.targets")))?;
            self.rows.restore(example, &label, &mut self.data)?;
        }
        Ok(())
    }

    /// Restores the learners.
    fn reopen(&mut self, targets: TargetEncoder, mut checkpoint: Checkpoint) -> Result<(), TrainError> {
        let header = &checkpoint.header;
        self.data.scale = checkpoint.scale();
        self.data.targets = targets;
        self.data.class_factors = class_factors(&self.data.recipe, &self.data.targets, |_| 0)?;
        self.data.columns = header.columns.clone();
        self.data.rows_before = header.rows_before;
        self.data.buffered_rows = header.buffered_rows;
        self.data.passes = header.passes;
        self.data.weight_unit = header.weight_unit;
        self.data.fingerprint = header.fingerprint;
        self.data.first_rows = header.first_rows.clone();
        (self.rows.rows, self.rows.fingerprint) = (header.buffered_rows, header.fingerprint.1);
        let rows = std::mem::replace(&mut self.rows, crate::trainer::BufferedRows::empty());
        let mut nobody = ();
        let (_, session) = self.session(0, &mut nobody);
        let trainer = OnlineTrainer::reopen(&session, &rows, &mut checkpoint)?;
        self.trainer = Some(Box::new(trainer));
        self.rows = rows;
        Ok(())
    }
}

/// Rows that arrive one by one can be neither learned twice nor surveyed before they are learned.
fn check_incremental(recipe: &Recipe) -> Result<(), TrainError> {
    if !recipe.method.info().partial_fit {
        return Err(TrainError::NotIncremental { method: recipe.method.name() });
    }
    let scaling = recipe.scaling();
    let needs_all = [
        (recipe.passes.is_some_and(|passes| passes > 1), names::PASSES.with(recipe.passes.unwrap_or(1))),
        (recipe.refit == Some(true), names::REFIT.into()),
        (recipe.class_weight == Some(ClassWeight::Balanced), names::CLASS_WEIGHT.with("balanced")),
        (recipe.shuffle == Some(true), names::SHUFFLE.into()),
        (matches!(scaling, ScaleKind::UnitVariance | ScaleKind::SqrtStd), names::SCALE.with(scaling.name())),
    ];
    match needs_all.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, param)) => Err(TrainError::NeedsAllRows { param }),
        None => Ok(()),
    }
}

fn put_rows(state: &mut State, rows: &Batch) {
    let Parts { offsets, ids, values, targets, weights } = rows.parts();
    state.put("rows.offsets", offsets.iter().map(|&offset| offset as f64).collect());
    state.put("rows.ids", ids.iter().map(|&id| f64::from(id)).collect());
    state.put("rows.values", values.to_vec());
    state.put("rows.targets", targets.to_vec());
    state.put("rows.weights", weights.to_vec());
}

/// Rows of features below `span`. Invalid arrays give an error.
fn take_rows(state: &mut State, span: usize) -> Result<Batch, StateError> {
    let offsets: Vec<usize> = state.take("rows.offsets")?.into_iter().map(|offset| offset as usize).collect();
    let ids: Vec<FeatureId> = state.take("rows.ids")?.into_iter().map(|id| id as FeatureId).collect();
    let [values, targets, weights] = ["values", "targets", "weights"].map(|name| state.take(&format!("rows.{name}")));
    let (values, targets, weights) = (values?, targets?, weights?);
    let whole = offsets.first() == Some(&0) && offsets.is_sorted() && offsets.last() == Some(&ids.len());
    let alike = offsets.len() == targets.len() + 1 && targets.len() == weights.len() && ids.len() == values.len();
    let finite = values.iter().all(|value| value.is_finite()) && weights.iter().all(|weight| *weight >= 0.0);
    if !(whole && alike && finite && ids.iter().all(|&id| (id as usize) < span)) {
        return Err(state.wrong_shape("rows"));
    }
    Ok(Batch::from_parts(offsets, ids, values, targets, weights))
}
