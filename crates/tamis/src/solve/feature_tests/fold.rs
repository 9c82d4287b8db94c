//! The sums of a fold that its t-tests need, all of them from co-moments. The head of [`super`] has the formulas.

use rayon::prelude::*;

use crate::linear_algebra::{dot, inverse, inverse_factor, times};
use crate::moments::Comoments;
use crate::select::Parts;
use crate::solve::standardized::{Output, Standardized};

/// ε: the ridge of the projections within a fold, for columns of unit variance.
const RIDGE: f64 = 0.002;
/// A fold has at least this share of its rows as degrees of freedom.
const MIN_FREEDOM: f64 = 0.25;

/// The tested columns of a fold, in units of their standard deviation over all rows.
pub(super) struct FoldSums {
    /// XᵀX of the tested columns, centred in the fold.
    gram: Vec<f64>,
    /// Xᵀ(y − Xb).
    slopes: Vec<f64>,
    /// ‖y − Xb‖².
    squares: f64,
    /// b of the tested columns.
    margins: Vec<f64>,
    /// S, as numbers of tested columns.
    given: Vec<usize>,
    /// W, and the effective number of rows.
    weight: f64,
    rows: f64,
}

/// The score, its variance and the degrees of freedom of one column in one fold.
type Sums = (f64, f64, f64);

impl FoldSums {
    /// `margins` and `strong` are features of the problem, `tested` places of `candidates`. A candidate that others determine
    /// is replaced by what determines it.
    #[allow(clippy::too_many_arguments, reason = "each is a fact of its own")]
    pub(super) fn new(
        fold: &Comoments,
        problem: &Standardized,
        output: Output,
        candidates: &[usize],
        tested: &[usize],
        represented_by: &[Parts],
        margins: &[(usize, f64)],
        strong: &[usize],
    ) -> FoldSums {
        let size = tested.len();
        let mut number_of = vec![None; problem.size()];
        tested.iter().enumerate().for_each(|(number, &place)| number_of[candidates[place]] = Some(number));
        let (mut own, mut others) = (vec![0.0; size], Vec::new());
        for &(feature, beta) in margins {
            let place = candidates.iter().position(|&candidate| candidate == feature);
            match (number_of[feature], place) {
                (Some(number), _) => own[number] += beta,
                (None, Some(place)) => {
                    represented_by[place].iter().for_each(|&(number, part)| own[number] += part * beta)
                }
                (None, None) => others.push((feature, beta)),
            }
        }
        let feature = |number: usize| candidates[tested[number]];
        let product = |a: usize, b: usize| {
            let covariance = fold.covariance(problem.columns[a], problem.columns[b]);
            fold.weight * covariance / (problem.scales[a] * problem.scales[b])
        };
        let target = |a: usize| {
            fold.weight * output.factor * fold.covariance(problem.columns[a], output.column) / problem.scales[a]
        };
        let mut gram = vec![0.0; size * size];
        gram.par_chunks_mut(size.max(1)).enumerate().for_each(|(a, row)| {
            row.iter_mut().enumerate().for_each(|(b, cell)| *cell = product(feature(a), feature(b)));
        });
        let beside = |a: usize| others.iter().map(|&(other, beta)| product(a, other) * beta).sum::<f64>();
        let crosses: Vec<f64> = (0..size).map(|number| target(feature(number)) - beside(feature(number))).collect();
        let fitted = times(&own, &gram);
        let slopes: Vec<f64> = crosses.iter().zip(&fitted).map(|(cross, fitted)| cross - fitted).collect();
        // ‖y − X_o·b_o − X·b‖² = ‖y − X_o·b_o‖² − bᵀ(Xᵀ(y − X_o·b_o) + slopes).
        let spread = fold.weight * output.factor.powi(2) * fold.covariance(output.column, output.column);
        let without: f64 =
            spread + others.iter().map(|&(other, beta)| beta * (beside(other) - 2.0 * target(other))).sum::<f64>();
        let squares = (without - dot(&own, &crosses) - dot(&own, &slopes)).max(0.0);
        let given = strong.iter().filter_map(|&feature| number_of[feature]).collect();
        FoldSums { gram, slopes, squares, margins: own, given, weight: fold.weight, rows: fold.effective_rows() }
    }

    fn size(&self) -> usize {
        self.margins.len()
    }

    fn product(&self, a: usize, b: usize) -> f64 {
        self.gram[a * self.size() + b]
    }

    /// ZᵀZ without and with its ridge.
    fn matrices(&self, columns: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let gram: Vec<f64> = columns.iter().flat_map(|&a| columns.iter().map(move |&b| self.product(a, b))).collect();
        let mut ridged = gram.clone();
        (0..columns.len()).for_each(|at| ridged[at * columns.len() + at] += RIDGE * self.weight);
        (gram, ridged)
    }

    /// φ·Σw²/W and the degrees of freedom, after a Newton step on some columns.
    fn noise(&self, columns: &[usize], gram: &[f64], inverse: &[f64]) -> (f64, f64) {
        let slopes: Vec<f64> = columns.iter().map(|&column| self.slopes[column]).collect();
        let step = times(&slopes, inverse);
        let squares = self.squares - 2.0 * dot(&step, &slopes) + dot(&times(&step, gram), &step);
        let freedom = (self.rows - columns.len() as f64 - 1.0).max(MIN_FREEDOM * self.rows);
        // φ = squares/W·n/freedom, and Σw²/W = W/n.
        (squares.max(0.0) / freedom, freedom)
    }

    /// A residual Σ v·x over some columns, for the column `own`.
    fn sums(
        &self,
        columns: &[usize],
        coefficients: &[f64],
        own: usize,
        gram: &[f64],
        (noise, freedom): (f64, f64),
    ) -> Sums {
        let slope: f64 = columns.iter().zip(coefficients).map(|(&column, v)| v * self.slopes[column]).sum();
        let part: f64 = columns.iter().zip(coefficients).map(|(&column, v)| v * self.product(column, own)).sum();
        let square = dot(&times(coefficients, gram), coefficients);
        (slope + self.margins[own] * part, noise * square, freedom)
    }

    /// The sums of each tested column, given S without it.
    fn given_sums(&self) -> Vec<Sums> {
        let columns = &self.given;
        let (gram, ridged) = self.matrices(columns);
        let inverse = inverse(&inverse_factor(ridged, columns.len()), columns.len());
        let noise = self.noise(columns, &gram, &inverse);
        let one = |own: usize| match columns.iter().position(|&column| column == own) {
            Some(place) => {
                let row = &inverse[place * columns.len()..(place + 1) * columns.len()];
                let scale = if row[place] > 0.0 { 1.0 / row[place] } else { 0.0 };
                let coefficients: Vec<f64> = row.iter().map(|h| h * scale).collect();
                self.sums(columns, &coefficients, own, &gram, noise)
            }
            None => self.outside(own, &inverse, &gram, noise),
        };
        (0..self.size()).into_par_iter().map(one).collect()
    }

    /// The sums of a column outside S: x − Z·(ZᵀZ + ε)⁻¹Zᵀx.
    fn outside(&self, own: usize, inverse: &[f64], gram: &[f64], (noise, freedom): (f64, f64)) -> Sums {
        let products: Vec<f64> = self.given.iter().map(|&column| self.product(column, own)).collect();
        let coefficients = times(&products, inverse);
        let slopes: f64 = self.given.iter().zip(&coefficients).map(|(&column, v)| v * self.slopes[column]).sum();
        let explained = dot(&coefficients, &products);
        let part = self.product(own, own) - explained;
        let square = self.product(own, own) - 2.0 * explained + dot(&times(&coefficients, gram), &coefficients);
        (self.slopes[own] - slopes + self.margins[own] * part, noise * square, freedom)
    }

    /// The sums of columns, each given those before it and those of S that are not among them.
    fn sequence_sums(&self, order: &[usize]) -> Vec<Sums> {
        let rest = self.given.iter().copied().filter(|column| !order.contains(column));
        let columns: Vec<usize> = rest.chain(order.iter().copied()).collect();
        let size = columns.len();
        let (gram, ridged) = self.matrices(&columns);
        let factor = inverse_factor(ridged, size);
        let noise = self.noise(&columns, &gram, &inverse(&factor, size));
        let one = |at: usize| {
            let row = &factor[at * size..(at + 1) * size];
            let scale = if row[at] > 0.0 { 1.0 / row[at] } else { 0.0 };
            let coefficients: Vec<f64> = row.iter().map(|v| v * scale).collect();
            self.sums(&columns, &coefficients, columns[at], &gram, noise)
        };
        (size - order.len()..size).into_par_iter().map(one).collect()
    }
}

/// The folds of one output.
pub(super) struct FoldTest {
    pub(super) folds: Vec<FoldSums>,
}

impl FoldTest {
    /// The t-score and the degrees of freedom of each tested column, given S.
    pub(super) fn given(&self) -> Vec<(f64, f64)> {
        t_scores(self.folds.iter().map(FoldSums::given_sums).collect())
    }

    /// The same for some columns, each given those before it.
    pub(super) fn in_sequence(&self, order: &[usize]) -> Vec<(f64, f64)> {
        t_scores(self.folds.iter().map(|fold| fold.sequence_sums(order)).collect())
    }
}

fn t_scores(folds: Vec<Vec<Sums>>) -> Vec<(f64, f64)> {
    let total = |column: usize, part: fn(&Sums) -> f64| folds.iter().map(|fold| part(&fold[column])).sum::<f64>();
    let columns = folds.first().map_or(0, Vec::len);
    let t = |column| (total(column, |sums| sums.0) / total(column, |sums| sums.1).sqrt(), total(column, |sums| sums.2));
    (0..columns).map(t).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::splitmix64;

    /// Rows of a target and four columns, the last of which is the sum of the first two; some rows have a weight.
    fn rows(count: u64) -> (Vec<[f64; 5]>, Vec<f64>) {
        let noise = |row: u64, salt: u64| splitmix64(row * 16 + salt) as f64 / u64::MAX as f64 - 0.5;
        let row = |row: u64| {
            let [a, b, c] = [1, 2, 3].map(|salt| noise(row, salt) + 0.4 * noise(row, 9));
            [2.0 * a - b + noise(row, 4) + 3.0, a, b, 5.0 * c + 1.0, a + b]
        };
        (0..count).map(|number| (row(number), 1.0 + (number % 3) as f64)).unzip()
    }

    fn moments(rows: &[[f64; 5]], weights: &[f64]) -> Comoments {
        let mut sums = Comoments::new(5);
        sums.observe_dense(&rows.concat(), weights);
        sums
    }

    const Y: Output = Output { column: 0, factor: 1.0, shift: 0.0 };

    /// The score and the variance of a column, row by row: columns are centred and scaled, x̃ and r are formed.
    fn literal(
        rows: &[[f64; 5]],
        weights: &[f64],
        scales: &[f64],
        given: &[usize],
        margins: &[f64],
        own: usize,
    ) -> Sums {
        let total: f64 = weights.iter().sum();
        let mean = |at: usize| rows.iter().zip(weights).map(|(row, w)| w * row[at]).sum::<f64>() / total;
        let means: Vec<f64> = (0..5).map(mean).collect();
        let x = |row: &[f64; 5], column: usize| (row[column + 1] - means[column + 1]) / scales[column];
        let others: Vec<usize> = given.iter().copied().filter(|&column| column != own).collect();
        let project = |columns: &[usize], target: &dyn Fn(&[f64; 5]) -> f64| {
            let sum = |f: &dyn Fn(&[f64; 5]) -> f64| rows.iter().zip(weights).map(|(row, w)| w * f(row)).sum::<f64>();
            let size = columns.len();
            let mut matrix = vec![vec![0.0; size + 1]; size];
            for (a, &one) in columns.iter().enumerate() {
                for (b, &other) in columns.iter().enumerate() {
                    matrix[a][b] = sum(&|row| x(row, one) * x(row, other)) + if a == b { RIDGE * total } else { 0.0 };
                }
                matrix[a][size] = sum(&|row| x(row, one) * target(row));
            }
            for pivot in 0..size {
                for below in 0..size {
                    let factor = matrix[below][pivot] / matrix[pivot][pivot];
                    if below != pivot {
                        (pivot..=size).for_each(|at| matrix[below][at] -= factor * matrix[pivot][at]);
                    }
                }
            }
            (0..size).map(|at| matrix[at][size] / matrix[at][at]).collect::<Vec<f64>>()
        };
        let margin = |row: &[f64; 5]| margins.iter().enumerate().map(|(column, b)| b * x(row, column)).sum::<f64>();
        let rest = |row: &[f64; 5]| row[0] - means[0] - margin(row);
        let (gamma, step) = (project(&others, &|row| x(row, own)), project(given, &rest));
        let (mut score, mut square, mut residual) = (0.0, 0.0, 0.0);
        for (row, w) in rows.iter().zip(weights) {
            let fitted: f64 = others.iter().zip(&gamma).map(|(&column, g)| g * x(row, column)).sum();
            let left = x(row, own) - fitted;
            score += w * left * (rest(row) + margins[own] * x(row, own));
            square += w * left * left;
            let newton: f64 = given.iter().zip(&step).map(|(&column, g)| g * x(row, column)).sum();
            residual += w * (rest(row) - newton).powi(2);
        }
        let effective = total * total / weights.iter().map(|w| w * w).sum::<f64>();
        let freedom = effective - given.len() as f64 - 1.0;
        (score, residual / freedom * square, freedom)
    }

    #[test]
    fn co_moments_give_the_sums_over_rows() {
        let (rows, weights) = rows(120);
        let (all, fold) = (moments(&rows, &weights), moments(&rows[..50], &weights[..50]));
        let problem = Standardized::new(&all, &[1, 2, 3, 4], &[Y]);
        let margins = [(0, 0.3), (1, -0.1), (2, 0.05)];
        let own = [0.3, -0.1, 0.05];
        for given in [vec![0, 2], vec![1], vec![]] {
            let represented = [vec![], vec![], vec![]];
            let sums = FoldSums::new(&fold, &problem, Y, &[0, 1, 2], &[0, 1, 2], &represented, &margins, &given);
            for (column, found) in sums.given_sums().into_iter().enumerate() {
                let expected = literal(&rows[..50], &weights[..50], &problem.scales, &given, &own, column);
                for (found, expected) in [(found.0, expected.0), (found.1, expected.1), (found.2, expected.2)] {
                    let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
                    assert!(close, "column {column} given {given:?}: {found} and {expected}");
                }
            }
            // The last of a sequence is tested given all columns before it.
            let last = sums.sequence_sums(&[1, 2, 0])[2];
            let expected = literal(&rows[..50], &weights[..50], &problem.scales, &[1, 2, 0], &own, 0);
            assert!((last.0 - expected.0).abs() < 1e-9 && (last.1 - expected.1).abs() < 1e-9, "{last:?} {expected:?}");
        }
    }

    #[test]
    fn a_column_that_others_determine_is_replaced_by_them() {
        let (rows, weights) = rows(120);
        let fold = moments(&rows, &weights);
        let problem = Standardized::new(&fold, &[1, 2, 3, 4], &[Y]);
        let part = |column: usize| problem.scales[column] / problem.scales[3];
        let represented = [vec![], vec![], vec![], vec![(0, part(0)), (1, part(1))]];
        let sum = FoldSums::new(&fold, &problem, Y, &[0, 1, 2, 3], &[0, 1, 2], &represented, &[(3, 0.5)], &[3, 0]);
        let parts = [(0, 0.5 * part(0)), (1, 0.5 * part(1))];
        let written = FoldSums::new(&fold, &problem, Y, &[0, 1, 2], &[0, 1, 2], &represented[..3], &parts, &[0]);
        for ((a, b, _), (c, d, _)) in sum.given_sums().into_iter().zip(written.given_sums()) {
            assert!((a - c).abs() < 1e-9 && (b - d).abs() < 1e-9, "{a} {c}, {b} {d}");
        }
    }
}
