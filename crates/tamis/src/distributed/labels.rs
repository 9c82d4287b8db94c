//! The labels of a part of the rows: how often each occurs, and the moments of numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::DistributedError;
use crate::data::{Label, LabelKey, LabelStats, RawRows, TargetError};

/// Distinct labels that are counted: one more than a model may have classes.
const MOST: usize = 10_001;

/// The labels of some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LabelSurvey {
    labels: BTreeMap<LabelKey, SeenLabel>,
    pub(super) rows: u64,
    pub(super) weight: f64,
    mean: f64,
    sum_of_squares: f64,
}

/// A label, the number of its rows and the sum of their weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SeenLabel {
    label: Label,
    rows: u64,
    weight: f64,
}

/// The survey as JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct LabelRecord {
    labels: Vec<SeenLabel>,
    rows: u64,
    sums: [f64; 3],
}

impl LabelSurvey {
    /// Observes row `row`.
    pub(super) fn observe(&mut self, rows: &RawRows, row: usize) -> Result<(), DistributedError> {
        let (label, weight) = (&rows.labels[row], rows.weight(row));
        if *label == Label::Absent {
            return Err(TargetError::NoLabel { place: "rows".into() }.into());
        }
        self.rows += 1;
        self.weight += weight;
        if let Label::Number(number) = label {
            let shift = number - self.mean;
            self.mean += shift / self.rows as f64;
            self.sum_of_squares += shift * (number - self.mean);
        }
        self.count(SeenLabel { label: label.clone(), rows: 1, weight });
        Ok(())
    }

    fn count(&mut self, new: SeenLabel) {
        let key = LabelKey::from(&new.label);
        if let Some(seen) = self.labels.get_mut(&key) {
            seen.rows += new.rows;
            seen.weight += new.weight;
        } else if self.labels.len() < MOST {
            self.labels.insert(key, new);
        }
    }

    /// Adds the labels of other rows.
    pub(super) fn merge(&mut self, other: LabelSurvey) {
        let (rows, shift) = ((self.rows + other.rows).max(1) as f64, other.mean - self.mean);
        self.sum_of_squares += other.sum_of_squares + shift * shift * self.rows as f64 * other.rows as f64 / rows;
        self.mean += shift * other.rows as f64 / rows;
        self.rows += other.rows;
        self.weight += other.weight;
        other.labels.into_values().for_each(|seen| self.count(seen));
    }

    /// As the library decides about tasks.
    pub(super) fn stats(&self) -> Result<LabelStats, TargetError> {
        let counts = self.labels.values().map(|seen| (seen.label.clone(), seen.rows));
        LabelStats::from_counts(counts, self.rows, [self.mean, self.sum_of_squares], "the rows")
    }

    /// The rows and the weight of a label.
    pub(super) fn of(&self, label: &Label) -> (u64, f64) {
        self.labels.get(&LabelKey::from(label)).map_or((0, 0.0), |seen| (seen.rows, seen.weight))
    }

    pub(super) fn record(&self) -> LabelRecord {
        let sums = [self.weight, self.mean, self.sum_of_squares];
        LabelRecord { labels: self.labels.values().cloned().collect(), rows: self.rows, sums }
    }
}

impl From<LabelRecord> for LabelSurvey {
    fn from(record: LabelRecord) -> Self {
        let [weight, mean, sum_of_squares] = record.sums;
        let labels = record.labels.into_iter().map(|seen| (LabelKey::from(&seen.label), seen)).collect();
        LabelSurvey { labels, rows: record.rows, weight, mean, sum_of_squares }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(labels: &[Label]) -> RawRows {
        let mut rows = RawRows::by_index();
        for (line, label) in labels.iter().enumerate() {
            rows.end_row(label.clone(), 1.0 + line as f64, line as u32);
        }
        rows
    }

    fn survey(labels: &[Label]) -> LabelSurvey {
        let mut found = LabelSurvey::default();
        (0..labels.len()).for_each(|row| found.observe(&rows(labels), row).unwrap());
        found
    }

    #[test]
    fn parts_merge_by_hand() {
        let number = Label::Number;
        let mut one = survey(&[number(1.0), number(2.0), number(2.0)]);
        one.merge(survey(&[number(5.0), number(2.0)]));
        assert_eq!((one.rows, one.weight, one.mean), (5, 9.0, 2.4));
        assert!((one.sum_of_squares - (1.4f64.powi(2) + 3.0 * 0.16 + 2.6f64.powi(2))).abs() < 1e-12);
        assert_eq!((one.of(&number(2.0)), one.of(&number(9.0))), ((3, 7.0), (0, 0.0)));
        let text = serde_json::to_string(&one.record()).unwrap();
        assert_eq!(LabelSurvey::from(serde_json::from_str::<LabelRecord>(&text).unwrap()), one);
    }

    #[test]
    fn a_row_without_label_is_refused() {
        let missing = LabelSurvey::default().observe(&rows(&[Label::Absent]), 0);
        assert_eq!(missing.unwrap_err().to_string(), "rows: the row has no label");
    }
}
