//! The mean of the loss of a model, in the units of the label.

use super::Scored;
use crate::loss::{AnyLoss, EvalMetric, Loss};
use crate::model::{Model, Prediction, Predictor};

/// A weighted mean, if no other metric is the mean of the loss.
pub(super) struct MeanLoss {
    loss: Option<AnyLoss>,
    sum: f64,
    total: f64,
}

impl MeanLoss {
    pub(super) fn new(model: &Model, predictor: &Predictor) -> Self {
        let is_own = model.loss.facts().metric == Some(EvalMetric::OwnLoss);
        MeanLoss { loss: is_own.then(|| predictor.loss()), sum: 0.0, total: 0.0 }
    }

    pub(super) fn add(&mut self, prediction: &Prediction, scored: Scored, weight: f64) {
        if let (Some(loss), Scored::Number(truth, _)) = (&self.loss, scored) {
            self.sum += weight * loss.value(prediction.margins[0], truth);
            self.total += weight;
        }
    }

    pub(super) fn value(&self) -> Option<f64> {
        (self.total > 0.0).then(|| self.sum / self.total)
    }
}
