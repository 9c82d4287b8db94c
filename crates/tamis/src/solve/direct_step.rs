//! Where sweeps of coordinate descent converge slowly: the linear system of the current pieces and signs is solved by
//! Cholesky, with a step as long as the signs allow.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, Side};

use super::coordinate_descent::CoordinateDescent;
use super::penalty::Penalty;

/// The largest number of coefficients that may become zero in one direct solution.
const MOST_TRIES: usize = 50;

impl<P: Penalty> CoordinateDescent<'_, P> {
    /// Solves the equations of the present signs and pieces, goes there as far as the signs hold, lets the coefficient
    /// that became zero rest, and tries again: the objective falls each time. Whether an end was reached.
    pub(super) fn solve_at_once(&mut self) -> bool {
        let solved = (0..MOST_TRIES).find_map(|_| self.solve_pieces());
        self.settle();
        solved == Some(true)
    }

    /// One try of [`CoordinateDescent::solve_at_once`]: `Some(true)` at the end, `Some(false)` where it leads nowhere.
    fn solve_pieces(&mut self) -> Option<bool> {
        let active: Vec<usize> = (0..self.working.len()).filter(|&at| self.beta[at] != 0.0).collect();
        let pieces: Vec<(f64, f64)> = active.iter().map(|&at| self.penalty.piece(self.beta[at], self.lambda)).collect();
        let entry = |i: usize, j: usize| {
            let ridge = if i == j { pieces[i].1 } else { 0.0 };
            self.local[active[j] * self.room + active[i]] + ridge
        };
        let Ok(factor) = Llt::new(Mat::from_fn(active.len(), active.len(), entry).as_ref(), Side::Lower) else {
            return Some(false);
        };
        if (0..active.len()).any(|i| factor.L()[(i, i)].powi(2) < 1e-12) {
            return Some(false);
        }
        let cross = &self.problem.cross[self.output];
        let right = |i: usize, _: usize| cross[self.working[active[i]]] - pieces[i].0 * self.beta[active[i]].signum();
        let mut found = Mat::from_fn(active.len(), 1, right);
        factor.solve_in_place(found.as_mut());
        let (mut share, mut first) = (1.0, None);
        for (i, &at) in active.iter().enumerate() {
            let (old, new) = (self.beta[at], found[(i, 0)]);
            if old * new <= 0.0 && old / (old - new) < share {
                (share, first) = (old / (old - new), Some(at));
            }
        }
        let moved = |i: usize| self.beta[active[i]] + share * (found[(i, 0)] - self.beta[active[i]]);
        let stays = |i: usize| Some(active[i]) == first || self.penalty.piece(moved(i), self.lambda) == pieces[i];
        if !(0..active.len()).all(stays) {
            return Some(false);
        }
        let after: Vec<f64> = (0..active.len()).map(moved).collect();
        active.iter().zip(after).for_each(|(&at, value)| self.beta[at] = value);
        match first {
            Some(at) => {
                self.beta[at] = 0.0;
                None
            }
            None => Some(true),
        }
    }
}
