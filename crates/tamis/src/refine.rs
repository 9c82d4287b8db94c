//! Weights brought nearer to the best fit, from where a learner left them.
//!
//! A path of `stabilized` sees half of the rows a few times, with steps that fall and a gravity that pulls. That is all the
//! regularisation few rows need, and too much where many rows speak of few features: the weights are still on their way when
//! the stage ends. The weights that `two-stage` draws are right on average, and each is off by the luck of the draw. So
//! weights w and intercept b may be moved, by the change (d, c) that minimises
//! ```text
//! Σ_i v_i·ℓ(f_i + d·x_i + c, y_i) + ½·λ·‖d‖²       f_i: the margin as it is
//! ```
//! λ = ∞ leaves them as they are, λ → 0 is the plain fit on the chosen features. Which λ, rows tell that had no part in
//! choosing: `train/stabilized/polishing.rs` asks the shadows, `train/two_stage/` the rows held out. A weight of zero stays
//! zero: what the learner gave no weight is not in the model. ℓ is the logistic loss for the classes of `stabilized`, else
//! the loss itself.
//!
//! Method: Newton's, each step by conjugate gradients on (XᵀHX + λI)s = −∇ divided by its diagonal, with a halving line
//! search; both stop when what is left to gain is nothing against the noise (`CLOSE`, [`Refinement::TOLERANCE`]).
//! References: Nash, *A survey of truncated-Newton methods* (J. Comput. Appl. Math. 124, 2000); Lin, Weng & Keerthi, *Trust
//! Region Newton Method for Logistic Regression* (JMLR 9, 2008).
//!
//! | symbol | where | value | from |
//! |---|---|---|---|
//! | λ | `train/stabilized/polishing.rs`, `train/two_stage/sketch.rs` | ∞ down to 10⁻² | told by rows |
//! | v, y | [`Refinement::rows`], [`Refinement::targets`] | | importance weight and coded target |
//! | f | [`Refinement::margins`] | | the margins to start from |
//!
//! Cost: one visit of every entry for a gradient, one for each conjugate step; some 20 to 100 visits for a λ, in one thread
//! and in one order, so the bits are always the same.

use crate::data::Batch;
use crate::loss::{AnyLoss, Loss};

/// Newton steps, at most.
const MOST_STEPS: usize = 12;
/// Conjugate steps for each of them, at most.
const MOST_CONJUGATE: usize = 40;
/// A linear system is solved when its residual is this share of what it was.
const CLOSE: f64 = 0.1;
/// A step is taken if the objective falls by this share of what it promises...
const PROMISED: f64 = 1e-4;
/// ...or changes by no more than rounding...
const ROUNDING: f64 = 1e-12;
/// ...and halved this often at most.
const HALVINGS: usize = 20;

/// Rows to fit, from margins that are there already.
#[derive(Clone, Debug)]
pub struct Refinement<'a> {
    /// The rows with their importance weights; their targets are not looked at.
    pub rows: &'a Batch,
    /// y: targets as the loss knows them.
    pub targets: Vec<f64>,
    /// f: the margins to start from.
    pub margins: Vec<f64>,
    /// Which weights may move, and last whether the intercept may.
    pub is_free: Vec<bool>,
    /// ℓ.
    pub loss: AnyLoss,
    /// The fit is over when a step promises less than this share of one row's mean loss, over all rows together.
    pub tolerance: f64,
}

/// The objective's derivatives at a point.
struct Slopes {
    gradient: Vec<f64>,
    /// The diagonal of the second derivative, ridge and all.
    diagonal: Vec<f64>,
    /// v·ℓ'' of each row.
    curvatures: Vec<f64>,
}

impl Refinement<'_> {
    /// A hundredth of a row's loss: nothing against the noise of few rows, and still less of many.
    pub const TOLERANCE: f64 = 0.01;

    /// No change at all.
    pub fn unchanged(&self) -> Vec<f64> {
        vec![0.0; self.is_free.len()]
    }

    /// The change of every weight, and last of the intercept, for a ridge λ, from a change near by.
    pub fn solve(&self, ridge: f64, start: &[f64]) -> Vec<f64> {
        let nothing = self.tolerance * self.mean_loss();
        let mut change = start.to_vec();
        let mut margins = self.margins.clone();
        margins.iter_mut().zip(self.times(&change)).for_each(|(margin, shift)| *margin += shift);
        for _ in 0..MOST_STEPS {
            let slopes = self.slopes(&margins, &change, ridge);
            let step = self.newton(&slopes, ridge, nothing);
            let promise = -dot(&slopes.gradient, &step);
            if promise <= nothing {
                break;
            }
            let shifts = self.times(&step);
            let Some(share) = self.share(&margins, &shifts, (&change, &step), ridge, promise) else { break };
            change.iter_mut().zip(&step).for_each(|(change, step)| *change += share * step);
            margins.iter_mut().zip(&shifts).for_each(|(margin, shift)| *margin += share * shift);
        }
        change
    }

    /// What a row costs on the whole before anything is changed, by its importance.
    fn mean_loss(&self) -> f64 {
        let rows = self.rows.examples().zip(&self.margins).zip(&self.targets);
        let losses = rows.map(|((example, &margin), &target)| example.weight * self.loss.value(margin, target));
        losses.sum::<f64>() / self.rows.len().max(1) as f64
    }

    /// d·x + c of every row.
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
            let slope = example.weight * self.loss.slope(margin, target);
            let curvature = example.weight * self.loss.curvature(margin, target);
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

    /// Sets to zero what may not move.
    fn hold(&self, numbers: &mut [f64]) {
        numbers.iter_mut().zip(&self.is_free).filter(|(_, is_free)| !**is_free).for_each(|(number, _)| *number = 0.0);
    }

    /// (XᵀHX + λI)·v; the intercept has no ridge.
    fn bent(&self, curvatures: &[f64], direction: &[f64], ridge: f64) -> Vec<f64> {
        let last = direction.len() - 1;
        let mut bent: Vec<f64> = direction.iter().map(|number| ridge * number).collect();
        bent[last] = 0.0;
        for (example, curvature) in self.rows.examples().zip(curvatures) {
            let pull = curvature * (direction[last] + along(example.row, direction));
            example.row.iter().for_each(|(position, value)| bent[position as usize] += pull * value);
            bent[last] += pull;
        }
        self.hold(&mut bent);
        bent
    }

    /// The step that Newton's method would take, nearly: what is left to gain is a small share, or `nothing`.
    fn newton(&self, slopes: &Slopes, ridge: f64, nothing: f64) -> Vec<f64> {
        let over_diagonal = |residual: &[f64]| -> Vec<f64> {
            // Without curvature and ridge there is nothing to divide by.
            residual.iter().zip(&slopes.diagonal).map(|(r, d)| r / d.max(f64::MIN_POSITIVE.sqrt())).collect()
        };
        let mut step = self.unchanged();
        let mut residual: Vec<f64> = slopes.gradient.iter().map(|slope| -slope).collect();
        let mut towards = over_diagonal(&residual);
        let mut direction = towards.clone();
        let mut size = dot(&residual, &towards);
        let goal = (CLOSE * CLOSE * size).max(CLOSE * nothing);
        for _ in 0..MOST_CONJUGATE {
            let bent = self.bent(&slopes.curvatures, &direction, ridge);
            let bend = dot(&direction, &bent);
            if !(bend > 0.0 && size > 0.0) {
                break;
            }
            let length = size / bend;
            step.iter_mut().zip(&direction).for_each(|(step, direction)| *step += length * direction);
            residual.iter_mut().zip(&bent).for_each(|(residual, bent)| *residual -= length * bent);
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

    /// How much of a step to take: all of it, or a half, a quarter, … until the objective falls; `None` if it never does.
    fn share(&self, margins: &[f64], shifts: &[f64], line: (&[f64], &[f64]), ridge: f64, promise: f64) -> Option<f64> {
        let value = |share: f64| {
            let rows = margins.iter().zip(shifts).zip(&self.targets).enumerate();
            let loss = |(number, ((margin, shift), &target))| {
                self.rows.example(number).weight * self.loss.value(margin + share * shift, target)
            };
            let weights = line.0.len() - 1;
            let pairs = line.0[..weights].iter().zip(line.1);
            rows.map(loss).sum::<f64>() + 0.5 * ridge * pairs.map(|(w, s)| (w + share * s).powi(2)).sum::<f64>()
        };
        let now = value(0.0) * (1.0 + ROUNDING);
        let shares = (0..HALVINGS).map(|halvings| 0.5f64.powi(halvings as i32));
        shares.into_iter().find(|&share| value(share) <= now - PROMISED * share * promise)
    }
}

/// b + w·x of every row.
pub fn margins<'a>(rows: &'a Batch, weights: &'a [f64], bias: f64) -> impl Iterator<Item = f64> + 'a {
    rows.examples().map(move |example| bias + along(example.row, weights))
}

fn along(row: crate::data::Row<'_>, weights: &[f64]) -> f64 {
    row.iter().map(|(position, value)| weights[position as usize] * value).sum()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Example, Row};
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
        assert!(solved(&squared, 1e12)[0].abs() < 1e-10, "an endless ridge leaves all as it was");
    }

    #[test]
    fn what_is_held_does_not_move() {
        let rows = rows(&[&[1.0, 1.0], &[2.0, -1.0], &[0.5, 3.0]]);
        let change = solved(&problem(&rows, &[1.0, -1.0, 1.0], &[false, true, false], LossKind::Logistic), 0.1);
        assert_eq!((change[0], change[2]), (0.0, 0.0));
        assert!(change[1] > 0.1);
    }

    #[test]
    fn odds_by_hand() {
        // Three of four positive and nothing else known: the intercept is ln 3.
        let rows = rows(&vec![&[][..]; 400]);
        let targets: Vec<f64> = (0..400).map(|row| if row % 4 == 0 { -1.0 } else { 1.0 }).collect();
        let exact = Refinement { tolerance: 0.0, ..problem(&rows, &targets, &[true], LossKind::Logistic) };
        let change = solved(&exact, 1.0);
        assert!((change[0] - 3f64.ln()).abs() < 1e-9, "{change:?}");
    }

    #[test]
    fn margins_that_are_right_already_stay() {
        let rows = rows(&[&[1.0], &[2.0]]);
        let there =
            Refinement { margins: vec![3.0, 6.0], ..problem(&rows, &[3.0, 6.0], &[true, true], LossKind::Squared) };
        assert_eq!(solved(&there, 1.0), [0.0, 0.0]);
    }

    #[test]
    fn outliers_beyond_hubers_threshold_pull_with_it() {
        // Four rows at 0 and one far away: 4c = 1 where the far one pulls with δ = 1.
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
