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
    /// The confusion matrix: weight of rows by true and predicted class of the model; empty if there are too many classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Vec<f64>>,
}

/// Scores that are kept to rank rows: 400 MB.
const MOST_SCORES: usize = 50_000_000;

/// Classes up to which there is a confusion matrix, which has the square of them as cells.
const MOST_CLASSES: usize = 1000;

/// Collects predictions and their true classes.
pub(super) struct ClassTally {
    /// Weight of rows of each class, of those predicted as it (rows of classes that the model does not know included), and
    /// of those for which both hold.
    own: Vec<f64>,
    predicted: Vec<f64>,
    right: Vec<f64>,
    confusion: Vec<Vec<f64>>,
    /// The true class and the weight of each row.
    rows: Vec<(Option<usize>, f64)>,
    /// The score of each class, row by row.
    scores: Vec<f64>,
}

impl ClassTally {
    pub(super) fn new(classes: usize) -> Self {
        let none = || vec![0.0; classes];
        let side = if classes <= MOST_CLASSES { classes } else { 0 };
        ClassTally {
            own: none(),
            predicted: none(),
            right: none(),
            confusion: vec![none(); side],
            rows: Vec::new(),
            scores: Vec::new(),
        }
    }

    /// Adds a row. Classes are ranked by probability, or by margin where there are none.
    pub(super) fn add(&mut self, predictor: &Predictor, prediction: &Prediction, truth: Option<usize>, weight: f64) {
        let Some(guess) = prediction.class else { return };
        self.count(truth, guess, weight);
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

    fn count(&mut self, truth: Option<usize>, guess: usize, weight: f64) {
        self.predicted[guess] += weight;
        let Some(truth) = truth else { return };
        self.own[truth] += weight;
        if truth == guess {
            self.right[truth] += weight;
        }
        if let Some(row) = self.confusion.get_mut(truth) {
            row[guess] += weight;
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
        let (n, predicted, right) = (self.own[class], self.predicted[class], self.right[class]);
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
        let classes = self.own.len();
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
        for (truth, guess, weight) in
            [(Some(0), 0, 3.0), (Some(0), 1, 1.0), (Some(1), 0, 2.0), (Some(1), 1, 4.0), (None, 0, 1.0)]
        {
            tally.count(truth, guess, weight);
        }
        assert_eq!(tally.confusion, [[3.0, 1.0, 0.0], [2.0, 4.0, 0.0], [0.0; 3]]);
        let metrics = |class| tally.class(class, &Label::Number(class as f64));
        let first = metrics(0);
        assert_eq!((first.n, first.precision, first.recall), (4.0, Some(3.0 / 6.0), Some(0.75)));
        assert_eq!(first.f1, Some(6.0 / 10.0));
        let absent = metrics(2);
        assert_eq!((absent.precision, absent.recall, absent.f1), (None, None, None));
        let means = averages(&[metrics(0), metrics(1), absent]);
        assert_eq!(means.recall, (0.75 + 4.0 / 6.0) / 2.0, "a class that is nowhere has no part in the mean");
    }

    #[test]
    fn many_classes_have_no_matrix() {
        let mut tally = ClassTally::new(MOST_CLASSES + 1);
        tally.count(Some(MOST_CLASSES), MOST_CLASSES, 2.0);
        assert!(tally.confusion.is_empty());
        assert_eq!(tally.class(MOST_CLASSES, &Label::Number(1.0)).recall, Some(1.0));
    }
}
