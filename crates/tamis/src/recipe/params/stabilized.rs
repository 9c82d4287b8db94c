//! The stabilized learner, and the algorithm it improves as it was published.

use crate::recipe::table::{Range, params};
use crate::recipe::{Count, Curve, Evidence};

params! {
    /// Parameters of `stabilized`.
    pub struct StabilizedParams {
        /// Number of paths [default: 32, fewer for many classes].
        n_paths: Option<u32> = None, N_PATHS, Range::at_least(1.0).at_most(1024.0);
        /// Keep only confirmed features: at most this share of them is expected to be false discoveries.
        fdr: Option<f64> = None, FDR, Range::above(0.0).at_most(0.5);
        /// Share of the earlier evidence that is dropped when training continues with new data.
        warm_start_decay: f64 = 0.0, WARM_START_DECAY, Range::at_least(0.0).at_most(1.0);
        /// Column that identifies a row when rows are split into subsamples; #row is the row number [default: all
        /// values].
        row_id: Option<String> = None, ROW_ID;
    }
}

params! {
    /// Parameters of `stabilized-published`: Algorithm 4 and section 5 of the paper.
    pub struct PublishedParams {
        /// M: paths, each over its own permutation of the rows.
        n_paths: u32 = 16, N_PATHS, Range::at_least(1.0).at_most(4096.0);
        /// K₀: rows of a burst.
        burst: u32 = 5, BURST, Range::at_least(1.0).at_most(1e6);
        /// n_K: bursts of a stage.
        bursts: u32 = 5, BURSTS, Range::at_least(1.0).at_most(1e6);
        /// β₀: the largest rejection rate.
        rejection: f64 = 0.7, REJECTION, Range::at_least(0.0).at_most(1.0);
        /// γ: how fast the rejection rate falls as features are purged.
        annealing: f64 = -1.0, ANNEALING;
        /// π₀: a feature with a smaller Π is purged.
        cutoff: f64 = 0.7, CUTOFF, Range::at_least(0.0).at_most(1.0);
        /// η: the constant step.
        learning_rate: f64 = 0.1, LEARNING_RATE, Range::above(0.0);
        /// Passes of each path over the rows; at least one stage follows the pilot.
        passes: u32 = 30, PASSES, Range::at_least(1.0);
        /// Stop when no mean weight moved by more than this share of the largest over a pass; 0 is never.
        tolerance: f64 = 0.0, TOLERANCE, Range::at_least(0.0);
        /// δ_K: a feature can be purged once its evidence κ is above this; until then evidence is carried over.
        evidence: u32 = 0, EVIDENCE, Range::at_least(0.0);
        /// α: bursts grow to ⌈K₀·ln(1/(αd))⌉ [default: they stay at K₀].
        growth: Option<f64> = None, GROWTH, Range::above(0.0);
        /// p: all columns, also those that never occur [default: those that occur].
        total_columns: Option<u64> = None, TOTAL_COLUMNS, Range::at_least(0.0);
        /// Whether there is an intercept; the paper has none.
        intercept: bool = false, INTERCEPT;
        /// Which updates count: informative or present.
        count: Count = Count::Informative, COUNT;
        /// What κ counts: bursts or updates.
        evidence_in: Evidence = Evidence::Bursts, EVIDENCE_IN;
        /// The annealing curve: corrected or printed.
        annealing_curve: Curve = Curve::Corrected, ANNEALING_CURVE;
    }
}
