//! The projection on an ℓ₁ and an ℓ₂ ball: its properties, and a comparison with an independent solver.

use proptest::prelude::*;
use tamis::prox::project_l1_l2;
use tamis_testkit::naive;

fn norm1(v: &[f64]) -> f64 {
    v.iter().map(|x| x.abs()).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn projected(weights: &[f64], centre: &[f64], radius: f64, reach: f64) -> Vec<f64> {
    let mut weights = weights.to_vec();
    project_l1_l2(&mut weights, centre, radius, reach);
    weights
}

/// The optimality conditions of min ½‖v − w‖² with ‖v‖₁ ≤ B and ½‖v − c‖² ≤ ½r², μ and τ ≥ 0 being the multipliers:
/// w_j − v_j − μ(v_j − c_j) = τ·sign(v_j), or within ±τ where v_j is zero. Returns by how much they are violated.
fn gap(point: &[f64], weights: &[f64], centre: &[f64], radius: f64, reach: f64) -> f64 {
    let outside = (norm1(point) - radius).max(distance(point, centre) - reach).max(0.0);
    let slack = 1e-7 * (1.0 + radius);
    let (one, two) = (norm1(point) > radius - slack, distance(point, centre) > reach - slack);
    // For a given μ, τ is the mean of the values it must equal; the residual is convex in μ.
    let rest = |mu: f64| {
        let pull = |j: usize| weights[j] - point[j] - mu * (point[j] - centre[j]);
        let live: Vec<f64> =
            (0..point.len()).filter(|&j| point[j] != 0.0).map(|j| pull(j) * point[j].signum()).collect();
        let largest = (0..point.len()).map(|j| pull(j).abs()).fold(0.0, f64::max);
        let tau = match (one, live.is_empty()) {
            (false, _) => 0.0,
            (true, true) => largest,
            (true, false) => (live.iter().sum::<f64>() / live.len() as f64).max(0.0),
        };
        let dead = (0..point.len()).filter(|&j| point[j] == 0.0).map(|j| (pull(j).abs() - tau).max(0.0));
        live.iter().map(|pull| (pull - tau).abs()).chain(dead).fold(0.0, f64::max) / (1.0 + mu)
    };
    if !two {
        return outside.max(rest(0.0));
    }
    // μ = 1/α − 1: a grid search in α, then refined around the best.
    let (mut best, mut width) = (0.5, 0.5);
    for _ in 0..60 {
        let around = (-20..=20).map(|i| (best + width * f64::from(i) / 20.0).clamp(1e-12, 1.0));
        best = around.min_by(|a, b| rest(1.0 / a - 1.0).total_cmp(&rest(1.0 / b - 1.0))).unwrap();
        width *= 0.6;
    }
    outside.max(rest(1.0 / best - 1.0))
}

/// Dykstra's alternating projections, each ball by its own formula, independent of α.
fn dykstra(weights: &[f64], centre: &[f64], radius: f64, reach: f64) -> Vec<f64> {
    let n = weights.len();
    let (mut x, mut p, mut q) = (weights.to_vec(), vec![0.0; n], vec![0.0; n]);
    for _ in 0..200_000 {
        let from: Vec<f64> = (0..n).map(|j| x[j] + p[j]).collect();
        let far = distance(&from, centre);
        let share = if far > reach { reach / far } else { 1.0 };
        let y: Vec<f64> = (0..n).map(|j| centre[j] + share * (from[j] - centre[j])).collect();
        (0..n).for_each(|j| p[j] = from[j] - y[j]);
        let from: Vec<f64> = (0..n).map(|j| y[j] + q[j]).collect();
        let next = naive::project_l1_l2(&from, &vec![0.0; n], radius, f64::INFINITY);
        (0..n).for_each(|j| q[j] = from[j] - next[j]);
        let moved = distance(&next, &x).max(distance(&next, &y));
        x = next;
        if moved < 1e-15 {
            break;
        }
    }
    x
}

prop_compose! {
    /// A point, a centre inside the ℓ₁ ball, and radii such that either ball may bind. Some coordinates are equal,
    /// zero, or zero in one of the two.
    fn problems()(
        pairs in prop::collection::vec((-3.0..3.0f64, -1.0..1.0f64, 0..6u8), 1..12),
        radius in 0.1..6.0f64,
        reach in 0.01..4.0f64,
        inside in 0.0..1.0f64,
    ) -> (Vec<f64>, Vec<f64>, f64, f64) {
        let weight = |(w, _, kind): &(f64, f64, u8)| match kind { 0 => 0.0, 1 => 1.5, _ => *w };
        let centre = |(_, c, kind): &(f64, f64, u8)| if *kind == 2 { 0.0 } else { *c };
        let (weights, mut c): (Vec<f64>, Vec<f64>) = pairs.iter().map(|pair| (weight(pair), centre(pair))).unzip();
        let norm = norm1(&c);
        if norm > 0.0 {
            c.iter_mut().for_each(|c| *c *= inside * radius / norm);
        }
        (weights, c, radius, reach)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn is_feasible_idempotent_and_optimal((w, c, radius, reach) in problems()) {
        let point = projected(&w, &c, radius, reach);
        prop_assert!(norm1(&point) <= radius * (1.0 + 1e-12), "‖w‖₁ {} > {radius}", norm1(&point));
        prop_assert!(distance(&point, &c) <= reach * (1.0 + 1e-12), "‖w − c‖₂ {} > {reach}", distance(&point, &c));
        prop_assert!(distance(&projected(&point, &c, radius, reach), &point) < 1e-10);
        let gap = gap(&point, &w, &c, radius, reach);
        prop_assert!(gap < 1e-7, "conditions fail by {gap:e} at {point:?}");
        let literal = naive::project_l1_l2(&w, &c, radius, reach);
        prop_assert!(distance(&point, &literal) < 1e-10, "{point:?} against {literal:?}");
    }

    #[test]
    fn does_not_expand(
        (w, c, radius, reach) in problems(),
        shift in prop::collection::vec(-2.0..2.0f64, 12),
    ) {
        let other: Vec<f64> = w.iter().zip(shift).map(|(w, shift)| w + shift).collect();
        let (a, b) = (projected(&w, &c, radius, reach), projected(&other, &c, radius, reach));
        prop_assert!(distance(&a, &b) <= distance(&w, &other) + 1e-10);
    }
}

#[test]
fn an_independent_solver_finds_the_same_point() {
    let (mut both, mut one, mut two) = (0, 0, 0);
    for case in 0..60u64 {
        // Numbers from a small congruential generator.
        let mut state = case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let w: Vec<f64> = (0..8).map(|_| 4.0 * next() - 2.0).collect();
        let mut c: Vec<f64> = (0..8).map(|_| next() - 0.5).collect();
        let (radius, reach) = (0.5 + 3.0 * next(), 0.3 + 1.5 * next());
        let shrink = 0.9 * radius / norm1(&c).max(radius);
        c.iter_mut().for_each(|c| *c *= shrink);
        let (ours, theirs) = (projected(&w, &c, radius, reach), dykstra(&w, &c, radius, reach));
        assert!(distance(&ours, &theirs) < 1e-10, "case {case}: {ours:?} against {theirs:?}");
        let binds = (norm1(&ours) > radius - 1e-9, distance(&ours, &c) > reach - 1e-9);
        both += usize::from(binds == (true, true));
        one += usize::from(binds == (true, false));
        two += usize::from(binds == (false, true));
    }
    assert!(both >= 10 && one >= 5 && two >= 3, "both {both}, ℓ₁ {one}, ℓ₂ {two}");
}
