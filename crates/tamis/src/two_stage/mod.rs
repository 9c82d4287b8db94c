//! Two-stage learning: a dense model in an ℓ₁ ball first, then few of its features, sampled without bias.
//!
//! Source: Li et al. 2017, *A Two-Stage Approach for Learning a Sparse Model with Sharp Excess Risk Analysis* (AAAI
//! 2017).
//!
//! | file | what | from |
//! |---|---|---|
//! | `epoch_sgd.rs` | the first stage: SGD in epochs inside an ℓ₁ and an ℓ₂ ball | Algorithm 1, Theorem 1 |
//! | `sampling.rs` | the second stage: few features, sampled so that the expected model is the dense one | Theorems 2 and 3 |
//! | `sampled_model.rs` | the weights of sampled features, refined on the rows | ours |
//! | `hyperparams.rs` | radius, rate and refinement where they are not set | section 5, and ours |
//! | `halving.rs` | successive halving over radii and rates on a sample of rows | ours |
//! | `final_selection.rs`, `candidates.rs` | the best of them at full length, compared on held-out rows | ours |
//! | `sampled_loss.rs` | the held-out loss of sampled models | section 5 |
//! | `trainer.rs` | the method as a `Trainer` | |

mod balls;
mod candidates;
mod epoch_sgd;
mod final_selection;
mod halving;
mod hyperparams;
mod params;
mod row_sample;
mod sampled_loss;
mod sampled_model;
mod sampling;
mod size;
mod trainer;

pub use epoch_sgd::EpochSgd;
pub use sampling::{FeatureSampler, SampledFeature, Size, draw, draws_for, expected_support};
pub(crate) use trainer::TwoStageTrainer;
