//! Projections on the ℓ₁ ball, and on the intersection of an ℓ₁ and an ℓ₂ ball.
//!
//! Sources: Duchi, Shalev-Shwartz, Singer & Chandra, *Efficient Projections onto the l1-Ball for Learning in High
//! Dimensions* (ICML 2008), Figure 2; Li et al. 2017, *A Two-Stage Approach for Learning a Sparse Model with Sharp
//! Excess Risk Analysis* (AAAI 2017), equations 4 and 5, Algorithm 3.
//!
//! ```text
//! ‖w‖₁ ≤ B                      soft(w, τ),  τ such that Σ max(|w_j| − τ, 0) = B
//! ‖w‖₁ ≤ B and ‖w − c‖₂ ≤ r     soft(αw + (1 − α)c, τ_α) with the largest α in [0, 1] that is near enough to c
//! ```
//!
//! | symbol | argument | from |
//! |---|---|---|
//! | ŵ | `weights` | Li et al. 2017, equation 4 |
//! | B | `radius` | ‖w‖₁ at most |
//! | c, r | `centre`, `reach` | ‖w − c‖₂ at most; c is inside the ℓ₁ ball |
//! | τ | [`l1_threshold`] | the soft threshold of Langford et al. 2009 |
//!
//! Departures: the pivot of the ℓ₁ search is the median of what is left, so that its time is linear and not only
//! expected to be; the search for α is by false position with the Illinois rule, inside the bracket that the paper
//! bisects: some ten evaluations instead of fifty. Where the ℓ₁ ball does not bind, α is r/‖ŵ − c‖₂. "Inequivalent"
//! before the dual of equation 4 means "equivalent" (E33).
//!
//! Cost: O(length) for τ, some ten times that for the intersection.

use super::soft_threshold;

/// τ such that soft(w, τ) has ‖·‖₁ = `radius`, `sizes` being the |w_j| in any order (they are rearranged); 0 for a
/// vector in the ball.
pub fn l1_threshold(sizes: &mut [f64], radius: f64) -> f64 {
    if sizes.iter().sum::<f64>() <= radius {
        return 0.0;
    }
    // `sum` and `count` are of the sizes known to be above τ; τ is decided by what is left.
    let (mut left, mut sum, mut count) = (sizes, 0.0, 0.0);
    while !left.is_empty() {
        let middle = left.len() / 2;
        let (low, &mut pivot, high) = left.select_nth_unstable_by(middle, f64::total_cmp);
        let upper = high.iter().sum::<f64>() + pivot;
        let upper_count = (high.len() + 1) as f64;
        if sum + upper - (count + upper_count) * pivot < radius {
            (sum, count) = (sum + upper, count + upper_count);
            left = low;
        } else {
            left = high;
        }
    }
    ((sum - radius) / f64::max(count, 1.0)).max(0.0)
}

/// Evaluations of the search for α, of which some ten are used.
const MOST_STEPS: usize = 200;

/// Moves `weights` to the nearest point with ‖w‖₁ ≤ `radius` and ‖w − `centre`‖₂ ≤ `reach`, `centre` being one.
///
/// # Panics
/// If the lengths differ.
pub fn project_l1_l2(weights: &mut [f64], centre: &[f64], radius: f64, reach: f64) {
    assert_eq!(weights.len(), centre.len(), "a weight has a centre");
    let mut point = Point { sizes: vec![0.0; weights.len()], centre, radius };
    let (threshold, distance) = point.at(weights, 1.0);
    if distance <= reach {
        weights.iter_mut().for_each(|weight| *weight = soft_threshold(*weight, threshold));
        return;
    }
    // Inside the ℓ₁ ball so is all that lies between it and the centre: α is known.
    let (share, threshold) =
        if threshold == 0.0 { (reach / distance, 0.0) } else { point.search(weights, reach, distance) };
    for (weight, centre) in weights.iter_mut().zip(centre) {
        *weight = soft_threshold(between(*weight, *centre, share), threshold);
    }
}

/// αw + (1 − α)c.
fn between(weight: f64, centre: f64, share: f64) -> f64 {
    centre + share * (weight - centre)
}

/// The search for α: projections of points between the weights and the centre.
struct Point<'a> {
    sizes: Vec<f64>,
    centre: &'a [f64],
    radius: f64,
}

impl Point<'_> {
    /// τ_α and ‖w*_α − c‖₂.
    fn at(&mut self, weights: &[f64], share: f64) -> (f64, f64) {
        let pairs = || weights.iter().zip(self.centre);
        self.sizes.iter_mut().zip(pairs()).for_each(|(size, (w, c))| *size = between(*w, *c, share).abs());
        let threshold = l1_threshold(&mut self.sizes, self.radius);
        let away = |(w, c): (&f64, &f64)| (soft_threshold(between(*w, *c, share), threshold) - c).powi(2);
        (threshold, pairs().map(away).sum::<f64>().sqrt())
    }

    /// α with ‖w*_α − c‖₂ = `reach`, and its τ. The distance grows with α, from 0 to `distance` at α = 1.
    fn search(&mut self, weights: &[f64], reach: f64, distance: f64) -> (f64, f64) {
        let (mut low, mut below) = (0.0, -reach);
        let (mut high, mut above) = (1.0, distance - reach);
        let mut last_side = 0;
        let (mut share, mut threshold) = (0.0, 0.0);
        for _ in 0..MOST_STEPS {
            share = (low * above - high * below) / (above - below);
            let (found, distance) = self.at(weights, share);
            threshold = found;
            let error = distance - reach;
            if error.abs() <= f64::EPSILON * reach || high - low <= f64::EPSILON * high {
                break;
            }
            // Illinois: an end that stays twice counts half, or false position would creep.
            if error > 0.0 {
                (high, above) = (share, error);
                below *= if last_side > 0 { 0.5 } else { 1.0 };
                last_side = 1;
            } else {
                (low, below) = (share, error);
                above *= if last_side < 0 { 0.5 } else { 1.0 };
                last_side = -1;
            }
        }
        (share, threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_by_hand() {
        assert_eq!(l1_threshold(&mut [3.0, 2.0, 0.4], 2.0), 1.5, "(3, 2, 0.4) becomes (1.5, 0.5, 0)");
        assert_eq!(l1_threshold(&mut [1.0, 1.0, 1.0, 1.0], 2.0), 0.5);
        assert_eq!(l1_threshold(&mut [0.5, 0.5], 1.0), 0.0, "on the surface");
        assert_eq!(l1_threshold(&mut [], 1.0), 0.0);
        assert_eq!(l1_threshold(&mut [0.0, 5.0, 0.0], 1.0), 4.0);
    }

    #[test]
    fn the_inner_ball_binds_alone() {
        let mut weights = [3.0, 4.0];
        project_l1_l2(&mut weights, &[0.0, 0.0], 100.0, 1.0);
        assert!((weights[0] - 0.6).abs() < 1e-15 && (weights[1] - 0.8).abs() < 1e-15, "{weights:?}");
    }

    #[test]
    fn the_outer_ball_binds_alone() {
        let mut weights = [3.0, -2.0, 0.4];
        project_l1_l2(&mut weights, &[0.0; 3], 2.0, 10.0);
        assert_eq!(weights, [1.5, -0.5, 0.0]);
    }

    #[test]
    fn both_bind_by_hand() {
        // From c = (1, 0), ‖w‖₁ ≤ 1: the point (1, 2) goes along the edge (1 − s, s) as far as √2·s = r.
        let mut weights = [1.0, 2.0];
        project_l1_l2(&mut weights, &[1.0, 0.0], 1.0, 0.5);
        let s = 0.5 / 2f64.sqrt();
        assert!((weights[0] - (1.0 - s)).abs() < 1e-12 && (weights[1] - s).abs() < 1e-12, "{weights:?}");
    }
}
