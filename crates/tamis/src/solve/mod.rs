//! From moments to models of any sparsity, without reading the data again.
//!
//! | file | content |
//! |---|---|
//! | `standardized.rs` | the least-squares problem on standardised columns |
//! | `ols.rs` | `ols`, `ridge`, `ols-th` by Cholesky |
//! | `fsa.rs` | `ofsa`: feature selection with annealing |
//! | `penalty/`, `coordinate_descent.rs`, `direct_step.rs` | `lasso`, `elastic-net`, `mcp`, `scad` by coordinate descent |
//! | `path.rs` | models of many sizes |
//! | `criteria.rs` | information criteria and cross-validation |
//! | `feature_tests/` | q-values of the features, from the moments of folds |
//! | `result.rs` | what comes out: a model with its path, or an error |
//! | `build_model.rs` | the targets to predict, and the finished model |
//!
//! [`solve`] fits the [`Model`] that a [`SolveRecipe`] describes. Its time does not depend on the number of rows.
//!
//! ```
//! use tamis::moments::{Column, Moments, Comoments};
//! use tamis::recipe::{SolveRecipe, Solver};
//! use tamis::solve::solve;
//!
//! let mut sums = Comoments::new(3);
//! sums.observe_dense(&[1.0, 0.0, 2.0, 3.0, 1.0, 1.0, 5.0, 2.0, 2.0, 7.0, 3.0, 0.0], &[]);
//! let names = ["a", "b"].map(|name| Column::Feature(name.into()));
//! let columns = [Column::Target("y".into())].into_iter().chain(names).collect();
//! let moments = Moments::new(columns, vec![sums]);
//! let solved = solve(&moments, &SolveRecipe { k: Some(1), ..SolveRecipe::new(Solver::OlsTh) }, Default::default())?;
//! let line = &solved.model.outputs[0];
//! assert_eq!(line.features[0].name, "a");
//! assert!((line.features[0].weight - 2.0).abs() < 1e-9 && (line.intercept - 1.0).abs() < 1e-9);
//! # Ok::<(), tamis::solve::SolveError>(())
//! ```

mod build_model;
mod coordinate_descent;
mod criteria;
mod direct_step;
mod feature_tests;
mod fsa;
mod ols;
mod path;
pub mod penalty;
mod result;
mod standardized;

pub use result::{PathPoint, SolveError, Solved, Trace};
pub use standardized::Linear;

use self::build_model::Task;
use self::coordinate_descent::CoordinateDescent;
use self::criteria::{Scored, cross_validate, few_rows, freedoms, score, selects};
use self::path::{Fit, Grid, exactly, fits, grid};
use self::penalty::Penalty;
use self::standardized::{Output, Standardized};
use crate::io::memory_of_this_machine;
use crate::model::Model;
use crate::moments::{Comoments, Moments};
use crate::recipe::{Criterion, SolveRecipe, Solver};
use crate::select::Estimate;
use crate::threads::Threads;

/// Options that do not change the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct SolveOptions {
    /// Whether to compute the path: all sizes up to the requested one, with cross-validation errors if there are folds.
    pub path: bool,
    /// Threads to use; 0 takes one for each core.
    pub threads: usize,
}

/// Fits the model of a recipe.
pub fn solve(moments: &Moments, recipe: &SolveRecipe, options: SolveOptions) -> Result<Solved, SolveError> {
    recipe.check()?;
    let recipe = &recipe.resolved(moments.folds.len());
    Threads::new(options.threads).install(|| solve_here(moments, recipe, options.path))
}

/// The linear function of one target that minimises ½·MSE + Σ P(β; λ), β the weights on standardised columns. It takes any
/// penalty, also one that no recipe names; `target` and `features` are columns of the moments.
pub fn solve_penalized(
    sums: &Comoments,
    target: usize,
    features: &[usize],
    penalty: impl Penalty,
    lambda: f64,
) -> Linear {
    let output = Output { column: target, factor: 1.0, shift: 0.0 };
    let problem = Standardized::new(sums, features, &[output]);
    problem.linear(0, &CoordinateDescent::new(&problem, 0, penalty).solve(lambda))
}

fn solve_here(moments: &Moments, recipe: &SolveRecipe, with_path: bool) -> Result<Solved, SolveError> {
    let total = moments.total();
    let task = Task::of(moments, &total, recipe)?;
    check_memory(task.features.len() as u64)?;
    let problem = task.problem(&total);
    if problem.size() == 0 {
        return Err(SolveError::NoFeatures);
    }
    check_possible(moments, &problem, recipe)?;
    if let Some(k) = recipe.k.filter(|&k| k > problem.size()) {
        return Err(SolveError::TooMany { k, usable: problem.size(), all: task.features.len() });
    }
    let (fits, grid, mut chosen) = candidates(&problem, recipe, with_path, max_cv_size(moments, &total, recipe));
    let scores: Vec<Scored> = freedoms(&problem, recipe, &fits)
        .into_iter()
        .zip(&fits)
        .map(|(freedom, fit)| score(&problem, fit, freedom, selects(recipe)))
        .collect();
    let mut path = points(moments, &problem, &fits, &scores);
    let wants_folds = recipe.criterion == Some(Criterion::Cv);
    if wants_folds && moments.folds.len() < 2 {
        return Err(SolveError::NoFolds);
    }
    if wants_folds || (with_path && moments.folds.len() > 1) {
        add_folds(moments, &total, &task, recipe, &grid, &mut path)?;
    }
    if let Some(criterion) = recipe.criterion {
        chosen = best(&path, criterion);
    }
    let mut notes = notes(&problem, &task, recipe, &fits[chosen]);
    if recipe.criterion.is_some() && recipe.method.is_penalised() && chosen + 1 == path.len() {
        notes.push("the smallest penalty of the path was chosen: a smaller one may be better still".into());
    }
    let tests = feature_tests::test_features(moments, &total, &task, &problem, &fits[chosen]);
    let model = Model { tests, ..task.model(moments, &problem, &fits[chosen], recipe, scores[chosen].error) };
    let traces = if with_path { traces(moments, &problem, &fits, chosen) } else { Vec::new() };
    Ok(Solved { model, path, chosen, traces, notes })
}

/// Up to this many features the whole matrix is examined, whatever the solver: the cost grows with the cube.
const EXAMINED: usize = 2000;

/// Refuses moments that no rows can have, such as those left after rows were subtracted that were never added.
fn check_possible(moments: &Moments, problem: &Standardized, recipe: &SolveRecipe) -> Result<(), SolveError> {
    let name = |feature: usize| moments.columns[problem.columns[feature]].name();
    if let Some((one, other)) = problem.impossible_pair() {
        let other = other.map_or("the target".into(), |other| format!("{:?}", name(other)));
        let what = format!("the correlation of {:?} and {other} is not between -1 and 1", name(one));
        return Err(SolveError::Impossible { what });
    }
    let is_least_squares = !recipe.method.is_penalised();
    if (is_least_squares || problem.size() <= EXAMINED) && !ols::is_possible(problem) {
        return Err(SolveError::Impossible { what: "a combination of columns has a negative variance".into() });
    }
    Ok(())
}

/// The number of features shown along a path.
const TRACES: usize = 30;

/// The strongest features of the chosen model along the path, and after them those that are strongest at its end.
fn traces(moments: &Moments, problem: &Standardized, fits: &[Fit], chosen: usize) -> Vec<Trace> {
    let effects = |fit: &Fit| {
        let mut effects = vec![0.0; problem.size()];
        match &fit.coefficients[..] {
            [single] => single.iter().for_each(|&(feature, weight)| effects[feature] = weight),
            many => {
                many.iter().flatten().for_each(|&(feature, weight)| effects[feature] += weight * weight);
                effects.iter_mut().for_each(|effect| *effect = effect.sqrt());
            }
        }
        effects
    };
    let all: Vec<Vec<f64>> = fits.iter().map(effects).collect();
    let size = |at: usize, feature: usize| all.get(at).map_or(0.0, |effects| effects[feature].abs());
    let mut order: Vec<usize> = (0..problem.size()).collect();
    let last = all.len().saturating_sub(1);
    let rank = |feature: usize| (size(chosen, feature), size(last, feature));
    order.sort_by(|&a, &b| {
        let (one, other) = (rank(a), rank(b));
        other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1)).then(a.cmp(&b))
    });
    let seen = |feature: &usize| all.iter().any(|effects| effects[*feature] != 0.0);
    let trace = |feature: usize| Trace {
        name: moments.columns[problem.columns[feature]].name(),
        effects: all.iter().map(|effects| effects[feature]).collect(),
    };
    order.into_iter().filter(seen).take(TRACES).map(trace).collect()
}

/// The memory needed: the full correlation matrix and a working copy of it.
fn check_memory(features: u64) -> Result<(), SolveError> {
    let (needed, limit) = (features.saturating_mul(features).saturating_mul(16), memory_of_this_machine());
    if needed > limit {
        return Err(SolveError::TooWide { features, needed: needed >> 20, limit: limit >> 20 });
    }
    Ok(())
}

/// The largest size that cross-validation can compare: below the number of training rows of every fold. With more
/// features, the model of a fold would need a ridge penalty that the model of all rows does not have.
fn max_cv_size(moments: &Moments, total: &Comoments, recipe: &SolveRecipe) -> usize {
    let largest = moments.folds.iter().map(|fold| fold.rows).max().unwrap_or(0);
    let most = total.rows.saturating_sub(largest).saturating_sub(1).max(1);
    if recipe.criterion == Some(Criterion::Cv) { most as usize } else { usize::MAX }
}

/// The candidate models, their grid, and the index of the requested one.
fn candidates(problem: &Standardized, recipe: &SolveRecipe, with_path: bool, most: usize) -> (Vec<Fit>, Grid, usize) {
    let by_size = matches!(recipe.method, Solver::Ols | Solver::OlsTh | Solver::Ofsa);
    if let Some(k) = recipe.k {
        let mut list = exactly(problem, recipe, k);
        if by_size && with_path {
            let Grid::Sizes(mut sizes) = grid(problem, &SolveRecipe { method: sized(recipe.method), ..recipe.clone() })
            else {
                unreachable!("these solvers go by size")
            };
            sizes.retain(|&size| size < k);
            let smaller = Grid::Sizes(sizes.clone());
            list = fits(problem, recipe, &smaller).into_iter().chain(list).collect();
            sizes.push(k);
            let last = list.len() - 1;
            return (list, Grid::Sizes(sizes), last);
        }
        let penalties: Vec<f64> = list.iter().filter_map(|fit| fit.penalty).collect();
        let grid = if by_size { Grid::Sizes(vec![k]) } else { Grid::Penalties(penalties) };
        let last = list.len() - 1;
        return (list, grid, last);
    }
    let mut grid = grid(problem, recipe);
    if let Grid::Sizes(sizes) = &mut grid {
        sizes.retain(|&size| size < most);
    }
    if let (Some(penalty), Grid::Penalties(list)) = (recipe.lambda, &mut grid) {
        // The path of larger λ leads to the given one (warm starts).
        list.retain(|&other| other > penalty && recipe.method.is_penalised());
        list.push(penalty);
    }
    let list = fits(problem, recipe, &grid);
    let last = list.len() - 1;
    (list, grid, last)
}

/// Least squares with a given size means `ols-th`.
fn sized(method: Solver) -> Solver {
    if method == Solver::Ols { Solver::OlsTh } else { method }
}

/// The best model by a criterion; the smallest one if several are equal.
fn best(path: &[PathPoint], criterion: Criterion) -> usize {
    let value = |at: usize| path[at].value(criterion).unwrap_or(f64::INFINITY);
    (1..path.len()).fold(0, |best, at| if value(at) < value(best) { at } else { best })
}

fn points(moments: &Moments, problem: &Standardized, fits: &[Fit], scores: &[Scored]) -> Vec<PathPoint> {
    let name = |feature: &usize| moments.columns[problem.columns[*feature]].name();
    let mut before: Vec<usize> = Vec::new();
    let point = |(fit, scored): (&Fit, &Scored)| {
        let support = fit.support();
        let entered = support.iter().filter(|feature| before.binary_search(feature).is_err()).map(name).collect();
        let left = before.iter().filter(|feature| support.binary_search(feature).is_err()).map(name).collect();
        let size = support.len();
        before = support;
        let Scored { r2, aic, bic, ebic, .. } = *scored;
        PathPoint { lambda: fit.penalty, size, r2, aic, bic, ebic, cv_error: None, cv_deviation: None, entered, left }
    };
    fits.iter().zip(scores).map(point).collect()
}

fn add_folds(
    moments: &Moments,
    total: &Comoments,
    task: &Task,
    recipe: &SolveRecipe,
    grid: &Grid,
    path: &mut [PathPoint],
) -> Result<(), SolveError> {
    let errors = cross_validate(&moments.folds, total, task, recipe, grid);
    let errors = errors.map_err(|fold| SolveError::FullFold { fold })?;
    for (point, Estimate { mean, standard_error }) in path.iter_mut().zip(errors) {
        (point.cv_error, point.cv_deviation) = (Some(mean), Some(standard_error));
    }
    Ok(())
}

fn notes(problem: &Standardized, task: &Task, recipe: &SolveRecipe, fit: &Fit) -> Vec<String> {
    let mut notes = Vec::new();
    let constant = task.features.len() - problem.size();
    if constant > 0 {
        let all = task.features.len();
        notes.push(format!("{constant} of {all} features do not vary, or are copies of others, and were left out"));
    }
    let size = fit.support().len();
    if let Some(k) = recipe.k.filter(|&k| size < k) {
        notes.push(format!("{k} features were asked for; no penalty leaves more than {size} of them at work"));
    }
    if matches!(recipe.criterion, Some(Criterion::Aic | Criterion::Bic)) && few_rows(problem) {
        let (rows, columns) = (problem.rows, problem.size());
        notes.push(format!(
            "{rows:.0} rows for {columns} features: the criterion also charges for the choice among them"
        ));
    }
    let whole = matches!(recipe.method, Solver::Ols | Solver::OlsTh);
    if whole && problem.rows <= problem.size() as f64 + 1.0 {
        notes.push(format!(
            "{:.0} rows for {} features: a ridge of {} was added, since least squares has no single answer",
            problem.rows,
            problem.size(),
            ols::FEW_ROWS_RIDGE
        ));
    }
    notes
}
