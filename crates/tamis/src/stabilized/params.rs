//! The parameters of the method, and the memory it may use.

use super::path_block::BYTES_PER_BLOCK;
use crate::recipe::{MethodParams, Recipe, StabilizedParams};
use crate::trainer::{Session, TrainError};

/// The parameters of the method.
pub(super) fn params_of(recipe: &Recipe) -> &StabilizedParams {
    let MethodParams::Stabilized(params) = &recipe.method else {
        unreachable!("{} is not stabilized", recipe.method.name())
    };
    params
}

/// This much memory is always allowed.
const MIN_MEMORY: u64 = 64 << 20;

/// Whether the state of all paths fits in memory.
pub(super) fn check_memory(session: &Session<'_>, features: usize, blocks: usize) -> Result<(), TrainError> {
    check_bytes(session, features, (features * blocks * BYTES_PER_BLOCK) as u64)
}

/// Whether `needed` bytes for this many features fit in memory.
pub(super) fn check_bytes(session: &Session<'_>, features: usize, needed: u64) -> Result<(), TrainError> {
    let memory = session.options.memory;
    let fits = needed <= memory.max(MIN_MEMORY);
    if fits { Ok(()) } else { Err(TrainError::TooManyFeatures { features, needed, memory }) }
}
