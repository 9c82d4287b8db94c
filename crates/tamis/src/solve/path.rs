//! Solution paths: along λ for penalties, along k for the other solvers; and models with exactly k features.
//!
//! λ decreases by a constant factor from the value at which the first feature enters; each solution starts the next
//! one. For exactly k features, the path ends at the first model with at least k. If it skips k, λ is found by
//! bisection of ln λ. If no λ gives exactly k (features that enter in pairs), the k largest features of the next larger
//! model are solved alone.
//!
//! A path for a criterion ends at a thousandth of the largest λ. With ten times as many rows as columns, larger models
//! are possible: the path then ends at half the noise level of a column, σ/√n (σ² is the residual variance of least
//! squares), if that is smaller. Least squares has no signs, so a path with signs does not.

use rayon::prelude::*;

use super::coordinate_descent::CoordinateDescent;
use super::fsa::anneal;
use super::ols::{Nested, least_squares, ranked};
use super::penalty::{AnyPenalty, Penalty};
use super::standardized::{Coefficients, Standardized};
use crate::recipe::{SolveRecipe, SolverKind};

/// Values of λ on a path, from the largest to this share of it.
const STEPS: usize = 100;
const SMALLEST: f64 = 1e-3;
/// A search for k features ends at this share of the largest λ.
const DEEPEST: f64 = 1e-6;
/// Rows for each column from which on a path may be longer.
const MANY_ROWS: f64 = 10.0;
/// Sizes on a path of sizes; annealing is run for each, so it has fewer.
const SIZES: usize = 200;
const ANNEALED_SIZES: usize = 30;
/// A search for k features ends when there are twice as many and this many more.
const FAR: usize = 50;
/// Halvings of the interval in which λ has k features.
const HALVINGS: usize = 40;

/// One model of a path.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub(crate) penalty: Option<f64>,
    /// Of each output.
    pub(crate) coefficients: Vec<Coefficients>,
}

impl Fit {
    /// Features any output uses, ascending.
    pub(crate) fn support(&self) -> Vec<usize> {
        let mut features: Vec<usize> = self.coefficients.iter().flatten().map(|pair| pair.0).collect();
        features.sort_unstable();
        features.dedup();
        features
    }
}

/// Which models to make.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Grid {
    Sizes(Vec<usize>),
    Penalties(Vec<f64>),
    Whole,
}

/// The penalty of a recipe for a solver that has one.
fn penalty_of(recipe: &SolveRecipe) -> AnyPenalty {
    AnyPenalty::of(recipe).unwrap_or_else(|| panic!("{} has no penalty", recipe.method.name()))
}

/// λ from the largest down to `share` of it.
fn penalties(largest: f64, share: f64) -> Vec<f64> {
    let factor = SMALLEST.powf(1.0 / (STEPS - 1) as f64);
    let count = (share.ln() / factor.ln()).round() as i32;
    (0..=count).map(|step| largest * factor.powi(step)).collect()
}

/// The smallest λ at which all coefficients of all outputs are zero.
fn largest(problem: &Standardized, recipe: &SolveRecipe) -> f64 {
    let penalty = penalty_of(recipe);
    (0..problem.outputs()).map(|output| CoordinateDescent::largest(problem, output, penalty)).fold(0.0, f64::max)
}

/// The grid of candidate models for a criterion.
pub(crate) fn grid(problem: &Standardized, recipe: &SolveRecipe) -> Grid {
    let most = problem.size().min((problem.rows - 1.0).max(1.0) as usize);
    match recipe.method.kind() {
        SolverKind::LeastSquares => Grid::Whole,
        SolverKind::Thresholded => Grid::Sizes(sizes(most, SIZES)),
        SolverKind::Annealed => Grid::Sizes(sizes(most, ANNEALED_SIZES)),
        // A ridge of the size of S itself down to almost nothing.
        SolverKind::Ridge => Grid::Penalties((0..40).map(|step| 10.0 * 10f64.powf(-f64::from(step) / 5.0)).collect()),
        SolverKind::Penalized => {
            let largest = largest(problem, recipe);
            Grid::Penalties(penalties(largest, end(problem, largest)))
        }
    }
}

/// The share of the largest λ at which a path ends.
fn end(problem: &Standardized, largest: f64) -> f64 {
    if problem.rows < MANY_ROWS * problem.size() as f64 || largest <= 0.0 || !problem.is_free() {
        return SMALLEST;
    }
    let all: Vec<usize> = (0..problem.size()).collect();
    let fitted = least_squares(problem, &all, 0.0);
    let errors = (0..problem.outputs()).map(|output| problem.error(output, &fitted[output]));
    let chance = (errors.fold(f64::INFINITY, f64::min).max(0.0) / problem.rows).sqrt();
    (0.5 * chance / largest).clamp(DEEPEST, SMALLEST)
}

/// About `count` sizes from 0 to `most`: every one at first, then further and further apart.
fn sizes(most: usize, count: usize) -> Vec<usize> {
    let ratio = (most.max(2) as f64).powf(1.0 / count as f64);
    let mut sizes: Vec<usize> = vec![0];
    let mut next = 1.0_f64;
    while (next as usize) < most {
        sizes.push(next as usize);
        next = (next * ratio).max(next + 1.0);
    }
    sizes.push(most);
    sizes.dedup();
    sizes
}

/// The models of a grid.
pub(crate) fn fits(problem: &Standardized, recipe: &SolveRecipe, grid: &Grid) -> Vec<Fit> {
    let plain = |coefficients| Fit { penalty: None, coefficients };
    match grid {
        Grid::Whole => {
            let all: Vec<usize> = (0..problem.size()).collect();
            vec![plain(least_squares(problem, &all, 0.0))]
        }
        Grid::Sizes(sizes) if recipe.method.kind() == SolverKind::Annealed => {
            sizes.par_iter().map(|&size| plain(anneal(problem, size))).collect()
        }
        Grid::Sizes(sizes) => {
            let nested = Nested::thresholded(problem, 0.0);
            sizes.par_iter().map(|&size| plain(nested.refit(size))).collect()
        }
        Grid::Penalties(list) if recipe.method.kind() == SolverKind::Ridge => {
            list.par_iter().map(|&penalty| ridge(problem, penalty, recipe.k)).collect()
        }
        Grid::Penalties(list) => {
            let mut walk = PathSolver::new(problem, recipe);
            list.iter().map(|&penalty| walk.step(penalty)).collect()
        }
    }
}

/// The models of decreasing penalties, up to the first one of more than `most` features.
pub(crate) fn fits_up_to(problem: &Standardized, recipe: &SolveRecipe, penalties: &[f64], most: usize) -> Vec<Fit> {
    let mut walk = PathSolver::new(problem, recipe);
    let mut fits: Vec<Fit> = Vec::new();
    for &penalty in penalties {
        if fits.last().is_some_and(|fit| fit.support().len() > most) {
            break;
        }
        fits.push(walk.step(penalty));
    }
    fits
}

fn ridge(problem: &Standardized, penalty: f64, k: Option<usize>) -> Fit {
    let all: Vec<usize> = (0..problem.size()).collect();
    let mut coefficients = least_squares(problem, &all, penalty);
    if let Some(k) = k.filter(|&k| k < problem.size()) {
        coefficients = least_squares(problem, &ranked(problem.size(), &coefficients)[..k], penalty);
    }
    Fit { penalty: Some(penalty), coefficients }
}

/// The models on the path to exactly `k` features; the last one has them.
pub(crate) fn exactly(problem: &Standardized, recipe: &SolveRecipe, k: usize) -> Vec<Fit> {
    let plain = |coefficients| vec![Fit { penalty: None, coefficients }];
    match recipe.method.kind() {
        SolverKind::Annealed => plain(anneal(problem, k)),
        SolverKind::LeastSquares | SolverKind::Thresholded => {
            let all: Vec<usize> = (0..problem.size()).collect();
            let order = ranked(problem.size(), &least_squares(problem, &all, 0.0));
            plain(least_squares(problem, &order[..k], 0.0))
        }
        SolverKind::Ridge => vec![ridge(problem, recipe.lambda.unwrap_or_default(), Some(k))],
        SolverKind::Penalized => walk_to(problem, recipe, k),
    }
}

/// Decreases λ until there are `k` features. With a concave penalty a path grows, thins out as large weights are freed,
/// and may have k features several times: it is walked on until there are far more, and the best fit of size k is
/// taken.
fn walk_to(problem: &Standardized, recipe: &SolveRecipe, k: usize) -> Vec<Fit> {
    let convex = penalty_of(recipe).is_convex();
    let share = if convex { DEEPEST } else { SMALLEST };
    let mut walk = PathSolver::new(problem, recipe);
    let (mut found, mut best): (Vec<Fit>, Option<(f64, usize)>) = (Vec::new(), None);
    for penalty in penalties(largest(problem, recipe), share) {
        let mut start = walk.clone();
        let fit = walk.step(penalty);
        let before = found.last().map_or(0, |fit| fit.support().len());
        let exact = match fit.support().len() {
            size if size == k => Some(fit.clone()),
            size if size > k && before < k => Some(between(&mut start, found.last(), fit.clone(), k)),
            _ => None,
        };
        if let Some(exact) = exact {
            let error = (0..problem.outputs()).map(|output| problem.error(output, &exact.coefficients[output])).sum();
            best = best.filter(|&(least, _)| least <= error).or(Some((error, found.len())));
            found.push(exact);
        }
        if best.is_some() && (convex || fit.support().len() > 2 * k + FAR) {
            break;
        }
        if found.last().is_none_or(|last| last.penalty != fit.penalty) {
            found.push(fit);
        }
    }
    if let Some((_, at)) = best {
        found.truncate(at + 1);
    }
    found
}

/// A model of exactly `k` features between one with fewer (`walk` stands there) and one with more.
fn between(walk: &mut PathSolver<'_>, smaller: Option<&Fit>, mut larger: Fit, k: usize) -> Fit {
    let mut high = smaller.and_then(|fit| fit.penalty).or(larger.penalty).unwrap_or_default().ln();
    for _ in 0..HALVINGS {
        let low = larger.penalty.unwrap_or_default().ln();
        let mut trial = walk.clone();
        let fit = trial.step(((high + low) / 2.0).exp());
        match fit.support().len().cmp(&k) {
            std::cmp::Ordering::Equal => return fit,
            std::cmp::Ordering::Greater => larger = fit,
            std::cmp::Ordering::Less => {
                high = (high + low) / 2.0;
                *walk = trial;
            }
        }
    }
    walk.cut(larger, k)
}

/// A walk along λ, all outputs together.
#[derive(Clone)]
struct PathSolver<'a> {
    problem: &'a Standardized,
    recipe: &'a SolveRecipe,
    descents: Vec<CoordinateDescent<'a>>,
}

impl<'a> PathSolver<'a> {
    fn new(problem: &'a Standardized, recipe: &'a SolveRecipe) -> Self {
        let descent = |output| CoordinateDescent::new(problem, output, penalty_of(recipe));
        PathSolver { problem, recipe, descents: (0..problem.outputs()).map(descent).collect() }
    }

    fn step(&mut self, penalty: f64) -> Fit {
        let coefficients = match &mut self.descents[..] {
            [descent] => vec![descent.solve(penalty)],
            many => many.par_iter_mut().map(|descent| descent.solve(penalty)).collect(),
        };
        self.finished(Fit { penalty: Some(penalty), coefficients })
    }

    fn finished(&self, fit: Fit) -> Fit {
        if self.recipe.refit {
            Fit { coefficients: least_squares(self.problem, &fit.support(), 0.0), ..fit }
        } else {
            fit
        }
    }

    /// The `k` largest features of a model, solved alone at the same λ if all stay, or as they are.
    fn cut(&self, fit: Fit, k: usize) -> Fit {
        let mut kept = ranked(self.problem.size(), &fit.coefficients);
        kept.truncate(k);
        kept.sort_unstable();
        let alone = self.problem.restricted(&kept);
        let mut walk = PathSolver::new(&alone, self.recipe);
        let found = walk.step(fit.penalty.unwrap_or_default());
        if found.support().len() == k {
            let back = |pairs: &Coefficients| pairs.iter().map(|&(at, beta)| (kept[at], beta)).collect();
            return Fit { coefficients: found.coefficients.iter().map(back).collect(), ..fit };
        }
        let own =
            |pairs: &Coefficients| pairs.iter().copied().filter(|pair| kept.binary_search(&pair.0).is_ok()).collect();
        self.finished(Fit { coefficients: fit.coefficients.iter().map(own).collect(), ..fit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Solver;

    #[test]
    fn penalties_fall_by_a_constant_factor() {
        let list = penalties(2.0, SMALLEST);
        assert_eq!((list.len(), list[0]), (STEPS, 2.0));
        assert!((list[STEPS - 1] - 2e-3).abs() < 1e-12);
        assert!(penalties(2.0, DEEPEST).len() > 190);
    }

    /// Rows whose target hardly depends on one of its two columns, and hardly on chance.
    fn faint(rows: u64) -> Standardized {
        let mut sums = crate::moments::Comoments::new(3);
        for i in 0..rows {
            let x = |salt: u64| crate::rng::splitmix64(i * 10 + salt) as f64 / u64::MAX as f64 - 0.5;
            let (a, b) = (x(1), x(2));
            sums.observe_dense(&[a + 2e-4 * b + 1e-5 * x(3), a, b], &[]);
        }
        let target = super::super::standardized::Output { column: 0, factor: 1.0, shift: 0.0 };
        Standardized::new(&sums, &[1, 2], &[target])
    }

    #[test]
    fn many_rows_are_followed_to_what_they_can_tell() {
        let recipe = SolveRecipe::new(Solver::Lasso);
        let longest = |problem: &Standardized| {
            let fits = fits(problem, &recipe, &grid(problem, &recipe));
            (fits.len(), fits.last().expect("a path").support().len())
        };
        assert_eq!(longest(&faint(15)).0, STEPS, "few rows tell nothing of so little");
        let (steps, size) = longest(&faint(4000));
        assert!(steps > STEPS && size == 2, "{steps} steps to {size} features");
    }

    #[test]
    fn sizes_are_dense_at_first() {
        assert_eq!(sizes(4, 200), [0, 1, 2, 3, 4]);
        let many = sizes(5000, 200);
        assert_eq!(many[..20], (0..20).collect::<Vec<_>>()[..]);
        assert!(many.len() <= 202 && *many.last().unwrap() == 5000);
    }
}
