//! `ftrl`: follow the regularised leader, proximal form, with a step size for each weight.
//!
//! Source: McMahan et al., *Ad Click Prediction: a View from the Trenches* (KDD 2013), Algorithm 1.
//!
//! Per weight with state z, n; g is the weight's gradient:
//! ```text
//! w = 0                                                   if |z| ≤ λ₁
//! w = −(z − λ₁ sign z) / ((β + √n)/α + λ₂)                otherwise
//! σ = (√(n + g²) − √n)/α,   z ← z + g − σw,   n ← n + g²
//! ```
//! A weight that must have a sign is this w, or 0 if w has the other sign: the leader on the half-line.
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | α | `alpha` | 0.5 | ours, by cross-validation on nine sets scaled to a largest value of 1; Vowpal Wabbit 0.005 |
//! | β | `beta` | 1 | the source, section 3.1 |
//! | λ₁ | `l1` | 3 | ours, as α: the sparsest within a standard error of the best |
//! | λ₂ | `l2` | 0 | ours |
//!
//! Departures: √n is stored instead of n (one square root per update instead of two). The intercept is an ordinary
//! weight with λ₁ = λ₂ = 0. λ₁ acts on *sums* of gradients, so its effect fades as 1/rows, unlike the λ of the other
//! learners.
//!
//! Cost: O(non-zeros) per step. The states of a row's features are copied to where they are next to each other, so that roots
//! and divisions are those of whole vectors; each number is that of the formulas, bit for bit. The margin is a sum of eight
//! partial sums. Memory: 16 bytes per feature
//! seen; a weight of zero keeps its z and n.

use super::averaging::{AveragedCell, AveragedWeights};
use super::{Learner, Step};
use crate::data::{Example, FeatureId, Row, State, StateError, ToF64s, dot, prefetch};
use crate::loss::{AnyLoss, Loss};
use crate::prox::{SignBounds, soft_threshold};

/// FTRL-proximal.
#[derive(Clone, Debug)]
pub struct Ftrl {
    loss: AnyLoss,
    params: Params,
    intercept: bool,
    cells: Vec<Cell>,
    bias: Cell,
    steps: u64,
    mean: Option<AveragedWeights>,
    signs: SignBounds,
    row: RowCells,
}

/// The states and the weights of the features of a row, next to each other.
#[derive(Clone, Debug, Default)]
struct RowCells {
    cells: Vec<Cell>,
    weights: Vec<f64>,
}

/// The four parameters of the source.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Params {
    inverse_alpha: f64,
    beta: f64,
    l1: f64,
    l2: f64,
}

/// z and √n.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    z: f64,
    root: f64,
}

impl ToF64s for Cell {
    const WIDTH: usize = 2;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.z, self.root]);
    }
    fn unpack(fields: &[f64]) -> Self {
        Cell { z: fields[0], root: fields[1] }
    }
}

impl Cell {
    #[inline]
    fn weight(&self, params: &Params) -> f64 {
        // With β = λ₂ = 0 an untouched cell would be 0/0.
        let divisor = (params.beta + self.root) * params.inverse_alpha + params.l2;
        -soft_threshold(self.z, params.l1) / divisor.max(f64::MIN_POSITIVE)
    }

    #[inline]
    fn learn(&mut self, weight: f64, gradient: f64, params: &Params) {
        let root = (self.root * self.root + gradient * gradient).sqrt();
        self.z += gradient - (root - self.root) * params.inverse_alpha * weight;
        self.root = root;
    }
}

impl RowCells {
    /// Copies the states of these features, and prefetches those of the next row.
    fn gather(&mut self, cells: &[Cell], ids: &[FeatureId], next: &[FeatureId]) {
        let (along, later) = next.split_at(next.len().min(ids.len()));
        self.cells.clear();
        self.cells.extend(ids.iter().zip(along).map(|(&id, next)| {
            prefetch(cells, std::slice::from_ref(next));
            cells[id as usize]
        }));
        self.cells.extend(ids[along.len()..].iter().map(|&id| cells[id as usize]));
        prefetch(cells, later);
    }

    /// Computes their weights.
    fn weigh(&mut self, params: &Params) {
        self.weights.resize(self.cells.len(), 0.0);
        pulp::Arch::new().dispatch(|| {
            self.cells.iter().zip(&mut self.weights).for_each(|(cell, weight)| *weight = cell.weight(params));
        });
    }

    /// Learns from a row with these values, and copies the states back.
    fn learn(&mut self, cells: &mut [Cell], row: Row<'_>, slope: f64, params: &Params) {
        pulp::Arch::new().dispatch(|| {
            for ((cell, &weight), &value) in self.cells.iter_mut().zip(&self.weights).zip(row.values) {
                cell.learn(weight, slope * value, params);
            }
        });
        row.ids.iter().zip(&self.cells).for_each(|(&id, cell)| cells[id as usize] = *cell);
    }
}

impl Ftrl {
    /// A new learner.
    pub fn new(loss: AnyLoss, alpha: f64, beta: f64, l1: f64, l2: f64, intercept: bool, average: bool) -> Self {
        Ftrl {
            loss,
            params: Params { inverse_alpha: 1.0 / alpha, beta, l1, l2 },
            intercept,
            cells: Vec::new(),
            bias: Cell::default(),
            steps: 0,
            mean: average.then(AveragedWeights::new),
            signs: SignBounds::default(),
            row: RowCells::default(),
        }
    }

    /// The learner with bounds on its weights.
    pub fn bounded(self, signs: SignBounds) -> Self {
        Ftrl { signs, ..self }
    }

    fn free_params(&self) -> Params {
        Params { l1: 0.0, l2: 0.0, ..self.params }
    }

    fn last_bias(&self) -> f64 {
        self.bias.weight(&self.free_params())
    }

    /// A weight does not change between updates, so its sum grows by weight × steps.
    fn average_row(&mut self, row: Row<'_>) {
        let Some(mean) = &mut self.mean else { return };
        mean.cells.resize(self.cells.len(), AveragedCell { sum: 0.0, since: (self.steps + 1) as f64 });
        for &id in row.ids {
            let mean_cell = &mut mean.cells[id as usize];
            let rested = (self.steps + 1) as f64 - mean_cell.since;
            let weight = self.signs.clip(id, self.cells[id as usize].weight(&self.params));
            mean_cell.sum += weight * rested;
            mean_cell.since = (self.steps + 1) as f64;
        }
    }
}

impl Learner for Ftrl {
    fn margin(&self, row: Row<'_>) -> f64 {
        let weights: Vec<f64> = row.ids.iter().map(|&id| self.weight(id)).collect();
        self.bias() + dot(&weights, row.values)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        self.learn_before(example, &[])
    }

    /// The next row is prefetched after the states of this one were copied, while they are computed with.
    fn learn_before(&mut self, example: Example<'_>, next: &[FeatureId]) -> Step {
        let row = example.row;
        self.cells.resize(self.cells.len().max(row.span()), Cell::default());
        let averaged = self.mean.is_some().then(|| self.margin(row));
        self.average_row(row);
        let bias = self.last_bias();
        self.row.gather(&self.cells, row.ids, next);
        self.row.weigh(&self.params);
        if !self.signs.is_free() {
            row.ids.iter().zip(&mut self.row.weights).for_each(|(&id, weight)| *weight = self.signs.clip(id, *weight));
        }
        let margin = bias + dot(&self.row.weights, row.values);
        let [loss, slope] = self.loss.value_and_slope(margin, example.target).map(|part| part * example.weight);
        if slope != 0.0 {
            self.row.learn(&mut self.cells, row, slope, &self.params);
            if self.intercept {
                let params = self.free_params();
                self.bias.learn(bias, slope, &params);
            }
        }
        self.steps += 1;
        let last_bias = self.last_bias();
        if let Some(mean) = &mut self.mean {
            mean.bias_sum += last_bias;
        }
        match averaged {
            Some(margin) => Step { margin, loss: self.loss.value(margin, example.target) * example.weight },
            None => Step { margin, loss },
        }
    }

    fn reserve(&mut self, features: usize) {
        // What cannot be reserved now is asked for again when it is needed.
        let _ = self.cells.try_reserve_exact(features.saturating_sub(self.cells.len()));
    }

    fn fetch(&self, ids: &[FeatureId]) {
        prefetch(&self.cells, ids);
    }

    fn weight(&self, id: FeatureId) -> f64 {
        let Some(cell) = self.cells.get(id as usize) else { return 0.0 };
        let last = self.signs.clip(id, cell.weight(&self.params));
        let Some(mean) = &self.mean else { return last };
        let Some(mean_cell) = mean.cells.get(id as usize) else { return 0.0 };
        let rested = (self.steps + 1) as f64 - mean_cell.since;
        (mean_cell.sum + last * rested) / (self.steps + 1) as f64
    }

    fn bias(&self) -> f64 {
        match &self.mean {
            Some(mean) => mean.bias_sum / (self.steps + 1) as f64,
            None => self.last_bias(),
        }
    }

    fn span(&self) -> usize {
        self.cells.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        let is_fresh = self.cells.get(id as usize).is_none_or(|cell| *cell == Cell::default());
        is_fresh && self.mean.is_none() && !self.signs.belongs(id)
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

    /// Most weights are zero, which is found without a division, and for many at once.
    fn each_nonzero(&self, mut show: impl FnMut(FeatureId, f64)) {
        const MANY: usize = 64;
        let may_weigh = |cell: &Cell| self.mean.is_some() | (cell.z.abs() > self.params.l1) | cell.z.is_nan();
        for (first, cells) in (0..).step_by(MANY).zip(self.cells.chunks(MANY)) {
            if pulp::Arch::new().dispatch(|| cells.iter().fold(false, |any, cell| any | may_weigh(cell))) {
                for (id, _) in (first..).zip(cells).filter(|(_, cell)| may_weigh(cell)) {
                    let weight = self.weight(id);
                    if weight != 0.0 {
                        show(id, weight);
                    }
                }
            }
        }
    }

    fn save(&self, state: &mut State) {
        state.put_all("cells", &self.cells);
        state.put_all("bias", &[self.bias]);
        state.put_count("steps", self.steps);
        if let Some(mean) = &self.mean {
            mean.save(state);
        }
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.cells = state.take_all("cells")?;
        let bias = state.take_all("bias")?;
        [self.bias] = bias.try_into().map_err(|_| state.wrong_shape("bias"))?;
        self.steps = state.take_count("steps")?;
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

    #[test]
    fn first_step_by_hand() {
        let mut ftrl = Ftrl::new(LossKind::Hinge.build(1.0), 0.5, 1.0, 0.25, 0.0, false, false);
        ftrl.learn(Example { row: Row { ids: &[1], values: &[2.0] }, target: 1.0, weight: 1.0 });
        // g = −2: z = −2, √n = 2, w = (2 − 0.25)/((1 + 2)/0.5)
        assert!((ftrl.weight(1) - 1.75 / 6.0).abs() < 1e-15);
        assert_eq!(ftrl.weight(0), 0.0);
    }

    #[test]
    fn a_weight_returns_to_zero() {
        let mut ftrl = Ftrl::new(LossKind::Squared.build(1.0), 1.0, 1.0, 1.0, 0.0, false, false);
        let row = Row { ids: &[0], values: &[1.0] };
        ftrl.learn(Example { row, target: 1.0, weight: 1.0 });
        assert!(ftrl.weight(0) > 0.0);
        ftrl.learn(Example { row, target: -0.6, weight: 1.0 });
        assert_eq!(ftrl.weight(0), 0.0);
    }
}
