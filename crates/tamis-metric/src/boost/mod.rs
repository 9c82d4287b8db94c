//! The boosting loop: direction, weight, products, and new neighbours every few steps.
//!
//! Source: Ma 2017, Algorithm 2.2 with the remarks of section 2.6.
//! ```text
//! margins u = 0, residuals ρ = c
//! repeat   ξ from the truncated power method on A = Φ Λ(ρ) Φ′;  z = Φ′ξ;  g = margins of z
//!          w = ν · argmin Σ ρᵢ exp(−w gᵢ);  u += w g;  ρ = c exp(−u);  W += w ξξ′
//!          products of the chosen terms join the candidates
//!          every q steps: distances += what the new coordinates √w z bring; neighbours, u, ρ and E anew
//! ```
//! E holds the margins of every term, so that the diagonal of A is one product E ρ.
//! Departures (E17, E18, E19): margins as in `graph`; W starts at 0, and the Euclidean distance only finds the first
//! neighbours; L is the stack of rows √w ξ′. Margins are computed anew with the neighbourhoods; a step that finds no
//! descent is left out, the update due at it is not. w is not normalised: neighbours do not change.
//! Cost of a step: 6np; of an update: qn² + n² comparisons + 4knp. No p² anywhere; n² numbers unless there are too many.

mod pause;
mod run;
mod state;
mod update;

pub(crate) use self::pause::PausedRun;
pub(crate) use self::state::{Boost, Limits, RunPoint, Step};
