//! One path: plain SGD over its own permutation of the rows, with informative truncation after each burst.
//!
//! Source: Ma & Zheng 2016, Algorithms 2 and 3, eq. (2) and (5); what counts as an update is E6.
//! ```text
//! f = b + Σ_{j in Ω} w_j·x_j;   w_j ← w_j − η·ℓ'(f, y)·x_j;   k_j ← k_j + 1        K times
//! v_j = |w_j − w_j at the start of the burst|/k_j;   w_j ← T(w_j, g₀·k_j)           for k_j > 0
//! ```
//! A feature without an update is not shrunk, so that a burst visits only the features it has updated.
//!
//! Cost: O(non-zeros) for each row, O(updated features) for each burst.

use crate::data::{Batch, Example, FeatureId};
use crate::loss::{AnyLoss, Loss};
use crate::prox::soft_threshold;
use crate::recipe::Count;
use crate::rng::{RngStream, generator, shuffle};

/// The parameters of all paths and stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub loss: AnyLoss,
    /// η.
    pub rate: f64,
    pub intercept: bool,
    pub count: Count,
}

/// The parameters of one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// g₀.
    pub gravity: f64,
    /// K_s.
    pub burst: u64,
    /// n_K.
    pub bursts: u32,
}

/// The effect of one burst on a feature that it updated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BurstUpdate {
    pub id: FeatureId,
    /// k: counted updates.
    pub updates: u32,
    /// v = |Δw/k| before truncation.
    pub mean_change: f64,
    /// Whether the weight was non-zero at the start of the burst.
    pub before: bool,
    /// Whether the weight is non-zero after truncation: this counts for Π.
    pub after: bool,
}

/// The state of a feature on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cell {
    weight: f64,
    /// k of the current burst.
    updates: u32,
    purged: bool,
}

/// The loss of the rows of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub loss: f64,
    pub importance: f64,
}

/// The state of one path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    order: Vec<u32>,
    next: usize,
    cells: Vec<Cell>,
    bias: f64,
    /// Features that the burst has updated, with their weights at its start.
    touched: Vec<(FeatureId, f64)>,
    /// The effects of the bursts of the current stage, in order.
    pub burst_updates: Vec<BurstUpdate>,
    pub cost: Cost,
}

impl Path {
    /// Path number `number` over these rows and features.
    pub fn new(seed: u64, number: u64, rows: u32, span: usize) -> Self {
        let mut order: Vec<u32> = (0..rows).collect();
        shuffle(&mut generator(seed, RngStream::PathOrder, number), &mut order);
        Path {
            order,
            next: 0,
            cells: vec![Cell::default(); span],
            bias: 0.0,
            touched: Vec::new(),
            burst_updates: Vec::new(),
            cost: Cost::default(),
        }
    }

    /// Runs n_K bursts. The updates and the cost are those of this stage alone.
    pub fn run_stage(&mut self, rows: &Batch, rule: &Rule, plan: &Plan) {
        self.burst_updates.clear();
        self.cost = Cost::default();
        for _ in 0..plan.bursts {
            for _ in 0..plan.burst {
                let row = self.order[self.next];
                self.next = if self.next + 1 == self.order.len() { 0 } else { self.next + 1 };
                self.learn(rows.example(row as usize), rule);
            }
            self.truncate(plan.gravity);
        }
    }

    fn learn(&mut self, example: Example<'_>, rule: &Rule) {
        // The weight of a purged feature is zero: it adds nothing.
        let margin =
            example.row.iter().fold(self.bias, |sum, (id, value)| sum + self.cells[id as usize].weight * value);
        self.cost.loss += rule.loss.value(margin, example.target) * example.weight;
        self.cost.importance += example.weight;
        let slope = rule.loss.slope(margin, example.target) * example.weight;
        if slope == 0.0 && rule.count == Count::Informative {
            return;
        }
        let step = rule.rate * slope;
        for (id, value) in example.row.iter() {
            let cell = &mut self.cells[id as usize];
            if cell.purged {
                continue;
            }
            if cell.updates == 0 {
                self.touched.push((id, cell.weight));
            }
            cell.updates += 1;
            cell.weight -= step * value;
        }
        if rule.intercept {
            self.bias -= step;
        }
    }

    /// Applies T(w, g₀·k) and records the update of each feature of the burst.
    fn truncate(&mut self, gravity: f64) {
        for (id, start) in self.touched.drain(..) {
            let cell = &mut self.cells[id as usize];
            let updates = f64::from(cell.updates);
            let mean_change = (cell.weight - start).abs() / updates;
            cell.weight = soft_threshold(cell.weight, gravity * updates);
            let (before, after) = (start != 0.0, cell.weight != 0.0);
            self.burst_updates.push(BurstUpdate { id, updates: cell.updates, mean_change, before, after });
            cell.updates = 0;
        }
    }

    /// Removes a feature from Ω permanently.
    pub fn purge(&mut self, id: FeatureId) {
        self.cells[id as usize] = Cell { purged: true, ..Cell::default() };
    }

    pub fn weight(&self, id: usize) -> f64 {
        self.cells[id].weight
    }

    pub fn bias(&self) -> f64 {
        self.bias
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;
    use crate::loss::LossKind;

    fn rule(count: Count) -> Rule {
        Rule { loss: LossKind::Hinge.build(1.0), rate: 0.25, intercept: false, count }
    }

    /// One row with x = (1, 2).
    fn one_row(target: f64, weight: f64) -> Batch {
        let mut rows = Batch::new();
        rows.push(Example { row: Row { ids: &[0, 1], values: &[1.0, 2.0] }, target, weight });
        rows
    }

    fn path(rows: &Batch) -> Path {
        Path::new(1, 0, rows.len() as u32, 3)
    }

    #[test]
    fn the_soft_threshold_of_eq_5() {
        for (weight, amount, expected) in [(3.0, 1.0, 2.0), (-3.0, 1.0, -2.0), (0.5, 1.0, 0.0), (-1.0, 1.0, 0.0)] {
            assert_eq!(soft_threshold(weight, amount), expected);
        }
    }

    #[test]
    fn a_burst_by_hand() {
        let rows = one_row(1.0, 1.0);
        let mut path = path(&rows);
        // f = 0: w = (¼, ½). f = 1¼ is beyond the margin: no slope. One update counts, so that the shrinkage is 1·g₀.
        path.run_stage(&rows, &rule(Count::Informative), &Plan { gravity: 0.375, burst: 2, bursts: 1 });
        assert_eq!([path.weight(0), path.weight(1), path.weight(2)], [0.0, 0.125, 0.0]);
        let update = |id, mean_change, after| BurstUpdate { id, updates: 1, mean_change, before: false, after };
        assert_eq!(path.burst_updates, [update(0, 0.25, false), update(1, 0.5, true)]);
        assert_eq!(path.cost, Cost { loss: 1.0, importance: 2.0 });
    }

    #[test]
    fn presence_counts_rows_without_a_slope() {
        let rows = one_row(1.0, 1.0);
        let mut path = path(&rows);
        // Two updates count, though the second changed nothing: Δw/k is halved and the shrinkage doubled.
        path.run_stage(&rows, &rule(Count::Present), &Plan { gravity: 0.125, burst: 2, bursts: 1 });
        assert_eq!([path.weight(0), path.weight(1)], [0.0, 0.25]);
        assert_eq!(
            path.burst_updates[0],
            BurstUpdate { id: 0, updates: 2, mean_change: 0.125, before: false, after: false }
        );
        assert_eq!(
            path.burst_updates[1],
            BurstUpdate { id: 1, updates: 2, mean_change: 0.25, before: false, after: true }
        );
    }

    #[test]
    fn counters_start_again_with_each_burst() {
        let rows = one_row(1.0, 0.5);
        let mut path = path(&rows);
        path.run_stage(&rows, &rule(Count::Informative), &Plan { gravity: 0.0, burst: 1, bursts: 2 });
        // Half the importance, half the step: (⅛, ¼), f = ⅝, then (¼, ½).
        assert_eq!([path.weight(0), path.weight(1)], [0.25, 0.5]);
        let updates: Vec<_> = path.burst_updates.iter().map(|v| (v.id, v.updates, v.mean_change, v.before)).collect();
        assert_eq!(updates, [(0, 1, 0.125, false), (1, 1, 0.25, false), (0, 1, 0.125, true), (1, 1, 0.25, true)]);
        assert_eq!(path.cost, Cost { loss: 0.5 + 0.375 * 0.5, importance: 1.0 });
    }

    #[test]
    fn a_purged_feature_is_neither_read_nor_counted() {
        let rows = one_row(1.0, 1.0);
        let mut path = path(&rows);
        path.run_stage(&rows, &rule(Count::Informative), &Plan { gravity: 0.0, burst: 1, bursts: 1 });
        path.purge(1);
        path.run_stage(&rows, &rule(Count::Informative), &Plan { gravity: 0.0, burst: 1, bursts: 1 });
        assert_eq!([path.weight(0), path.weight(1)], [0.5, 0.0]);
        assert_eq!(
            path.burst_updates,
            [BurstUpdate { id: 0, updates: 1, mean_change: 0.25, before: true, after: true }]
        );
    }

    #[test]
    fn an_intercept_is_learned_but_not_shrunk() {
        let rows = one_row(-1.0, 1.0);
        let mut path = path(&rows);
        let rule = Rule { intercept: true, ..rule(Count::Informative) };
        path.run_stage(&rows, &rule, &Plan { gravity: 10.0, burst: 1, bursts: 1 });
        assert_eq!((path.bias(), path.weight(0), path.weight(1)), (-0.25, 0.0, 0.0));
    }

    #[test]
    fn every_pass_visits_each_row_once_in_the_order_of_the_path() {
        let order = |seed, number| Path::new(seed, number, 50, 0).order;
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
        assert_eq!(order(1, 0), order(1, 0));
        let mut sorted = order(1, 0);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn bursts_repeat_rows_if_there_are_few() {
        let mut rows = Batch::new();
        for target in [1.0, 2.0, 4.0] {
            rows.push(Example { row: Row { ids: &[0], values: &[1.0] }, target, weight: 1.0 });
        }
        let mut path = path(&rows);
        let rule = Rule { rate: 0.5, loss: LossKind::Squared.build(1.0), ..rule(Count::Informative) };
        path.run_stage(&rows, &rule, &Plan { gravity: 0.0, burst: 4, bursts: 1 });
        // With η = ½ the weight is the last target: after three rows the first comes again.
        assert_eq!(path.weight(0), rows.example(path.order[0] as usize).target);
        assert_eq!(path.next, 1);
    }
}
