//! Distributed fits of the stabilized learner: stages as pure functions of rows and bytes, without an engine.
//!
//! ```text
//! plan₀ = first(settings)                                   the survey
//! while the plan is not to collect:
//!     for each bucket of rows, anywhere:  tallies(plan, rows) → (block, bucket, bytes)
//!     for each block, anywhere:           add(parts)          in the order of the buckets
//!     plan = next(plan, blocks)
//! for each bucket: collect(plan, rows) → rows of the columns that are left;  finish(plan, rows) → model
//! ```
//! A row has an identity (`rows.rs`), whose upper bits are its bucket. The number of buckets is fixed, so that the
//! result does not depend on partitions, workers, the order of rows or repeated tasks: the same bytes.
//!
//! 1. **Survey** (`survey.rs`, `labels.rs`): rows, labels, and of each column the number of rows, mean, deviation,
//!    range and Σ|x|. From these come the task, the scaling, and the candidate columns, by the rules of a fit on one
//!    machine.
//! 2. **Narrowing** (`tallies.rs`, `stabilized/narrowing.rs`), if there are more than 2¹⁴ candidates: a bucket learns
//!    one stage of the ensemble that becomes the model and of those of the folds, eight paths each, from zero. Its
//!    tallies are Z_j = Σ z_j and N_j = Σ n_j over the paths. The 2¹⁴ columns (or one in 16) with the largest
//!    |Z_j|/√N_j, summed over buckets, are left; each ensemble has its own.
//! 3. **Collection** (`finish.rs`): all rows with the union of these columns, or a sample by hash if there are more
//!    than 2²⁵ non-zeros. The rest is a fit on one machine that begins with these columns.
//!
//! Held-out errors and q-values use the fold ensembles on rows of their own fold. These rows had no part in the choice
//! of their columns, since the hash that assigns a row to a fold is the same in all stages. All candidates count as
//! hypotheses for the q-values, not only those that are left.
//!
//! Which decisions were measured, and what was tried, is in `docs/distributed.md`.
//!
//! Cost: a pass over the rows for each of the two or three stages. A bucket sends at most 48 bytes and the name for
//! each of its columns in the survey, and at most 80 bytes (for each output) in a narrowing stage; a plan has about 30
//! bytes a column.

mod error;
mod finish;
mod labels;
mod local;
mod next_plan;
mod packet;
mod plan;
mod rows;
mod survey;
mod tallies;

pub use error::DistributedError;
pub use local::{FitCost, fit_local};
pub use plan::{FitSettings, Plan, Stage};
pub use rows::{KeyedRows, MAX_BUCKETS, bucket_of, number_identity, text_identity};
pub use tallies::{Tally, add, tallies};
