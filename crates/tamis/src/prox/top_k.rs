//! The k largest weights, and the ℓ₂ ball.

use crate::data::FeatureId;

/// Orders weights by size, largest first, ties by id: the one order used wherever k features are chosen.
pub fn by_size(weights: &[f64]) -> impl Fn(&FeatureId, &FeatureId) -> std::cmp::Ordering {
    move |&a, &b| weights[b as usize].abs().total_cmp(&weights[a as usize].abs()).then(a.cmp(&b))
}

/// Sets all but the `k` largest weights to zero. `support` lists the non-zero ones, before and after.
pub fn keep_largest(weights: &mut [f64], support: &mut Vec<FeatureId>, k: usize) {
    if support.len() <= k {
        return;
    }
    if k > 0 {
        support.select_nth_unstable_by(k - 1, by_size(weights));
    }
    for id in support.drain(k..) {
        weights[id as usize] = 0.0;
    }
}

/// The factor that brings a vector of norm `norm` into the ball of radius `radius`: at most 1.
pub fn l2_ball_factor(norm: f64, radius: f64) -> f64 {
    if norm > radius { radius / norm } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_k_largest_ties_by_id() {
        let mut weights = vec![0.5, -2.0, 0.5, 0.0, 1.0];
        let mut support = vec![4, 2, 1, 0];
        keep_largest(&mut weights, &mut support, 3);
        assert_eq!(weights, [0.5, -2.0, 0.0, 0.0, 1.0]);
        support.sort_unstable();
        assert_eq!(support, [0, 1, 4]);
        keep_largest(&mut weights, &mut support, 0);
        assert_eq!(weights, [0.0; 5]);
    }
}
