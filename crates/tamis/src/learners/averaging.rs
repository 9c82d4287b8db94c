//! Averaged weights: the mean over all steps, updated lazily.
//!
//! Source: Langford et al. 2009, Theorem 1.2: ŵ = (w₀ + w₁ + … + w_T)/(T + 1), w₀ = 0. A weight that rests adds
//! the sum of its path in one go; for a shrinking weight that sum needs the clock at each step, so the clock's last
//! readings are kept ([`ClockHistory`]) and every [`EPOCH`] steps all weights are brought up to date and the readings
//! dropped: memory stays bounded and the cost per step is O(non-zeros) plus weights/EPOCH.

use crate::data::{State, StateError, ToF64s};
use crate::prox::ClockHistory;

/// Steps between two sweeps over all weights.
pub const EPOCH: u64 = 1 << 14;

/// A weight's sum so far, and the first step after which its value is not in the sum yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AveragedCell {
    /// Σ of values after earlier steps.
    pub sum: f64,
    /// The step from which values are still to be added.
    pub since: f64,
}

impl ToF64s for AveragedCell {
    const WIDTH: usize = 2;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.sum, self.since]);
    }
    fn unpack(fields: &[f64]) -> Self {
        AveragedCell { sum: fields[0], since: fields[1] }
    }
}

/// Running means of all weights and the intercept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AveragedWeights {
    /// One sum per weight.
    pub cells: Vec<AveragedCell>,
    /// Σ of the intercept.
    pub bias_sum: f64,
    /// Clock readings since the last sweep.
    pub history: ClockHistory,
}

impl AveragedWeights {
    /// An empty mean; the first step is number 1.
    pub fn new() -> Self {
        AveragedWeights { history: ClockHistory::starting_at(1), ..AveragedWeights::default() }
    }

    /// Writes the state.
    pub fn save(&self, state: &mut State) {
        state.put_all("mean.cells", &self.cells);
        state.put("mean.bias", vec![self.bias_sum]);
        state.put("mean.history", self.history.save());
    }

    /// Reads the state.
    pub fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.cells = state.take_all("mean.cells")?;
        [self.bias_sum] = state.take_fixed("mean.bias")?;
        let history = state.take("mean.history")?;
        self.history = ClockHistory::load(&history).ok_or_else(|| state.wrong_shape("mean.history"))?;
        Ok(())
    }
}
