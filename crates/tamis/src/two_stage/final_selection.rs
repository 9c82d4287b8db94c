//! The final selection: the finalists of the halving learn most of the rows at full length and are compared on the
//! rest.
//!
//! A short trial is biased: the weights of a short run are less concentrated than those of a full one, so that sampling
//! them costs more. The best of the halving is therefore compared with parameters that are known to sample well. Each
//! finalist is learned, sampled and refined as the final model will be (`candidates.rs`, `sampled_model.rs`), and the
//! held-out loss of these models decides, also on the strength of refinement.
//!
//! If no size is given, each finalist is sampled at 8, 16, 32, … features and with all. **The smallest size is chosen
//! whose loss is at most one standard error above the least loss of all** (the one-standard-error rule,
//! [`crate::select`]). With √2 standard errors, as for the stabilized learner, the RMSE was a twentieth larger where a
//! few rows dominate the loss.
//!
//! The hash of a row's content decides whether it is held out, so that equal rows are on the same side, whatever their
//! order: one of four rows, within the limits below. With fewer than 2048 rows, each row is held out once, in one of
//! four folds.
//!
//! Cost: ¾ of the training for each finalist (four times that with fewer than 2048 rows), and the fits; one learner at
//! a time. Memory: that of the training, of the held-out rows, and of the entries to fit.

use super::candidates::{Candidate, CandidateTable, choose};
use super::epoch_sgd::EpochSgd;
use super::halving::HyperParams;
use super::sampling::Size;
use crate::data::{Batch, unit_hash};
use crate::online::{CHUNK_ROWS, OneVsRest};
use crate::recipe::Recipe;
use crate::trainer::{BufferedRows, ProgressiveValidation, RowHasher, Session, TrainError};

/// The share of rows that are held out, and the largest number of such rows and of their entries.
const HOLDOUT_SHARE: f64 = 0.25;
const MAX_HOLDOUT_ROWS: f64 = 8192.0;
const MAX_HOLDOUT_ENTRIES: f64 = (1u64 << 21) as f64;
/// With fewer rows than this, each row is held out once (cross-validation).
const FEW_ROWS: u64 = 2048;
const FOLDS: usize = 4;

/// The result: the parameters to learn all rows with, the number of features if it was not given, and the strength of
/// refinement (τ).
pub(super) struct Selected {
    pub(super) params: HyperParams,
    pub(super) size: Option<Size>,
    pub(super) refinement: f64,
}

/// Learns and evaluates the finalists. `recipe` returns the recipe of one, for a share of the rows. `None` if no rows
/// are held out.
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
    let hasher = RowHasher::new(&session.data.vocabulary, session.data.recipe.row_id());
    let places: Vec<f64> = rows.row_hashes(hasher)?.into_iter().map(unit_hash).collect();
    let mut table = CandidateTable::new(session.data, finalists.len());
    for fold in 0..folds {
        let range = fold as f64 * share..(fold + 1) as f64 * share;
        let mut holdout = Batch::new();
        for (number, &finalist) in finalists.iter().enumerate() {
            let recipe = recipe(finalist, 1.0 - share);
            let keep = (number == 0).then_some(&mut holdout);
            let (learners, progressive) = learn(session, rows, &recipe, |row| range.contains(&places[row]), keep)?;
            table.score(session.data, number, learners.learners(), progressive.mean_loss(), &holdout);
        }
        table.end_fold(session, rows, &holdout, |row| range.contains(&places[row]))?;
    }
    let Some(Candidate { finalist, size, refinement, .. }) = choose(&table.candidates(), table.is_given) else {
        return Ok(None);
    };
    let size = (!table.is_given).then_some(Size::Exactly(size.unwrap_or(usize::MAX)));
    Ok(Some(Selected { params: finalists[finalist], size, refinement }))
}

/// Learners of all rows that are not held out; the held-out rows are kept if `holdout` is given.
fn learn(
    session: &Session<'_>,
    rows: &mut BufferedRows,
    recipe: &Recipe,
    is_held_out: impl Fn(usize) -> bool,
    mut holdout: Option<&mut Batch>,
) -> Result<(OneVsRest<EpochSgd>, ProgressiveValidation), TrainError> {
    let (data, scaler) = (&*session.data, session.data.scaler());
    let start = EpochSgd::for_recipe(recipe, data.targets.loss_fn);
    let mut learners = OneVsRest::new(start, data.targets.outputs(), session.threads);
    let (mut progressive, mut batch) = (ProgressiveValidation::default(), Batch::new());
    for pass in 0..u64::from(data.passes) {
        for chunk in rows.store.chunks(pass) {
            let chunk = chunk?;
            for (number, example) in chunk.numbers().zip(chunk.examples()) {
                if is_held_out(number) {
                    if let (Some(holdout), 0) = (&mut holdout, pass) {
                        scaler.push(example, holdout);
                    }
                    continue;
                }
                scaler.push(example, &mut batch);
                if batch.len() == CHUNK_ROWS {
                    learners.learn(&batch, &data.targets, &mut progressive);
                    batch.clear();
                    if session.options.is_stopped() {
                        return Err(TrainError::Interrupted { rows: 0, saved: None });
                    }
                }
            }
        }
    }
    learners.learn(&batch, &data.targets, &mut progressive);
    Ok((learners, progressive))
}
