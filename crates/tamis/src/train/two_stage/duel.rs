//! The last trial: what was chosen on few steps is learned with all of them, from most of the rows, and judged by the rest.
//!
//! A short trial misjudges: weights of a short run are less concentrated than those of the whole one, and drawing them costs
//! more. So the best of the trials meets choices that are known to draw well, each learned, drawn and polished as it will be
//! (`court.rs`, `sketch.rs`); the loss of these models decides, also on how far to polish.
//!
//! Where no size is asked for, each is drawn at 8, 16, 32, … features and with all. **The smallest size is taken whose loss
//! is at most one standard error above the least of all**: that of the least loss, over the rows that judge. √2 of them, as
//! for the stabilized learner, gave up a twentieth of the RMSE where the errors of a few rows are most of the loss.
//!
//! Rows are judges by what is in them, so that equal rows are on one side, whatever the order: one of four, but no more than
//! there is room for. Below 2048 rows each is a judge once, in one of four turns.
//!
//! Cost: ¾ of the training for each finalist (of fewer than 2048 rows four times that), and the fits; one learner at a time.
//! Memory: that of the training, of the judges, and of the entries to fit to.

use std::sync::atomic::Ordering;

use super::super::TrainError;
use super::super::bank::Bank;
use super::super::head::{Decoder, Head};
use super::super::progress::Progressive;
use super::super::trainer::{CHUNK, Trainer, push_scaled};
use super::court::{Court, Rung, choose};
use super::trial::Choice;
use crate::data::{Batch, Example};
use crate::random::mix;
use crate::recipe::Recipe;
use crate::sparsify::Size;

/// The share of rows that judge, and rows and entries they may be.
const JUDGES: f64 = 0.25;
const MOST_JUDGES: f64 = 8192.0;
const MOST_ENTRIES: f64 = (1u64 << 21) as f64;
/// Fewer rows than this are judges in turn.
const FEW_ROWS: u64 = 2048;
const TURNS: usize = 4;

/// What is decided: the finalist to be learned from all rows, how many features it is to have where that was asked, and how
/// far their weights are moved (τ).
pub(super) struct Won {
    pub(super) choice: Choice,
    pub(super) size: Option<Size>,
    pub(super) polish: f64,
}

/// Learns and judges the finalists. `recipe` makes the recipe of one, for a share of the rows. Nothing if no rows judge.
pub(super) fn duel(
    (trainer, head, passes): (&mut Trainer<'_>, &mut Head, u32),
    finalists: &[Choice],
    entries: u64,
    recipe: impl Fn(&Trainer<'_>, Choice, f64) -> Recipe,
) -> Result<Option<Won>, TrainError> {
    let share = JUDGES.min(MOST_JUDGES / head.rows as f64).min(MOST_ENTRIES / entries.max(1) as f64);
    let turns = if head.rows < FEW_ROWS { TURNS } else { 1 };
    let mut court = Court::new(trainer, finalists.len());
    for turn in 0..turns {
        let bench = turn as f64 * share..(turn + 1) as f64 * share;
        let mut judges = Batch::new();
        for (number, &finalist) in finalists.iter().enumerate() {
            let recipe = recipe(trainer, finalist, 1.0 - share);
            let keep = (number == 0).then_some(&mut judges);
            let (bank, seen) = learn((trainer, head, passes), &recipe, &bench, keep)?;
            court.hear(trainer, number, (&bank, &seen), &judges);
        }
        court.end_turn((trainer, head), &judges, |example| bench.contains(&place(example)))?;
    }
    let Some(Rung { finalist, size, polish, .. }) = choose(&court.rungs(), court.is_told) else { return Ok(None) };
    let size = (!court.is_told).then_some(Size::Exactly(size.unwrap_or(usize::MAX)));
    Ok(Some(Won { choice: finalists[finalist], size, polish }))
}

/// Learners of all rows but the judges, who are put aside if they are to be kept.
fn learn(
    (trainer, head, passes): (&mut Trainer<'_>, &mut Head, u32),
    recipe: &Recipe,
    bench: &std::ops::Range<f64>,
    mut judges: Option<&mut Batch>,
) -> Result<(Bank, Progressive), TrainError> {
    let mut bank = Bank::new(recipe, &trainer.targets, trainer.options.read.threads);
    let texts = head.texts.clone();
    let (mut decoder, mut seen, mut batch) = (Decoder::new(&texts), Progressive::default(), Batch::new());
    for pass in 0..u64::from(passes) {
        head.held.pass(pass, |group| {
            for example in group.examples() {
                let is_judge = bench.contains(&place(&example));
                let to = match &mut judges {
                    Some(judges) if is_judge && pass == 0 => judges,
                    _ if is_judge => continue,
                    _ => &mut batch,
                };
                let target = decoder.target(example.target, &mut trainer.targets)?;
                push_scaled(to, Example { target, ..example }, trainer.row_factor(example.row), &trainer.scale);
                if batch.len() == CHUNK {
                    bank.learn(&batch, &trainer.targets, &mut seen);
                    batch.clear();
                    if trainer.options.stop.load(Ordering::Relaxed) {
                        return Err(TrainError::Interrupted { rows: 0, saved: None });
                    }
                }
            }
            Ok::<bool, TrainError>(true)
        })?;
    }
    bank.learn(&batch, &trainer.targets, &mut seen);
    Ok((bank, seen))
}

/// A number from 0 up to 1, of a row's content.
fn place(example: &Example<'_>) -> f64 {
    let entry = |(id, value): (u32, f64)| mix(u64::from(id) ^ mix(value.to_bits()));
    let content = example.row.iter().map(entry).fold(mix(example.target.to_bits()), u64::wrapping_add);
    (mix(content) >> 11) as f64 * 0.5f64.powi(53)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    #[test]
    fn equal_rows_are_on_one_side_and_others_spread() {
        let of = |ids: &[u32], target: f64| {
            place(&Example { row: Row { ids, values: &vec![1.0; ids.len()] }, target, weight: 1.0 })
        };
        assert_eq!(of(&[1, 5], 1.0), of(&[1, 5], 1.0));
        let judges = (0..4000).filter(|&id| of(&[id, id + 7], f64::from(id % 2)) < JUDGES).count();
        assert!((900..1100).contains(&judges), "{judges}");
    }
}
