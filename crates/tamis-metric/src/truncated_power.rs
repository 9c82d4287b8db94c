//! The next direction: a unit vector ξ of at most κ entries for which ξ′Aξ is large, found without making A.
//!
//! Source: Ma 2017, (2.15) and Algorithm 2.1 (the truncated power method of Yuan & Zhang 2013).
//! ```text
//! repeat   v = Aξ + λξ,  Aξ = Φ(Λ(Φ′ξ));   keep the κ largest |v|, normalise
//! until    the support stays and ξ′Aξ grows by less than 1e-4 of itself
//! then     ξ on its support = the leading eigenvector of A there; entries below 1e-3 of the largest are dropped
//! ```
//! Departures (E20): λ starts at 0 and rises only when ξ′Aξ falls, as the prose says and the algorithm does not; the start is
//! the unit vector of the largest diagonal entry of A, not 1/√p, which is a poor local optimum. With `psd_shift` and
//! `uniform_start` both are as published; the fall of ξ′Aξ from a dense start to a sparse vector is then no fall, and λ is from
//! all eigenvalues of A on the √p candidates of the step, which is p numbers.
//! Cost: one pass over Φ and 4kn an iteration, about six iterations.

use faer::{Mat, Side};

use super::neighbor_graph::NeighborGraph;
use super::params::Params;
use super::real::{Real, dot};
use super::terms::Terms;

/// The matrix A = Φ Λ Φ′ of one step, as its factors.
pub(super) struct MarginMatrix<'a, T> {
    /// Φ.
    pub(super) terms: &'a Terms<T>,
    /// Λ without its residuals.
    pub(super) graph: &'a NeighborGraph,
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
    /// Φ′ξ.
    pub(super) along: Vec<f64>,
    /// Its margins.
    pub(super) margins: Vec<f64>,
}

const ITERATIONS: usize = 30;

/// The leading sparse direction, or `None` if no direction lowers the loss.
pub(super) fn leading<T: Real>(matrix: &MarginMatrix<'_, T>, max_terms: usize, params: &Params) -> Option<Direction> {
    let scale = matrix.diagonal.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    if scale == 0.0 || !scale.is_finite() {
        return None;
    }
    let mut now = if params.uniform_start { matrix.uniform_start() } else { matrix.coordinate_start() };
    let mut image = matrix.apply(&now);
    let most = image.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
    let mut shift = if params.psd_shift { matrix.psd_shift(scale) } else { 0.0 };
    for _ in 0..ITERATIONS {
        let next = matrix.truncated(&image, &now, shift, max_terms);
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
        image = matrix.apply(&now);
    }
    if params.refit {
        now = matrix.refitted(&now);
    }
    (now.gain > 0.0).then_some(now)
}

impl<T: Real> MarginMatrix<'_, T> {
    /// The unit vector of the largest diagonal entry.
    fn coordinate_start(&self) -> Direction {
        let larger = |best: usize, at: usize| if self.diagonal[at] > self.diagonal[best] { at } else { best };
        let best = (1..self.columns.len()).fold(0, larger);
        let start = self.with_gain(vec![self.columns[best]], vec![1.0]);
        Direction { gain: self.diagonal[best], ..start }
    }

    /// 1/√p everywhere. Its gain is not compared with that of sparse vectors.
    fn uniform_start(&self) -> Direction {
        let value = 1.0 / (self.columns.len() as f64).sqrt();
        let start = self.with_gain(self.columns.to_vec(), vec![value; self.columns.len()]);
        Direction { gain: f64::NEG_INFINITY, ..start }
    }

    /// Aξ.
    fn apply(&self, direction: &Direction) -> Vec<f64> {
        self.terms.times(self.columns, &self.graph.apply(self.residuals, &direction.along))
    }

    fn with_gain(&self, support: Vec<u32>, values: Vec<f64>) -> Direction {
        let along = self.terms.along(&support, &values);
        let margins = self.graph.margins(&along);
        let gain = margins.iter().zip(self.residuals).map(|(margin, residual)| margin * residual).sum();
        Direction { support, values, gain, along, margins }
    }

    /// The κ largest entries of Aξ + λξ, as a unit vector; of equals the first.
    fn truncated(&self, image: &[f64], now: &Direction, shift: f64, max_terms: usize) -> Direction {
        let mut shifted = image.to_vec();
        if shift > 0.0 {
            for (term, value) in now.support.iter().zip(&now.values) {
                let at = self.columns.binary_search(term).expect("directions are made of the columns");
                shifted[at] += shift * value;
            }
        }
        let mut order: Vec<usize> = (0..shifted.len()).collect();
        let larger = |&a: &usize, &b: &usize| shifted[b].abs().total_cmp(&shifted[a].abs()).then(a.cmp(&b));
        if max_terms < order.len() {
            order.select_nth_unstable_by(max_terms - 1, larger);
            order.truncate(max_terms);
        }
        order.sort_unstable();
        order.retain(|&at| shifted[at] != 0.0);
        let norm = order.iter().map(|&at| shifted[at].powi(2)).sum::<f64>().sqrt();
        let support = order.iter().map(|&at| self.columns[at]).collect();
        let values = order.iter().map(|&at| shifted[at] / norm).collect();
        self.with_gain(support, values)
    }

    /// The best direction on a support, if it is one of descent.
    pub(super) fn on_support(&self, support: Vec<u32>) -> Option<Direction> {
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
        let Ok(eigen) = self.submatrix(&now.support).self_adjoint_eigen(Side::Lower) else { return now.clone() };
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
    fn submatrix(&self, terms: &[u32]) -> Mat<f64> {
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
    fn psd_shift(&self, scale: f64) -> f64 {
        let Ok(eigen) = self.submatrix(self.columns).self_adjoint_eigen(Side::Lower) else { return scale };
        let lowest = eigen.S().column_vector().iter().fold(0.0, |least: f64, &one| least.min(one));
        let mut shift = 1e-3 * scale;
        while shift < -lowest {
            shift *= 10.0;
        }
        shift
    }
}
