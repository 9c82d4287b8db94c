//! `preset = "paper"`: stabilized truncated SGD as it was published, so that the paper can be checked.
//!
//! Source: Ma & Zheng 2016, *Stabilized Sparse Online Learning for Sparse Data*, Algorithms 2–4, eq. (5)–(12),
//! (16) and section 5; Ma 2017, chapter 3, where its words decide what the formulas leave open.
//!
//! **When not to use it: to get a model.** The paper scales columns to variance 1, which makes the values of rare
//! columns large; |Δw/k| then measures how rare a feature is, not how much it matters, and common informative
//! features are purged first, for ever (E9: 45–50 % error on dexter at 2 % of the features; with the defaults below
//! and hinge loss 13 of 7,751 stay, error 50 %). The default engine of this folder keeps the idea (paths, stages,
//! permanent purges, gravity as a quantile) and cures that. This one is for tables, figures and doubts.
//!
//! M paths, each over its own permutation of the rows, walked round and round. A *burst* is K rows, a *stage* n_K
//! bursts:
//! ```text
//! every row      w_j ← w_j − η·ℓ'(f, y)·x_j,  k_j ← k_j + 1        j in Ω, x_j ≠ 0, ℓ' ≠ 0        (2), Algorithm 3
//! every burst    v_j = |Δw_j|/k_j;  w_j ← T(w_j, g₀·k_j)            j with k_j > 0                 (5), Algorithm 2
//! every stage    Π_j = b_j/κ_j    κ: bursts with k_j > 0, b: those that left w_j ≠ 0               (8), (16)
//!                Ω ← {j in Ω : Π_j ≥ π₀};  w_j ← 0 elsewhere, for ever                             (9), (10)
//!                d = |Ω|/p;  β ← φ(d; β₀, γ);  g₀ ← the ⌊β·|v|⌋-th smallest v_j, j in Ω            (11), (12)
//! the model      mean of w over the paths
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | M | `paths` | 16 | section 6.2 |
//! | K₀ | `burst` | 5 | section 6.2 |
//! | n_K | `bursts` | 5 | section 6.2 |
//! | β₀ | `rejection` | 0.7 | section 6.2 |
//! | γ | `annealing` | −1 | the middle of the grid of section 6.2, {−7, −5, −3, −1, 0, 1, 3} |
//! | π₀ | `cutoff` | 0.7 | the middle of the grid, 0.5 … 0.9 |
//! | η | `rate` | 0.1 | the low end of "0.1 to 0.5", said there of plain SGD; none is given for this method (E38) |
//! | passes | `passes` | 30 | the middle of the grid, {5, 10, 20, 30, 40, 50, 60} |
//! | δ_K | `evidence` | 0 | none is given; 0 makes (16) equal to (8) |
//! | α | `growth` | off | section 6.2 keeps K at 5 |
//! | p | `columns` | features that occur | see below |
//!
//! Departures from the paper, each where the paper cannot be followed or contradicts itself:
//! - g₀ is the quantile of what is *rejected* (E1), φ the right way up (E2; [`Curve::Printed`] is the letter).
//! - Stage 0 is a pilot without truncation or purge (E3): it shows the first g₀. Its weights stay, its votes do not
//!   count.
//! - κ counts bursts (E4; [`Evidence::Updates`] is the letter) and evidence waits while κ ≤ δ_K. The paper carries
//!   it over only while κ < δ_K and judges it only when κ > δ_K: evidence of exactly δ_K would be dropped unused (E34).
//! - K_s never falls below K₀ (E5).
//! - An update is informative if the slope is not zero (E6; [`Count::Present`] is the letter).
//! - By (8) a column that never occurs has Π = 1 and stays in Ω for ever. With p as in E7 that keeps d above the
//!   share of such columns (dexter: 0.61), so that β hardly anneals (E35). By default p counts the features that occur;
//!   `columns` gives the letter.
//! - Δw is the change from the *truncated* weight a burst began with ("the amount of updates during the burst"),
//!   and v is pooled over the last stage, though one sentence speaks of the previous stages, and over who survived
//!   its purge. Where few of those a stage updated survive, g₀ rests on few values and may be 0 for a stage (E36).
//! - "Until w converges" is not defined (E37), and with constant η the weights never rest: `passes` ends a run, at the
//!   end of the stage that reaches them; `tolerance` may end it earlier.
//! - Importance weights multiply slopes. An intercept, off as in the paper, is never counted, shrunk or purged.
//! - g₀ is in units of weights, the g of Langford et al. 2009 times η (E11). Scaling columns to variance 1 is the
//!   caller's business.
//!
//! Cost: O(active non-zeros) a row and path: rows are copied without purged features whenever half their entries
//! are dead. Memory: 16 bytes a path and feature, 4 a path and row, 24 a path and (burst, feature) of one stage.

mod active;
mod aggregate;
mod engine;
mod error;
mod gravity;
mod path;
mod schedule;
mod settings;
mod votes;

#[cfg(test)]
mod tests;

pub use error::PaperError;
pub use gravity::base_gravity;
pub use schedule::{burst_size, rejection_rate};
pub use settings::{Count, Curve, Evidence, Settings};

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::data::Batch;
use crate::loss::AnyLoss;

/// What one stage did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// s; stage 0 is the pilot.
    pub stage: u64,
    /// Rows each path has learned by the end of the stage.
    pub steps: u64,
    /// K_s: rows a burst.
    pub burst: u64,
    /// β_s: the share of updates that was to be rejected.
    pub rejection: f64,
    /// g₀: the pull per informative update.
    pub gravity: f64,
    /// Features still in Ω after the purge, of those that occur.
    pub active: usize,
    /// Features with a non-zero weight on at least one path after the purge.
    pub nonzeros: usize,
    /// The mean loss of the rows, each before it was learned, weighted by importance, over all paths.
    pub loss: f64,
}

/// What remains after the last stage. Vectors are indexed by feature id, up to the largest that occurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The mean of the weights over the paths.
    pub weights: Vec<f64>,
    /// The mean of the intercepts.
    pub bias: f64,
    /// Π: the selection frequency when the feature was last judged; 1 for one that never was, as in (8).
    pub frequency: Vec<f64>,
    /// Whether a feature is still in Ω; false for ids that never occur.
    pub active: Vec<bool>,
    /// The stages, from the pilot on.
    pub history: Vec<Stage>,
    /// Rows learned, summed over the paths.
    pub examples: u64,
    /// Whether the tolerance ended the run, and not the passes.
    pub converged: bool,
}

/// A look at the run between two stages.
pub struct Snapshot<'a> {
    /// The stage just done.
    pub stage: Stage,
    engine: &'a engine::Engine<'a>,
}

impl Snapshot<'_> {
    /// The weights and the intercept as they would be if the run ended here. Worked out only when asked for.
    pub fn model(&self) -> (Vec<f64>, f64) {
        self.engine.model()
    }
}

/// Learns from rows whose targets are already coded for the loss. Same rows, settings and seed: same bits, for any
/// number of threads. No rows give an empty outcome; with a single class it learns what there is to learn.
pub fn run(rows: &Batch, loss: AnyLoss, settings: &Settings, seed: u64, threads: usize) -> Result<Outcome, PaperError> {
    run_watched(rows, loss, settings, seed, threads, &mut |_| ControlFlow::Continue(()))
}

/// [`run`], with a look after each stage; `Break` ends the run there.
pub fn run_watched(
    rows: &Batch,
    loss: AnyLoss,
    settings: &Settings,
    seed: u64,
    threads: usize,
    watch: &mut dyn FnMut(&Snapshot<'_>) -> ControlFlow<()>,
) -> Result<Outcome, PaperError> {
    settings.check()?;
    if rows.len() > u32::MAX as usize {
        return Err(PaperError::TooManyRows { rows: rows.len() });
    }
    if rows.is_empty() {
        return Ok(Outcome::default());
    }
    let mut engine = engine::Engine::new(rows, loss, settings, seed, threads);
    while engine.goes_on() {
        let stage = engine.run_stage()?;
        if watch(&Snapshot { stage, engine: &engine }).is_break() {
            break;
        }
    }
    engine.finish()
}
