//! Baselines of papers, for comparison; prefer `ftrl` or `fobos`.

mod admm;
mod projected_sgd;
mod topk_arow;
mod topk_sgd;

pub use admm::StochasticAdmm;
pub use projected_sgd::ProjectedSgd;
pub use topk_arow::TopKArow;
pub use topk_sgd::TopKSgd;
