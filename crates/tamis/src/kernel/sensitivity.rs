//! Derivative-based sensitivity of variables and pairs, cross-fitted.
//!
//! Source: the mean square of a partial derivative measures how much a function depends on a variable (Sobol &
//! Kucherenko 2009); that of a mixed second derivative, how much two variables interact (Friedman & Popescu 2008). Ours is
//! the product of two fits f_A, f_B on complementary halves of the rows instead of a square:
//! ```text
//! I_j  = mean over rows of ∂_j f_A · ∂_j f_B          J_jk = mean over rows of ∂_jk f_A · ∂_jk f_B
//! ```
//! The errors of f_A and f_B are independent, so that I_j is about 0, of either sign, for a variable that does not matter;
//! a square would be positive. With P = Σ over outputs of β_A β_Bᵀ and Ω the frequencies:
//! ```text
//! I_j = Ω_jᵀ(P∘E sin sinᵀ)Ω_j + γ_Aj·γ_Bj − Σ_l Ω_lj·E sin_l·(β_Al γ_Bj + β_Bl γ_Aj)
//! J_jk = (Ω_j∘Ω_k)ᵀ(P∘E cos cosᵀ)(Ω_j∘Ω_k)
//! ```
//! where γ are the weights of the inputs themselves.
//!
//! Departure: Ω = w/√(1 + w²) stands for w, the derivative at a resolution of about one standard deviation. With w
//! itself, one feature of high frequency decides the sensitivity of a variable. It is still a linear operator on f, so that
//! noise has mean 0. Cost: k·D² for the variables, k·Σ_j D_j² for the pairs, where D_j features have variable j.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::block_moments::BlockMoments;

/// The second moments that sensitivities need, and Ω.
pub struct Sensitivity {
    sines: Mat<f64>,
    sine_means: Vec<f64>,
    cosines: Mat<f64>,
    /// A row for each feature, a column for each variable.
    resolved: Mat<f64>,
}

impl Sensitivity {
    /// From the moments of features.
    pub fn new(moments: &BlockMoments) -> Self {
        let frequencies = &moments.frequencies.matrix;
        let resolve = |w: f64| w / (1.0 + w * w).sqrt();
        let (sines, sine_means) = moments.mean_sines();
        Sensitivity {
            sines,
            sine_means,
            cosines: moments.mean_cosines(),
            resolved: Mat::from_fn(frequencies.ncols(), frequencies.nrows(), |row, column| {
                resolve(frequencies[(column, row)])
            }),
        }
    }

    /// The sensitivity to each variable (I) of the weights of two halves.
    pub fn of_variables(&self, [one, other]: &[Mat<f64>; 2]) -> Vec<f64> {
        let (features, variables) = (self.resolved.nrows(), self.resolved.ncols());
        let form = form(&self.sines, one, other);
        let mut product = Mat::zeros(features, variables);
        matmul(product.as_mut(), Accum::Replace, form.as_ref(), self.resolved.as_ref(), 1.0, Par::Seq);
        let of_variable = |variable: usize| {
            let resolved = self.resolved.col_as_slice(variable);
            let of_output = |output: usize| {
                let [left, right] = [one, other].map(|weights| weights.col_as_slice(output));
                let [a, b] = [left, right].map(|weights| weights[features + variable]);
                let waves = resolved.iter().zip(&self.sine_means).zip(left.iter().zip(right));
                a * b - waves.map(|((omega, sine), (left, right))| omega * sine * (left * b + right * a)).sum::<f64>()
            };
            dot(resolved, product.col_as_slice(variable)) + (0..one.ncols()).map(of_output).sum::<f64>()
        };
        (0..variables).map(of_variable).collect()
    }

    /// P∘E cos cosᵀ of two halves, from which [`Sensitivity::of_pairs`] follows. It may be averaged over splits first.
    pub fn pair_form(&self, [one, other]: &[Mat<f64>; 2]) -> Mat<f64> {
        form(&self.cosines, one, other)
    }

    /// The sensitivity to each pair (J); symmetric, 0 on the diagonal.
    pub fn of_pairs(&self, form: &Mat<f64>) -> Mat<f64> {
        let (features, variables) = (self.resolved.nrows(), self.resolved.ncols());
        let mut pairs = Mat::zeros(variables, variables);
        for j in 0..variables.saturating_sub(1) {
            let first = self.resolved.col_as_slice(j);
            let own: Vec<usize> = (0..features).filter(|&l| first[l] != 0.0).collect();
            let others = variables - j - 1;
            let (mut inner, mut weighted) = (Mat::zeros(own.len(), own.len()), Mat::zeros(own.len(), others));
            for (column, &l) in own.iter().enumerate() {
                gather(form.col_as_slice(l), &own, inner.col_as_slice_mut(column));
            }
            for k in 0..others {
                let target = weighted.col_as_slice_mut(k);
                gather(self.resolved.col_as_slice(j + 1 + k), &own, target);
                target.iter_mut().zip(&own).for_each(|(cell, &l)| *cell *= first[l]);
            }
            let mut product = Mat::zeros(own.len(), others);
            matmul(product.as_mut(), Accum::Replace, inner.as_ref(), weighted.as_ref(), 1.0, Par::Seq);
            for k in 0..others {
                let sum = dot(weighted.col_as_slice(k), product.col_as_slice(k));
                (pairs[(j, j + 1 + k)], pairs[(j + 1 + k, j)]) = (sum, sum);
            }
        }
        pairs
    }
}

/// The symmetric part of P∘M.
fn form(moments: &Mat<f64>, one: &Mat<f64>, other: &Mat<f64>) -> Mat<f64> {
    let features = moments.nrows();
    let mut form = Mat::zeros(features, features);
    for column in 0..features {
        let target = form.col_as_slice_mut(column);
        for output in 0..one.ncols() {
            let [left, right] = [one, other].map(|weights| weights.col_as_slice(output));
            let (a, b) = (0.5 * left[column], 0.5 * right[column]);
            let pairs = left.iter().zip(right);
            target.iter_mut().zip(pairs).for_each(|(cell, (left, right))| *cell += left * b + right * a);
        }
        target.iter_mut().zip(moments.col_as_slice(column)).for_each(|(cell, moment)| *cell *= moment);
    }
    form
}

fn gather(from: &[f64], places: &[usize], to: &mut [f64]) {
    to.iter_mut().zip(places).for_each(|(cell, &place)| *cell = from[place]);
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
