//! `stabilized-published`: stabilized truncated SGD as published, so that the results of the paper can be checked.
//!
//! Source: Ma & Zheng 2016, *Stabilized Sparse Online Learning for Sparse Data*, Algorithms 2–4, eq. (5)–(12),
//! (16) and section 5; Ma 2017, chapter 3, where the formulas are ambiguous.
//!
//! **When not to use it: to get a model.** The paper scales columns to variance 1, which makes the values of rare
//! columns large; |Δw/k| then measures how rare a feature is, not how much it matters, and common informative features
//! are purged first and permanently (E9: 45–50 % error on dexter at 2 % of the features; with the defaults below and
//! hinge loss 13 of 7,751 stay, error 50 %). The default learner of this folder keeps the idea (paths, stages,
//! permanent purges, gravity as a quantile) without this defect. This one is for reproducing tables and figures.
//!
//! M paths, each over its own permutation of the rows, repeated as often as needed. A *burst* is K rows, a *stage* n_K
//! bursts:
//! ```text
//! every row      w_j ← w_j − η·ℓ'(f, y)·x_j,  k_j ← k_j + 1        j in Ω, x_j ≠ 0, ℓ' ≠ 0        (2), Algorithm 3
//! every burst    v_j = |Δw_j|/k_j;  w_j ← T(w_j, g₀·k_j)            j with k_j > 0                 (5), Algorithm 2
//! every stage    Π_j = b_j/κ_j    κ: bursts with k_j > 0, b: those that left w_j ≠ 0               (8), (16)
//!                Ω ← {j in Ω : Π_j ≥ π₀};  w_j ← 0 elsewhere, permanently                          (9), (10)
//!                d = |Ω|/p;  β ← φ(d; β₀, γ);  g₀ ← the ⌊β·|v|⌋-th smallest v_j, j in Ω            (11), (12)
//! the model      mean of w over the paths
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | M | `n_paths` | 16 | section 6.2 |
//! | K₀ | `burst` | 5 | section 6.2 |
//! | n_K | `bursts` | 5 | section 6.2 |
//! | β₀ | `rejection` | 0.7 | section 6.2 |
//! | γ | `annealing` | −1 | the middle of the grid of section 6.2, {−7, −5, −3, −1, 0, 1, 3} |
//! | π₀ | `cutoff` | 0.7 | the middle of the grid, 0.5 … 0.9 |
//! | η | `learning_rate` | 0.1 | the low end of "0.1 to 0.5", said there of plain SGD; none is given for this method (E38) |
//! | passes | `passes` | 30 | the middle of the grid, {5, 10, 20, 30, 40, 50, 60} |
//! | δ_K | `evidence` | 0 | none is given; 0 makes (16) equal to (8) |
//! | α | `growth` | off | section 6.2 keeps K at 5 |
//! | p | `total_columns` | features that occur | see below |
//!
//! Departures from the paper, each where it cannot be followed or contradicts itself:
//! - g₀ is the quantile of the values that are *rejected* (E1), and φ is not inverted (E2;
//!   [`Curve::Printed`](crate::recipe::Curve::Printed) is the printed form).
//! - Stage 0 is a pilot without truncation or purge (E3): it gives the first g₀. Its weights stay; it does not count
//!   for Π.
//! - κ counts bursts (E4; [`Evidence::Updates`](crate::recipe::Evidence::Updates) is the printed form) and evidence is
//!   carried over while κ ≤ δ_K. The paper carries it over only while κ < δ_K and uses it only when κ > δ_K: evidence
//!   of exactly δ_K would be dropped unused (E34).
//! - K_s never falls below K₀ (E5).
//! - An update is informative if the slope is not zero (E6; [`Count::Present`](crate::recipe::Count::Present) is the
//!   printed form).
//! - By (8) a column that never occurs has Π = 1 and always stays in Ω. With p as in E7 this keeps d above the
//!   share of such columns (dexter: 0.61), so that β hardly anneals (E35). By default p counts the features that occur;
//!   `total_columns` gives the printed form.
//! - Δw is the change from the *truncated* weight at the start of a burst ("the amount of updates during the burst"),
//!   and v is pooled over the last stage, though one sentence speaks of the previous stages, and over the features that
//!   survive its purge. If few of the features that a stage updated survive, g₀ depends on few values and may be 0
//!   (E36).
//! - "Until w converges" is not defined (E37), and with constant η the weights never converge: a run ends with the
//!   stage that reaches `passes`; `tolerance` may end it earlier.
//! - Importance weights multiply slopes. An intercept (off by default, as in the paper) is never counted, shrunk or
//!   purged.
//! - g₀ is in units of weights, the g of Langford et al. 2009 times η (E11). The caller scales columns to variance 1.
//!
//! Cost: O(active non-zeros) for each row and path: rows are copied without purged features whenever less than half of
//! their entries are active. Memory: 16 bytes a path and feature, 4 a path and row, 24 a path and (burst, feature) of
//! one stage.

mod active;
mod aggregate;
mod error;
mod gravity;
mod memory;
mod path;
mod schedule;
mod selection_frequency;
mod stages;
mod trainer;

#[cfg(test)]
mod tests;

pub use error::PublishedError;
pub use gravity::base_gravity;
pub use memory::bytes;
pub use schedule::{burst_size, rejection_rate};
pub(crate) use trainer::PublishedTrainer;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::data::Batch;
use crate::loss::AnyLoss;
use crate::recipe::{Params, PublishedParams};
use crate::threads::Threads;

/// The statistics of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// s; stage 0 is the pilot.
    pub stage: u64,
    /// Rows each path has learned by the end of the stage.
    pub steps: u64,
    /// K_s: rows a burst.
    pub burst: u64,
    /// β_s: the share of updates to reject.
    pub rejection: f64,
    /// g₀: the shrinkage for each informative update.
    pub gravity: f64,
    /// Features in Ω after the purge, of those that occur.
    pub active: usize,
    /// Features with a non-zero weight on at least one path after the purge.
    pub nonzeros: usize,
    /// The mean loss of the rows, each before it was learned, weighted by importance, over all paths.
    pub loss: f64,
}

/// The result of a run. Vectors are indexed by feature id, up to the largest that occurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The mean of the weights over the paths.
    pub weights: Vec<f64>,
    /// The mean of the intercepts.
    pub bias: f64,
    /// Π: the selection frequency when it was last updated; 1 for a feature without enough evidence, as in (8).
    pub frequency: Vec<f64>,
    /// Whether a feature is still in Ω; false for ids that never occur.
    pub active: Vec<bool>,
    /// The stages, from the pilot on.
    pub history: Vec<Stage>,
    /// Rows learned, summed over the paths.
    pub examples: u64,
    /// Whether the run ended by the tolerance rather than by the number of passes.
    pub converged: bool,
}

/// The state of the run between two stages.
pub struct Snapshot<'a> {
    /// The last stage.
    pub stage: Stage,
    engine: &'a stages::StageRunner<'a>,
}

impl Snapshot<'_> {
    /// The weights and the intercept if the run ended here, computed on demand.
    pub fn model(&self) -> (Vec<f64>, f64) {
        self.engine.model()
    }
}

/// Learns from rows whose targets are coded for the loss. The same rows, settings and seed give the same bits, for any
/// number of threads. Without rows the outcome is empty; a single class is learned as far as possible.
pub fn run(
    rows: &Batch,
    loss: AnyLoss,
    settings: &PublishedParams,
    seed: u64,
    threads: &Threads,
) -> Result<Outcome, PublishedError> {
    run_watched(rows, loss, settings, seed, threads, &mut |_| ControlFlow::Continue(()))
}

/// [`run`] with a callback after each stage; `Break` ends the run.
pub fn run_watched(
    rows: &Batch,
    loss: AnyLoss,
    settings: &PublishedParams,
    seed: u64,
    threads: &Threads,
    watch: &mut dyn FnMut(&Snapshot<'_>) -> ControlFlow<()>,
) -> Result<Outcome, PublishedError> {
    settings.check_ranges()?;
    if rows.len() > u32::MAX as usize {
        return Err(PublishedError::TooManyRows { rows: rows.len() });
    }
    if rows.is_empty() {
        return Ok(Outcome::default());
    }
    let mut engine = stages::StageRunner::new(rows, loss, settings, seed, threads);
    while engine.has_next_stage() {
        let stage = engine.run_stage()?;
        if watch(&Snapshot { stage, engine: &engine }).is_break() {
            break;
        }
    }
    engine.finish()
}
