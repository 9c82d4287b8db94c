//! The model a checkpoint would give: what is known where the training stands. For reports; no rows are needed.

use super::bank::Bank;
use super::checkpoint::{Position, Saved};
use super::choose::{assemble, outputs, support};
use super::stabilized;
use super::task::Targets;
use super::{TrainError, progress};
use crate::data::ColumnScale;
use crate::model::{Model, Seen};
use crate::recipe::Family;

impl Saved {
    /// What the model would be if the training ended here; of two stages, what the first has learned; of the stabilized
    /// learner, the last rung it finished. Nothing where a checkpoint does not hold that: before the first rung, and after
    /// the last, when all is in the model.
    pub fn model(mut self) -> Result<Option<Model>, TrainError> {
        let Position { recipe, loss, kind, progressive, columns, complete, .. } = self.position.clone();
        recipe.check()?;
        let path = self.path.clone();
        let misfit = |source| TrainError::CheckpointState { path: path.clone(), source };
        let targets = Targets::from_parts(loss, &recipe, kind);
        let mut scale = ColumnScale::new(recipe.scaling());
        scale.restore(std::mem::take(&mut self.divisors));
        let seen = self.seen(&progressive, &targets);
        if recipe.method.info().family == Family::Staged {
            let found = stabilized::standing(&mut self.state, complete, &targets, &self.dictionary, &mut scale);
            let Some((outputs, selection)) = found.map_err(misfit)? else { return Ok(None) };
            let last = &selection.ladder[selection.chosen];
            let seen = Seen { progressive_loss: last.loss, progressive_error: last.error, ..seen };
            let model = assemble(&recipe, &targets, columns, seen, outputs);
            return Ok(Some(Model { selection: Some(selection), ..model }));
        }
        let mut bank = Bank::new(&recipe, &targets, 1);
        bank.load(&mut self.state).map_err(misfit)?;
        let chosen = support(&bank, recipe.k);
        if chosen.ids.last().is_some_and(|&id| id as usize >= self.dictionary.span()) {
            return Err(misfit(self.state.misfit("names")));
        }
        let outputs = outputs(&bank, &targets, &chosen, &self.dictionary, &scale);
        Ok(Some(assemble(&recipe, &targets, columns, seen, outputs)))
    }

    /// What was seen up to here.
    fn seen(&self, progressive: &progress::Progressive, targets: &Targets) -> Seen {
        let Position { rows_before, head_rows, done, fingerprint: (rows, _), .. } = self.position;
        // Rows beyond the head are passed over once.
        let passes = if rows <= head_rows { done.div_ceil(head_rows.max(1)).clamp(1, 1_000_000) } else { 1 };
        Seen {
            rows: rows_before.saturating_add(rows),
            passes: passes as u32,
            features: self.dictionary.len() as u64,
            ..progressive.seen(targets)
        }
    }
}
