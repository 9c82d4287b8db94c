//! The step of `epoch_sgd.rs`: against the slope, then back into the ℓ₁ ball and the ℓ₂ ball around the start of the epoch.
//!
//! A projection on the ℓ₁ ball moves the one threshold that all weights share, and what follows for ‖w − c‖₂ is known
//! before it is done. Only a step that leaves the ℓ₂ ball, too, visits all features.

use super::epoch_sgd::{Cell, EpochSgd};
use crate::data::{FeatureId, Row};
use crate::prox::{Projection, project_l1_l2};

impl EpochSgd {
    /// Sets a weight, and updates all sums that contain it.
    #[inline]
    pub(super) fn put(&mut self, id: FeatureId, weight: f64) {
        let Cell { key: old_key, centre, .. } = self.weights.cells[id as usize];
        self.weights.put(id, weight);
        let new_key = self.weights.cells[id as usize].key;
        let (old, new) = (self.weights.weight_of_key(old_key), self.weights.weight_of_key(new_key));
        let path = self.path(old_key) - self.path(new_key);
        self.weights.cells[id as usize].sum += path;
        self.distance += (new - old) * (new + old - 2.0 * centre);
        self.overlap += (sign(new) - sign(old)) * centre;
    }

    /// w_t − η_k g x, projected on both balls.
    pub(super) fn descend(&mut self, row: Row<'_>, slope: f64) {
        let step = self.rate * slope;
        for (id, value) in row.iter() {
            self.put(id, self.weights.weight(id) - step * value);
        }
        if self.intercept {
            self.bias -= step;
        }
        let plan = self.weights.plan(self.radius);
        let lowered = plan.map(|plan| (plan, self.after(plan)));
        let distance = lowered.map_or(self.distance, |(_, (distance, _))| distance);
        match lowered {
            _ if distance > self.reach * self.reach => self.project(),
            Some((plan, sums)) => self.lower(plan, sums),
            None => {}
        }
    }

    /// ‖w − c‖₂² and the overlap after a projection on the ℓ₁ ball.
    fn after(&self, plan: Projection) -> (f64, f64) {
        let (mut distance, mut overlap) = (self.distance, self.overlap);
        for &id in self.weights.leaving() {
            let cell = &self.weights.cells[id as usize];
            let weight = self.weights.weight_of_key(cell.key);
            distance -= weight * (weight - 2.0 * cell.centre);
            overlap -= sign(weight) * cell.centre;
        }
        let Projection { amount, norm, count } = plan;
        distance += amount * (count as f64 * amount - 2.0 * (norm - overlap));
        (distance, overlap)
    }

    /// Projects on the ℓ₁ ball alone.
    fn lower(&mut self, plan: Projection, sums: (f64, f64)) {
        for at in 0..self.weights.leaving().len() {
            let id = self.weights.leaving()[at] as usize;
            self.weights.cells[id].sum += self.path(self.weights.cells[id].key);
        }
        (self.distance, self.overlap) = sums;
        self.weights.commit(plan);
    }

    /// Projects on both balls, over all features.
    fn project(&mut self) {
        self.weights.cancel();
        let (mut weights, centre): (Vec<f64>, Vec<f64>) =
            self.weights.cells.iter().map(|cell| (self.weights.weight_of_key(cell.key), cell.centre)).unzip();
        project_l1_l2(&mut weights, &centre, self.radius, self.reach);
        let mut projected = weights.into_iter();
        self.rewrite(|_| projected.next().expect("a weight for each cell"));
    }

    /// Sets all weights again, with Θ = 0 and recomputed sums.
    pub(super) fn rewrite(&mut self, mut weight: impl FnMut(f64) -> f64) {
        let (steps, offsets) = (self.steps as f64, self.offsets);
        let (mut distance, mut overlap) = (0.0, 0.0);
        self.weights.rewrite(|old, cell| {
            let new = weight(old);
            let path = if cell.key == 0.0 { 0.0 } else { cell.key.signum() * (cell.key.abs() * steps - offsets) };
            cell.sum += path - new * steps;
            distance += (new - cell.centre).powi(2);
            overlap += sign(new) * cell.centre;
            new
        });
        (self.offsets, self.distance, self.overlap) = (0.0, distance, overlap);
    }
}

/// −1, 0 or 1.
fn sign(weight: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { weight.signum() }
}
