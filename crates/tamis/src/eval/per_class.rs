//! Precision, recall, F1 and the area under the precision-recall curve of each class, and the confusion matrix.
//!
//! ```text
//! precision = TP/(TP + FP)    recall = TP/(TP + FN)    F1 = 2·TP/(2·TP + FP + FN)    PR-AUC = Σ (Rᵢ − Rᵢ₋₁)·Pᵢ
//! ```
//! The PR-AUC is the average precision: the sum goes over the distinct scores of the class, from the highest on. The
//! macro average is the mean over the classes that occur as truth or as prediction; a share without a denominator counts
//! as 0 in it.

use serde::Serialize;

use crate::data::Label;
use crate::model::{Model, Prediction, Predictor};

/// The metrics of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassMetrics {
    /// The class.
    pub class: Label,
    /// The weight of its rows.
    pub n: f64,
    /// The share of right ones among the rows predicted as this class; `None` if there are none.
    pub precision: Option<f64>,
    /// The share of its rows that are predicted as this class; `None` if it has none.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall; `None` if the class neither occurs nor is predicted.
    pub f1: Option<f64>,
    /// The area under the precision-recall curve; `None` if it has no rows, or there are too many rows to rank.
    pub pr_auc: Option<f64>,
}

/// Means over classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MacroAverages {
    /// Of the precision.
    pub precision: f64,
    /// Of the recall.
    pub recall: f64,
    /// Of F1.
    pub f1: f64,
    /// Of the area under the precision-recall curve, over the classes that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_auc: Option<f64>,
}

/// The evaluation of a classifier class by class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassReport {
    /// The metrics of each class of the model.
    pub classes: Vec<ClassMetrics>,
    /// Their means.
    #[serde(rename = "macro")]
    pub averages: MacroAverages,
    /// The confusion matrix: weight of rows by true and predicted class of the model.
    pub confusion: Vec<Vec<f64>>,
}

/// Scores that are kept to rank rows: 400 MB.
const MOST_SCORES: usize = 50_000_000;

/// Collects predictions and their true classes.
pub(super) struct ClassTally {
    confusion: Vec<Vec<f64>>,
    /// Weight of rows of classes that the model does not know, by predicted class.
    unknown: Vec<f64>,
    /// The true class and the weight of each row.
    rows: Vec<(Option<usize>, f64)>,
    /// The score of each class, row by row.
    scores: Vec<f64>,
}

impl ClassTally {
    pub(super) fn new(classes: usize) -> Self {
        let confusion = vec![vec![0.0; classes]; classes];
        ClassTally { confusion, unknown: vec![0.0; classes], rows: Vec::new(), scores: Vec::new() }
    }

    /// Adds a row. Classes are ranked by probability, or by margin where there are none.
    pub(super) fn add(&mut self, predictor: &Predictor, prediction: &Prediction, truth: Option<usize>, weight: f64) {
        let Some(guess) = prediction.class else { return };
        match truth {
            Some(truth) => self.confusion[truth][guess] += weight,
            None => self.unknown[guess] += weight,
        }
        self.rows.push((truth, weight));
        if self.scores.len() >= MOST_SCORES {
            return;
        }
        match (predictor.probabilities(&prediction.margins), &prediction.margins[..]) {
            (Some(probabilities), margins) if margins.len() > 1 => self.scores.extend(probabilities),
            (_, [margin]) => self.scores.extend([-margin, *margin]),
            (_, margins) => self.scores.extend(margins),
        }
    }

    /// The report, if the model predicts classes.
    pub(super) fn report(&self, model: &Model) -> Option<ClassReport> {
        let names = model.classes();
        let classes: Vec<ClassMetrics> = names.iter().enumerate().map(|(at, name)| self.class(at, name)).collect();
        (!classes.is_empty()).then(|| ClassReport {
            averages: averages(&classes),
            classes,
            confusion: self.confusion.clone(),
        })
    }

    fn class(&self, class: usize, name: &Label) -> ClassMetrics {
        let right = self.confusion[class][class];
        let n: f64 = self.confusion[class].iter().sum();
        let predicted: f64 = self.confusion.iter().map(|row| row[class]).sum::<f64>() + self.unknown[class];
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        ClassMetrics {
            class: name.clone(),
            n,
            precision: share(right, predicted),
            recall: share(right, n),
            f1: share(2.0 * right, n + predicted),
            pr_auc: self.pr_auc(class),
        }
    }

    fn pr_auc(&self, class: usize) -> Option<f64> {
        let classes = self.confusion.len();
        if self.scores.len() < self.rows.len() * classes {
            return None;
        }
        let score = |row: usize| self.scores[row * classes + class];
        let ranked = self.rows.iter().enumerate();
        let ranked: Vec<_> = ranked.map(|(row, &(truth, weight))| (truth == Some(class), score(row), weight)).collect();
        average_precision(ranked)
    }
}

/// The weighted average precision of (is positive, score, weight). `None` without positives.
fn average_precision(mut ranked: Vec<(bool, f64, f64)>) -> Option<f64> {
    let positives: f64 = ranked.iter().filter(|row| row.0).map(|row| row.2).sum();
    if positives <= 0.0 {
        return None;
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (mut area, mut right, mut all) = (0.0, 0.0, 0.0);
    for ties in ranked.chunk_by(|a, b| a.1 == b.1) {
        let gained: f64 = ties.iter().filter(|row| row.0).map(|row| row.2).sum();
        all += ties.iter().map(|row| row.2).sum::<f64>();
        right += gained;
        if all > 0.0 {
            area += gained / positives * right / all;
        }
    }
    Some(area)
}

fn averages(classes: &[ClassMetrics]) -> MacroAverages {
    let seen: Vec<&ClassMetrics> = classes.iter().filter(|class| class.f1.is_some()).collect();
    let mean = |value: &dyn Fn(&ClassMetrics) -> Option<f64>| {
        seen.iter().map(|class| value(class).unwrap_or(0.0)).sum::<f64>() / seen.len().max(1) as f64
    };
    let areas: Vec<f64> = classes.iter().filter_map(|class| class.pr_auc).collect();
    MacroAverages {
        precision: mean(&|class| class.precision),
        recall: mean(&|class| class.recall),
        f1: mean(&|class| class.f1),
        pr_auc: (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_precision_by_hand() {
        let rows = |pairs: &[(bool, f64)]| pairs.iter().map(|&(truth, score)| (truth, score, 1.0)).collect::<Vec<_>>();
        // Positives at ranks 1 and 3: ½·1 + ½·⅔.
        let found = average_precision(rows(&[(true, 0.9), (false, 0.8), (true, 0.7), (false, 0.1)])).unwrap();
        assert!((found - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-15);
        assert_eq!(average_precision(rows(&[(true, 0.5), (false, 0.5)])), Some(0.5), "ties are one step");
        assert_eq!(average_precision(rows(&[(false, 0.5)])), None);
        let heavy = average_precision(vec![(false, 2.0, 3.0), (true, 1.0, 1.0)]).unwrap();
        assert_eq!(heavy, 0.25, "a row of weight three counts three times");
    }

    #[test]
    fn shares_by_hand() {
        let mut tally = ClassTally::new(3);
        tally.confusion = vec![vec![3.0, 1.0, 0.0], vec![2.0, 4.0, 0.0], vec![0.0, 0.0, 0.0]];
        tally.unknown = vec![1.0, 0.0, 0.0];
        let metrics = |class| tally.class(class, &Label::Number(class as f64));
        let first = metrics(0);
        assert_eq!((first.n, first.precision, first.recall), (4.0, Some(3.0 / 6.0), Some(0.75)));
        assert_eq!(first.f1, Some(6.0 / 10.0));
        let absent = metrics(2);
        assert_eq!((absent.precision, absent.recall, absent.f1), (None, None, None));
        let means = averages(&[metrics(0), metrics(1), absent]);
        assert_eq!(means.recall, (0.75 + 4.0 / 6.0) / 2.0, "a class that is nowhere has no part in the mean");
    }
}
