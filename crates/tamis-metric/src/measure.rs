//! A metric on a stream of labelled rows: error, balanced error and area under the curve, by vote and by f_W.

use serde::Serialize;

use super::MetricError;
use super::learned::{Answer, Metric};
use super::vote::Verdict;
use tamis::data::Label;
use tamis::eval::auc;
use tamis::read::RowSource;

/// How good one way to classify is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClassMeasures {
    /// Share of wrong rows.
    pub error: f64,
    /// The mean over classes of the share of wrong rows.
    pub balanced_error: f64,
    /// Area under the ROC curve, for two classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
}

/// How good a metric is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MetricMeasures {
    /// Rows.
    pub n: usize,
    /// k-NN under the metric.
    #[serde(flatten)]
    pub vote: ClassMeasures,
    /// The base classifier f_W.
    pub base: ClassMeasures,
}

impl ClassMeasures {
    /// Measures of true classes with verdicts.
    pub(super) fn of(judged: &[(usize, Verdict)], classes: usize) -> Self {
        let (mut rows, mut wrong) = (vec![0.0; classes], vec![0.0; classes]);
        for (truth, verdict) in judged {
            rows[*truth] += 1.0;
            wrong[*truth] += f64::from(verdict.class != *truth);
        }
        let met: Vec<usize> = (0..classes).filter(|&class| rows[class] > 0.0).collect();
        let balanced = met.iter().map(|&class| wrong[class] / rows[class]).sum::<f64>() / met.len().max(1) as f64;
        let ranks: Vec<_> = judged.iter().map(|(truth, verdict)| (*truth == 1, verdict.score, 1.0)).collect();
        ClassMeasures {
            error: wrong.iter().sum::<f64>() / judged.len().max(1) as f64,
            balanced_error: balanced,
            auc: if classes == 2 { auc(&ranks) } else { None },
        }
    }
}

impl Metric {
    /// Measures the metric on a stream of labelled rows.
    pub fn measure(&self, stream: &mut dyn RowSource) -> Result<MetricMeasures, MetricError> {
        let dictionary = self.dictionary();
        let mut judged: Vec<(usize, Answer)> = Vec::new();
        while let Some(block) = stream.next_block()? {
            let answers = self.classify(&self.embed(&block.rows, &dictionary));
            for (row, answer) in answers.into_iter().enumerate() {
                let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
                judged.push((self.class_number(&block.rows.labels[row], place)?, answer));
            }
        }
        if judged.is_empty() {
            return Err(MetricError::NoRows);
        }
        let of = |way: fn(&Answer) -> Verdict| {
            let verdicts: Vec<_> = judged.iter().map(|(truth, answer)| (*truth, way(answer))).collect();
            ClassMeasures::of(&verdicts, self.classes.len())
        };
        Ok(MetricMeasures { n: judged.len(), vote: of(|answer| answer.vote), base: of(|answer| answer.base) })
    }

    fn class_number(&self, label: &Label, place: impl Fn() -> String) -> Result<usize, MetricError> {
        if *label == Label::Absent {
            return Err(tamis::train::TrainError::NoLabel { place: place() }.into());
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
        let row = |truth, class, score| (truth, Verdict { class, score });
        let rows = [row(0, 0, 0.1), row(0, 0, 0.2), row(0, 1, 0.6), row(1, 1, 0.9), row(1, 0, 0.4)];
        let measures = ClassMeasures::of(&rows, 2);
        assert!((measures.error - 0.4).abs() < 1e-12);
        assert!((measures.balanced_error - (1.0 / 3.0 + 0.5) / 2.0).abs() < 1e-12);
        assert_eq!(measures.auc, Some(5.0 / 6.0));
        assert_eq!(ClassMeasures::of(&rows, 3).auc, None);
    }
}
