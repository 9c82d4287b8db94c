//! Where a saved walk stands: its ladder so far, the last rung as the model. For reports; no rows are needed.

use super::outcome::{raw_outputs, step};
use super::saving::load_rungs;
use crate::data::{ColumnScale, Dictionary};
use crate::learn::stabilized::Rung;
use crate::learn::{State, StateError};
use crate::model::{Output, Selection, Step};
use crate::train::task::Targets;

/// The outputs of the last rung and the ladder that led to it; nothing where no rung is kept: before the first is finished,
/// and once the walk is over, when they are in the model.
pub(in crate::train) fn standing(
    state: &mut State,
    complete: bool,
    targets: &Targets,
    dictionary: &Dictionary,
    scale: &mut ColumnScale,
) -> Result<Option<(Vec<Output>, Selection)>, StateError> {
    let (rungs, outputs) = (state.take_count("rungs")?, state.take_count("outputs")? as usize);
    let paths = state.take_count("paths")? as usize;
    if complete || rungs == 0 {
        return Ok(None);
    }
    scale.restore_centres(state.take("centres")?);
    let rungs = load_rungs(state, rungs, outputs)?;
    if !rungs.iter().all(|rung| fits(rung, outputs, dictionary, targets)) {
        return Err(state.misfit("rungs"));
    }
    let column = |id| (scale.divisor(id), scale.centre(id));
    let last = raw_outputs(rungs.last().expect("there is one"), targets, dictionary, column);
    let mut ladder: Vec<Step> = rungs.iter().map(|rung| step(rung, targets, Vec::new())).collect();
    let chosen = ladder.len() - 1;
    ladder[chosen].outputs = last.clone();
    Ok(Some((last, Selection { paths, chosen, ladder })))
}

/// Whether all lists of a rung are as long as they must be, whatever the file holds.
fn fits(rung: &Rung, outputs: usize, dictionary: &Dictionary, targets: &Targets) -> bool {
    let size = rung.active.len();
    let known = rung.active.iter().all(|&id| (id as usize) < dictionary.span());
    let long = rung.outputs.iter().all(|means| {
        [&means.weights, &means.evidence, &means.spread, &means.votes].iter().all(|list| list.len() == size)
    });
    known && long && outputs == targets.learners() && rung.verdict.calibrations.len() == outputs
}
