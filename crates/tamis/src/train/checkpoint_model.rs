//! The model that a checkpoint holds: what is known where the training stands. For reports; no rows are needed.

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
    /// The model if the training ended here; of two stages, that of the first; of the stabilized learner, the last size
    /// that is finished. `None` where a checkpoint does not hold that: before the first size is finished, and after the
    /// last, when all is in the model file.
    pub fn model(mut self) -> Result<Option<Model>, TrainError> {
        self.recipe().check()?;
        let invalid = self.invalid_state();
        let seen = self.seen();
        let mut data = self.data();
        let mut state = std::mem::take(&mut self.state);
        match data.recipe.method.kind() {
            Method::Stabilized | Method::StabilizedPublished => {
                let found = stabilized::checkpoint_model(&mut state, self.header.is_complete, &mut data);
                let Some((outputs, size_path)) = found.map_err(invalid)? else { return Ok(None) };
                let last = &size_path.sizes[size_path.chosen];
                let seen = TrainingSummary { progressive_loss: last.loss, progressive_error: last.error, ..seen };
                Ok(Some(Model { size_path: Some(size_path), ..data.model(outputs, seen) }))
            }
            Method::TwoStage => {
                let start = EpochSgd::for_recipe(&data.recipe, data.targets.loss_fn);
                learners_model(start, &data, seen, &mut state).map(Some).map_err(invalid)
            }
            _ => {
                let start = AnyLearner::new(&data.recipe, data.targets.loss_fn);
                learners_model(start, &data, seen, &mut state).map(Some).map_err(invalid)
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
            fingerprint: self.header.fingerprint,
            skipped: 0,
        }
    }

    /// Progressive validation up to here.
    fn seen(&self) -> TrainingSummary {
        let (rows, done) = (self.header.buffered_rows, self.header.position.done);
        // Rows after the buffered ones are passed over once.
        let is_buffered = self.header.fingerprint.0 <= rows;
        let passes = if is_buffered { done.div_ceil(rows.max(1)).clamp(1, 1_000_000) } else { 1 };
        TrainingSummary { passes: passes as u32, ..self.header.position.progressive.seen(&self.targets()) }
    }
}

fn learners_model<L: Learner + Clone + Send + Sync>(
    start: L,
    data: &TrainingData,
    seen: TrainingSummary,
    state: &mut State,
) -> Result<Model, crate::data::StateError> {
    let mut learners = OneVsRest::new(start, data.targets.outputs(), &Threads::new(1));
    learners.load(state)?;
    let support = Support::of(&learners, data.recipe.k);
    if support.ids.last().is_some_and(|&id| id as usize >= data.vocabulary.span()) {
        return Err(state.wrong_shape("names"));
    }
    Ok(data.model(support.outputs(learners.learners(), data), seen))
}
