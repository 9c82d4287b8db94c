//! Tests of the features: which of them carry information that the others do not, and how sure that is.
//!
//! Sources: cross-fitting after Chernozhukov et al., *Double/Debiased Machine Learning* (Econometrics Journal 21, 2018);
//! score tests with a robust variance after White (Econometrica 48, 1980); false discovery rate after Benjamini &
//! Hochberg (JRSS B 57, 1995). The combination is our own.
//!
//! **Hypothesis** of feature j: it adds nothing to the linear predictor of the target, given the other features that
//! matter. Each fold of the rows is tested with what its ensemble knows, which never saw it (`nuisance.rs`): the
//! strongest features S, and the margins η of the size with the least held-out loss, with weight b_j of feature j.
//! ```text
//! μ = σ(η), w = μ(1 − μ) for classes;  μ = η, w = 1 for numbers;  v: importance weight
//! for each fold, over its rows:
//!     Z = [1, S without j],  x̃_j = x_j − Z·(ZᵀvWZ + ε)⁻¹ZᵀvW·x_j
//!     score_j  += Σ v·x̃_j·(y − μ(η − b_j·x_j))             the margin without the feature's own part
//!     r         = y − μ − w·Z·(ZᵀvWZ + ε)⁻¹Zᵀv(y − μ)      one Newton step in the fold
//!     model_j  += φ·Σ v²w·x̃_j²,  φ = Σ v·r²/Σ v·w·(n/dof), at least 1 for classes
//!     robust_j += (n/dof)·Σ (v·x̃_j·r)²
//! z_j = score_j/√max(model_j, robust_j)
//! ```
//! A second step tests features with q ≤ 0.3 in the order of |z|, each given those before it, so that a feature is not
//! confirmed because a stronger one that goes with it is missing from S; the smaller |z| counts. p-values are two-sided;
//! with several outputs, p is the least over them times their number. q-values are those of Benjamini & Hochberg with all
//! features that entered the training as hypotheses: which of them are tested was decided with all rows, and a feature
//! that is not tested counts as p = 1. A feature whose weight has another sign than z counts as p = 1, and so does one that
//! fewer than ten rows contain.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | S | `nuisance.rs` | n/64 features, from 8 to 256 | power falls with more, false discoveries do not |
//! | tested | `MOST_TESTED` | the largest size of at most 700 features, or the model | a larger set changes nothing |
//! | ε | `score.rs` | 0.002 of the rows | columns of one-hot codes |
//! | step 2 | `select/false_discovery.rs` | q ≤ 0.3, 200 features | without it, 0.4 instead of 0.1 false on isolet |
//!
//! Columns that determine each other cannot be told apart. Some of them are left out, first those that the model does not use,
//! then those of least evidence (`groups.rs`): margins are written in the others, so that it does not matter which of the
//! equal ways of writing a one-hot code an ensemble has learned. A column that is left out is named with each of those that determine it.
//!
//! Departures from the textbook: φ is a ratio of sums, not the mean of r²/w, which a few rows that are wrong with great
//! confidence would dominate. The variance is the larger of two, because a rare feature has almost no robust variance
//! in a fold without positive rows, and heavy tails break the other one. `docs/how-sure.md` has the evidence and the
//! limits: rows must be independent, only linear effects are tested, q is not a statement about causes.
//!
//! Cost: one pass over the rows. Sparse rows cost the products of their entries in S and the tested features; dense rows
//! n·|S|·(|S| + tested). At most 2²⁴ entries of rows are used; beyond that, a sample by the hash of the rows.

mod fold;
mod gather;
mod groups;
mod nuisance;
mod numerator;
mod score;

pub use fold::{ColumnStats, Link, TestFold};
pub(super) use nuisance::Nuisance;
pub use score::ScoreTest;

use self::gather::gather;
use self::groups::{Group, groups};
use self::nuisance::strongest;
use super::cross_fit::CrossFit;
use super::ensemble::SizeStep;
use super::rows_in_use::RowsInUse;
use super::stage::largest_evidence;
use crate::data::FeatureId;
use crate::model::{FeatureTest, FeatureTests};
use crate::select::{q_values, two_sided_p_value, two_steps};
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// The size whose features are tested has at most this many...
const MOST_TESTED: usize = 700;
/// ...unless the model is larger: then so many of its features are tested.
const MOST_OF_MODEL: usize = 1024;
/// A feature that fewer rows contain is not confirmed: its score is far from normal.
const FEWEST_ROWS_WITH: f64 = 10.0;

/// The tests of the features of a finished training; `model` are those of its model, ascending.
pub(super) fn test_features(
    data: &TrainingData,
    ensembles: &CrossFit,
    rows: &mut BufferedRows,
    in_use: &RowsInUse,
    model: &[FeatureId],
) -> Result<FeatureTests, TrainError> {
    let entered = ensembles.entered;
    let none = FeatureTests { entered, rows: rows.rows, tests: Vec::new() };
    if rows.rows < FeatureTests::FEWEST_ROWS || ensembles.nuisance.folds.is_empty() {
        return Ok(none);
    }
    let step = tested_step(&ensembles.steps, model.len());
    let evidence: Vec<f64> = (0..step.active.len()).map(|position| largest_evidence(&step.outputs, position)).collect();
    let mut candidates = strongest(&step.active, &evidence, MOST_OF_MODEL);
    // Of columns that determine each other, the model's own are tested.
    candidates.sort_by_key(|id| model.binary_search(id).is_err());
    let mut gathered = gather(ensembles, rows, in_use, &candidates)?;
    let (groups, determined) = ensembles.threads.install(|| groups(&gathered, &candidates));
    let representatives: Vec<FeatureId> = groups.iter().map(|group| group.representative).collect();
    let mut best: Vec<(f64, f64)> = vec![(1.0, 0.0); representatives.len()];
    let outputs = ensembles.codings.len();
    for output in 0..outputs {
        gathered.set_output(ensembles, output, &determined);
        let z_scores =
            ensembles.threads.install(|| z_scores(&gathered.test(), &gathered.columns_of(&representatives), entered));
        for ((best, z), &id) in best.iter_mut().zip(z_scores).zip(&representatives) {
            let place = step.active.binary_search(&id).expect("tested features are active");
            let agrees = z * step.outputs[output].evidence[place] > 0.0;
            let p = if agrees && gathered.rows_with(id) >= FEWEST_ROWS_WITH {
                (two_sided_p_value(z) * outputs as f64).min(1.0)
            } else {
                1.0
            };
            if p < best.0 || best.1 == 0.0 {
                *best = (p, z);
            }
        }
    }
    let p_values: Vec<f64> = best.iter().map(|&(p, _)| p).collect();
    let q_values = q_values(&p_values, entered);
    let name = |id: FeatureId| data.vocabulary.name(id);
    let test = |((group, &(_, z)), q): ((&Group, &(f64, f64)), f64)| FeatureTest {
        name: name(group.representative),
        z,
        q,
        with: group.others.iter().map(|&id| name(id)).collect(),
    };
    let tests = groups.iter().zip(&best).zip(q_values).map(test).collect();
    Ok(FeatureTests { tests, ..none })
}

/// The size whose features are tested.
fn tested_step(steps: &[SizeStep], size: usize) -> &SizeStep {
    let is_small = |step: &&SizeStep| step.active.len() <= MOST_TESTED.max(size);
    steps.iter().find(is_small).unwrap_or(&steps[steps.len() - 1])
}

/// The z-scores of columns after both steps.
fn z_scores(test: &ScoreTest<'_>, columns: &[u32], hypotheses: usize) -> Vec<f64> {
    two_steps(test.given_ensembles(columns), hypotheses, |order| {
        let sequence: Vec<u32> = order.iter().map(|&number| columns[number]).collect();
        test.in_sequence(&sequence)
    })
}
