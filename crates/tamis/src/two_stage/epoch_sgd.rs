//! The first stage of `two-stage`: SGD in epochs, inside an ℓ₁ ball and a shrinking ℓ₂ ball.
//!
//! Source: Li et al. 2017, *A Two-Stage Approach for Learning a Sparse Model with Sharp Excess Risk Analysis* (AAAI
//! 2017), Algorithm 1; the second stage is `sampling.rs`.
//!
//! ```text
//! epoch k = 1, 2, …:  c = w₁;  for t = 1 … T_k:  w_{t+1} = Π[w_t − η_k g x]    Π on ‖w‖₁ ≤ B, ‖w − c‖₂ ≤ ρ_k
//!                     next w₁ = Σ_t w_t/T_k;  T_{k+1} = 2T_k;  η_{k+1} = η_k/2;  ρ_{k+1} = ρ_k/√2
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | B, ρ₁ | `radius`, `reach` | B: the largest \|y\|, or 10 for classes; ρ₁ = B | Li et al. 2017, section 5, Theorem 1 |
//! | T₁ | `length` | from ‖x‖² and the number of rows | Theorem 1, see `hyperparams.rs` |
//! | η₁ | `rate` | from ‖x‖² and T₁ | Theorem 1, see `hyperparams.rs` |
//! | c | `centre` of a cell | the last epoch's mean | Algorithm 1, line 8 |
//! | E x_j² | `square` of a cell | accumulated over the rows | Theorem 3 |
//!
//! Departures: at the end of an epoch the weights are those of the paper; within an epoch, the remaining steps count as
//! if they stayed at c, (Σ_{i≤t} w_i + (T_k − t)c)/T_k, so that an epoch that is cut short uses all rows and nothing
//! jumps (E33). The first epoch has no mean before it: its weights are the plain mean. Any loss can be used. Our
//! squared loss has twice the paper's slope (E52). The intercept is averaged with the weights and lies outside both
//! balls.
//!
//! Cost: O(non-zeros) for each step, amortised, for any number of features (E31). All weights share one threshold
//! ([`L1BallVector`]), so that ‖w‖₁, ‖w − c‖₂ and the sums of all untouched weights follow from a few numbers. A step
//! that leaves the ℓ₂ ball costs O(features): ρ_k is much larger than a typical step, and with small weights on many
//! features it is not reached. Memory: 32 bytes for each known feature, some 40 for each non-zero weight.

use super::params::params_of;
use crate::data::{Example, FeatureId, Row, State, StateError, ToF64s, prefetch};
use crate::learners::{Learner, Step};
use crate::loss::{AnyLoss, Loss};
use crate::prox::{Keyed, L1BallVector};
use crate::recipe::Recipe;

/// Steps of an epoch after which the keys are recomputed: Θ stays small and keeps its precision.
const LIFE: u64 = 1 << 16;

/// The state of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub(super) struct Cell {
    /// The weight, as [`L1BallVector`] keeps it.
    pub(super) key: f64,
    /// c: the weight at the start of the epoch.
    pub(super) centre: f64,
    /// Σ w over the steps of the epoch, minus the part that follows from the key: see [`EpochSgd::path`].
    pub(super) sum: f64,
    /// Σ x², weighted, over all rows.
    pub(super) square: f64,
}

impl ToF64s for Cell {
    const WIDTH: usize = 4;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.key, self.centre, self.sum, self.square]);
    }
    fn unpack(fields: &[f64]) -> Self {
        Cell { key: fields[0], centre: fields[1], sum: fields[2], square: fields[3] }
    }
}

impl Keyed for Cell {
    fn key(&self) -> f64 {
        self.key
    }
    fn set_key(&mut self, key: f64) {
        self.key = key;
    }
}

/// SGD in epochs.
#[derive(Clone, Debug)]
pub struct EpochSgd {
    pub(super) loss: AnyLoss,
    pub(super) intercept: bool,
    pub(super) radius: f64,
    /// η_k, ρ_k and T_k of this epoch.
    pub(super) rate: f64,
    pub(super) reach: f64,
    pub(super) length: u64,
    /// Finished epochs, and steps of this one.
    pub(super) done: u64,
    pub(super) steps: u64,
    pub(super) weights: L1BallVector<Cell>,
    /// Σ Θ over the epoch's steps.
    pub(super) offsets: f64,
    /// ‖w − c‖₂².
    pub(super) distance: f64,
    /// Σ sign(w_j)·c_j over the non-zero weights.
    pub(super) overlap: f64,
    pub(super) bias: f64,
    pub(super) bias_centre: f64,
    pub(super) bias_sum: f64,
    /// Σ of the examples' weights.
    pub(super) mass: f64,
}

impl EpochSgd {
    /// A learner in its initial state: B, η₁, T₁, and whether there is an intercept.
    pub fn new(loss: AnyLoss, radius: f64, rate: f64, length: u64, intercept: bool) -> Self {
        EpochSgd {
            loss,
            intercept,
            radius,
            rate,
            reach: radius,
            length: length.max(1),
            done: 0,
            steps: 0,
            weights: L1BallVector::new(),
            offsets: 0.0,
            distance: 0.0,
            overlap: 0.0,
            bias: 0.0,
            bias_centre: 0.0,
            bias_sum: 0.0,
            mass: 0.0,
        }
    }

    /// The learner of a recipe whose parameters are all set.
    pub fn for_recipe(recipe: &Recipe, loss: AnyLoss) -> Self {
        let params = params_of(recipe);
        let length = params.first_epoch_steps.unwrap_or(0);
        EpochSgd::new(loss, params.radius(), params.learning_rate(), length, recipe.intercept)
    }

    /// The number of finished epochs.
    pub fn epochs(&self) -> u64 {
        self.done
    }

    /// The length of the current epoch (T_k).
    pub fn epoch_length(&self) -> u64 {
        self.length
    }

    /// The mean square of a feature over the rows so far (E x_j²).
    pub fn mean_square(&self, id: FeatureId) -> f64 {
        let square = self.weights.cells.get(id as usize).map_or(0.0, |cell| cell.square);
        if self.mass > 0.0 { square / self.mass } else { 0.0 }
    }

    /// The contribution of a key to Σ w over the steps of the epoch, as if it had been set before the first step. The
    /// `sum` of a cell corrects for the steps before it was set, so that an untouched weight needs no update.
    #[inline]
    pub(super) fn path(&self, key: f64) -> f64 {
        if key == 0.0 { 0.0 } else { key.signum() * (key.abs() * self.steps as f64 - self.offsets) }
    }

    /// The shares of c and of Σ w in the model.
    fn shares(&self) -> (f64, f64) {
        let (steps, length) = (self.steps as f64, self.length as f64);
        match (self.done, self.steps) {
            (0, 0) => (0.0, 0.0),
            (0, _) => (0.0, 1.0 / steps),
            _ => ((length - steps) / length, 1.0 / length),
        }
    }

    #[inline]
    fn blend(&self, cell: &Cell, (centre, sum): (f64, f64)) -> f64 {
        centre * cell.centre + sum * (cell.sum + self.path(cell.key))
    }

    /// The margins of the model and of w_t.
    fn margins(&self, row: Row<'_>) -> (f64, f64) {
        let shares = self.shares();
        let (mut model, mut iterate) = (self.bias(), self.bias);
        for (id, value) in row.iter() {
            if let Some(cell) = self.weights.cells.get(id as usize) {
                model += self.blend(cell, shares) * value;
                iterate += self.weights.weight_of_key(cell.key) * value;
            }
        }
        (model, iterate)
    }

    /// Ends the epoch: the next one starts at its mean.
    fn turn(&mut self) {
        let (steps, offsets) = (self.steps as f64, self.offsets);
        let mut overlap = 0.0;
        self.weights.rewrite(|_, cell| {
            let path = if cell.key == 0.0 { 0.0 } else { cell.key.signum() * (cell.key.abs() * steps - offsets) };
            cell.centre = (cell.sum + path) / steps;
            cell.sum = 0.0;
            overlap += cell.centre.abs();
            cell.centre
        });
        (self.offsets, self.distance, self.overlap) = (0.0, 0.0, overlap);
        self.bias_centre = self.bias_sum / steps;
        (self.bias, self.bias_sum) = (self.bias_centre, 0.0);
        (self.done, self.steps) = (self.done + 1, 0);
        self.length = self.length.saturating_mul(2);
        self.rate /= 2.0;
        self.reach /= std::f64::consts::SQRT_2;
    }
}

impl Learner for EpochSgd {
    fn margin(&self, row: Row<'_>) -> f64 {
        self.margins(row).0
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        self.weights.grow(row.span());
        let (model_margin, margin) = self.margins(row);
        let slope = self.loss.slope(margin, example.target) * example.weight;
        self.steps += 1;
        self.offsets += self.weights.offset();
        self.bias_sum += self.bias;
        self.mass += example.weight;
        for (id, value) in row.iter() {
            self.weights.cells[id as usize].square += example.weight * value * value;
        }
        if slope != 0.0 {
            self.descend(row, slope);
        }
        if self.steps == self.length {
            self.turn();
        } else if self.steps.is_multiple_of(LIFE) {
            self.rewrite(|weight| weight);
        }
        Step { margin: model_margin, loss: self.loss.value(model_margin, example.target) * example.weight }
    }

    fn fetch(&self, ids: &[FeatureId]) {
        prefetch(&self.weights.cells, ids);
    }

    fn weight(&self, id: FeatureId) -> f64 {
        self.weights.cells.get(id as usize).map_or(0.0, |cell| self.blend(cell, self.shares()))
    }

    fn bias(&self) -> f64 {
        let (centre, sum) = self.shares();
        centre * self.bias_centre + sum * self.bias_sum
    }

    fn span(&self) -> usize {
        self.weights.cells.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        let rest = |cell: &Cell| [cell.key, cell.centre, cell.sum, cell.square] == [0.0; 4];
        self.weights.cells.get(id as usize).is_none_or(rest)
    }

    fn forget(&mut self, id: FeatureId) {
        if (id as usize) < self.span() {
            self.put(id, 0.0);
            let Cell { key, centre, .. } = self.weights.cells[id as usize];
            self.distance -= centre * centre;
            self.weights.cells[id as usize] = Cell { key, ..Cell::default() };
        }
    }

    fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    fn save(&self, state: &mut State) {
        self.weights.save(state);
        let settings = vec![self.radius, self.rate, self.reach];
        let sums = vec![self.offsets, self.distance, self.overlap, self.mass];
        state.put("settings", settings);
        state.put("sums", sums);
        state.put("bias", vec![self.bias, self.bias_centre, self.bias_sum]);
        [("length", self.length), ("done", self.done), ("steps", self.steps)]
            .into_iter()
            .for_each(|(name, count)| state.put_count(name, count));
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.weights.load(state)?;
        [self.radius, self.rate, self.reach] = state.take_fixed("settings")?;
        [self.offsets, self.distance, self.overlap, self.mass] = state.take_fixed("sums")?;
        [self.bias, self.bias_centre, self.bias_sum] = state.take_fixed("bias")?;
        self.length = state.take_count("length")?;
        self.done = state.take_count("done")?;
        self.steps = state.take_count("steps")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    fn epochs(radius: f64, rate: f64, length: u64) -> EpochSgd {
        EpochSgd::new(LossKind::Squared.build(1.0), radius, rate, length, false)
    }

    fn learn(epochs: &mut EpochSgd, values: &[f64], target: f64) {
        let ids: Vec<FeatureId> = (0..values.len() as FeatureId).collect();
        epochs.learn(Example { row: Row { ids: &ids, values }, target, weight: 1.0 });
    }

    #[test]
    fn two_epochs_by_hand() {
        let mut learner = epochs(100.0, 0.25, 2);
        learn(&mut learner, &[1.0], 1.0); // w₁ = 0, slope −2: w₂ = 0.5
        assert_eq!((learner.weight(0), learner.epochs()), (0.0, 0));
        learn(&mut learner, &[1.0], 1.0); // mean of 0 and 0.5
        assert_eq!((learner.weight(0), learner.epochs(), learner.epoch_length()), (0.25, 1, 4));
        learn(&mut learner, &[1.0], 1.0); // counts 0.25 once, then thrice what it began with; moves to 0.25 + 0.1875
        assert_eq!(learner.weight(0), 0.25);
        learn(&mut learner, &[1.0], 1.0);
        assert_eq!(learner.weight(0), (0.25 + 0.4375 + 2.0 * 0.25) / 4.0);
        assert_eq!(learner.mean_square(0), 1.0);
    }

    #[test]
    fn the_l1_ball_by_hand() {
        let mut learner = epochs(2.0, 0.5, 4);
        learn(&mut learner, &[3.0, -2.0, 0.4], 1.0); // (3, −2, 0.4) is lowered by 1.5
        learn(&mut learner, &[1.0, 1.0, 0.0], 1.0); // no error
        // the mean of 0 and (1.5, −0.5, 0)
        assert_eq!([0, 1, 2].map(|id| learner.weight(id)), [0.75, -0.25, 0.0]);
    }

    #[test]
    fn the_l2_ball_by_hand() {
        let mut learner = epochs(4.0, 0.25, 1);
        learn(&mut learner, &[0.0, 0.0], 1.0);
        // epoch 2 begins at 0 with η = 0.125 and ρ = 4/√2: the step (−3, −4) has length 5
        learn(&mut learner, &[3.0, 4.0], -4.0);
        learn(&mut learner, &[0.0, 0.0], 0.0);
        // the mean of 0 and a point at distance 4/√2, of ‖·‖₁ 4/√2·7/5 = 3.96 < 4
        let size = 0.5 * 4.0 / 2f64.sqrt() / 5.0;
        assert!((learner.weight(0) + 3.0 * size).abs() < 1e-14, "{}", learner.weight(0));
        assert!((learner.weight(1) + 4.0 * size).abs() < 1e-14, "{}", learner.weight(1));
    }
}
