//! Stabilized sparse learning: many SGD paths, each on half of the rows, select the features together.
//!
//! Sources: Ma & Zheng 2016, *Stabilized Sparse Online Learning for Sparse Data* (JMLR 18): informative truncation
//! (Algorithm 2), stability selection over M paths (Algorithm 3, eq. 8), annealed rejection (eq. 11–12); Meinshausen &
//! Bühlmann, *Stability Selection* (JRSS B 72, 2010): subsamples of half of the data; Xiao, *Dual Averaging Methods for
//! Regularized Stochastic Learning* (JMLR 11, 2010) and Duchi, Hazan & Singer (JMLR 12, 2011): the paths. [`published`]
//! implements the first paper literally.
//!
//! Each path learns from its own subsample of half of the rows. A stage on the active set A:
//! ```text
//! for each row (x, y) and each path whose subsample contains it:
//!     u_j = −z_j/√n_j,  w_j = a·sign(u_j)·max(|u_j| − g₀, 0)      for j in x and A
//!     f = b + Σ w_j x_j,  g = ℓ'(f, y)
//!     z_j += g·x_j,  n_j += (g·x_j)²,  b −= ½ g/√(Σ g²)
//! ```
//! At the end of a stage the features are ranked by |ū_j|, the mean of u over the paths (and over n_K times in the
//! second half of the stage). The k' features with the largest |ū_j| stay, and g₀ becomes the k'-th largest |ū_j|: this
//! number is the truncation threshold, the rejection quantile and the gravity of the next stage. k' halves until it is
//! k; each size of this path is a finished model. From 512 features on, those that come first in another order stay
//! instead of those with the largest |ū_j| (`feature_order.rs`), and sizes between the halves and down to a single feature
//! are evaluated, too (`intermediate_sizes.rs`).
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | M | [`Settings::paths`] | 32; 16 from 3 classes on, 8 from 6 | error is flat from 16, stability still grows to 32; classes multiply the cost |
//! | ρ | [`Settings::share`] | ½ | halves beat permutations and 3/4 in error and stability |
//! | α, a = α/mean‖x‖₁ | [`Settings::alpha`] | 3 | 2, 3, 5, 10, 20: mean out-of-fold loss 0.979, 0.985, 1, 1.029, 1.063 of that at 5 (seven sets) |
//! | L | `setup.rs` | one pass, at least 800 rows; 5 passes in all for large data | one, two, four passes a stage: 0.992, 1, 1.005 |
//! | n_K | [`Settings::tallies`] | 4 | small effect |
//! | Π_j | [`PathMeans::frequency`] | | share of paths and tallies with w_j ≠ 0 (eq. 8); reported |
//!
//! Departures. A hash of its content decides which subsamples contain a row, not a random draw: the subsamples are a
//! function of the data, whatever their order. Gravity acts on u, so that a feature is shrunk in proportion to the
//! square root of its own information and not to the number of its updates (E9). Dual averaging never truncates z, so
//! that a feature recovers from a gravity that was too large early on. The rejection rate follows from the next size
//! and is not annealed. The paths of a classifier minimise the hinge loss even if probabilities are wanted: the slope
//! of the logistic loss is never zero, and on unbalanced data the many correctly classified rows of the large class
//! outweigh the small one (dorothea at 700 features: 8.8 % against 6.6 % wrong). Classes are weighted by size^−¼
//! (dorothea 6.1 → 5.8 %, others level). Platt scaling with two numbers (A, B) then turns the scores into log-odds.
//!
//! Four cross-fitted ensembles of eight paths estimate the held-out error of each size (`cross_fit.rs`): each never
//! sees one fold of the rows and selects its own features. Rows outside the subsample of a path are not enough, because
//! the features were selected with them (dexter: 1.3 % "out of bag", but 5.3 % on new data). The scores of these
//! ensembles also give A and B. If k is not given, the model is the smallest of the halved sizes whose loss and error are
//! within √2 standard errors of the best, or a size below it that is hardly worse ([`crate::select`], `build_model.rs`).
//!
//! The paths stop early by design: this keeps weights small where rows are few. Where there are many rows for the
//! remaining features, they stop too early. At the end of a stage the weights (never the features) are therefore
//! refined on all rows, as far as the held-out loss of the cross-fitted ensembles falls, or not at all
//! (`refinement.rs`, `docs/why-these-weights.md`).
//!
//! Tried and not taken: u = −z/n^¼ (between constant and self-normalised gravity): 3 % better on text, 30 % worse on
//! arcene; full balance of the classes: worse on sms_spam and reuters.
//!
//! Cost: O(non-zeros of x in A) for each row and path, half of the paths for each row; 256 bytes for each feature and
//! 16 paths in the first stage, half of that in each following one; refinement holds at most 2¹⁹ entries for the model
//! and for each cross-fitted ensemble. Paths are independent within a stage; a stage ends with one reduction in a fixed
//! order, so that the number of threads does not change a bit.

mod backward_elimination;
mod build_model;
mod checkpoint;
mod checkpoint_model;
mod cross_fit;
mod cut_sizes;
mod elastic_net;
mod ensemble;
mod entry_order;
mod feature_order;
pub mod feature_tests;
mod folded_ensemble;
mod forward_selection;
mod gram;
mod holdout;
mod intermediate_sizes;
mod member_rows;
mod narrowing;
mod order_choice;
mod params;
mod path_block;
pub mod published;
mod refinement;
mod regression_moments;
mod row_transform;
mod rows_in_use;
mod setup;
mod sizes;
mod stage;
mod subsamples;
mod trainer;

pub use crate::platt::Calibration;
pub use backward_elimination::eliminations;
pub(crate) use checkpoint_model::checkpoint_model;
pub use ensemble::{Ensemble, Settings, SizeStep};
pub use entry_order::{Entry, entries};
pub use forward_selection::selections;
pub use holdout::{HoldoutScore, RowScore, evaluate};
pub(crate) use narrowing::{ENSEMBLES, Narrowing, PART_PATHS, StateSums};
pub use path_block::{BYTES_PER_BLOCK, LANES};
pub use regression_moments::RegressionMoments;
pub(crate) use setup::fewest_rows;
pub use sizes::{SMALLEST, size_path};
pub use stage::{ClassCoding, PathMeans};
pub use subsamples::{HashedRows, Subsamples};
pub(crate) use trainer::StabilizedTrainer;
