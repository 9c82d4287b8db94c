//! A non-linear model of few variables: random Fourier features whose variables and scales are learned.
//!
//! Source: Ma 2017, *Flexible Sparse Learning of Feature Subspaces* (thesis), section 4.2, which describes sparse random
//! Fourier features with variables drawn by a Markov chain, without an algorithm that can be run (E23, E24, E58–E63); the
//! algorithm here is ours.
//!
//! 1. A scan scores every variable and every pair, and of few variables every triple: an interaction without main effects
//!    is found among a thousand variables.
//! 2. Backward elimination from the best of them: features of the remaining variables are drawn by a chain, and fitted by
//!    ridge regression on halves of the rows; the variables of least cross-fitted sensitivity leave.
//! 3. Outer folds repeat both, and choose the size on rows that took no part. They may find nothing.
//! 4. The kept sizes are fitted to all rows, so that smaller models and partial-dependence curves need no data.
//!
//! | file | what |
//! |---|---|
//! | `rows.rs`, `inputs.rs` | rows of a search: blocks and halves, input maps |
//! | `draw_sample.rs`, `sample.rs` | a sample of the stream, prepared for searches |
//! | `scan.rs`, `triples.rs` | scores of variables, pairs and triples by matrix products |
//! | `frequencies.rs` | the chain that draws features |
//! | `ridge.rs`, `block_moments.rs` | ridge regression from moments; moments by block, fits of any half |
//! | `sensitivity.rs` | cross-fitted derivative-based sensitivity |
//! | `search.rs`, `race.rs` | backward elimination; several of them, compared |
//! | `linear.rs` | the linear model to compare with |
//! | `outer_folds.rs` | nested cross-validation, and the choice of the size |
//! | `effect_tests.rs`, `effect_parts.rs` | tests of variables and pairs on held-out rows |
//! | `final_fit.rs`, `curves.rs` | the functions of all rows and their partial dependence |
//! | `kept_sizes.rs` | the sizes that stay in the file; new rows update them |
//! | `trainer.rs` | the method as a `Trainer` |

mod block_moments;
mod curves;
mod draw_sample;
mod effect_parts;
mod effect_tests;
mod final_fit;
mod frequencies;
mod inputs;
mod kept_sizes;
mod linear;
mod outer_folds;
mod race;
mod ridge;
mod rows;
mod sample;
mod scan;
mod search;
mod sensitivity;
mod trainer;
mod triples;

pub use block_moments::{BlockMoments, HalfFits, PENALTIES};
pub use frequencies::{Evidence, Frequencies, draw};
pub use ridge::Moments;
pub use rows::{BLOCKS, HALVES, Rows};
pub use scan::{Real, Scan, scan};
pub use sensitivity::Sensitivity;
pub(crate) use trainer::KernelTrainer;
pub use triples::{BestTriple, best_triple};
