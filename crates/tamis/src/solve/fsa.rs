//! Feature selection with annealing (`ofsa`): features are removed while the weights are being fitted.
//!
//! Source: Sun et al. 2018, section 3.4, Algorithm 2, equation (10); the schedule is of Barbu et al. 2017:
//! ```text
//! t = 1 … N:  a few descent steps on ½βᵀ(S + ρI)β − sᵀβ;  keep the M_t largest |β_j|,
//!             M_t = k + (p − k)·max(0, (N − 2t)/(2tμ + N))
//! ols on the k that remain
//! ```
//! | symbol | constant | value | from |
//! |---|---|---|---|
//! | N | `STAGES` | 100 | ours: conjugate steps need fewer than the 500 of Barbu et al. |
//! | μ | `FALL` | 10 | Barbu et al. |
//! | – | `STEPS` | 3 | ours |
//! | ρ | λ_max(S)/`PATIENCE` | 1000 | ours: the implicit ridge of 1000 steps of plain gradient descent |
//!
//! Departures (E27): plain gradient descent with a step below 2/λ_max(S) is slow when predictors are correlated
//! (λ_max ≈ p/2 in the paper's own simulation), so the steps are conjugate gradient steps, which take one large
//! eigenvalue in one step and need no step size. Faster descent alone does *worse* where the signal is weak: it finds
//! the k features of smallest training error, which rewards noise. Plain descent, stopped after t steps of 1/λ_max, has
//! moved along a direction of variance d by 1 − (1 − d/λ_max)^t, much like a ridge penalty of λ_max/t: directions of
//! small variance stay near zero. To keep this regularisation, ρ is added while features are removed. Simulation of
//! section 5.1, p = 1000, k = 100, 20 runs, features found: β = 0.01, n = 10⁵: 82.4 % without ρ, 85.0 % with it, 84.8 %
//! by 500 plain steps; β = 1, n = 1000: 100 %, 100 % and 98.5 %. Several outputs are solved together and features
//! ranked by √(Σ β²). Cost: Σ M_t² per step, about fifteen products S·v in all.

use super::ols::least_squares;
use super::standardized::{Coefficients, Standardized};

/// N.
const STAGES: usize = 100;
/// μ: how fast the number of features falls.
const FALL: f64 = 10.0;
/// Conjugate gradient steps between two removals.
const STEPS: usize = 3;
/// λ_max/ρ.
const PATIENCE: f64 = 1000.0;
/// Power iterations for λ_max, which need not be exact.
const POWER_STEPS: usize = 5;

/// M_t: the number of features after stage t, from p down to k.
fn remaining(p: usize, k: usize, t: usize) -> usize {
    let (n, t) = (STAGES as f64, t as f64);
    let share = ((n - 2.0 * t) / (2.0 * t * FALL + n)).max(0.0);
    k + ((p - k) as f64 * share) as usize
}

/// The `k` features chosen by annealing, refitted.
pub(crate) fn anneal(problem: &Standardized, k: usize) -> Vec<Coefficients> {
    least_squares(problem, &chosen(problem, k), 0.0)
}

/// The features that remain, ascending.
fn chosen(problem: &Standardized, k: usize) -> Vec<usize> {
    let p = problem.size();
    let k = k.min(p);
    let mut active: Vec<usize> = (0..p).collect();
    let mut beta = vec![vec![0.0; p]; problem.outputs()];
    let mut gram = problem.gram.clone();
    let ridge = largest_eigenvalue(&gram, p) / PATIENCE;
    for t in 1..=STAGES {
        if active.len() == k {
            break;
        }
        for (output, beta) in beta.iter_mut().enumerate() {
            let cross: Vec<f64> = active.iter().map(|&feature| problem.cross[output][feature]).collect();
            descend(&gram, &cross, ridge, beta);
        }
        let keep = largest(&beta, remaining(p, k, t));
        if keep.len() < active.len() {
            gram = block(&gram, active.len(), &keep);
            beta.iter_mut().for_each(|beta| *beta = keep.iter().map(|&at| beta[at]).collect());
            active = keep.iter().map(|&at| active[at]).collect();
        }
    }
    active
}

/// The places of the `count` largest coefficients over all outputs, ascending; ties go to the smaller place.
fn largest(beta: &[Vec<f64>], count: usize) -> Vec<usize> {
    let length = beta.first().map_or(0, Vec::len);
    let size = |at: usize| beta.iter().map(|beta| beta[at] * beta[at]).sum::<f64>();
    let mut sized: Vec<(f64, usize)> = (0..length).map(|at| (size(at), at)).collect();
    if count < length {
        sized.select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        sized.truncate(count);
    }
    let mut places: Vec<usize> = sized.into_iter().map(|(_, at)| at).collect();
    places.sort_unstable();
    places
}

/// The rows and columns `keep` of a square matrix.
fn block(gram: &[f64], size: usize, keep: &[usize]) -> Vec<f64> {
    keep.iter().flat_map(|&i| keep.iter().map(move |&j| gram[i * size + j])).collect()
}

/// λ_max by the power method, from rows of different length so that no symmetry hides it; at least the mean eigenvalue,
/// 1.
fn largest_eigenvalue(gram: &[f64], size: usize) -> f64 {
    let mut vector: Vec<f64> = gram.chunks_exact(size).map(|row| row.iter().sum()).collect();
    let mut value = 1.0;
    for _ in 0..POWER_STEPS {
        let length = wide_dot(&vector, &vector).sqrt();
        if length == 0.0 {
            break;
        }
        vector.iter_mut().for_each(|v| *v /= length);
        let image: Vec<f64> = gram.chunks_exact(size).map(|row| wide_dot(row, &vector)).collect();
        value = wide_dot(&vector, &image).max(value);
        vector = image;
    }
    value
}

/// A few conjugate gradient steps on ½βᵀ(S + ρI)β − sᵀβ.
fn descend(gram: &[f64], cross: &[f64], ridge: f64, beta: &mut [f64]) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let product = |v: &[f64]| -> Vec<f64> {
        gram.chunks_exact(v.len()).zip(v).map(|(row, own)| wide_dot(row, v) + ridge * own).collect()
    };
    let mut residual: Vec<f64> = cross.iter().zip(product(beta)).map(|(s, fitted)| s - fitted).collect();
    let mut direction = residual.clone();
    let mut length = dot(&residual, &residual);
    let floor = 1e-24 * dot(cross, cross);
    for _ in 0..STEPS {
        if length <= floor {
            return;
        }
        let image = product(&direction);
        let step = length / dot(&direction, &image).max(f64::MIN_POSITIVE);
        beta.iter_mut().zip(&direction).for_each(|(beta, direction)| *beta += step * direction);
        residual.iter_mut().zip(&image).for_each(|(residual, image)| *residual -= step * image);
        let next = dot(&residual, &residual);
        direction.iter_mut().zip(&residual).for_each(|(d, residual)| *d = residual + next / length * *d);
        length = next;
    }
}

/// A scalar product in eight sums, so that it need not wait for each addition.
fn wide_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (chunks, rest) = (a.chunks_exact(8), a.chunks_exact(8).remainder());
    for (a, b) in chunks.zip(b.chunks_exact(8)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let tail = &b[b.len() - rest.len()..];
    sums.iter().sum::<f64>() + rest.iter().zip(tail).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::standardized::Output;
    use super::*;
    use crate::moments::Comoments;

    #[test]
    fn the_schedule_falls_from_p_to_k() {
        let sizes: Vec<usize> = (1..=STAGES).map(|t| remaining(1000, 100, t)).collect();
        assert_eq!(sizes[0], 100 + 735, "900·98/120");
        assert!(sizes.windows(2).all(|pair| pair[1] <= pair[0]));
        assert!(sizes[STAGES / 2 - 1..].iter().all(|&size| size == 100));
    }

    #[test]
    fn planted_features_remain() {
        let size = 60;
        let mut sums = Comoments::new(size + 1);
        for i in 0..200_u64 {
            let x = |salt: u64| crate::rng::splitmix64(i * 1000 + salt) as f64 / u64::MAX as f64 - 0.5;
            let mut row: Vec<f64> = (0..=size as u64).map(|j| x(j) + x(999)).collect();
            row[0] = row[10] + row[20] - row[30] + 0.1 * x(998);
            sums.observe_dense(&row, &[]);
        }
        let output = Output { column: 0, factor: 1.0, shift: 0.0 };
        let problem = Standardized::new(&sums, &(1..=size).collect::<Vec<_>>(), &[output]);
        assert_eq!(chosen(&problem, 3), [9, 19, 29]);
        let line = problem.linear(0, &anneal(&problem, 3)[0]);
        assert!(line.weights.iter().zip([1.0, 1.0, -1.0]).all(|((_, found), planted)| (found - planted).abs() < 0.05));
        assert_eq!(chosen(&problem, 100).len(), size, "more than there are is all");
    }

    #[test]
    fn as_many_steps_as_columns_solve_the_equations() {
        let (gram, cross) = ([1.0, 0.5, 0.2, 0.5, 1.0, 0.3, 0.2, 0.3, 1.0], [1.0, 2.0, 3.0]);
        let mut beta = [0.0; 3];
        descend(&gram, &cross, 0.0, &mut beta);
        for (row, s) in gram.chunks(3).zip(cross) {
            assert!((wide_dot(row, &beta) - s).abs() < 1e-12);
        }
        descend(&gram, &cross, 0.5, &mut beta);
        for ((row, s), own) in gram.chunks(3).zip(cross).zip(beta) {
            assert!((wide_dot(row, &beta) + 0.5 * own - s).abs() < 1e-12);
        }
    }

    #[test]
    fn the_largest_eigenvalue_by_hand() {
        // Correlations of ½ throughout: 1 + (p − 1)/2 along the diagonal of the cube, ½ elsewhere.
        let gram: Vec<f64> = (0..100).map(|at| if at / 10 == at % 10 { 1.0 } else { 0.5 }).collect();
        assert!((largest_eigenvalue(&gram, 10) - 5.5).abs() < 1e-12);
        let unrelated: Vec<f64> = (0..9).map(|at| if at / 3 == at % 3 { 1.0 } else { 0.0 }).collect();
        assert!((largest_eigenvalue(&unrelated, 3) - 1.0).abs() < 1e-12);
    }
}
