//! Coordinate descent on standardised moments, over a working set that grows until no condition is violated.
//!
//! Source: Sun et al. 2018, Algorithm 3, solved by coordinates (E26) in the manner of Friedman, Hastie & Tibshirani
//! 2010 ("covariance updates") with the sequential strong rule of Tibshirani et al. 2012:
//! ```text
//! g = s − Sβ                                     the gradient of the fit, of all features
//! working set: β_j ≠ 0, or |g_j| ≥ 2λ − λ_before; sweep it:  β_j ← Θ(g_j + β_j; λ),  g ← g − S_j·Δβ_j
//! then check all features: those with |g_j| > λ join, until there are none
//! ```
//! A coefficient that must have a sign is clipped at zero after Θ, and only |g_j| on that side counts.
//! A sweep costs the square of the working set at most; all p features are touched once or twice a λ.
//!
//! Stopping: for lasso and elastic net the duality gap, at most [`TOLERANCE`] of the target's variance, and the largest
//! violation of the optimality conditions, at most [`EXACT`] standard deviations. A gap of 1e-10 alone gives
//! coefficients of five digits, and cross-validation errors of hardly more. For MCP and SCAD, the violation alone: moments
//! that were merged in parts, and differ by rounding, give the same coefficients to 1e-9. If
//! sweeps converge slowly (dependent columns), the linear system is solved directly (`direct_step.rs`).

use super::penalty::{AnyPenalty, Penalty};
use super::standardized::{Coefficients, Standardized};

/// The gap, as a share of the target's variance, at which a convex problem is solved.
pub(crate) const TOLERANCE: f64 = 1e-10;
/// The largest violation, in standard deviations of the target, at which any problem is solved.
const EXACT: f64 = 1e-11;
/// Sweeps after which the linear system is solved directly.
const SLOW: usize = 10;
/// The largest number of sweeps.
const MOST_SWEEPS: usize = 5000;
/// The smallest capacity of the working set.
const ROOM: usize = 64;

/// Coordinate descent for one output; starts from the last solution.
#[derive(Clone)]
pub(crate) struct CoordinateDescent<'a, P: Penalty = AnyPenalty> {
    pub(super) problem: &'a Standardized,
    pub(super) output: usize,
    pub(super) penalty: P,
    /// Features of the working set, in the order they joined.
    pub(super) working: Vec<usize>,
    is_working: Vec<bool>,
    /// S on the working set, rows of `room` numbers.
    pub(super) local: Vec<f64>,
    pub(super) room: usize,
    /// β and g on the working set.
    pub(super) beta: Vec<f64>,
    slope: Vec<f64>,
    /// β when `gradient` was last brought up to date.
    settled: Vec<f64>,
    /// g of all features.
    gradient: Vec<f64>,
    pub(super) lambda: f64,
    /// Sweeps in all.
    pub(crate) sweeps: usize,
}

impl<'a, P: Penalty> CoordinateDescent<'a, P> {
    /// Begins at β = 0.
    pub(crate) fn new(problem: &'a Standardized, output: usize, penalty: P) -> Self {
        CoordinateDescent {
            problem,
            output,
            penalty,
            working: Vec::new(),
            is_working: vec![false; problem.size()],
            local: Vec::new(),
            room: 0,
            beta: Vec::new(),
            slope: Vec::new(),
            settled: Vec::new(),
            gradient: problem.cross[output].clone(),
            lambda: f64::INFINITY,
            sweeps: 0,
        }
    }

    /// The λ from which on all coefficients are zero.
    pub(crate) fn largest(problem: &Standardized, output: usize, penalty: P) -> f64 {
        let pulls = problem.cross[output].iter().enumerate().map(|(feature, &s)| problem.pull(feature, s));
        let most = pulls.fold(0.0, f64::max);
        most / penalty.zero_threshold(1.0)
    }

    /// Solves for λ, starting from the last solution.
    pub(crate) fn solve(&mut self, lambda: f64) -> Coefficients {
        let strong = self.penalty.zero_threshold(2.0 * lambda - self.lambda.min(2.0 * lambda));
        self.lambda = lambda;
        let limit = self.penalty.zero_threshold(lambda);
        self.join(strong.max(limit * 0.5));
        let unit = self.problem.spread[self.output].max(0.0).sqrt();
        let mut tolerance = 1e-5 * unit;
        let stop = self.sweeps + MOST_SWEEPS;
        loop {
            self.sweep_until(tolerance, stop);
            self.settle();
            let joined = self.join(limit * (1.0 + 1e-12) + 1e-14 * unit);
            if !joined && (self.is_solved(unit) || self.sweeps >= stop || tolerance < 1e-15 * unit) {
                return self.coefficients();
            }
            if !joined {
                tolerance *= 0.03;
            }
        }
    }

    fn coefficients(&self) -> Coefficients {
        let pairs = self.working.iter().copied().zip(self.beta.iter().copied());
        let mut pairs: Coefficients = pairs.filter(|pair| pair.1 != 0.0).collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        pairs
    }

    /// Sweeps the working set until no coefficient moves by more than `tolerance`.
    fn sweep_until(&mut self, tolerance: f64, stop: usize) {
        let (mut next, mut wait) = (self.sweeps + SLOW, SLOW);
        loop {
            let moved = self.sweep();
            if moved <= tolerance || self.sweeps >= stop {
                return;
            }
            if self.sweeps == next {
                if self.solve_at_once() {
                    return;
                }
                wait *= 2;
                next = self.sweeps + wait;
            }
        }
    }

    fn sweep(&mut self) -> f64 {
        self.sweeps += 1;
        let (penalty, lambda, count) = (self.penalty, self.lambda, self.working.len());
        let mut farthest = 0.0_f64;
        for at in 0..count {
            let before = self.beta[at];
            let (least, most) = self.problem.bounds[self.working[at]];
            let after = penalty.prox(self.slope[at] + before, lambda).clamp(least, most);
            let step = after - before;
            if step != 0.0 {
                self.beta[at] = after;
                let row = &self.local[at * self.room..at * self.room + count];
                self.slope.iter_mut().zip(row).for_each(|(slope, entry)| *slope -= step * entry);
                farthest = farthest.max(step.abs());
            }
        }
        farthest
    }

    /// Lets all features whose gradient is larger than `limit` join the working set. Whether any did.
    fn join(&mut self, limit: f64) -> bool {
        let before = self.working.len();
        for feature in 0..self.gradient.len() {
            if self.problem.pull(feature, self.gradient[feature]) > limit && !self.is_working[feature] {
                self.is_working[feature] = true;
                self.working.push(feature);
            }
        }
        let count = self.working.len();
        if count > self.room {
            self.widen(before, (2 * count).max(ROOM).min(self.problem.size().max(count)));
        }
        for at in before..count {
            let row = self.problem.row(self.working[at]);
            for (other, &feature) in self.working.iter().enumerate() {
                self.local[at * self.room + other] = row[feature];
                self.local[other * self.room + at] = row[feature];
            }
            self.beta.push(0.0);
            self.settled.push(0.0);
            self.slope.push(self.gradient[self.working[at]]);
        }
        count > before
    }

    fn widen(&mut self, filled: usize, room: usize) {
        let mut local = vec![0.0; room * room];
        for at in 0..filled {
            local[at * room..at * room + filled].copy_from_slice(&self.local[at * self.room..at * self.room + filled]);
        }
        (self.local, self.room) = (local, room);
    }

    /// Brings the gradient of all features up to date.
    pub(super) fn settle(&mut self) {
        for (at, &feature) in self.working.iter().enumerate() {
            let step = self.beta[at] - self.settled[at];
            if step != 0.0 {
                self.settled[at] = self.beta[at];
                let row = self.problem.row(feature);
                self.gradient.iter_mut().zip(row).for_each(|(gradient, entry)| *gradient -= step * entry);
            }
        }
        // The two computations must not drift apart by rounding.
        self.slope.iter_mut().zip(&self.working).for_each(|(slope, &feature)| *slope = self.gradient[feature]);
    }

    fn is_solved(&self, unit: f64) -> bool {
        let is_exact = self.violation() <= EXACT * unit;
        is_exact && (!self.penalty.is_convex() || self.gap() <= TOLERANCE * unit * unit)
    }

    /// The largest violation of the optimality conditions among the working set.
    fn violation(&self) -> f64 {
        let one = |at: usize| {
            let (beta, slope) = (self.beta[at], self.slope[at]);
            if beta == 0.0 {
                return (self.problem.pull(self.working[at], slope) - self.penalty.zero_threshold(self.lambda))
                    .max(0.0);
            }
            let (linear, quadratic) = self.penalty.piece(beta, self.lambda);
            (slope - linear * beta.signum() - quadratic * beta).abs()
        };
        (0..self.working.len()).map(one).fold(0.0, f64::max)
    }

    /// Primal less dual objective. The ridge part of an elastic net is more rows of the data, with a target of zero:
    /// with r = y − Xβ (all rows), f = ½‖r‖², the point θ = κr with κ = min(1, ρλ/‖Xᵀr‖∞) is feasible for the dual; a
    /// feature with a sign only bounds its correlation with θ on that side.
    fn gap(&self) -> f64 {
        let (linear, ridge) = self.penalty.piece(1.0, self.lambda);
        let (mut fitted, mut squares, mut sizes) = (0.0, 0.0, 0.0);
        let cross = &self.problem.cross[self.output];
        let mut steepest = 0.0_f64;
        let mut curved = 0.0;
        for (at, &feature) in self.working.iter().enumerate() {
            let beta = self.beta[at];
            fitted += cross[feature] * beta;
            // βᵀSβ = βᵀ(s − g).
            curved += beta * (cross[feature] - self.slope[at]);
            squares += beta * beta;
            sizes += beta.abs();
            steepest = steepest.max(self.problem.pull(feature, self.slope[at] - ridge * beta));
        }
        for (feature, gradient) in self.gradient.iter().enumerate() {
            if !self.is_working[feature] {
                steepest = steepest.max(self.problem.pull(feature, *gradient));
            }
        }
        let spread = self.problem.spread[self.output];
        let residual = spread - 2.0 * fitted + curved + ridge * squares;
        let with_target = spread - fitted;
        let shrink = if steepest > linear { linear / steepest } else { 1.0 };
        let primal = 0.5 * residual + linear * sizes;
        let dual = shrink * with_target - 0.5 * shrink * shrink * residual;
        primal - dual
    }
}

#[cfg(test)]
mod tests {
    use super::super::penalty::{ElasticNet, Lasso, Mcp, Scad};
    use super::super::standardized::Output;
    use super::*;
    use crate::moments::Comoments;

    const Y: Output = Output { column: 0, factor: 1.0, shift: 0.0 };
    const ALL: [AnyPenalty; 4] = [
        AnyPenalty::Lasso(Lasso),
        AnyPenalty::ElasticNet(ElasticNet { l1_ratio: 0.4 }),
        AnyPenalty::Mcp(Mcp { concavity: 3.0 }),
        AnyPenalty::Scad(Scad { concavity: 3.7 }),
    ];

    /// Correlated columns, four of which matter.
    fn problem(rows: usize, size: usize) -> Standardized {
        let mut sums = Comoments::new(size + 1);
        for i in 0..rows as u64 {
            let x = |salt: u64| crate::rng::splitmix64(i * 1000 + salt) as f64 / u64::MAX as f64 - 0.5;
            let mut row: Vec<f64> = (0..=size as u64).map(|j| x(j) + 0.7 * x(999)).collect();
            row[0] = 2.0 * row[1] - row[2] + 0.5 * row[3] + 0.25 * row[4] + 0.3 * x(998);
            sums.observe_dense(&row, &[]);
        }
        Standardized::new(&sums, &(1..=size).collect::<Vec<_>>(), &[Y])
    }

    /// The conditions of optimality, checked over all features from S itself.
    fn worst_violation(problem: &Standardized, penalty: AnyPenalty, lambda: f64, found: &Coefficients) -> f64 {
        let mut beta = vec![0.0; problem.size()];
        found.iter().for_each(|&(j, value)| beta[j] = value);
        let gradient = |j: usize| {
            problem.cross[0][j] - problem.row(j).iter().zip(&beta).map(|(entry, beta)| entry * beta).sum::<f64>()
        };
        let one = |j: usize| {
            if beta[j] == 0.0 {
                return (gradient(j).abs() - penalty.zero_threshold(lambda)).max(0.0);
            }
            let (linear, quadratic) = penalty.piece(beta[j], lambda);
            (gradient(j) - linear * beta[j].signum() - quadratic * beta[j]).abs()
        };
        (0..problem.size()).map(one).fold(0.0, f64::max)
    }

    #[test]
    fn the_conditions_of_optimality_hold_along_the_path() {
        for (rows, size) in [(300, 40), (30, 60)] {
            let problem = problem(rows, size);
            for penalty in ALL {
                let mut descent = CoordinateDescent::new(&problem, 0, penalty);
                let largest = CoordinateDescent::largest(&problem, 0, penalty);
                assert!(descent.solve(largest).is_empty(), "{penalty:?}: all zero at the largest λ");
                for step in 1..=40 {
                    let lambda = largest * 0.9_f64.powi(step);
                    let found = descent.solve(lambda);
                    let worst = worst_violation(&problem, penalty, lambda, &found);
                    assert!(worst < 1e-6, "{penalty:?} {rows} {step}: {worst}");
                    assert!(!found.is_empty() || step < 2);
                }
            }
        }
    }

    #[test]
    fn the_gap_bounds_the_distance_to_the_optimum() {
        let problem = problem(300, 20);
        for penalty in [Lasso.into(), AnyPenalty::from(ElasticNet { l1_ratio: 0.5 })] {
            let mut descent = CoordinateDescent::new(&problem, 0, penalty);
            let lambda = 0.1 * CoordinateDescent::largest(&problem, 0, penalty);
            let found = descent.solve(lambda);
            assert!(descent.gap() <= TOLERANCE * problem.spread[0]);
            let cost = |beta: &Coefficients| {
                0.5 * problem.error(0, beta) + beta.iter().map(|&(_, b)| penalty.value(b, lambda)).sum::<f64>()
            };
            for at in 0..found.len() {
                for step in [-1e-4, 1e-4] {
                    let mut moved = found.clone();
                    moved[at].1 += step;
                    assert!(cost(&moved) > cost(&found));
                }
            }
        }
    }

    #[test]
    fn warm_and_cold_starts_agree() {
        let problem = problem(300, 30);
        let lambda = 0.05 * CoordinateDescent::largest(&problem, 0, Lasso);
        let mut warm = CoordinateDescent::new(&problem, 0, Lasso);
        [8.0, 4.0, 2.0].iter().for_each(|factor| drop(warm.solve(factor * lambda)));
        let (warm, cold) = (warm.solve(lambda), CoordinateDescent::new(&problem, 0, Lasso).solve(lambda));
        assert_eq!(warm.len(), cold.len());
        assert!(warm.iter().zip(&cold).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-5));
    }
}
