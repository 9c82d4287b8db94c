//! Progress reports of a training, and progressive validation.

use serde::{Deserialize, Serialize};

use crate::data::TargetEncoder;
use crate::model::{HistoryPoint, Model, Sampling, TrainingSummary};
use crate::parse::survey::ColumnNote;

/// The progress of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Rows learned, all passes counted.
    pub rows: u64,
    /// The pass, from 1.
    pub pass: u32,
    /// The mean loss so far of predictions made before learning.
    pub loss: f64,
    /// The mean loss since the last report.
    pub recent_loss: f64,
    /// The share of misclassified rows so far.
    pub error: Option<f64>,
    /// The label of the last row.
    pub label: String,
    /// The prediction for the last row.
    pub prediction: String,
    /// The number of features of the last row.
    pub row_features: usize,
    /// Non-zero weights.
    pub nonzeros: usize,
    /// Bytes of the learner, the names and the scaling.
    pub memory: usize,
}

/// A size of the size path, reported when it is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeReport {
    /// The number of features.
    pub size: usize,
    /// The mean held-out loss.
    pub loss: f64,
    /// The share of misclassified held-out rows.
    pub error: Option<f64>,
}

/// Observes a training. All methods have an empty default.
pub trait Observer {
    /// The row of the next report after `rows` rows: 1, 2, 4, 8, … by default.
    fn next_report(&self, rows: u64) -> u64 {
        (rows + 1).next_power_of_two()
    }
    /// Called after the rows of [`Observer::next_report`].
    fn report(&mut self, _progress: &Progress) {}
    /// Whether intermediate models are wanted: with every report, or after every stage of a learner that has
    /// stages.
    fn wants_models(&self) -> bool {
        false
    }
    /// The model if the training ended after this many rows (on each path, if there are several).
    fn model(&mut self, _rows: u64, _model: &Model) {}
    /// What was found out about the columns of a table.
    fn columns(&mut self, _notes: Vec<ColumnNote>) {}
    /// Called often: rows learned, rows in all (if known), bytes read.
    fn tick(&mut self, _rows: u64, _total: Option<u64>, _bytes: u64) {}
    /// Called when a size of the size path is evaluated.
    fn size(&mut self, _report: &SizeReport) {}
    /// Called when `two-stage` is about to sample its features.
    fn before_sampling(&mut self, _sampling: &Sampling) {}
    /// A sentence that the user should read.
    fn note(&mut self, _text: &str) {}
}

impl Observer for () {}

/// Running sums of progressive validation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgressiveValidation {
    pub(crate) weight: f64,
    pub(crate) loss: f64,
    pub(crate) wrong: f64,
    pub(crate) reported_weight: f64,
    pub(crate) reported_loss: f64,
    /// Rows learned, and the points of the learning curve.
    #[serde(default)]
    rows: u64,
    #[serde(default)]
    history: Vec<Sum>,
}

/// Rows learned, features with a weight, total weight of the rows and of the misclassified ones, sum of losses.
type Sum = (u64, u64, f64, f64, f64);

impl ProgressiveValidation {
    pub(crate) fn add(&mut self, loss: f64, wrong: bool, weight: f64) {
        self.weight += weight;
        self.loss += loss;
        self.wrong += if wrong { weight } else { 0.0 };
    }

    /// The numbers of rows and features, to be examined after loading.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.history.iter().flat_map(|sum| [sum.0, sum.1]).chain([self.rows])
    }

    pub(crate) fn mean_loss(&self) -> f64 {
        self.loss / self.weight.max(f64::MIN_POSITIVE)
    }

    pub(crate) fn mean_error(&self) -> f64 {
        self.wrong / self.weight.max(f64::MIN_POSITIVE)
    }

    /// The training summary with the losses of progressive validation; all else is zero.
    pub(crate) fn summary(&self, targets: &TargetEncoder) -> TrainingSummary {
        TrainingSummary {
            progressive_loss: self.mean_loss() * targets.loss_unit(),
            progressive_error: (!targets.is_numbers()).then(|| self.mean_error()),
            history: self.history.iter().map(|sum| history_point(sum, targets)).collect(),
            ..TrainingSummary::default()
        }
    }

    /// Rows until the next point of the learning curve. The distance grows with the rows, so that a billion rows have
    /// less than a hundred points, at the same rows however the input is split.
    pub(crate) fn rows_to_next_point(&self) -> u64 {
        let last = self.history.last().map_or(0, |sum| sum.0);
        last.saturating_add((last / 3).max(1)).saturating_sub(self.rows).max(1)
    }

    /// Counts learned rows, and adds a point to the learning curve if one is due.
    pub(crate) fn learned(&mut self, rows: u64, nonzeros: impl FnOnce() -> usize) {
        let due = rows >= self.rows_to_next_point();
        self.rows += rows;
        if due {
            self.history.push((self.rows, nonzeros() as u64, self.weight, self.wrong, self.loss));
        }
    }

    /// The mean loss since the last call.
    pub(crate) fn recent_loss(&mut self) -> f64 {
        let recent = (self.loss - self.reported_loss) / (self.weight - self.reported_weight).max(f64::MIN_POSITIVE);
        (self.reported_weight, self.reported_loss) = (self.weight, self.loss);
        recent
    }
}

fn history_point(&(rows, nonzeros, weight, wrong, loss): &Sum, targets: &TargetEncoder) -> HistoryPoint {
    let mean = |sum: f64| sum / weight.max(f64::MIN_POSITIVE);
    let error = (!targets.is_numbers()).then(|| mean(wrong));
    HistoryPoint { rows, nonzeros, loss: mean(loss) * targets.loss_unit(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_learning_curve_has_few_points_and_does_not_depend_on_the_split() {
        let run = |cut: u64| {
            let mut progressive = ProgressiveValidation::default();
            while progressive.rows < 10_000 {
                let now = cut.min(progressive.rows_to_next_point()).min(10_000 - progressive.rows);
                (0..now).for_each(|_| progressive.add(1.0, false, 1.0));
                progressive.learned(now, || 7);
            }
            progressive.history
        };
        let rows: Vec<u64> = run(512).iter().map(|sum| sum.0).collect();
        assert_eq!(rows[..12], [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29]);
        assert!(rows.len() < 40 && rows.last() > Some(&7_500), "{rows:?}");
        assert_eq!(run(512), run(1));
    }
}
