//! The model of a checkpoint: the finished sizes, the last of which is the model. Reports use it; it needs no rows.

use super::build_model::{path_step, raw_outputs};
use super::checkpoint::load_steps;
use super::ensemble::SizeStep;
use crate::data::{State, StateError};
use crate::model::{FeatureTests, Output, SizePath, SizePoint};
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
    let steps = load_steps(state, "step", steps, outputs)?;
    if !steps.iter().all(|step| fits(step, outputs, data)) {
        return Err(state.wrong_shape("steps"));
    }
    let column = |id| (data.scale.divisor(id), data.scale.centre(id));
    let last = raw_outputs(steps.last().expect("there is one"), data, column);
    let mut sizes: Vec<SizePoint> = steps.iter().map(|step| path_step(step, data, Vec::new())).collect();
    let chosen = sizes.len() - 1;
    sizes[chosen].outputs = last.clone();
    Ok(Some((last, SizePath { paths, chosen, sizes, tests: FeatureTests::default() })))
}

/// Whether all lists of a size have the right length; the file may be damaged.
fn fits(step: &SizeStep, outputs: usize, data: &TrainingData) -> bool {
    let size = step.active.len();
    let is_known = step.active.iter().all(|&id| (id as usize) < data.vocabulary.span());
    let has_size = step.outputs.iter().all(|means| {
        [&means.weights, &means.evidence, &means.spread, &means.frequency].iter().all(|list| list.len() == size)
    });
    is_known && has_size && outputs == data.targets.outputs() && step.holdout.calibrations.len() == outputs
}
