//! Model selection: information criteria from one set of moments, cross-validation from the moments of folds.
//!
//! ```text
//! AIC  = n·ln(RSS/n) + 2·df        BIC = n·ln(RSS/n) + df·ln n        EBIC = BIC + 2γ·ln C(p, df),  γ = 1
//! ```
//! df is the number of non-zero coefficients (Zou, Hastie & Tibshirani 2007 for the lasso), for ridge Σ d/(d + λ) over
//! the eigenvalues d of S; n is W²/Σw² where rows have weights. With several outputs the terms are summed.
//!
//! These are asymptotic in n. With fewer than two rows for each column p they would take as many features as there are
//! rows, of noise alone: a model of n − 1 features fits exactly, and the best of p columns of noise lowers n·ln RSS by
//! 2·ln p. There, all three have the charge for the choice of EBIC (risk inflation, Foster & George 1994; modified BIC,
//! Bogdan et al. 2004), and what they charge is multiplied by n/(n − df − 1), the correction of Hurvich & Tsai
//! 1989 for AIC.
//!
//! Cross-validation does not read the data again: the training moments of fold f are the total minus those of f, and
//! the error of a model on fold f is a quadratic form of the moments of f. Both are exact. All folds use the λ and k of
//! the whole data. The error is the mean squared error; for classes, that of the codes ±1.

use rayon::prelude::*;

use super::build_model::Task;
use super::path::{Fit, Grid, fits};
use super::standardized::Standardized;
use crate::moments::Comoments;
use crate::recipe::{SolveRecipe, Solver};
use crate::select::Estimate;

/// The criteria of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scored {
    pub(crate) r2: f64,
    pub(crate) error: f64,
    pub(crate) aic: f64,
    pub(crate) bic: f64,
    pub(crate) ebic: f64,
}

/// With fewer rows for each column, criteria charge for the choice among columns.
const FEW_ROWS: f64 = 2.0;

/// Whether there are so few rows that criteria which are asymptotic in them need a correction.
pub(crate) fn few_rows(problem: &Standardized) -> bool {
    problem.rows < FEW_ROWS * problem.size() as f64
}

/// The criteria of a model on the moments it was fitted to; `freedom` are its degrees of freedom, all outputs counted,
/// and `selects` is whether its features were chosen among the columns.
pub(crate) fn score(problem: &Standardized, fit: &Fit, freedom: f64, selects: bool) -> Scored {
    let errors: Vec<f64> = fit.coefficients.iter().enumerate().map(|(o, pairs)| problem.error(o, pairs)).collect();
    let (n, spread): (f64, f64) = (problem.rows, problem.spread.iter().sum());
    let fitted: f64 =
        errors.iter().zip(&problem.spread).map(|(error, spread)| n * error.max(1e-14 * spread).ln()).sum();
    let choice = 2.0 * ln_choose(problem.size() as f64 * problem.outputs() as f64, freedom);
    let (factor, always) = match few_rows(problem) {
        true => (n / (n - freedom / problem.outputs() as f64 - 1.0).max(0.5), if selects { choice } else { 0.0 }),
        false => (1.0, 0.0),
    };
    let value = |charge: f64| fitted + factor * charge;
    let (aic, bic, ebic) = (2.0 * freedom + always, freedom * n.ln() + always, freedom * n.ln() + choice);
    let error: f64 = errors.iter().sum();
    Scored { r2: 1.0 - error / spread, error, aic: value(aic), bic: value(bic), ebic: value(ebic) }
}

/// ln C(n, k), for any real k between 0 and n.
fn ln_choose(n: f64, k: f64) -> f64 {
    if k <= 0.0 || k >= n { 0.0 } else { ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0) }
}

/// ln Γ(x) for x ≥ 1: Stirling's series after shifting x above 10.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let tail = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + tail - shift
}

/// Whether the features of a model are chosen among the columns.
pub(crate) fn selects(recipe: &SolveRecipe) -> bool {
    recipe.method != Solver::Ridge || recipe.k.is_some()
}

/// Degrees of freedom of each model.
pub(crate) fn freedoms(problem: &Standardized, recipe: &SolveRecipe, fits: &[Fit]) -> Vec<f64> {
    let count = |fit: &Fit| fit.coefficients.iter().map(Vec::len).sum::<usize>() as f64;
    if selects(recipe) {
        return fits.iter().map(count).collect();
    }
    let size = problem.size();
    let matrix = faer::MatRef::from_row_major_slice(&problem.gram, size, size);
    let Ok(values) = matrix.self_adjoint_eigenvalues(faer::Side::Lower) else {
        return fits.iter().map(count).collect();
    };
    let freedom = |penalty: f64| values.iter().map(|value| value.max(0.0) / (value.max(0.0) + penalty)).sum::<f64>();
    fits.iter().map(|fit| problem.outputs() as f64 * freedom(fit.penalty.unwrap_or_default())).collect()
}

/// The mean squared error of each model of a grid over the folds with rows; the number of a fold that has all of them.
pub(crate) fn cross_validate(
    folds: &[Comoments],
    total: &Comoments,
    task: &Task,
    recipe: &SolveRecipe,
    grid: &Grid,
) -> Result<Vec<Estimate>, usize> {
    let one = |(number, fold): (usize, &Comoments)| -> Result<(f64, Vec<f64>), usize> {
        let mut training = total.clone();
        if fold.rows >= total.rows || fold.weight >= total.weight {
            return Err(number);
        }
        training.subtract(fold).map_err(|_| number)?;
        let (problem, outputs) = (task.problem(&training), &task.outputs);
        let error = |fit: &Fit| {
            let linear = |o: usize| problem.linear(o, &fit.coefficients[o]).error_on(fold, outputs[o]);
            (0..outputs.len()).map(linear).sum::<f64>()
        };
        Ok((fold.weight, fits(&problem, recipe, grid).par_iter().map(error).collect()))
    };
    let results: Vec<Result<(f64, Vec<f64>), usize>> =
        folds.par_iter().enumerate().filter(|(_, fold)| fold.rows > 0).map(one).collect();
    // The first error, on any number of threads.
    let errors: Vec<(f64, Vec<f64>)> = results.into_iter().collect::<Result<_, _>>()?;
    let models = errors.iter().map(|fold| fold.1.len()).min().unwrap_or(0);
    let summary = |model: usize| Estimate::over_folds(errors.iter().map(|(weight, errors)| (*weight, errors[model])));
    Ok((0..models).map(summary).collect())
}

#[cfg(test)]
mod tests {
    use super::super::standardized::Output;
    use super::*;

    #[test]
    fn binomials_by_hand() {
        assert!((ln_choose(5.0, 2.0) - 10f64.ln()).abs() < 1e-9);
        assert!((ln_choose(50.0, 25.0) - 126_410_606_437_752f64.ln()).abs() < 1e-9);
        assert_eq!((ln_choose(7.0, 0.0), ln_choose(7.0, 7.0)), (0.0, 0.0));
    }

    #[test]
    fn criteria_by_hand() {
        let mut sums = Comoments::new(2);
        sums.observe_dense(&[1.0, 1.0, 3.0, 2.0, 2.0, 3.0, 6.0, 4.0], &[]);
        let output = Output { column: 0, factor: 1.0, shift: 0.0 };
        let problem = Standardized::new(&sums, &[1], &[output]);
        let fit = Fit { penalty: None, coefficients: vec![vec![(0, problem.cross[0][0])]] };
        let scored = score(&problem, &fit, 1.0, true);
        // Slope 7/5, residual sum of squares 14 − 49/5 = 4.2.
        assert!((scored.error - 1.05).abs() < 1e-12 && (scored.r2 - 0.7).abs() < 1e-12);
        assert!((scored.aic - (4.0 * 1.05f64.ln() + 2.0)).abs() < 1e-9);
        assert!((scored.bic - (4.0 * 1.05f64.ln() + 4f64.ln())).abs() < 1e-9);
        assert_eq!(scored.ebic, scored.bic, "one feature can be chosen in one way");
    }

    #[test]
    fn few_rows_are_charged_for_the_choice() {
        let mut sums = Comoments::new(5);
        let rows = [[1.0, 1.0, 0.0, 2.0, 5.0], [3.0, 2.0, 1.0, 0.0, 3.0], [2.0, 3.0, 5.0, 1.0, 1.0]];
        rows.iter().chain(&[[6.0, 4.0, 2.0, 3.0, 2.0]]).for_each(|row| sums.observe_dense(row, &[]));
        let output = Output { column: 0, factor: 1.0, shift: 0.0 };
        let problem = Standardized::new(&sums, &[1, 2, 3, 4], &[output]);
        let fit = Fit { penalty: None, coefficients: vec![vec![(0, problem.cross[0][0])]] };
        // Four rows and columns: one feature has two residual degrees of freedom, and can be chosen in four ways.
        let (chosen, given) = (score(&problem, &fit, 1.0, true), score(&problem, &fit, 1.0, false));
        let fitted = 4.0 * 1.05f64.ln();
        assert!((chosen.aic - (fitted + 2.0 * (2.0 + 2.0 * 4f64.ln()))).abs() < 1e-9, "{chosen:?}");
        assert!((chosen.bic - (fitted + 2.0 * 3.0 * 4f64.ln())).abs() < 1e-9 && chosen.bic == chosen.ebic);
        assert!((given.aic - (fitted + 2.0 * 2.0)).abs() < 1e-9 && given.ebic == chosen.ebic, "{given:?}");
        assert!(
            score(&problem, &fit, 3.0, true).bic.is_finite(),
            "no degree of freedom is left: charged, not infinite"
        );
    }
}
