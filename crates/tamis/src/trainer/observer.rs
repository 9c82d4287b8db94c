//! What a training tells while it runs.

use serde::{Deserialize, Serialize};

use crate::data::TargetEncoder;
use crate::model::{HistoryPoint, Model, Sampling, TrainingSummary};

/// A moment of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Rows learned, all passes counted.
    pub rows: u64,
    /// The pass, from 1.
    pub pass: u32,
    /// Mean loss so far, of predictions made before learning.
    pub loss: f64,
    /// Mean loss since the last report.
    pub recent_loss: f64,
    /// Share of wrong classes so far.
    pub error: Option<f64>,
    /// The last row's label.
    pub label: String,
    /// What was predicted for it.
    pub prediction: String,
    /// The last row's number of features.
    pub row_features: usize,
    /// Non-zero weights.
    pub nonzeros: usize,
    /// Bytes of the learner, the names and the scaling.
    pub memory: usize,
}

/// One size of a size path, as soon as it is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeReport {
    /// Features.
    pub size: usize,
    /// Mean loss on rows its features were chosen without.
    pub loss: f64,
    /// Share of wrong classes among them.
    pub error: Option<f64>,
}

/// Watches a training. All methods may do nothing.
pub trait Observer {
    /// The row after which the next report comes, `rows` being learned: 1, 2, 4, 8, … unless others are asked for.
    fn next_report(&self, rows: u64) -> u64 {
        (rows + 1).next_power_of_two()
    }
    /// After the rows of [`Observer::next_report`].
    fn report(&mut self, _progress: &Progress) {}
    /// Whether to be shown models in the making: with every report, or at the end of every stage of a learner that has
    /// stages.
    fn wants_models(&self) -> bool {
        false
    }
    /// What the model would be if the training ended after this many rows (on each path, where there are several).
    fn model(&mut self, _rows: u64, _model: &Model) {}
    /// Often: rows learned, rows there are in all (if known), bytes read.
    fn tick(&mut self, _rows: u64, _total: Option<u64>, _bytes: u64) {}
    /// When a method that goes down a path of sizes has evaluated one.
    fn size(&mut self, _report: &SizeReport) {}
    /// When `two-stage` is about to draw its features.
    fn drawing(&mut self, _sampling: &Sampling) {}
    /// Something a user should know, in a sentence.
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
    /// Rows learned, and the sums when rows were learned that are worth remembering.
    #[serde(default)]
    rows: u64,
    #[serde(default)]
    history: Vec<Sum>,
}

/// Rows learned, features with a weight, weight of the rows, and of those that were wrong, sum of losses.
type Sum = (u64, u64, f64, f64, f64);

impl ProgressiveValidation {
    pub(crate) fn add(&mut self, loss: f64, wrong: bool, weight: f64) {
        self.weight += weight;
        self.loss += loss;
        self.wrong += if wrong { weight } else { 0.0 };
    }

    pub(crate) fn mean_loss(&self) -> f64 {
        self.loss / self.weight.max(f64::MIN_POSITIVE)
    }

    pub(crate) fn mean_error(&self) -> f64 {
        self.wrong / self.weight.max(f64::MIN_POSITIVE)
    }

    /// What a model says of the predictions made before learning; the rest is left at zero.
    pub(crate) fn seen(&self, targets: &TargetEncoder) -> TrainingSummary {
        TrainingSummary {
            progressive_loss: self.mean_loss() * targets.loss_unit(),
            progressive_error: (!targets.is_numbers()).then(|| self.mean_error()),
            history: self.history.iter().map(|sum| moment(sum, targets)).collect(),
            ..TrainingSummary::default()
        }
    }

    /// Rows until the next moment worth remembering. The gap grows with the rows, so a stream of a billion rows leaves less
    /// than a hundred of them, at the same rows however it was cut.
    pub(crate) fn rows_to_remember(&self) -> u64 {
        let last = self.history.last().map_or(0, |sum| sum.0);
        last.saturating_add((last / 3).max(1)).saturating_sub(self.rows).max(1)
    }

    /// So many rows were learned; what there is now is remembered if it is time.
    pub(crate) fn learned(&mut self, rows: u64, nonzeros: impl FnOnce() -> usize) {
        let due = rows >= self.rows_to_remember();
        self.rows += rows;
        if due {
            self.history.push((self.rows, nonzeros() as u64, self.weight, self.wrong, self.loss));
        }
    }

    /// The mean loss since the last time this was asked.
    pub(crate) fn recent_loss(&mut self) -> f64 {
        let recent = (self.loss - self.reported_loss) / (self.weight - self.reported_weight).max(f64::MIN_POSITIVE);
        (self.reported_weight, self.reported_loss) = (self.weight, self.loss);
        recent
    }
}

fn moment(&(rows, nonzeros, weight, wrong, loss): &Sum, targets: &TargetEncoder) -> HistoryPoint {
    let mean = |sum: f64| sum / weight.max(f64::MIN_POSITIVE);
    let error = (!targets.is_numbers()).then(|| mean(wrong));
    HistoryPoint { rows, nonzeros, loss: mean(loss) * targets.loss_unit(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_the_same_however_rows_are_cut_and_few() {
        let run = |cut: u64| {
            let mut seen = ProgressiveValidation::default();
            while seen.rows < 10_000 {
                let now = cut.min(seen.rows_to_remember()).min(10_000 - seen.rows);
                (0..now).for_each(|_| seen.add(1.0, false, 1.0));
                seen.learned(now, || 7);
            }
            seen.history
        };
        let rows: Vec<u64> = run(512).iter().map(|sum| sum.0).collect();
        assert_eq!(rows[..12], [1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29]);
        assert!(rows.len() < 40 && rows.last() > Some(&7_500), "{rows:?}");
        assert_eq!(run(512), run(1));
    }
}
