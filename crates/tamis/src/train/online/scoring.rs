//! Predictions of an open training, at the cost of the row.
//!
//! A model would say the same (to rounding: sums are taken in another order), but making one costs as much as there are
//! features. Whoever predicts each row before learning it cannot pay that.

use super::{Online, Running};
use crate::data::{ParsedRows, Row};
use crate::learn::Learner;
use crate::loss::Loss;
use crate::model::Predictor;
use crate::train::TrainError;
use crate::train::task::Kind;

impl Online {
    /// Margins of rows, in the target's own units: one row after the other, an output each. Where the model would have
    /// exactly k features, or the first rows still wait, a model is made for it.
    pub fn margins(&self, rows: &ParsedRows) -> Result<Vec<f64>, TrainError> {
        let Some(running) = self.running.as_ref().filter(|_| self.recipe.k.is_none()) else {
            let predictions = Predictor::new(&self.model()?).predict(rows);
            return Ok(predictions.into_iter().flat_map(|row| row.margins).collect());
        };
        let known = rows.lookup(&self.dictionary);
        let mut margins = Vec::with_capacity(known.len() * running.bank.learners().len());
        for (place, example) in known.examples().enumerate() {
            let factor = self.recipe.row_scaling().factor(rows.entries(place).count());
            running.score(example.row, factor, |id| self.scale.divisor(id), &mut margins);
        }
        match margins.iter().all(|margin| margin.is_finite()) {
            true => Ok(margins),
            false => Err(running.bank.diverged(running.rows, &self.dictionary)),
        }
    }

    /// The margin from which on the second of two classes is predicted.
    pub fn boundary(&self) -> f64 {
        self.recipe.loss.map_or(0.0, |loss| loss.build(1.0).boundary())
    }
}

impl Running {
    fn score(&self, row: Row<'_>, factor: f64, divisor: impl Fn(u32) -> f64, margins: &mut Vec<f64>) {
        let (middle, unit) = match self.targets.kind {
            Kind::Numbers { centre, spread } => (centre, spread),
            Kind::Classes { .. } => (0.0, 1.0),
        };
        for learner in self.bank.learners() {
            let parts = row.iter().map(|(id, value)| learner.weight(id) * value / divisor(id));
            margins.push(middle + unit * (learner.bias() + factor * parts.sum::<f64>()));
        }
    }
}
