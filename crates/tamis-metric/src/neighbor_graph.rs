//! The graph of nearest neighbours as a linear operator: for every row its k nearest rows of its own class and of the others.
//!
//! Source: Ma 2017, (2.3) to (2.5), (2.12) and section 2.8. For a row i with own neighbours S(i) and others O(i), and a
//! vector z with one number a row:
//! ```text
//! margin:     gᵢ(z) = 1/k [ Σ_{j∈O(i)} (zᵢ − zⱼ)² − Σ_{j∈S(i)} (zᵢ − zⱼ)² ] = ξ′Dᵢξ yᵢ      for z = Φ′ξ
//! operator:   Λz    = Σᵢ ρᵢ/k [ Σ_{O(i)} (zᵢ − zⱼ)(eᵢ − eⱼ) − Σ_{S(i)} (zᵢ − zⱼ)(eᵢ − eⱼ) ],   A = Φ Λ Φ′
//! ```
//! Departure (E17): with yᵢ f(xᵢ) for the margin, "positive and negative neighbours" and "own class and others" are one
//! and the same for two classes: yᵢ(d⁻ − d⁺) = d(others) − d(own). So the second form is used throughout, and it holds for
//! any number of classes; residuals are ρᵢ = cᵢ exp(−margin), never negative. Cost: 4kn a product; A is never made.

use rayon::prelude::*;

use super::real::{LANES, Real, double, vectorized};

/// Neighbours of every row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NeighborGraph {
    /// k.
    pub(super) k: usize,
    /// Row by row, the k nearest of its class.
    pub(super) own: Vec<u32>,
    /// Row by row, the k nearest of other classes.
    pub(super) others: Vec<u32>,
}

impl NeighborGraph {
    /// The k nearest of these neighbours.
    pub(super) fn nearest(&self, k: usize) -> NeighborGraph {
        let nearest = |all: &[u32]| all.chunks_exact(self.k).flat_map(|list| &list[..k]).copied().collect();
        NeighborGraph { k, own: nearest(&self.own), others: nearest(&self.others) }
    }

    fn pairs(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.own.chunks_exact(self.k).zip(self.others.chunks_exact(self.k))
    }

    /// gᵢ of one coordinate; of a term's own values it is the diagonal entry of yᵢDᵢ.
    pub(super) fn margins<T: Real>(&self, z: &[T]) -> Vec<T> {
        let share = T::of(1.0 / self.k as f64);
        let margin = |((own, others), &here): ((&[u32], &[u32]), &T)| {
            let mut sum = T::default();
            for (&near, &far) in own.iter().zip(others) {
                let (near, far) = (here - z[near as usize], here - z[far as usize]);
                sum += far * far - near * near;
            }
            sum * share
        };
        self.pairs().zip(z).map(margin).collect()
    }

    /// The margins of several terms, laid one after the other.
    pub(super) fn margins_of_all<T: Real>(&self, terms: &[T], margins: &mut [T]) {
        let size = self.own.len() / self.k * LANES;
        let blocks = terms.par_chunks(size).zip(margins.par_chunks_mut(size));
        blocks.for_each(|(terms, margins)| {
            vectorized::<T, ()>(
                #[inline(always)]
                || self.margins_of_few(terms, margins),
            )
        });
    }

    /// The margins of at most sixteen terms, turned so that one look at a pair of rows serves them all.
    #[inline(always)]
    fn margins_of_few<T: Real>(&self, terms: &[T], margins: &mut [T]) {
        let rows = self.own.len() / self.k;
        let share = T::of(1.0 / self.k as f64);
        let mut turned = vec![[T::default(); LANES]; rows];
        for (number, block) in turned.chunks_mut(LANES).enumerate() {
            for (lane, term) in terms.chunks_exact(rows).enumerate() {
                for (row, &value) in block.iter_mut().zip(&term[number * LANES..]) {
                    row[lane] = value;
                }
            }
        }
        let (mut pairs, mut found) = (self.pairs(), [[T::default(); LANES]; LANES]);
        for (number, block) in turned.chunks(LANES).enumerate() {
            for ((found, here), pair) in found.iter_mut().zip(block).zip(&mut pairs) {
                *found = lanes(&turned, here, pair);
            }
            for (lane, line) in margins.chunks_exact_mut(rows).enumerate() {
                for (margin, found) in line[number * LANES..].iter_mut().zip(&found) {
                    *margin = found[lane] * share;
                }
            }
        }
    }

    /// Λz.
    pub(super) fn apply(&self, residuals: &[f64], z: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; z.len()];
        let share = 1.0 / self.k as f64;
        for (here, (own, others)) in self.pairs().enumerate() {
            let residual = residuals[here] * share;
            if residual == 0.0 {
                continue;
            }
            let mut sum = 0.0;
            for (&near, &far) in own.iter().zip(others) {
                let pull = residual * (z[here] - double(z[near as usize]));
                let push = residual * (z[here] - double(z[far as usize]));
                result[near as usize] += pull;
                result[far as usize] -= push;
                sum += push - pull;
            }
            result[here] += sum;
        }
        result
    }
}

/// k times the margins of one row, for sixteen terms.
#[inline(always)]
fn lanes<T: Real>(turned: &[[T; LANES]], here: &[T; LANES], (own, others): (&[u32], &[u32])) -> [T; LANES] {
    let mut sums = [T::default(); LANES];
    for (&near, &far) in own.iter().zip(others) {
        let (near, far) = (&turned[near as usize], &turned[far as usize]);
        for lane in 0..LANES {
            let (near, far) = (here[lane] - near[lane], here[lane] - far[lane]);
            sums[lane] += far * far - near * near;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows on a line, 0 and 1 of one class, 2 and 3 of the other.
    fn graph() -> NeighborGraph {
        NeighborGraph { k: 1, own: vec![1, 0, 3, 2], others: vec![2, 2, 1, 1] }
    }

    #[test]
    fn margins_by_hand() {
        assert_eq!(graph().margins(&[0.0, 1.0, 3.0, 7.0]), [9.0 - 1.0, 4.0 - 1.0, 4.0 - 16.0, 36.0 - 16.0]);
    }

    #[test]
    fn many_terms_have_the_margins_of_each() {
        // Twenty-one terms on four rows, and three on twenty.
        let terms: Vec<f32> = (0..4 * 21).map(|at| (at * 31 % 17) as f32).collect();
        let mut margins = vec![0.0; terms.len()];
        graph().margins_of_all(&terms, &mut margins);
        for (term, found) in terms.chunks(4).zip(margins.chunks(4)) {
            assert_eq!(graph().margins(term), found);
        }
        let (own, others) = (0..40).map(|at| (at * 7 % 20, at * 11 % 20)).unzip();
        let graph = NeighborGraph { k: 2, own, others };
        graph.margins_of_all(&terms[..60], &mut margins[..60]);
        for (term, found) in terms.chunks(20).zip(margins.chunks(20)).take(3) {
            assert_eq!(graph.margins(term), found);
        }
    }

    #[test]
    fn the_operator_is_the_derivative_of_the_gain() {
        let (graph, residuals) = (graph(), [1.0, 0.5, 2.0, 0.25]);
        let z = [0.0, 1.0, 3.0, 7.0];
        // ξ′Aξ.
        let gain =
            |z: &[f64]| graph.margins(z).iter().zip(&residuals).map(|(one, residual)| one * residual).sum::<f64>();
        let applied = graph.apply(&residuals, &z);
        let product: f64 = applied.iter().zip(z).map(|(a, b)| a * b).sum();
        assert!((product - gain(&z)).abs() < 1e-12);
        for (i, slope) in applied.iter().enumerate() {
            let moved = |by: f64| gain(&std::array::from_fn::<f64, 4, _>(|j| z[j] + if i == j { by } else { 0.0 }));
            assert!(((moved(1e-4) - moved(-1e-4)) / 4e-4 - slope).abs() < 1e-6);
        }
    }
}
