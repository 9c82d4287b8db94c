//! The held-out error and loss of a size on a fixed set of rows.
//!
//! The score of a row is the mean margin of the paths whose subsample does not contain it. The rows are the same at
//! every size, so that two sizes are compared row by row, which is far less noisy than a comparison of two means.

use super::stage::ClassCoding;
use crate::data::FeatureId;
use crate::loss::{AnyLoss, Logistic, Loss, argmax};
use crate::platt::{Calibration, Scored, linear, logistic};
use crate::select::{Estimate, SizeScore, standard_error};

/// The held-out score of a size.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldoutScore {
    /// How the scores of each output become predictions.
    pub calibrations: Vec<Calibration>,
    /// Mean loss.
    pub loss: f64,
    /// The share of misclassified rows; `None` for regression.
    pub error: Option<f64>,
    /// The loss of each row, and whether it is misclassified.
    pub rows: Vec<RowScore>,
}

/// The held-out score of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowScore {
    /// Its loss.
    pub loss: f64,
    /// Whether the row is misclassified.
    pub wrong: bool,
    /// Its importance weight; 0 if it is in the subsample of every path.
    pub weight: f64,
}

/// The held-out score of a size without a feature and all that were cut before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutScore {
    /// The feature that is cut.
    pub feature: FeatureId,
    /// The mean loss without it.
    pub loss: f64,
    /// The share of misclassified rows; `None` for regression.
    pub error: Option<f64>,
    /// The standard error of the error rate, or of the loss for regression.
    pub standard_error: f64,
}

impl HoldoutScore {
    /// The score of all rows; `has_error` says whether they can be misclassified.
    pub fn of(calibrations: Vec<Calibration>, rows: Vec<RowScore>, has_error: bool) -> Self {
        let total: f64 = rows.iter().map(|row| row.weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let mean =
            |number: &dyn Fn(&RowScore) -> f64| rows.iter().map(|row| row.weight * number(row)).sum::<f64>() / total;
        let (loss, error) = (mean(&|row| row.loss), has_error.then(|| mean(&|row| f64::from(u8::from(row.wrong)))));
        HoldoutScore { calibrations, loss, error, rows }
    }

    /// The standard error of the error rate; for regression, of the loss.
    pub fn standard_error(&self) -> f64 {
        self.error_estimate().map_or_else(|| self.loss_standard_error(), |error| error.standard_error)
    }

    /// The standard error of the loss.
    pub fn loss_standard_error(&self) -> f64 {
        standard_error(self.rows.iter().map(|row| (row.weight, row.loss)), self.loss)
    }

    /// How much the loss is above that of another score of the same rows, row by row.
    pub fn loss_above(&self, other: &HoldoutScore) -> Estimate {
        Estimate::of(self.rows.iter().zip(&other.rows).map(|(own, other)| (own.weight, own.loss - other.loss)))
    }

    /// The share of misclassified rows with its standard error.
    fn error_estimate(&self) -> Option<Estimate> {
        let wrong = |row: &RowScore| (row.weight, f64::from(u8::from(row.wrong)));
        self.error.map(|mean| Estimate { mean, standard_error: standard_error(self.rows.iter().map(wrong), mean) })
    }

    /// The estimates by which sizes are compared.
    pub fn size_score(&self) -> SizeScore {
        let loss = Estimate { mean: self.loss, standard_error: self.loss_standard_error() };
        SizeScore { loss, error: self.error_estimate() }
    }
}

/// Evaluates the scores (a list for each output) against the targets (numbers or class numbers) of the rows.
pub fn evaluate(scores: &[Vec<f64>], codings: &[ClassCoding], targets: &[(f64, f64)], loss: AnyLoss) -> HoldoutScore {
    let calibrations: Vec<Calibration> =
        scores.iter().zip(codings).map(|(scores, coding)| calibrate(scores, coding, targets)).collect();
    let mut margins = vec![0.0; codings.len()];
    let row = |(number, &(target, weight)): (usize, &(f64, f64))| {
        margins.iter_mut().zip(scores).for_each(|(margin, list)| *margin = list[number]);
        RowScore::of(&mut margins, &calibrations, codings, (target, weight), loss)
    };
    let rows = targets.iter().enumerate().map(row).collect();
    HoldoutScore::of(calibrations, rows, codings[0].output.class.is_some())
}

impl RowScore {
    /// The score of a row with these margins, which are calibrated in place. Its target has a weight.
    pub fn of(
        margins: &mut [f64],
        calibrations: &[Calibration],
        codings: &[ClassCoding],
        (target, weight): (f64, f64),
        loss: AnyLoss,
    ) -> Self {
        margins.iter_mut().zip(calibrations).for_each(|(margin, fit)| *margin = fit.apply(*margin));
        let losses = margins.iter().zip(codings).map(|(&margin, coding)| match coding.output.class {
            Some(_) => Logistic.value(margin, coding.output.code(target)),
            None => loss.value(margin, target),
        });
        let cost = losses.sum::<f64>() / codings.len() as f64;
        let wrong = match codings[0].output.class {
            None => false,
            Some(_) if codings.len() == 1 => (margins[0] > 0.0) != (codings[0].output.code(target) > 0.0),
            Some(_) => codings[argmax(margins)].output.class != Some(target),
        };
        RowScore { loss: cost, wrong, weight }
    }
}

fn calibrate(scores: &[f64], coding: &ClassCoding, targets: &[(f64, f64)]) -> Calibration {
    let scored =
        |(&score, &(target, weight)): (&f64, &(f64, f64))| Scored { score, target: coding.output.code(target), weight };
    let rows: Vec<Scored> = scores.iter().zip(targets).map(scored).collect();
    match coding.output.class {
        Some(_) => logistic(&rows),
        None => linear(&rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::OutputCoding;
    use crate::loss::LossKind;

    fn class(number: f64) -> ClassCoding {
        ClassCoding { output: OutputCoding { class: Some(number), codes: [-1.0, 1.0] }, class_weights: [1.0; 2] }
    }

    #[test]
    fn two_classes_are_predicted_by_sign() {
        let scores = vec![vec![2.0, 1.0, -1.0, -2.0, 0.1, -0.1]];
        let targets = [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 2.0), (1.0, 0.0)];
        let holdout = evaluate(&scores, &[class(1.0)], &targets, LossKind::Logistic.build(1.0));
        let wrong: Vec<bool> = holdout.rows.iter().map(|row| row.wrong).collect();
        assert_eq!(&wrong[..4], &[false; 4]);
        let expected = holdout.rows.iter().map(|row| row.weight * f64::from(u8::from(row.wrong))).sum::<f64>() / 6.0;
        assert_eq!(holdout.error, Some(expected));
    }

    #[test]
    fn standard_errors_by_hand() {
        let row = |loss, wrong, weight| RowScore { loss, wrong, weight };
        let rows = vec![row(1.0, false, 1.0), row(3.0, true, 1.0), row(2.0, false, 2.0)];
        let holdout = HoldoutScore { calibrations: Vec::new(), loss: 2.0, error: Some(0.25), rows };
        assert_eq!(holdout.loss_standard_error(), 2f64.sqrt() / 4.0, "one below, one above, one on the mean");
        let squares = 0.25f64.powi(2) + 0.75f64.powi(2) + 0.5f64.powi(2);
        assert!(
            (holdout.standard_error() - squares.sqrt() / 4.0).abs() < 1e-15,
            "weights count in the standard error too"
        );
        assert_eq!(HoldoutScore { error: None, ..holdout.clone() }.standard_error(), holdout.loss_standard_error());
    }

    #[test]
    fn several_classes_are_predicted_by_the_largest_score() {
        let own = |class: usize| (0..13).map(|row| if row % 3 == class { 3.0 } else { -1.0 }).collect();
        let scores: Vec<Vec<f64>> = (0..3).map(own).collect();
        // The thirteenth row has the scores of class 0, but its class is 1.
        let target = |row: usize| if row == 12 { 1.0 } else { (row % 3) as f64 };
        let targets: Vec<(f64, f64)> = (0..13).map(|row| (target(row), 1.0)).collect();
        let codings = [class(0.0), class(1.0), class(2.0)];
        let holdout = evaluate(&scores, &codings, &targets, LossKind::Logistic.build(1.0));
        assert_eq!(holdout.error, Some(1.0 / 13.0));
    }

    #[test]
    fn regression_has_no_error_rate() {
        let coding = ClassCoding { output: OutputCoding { class: None, codes: [-1.0, 1.0] }, class_weights: [1.0; 2] };
        let targets = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)];
        let holdout = evaluate(&[vec![0.0, 0.5, 1.0]], &[coding], &targets, LossKind::Squared.build(1.0));
        assert_eq!(holdout.error, None);
        assert!(holdout.loss < 1e-20, "the scores are the targets up to a line");
    }
}
