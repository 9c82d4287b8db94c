//! The model of a checkpoint: the finished sizes, the last of which is the model. Reports use it; it needs no rows.

use super::build_model::{path_step, raw_outputs};
use super::checkpoint::load_steps;
use crate::data::{State, StateError};
use crate::model::{Output, SizePath, SizePoint};
use crate::trainer::TrainingData;

/// The outputs of the last finished size and the size path. `None` if the checkpoint stores no sizes: before the first
/// one is finished, and after a complete training, whose model contains them.
pub(crate) fn checkpoint_model(
    state: &mut State,
    is_complete: bool,
    data: &mut TrainingData,
) -> Result<Option<(Vec<Output>, SizePath)>, StateError> {
    let (steps, outputs) = (state.take_count("steps")?, state.take_count("outputs")? as usize);
    let paths = state.take_count("paths")? as usize;
    if is_complete || steps == 0 {
        return Ok(None);
    }
    data.scale.restore_centres(state.take("centres")?);
    if outputs != data.targets.outputs() {
        return Err(state.wrong_shape("outputs"));
    }
    let steps = load_steps(state, "step", steps, (outputs, data.vocabulary.span()))?;
    let column = |id| (data.scale.divisor(id), data.scale.centre(id));
    let last = raw_outputs(steps.last().expect("there is one"), data, column);
    let mut sizes: Vec<SizePoint> = steps.iter().map(|step| path_step(step, data, Vec::new())).collect();
    let chosen = sizes.len() - 1;
    sizes[chosen].outputs = last.clone();
    Ok(Some((last, SizePath { paths, chosen, sizes })))
}
