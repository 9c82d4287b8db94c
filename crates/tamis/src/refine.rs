//! Refinement: moves the weights of a learner towards the fit on the rows.
//!
//! A path of `stabilized` sees half of the rows a few times, with decreasing steps and a threshold. This is all the
//! regularisation that few rows need, and too much where there are many rows for few features: the weights have not
//! converged when the stage ends. The weights that `two-stage` samples are unbiased, but have the variance of the
//! sample. So the weights w and the intercept b may be moved by the change (d, c) that minimises
//! ```text
//! Σ_i v_i·ℓ(f_i + d·x_i + c, y_i) + ½·λ·‖d‖²       f_i: the margin before refinement
//! ```
//! λ = ∞ leaves them as they are, λ → 0 is the unpenalised fit on the selected features. λ is chosen on held-out rows:
//! those of the cross-fitted ensembles for `stabilized` (`stabilized/refinement.rs`), those of the final selection for
//! `two-stage` (`two_stage/final_selection.rs`). A weight of zero stays zero: refinement never adds a feature. ℓ is the
//! logistic loss for the classes of `stabilized`, else the loss of the learner.
//!
//! Method: Newton's method, each step by conjugate gradients on (XᵀHX + λI)s = −∇ with its diagonal as preconditioner,
//! and a halving line search; both stop when the possible gain is negligible against the noise (`CLOSE`,
//! [`Refinement::TOLERANCE`]). References: Nash, *A survey of truncated-Newton methods* (J. Comput. Appl. Math. 124,
//! 2000); Lin, Weng & Keerthi, *Trust Region Newton Method for Logistic Regression* (JMLR 9, 2008).
//!
//! | symbol | where | value | from |
//! |---|---|---|---|
//! | λ | `stabilized/refinement.rs`, `two_stage/sampled_model.rs` | ∞ down to 10⁻² | held-out rows |
//! | v, y | [`Refinement::rows`], [`Refinement::targets`] | | importance weight and coded target |
//! | f | [`Refinement::margins`] | | the margins before refinement |
//!
//! Cost: one visit of each entry for a gradient, and one for each step of conjugate gradients; some 20 to 100 visits
//! for a λ, in one thread and in a fixed order, so that the bits are always the same. Rows are compacted once for all λ.

use crate::data::{Batch, Example, Row};
use crate::loss::{AnyLoss, Loss};

/// Newton steps, at most.
const MOST_STEPS: usize = 12;
/// Steps of conjugate gradients for each of them, at most.
const MOST_CONJUGATE: usize = 40;
/// A linear system is solved when its residual is this share of the initial one.
const CLOSE: f64 = 0.1;
/// A step is taken if the objective falls by this share of the predicted decrease...
const PROMISED: f64 = 1e-4;
/// ...or changes by no more than rounding...
const ROUNDING: f64 = 1e-12;
/// ...and is halved this often at most.
const HALVINGS: usize = 20;

/// Kinds of rows without free entries that are put together: two targets, and a few margins.
const MOST_ALIKE: usize = 4;

/// A refinement problem: the rows, and the margins to start from.
#[derive(Clone, Debug)]
pub struct Refinement<'a> {
    /// The rows with their importance weights; their targets are not used.
    pub rows: &'a Batch,
    /// y: the targets as the loss expects them.
    pub targets: Vec<f64>,
    /// f: the margins before refinement.
    pub margins: Vec<f64>,
    /// Whether each weight may move; the last entry is for the intercept.
    pub is_free: Vec<bool>,
    /// ℓ.
    pub loss: AnyLoss,
    /// Iteration stops when a step promises less than this share of the mean loss of one row, summed over all rows.
    pub tolerance: f64,
}

/// A refinement problem that is ready to be solved, for one ridge after the other: rows with the entries that may move alone.
#[derive(Clone, Debug)]
pub struct Prepared {
    rows: Batch,
    targets: Vec<f64>,
    margins: Vec<f64>,
    is_free: Vec<bool>,
    loss: AnyLoss,
    /// The loss of all rows at these margins.
    loss_before: f64,
    /// The gain that is not worth a step.
    negligible: f64,
}

/// A point on the way to the minimum: the change, and the margins and the loss of all rows there.
struct Point {
    change: Vec<f64>,
    margins: Vec<f64>,
    loss: f64,
}

/// The objective's derivatives at a point.
struct Slopes {
    gradient: Vec<f64>,
    /// The diagonal of the second derivative, with the ridge.
    diagonal: Vec<f64>,
    /// v·ℓ'' of each row.
    curvatures: Vec<f64>,
}

impl Refinement<'_> {
    /// A hundredth of the loss of a row: negligible against the noise of few rows, and still more so with many.
    pub const TOLERANCE: f64 = 0.01;

    /// The zero change.
    pub fn unchanged(&self) -> Vec<f64> {
        vec![0.0; self.is_free.len()]
    }

    /// The change of each weight, and last of the intercept, for a ridge λ, starting from a nearby change.
    pub fn solve(&self, ridge: f64, start: &[f64]) -> Vec<f64> {
        self.prepare().solve(ridge, start)
    }

    /// The problem, ready to be solved.
    pub fn prepare(&self) -> Prepared {
        let (rows, targets, margins) = self.compacted();
        let loss_before = self.loss.total(rows.weights(), &margins, &targets);
        let negligible = self.tolerance * loss_before / self.rows.len().max(1) as f64;
        Prepared { rows, targets, margins, is_free: self.is_free.clone(), loss: self.loss, loss_before, negligible }
    }

    /// The rows with the entries that may move alone, their targets and margins. Rows without such an entry are alike if
    /// they have the same target and margin: one row with the sum of their weights stands for them.
    fn compacted(&self) -> (Batch, Vec<f64>, Vec<f64>) {
        let (mut rows, mut targets, mut margins) = (Batch::new(), Vec::new(), Vec::new());
        let mut alike: Vec<([f64; 2], f64)> = Vec::new();
        for ((example, &margin), &target) in self.rows.examples().zip(&self.margins).zip(&self.targets) {
            let free = || example.row.iter().filter(|entry| self.is_free[entry.0 as usize]);
            if free().next().is_none() {
                let known = alike.iter_mut().find(|(key, _)| *key == [target, margin]);
                if let Some((_, weight)) = known {
                    *weight += example.weight;
                    continue;
                }
                if alike.len() < MOST_ALIKE {
                    alike.push(([target, margin], example.weight));
                    continue;
                }
            }
            rows.push_entries(example, free());
            targets.push(target);
            margins.push(margin);
        }
        for ([target, margin], weight) in alike {
            rows.push_entries(Example { row: Row { ids: &[], values: &[] }, target, weight }, std::iter::empty());
            targets.push(target);
            margins.push(margin);
        }
        (rows, targets, margins)
    }
}

impl Prepared {
    /// [`Refinement::solve`], by Newton's method.
    pub fn solve(&self, ridge: f64, start: &[f64]) -> Vec<f64> {
        let mut change = start.to_vec();
        let (mut margins, mut loss) = (self.margins.clone(), self.loss_before);
        if change.iter().any(|&change| change != 0.0) {
            margins.iter_mut().zip(self.times(&change)).for_each(|(margin, shift)| *margin += shift);
            loss = self.total_loss(&margins);
        }
        for _ in 0..MOST_STEPS {
            let slopes = self.slopes(&margins, &change, ridge);
            let step = self.newton(&slopes, ridge);
            let promise = -dot(&slopes.gradient, &step);
            if promise <= self.negligible {
                break;
            }
            let from = Point { change, margins, loss };
            let Some(next) = self.line_search(&from, &step, ridge, promise) else { return from.change };
            Point { change, margins, loss } = next;
        }
        change
    }

    /// The loss of all rows, by importance weight.
    fn total_loss(&self, margins: &[f64]) -> f64 {
        self.loss.total(self.rows.weights(), margins, &self.targets)
    }

    /// d·x + c of each row.
    fn times(&self, change: &[f64]) -> Vec<f64> {
        let (weights, bias) = change.split_at(change.len() - 1);
        self.rows.examples().map(|example| bias[0] + along(example.row, weights)).collect()
    }

    fn slopes(&self, margins: &[f64], change: &[f64], ridge: f64) -> Slopes {
        let last = change.len() - 1;
        let mut gradient: Vec<f64> = change.iter().map(|change| ridge * change).collect();
        let mut diagonal = vec![ridge; change.len()];
        (gradient[last], diagonal[last]) = (0.0, 0.0);
        let mut curvatures = Vec::with_capacity(margins.len());
        for ((example, &margin), &target) in self.rows.examples().zip(margins).zip(&self.targets) {
            let [slope, curvature] = self.loss.derivatives(margin, target).map(|number| example.weight * number);
            for (position, value) in example.row.iter() {
                gradient[position as usize] += slope * value;
                diagonal[position as usize] += curvature * value * value;
            }
            gradient[last] += slope;
            diagonal[last] += curvature;
            curvatures.push(curvature);
        }
        self.hold(&mut gradient);
        Slopes { gradient, diagonal, curvatures }
    }

    /// Sets the entries that may not move to zero.
    fn hold(&self, numbers: &mut [f64]) {
        numbers.iter_mut().zip(&self.is_free).filter(|(_, is_free)| !**is_free).for_each(|(number, _)| *number = 0.0);
    }

    /// (XᵀHX + λI)·v; the intercept has no ridge.
    fn hessian_product(&self, curvatures: &[f64], direction: &[f64], ridge: f64) -> Vec<f64> {
        let last = direction.len() - 1;
        let mut product: Vec<f64> = direction.iter().map(|number| ridge * number).collect();
        product[last] = 0.0;
        for (example, curvature) in self.rows.examples().zip(curvatures) {
            let slope = curvature * (direction[last] + along(example.row, direction));
            example.row.iter().for_each(|(position, value)| product[position as usize] += slope * value);
            product[last] += slope;
        }
        self.hold(&mut product);
        product
    }

    /// An approximate Newton step: the remaining gain is a small share of the whole, or negligible.
    fn newton(&self, slopes: &Slopes, ridge: f64) -> Vec<f64> {
        let over_diagonal = |residual: &[f64]| -> Vec<f64> {
            // Without curvature and ridge the diagonal is zero.
            residual.iter().zip(&slopes.diagonal).map(|(r, d)| r / d.max(f64::MIN_POSITIVE.sqrt())).collect()
        };
        let mut step = vec![0.0; self.is_free.len()];
        let mut residual: Vec<f64> = slopes.gradient.iter().map(|slope| -slope).collect();
        let mut towards = over_diagonal(&residual);
        let mut direction = towards.clone();
        let mut size = dot(&residual, &towards);
        let goal = (CLOSE * CLOSE * size).max(CLOSE * self.negligible);
        for _ in 0..MOST_CONJUGATE {
            let product = self.hessian_product(&slopes.curvatures, &direction, ridge);
            let curvature = dot(&direction, &product);
            if !(curvature > 0.0 && size > 0.0) {
                break;
            }
            let length = size / curvature;
            step.iter_mut().zip(&direction).for_each(|(step, direction)| *step += length * direction);
            residual.iter_mut().zip(&product).for_each(|(residual, product)| *residual -= length * product);
            towards = over_diagonal(&residual);
            let next = dot(&residual, &towards);
            if next <= goal {
                break;
            }
            direction.iter_mut().zip(&towards).for_each(|(direction, t)| *direction = t + next / size * *direction);
            size = next;
        }
        step
    }

    /// The point after a step, or after ½, ¼, … of it, where the objective falls; `None` if it never does.
    fn line_search(&self, from: &Point, step: &[f64], ridge: f64, promise: f64) -> Option<Point> {
        let shifts = self.times(step);
        let penalty = |change: &[f64]| 0.5 * ridge * dot(&change[..change.len() - 1], &change[..change.len() - 1]);
        let now = (from.loss + penalty(&from.change)) * (1.0 + ROUNDING);
        let moved = |list: &[f64], by: &[f64], share: f64| -> Vec<f64> {
            list.iter().zip(by).map(|(number, by)| number + share * by).collect()
        };
        (0..HALVINGS).find_map(|halvings| {
            let share = 0.5f64.powi(halvings as i32);
            let (change, margins) = (moved(&from.change, step, share), moved(&from.margins, &shifts, share));
            let loss = self.total_loss(&margins);
            let falls = loss + penalty(&change) <= now - PROMISED * share * promise;
            falls.then_some(Point { change, margins, loss })
        })
    }
}

/// b + w·x of each row.
pub fn margins<'a>(rows: &'a Batch, weights: &'a [f64], bias: f64) -> impl Iterator<Item = f64> + 'a {
    rows.examples().map(move |example| margin(example.row, weights, bias))
}

/// b + w·x of a row.
pub fn margin(row: Row<'_>, weights: &[f64], bias: f64) -> f64 {
    bias + along(row, weights)
}

fn along(row: Row<'_>, weights: &[f64]) -> f64 {
    row.iter().map(|(position, value)| weights[position as usize] * value).sum()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    fn rows(values: &[&[f64]]) -> Batch {
        let mut batch = Batch::new();
        for values in values {
            let ids: Vec<u32> = (0..values.len() as u32).collect();
            batch.push(Example { row: Row { ids: &ids, values }, target: 0.0, weight: 1.0 });
        }
        batch
    }

    fn problem<'a>(rows: &'a Batch, targets: &[f64], is_free: &[bool], kind: LossKind) -> Refinement<'a> {
        let (margins, targets) = (vec![0.0; targets.len()], targets.to_vec());
        Refinement {
            rows,
            targets,
            margins,
            is_free: is_free.to_vec(),
            loss: kind.build(1.0),
            tolerance: Refinement::TOLERANCE,
        }
    }

    fn solved(problem: &Refinement<'_>, ridge: f64) -> Vec<f64> {
        problem.solve(ridge, &problem.unchanged())
    }

    #[test]
    fn a_ridge_by_hand() {
        // (d − 3)² + (2d − 6)² + ½·10·d²: 10·d − 30 + 10·d = 0.
        let rows = rows(&[&[1.0], &[2.0]]);
        let squared = problem(&rows, &[3.0, 6.0], &[true, false], LossKind::Squared);
        assert!((solved(&squared, 10.0)[0] - 1.5).abs() < 1e-12);
        assert!((solved(&squared, 0.0)[0] - 3.0).abs() < 1e-12);
        assert!(solved(&squared, 1e12)[0].abs() < 1e-10, "an infinite ridge changes nothing");
    }

    #[test]
    fn fixed_weights_do_not_move() {
        let rows = rows(&[&[1.0, 1.0], &[2.0, -1.0], &[0.5, 3.0]]);
        let change = solved(&problem(&rows, &[1.0, -1.0, 1.0], &[false, true, false], LossKind::Logistic), 0.1);
        assert_eq!((change[0], change[2]), (0.0, 0.0));
        assert!(change[1] > 0.1);
    }

    #[test]
    fn odds_by_hand() {
        // Three of four rows are positive and there are no features: the intercept is ln 3.
        let rows = rows(&vec![&[][..]; 400]);
        let targets: Vec<f64> = (0..400).map(|row| if row % 4 == 0 { -1.0 } else { 1.0 }).collect();
        let exact = Refinement { tolerance: 0.0, ..problem(&rows, &targets, &[true], LossKind::Logistic) };
        let change = solved(&exact, 1.0);
        assert!((change[0] - 3f64.ln()).abs() < 1e-9, "{change:?}");
    }

    #[test]
    fn rows_that_are_alike_count_by_their_weight() {
        // Column 1 may not move, so that rows 1, 2 and 4 have no free entry; row 4 has another margin.
        let rows = rows(&[&[1.0, 1.0], &[0.0, 3.0], &[0.0, 1.0], &[2.0, 0.0], &[0.0, 1.0]]);
        let margins = vec![0.1, 0.2, 0.2, 0.3, 0.4];
        let own = problem(&rows, &[1.0, -1.0, -1.0, 1.0, -1.0], &[true, false, true], LossKind::Logistic);
        let own = Refinement { margins, tolerance: 0.0, ..own };
        let (compacted, targets, margins) = own.compacted();
        assert_eq!((compacted.entries(), compacted.weights()), (2, &[1.0, 1.0, 2.0, 1.0][..]));
        assert_eq!((&targets[..], &margins[..]), (&[1.0, 1.0, -1.0, -1.0][..], &[0.1, 0.3, 0.2, 0.4][..]));
        let Refinement { targets, margins, is_free, .. } = own.clone();
        let whole = Prepared { rows: own.rows.clone(), targets, margins, is_free, ..own.prepare() };
        let all = whole.solve(0.5, &own.unchanged());
        assert!(own.solve(0.5, &own.unchanged()).iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-12), "{all:?}");
    }

    #[test]
    fn margins_at_the_minimum_stay() {
        let rows = rows(&[&[1.0], &[2.0]]);
        let there =
            Refinement { margins: vec![3.0, 6.0], ..problem(&rows, &[3.0, 6.0], &[true, true], LossKind::Squared) };
        assert_eq!(solved(&there, 1.0), [0.0, 0.0]);
    }

    #[test]
    fn outliers_have_the_slope_of_hubers_threshold() {
        // Four rows at 0 and one outlier: 4c = 1, where the outlier has slope δ = 1.
        let rows = rows(&[&[], &[], &[], &[], &[]]);
        let far = problem(&rows, &[0.0, 0.0, 0.0, 0.0, 1e6], &[true], LossKind::Huber);
        let change = solved(&Refinement { tolerance: 0.0, ..far }, 1.0);
        assert!((change[0] - 0.25).abs() < 1e-9, "{change:?}");
    }

    #[test]
    fn separable_rows_and_a_small_ridge_stay_finite() {
        let rows = rows(&[&[1e3], &[-1e3], &[2e3]]);
        let change = solved(&problem(&rows, &[1.0, -1.0, 1.0], &[true, true], LossKind::Logistic), 1e-2);
        assert!(change.iter().all(|number| number.is_finite()) && change[0] > 0.0, "{change:?}");
    }
}
