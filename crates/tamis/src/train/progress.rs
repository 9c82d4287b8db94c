//! What a training tells while it runs.

use serde::{Deserialize, Serialize};

use super::task::Targets;
use crate::learn::stabilized::Rung;
use crate::model::{Model, Sampling, Seen};

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

/// A rung of the stabilized learner's ladder, as it is finished.
#[derive(Clone, Debug, PartialEq)]
pub struct RungReport {
    /// Features.
    pub size: usize,
    /// Mean loss on rows its features were chosen without.
    pub loss: f64,
    /// Share of wrong classes among them.
    pub error: Option<f64>,
}

impl RungReport {
    pub(super) fn of(rung: &Rung, unit: f64) -> Self {
        RungReport { size: rung.active.len(), loss: rung.verdict.loss * unit, error: rung.verdict.error }
    }
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
    /// When the stabilized learner has finished a rung of its ladder.
    fn rung(&mut self, _report: &RungReport) {}
    /// When `two-stage` is about to draw its features.
    fn drawing(&mut self, _sampling: &Sampling) {}
    /// Something a user should know, in a sentence.
    fn note(&mut self, _text: &str) {}
}

impl Observer for () {}

/// Running sums of progressive validation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progressive {
    pub(super) weight: f64,
    pub(super) loss: f64,
    pub(super) wrong: f64,
    pub(super) reported_weight: f64,
    pub(super) reported_loss: f64,
}

impl Progressive {
    pub(super) fn add(&mut self, loss: f64, wrong: bool, weight: f64) {
        self.weight += weight;
        self.loss += loss;
        self.wrong += if wrong { weight } else { 0.0 };
    }

    pub(super) fn mean_loss(&self) -> f64 {
        self.loss / self.weight.max(f64::MIN_POSITIVE)
    }

    pub(super) fn mean_error(&self) -> f64 {
        self.wrong / self.weight.max(f64::MIN_POSITIVE)
    }

    /// What a model says of the predictions made before learning; the rest is left at zero.
    pub(super) fn seen(&self, targets: &Targets) -> Seen {
        Seen {
            progressive_loss: self.mean_loss() * targets.loss_unit(),
            progressive_error: (!targets.is_numbers()).then(|| self.mean_error()),
            ..Seen::default()
        }
    }

    /// The mean loss since the last time this was asked.
    pub(super) fn recent_loss(&mut self) -> f64 {
        let recent = (self.loss - self.reported_loss) / (self.weight - self.reported_weight).max(f64::MIN_POSITIVE);
        (self.reported_weight, self.reported_loss) = (self.weight, self.loss);
        recent
    }
}
