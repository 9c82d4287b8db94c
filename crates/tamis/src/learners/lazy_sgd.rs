//! Stochastic gradient descent with a lazy proximal operator: `sgd`, `truncated-gradient`, `rounding` and `fobos`.
//!
//! Sources: Langford et al. 2009, *Sparse Online Learning via Truncated Gradient* (JMLR 10), eq. (1)–(3) and
//! section 3; Ma & Zheng 2016, *Stabilized Sparse Online Learning for Sparse Data* (JMLR 18), Algorithm 1; Duchi &
//! Singer, *Efficient Online and Batch Learning Using Forward Backward Splitting* (JMLR 10, 2009), eq. (19) of Ma &
//! Zheng 2016.
//!
//! Step t on (x, y) with weight c:
//! ```text
//! f = b + w·x                    predict
//! g = c·ℓ'(f, y)                 slope
//! w ← w − η g x,  b ← b − η g    step; the intercept is never shrunk (`auto` first rescales w: see [`crate::step_size`])
//! w ← w within its bounds        if it must have a sign
//! w ← prox(w)                    every K steps, with the sum of the η since the last time
//! ```
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | η | [`StepSize`] | `auto` from 0.5; `inverse-sqrt` from 1 for `fobos`, smaller for regression (`online/initial_step.rs`) | ours; Duchi & Singer 2009 as in Ma & Zheng 2016, section 6.2 |
//! | g | [`crate::prox::TruncatedL1::gravity`] | 1e-4 | ours, on scaled rows |
//! | θ | [`crate::prox::TruncatedL1::threshold`] | ∞; 0.01 for `rounding` | Langford et al. 2009: the L1 limit; ours |
//! | K | [`crate::prox::TruncatedL1::period`] | 1 | ours: smooth, and free when lazy; 5 in Ma & Zheng 2016, open in Langford et al. 2009 |
//! | λ₁, λ₂ | [`crate::prox::ElasticNetProx`] | 1e-4, 0 | ours |
//!
//! Departures. The amount of shrinkage is g times the *sum* of the step sizes since the last event (E11), so decreasing
//! steps shrink less later. E13 and E14 correct signs. Algorithm 1 of Langford et al. 2009 shrinks before it predicts,
//! eq. (3) after the step (E40); we follow eq. (3). Section 3 of Langford et al. 2009 applies ⌊(i−τ)/K⌋ events at an
//! update, counted from the feature's own first appearance; ours are the events of the global clock, which is exactly
//! eq. (3) on all weights (E15, E41).
//!
//! Cost: O(non-zeros) per step; absent features are not touched, their pending shrinkage is applied when they occur
//! again. The states of a row's features are copied to where they are next to each other, so that roots and divisions are those
//! of whole vectors; each number is that of the formulas, bit for bit. Memory: 8 bytes per weight, 8 to 24 for its timestamp, 16 for
//! an adaptive step size.

use super::averaging::{AveragedCell, AveragedWeights, EPOCH};
use super::{Learner, Step};
use crate::data::{Example, FeatureId, Row, State, StateError, ToF64s, prefetch};
use crate::loss::{AnyLoss, Loss};
use crate::prox::{LazyProx, SignBounds};
use crate::step_size::StepSize;

/// Gradient descent with a proximal operator and a step size.
#[derive(Clone, Debug)]
pub struct LazySgd<S: LazyProx, R: StepSize, L: Loss = AnyLoss> {
    loss: L,
    rate: R,
    shrink: S,
    cells: Vec<Cell<S::Timestamp, R::Cell, R::Align>>,
    bias: f64,
    bias_rate: R::Cell,
    intercept: bool,
    steps: u64,
    mean: Option<AveragedWeights>,
    signs: SignBounds,
    row: RowCells<S::Timestamp, R::Cell>,
}

/// The states of the features of a row, next to each other, and the contribution of each to ‖x/s‖².
#[derive(Clone, Debug, Default)]
struct RowCells<M, C> {
    weights: Vec<f64>,
    marks: Vec<M>,
    rates: Vec<C>,
    norms: Vec<f64>,
}

/// A weight, its timestamp, and the state of its step size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell<M, C, L = ()> {
    weight: f64,
    mark: M,
    rate: C,
    line: L,
}

impl<M: ToF64s, C: ToF64s, L: Default> ToF64s for Cell<M, C, L> {
    const WIDTH: usize = 1 + M::WIDTH + C::WIDTH;
    fn pack(&self, out: &mut Vec<f64>) {
        out.push(self.weight);
        self.mark.pack(out);
        self.rate.pack(out);
    }
    fn unpack(fields: &[f64]) -> Self {
        Cell {
            weight: fields[0],
            mark: M::unpack(&fields[1..]),
            rate: C::unpack(&fields[1 + M::WIDTH..]),
            line: L::default(),
        }
    }
}

impl<S: LazyProx, R: StepSize, L: Loss> LazySgd<S, R, L> {
    /// A new learner. With `average`, its weights are the means of Theorem 1.2.
    pub fn new(loss: L, rate: R, shrink: S, intercept: bool, average: bool) -> Self {
        LazySgd {
            loss,
            rate,
            shrink,
            cells: Vec::new(),
            bias: 0.0,
            bias_rate: R::Cell::default(),
            intercept,
            steps: 0,
            mean: average.then(AveragedWeights::new),
            signs: SignBounds::default(),
            row: RowCells { weights: Vec::new(), marks: Vec::new(), rates: Vec::new(), norms: Vec::new() },
        }
    }

    /// The learner with bounds on its weights.
    pub fn bounded(self, signs: SignBounds) -> Self {
        LazySgd { signs, ..self }
    }

    /// Reserves space for cells. Aligned cells cannot grow in place and are copied; this is rare, because the capacity
    /// grows by a factor of four each time (memory that was never written is not used).
    fn grow(&mut self, span: usize) {
        if span > self.cells.capacity() {
            let room = span.max(4 * self.cells.capacity());
            self.cells.reserve_exact(room - self.cells.len());
        }
        self.cells.resize(span.max(self.cells.len()), Cell::default());
    }

    fn settled(&self, cell: &Cell<S::Timestamp, R::Cell, R::Align>) -> f64 {
        self.shrink.apply_pending(cell.weight, &cell.mark, self.rate.factor(&cell.rate))
    }

    /// Copies the states of these features.
    fn gather(&mut self, ids: &[FeatureId]) {
        let RowCells { weights, marks, rates, norms } = &mut self.row;
        weights.resize(ids.len(), 0.0);
        norms.resize(ids.len(), 0.0);
        marks.resize(ids.len(), S::Timestamp::default());
        rates.resize(ids.len(), R::Cell::default());
        for (((&id, weight), mark), rate) in ids.iter().zip(weights).zip(marks).zip(rates) {
            let cell = &self.cells[id as usize];
            (*weight, *mark, *rate) = (cell.weight, cell.mark, cell.rate);
        }
    }

    /// Copies the states back; all pending shrinkage was applied.
    fn scatter(&mut self, ids: &[FeatureId]) {
        let mark = self.shrink.timestamp();
        for ((&id, &weight), &rate) in ids.iter().zip(&self.row.weights).zip(&self.row.rates) {
            let cell = &mut self.cells[id as usize];
            (cell.weight, cell.mark, cell.rate) = (weight, mark, rate);
        }
    }

    /// Applies pending shrinkage to the row's weights; returns the margin and ‖x/s‖² (with the intercept's 1).
    fn settle_row(&mut self, values: &[f64]) -> (f64, f64) {
        let LazySgd { rate: step, shrink, row: RowCells { weights, marks, rates, norms }, .. } = self;
        pulp::Arch::new().dispatch(|| {
            let states = weights.iter_mut().zip(&*marks).zip(rates).zip(&mut *norms);
            for ((((weight, mark), rate), norm), &value) in states.zip(values) {
                let mut cell = *rate;
                let settled = shrink.apply_pending(*weight, mark, step.factor(&cell));
                *weight = settled * step.rescale_weight(&cell, value);
                *norm = step.observe_value(&mut cell, value);
                *rate = cell;
            }
        });
        let (mut margin, mut norm) = (self.bias, 1.0);
        for ((&weight, &value), &part) in weights.iter().zip(values).zip(&*norms) {
            margin += weight * value;
            norm += part;
        }
        (margin, norm)
    }

    fn descend(&mut self, row: Row<'_>, slope: f64, h: f64, norm: f64) {
        let LazySgd { rate: step, signs, row: RowCells { weights, rates, .. }, .. } = self;
        pulp::Arch::new().dispatch(|| {
            for ((weight, rate), &value) in weights.iter_mut().zip(rates).zip(row.values) {
                let (gradient, mut cell) = (slope * value, *rate);
                step.observe(&mut cell, gradient, norm);
                *weight -= h * step.factor(&cell) * gradient;
                *rate = cell;
            }
        });
        if !signs.is_free() {
            row.ids.iter().zip(weights).for_each(|(&id, weight)| *weight = signs.clip(id, *weight));
        }
        if self.intercept {
            self.rate.observe_value(&mut self.bias_rate, 1.0);
            self.rate.observe(&mut self.bias_rate, slope, norm);
            self.bias -= h * self.rate.factor(&self.bias_rate) * slope;
        }
    }

    /// Adds the values of the row's weights since their last update to the means.
    fn average_row(&mut self, row: Row<'_>) {
        let Some(mean) = &mut self.mean else { return };
        mean.cells.resize(self.cells.len(), AveragedCell { sum: 0.0, since: (self.steps + 1) as f64 });
        for &id in row.ids {
            let (cell, mean_cell) = (&self.cells[id as usize], &mut mean.cells[id as usize]);
            let factor = self.rate.factor(&cell.rate);
            mean_cell.sum +=
                self.shrink.trajectory_sum(cell.weight, &cell.mark, factor, mean_cell.since as u64, &mean.history);
            mean_cell.since = (self.steps + 1) as f64;
        }
    }

    /// After the step: advances the clock and the means, and sometimes sweeps over all weights.
    fn advance(&mut self, h: f64) {
        self.steps += 1;
        self.shrink.advance(h);
        if let Some(mean) = &mut self.mean {
            mean.bias_sum += self.bias;
            mean.history.push(self.shrink.reading());
        }
        let epoch_ends = self.mean.is_some() && self.steps.is_multiple_of(EPOCH);
        if self.shrink.needs_reset() || epoch_ends {
            self.sweep();
        }
    }

    /// Applies pending shrinkage to every weight and resets the clock and its history. Depends on the step only, not on
    /// batches.
    fn sweep(&mut self) {
        if let Some(mean) = &mut self.mean {
            for (cell, mean_cell) in self.cells.iter().zip(&mut mean.cells) {
                let factor = self.rate.factor(&cell.rate);
                let since = mean_cell.since as u64;
                mean_cell.sum += self.shrink.trajectory_sum(cell.weight, &cell.mark, factor, since, &mean.history);
                mean_cell.since = (self.steps + 1) as f64;
            }
            mean.history.restart(self.steps + 1);
        }
        for cell in &mut self.cells {
            cell.weight = self.shrink.apply_pending(cell.weight, &cell.mark, self.rate.factor(&cell.rate));
        }
        self.shrink.reset_clock();
        let now = self.shrink.timestamp();
        self.cells.iter_mut().for_each(|cell| cell.mark = now);
    }

    /// The factor of the last weight before a new value is used; means are not rescaled.
    fn rescale_weight(&self, id: FeatureId, value: f64) -> f64 {
        match (&self.mean, self.cells.get(id as usize)) {
            (None, Some(cell)) => self.rate.rescale_weight(&cell.rate, value),
            _ => 1.0,
        }
    }

    /// The last weight, also when averaging.
    fn last_weight(&self, id: FeatureId) -> f64 {
        self.cells.get(id as usize).map_or(0.0, |cell| self.settled(cell))
    }
}

impl<S: LazyProx, R: StepSize, L: Loss> Learner for LazySgd<S, R, L> {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter()
            .fold(self.bias(), |margin, (id, value)| margin + self.weight(id) * self.rescale_weight(id, value) * value)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        self.grow(row.span());
        let averaged = self.mean.is_some().then(|| self.margin(row));
        self.average_row(row);
        self.gather(row.ids);
        let (margin, norm) = self.settle_row(row.values);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        let h = self.rate.at(self.steps + 1);
        if slope != 0.0 {
            self.descend(row, slope, h, norm);
        }
        self.scatter(row.ids);
        self.advance(h);
        let margin = averaged.unwrap_or(margin);
        Step { margin, loss: self.loss.value(margin, example.target) * example.weight }
    }

    fn reserve(&mut self, features: usize) {
        // What cannot be reserved now is asked for again when it is needed.
        let _ = self.cells.try_reserve_exact(features.saturating_sub(self.cells.len()));
    }

    fn fetch(&self, ids: &[FeatureId]) {
        prefetch(&self.cells, ids);
    }

    fn weight(&self, id: FeatureId) -> f64 {
        let (Some(mean), Some(cell)) = (&self.mean, self.cells.get(id as usize)) else { return self.last_weight(id) };
        let Some(mean_cell) = mean.cells.get(id as usize) else { return 0.0 };
        let factor = self.rate.factor(&cell.rate);
        let rest = self.shrink.trajectory_sum(cell.weight, &cell.mark, factor, mean_cell.since as u64, &mean.history);
        (mean_cell.sum + rest) / (self.steps + 1) as f64
    }

    /// A scan without looking cells up one by one: the weights of many are settled at once.
    fn each_weight(&self, mut show: impl FnMut(FeatureId, f64)) {
        const MANY: usize = 256;
        let mut ids = 0..self.cells.len() as FeatureId;
        if self.mean.is_some() {
            return ids.for_each(|id| show(id, self.weight(id)));
        }
        let mut weights = [0.0; MANY];
        for cells in self.cells.chunks(MANY) {
            pulp::Arch::new().dispatch(|| {
                for (weight, cell) in weights.iter_mut().zip(cells) {
                    *weight = self.settled(cell);
                }
            });
            weights[..cells.len()].iter().zip(&mut ids).for_each(|(&weight, id)| show(id, weight));
        }
    }

    fn bias(&self) -> f64 {
        match &self.mean {
            Some(mean) => mean.bias_sum / (self.steps + 1) as f64,
            None => self.bias,
        }
    }

    fn span(&self) -> usize {
        self.cells.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        let Some(cell) = self.cells.get(id as usize) else { return !self.signs.belongs(id) };
        !self.signs.belongs(id) && cell.rate == R::Cell::default() && self.mean.is_none() && self.settled(cell) == 0.0
    }

    fn forget(&mut self, id: FeatureId) {
        if let Some(cell) = self.cells.get_mut(id as usize) {
            *cell = Cell::default();
        }
        if let Some(mean_cell) = self.mean.as_mut().and_then(|mean| mean.cells.get_mut(id as usize)) {
            *mean_cell = AveragedCell { sum: 0.0, since: (self.steps + 1) as f64 };
        }
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.cells[..]) + self.mean.as_ref().map_or(0, |mean| size_of_val(&mean.cells[..]))
    }

    fn save(&self, state: &mut State) {
        state.put_all("cells", &self.cells);
        state.put_all("bias", &[Cell { weight: self.bias, mark: (), rate: self.bias_rate, line: () }]);
        state.put_count("steps", self.steps);
        state.put("clock", self.shrink.save());
        if let Some(mean) = &self.mean {
            mean.save(state);
        }
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.cells = state.take_all("cells")?;
        let bias: Vec<Cell<(), R::Cell>> = state.take_all("bias")?;
        let [bias] = bias[..] else { return Err(state.wrong_shape("bias")) };
        (self.bias, self.bias_rate) = (bias.weight, bias.rate);
        self.steps = state.take_count("steps")?;
        let clock = state.take("clock")?;
        if !self.shrink.load(&clock) {
            return Err(state.wrong_shape("clock"));
        }
        match &mut self.mean {
            Some(mean) => mean.load(state),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;
    use crate::prox::{NoProx, TruncatedL1};
    use crate::step_size::Schedule;

    fn example<'a>(ids: &'a [u32], values: &'a [f64], target: f64) -> Example<'a> {
        Example { row: Row { ids, values }, target, weight: 1.0 }
    }

    #[test]
    fn one_step_by_hand() {
        let rate = Schedule { start: 0.1, power: 0.0 };
        let mut sgd = LazySgd::new(LossKind::Squared.build(1.0), rate, NoProx, true, false);
        let step = sgd.learn(example(&[0, 2], &[1.0, -2.0], 3.0));
        assert_eq!(step, Step { margin: 0.0, loss: 9.0 });
        // slope = 2(0 − 3) = −6; w += 0.6·x
        assert!((sgd.weight(0) - 0.6).abs() < 1e-15 && (sgd.weight(2) + 1.2).abs() < 1e-15);
        assert_eq!(sgd.weight(1), 0.0);
        assert!((sgd.bias() - 0.6).abs() < 1e-15);
    }

    #[test]
    fn a_resting_weight_owes_gravity() {
        let rate = Schedule { start: 0.1, power: 0.0 };
        let gravity = TruncatedL1::new(0.5, f64::INFINITY, 1);
        let mut learner = LazySgd::new(LossKind::Squared.build(1.0), rate, gravity, false, false);
        learner.learn(example(&[0], &[1.0], 1.0)); // w = 0.2 − 0.05
        assert!((learner.weight(0) - 0.15).abs() < 1e-15);
        learner.learn(example(&[1], &[1.0], 1.0));
        learner.learn(example(&[1], &[1.0], 1.0));
        assert!((learner.weight(0) - 0.05).abs() < 1e-15);
        learner.learn(example(&[1], &[1.0], 1.0));
        assert_eq!(learner.weight(0), 0.0, "exactly zero");
        assert!(learner.is_idle(0) && !learner.is_idle(1));
    }

    #[test]
    fn means_by_hand() {
        let rate = Schedule { start: 0.1, power: 0.0 };
        let mut learner = LazySgd::new(LossKind::Squared.build(1.0), rate, NoProx, false, true);
        learner.learn(example(&[0], &[1.0], 1.0)); // w = 0, 0.2
        learner.learn(example(&[1], &[1.0], 1.0)); // w = 0, 0.2, 0.2
        assert!((learner.weight(0) - 0.4 / 3.0).abs() < 1e-15);
        assert!((learner.weight(1) - 0.2 / 3.0).abs() < 1e-15);
    }
}
