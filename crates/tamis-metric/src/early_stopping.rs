//! Early stopping: rules that select how many steps of a run are kept.
//!
//! Source: Ma 2017, (2.17) for [`EarlyStopping::Complexity`]; no stopping rule we compared matters much for the error (E45), so
//! the default is the held-out error, and without held-out rows the leave-one-out rule, which costs nothing: the smallest
//! number of steps whose leave-one-out error is within one standard error of the least.
//! Departure (E22): C_m = tr(L) is not defined for a stack of rows; the number of variables stands for it, as the thesis
//! means it to. The loss is a sum over rows and keeps falling, so the rule is inert for λ up to about 1 (E45).

use serde::{Deserialize, Serialize};
use tamis::select::Estimate;

use super::boost::RunPoint;

/// A rule of early stopping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyStopping {
    /// The steps of least held-out error.
    HeldOut,
    /// The fewest steps whose leave-one-out error is within one standard error of the least.
    LeaveOneOut,
    /// The steps of least loss + λ·variables.
    Complexity(f64),
    /// All steps are kept.
    Off,
}

/// The steps to keep, by a rule that needs no held-out rows.
pub(super) fn steps_of(curve: &[RunPoint], rule: EarlyStopping, rows: usize) -> usize {
    let last = curve.last().map_or(0, |point| point.step);
    match rule {
        EarlyStopping::LeaveOneOut => {
            let least = curve.iter().map(|point| point.wrong).min().unwrap_or(0) as f64;
            let slack = Estimate::of_share(least / rows.max(1) as f64, rows).standard_error * rows as f64;
            curve.iter().find(|point| point.wrong as f64 <= least + slack).map_or(last, |point| point.step)
        }
        EarlyStopping::Complexity(price) => {
            let cost = |point: &RunPoint| point.loss + price * point.variables as f64;
            let best = curve.iter().reduce(|best, point| if cost(point) < cost(best) { point } else { best });
            best.map_or(last, |point| point.step)
        }
        EarlyStopping::HeldOut | EarlyStopping::Off => last,
    }
}

/// A curve of errors, each point the mean of itself and its neighbours.
pub(super) fn smoothed(errors: &[f64]) -> Vec<f64> {
    let mean = |at: usize| {
        let near = &errors[at.saturating_sub(1)..(at + 2).min(errors.len())];
        near.iter().sum::<f64>() / near.len() as f64
    };
    (0..errors.len()).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(step: usize, loss: f64, variables: usize, wrong: usize) -> RunPoint {
        RunPoint { step, loss, variables, wrong, held_out_wrong: None }
    }

    #[test]
    fn rules_by_hand() {
        let curve = [point(5, 90.0, 2, 30), point(10, 60.0, 4, 14), point(15, 55.0, 9, 11), point(20, 54.0, 20, 12)];
        // Least 11 of 100: a standard error is 3.1 rows.
        assert_eq!(steps_of(&curve, EarlyStopping::LeaveOneOut, 100), 10);
        assert_eq!(steps_of(&curve, EarlyStopping::Complexity(0.01), 100), 20);
        assert_eq!(steps_of(&curve, EarlyStopping::Complexity(2.0), 100), 10);
        assert_eq!(steps_of(&curve, EarlyStopping::Off, 100), 20);
        assert_eq!(steps_of(&[], EarlyStopping::LeaveOneOut, 100), 0);
    }

    #[test]
    fn neighbours_smooth_a_curve() {
        assert_eq!(smoothed(&[3.0, 0.0, 3.0, 6.0]), [1.5, 2.0, 3.0, 4.5]);
    }
}
