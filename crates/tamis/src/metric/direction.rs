//! The next direction: a unit vector ξ of at most κ entries for which ξ′Aξ is large, found without making A.
//!
//! Source: Ma 2017, (2.15) and Algorithm 2.1 (the truncated power method of Yuan & Zhang 2013).
//! ```text
//! repeat   v = Aξ + λξ,  Aξ = Φ(Λ(Φ′ξ));   keep the κ largest |v|, normalise
//! until    the support stays and ξ′Aξ grows by less than 1e-4 of itself
//! then     ξ on its support = the leading eigenvector of A there; entries below 1e-3 of the largest are dropped
//! ```
//! Departures (E20): λ starts at 0 and rises only when ξ′Aξ falls, as the prose says and the algorithm does not; the start is
//! the unit vector of the largest diagonal entry of A, not 1/√p, which is a poor local optimum. With `definite_shift` and
//! `even_start` both are as published; the fall of ξ′Aξ from a dense start to a sparse vector is then no fall, and λ is from
//! all eigenvalues of A on the √p candidates of the step, which is p numbers.
//! Cost: one pass over Φ and 4kn an iteration, about five iterations.

use faer::{Mat, Side};

use super::graph::Graph;
use super::number::{Real, dot};
use super::settings::Settings;
use super::terms::Terms;

/// A at one step, as its parts.
pub(super) struct Problem<'a, T> {
    /// Φ.
    pub(super) terms: &'a Terms<T>,
    /// Λ without its residuals.
    pub(super) graph: &'a Graph,
    /// ρ.
    pub(super) residuals: &'a [f64],
    /// The terms that may be chosen, ascending.
    pub(super) columns: &'a [u32],
    /// A's diagonal at these terms.
    pub(super) diagonal: &'a [f64],
}

/// A sparse unit vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direction {
    /// Its terms, ascending.
    pub(super) support: Vec<u32>,
    /// Their entries.
    pub(super) values: Vec<f64>,
    /// ξ′Aξ.
    pub(super) gain: f64,
}

const ITERATIONS: usize = 30;

/// The direction, or nothing if no step down was found.
pub(super) fn leading<T: Real>(problem: &Problem<'_, T>, entries: usize, settings: &Settings) -> Option<Direction> {
    let scale = problem.diagonal.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    if scale == 0.0 || !scale.is_finite() {
        return None;
    }
    let mut now = if settings.even_start { problem.even() } else { problem.largest() };
    let mut image = problem.image(&now);
    let most = image.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    let mut shift = if settings.definite_shift { problem.definite_shift(scale) } else { 0.0 };
    for _ in 0..ITERATIONS {
        let next = problem.truncated(&image, &now, shift, entries);
        if next.gain < now.gain - 1e-9 * scale {
            shift = (2.0 * shift).max(most);
            if shift > 1000.0 * scale {
                break;
            }
            continue;
        }
        let settled = next.support == now.support && next.gain - now.gain <= 1e-4 * next.gain.abs();
        now = next;
        if settled {
            break;
        }
        image = problem.image(&now);
    }
    if settings.refit {
        now = problem.refitted(&now);
    }
    (now.gain > 0.0).then_some(now)
}

impl<T: Real> Problem<'_, T> {
    /// The unit vector of the largest diagonal entry.
    fn largest(&self) -> Direction {
        let best = (1..self.columns.len()).fold(0, |best, at| match self.diagonal[at] > self.diagonal[best] {
            true => at,
            false => best,
        });
        Direction { support: vec![self.columns[best]], values: vec![1.0], gain: self.diagonal[best] }
    }

    /// 1/√p everywhere. Its gain is not compared with that of sparse vectors.
    fn even(&self) -> Direction {
        let value = 1.0 / (self.columns.len() as f64).sqrt();
        let values = vec![value; self.columns.len()];
        Direction { support: self.columns.to_vec(), values, gain: f64::NEG_INFINITY }
    }

    /// Aξ.
    fn image(&self, direction: &Direction) -> Vec<f64> {
        let along = self.terms.along(&direction.support, &direction.values);
        self.terms.times(self.columns, &self.graph.apply(self.residuals, &along))
    }

    fn with_gain(&self, support: Vec<u32>, values: Vec<f64>) -> Direction {
        let gain = self.graph.gain(self.residuals, &self.terms.along(&support, &values));
        Direction { support, values, gain }
    }

    /// The κ largest entries of Aξ + λξ, as a unit vector; of equals the first.
    fn truncated(&self, image: &[f64], now: &Direction, shift: f64, entries: usize) -> Direction {
        let mut shifted = image.to_vec();
        if shift > 0.0 {
            for (term, value) in now.support.iter().zip(&now.values) {
                let at = self.columns.binary_search(term).expect("directions are made of the columns");
                shifted[at] += shift * value;
            }
        }
        let mut order: Vec<usize> = (0..shifted.len()).collect();
        let larger = |&a: &usize, &b: &usize| shifted[b].abs().total_cmp(&shifted[a].abs()).then(a.cmp(&b));
        if entries < order.len() {
            order.select_nth_unstable_by(entries - 1, larger);
            order.truncate(entries);
        }
        order.sort_unstable();
        order.retain(|&at| shifted[at] != 0.0);
        let norm = order.iter().map(|&at| shifted[at].powi(2)).sum::<f64>().sqrt();
        let support = order.iter().map(|&at| self.columns[at]).collect();
        let values = order.iter().map(|&at| shifted[at] / norm).collect();
        self.with_gain(support, values)
    }

    /// The best direction on a support, if it is one of descent.
    pub(super) fn on(&self, support: Vec<u32>) -> Option<Direction> {
        if support.is_empty() {
            return None;
        }
        let even = vec![1.0 / (support.len() as f64).sqrt(); support.len()];
        let best = self.refitted(&self.with_gain(support, even));
        (best.gain > 0.0).then_some(best)
    }

    /// The leading eigenvector of A on the support.
    fn refitted(&self, now: &Direction) -> Direction {
        let size = now.support.len();
        if size < 2 {
            return now.clone();
        }
        let Ok(eigen) = self.part(&now.support).self_adjoint_eigen(Side::Lower) else { return now.clone() };
        let vector: Vec<f64> = eigen.U().col(size - 1).iter().copied().collect();
        let largest = vector.iter().fold(0.0, |most: f64, one| if one.abs() > most.abs() { *one } else { most });
        if largest == 0.0 || !largest.is_finite() {
            return now.clone();
        }
        let kept: Vec<usize> = (0..size).filter(|&at| vector[at].abs() >= 1e-3 * largest.abs()).collect();
        let norm = kept.iter().map(|&at| vector[at].powi(2)).sum::<f64>().sqrt() * largest.signum();
        let support = kept.iter().map(|&at| now.support[at]).collect();
        self.with_gain(support, kept.iter().map(|&at| vector[at] / norm).collect())
    }

    /// A of a few terms.
    fn part(&self, terms: &[u32]) -> Mat<f64> {
        let images: Vec<Vec<T>> = terms.iter().map(|&term| self.image_of_term(term)).collect();
        Mat::from_fn(terms.len(), terms.len(), |i, j| {
            let (low, high) = (i.min(j), i.max(j));
            dot(self.terms.row(terms[low]), &images[high])
        })
    }

    fn image_of_term(&self, term: u32) -> Vec<T> {
        let values = self.terms.along(&[term], &[1.0]);
        self.graph.apply(self.residuals, &values).into_iter().map(T::of).collect()
    }

    /// λ for which A + λI has no negative eigenvalue: tenfold from a thousandth of the diagonal, until it is enough.
    fn definite_shift(&self, scale: f64) -> f64 {
        let Ok(eigen) = self.part(self.columns).self_adjoint_eigen(Side::Lower) else { return scale };
        let lowest = eigen.S().column_vector().iter().fold(0.0, |least: f64, &one| least.min(one));
        let mut shift = 1e-3 * scale;
        while shift < -lowest {
            shift *= 10.0;
        }
        shift
    }
}
