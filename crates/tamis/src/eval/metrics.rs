//! Error, AUC, log loss, RMSE, R² and mean loss of predictions.

use serde::{Deserialize, Serialize};

/// A prediction with its true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scored {
    /// A number: truth, prediction.
    Number(f64, f64),
    /// A class: whether it was right; for two classes the truth (second or not), score and probability.
    Class {
        /// Whether the predicted class is the true one.
        right: bool,
        /// The probability of the true class, if the loss gives one; 0 for a class that the model does not know.
        true_probability: Option<f64>,
        /// Two classes: is it the second, the score for the second, its probability if the loss gives one.
        binary: Option<(bool, f64, Option<f64>)>,
    },
}

/// The measures that apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Rows.
    pub n: u64,
    /// Share of wrong classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Area under the ROC curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// Mean −ln(probability of the true class).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Root mean squared error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Share of the variance explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// The mean of the model's loss, for losses that none of the others is the mean of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

impl Metrics {
    /// Metrics of weighted predictions.
    pub fn of(scored: &[(Scored, f64)]) -> Metrics {
        let total: f64 = scored.iter().map(|(_, weight)| weight).sum();
        let n = scored.len() as u64;
        let numbers: Vec<(f64, f64, f64)> = scored
            .iter()
            .filter_map(|&(one, weight)| match one {
                Scored::Number(truth, guess) => Some((truth, guess, weight)),
                Scored::Class { .. } => None,
            })
            .collect();
        if !numbers.is_empty() {
            return Self::of_numbers(n, &numbers, total);
        }
        let wrong = |&(one, weight): &(Scored, f64)| match one {
            Scored::Class { right: false, .. } => weight,
            _ => 0.0,
        };
        let ranks: Vec<(bool, f64, f64)> = scored
            .iter()
            .filter_map(|&(one, weight)| match one {
                Scored::Class { binary: Some((truth, score, _)), .. } => Some((truth, score, weight)),
                _ => None,
            })
            .collect();
        let error = (total > 0.0).then(|| scored.iter().map(wrong).sum::<f64>() / total);
        Metrics { n, error, auc: auc(&ranks), log_loss: log_loss(scored, total), ..Metrics::default() }
    }

    fn of_numbers(n: u64, numbers: &[(f64, f64, f64)], total: f64) -> Metrics {
        let mean = numbers.iter().map(|(truth, _, weight)| truth * weight).sum::<f64>() / total;
        let squares: f64 = numbers.iter().map(|(truth, guess, weight)| weight * (truth - guess).powi(2)).sum();
        let spread: f64 = numbers.iter().map(|(truth, _, weight)| weight * (truth - mean).powi(2)).sum();
        let rmse = (total > 0.0).then(|| (squares / total).sqrt());
        Metrics { n, rmse, r2: (spread > 0.0).then(|| 1.0 - squares / spread), ..Metrics::default() }
    }
}

/// −ln of the probability of the true class, kept within 1e-15 of 0 and 1.
pub(super) fn log_loss_of(true_probability: f64) -> f64 {
    -true_probability.clamp(1e-15, 1.0 - 1e-15).ln()
}

/// The mean of [`log_loss_of`]; `None` if the loss gives no probabilities.
fn log_loss(scored: &[(Scored, f64)], total: f64) -> Option<f64> {
    let mut sum = 0.0;
    for &(one, weight) in scored {
        let Scored::Class { true_probability, .. } = one else { return None };
        sum += weight * log_loss_of(true_probability?);
    }
    (!scored.is_empty() && total > 0.0).then(|| sum / total)
}

/// Weighted area under the ROC curve of (is positive, score, weight); ties count half. `None` with a single class.
pub fn auc(scored: &[(bool, f64, f64)]) -> Option<f64> {
    let mut sorted = scored.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut area, mut below, mut at) = (0.0, 0.0, 0);
    // A score that is not a number is a tie with itself: the loop must end for any scores.
    let is_tie = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    while at < sorted.len() {
        let end = at + sorted[at..].iter().take_while(|row| is_tie(row.1, sorted[at].1)).count();
        let weight = |wanted: bool| sorted[at..end].iter().filter(|row| row.0 == wanted).map(|row| row.2).sum::<f64>();
        let (positive, negative) = (weight(true), weight(false));
        area += positive * (below + 0.5 * negative);
        below += negative;
        at = end;
    }
    let positives: f64 = scored.iter().filter(|row| row.0).map(|row| row.2).sum();
    (positives > 0.0 && below > 0.0).then(|| area / (positives * below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_by_hand() {
        let rows = |pairs: &[(bool, f64)]| pairs.iter().map(|&(t, s)| (t, s, 1.0)).collect::<Vec<_>>();
        assert_eq!(auc(&rows(&[(false, 0.1), (true, 0.4), (false, 0.35), (true, 0.8)])), Some(1.0));
        assert_eq!(auc(&rows(&[(true, 0.1), (false, 0.4), (true, 0.35), (false, 0.2)])), Some(0.25));
        assert_eq!(auc(&rows(&[(true, 0.5), (false, 0.5)])), Some(0.5));
        assert_eq!(auc(&rows(&[(true, 0.5)])), None);
        assert_eq!(auc(&rows(&[(true, 0.0), (false, -0.0)])), Some(0.5));
        assert!(auc(&rows(&[(true, f64::NAN), (false, 0.1), (false, -f64::NAN)])).is_some(), "it ends");
    }

    #[test]
    fn classes_by_hand() {
        let row = |truth, probability: f64| {
            let right = truth == (probability > 0.5);
            let true_probability = Some(if truth { probability } else { 1.0 - probability });
            (Scored::Class { right, true_probability, binary: Some((truth, probability, Some(probability))) }, 1.0)
        };
        let measures = Metrics::of(&[row(true, 0.8), row(false, 0.6), row(false, 0.25), row(true, 0.5)]);
        assert_eq!(measures.error, Some(0.5));
        let expected = -(0.8f64.ln() + 0.4f64.ln() + 0.75f64.ln() + 0.5f64.ln()) / 4.0;
        assert!((measures.log_loss.unwrap() - expected).abs() < 1e-15);
        assert_eq!(measures.auc, Some(0.75));
        assert_eq!(measures.rmse, None);
    }

    #[test]
    fn several_classes_have_a_log_loss() {
        let row = |probability: Option<f64>| {
            (Scored::Class { right: true, true_probability: probability, binary: None }, 1.0)
        };
        let found = Metrics::of(&[row(Some(0.5)), row(Some(0.25))]);
        assert!((found.log_loss.unwrap() - 1.5 * 2f64.ln()).abs() < 1e-15 && found.auc.is_none());
        assert_eq!(Metrics::of(&[row(None), row(Some(0.5))]).log_loss, None);
    }

    #[test]
    fn numbers_by_hand() {
        let rows = [(1.0, 1.0), (2.0, 3.0), (3.0, 3.0)].map(|(truth, guess)| (Scored::Number(truth, guess), 1.0));
        let measures = Metrics::of(&rows);
        assert!((measures.rmse.unwrap() - (1f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(measures.r2, Some(0.5));
    }
}
