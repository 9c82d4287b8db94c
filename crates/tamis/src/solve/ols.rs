//! Least squares by Cholesky: `ols`, `ridge`, `ols-th`, and refitting on chosen features.
//!
//! Source: Sun et al. 2018, sections 3.2 and 3.3, equation (8), Algorithm 1:
//! ```text
//! ols     (S + ε·I) β = s
//! ols-th  β by ols;  keep the k largest |β_j|;  ols on these alone
//! ```
//! With the features in the order of falling |β_j|, one Cholesky factor S = LLᵀ holds the refits of *every* k: for z =
//! L⁻¹s the error with the first k is S_yy − (z₁² + … + z_k²), and Lᵀβ = z on the leading block has the coefficients.
//!
//! Departures (E28): with no more rows than features, or columns that depend on each other, S has no inverse. Then
//! a small ridge is added: ε = 1e-3 for too few rows (standardised units), 1e-8 for dependent columns, which shares the
//! weight evenly among copies. Several outputs rank features by √(Σ β²). Cost: p³/3, and k³/3 for the refit.

use faer::linalg::solvers::{Llt, Solve};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatRef, Par, Side};

use super::standardized::{Coefficients, Standardized};

/// ε where there are too few rows.
pub(crate) const FEW_ROWS_RIDGE: f64 = 1e-3;
/// ε where columns depend on each other.
const DEPENDENT_RIDGE: f64 = 1e-8;
/// A pivot below this (of columns of length 1) means dependence.
const PIVOT: f64 = 1e-10;

/// The least-squares coefficients on `features`, of each output; `ridge` is added in any case.
pub(crate) fn least_squares(problem: &Standardized, features: &[usize], ridge: f64) -> Vec<Coefficients> {
    if features.is_empty() {
        return vec![Vec::new(); problem.outputs()];
    }
    let few = if problem.rows <= features.len() as f64 + 1.0 { FEW_ROWS_RIDGE } else { 0.0 };
    // The last one is for correlations that no rows have (a fold of damaged moments): with it the diagonal dominates.
    let dominant = 2.0 * features.len() as f64 + 1.0;
    let factor = [ridge.max(few), ridge.max(DEPENDENT_RIDGE), ridge.max(FEW_ROWS_RIDGE), dominant]
        .into_iter()
        .find_map(|ridge| factor(problem, features, ridge))
        .expect("a matrix with a dominant diagonal has a Cholesky factor");
    let mut rhs = Mat::from_fn(features.len(), problem.outputs(), |i, o| problem.cross[o][features[i]]);
    factor.solve_in_place(rhs.as_mut());
    let of = |output: usize| {
        let pairs = features.iter().enumerate().map(|(i, &feature)| (feature, rhs[(i, output)]));
        let mut pairs: Coefficients = pairs.filter(|pair| pair.1 != 0.0).collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        pairs
    };
    (0..problem.outputs()).map(of).collect()
}

/// The factor of S + ridge·I on `features`; `None` if a pivot vanishes.
fn factor(problem: &Standardized, features: &[usize], ridge: f64) -> Option<Llt<f64>> {
    let entry = |i: usize, j: usize| problem.row(features[i])[features[j]] + if i == j { ridge } else { 0.0 };
    // Column by column, which is the matrix's own order: symmetric, so rows of S serve as columns.
    let matrix = Mat::from_fn(features.len(), features.len(), |i, j| entry(j, i));
    let factor = Llt::new(matrix.as_ref(), Side::Lower).ok()?;
    let smallest = (0..features.len()).map(|i| factor.L()[(i, i)].powi(2)).fold(f64::INFINITY, f64::min);
    (smallest > PIVOT).then_some(factor)
}

/// Whether the correlations can be those of rows: then they have a Cholesky factor with a small ridge.
pub(crate) fn is_possible(problem: &Standardized) -> bool {
    let all: Vec<usize> = (0..problem.size()).collect();
    factor(problem, &all, FEW_ROWS_RIDGE).is_some()
}

/// Features by falling size of their coefficients over all outputs, ties by number.
pub(crate) fn ranked(size: usize, coefficients: &[Coefficients]) -> Vec<usize> {
    let mut norms = vec![0.0_f64; size];
    for &(feature, beta) in coefficients.iter().flatten() {
        norms[feature] += beta * beta;
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| norms[b].total_cmp(&norms[a]).then(a.cmp(&b)));
    order
}

/// The refits of all sizes along one order of the features.
pub(crate) struct Nested {
    order: Vec<usize>,
    factor: Mat<f64>,
    /// z = L⁻¹s, a column an output.
    solved: Mat<f64>,
}

impl Nested {
    /// Features in the order of their least-squares coefficients (`ols-th`).
    pub(crate) fn thresholded(problem: &Standardized, ridge: f64) -> Self {
        let all: Vec<usize> = (0..problem.size()).collect();
        let order = ranked(problem.size(), &least_squares(problem, &all, ridge));
        Nested::along(problem, order)
    }

    /// Features in a given order, truncated where a feature depends on earlier ones or the rows are too few.
    pub(crate) fn along(problem: &Standardized, mut order: Vec<usize>) -> Self {
        order.truncate((problem.rows - 1.0).max(1.0) as usize);
        while !order.is_empty() {
            let row = |i: usize| problem.row(order[i]);
            let matrix = Mat::from_fn(order.len(), order.len(), |i, j| row(j)[order[i]]);
            let cut = match Llt::new(matrix.as_ref(), Side::Lower) {
                Ok(llt) => {
                    let weak = (0..order.len()).find(|&i| llt.L()[(i, i)].powi(2) <= PIVOT);
                    let Some(weak) = weak else {
                        let mut solved =
                            Mat::from_fn(order.len(), problem.outputs(), |i, o| problem.cross[o][order[i]]);
                        solve_lower_triangular_in_place(llt.L(), solved.as_mut(), Par::Seq);
                        return Nested { order, factor: llt.L().to_owned(), solved };
                    };
                    weak
                }
                Err(faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index }) => index,
            };
            // A feature that depends on earlier ones is removed; later ones may stay.
            order.remove(cut.min(order.len() - 1));
        }
        Nested { order, factor: Mat::zeros(0, 0), solved: Mat::zeros(0, problem.outputs()) }
    }

    /// The largest possible size.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The refit on the first `size` features.
    pub(crate) fn refit(&self, size: usize) -> Vec<Coefficients> {
        let size = size.min(self.len());
        let outputs = self.solved.ncols();
        let mut beta = self.solved.as_ref().subrows(0, size).to_owned();
        let leading: MatRef<'_, f64> = self.factor.as_ref().submatrix(0, 0, size, size);
        solve_upper_triangular_in_place(leading.transpose(), beta.as_mut(), Par::Seq);
        let of = |output: usize| {
            let pairs = self.order[..size].iter().enumerate().map(|(i, &feature)| (feature, beta[(i, output)]));
            let mut pairs: Coefficients = pairs.collect();
            pairs.sort_unstable_by_key(|pair| pair.0);
            pairs
        };
        (0..outputs).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::standardized::Output;
    use super::*;
    use crate::moments::Comoments;

    const Y: Output = Output { column: 0, factor: 1.0, shift: 0.0 };

    /// y = 3a − 2b + 0.1c, columns y a b c, and a + b if asked.
    fn problem(dependent: bool) -> Standardized {
        let mut sums = Comoments::new(if dependent { 5 } else { 4 });
        for i in 0..50_u64 {
            let x = |salt: u64| crate::rng::splitmix64(i * 10 + salt) as f64 / u64::MAX as f64;
            let (a, b, c) = (x(1), x(2), x(3));
            let mut row = vec![3.0 * a - 2.0 * b + 0.1 * c, a, b, c];
            row.extend(dependent.then_some(a + b));
            sums.observe_dense(&row, &[]);
        }
        Standardized::new(&sums, &(1..sums.size()).collect::<Vec<_>>(), &[Y])
    }

    #[test]
    fn exact_data_give_the_exact_line() {
        let problem = problem(false);
        let line = problem.linear(0, &least_squares(&problem, &[0, 1, 2], 0.0)[0]);
        for ((_, found), expected) in line.weights.iter().zip([3.0, -2.0, 0.1]) {
            assert!((found - expected).abs() < 1e-10);
        }
        assert!(line.intercept.abs() < 1e-10);
    }

    #[test]
    fn every_size_of_one_factor_is_the_refit_alone() {
        let problem = problem(false);
        let nested = Nested::thresholded(&problem, 0.0);
        assert_eq!(nested.order, [0, 1, 2]);
        for size in 0..=3 {
            let alone = least_squares(&problem, &nested.order[..size], 0.0);
            for (a, b) in nested.refit(size)[0].iter().zip(&alone[0]) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn dependent_columns_share_the_weight_and_are_cut_from_the_order() {
        let problem = problem(true);
        assert_eq!(problem.size(), 4, "the sum of two is no copy of either");
        let line = problem.linear(0, &least_squares(&problem, &[0, 1, 2, 3], 0.0)[0]);
        let [a, b, both] = [0, 1, 3].map(|at| line.weights[at].1);
        assert!((a + both - 3.0).abs() < 1e-3 && (b + both + 2.0).abs() < 1e-3, "{line:?}");
        assert_eq!(Nested::along(&problem, vec![0, 1, 3, 2]).order, [0, 1, 2]);
    }
}
