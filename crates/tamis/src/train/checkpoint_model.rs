//! The model of a checkpoint at its position in the training. Reports use it; it needs no rows.

use crate::data::State;
use crate::learners::AnyLearner;
use crate::learners::Learner;
use crate::model::{Model, TrainingSummary};
use crate::online::{OneVsRest, Support};
use crate::recipe::Method;
use crate::stabilized;
use crate::threads::Threads;
use crate::trainer::{Checkpoint, TrainError, TrainingData};
use crate::two_stage::EpochSgd;

impl Checkpoint {
    /// The model if the training ended here. Before the end, it is that of the first stage for `two-stage`, and the last
    /// finished size for `stabilized`. `None` if the checkpoint contains no model: before the first size is finished.
    pub fn model(mut self) -> Result<Option<Model>, TrainError> {
        self.recipe().check()?;
        if let Some(text) = &self.finished {
            return Ok(Some(Model::from_bytes(text, &self.path)?));
        }
        let invalid = self.invalid_state();
        let summary = self.summary();
        let mut data = self.data();
        let mut state = std::mem::take(&mut self.state);
        match data.recipe.method.kind() {
            Method::Stabilized | Method::StabilizedPublished => {
                let found = stabilized::checkpoint_model(&mut state, self.header.is_complete, &mut data);
                let Some((outputs, size_path)) = found.map_err(invalid)? else { return Ok(None) };
                let last = &size_path.sizes[size_path.chosen];
                let summary = TrainingSummary { progressive_loss: last.loss, progressive_error: last.error, ..summary };
                Ok(Some(Model { size_path: Some(size_path), ..data.model(outputs, summary) }))
            }
            Method::Kernel => Ok(None),
            Method::TwoStage => {
                let start = EpochSgd::for_recipe(&data.recipe, data.targets.loss_fn);
                learners_model(start, &data, summary, &mut state).map(Some).map_err(invalid)
            }
            _ => {
                let start = AnyLearner::new(&data.recipe, data.targets.loss_fn);
                learners_model(start, &data, summary, &mut state).map(Some).map_err(invalid)
            }
        }
    }

    fn data(&self) -> TrainingData {
        TrainingData {
            recipe: self.header.recipe.clone(),
            vocabulary: self.vocabulary.clone(),
            scale: self.scale(),
            targets: self.targets(),
            columns: self.header.columns.clone(),
            rows_before: self.header.rows_before,
            buffered_rows: self.header.buffered_rows,
            passes: 1,
            class_factors: Vec::new(),
            weight_unit: self.header.weight_unit,
            fingerprint: self.header.fingerprint,
            first_rows: self.header.first_rows.clone(),
            skipped: 0,
            finished: None,
            narrowed: None,
        }
    }

    /// The training summary with progressive validation up to here.
    fn summary(&self) -> TrainingSummary {
        let (rows, done) = (self.header.buffered_rows, self.header.position.done);
        // Rows after the buffered ones are learned once.
        let is_buffered = self.header.fingerprint.0 <= rows;
        let passes = if is_buffered { done.div_ceil(rows.max(1)).clamp(1, 1_000_000) } else { 1 };
        TrainingSummary { passes: passes as u32, ..self.header.position.progressive.summary(&self.targets()) }
    }
}

fn learners_model<L: Learner + Clone + Send + Sync>(
    start: L,
    data: &TrainingData,
    summary: TrainingSummary,
    state: &mut State,
) -> Result<Model, crate::data::StateError> {
    let mut learners = OneVsRest::new(start, data.targets.outputs(), &Threads::new(1));
    learners.load(state)?;
    let support = Support::of(&learners, data.recipe.k);
    if support.ids.last().is_some_and(|&id| id as usize >= data.vocabulary.span()) {
        return Err(state.wrong_shape("names"));
    }
    Ok(data.model(support.outputs(learners.learners(), data), summary))
}
