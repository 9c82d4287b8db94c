//! Literal refinement of weights: dense rows, the full matrix of second derivatives, Gaussian elimination.
//!
//! ```text
//! minimise over d and c   Σ_i v_i·ℓ(f_i + d·x_i + c, y_i) + ½·λ·‖d‖²      d_j = 0 where fixed, c = 0 where fixed
//! Newton: H = Σ_i v_i·ℓ''·x̃_i·x̃_iᵀ + λI (no ridge on c),  ∇ = Σ_i v_i·ℓ'·x̃_i + λd,   (d, c) −= t·H⁻¹∇,  x̃ = (x, 1)
//! t: the first of 1, ½, ¼, … with which the objective falls; until ‖∇‖ ≤ 10⁻¹²·(1 + Σ v)
//! ```
//! [`Refinement`] stops when the gain is negligible against the noise; this version iterates until it converges.

use super::dense;
use super::linear_system::solve;
use tamis::data::Example;
use tamis::loss::Loss;
use tamis::refine::Refinement;

/// The change of each weight, and last of the intercept, that minimises the objective.
pub fn minimum(problem: &Refinement<'_>, ridge: f64) -> Vec<f64> {
    let mut change = vec![0.0; problem.is_free.len()];
    for _ in 0..200 {
        let (gradient, hessian) = derivatives(problem, ridge, &change);
        if gradient.iter().all(|slope| slope.abs() <= 1e-12 * (1.0 + problem.rows.len() as f64)) {
            break;
        }
        let step = solve(hessian, gradient);
        let now = objective(problem, ridge, &change);
        let moved = |share: f64| -> Vec<f64> { change.iter().zip(&step).map(|(c, s)| c - share * s).collect() };
        // Near the minimum a step does not change the objective beyond rounding.
        let falls = |&share: &f64| objective(problem, ridge, &moved(share)) <= now * (1.0 + 1e-12);
        let Some(share) = (0..40).map(|halvings| 0.5f64.powi(halvings)).find(falls) else { break };
        change = moved(share);
    }
    change
}

/// Σ v·ℓ + ½·λ·‖d‖².
pub fn objective(problem: &Refinement<'_>, ridge: f64, change: &[f64]) -> f64 {
    let weights = change.len() - 1;
    let losses = rows(problem)
        .map(|(example, x, margin, target)| example.weight * problem.loss.value(margin + product(&x, change), target));
    losses.sum::<f64>() + 0.5 * ridge * change[..weights].iter().map(|d| d * d).sum::<f64>()
}

fn derivatives(problem: &Refinement<'_>, ridge: f64, change: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let p = change.len();
    let ridges = |j: usize| if j + 1 < p { ridge } else { 0.0 };
    let mut gradient: Vec<f64> = (0..p).map(|j| ridges(j) * change[j]).collect();
    let mut hessian: Vec<Vec<f64>> =
        (0..p).map(|j| (0..p).map(|k| if j == k { ridges(j) } else { 0.0 }).collect()).collect();
    for (example, x, margin, target) in rows(problem) {
        let margin = margin + product(&x, change);
        let slope = example.weight * problem.loss.slope(margin, target);
        let curvature = example.weight * problem.loss.curvature(margin, target);
        for j in 0..p {
            gradient[j] += slope * x[j];
            (0..p).for_each(|k| hessian[j][k] += curvature * x[j] * x[k]);
        }
    }
    for j in (0..p).filter(|&j| !problem.is_free[j]) {
        gradient[j] = 0.0;
        (0..p).for_each(|k| (hessian[j][k], hessian[k][j]) = (0.0, 0.0));
        hessian[j][j] = 1.0;
    }
    (gradient, hessian)
}

/// Each row with a one at its end for the intercept, its margin and its target.
fn rows<'a>(problem: &'a Refinement<'_>) -> impl Iterator<Item = (Example<'a>, Vec<f64>, f64, f64)> {
    let p = problem.is_free.len();
    let row = move |(number, example): (usize, Example<'a>)| {
        let mut x = dense(example.row, p);
        x[p - 1] = 1.0;
        (example, x, problem.margins[number], problem.targets[number])
    };
    problem.rows.examples().enumerate().map(row)
}

fn product(x: &[f64], change: &[f64]) -> f64 {
    x.iter().zip(change).map(|(x, d)| x * d).sum()
}
