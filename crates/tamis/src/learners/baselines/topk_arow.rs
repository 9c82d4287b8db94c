//! `sofs`: second-order online feature selection. Features are kept by confidence, not by the size of the weight.
//!
//! Source: Wu, Hoi, Mei & Yu, *Large-Scale Online Feature Selection for Ultra-High Dimensional Sparse Data* (TKDD 11,
//! 2017), the second-order baseline of Sun et al. 2018. It is based on adaptive regularisation of weight vectors
//! (AROW).
//!
//! With a diagonal confidence Σ (starting at 1), on an example of hinge loss ℓ > 0:
//! ```text
//! β = 1/(r + xᵀΣx),   w ← w + βℓ·y·Σx,   Σ⁻¹_jj ← Σ⁻¹_jj + x_j²/r,   w_j ← 0 unless Σ_jj is among the k smallest
//! ```
//!
//! | symbol | field | default | from |
//! |---|---|---|---|
//! | k | `k` | all | given, as in Sun et al. 2018 |
//! | r | `spread` | 1 | Wu et al. |
//!
//! Departures: any loss can be used; with slope s the update is w ← w − β·d·sign(s)·Σx, where d is the distance of the
//! margin from zero loss ([`Loss::shortfall`]), which is ℓ for the hinge; the squared loss itself would diverge. An
//! example's weight c divides r (an example twice as important is twice as certain). The intercept is one more
//! coordinate and is always kept. Of equal Σ the smaller id is kept.
//!
//! When not to use it: Σ⁻¹ sums x² and knows nothing of y, so the kept features are those that occur most, not those that
//! tell most. On sparse text the two go together; on dense columns of one variance all have the same confidence and the
//! choice is arbitrary (3 of 60 normal columns: 51 % error, where `tsgd` has 16 %; E64).
//!
//! Cost: O(non-zeros · log k) per step: Σ only decreases, and only where x is not zero, so the kept set is a search
//! tree. Memory: 16 bytes per feature seen.

use std::collections::BTreeSet;

use crate::data::{Example, FeatureId, Row, State, StateError};
use crate::learners::{Learner, Step};
use crate::loss::{AnyLoss, Loss};

/// Confidence-based selection.
#[derive(Clone, Debug)]
pub struct TopKArow {
    loss: AnyLoss,
    spread: f64,
    k: usize,
    intercept: bool,
    weights: Vec<f64>,
    /// Σ⁻¹: initially 1.
    certainty: Vec<f64>,
    /// The kept features, lowest confidence last: (bits of 1/Σ⁻¹, id). Positive floats order as their bits.
    kept: BTreeSet<(u64, FeatureId)>,
    bias: f64,
    bias_certainty: f64,
}

impl TopKArow {
    /// A new learner.
    pub fn new(loss: AnyLoss, spread: f64, k: usize, intercept: bool) -> Self {
        TopKArow {
            loss,
            spread,
            k,
            intercept,
            weights: Vec::new(),
            certainty: Vec::new(),
            kept: BTreeSet::new(),
            bias: 0.0,
            bias_certainty: 1.0,
        }
    }

    fn key(&self, id: FeatureId) -> (u64, FeatureId) {
        ((1.0 / self.certainty[id as usize]).to_bits(), id)
    }

    fn update(&mut self, row: Row<'_>, shortfall: f64, slope: f64, weight: f64) {
        let spread = self.spread / weight;
        let mut variance = if self.intercept { 1.0 / self.bias_certainty } else { 0.0 };
        for (id, value) in row.iter() {
            variance += value * value / self.certainty[id as usize];
        }
        let step = shortfall * slope.signum() / (spread + variance);
        for (id, value) in row.iter() {
            let key = self.key(id);
            self.kept.remove(&key);
            let certainty = &mut self.certainty[id as usize];
            self.weights[id as usize] -= step * value / *certainty;
            *certainty += value * value / spread;
            self.kept.insert(self.key(id));
        }
        while self.kept.len() > self.k {
            let (_, id) = self.kept.pop_last().expect("longer than k");
            self.weights[id as usize] = 0.0;
        }
        if self.intercept {
            self.bias -= step / self.bias_certainty;
            self.bias_certainty += 1.0 / spread;
        }
    }
}

impl Learner for TopKArow {
    fn margin(&self, row: Row<'_>) -> f64 {
        row.iter().fold(self.bias, |margin, (id, value)| margin + self.weight(id) * value)
    }

    fn learn(&mut self, example: Example<'_>) -> Step {
        let row = example.row;
        let span = self.weights.len().max(row.span());
        self.weights.resize(span, 0.0);
        self.certainty.resize(span, 1.0);
        let margin = self.margin(row);
        let loss = self.loss.value(margin, example.target);
        let slope = self.loss.slope(margin, example.target);
        if slope != 0.0 && example.weight > 0.0 {
            self.update(row, self.loss.shortfall(margin, example.target), slope, example.weight);
        }
        Step { margin, loss: loss * example.weight }
    }

    fn weight(&self, id: FeatureId) -> f64 {
        self.weights.get(id as usize).copied().unwrap_or(0.0)
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn span(&self) -> usize {
        self.weights.len()
    }

    fn is_idle(&self, id: FeatureId) -> bool {
        // x²/r may vanish beside 1 where the weight does not.
        self.certainty.get(id as usize).is_none_or(|&certainty| certainty == 1.0) && self.weight(id) == 0.0
    }

    fn forget(&mut self, id: FeatureId) {
        if (id as usize) < self.weights.len() {
            let key = self.key(id);
            self.kept.remove(&key);
            self.weights[id as usize] = 0.0;
            self.certainty[id as usize] = 1.0;
        }
    }

    fn bytes(&self) -> usize {
        (self.weights.capacity() + self.certainty.capacity()) * 8 + self.kept.len() * 24
    }

    fn save(&self, state: &mut State) {
        state.put_all("weights", &self.weights);
        state.put_all("certainty", &self.certainty);
        state.put("kept", self.kept.iter().map(|&(_, id)| f64::from(id)).collect());
        state.put("bias", vec![self.bias, self.bias_certainty]);
    }

    fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.weights = state.take_all("weights")?;
        self.certainty = state.take_all("certainty")?;
        let kept = state.take("kept")?;
        let in_range = |&id: &f64| id >= 0.0 && (id as usize) < self.certainty.len();
        if self.weights.len() != self.certainty.len() || !kept.iter().all(in_range) {
            return Err(state.wrong_shape("kept"));
        }
        self.kept = kept.iter().map(|&id| self.key(id as FeatureId)).collect();
        [self.bias, self.bias_certainty] = state.take_fixed("bias")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    #[test]
    fn two_steps_by_hand() {
        let mut sofs = TopKArow::new(LossKind::Hinge.build(1.0), 1.0, 1, false);
        sofs.learn(Example { row: Row { ids: &[0], values: &[1.0] }, target: 1.0, weight: 1.0 });
        // β = 1/(1 + 1), w = ½, Σ = ½
        assert_eq!(sofs.weight(0), 0.5);
        sofs.learn(Example { row: Row { ids: &[1], values: &[2.0] }, target: 1.0, weight: 1.0 });
        // β = 1/(1 + 4), w = 2/5, Σ = 1/5: more certain, so feature 0 goes
        assert_eq!((sofs.weight(0), sofs.weight(1)), (0.0, 0.4));
    }

    #[test]
    fn labels_do_not_change_which_features_are_kept() {
        let kept = |flipped: bool| {
            let mut learner = TopKArow::new(LossKind::Logistic.build(1.0), 1.0, 3, true);
            for row in 0..500_u64 {
                let x = |id: u64| crate::rng::splitmix64(row * 64 + id) as f64 / u64::MAX as f64 - 0.5;
                let (ids, values): (Vec<u32>, Vec<f64>) = (0..20).map(|id| (id as u32, x(id))).unzip();
                let target = if (x(0) > 0.0) == flipped { -1.0 } else { 1.0 };
                learner.learn(Example { row: Row { ids: &ids, values: &values }, target, weight: 1.0 });
            }
            learner.kept.iter().map(|(_, id)| *id).collect::<Vec<_>>()
        };
        assert_eq!(kept(false), kept(true));
    }
}
