//! Evaluation on labelled rows: error, balanced error and area under the ROC curve, of k-NN and of f_W.

use serde::Serialize;

use super::MetricError;
use super::classify::ClassScore;
use super::metric::{Metric, Prediction};
use tamis::data::Label;
use tamis::eval::auc;
use tamis::io::RowSource;

/// Error rates of one classifier.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ErrorRates {
    /// The error rate.
    pub error: f64,
    /// The mean of the error rates of the classes.
    pub balanced_error: f64,
    /// Area under the ROC curve, for two classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
}

/// The evaluation of a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// Number of rows.
    pub n: usize,
    /// k-NN under the metric.
    #[serde(flatten)]
    pub vote: ErrorRates,
    /// The base classifier f_W.
    pub base: ErrorRates,
}

impl ErrorRates {
    /// Error rates of predictions, each beside the true class.
    pub(super) fn of(rows_scored: &[(usize, ClassScore)], classes: usize) -> Self {
        let (mut rows, mut wrong) = (vec![0.0; classes], vec![0.0; classes]);
        for (truth, found) in rows_scored {
            rows[*truth] += 1.0;
            wrong[*truth] += f64::from(found.class != *truth);
        }
        let met: Vec<usize> = (0..classes).filter(|&class| rows[class] > 0.0).collect();
        let balanced = met.iter().map(|&class| wrong[class] / rows[class]).sum::<f64>() / met.len().max(1) as f64;
        let ranks: Vec<_> = rows_scored.iter().map(|(truth, found)| (*truth == 1, found.score, 1.0)).collect();
        ErrorRates {
            error: wrong.iter().sum::<f64>() / rows_scored.len().max(1) as f64,
            balanced_error: balanced,
            auc: if classes == 2 { auc(&ranks) } else { None },
        }
    }
}

impl Metric {
    /// Evaluates the metric on labelled rows.
    pub fn evaluate(&self, stream: &mut dyn RowSource) -> Result<Evaluation, MetricError> {
        let vocabulary = self.vocabulary();
        let mut rows_scored: Vec<(usize, Prediction)> = Vec::new();
        while let Some(block) = stream.next_block()? {
            let answers = self.predict(&self.transform(&block.rows, &vocabulary));
            for (row, answer) in answers.into_iter().enumerate() {
                let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
                rows_scored.push((self.class_number(&block.rows.labels[row], place)?, answer));
            }
        }
        if rows_scored.is_empty() {
            return Err(MetricError::NoRows);
        }
        let of = |way: fn(&Prediction) -> ClassScore| {
            let scores: Vec<_> = rows_scored.iter().map(|(truth, answer)| (*truth, way(answer))).collect();
            ErrorRates::of(&scores, self.classes.len())
        };
        Ok(Evaluation { n: rows_scored.len(), vote: of(|answer| answer.vote), base: of(|answer| answer.base) })
    }

    fn class_number(&self, label: &Label, place: impl Fn() -> String) -> Result<usize, MetricError> {
        if *label == Label::Absent {
            return Err(tamis::data::TargetError::NoLabel { place: place() }.into());
        }
        self.classes.iter().position(|class| class == label).ok_or_else(|| {
            let known: Vec<String> = self.classes.iter().map(ToString::to_string).collect();
            MetricError::UnknownLabel { place: place(), found: label.to_string(), known: known.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        let row = |truth, class, score| (truth, ClassScore { class, score });
        let rows = [row(0, 0, 0.1), row(0, 0, 0.2), row(0, 1, 0.6), row(1, 1, 0.9), row(1, 0, 0.4)];
        let rates = ErrorRates::of(&rows, 2);
        assert!((rates.error - 0.4).abs() < 1e-12);
        assert!((rates.balanced_error - (1.0 / 3.0 + 0.5) / 2.0).abs() < 1e-12);
        assert_eq!(rates.auc, Some(5.0 / 6.0));
        assert_eq!(ErrorRates::of(&rows, 3).auc, None);
    }
}
