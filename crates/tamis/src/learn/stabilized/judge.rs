//! What a rung is worth: error and loss of out-of-bag predictions on a fixed set of rows.
//!
//! A row's score is the mean margin of the paths that do not own it. The rows are the same at every rung, so two rungs
//! can be compared row by row, which is far less noisy than comparing two means.

use super::calibrate::{Calibration, Scored, linear, logistic};
use super::stage::Coding;
use crate::loss::{AnyLoss, Logistic, Loss};

/// The verdict on one rung.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// How each output's scores become predictions.
    pub calibrations: Vec<Calibration>,
    /// Mean loss.
    pub loss: f64,
    /// Share of wrong classes; `None` for numbers.
    pub error: Option<f64>,
    /// The loss of every row, and whether its class was wrong.
    pub rows: Vec<RowVerdict>,
}

/// The verdict on one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowVerdict {
    /// Its loss.
    pub loss: f64,
    /// Whether the class was wrong.
    pub wrong: bool,
    /// Its importance weight, 0 if every path owns it.
    pub weight: f64,
}

impl Verdict {
    /// The standard error of the error; of the loss for numbers.
    pub fn deviation(&self) -> f64 {
        match self.error {
            Some(error) => self.spread_around(error, |row| f64::from(u8::from(row.wrong))),
            None => self.loss_deviation(),
        }
    }

    /// The standard error of the loss.
    pub fn loss_deviation(&self) -> f64 {
        self.spread_around(self.loss, |row| row.loss)
    }

    fn spread_around(&self, mean: f64, number: impl Fn(&RowVerdict) -> f64) -> f64 {
        let squares: f64 = self.rows.iter().map(|row| (row.weight * (number(row) - mean)).powi(2)).sum();
        squares.sqrt() / self.rows.iter().map(|row| row.weight).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// Judges scores, one list an output, against the targets (numbers or class numbers) of the rows.
pub fn judge(scores: &[Vec<f64>], codings: &[Coding], targets: &[(f64, f64)], loss: AnyLoss) -> Verdict {
    let calibrations: Vec<Calibration> =
        scores.iter().zip(codings).map(|(scores, coding)| calibrate(scores, coding, targets)).collect();
    let single = codings.len() == 1;
    let row = |(number, &(target, weight)): (usize, &(f64, f64))| {
        let margins: Vec<f64> = scores.iter().zip(&calibrations).map(|(list, fit)| fit.apply(list[number])).collect();
        let losses = margins.iter().zip(codings).map(|(&margin, coding)| match coding.class {
            Some(_) => Logistic.value(margin, coding.code(target)),
            None => loss.value(margin, target),
        });
        let cost = losses.sum::<f64>() / codings.len() as f64;
        let wrong = match codings[0].class {
            None => false,
            Some(_) if single => (margins[0] > 0.0) != (codings[0].code(target) > 0.0),
            Some(_) => codings[crate::model::best_class(&margins)].class != Some(target),
        };
        RowVerdict { loss: cost, wrong, weight }
    };
    let rows: Vec<RowVerdict> = targets.iter().enumerate().map(row).collect();
    let total: f64 = rows.iter().map(|row| row.weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean =
        |number: &dyn Fn(&RowVerdict) -> f64| rows.iter().map(|row| row.weight * number(row)).sum::<f64>() / total;
    let error = codings[0].class.map(|_| mean(&|row| f64::from(u8::from(row.wrong))));
    Verdict { calibrations, loss: mean(&|row| row.loss), error, rows }
}

fn calibrate(scores: &[f64], coding: &Coding, targets: &[(f64, f64)]) -> Calibration {
    let scored =
        |(&score, &(target, weight)): (&f64, &(f64, f64))| Scored { score, target: coding.code(target), weight };
    let rows: Vec<Scored> = scores.iter().zip(targets).map(scored).collect();
    match coding.class {
        Some(_) => logistic(&rows),
        None => linear(&rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    fn class(number: f64) -> Coding {
        Coding { class: Some(number), class_weights: [1.0; 2] }
    }

    #[test]
    fn two_classes_are_judged_by_sign() {
        let scores = vec![vec![2.0, 1.0, -1.0, -2.0, 0.1, -0.1]];
        let targets = [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 2.0), (1.0, 0.0)];
        let verdict = judge(&scores, &[class(1.0)], &targets, LossKind::Logistic.build(1.0));
        let wrong: Vec<bool> = verdict.rows.iter().map(|row| row.wrong).collect();
        assert_eq!(&wrong[..4], &[false; 4]);
        let expected = verdict.rows.iter().map(|row| row.weight * f64::from(u8::from(row.wrong))).sum::<f64>() / 6.0;
        assert_eq!(verdict.error, Some(expected));
    }

    #[test]
    fn standard_errors_by_hand() {
        let row = |loss, wrong, weight| RowVerdict { loss, wrong, weight };
        let rows = vec![row(1.0, false, 1.0), row(3.0, true, 1.0), row(2.0, false, 2.0)];
        let verdict = Verdict { calibrations: Vec::new(), loss: 2.0, error: Some(0.25), rows };
        assert_eq!(verdict.loss_deviation(), 2f64.sqrt() / 4.0, "one below, one above, one on the mean");
        let squares = 0.25f64.powi(2) + 0.75f64.powi(2) + 0.5f64.powi(2);
        assert!((verdict.deviation() - squares.sqrt() / 4.0).abs() < 1e-15, "weights count in the deviation too");
        assert_eq!(Verdict { error: None, ..verdict.clone() }.deviation(), verdict.loss_deviation());
    }

    #[test]
    fn many_classes_are_judged_by_the_largest() {
        let own = |class: usize| (0..13).map(|row| if row % 3 == class { 3.0 } else { -1.0 }).collect();
        let scores: Vec<Vec<f64>> = (0..3).map(own).collect();
        // The thirteenth row looks like class 0 and is of class 1.
        let target = |row: usize| if row == 12 { 1.0 } else { (row % 3) as f64 };
        let targets: Vec<(f64, f64)> = (0..13).map(|row| (target(row), 1.0)).collect();
        let codings = [class(0.0), class(1.0), class(2.0)];
        let verdict = judge(&scores, &codings, &targets, LossKind::Logistic.build(1.0));
        assert_eq!(verdict.error, Some(1.0 / 13.0));
    }

    #[test]
    fn numbers_have_no_error() {
        let coding = Coding { class: None, class_weights: [1.0; 2] };
        let targets = [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)];
        let verdict = judge(&[vec![0.0, 0.5, 1.0]], &[coding], &targets, LossKind::Squared.build(1.0));
        assert_eq!(verdict.error, None);
        assert!(verdict.loss < 1e-20, "the scores are the targets up to a line");
    }
}
