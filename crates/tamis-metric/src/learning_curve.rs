//! Learning curves of a candidate: its held-out error by the number of boosting steps.
//!
//! The errors of all folds are pooled as one curve over steps, smoothed over three points. Its minimum is the score of the
//! candidate and selects the number of steps.

use serde::{Deserialize, Serialize};
use tamis::select::Estimate;

use super::early_stopping::smoothed;

/// The cross-validation result of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CvResult {
    /// The name of the candidate.
    pub name: String,
    /// The number of steps with the least error; 0 for plain k-NN.
    pub steps: usize,
    /// The held-out error, smoothed over steps.
    pub error: f64,
    /// The binomial standard error of it.
    pub standard_error: f64,
    /// The rows it was evaluated on: fewer than others if the candidate was ruled out on a part of them.
    #[serde(default)]
    pub rows: usize,
}

/// The number of misclassified held-out rows by step, fold by fold.
#[derive(Clone, Debug, Default)]
pub(super) struct LearningCurve {
    pub(super) curves: Vec<Vec<(usize, f64)>>,
    /// Held-out rows of all folds.
    pub(super) held_out: usize,
}

impl LearningCurve {
    /// The minimum of the pooled curve. The standard error counts every row once, however often it was held out.
    pub(super) fn result(&self, name: &str, rows: usize) -> CvResult {
        let errors = self.errors();
        let least = (1..errors.len()).fold(0, |best, at| if errors[at] < errors[best] { at } else { best });
        let error = errors.get(least).copied().unwrap_or(1.0);
        let steps = self.curves.first().and_then(|curve| curve.get(least)).map_or(0, |point| point.0);
        let standard_error = Estimate::of_share(error, rows).standard_error;
        CvResult { name: name.into(), steps, error, standard_error, rows }
    }

    /// Whether more steps may lower the error: the curve ends at most half a standard error above its minimum. Where the
    /// minimum lies says less: on few rows a flat curve has its minimum anywhere.
    pub(super) fn may_improve(&self, least: &CvResult) -> bool {
        self.errors().last().is_some_and(|&end| end <= least.error + least.standard_error / 2.0)
    }

    fn errors(&self) -> Vec<f64> {
        let length = self.curves.iter().map(Vec::len).min().unwrap_or(0);
        let error = |at: usize| self.curves.iter().map(|curve| curve[at].1).sum::<f64>() / self.held_out.max(1) as f64;
        smoothed(&(0..length).map(error).collect::<Vec<f64>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_end_may_improve_and_one_that_rose_by_half_a_standard_error_may_not() {
        let followed = |wrong: &[f64]| {
            let curve = wrong.iter().zip(1..).map(|(&wrong, at)| (5 * at, wrong)).collect();
            let curve = LearningCurve { curves: vec![curve], held_out: 1000 };
            let result = curve.result("order-1", 1000);
            (result.steps, curve.may_improve(&result))
        };
        // A tenth of 1000 rows is wrong at best: half a standard error are 4.7 rows.
        assert_eq!(followed(&[300.0, 100.0, 100.0, 100.0, 102.0, 104.0, 104.0]), (15, true));
        assert_eq!(followed(&[300.0, 100.0, 100.0, 100.0, 102.0, 106.0, 106.0]), (15, false));
        assert_eq!(followed(&[300.0, 200.0, 150.0]), (15, true));
    }

    #[test]
    fn folds_are_pooled_by_their_rows() {
        let curves = vec![vec![(5, 4.0), (10, 1.0)], vec![(5, 2.0), (10, 3.0)]];
        let result = LearningCurve { curves, held_out: 40 }.result("free", 20);
        assert_eq!((result.name.as_str(), result.steps, result.error), ("free", 5, 0.125));
        assert_eq!(result.standard_error, (0.125f64 * 0.875 / 20.0).sqrt());
        assert_eq!(LearningCurve::default().result("none", 3).error, 1.0);
    }
}
