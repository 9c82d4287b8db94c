//! The last trial: what was chosen on subset steps is learned with all of them, from most of the rows, and judged by the rest.
//!
//! A short trial misjudges: weights of a short run are less concentrated than those of the whole one, and drawing them costs
//! more. So the best of the trials meets choices that are known to draw well, each learned, drawn and refined as it will be
//! (`court.rs`, `sampled.rs`); the loss of these models decides, also on how far to refine.
//!
//! Where no size is asked for, each is drawn at 8, 16, 32, … features and with all. **The smallest size is taken whose loss
//! is at most one standard error above the least of all**: that of the least loss, over the rows that judge. √2 of them, as
//! for the stabilized learner, gave up a twentieth of the RMSE where the errors of a subset rows are most of the loss.
//!
//! Rows are holdout by what is in them, so that equal rows are on one side, whatever the order: one of four, but no more than
//! there is room for. Below 2048 rows each is a judge once, in one of four turns.
//!
//! Cost: ¾ of the training for each finalist (of fewer than 2048 rows four times that), and the fits; one learner at a time.
//! Memory: that of the training, of the holdout, and of the entries to fit to.

use std::ops::Range;

use super::candidates::{Candidate, CandidateTable, choose};
use super::epoch_sgd::EpochSgd;
use super::halving::HyperParams;
use super::sampling::Size;
use crate::data::{Batch, unit_hash};
use crate::online::{CHUNK_ROWS, OneVsRest};
use crate::recipe::Recipe;
use crate::trainer::{BufferedRows, ProgressiveValidation, Session, TrainError};

/// The share of rows that are held out, and their number and entries at most.
const HOLDOUT_SHARE: f64 = 0.25;
const MAX_HOLDOUT_ROWS: f64 = 8192.0;
const MAX_HOLDOUT_ENTRIES: f64 = (1u64 << 21) as f64;
/// Fewer rows than this are held out in turn (cross-validation).
const FEW_ROWS: u64 = 2048;
const FOLDS: usize = 4;

/// What is selected: the parameters to learn all rows with, the number of features where that was open, and how far their
/// weights are refined (τ).
pub(super) struct Selected {
    pub(super) params: HyperParams,
    pub(super) size: Option<Size>,
    pub(super) refinement: f64,
}

/// Learns and evaluates the finalists. `recipe` gives the recipe of one, for a share of the rows. `None` if no rows are held
/// out.
pub(super) fn select_candidate(
    session: &Session<'_>,
    rows: &mut BufferedRows,
    finalists: &[HyperParams],
    entries: u64,
    recipe: impl Fn(HyperParams, f64) -> Recipe,
) -> Result<Option<Selected>, TrainError> {
    let room = (MAX_HOLDOUT_ROWS / rows.rows as f64).min(MAX_HOLDOUT_ENTRIES / entries.max(1) as f64);
    let share = HOLDOUT_SHARE.min(room);
    let folds = if rows.rows < FEW_ROWS { FOLDS } else { 1 };
    let mut table = CandidateTable::new(session.data, finalists.len());
    for fold in 0..folds {
        let range = fold as f64 * share..(fold + 1) as f64 * share;
        let mut holdout = Batch::new();
        for (number, &finalist) in finalists.iter().enumerate() {
            let recipe = recipe(finalist, 1.0 - share);
            let keep = (number == 0).then_some(&mut holdout);
            let (learners, seen) = learn(session, rows, &recipe, &range, keep)?;
            table.score(session.data, number, learners.learners(), seen.mean_loss(), &holdout);
        }
        table.end_fold(session, rows, &holdout, |row, label| range.contains(&unit_hash(row, label)))?;
    }
    let Some(Candidate { finalist, size, refinement, .. }) = choose(&table.candidates(), table.is_given) else {
        return Ok(None);
    };
    let size = (!table.is_given).then_some(Size::Exactly(size.unwrap_or(usize::MAX)));
    Ok(Some(Selected { params: finalists[finalist], size, refinement }))
}

/// Learners of all rows but those held out, which are kept if `holdout` asks for them.
fn learn(
    session: &Session<'_>,
    rows: &mut BufferedRows,
    recipe: &Recipe,
    range: &Range<f64>,
    mut holdout: Option<&mut Batch>,
) -> Result<(OneVsRest<EpochSgd>, ProgressiveValidation), TrainError> {
    let (data, scaler) = (&*session.data, session.data.scaler());
    let start = EpochSgd::for_recipe(recipe, data.targets.loss_fn);
    let mut learners = OneVsRest::new(start, data.targets.outputs(), session.threads);
    let (mut seen, mut batch) = (ProgressiveValidation::default(), Batch::new());
    for pass in 0..u64::from(data.passes) {
        for chunk in rows.store.chunks(pass) {
            let chunk = chunk?;
            for (example, label) in chunk.examples().zip(chunk.labels()) {
                if range.contains(&unit_hash(example.row, label)) {
                    if let (Some(holdout), 0) = (&mut holdout, pass) {
                        scaler.push(example, holdout);
                    }
                    continue;
                }
                scaler.push(example, &mut batch);
                if batch.len() == CHUNK_ROWS {
                    learners.learn(&batch, &data.targets, &mut seen);
                    batch.clear();
                    if session.options.is_stopped() {
                        return Err(TrainError::Interrupted { rows: 0, saved: None });
                    }
                }
            }
        }
    }
    learners.learn(&batch, &data.targets, &mut seen);
    Ok((learners, seen))
}
