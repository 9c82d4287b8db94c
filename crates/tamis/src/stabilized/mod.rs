//! Stabilized sparse learning: many paths over halves of the rows agree on which features stay.
//!
//! Sources: Ma & Zheng 2016, *Stabilized Sparse Online Learning for Sparse Data* (JMLR 18): informative truncation
//! (Algorithm 2), stability selection over M paths (Algorithm 3, eq. 8), annealed rejection (eq. 11–12); Meinshausen &
//! Bühlmann, *Stability SizePath* (JRSS B 72, 2010): halves of the data; Xiao, *Dual Averaging Methods for Regularized
//! Stochastic Learning* (JMLR 11, 2010) and Duchi, Hazan & Singer (JMLR 12, 2011): the paths. To the letter of the first
//! paper: [`paper`].
//!
//! Every path learns from its own half of the rows. A stage on the active set A:
//! ```text
//! for each row (x, y) and each path that owns it:
//!     u_j = −z_j/√n_j,  w_j = a·sign(u_j)·max(|u_j| − g₀, 0)      for j in x and A
//!     f = b + Σ w_j x_j,  g = ℓ'(f, y)
//!     z_j += g·x_j,  n_j += (g·x_j)²,  b −= ½ g/√(Σ g²)
//! ```
//! At its end the features are ranked by |ū_j|, the mean of u over paths (and over n_K moments of the stage's second
//! half). The best k' stay for ever, and g₀ becomes the k'-th largest |ū_j|: one number is the purge cut, the rejection
//! quantile and the gravity of the next stage. k' halves until it is k; every rung is a finished model.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | M | [`Settings::paths`] | 32; 16 from 3 classes on, 8 from 6 | error is flat from 16, stability still grows to 32; classes multiply the cost |
//! | ρ | [`Settings::share`] | ½ | halves beat permutations and 3/4 in error and stability |
//! | α, a = α/mean‖x‖₁ | [`Settings::alpha`] | 3 | 2, 3, 5, 10, 20: mean out-of-fold loss 0.979, 0.985, 1, 1.029, 1.063 of that at 5 (seven sets) |
//! | L | `train/stabilized/prepare.rs` | one pass, at least 800 rows; 5 passes in all for large data | one, two, four passes a stage: 0.992, 1, 1.005 |
//! | n_K | [`Settings::tallies`] | 4 | small effect |
//! | Π_j | [`Means::votes`] | | share of paths and moments with w_j ≠ 0 (eq. 8); reported |
//!
//! Departures. Rows are owned by a hash of their content and not dealt by chance: the halves are a function of the data,
//! whatever its order. TruncatedL1 acts on u, so a feature is shrunk in proportion to the root of its own information and not
//! to the count of its updates (E9). Dual averaging never truncates z: an early gravity that was wrong is forgiven. The
//! rejection rate is exact (the rung), not annealed without end. Paths of a classifier are driven by the hinge loss also
//! when probabilities are asked for: a logistic slope never falls silent, and on unbalanced data the many rows of the
//! large class, all of them right, drown the small one (dorothea at 700 features: 8.8 % against 6.6 % wrong). Classes are
//! weighed by size^−¼ (dorothea 6.1 → 5.8 %, others level). Two numbers (A, B) then make log-odds of the scores.
//!
//! What a rung is worth is told by *shadows* (`train/stabilized/walk.rs`): four more engines of eight paths, each blind
//! for a fourth of the rows and with features of its own. Rows that a path does not own are not enough: the features were
//! chosen with them (dexter: 1.3 % "out of bag" where new data have 5.3 %). The shadows' scores also give A and B. If no
//! k is asked for, the smallest rung is taken whose loss and error are within √2 standard errors of the best (`size.rs`).
//!
//! Paths stop early, by design: that is what keeps weights small where rows are few. Where rows are many for the features
//! that are left, they stop too early. So at the end of a stage the weights (never the features) are fitted to all rows,
//! as far as the shadows' own rows gain by it, and not at all if they do not ([`super::polish`], `docs/why-these-weights.md`).
//!
//! Tried and not taken: u = −z/n^¼ (between constant and self-normalised gravity): 3 % better on text, 30 % worse on
//! arcene; full balance of the classes: worse on sms_spam and reuters.
//!
//! Cost: O(non-zeros of x in A) a row and path, half of the paths a row; 256 bytes a feature and 16 paths before the
//! first cut, then half of it at every rung; the fit holds at most 2¹⁹ entries for the model and each shadow. Paths are
//! independent within a stage; a stage ends with one reduction in a fixed order, so threads change no bit.

mod build_model;
mod checkpoint;
mod checkpoint_model;
mod cross_fit;
mod ensemble;
mod holdout;
mod params;
mod path_block;
mod platt;
pub mod published;
mod refinement;
mod row_transform;
mod setup;
mod sizes;
mod stage;
mod subsamples;
mod trainer;

pub(crate) use checkpoint_model::checkpoint_model;
pub use ensemble::{Ensemble, Settings, SizeStep};
pub use holdout::{HoldoutScore, RowScore, evaluate};
pub use path_block::{BYTES_PER_BLOCK, LANES};
pub use platt::Calibration;
pub use sizes::{SMALLEST, size_path};
pub use stage::{ClassCoding, PathMeans};
pub use subsamples::{HashedRows, Subsamples};
pub(crate) use trainer::StabilizedTrainer;
