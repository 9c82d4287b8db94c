//! Tests of the features from the moments of folds: which of them carry information that the others do not.
//!
//! Sources: cross-fitting after Chernozhukov et al. (Econometrics Journal 21, 2018); the t-test of a linear regression;
//! false discovery rate after Benjamini & Hochberg (JRSS B 57, 1995). The combination is that of
//! [`stabilized`](crate::stabilized), for the squared loss: there, all sums over rows follow from co-moments.
//!
//! **Hypothesis** of feature j: it adds nothing to the linear predictor of the target, given the other features that
//! matter. Each fold is tested with what the other folds know: the training moments of fold f are the total minus those of
//! f, and a lasso path on them gives the strongest features S and the margins Xb of the λ with the least
//! cross-validation error.
//! ```text
//! for each fold, over its rows (W: their weight, n: their effective number):
//!     Z = S without j,  x̃_j = x_j − Z·(ZᵀZ + εW)⁻¹Zᵀx_j              all columns centred in the fold
//!     score_j    += x̃_jᵀ(y − Xb + b_j·x_j)                             the margin without the feature's own part
//!     variance_j += φ·x̃_jᵀx̃_j·Σw²/W,  φ = ‖r‖²/W·n/(n − |S| − 1)        r: y − Xb, after one Newton step on Z
//! t_j = score_j/√variance_j,  freedom = Σ (n − |S| − 1)
//! ```
//! A second step tests features with q ≤ 0.3 in the order of |t|, each given those before it, and the smaller |t| counts.
//! With several outputs, p is the least over them times their number. All features of the moments are hypotheses:
//! which of them are tested was decided with all rows, and a feature that is not tested counts as p = 1. So does one whose
//! weight in the model has another sign than t, and a column of zeros and ones with fewer than ten of either.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | S | [`given`] | n/64 features, from 8 to 256 | as for `stabilized` |
//! | tested | [`MOST_TESTED`] | 700 features: those of the model, then those of the largest correlation | as for `stabilized` |
//! | ε | `fold.rs` | 0.002 | as for `stabilized` |
//!
//! Departures from the tests of `stabilized`: moments have no fourth powers, so there is no robust variance. The tests
//! need noise whose variance does not depend on the features; for classes, whose variance does, they are approximate.
//! Folds are small for their number of columns, so t-scores are those of Student's distribution.
//!
//! Cost: a lasso path for each fold, then the square of the tested features for each fold.

mod fold;

use rayon::prelude::*;

use self::fold::{FoldSums, FoldTest};
use super::build_model::Task;
use super::path::{Fit, Grid, fits_up_to, grid};
use super::standardized::Standardized;
use crate::model::{FeatureTest, FeatureTests};
use crate::moments::{Comoments, Moments};
use crate::recipe::{SolveRecipe, Solver};
use crate::select::{Parts, q_values, representatives, student_z, two_sided_p_value, two_steps};

/// The number of features that are tested, at most.
const MOST_TESTED: usize = 700;
/// A column of zeros and ones is not confirmed if fewer rows have one of its values.
const FEWEST_ROWS_WITH: f64 = 10.0;

/// |S|.
fn given(rows: f64) -> usize {
    ((rows / 64.0) as usize).clamp(8, 256)
}

/// The tests of the features; `None` if there are fewer than two folds with rows.
pub(super) fn test_features(
    moments: &Moments,
    total: &Comoments,
    task: &Task,
    problem: &Standardized,
    chosen: &Fit,
) -> Option<FeatureTests> {
    let folds: Vec<&Comoments> = moments.folds.iter().filter(|fold| fold.rows > 1 && fold.weight > 0.0).collect();
    if folds.len() < 2 {
        return None;
    }
    let entered = task.features.len();
    let none = FeatureTests { entered, rows: total.rows, tests: Vec::new() };
    if total.effective_rows() < FeatureTests::FEWEST_ROWS as f64 {
        return Some(none);
    }
    let candidates = candidates(problem, chosen);
    let (tested, represented_by) = groups(problem, &candidates, total.effective_rows());
    let Grid::Penalties(penalties) = grid(problem, &SolveRecipe::new(Solver::Lasso)) else { return None };
    let known: Vec<Training> =
        folds.par_iter().map(|fold| Training::of(fold, total, task, problem, &penalties)).collect::<Option<_>>()?;
    let mut best: Vec<(f64, f64)> = vec![(1.0, 0.0); tested.len()];
    let outputs = task.outputs.len();
    for output in 0..outputs {
        let least = least_error(&known, output);
        let sums = |(fold, training): (&&Comoments, &Training)| {
            let (margins, strong) =
                (training.margins(output, least), training.strongest(output, given(total.effective_rows())));
            FoldSums::new(fold, problem, task.outputs[output], &candidates, &tested, &represented_by, &margins, &strong)
        };
        let test = FoldTest { folds: folds.par_iter().zip(&known).map(sums).collect() };
        for ((best, t), &place) in best.iter_mut().zip(z_scores(&test, entered)).zip(&tested) {
            let feature = candidates[place];
            let weight = chosen.coefficients[output].iter().find(|pair| pair.0 == feature).map_or(0.0, |pair| pair.1);
            let is_possible = weight * t >= 0.0 && !is_rare(total, problem.columns[feature]);
            let p = if is_possible { (two_sided_p_value(t) * outputs as f64).min(1.0) } else { 1.0 };
            if p < best.0 || best.1 == 0.0 {
                *best = (p, t);
            }
        }
    }
    let p_values: Vec<f64> = best.iter().map(|&(p, _)| p).collect();
    let q_values = q_values(&p_values, entered);
    let name = |place: usize| moments.columns[problem.columns[candidates[place]]].name();
    let with = |number: usize| {
        let has_part = |(_, parts): &(usize, &Parts)| parts.iter().any(|part| part.0 == number);
        represented_by.iter().enumerate().filter(has_part).map(|(place, _)| name(place)).collect()
    };
    let test = |(number, &place): (usize, &usize)| FeatureTest {
        name: name(place),
        z: best[number].1,
        q: q_values[number],
        with: with(number),
    };
    Some(FeatureTests { tests: tested.iter().enumerate().map(test).collect(), ..none })
}

/// The features of the model by effect, then those of the largest correlation with a target.
fn candidates(problem: &Standardized, chosen: &Fit) -> Vec<usize> {
    let mut strength = vec![(0.0_f64, 0.0_f64); problem.size()];
    for (output, coefficients) in chosen.coefficients.iter().enumerate() {
        let unit = problem.spread[output].sqrt();
        for (strength, cross) in strength.iter_mut().zip(&problem.cross[output]) {
            strength.1 = strength.1.max(cross.abs() / unit);
        }
        coefficients.iter().for_each(|&(at, beta)| strength[at].0 = strength[at].0.max(beta.abs() / unit));
    }
    let mut order: Vec<usize> = (0..problem.size()).collect();
    let key = |at: usize| strength[at];
    order.sort_by(|&a, &b| key(b).0.total_cmp(&key(a).0).then(key(b).1.total_cmp(&key(a).1)).then(a.cmp(&b)));
    order.truncate(MOST_TESTED);
    order
}

/// Places of the candidates that are tested, and for each candidate those that determine it.
fn groups(problem: &Standardized, candidates: &[usize], rows: f64) -> (Vec<usize>, Vec<Parts>) {
    let correlations = candidates.iter().flat_map(|&a| candidates.iter().map(move |&b| problem.row(a)[b])).collect();
    representatives(correlations, candidates.len(), rows as usize)
}

/// Whether a column is of zeros and ones and hardly varies.
fn is_rare(total: &Comoments, column: usize) -> bool {
    let (mean, variance) = (total.means[column], total.covariance(column, column));
    let is_indicator = (variance - mean * (1.0 - mean)).abs() < 1e-9;
    is_indicator && mean.min(1.0 - mean) * total.effective_rows() < FEWEST_ROWS_WITH
}

/// What the rows outside a fold know: a lasso path, in standard deviations of all rows, and its errors on the fold.
struct Training {
    /// For each model and each output, features of the problem with their coefficients.
    path: Vec<Vec<Vec<(usize, f64)>>>,
    /// For each output, the mean squared error of each model on the fold.
    errors: Vec<Vec<f64>>,
}

impl Training {
    /// `None` if the fold has all rows.
    fn of(
        fold: &Comoments,
        total: &Comoments,
        task: &Task,
        problem: &Standardized,
        penalties: &[f64],
    ) -> Option<Training> {
        let mut training = total.clone();
        if fold.rows >= total.rows || fold.weight >= total.weight {
            return None;
        }
        training.subtract(fold).ok()?;
        let (own, lasso) = (task.problem(&training), SolveRecipe::new(Solver::Lasso));
        let most = (2 * given(total.effective_rows())).max((training.effective_rows() / 4.0) as usize);
        let fits = fits_up_to(&own, &lasso, penalties, most);
        let standard = |(column, weight): (usize, f64)| {
            let place = problem.columns.binary_search(&column).ok()?;
            Some((place, weight * problem.scales[place]))
        };
        let lines =
            |fit: &Fit| (0..task.outputs.len()).map(|o| own.linear(o, &fit.coefficients[o])).collect::<Vec<_>>();
        let lines: Vec<_> = fits.iter().map(lines).collect();
        let errors = |o: usize| lines.iter().map(|line| line[o].error_on(fold, task.outputs[o])).collect();
        let path = lines.iter().map(|outputs| {
            outputs.iter().map(|line| line.weights.iter().copied().filter_map(standard).collect()).collect()
        });
        Some(Training { path: path.collect(), errors: (0..task.outputs.len()).map(errors).collect() })
    }

    /// The coefficients of a model of the path, or of its last one.
    fn margins(&self, output: usize, model: usize) -> Vec<(usize, f64)> {
        self.path[model.min(self.path.len() - 1)][output].clone()
    }

    /// The strongest features of the first model that has enough of them.
    fn strongest(&self, output: usize, count: usize) -> Vec<usize> {
        let enough = self.path.iter().find(|model| model[output].len() >= count).or(self.path.last());
        let mut pairs = enough.map_or(Vec::new(), |model| model[output].clone());
        pairs.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        pairs.into_iter().take(count).map(|pair| pair.0).collect()
    }
}

/// The model of the path with the least error over the folds.
fn least_error(known: &[Training], output: usize) -> usize {
    let models = known.iter().map(|training| training.errors[output].len()).min().unwrap_or(0);
    let error = |model: usize| known.iter().map(|training| training.errors[output][model]).sum::<f64>();
    (1..models).fold(0, |best, model| if error(model) < error(best) { model } else { best })
}

/// The t-scores of the tested columns after both steps, as z-scores.
fn z_scores(test: &FoldTest, hypotheses: usize) -> Vec<f64> {
    let normal = |(t, freedom): (f64, f64)| if t.is_finite() { student_z(t, freedom) } else { 0.0 };
    let given = test.given().into_iter().map(normal).collect();
    two_steps(given, hypotheses, |order| test.in_sequence(order).into_iter().map(normal).collect())
}
