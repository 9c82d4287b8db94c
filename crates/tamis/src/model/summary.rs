//! Facts about a model that all front ends show: the metric to quote, its held-out estimate, selection frequencies, and
//! the format of counts. Front ends put them into sentences, tables and pages.

use std::collections::BTreeMap;

use super::{Feature, Model, SizePath, SizePoint, Task};
use crate::loss::EvalMetric;

/// Features with at least this selection frequency are called stable: half-way between chance and certainty.
pub const STABLE: f64 = 0.75;

/// Standard errors on either side of an interval of 95 %.
const Z: f64 = 1.96;

/// The metric that is quoted for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadlineMetric {
    /// The share of misclassified rows.
    Error,
    /// The root mean squared error.
    Rmse,
    /// The mean loss.
    Loss,
}

impl HeadlineMetric {
    /// The metric for a model: the error of a classifier, the RMSE of a regression by squared loss, else the loss.
    pub fn of(model: &Model) -> Self {
        match (&model.task, model.loss.facts().metric) {
            (Task::Classes(_), _) => HeadlineMetric::Error,
            (Task::Regression, Some(EvalMetric::SquaredError)) => HeadlineMetric::Rmse,
            (Task::Regression, _) => HeadlineMetric::Loss,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            HeadlineMetric::Error => "error",
            HeadlineMetric::Rmse => "RMSE",
            HeadlineMetric::Loss => "loss",
        }
    }

    /// The held-out estimate of a point of the size path.
    pub fn estimate(self, step: &SizePoint) -> Estimate {
        match (self, step.error) {
            (HeadlineMetric::Error, Some(error)) => Estimate::around(error, step.standard_error),
            (HeadlineMetric::Rmse, _) => Estimate::around(step.loss.max(0.0), step.standard_error).root(),
            _ => Estimate::around(step.loss, step.standard_error),
        }
    }
}

/// A held-out estimate with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
}

impl Estimate {
    fn around(value: f64, standard_error: f64) -> Self {
        let half = Z * standard_error;
        Estimate { value, standard_error, low: (value - half).max(0.0), high: value + half }
    }

    /// The estimate of the square root: the interval is transformed, the standard error follows by the delta method.
    fn root(self) -> Self {
        let value = self.value.sqrt();
        let standard_error = self.standard_error / (2.0 * value).max(f64::MIN_POSITIVE);
        Estimate { value, standard_error, low: self.low.sqrt(), high: self.high.sqrt() }
    }
}

/// The points of the size path whose held-out estimates apply to a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldOut<'a> {
    /// The model is this point: the estimate is its own.
    Own(&'a SizePoint),
    /// The model lies between two points and has no estimate of its own.
    Nearest {
        /// The next larger point.
        larger: &'a SizePoint,
        /// The next smaller point, if there is one.
        smaller: Option<&'a SizePoint>,
    },
}

impl<'a> HeldOut<'a> {
    /// The estimates for a model with this size path.
    pub fn of(model: &Model, size_path: &'a SizePath) -> Self {
        let (path, size) = (&size_path.sizes, model.nonzeros());
        let chosen = &path[size_path.chosen];
        if chosen.outputs == model.outputs {
            return HeldOut::Own(chosen);
        }
        let larger = path.iter().rfind(|step| step.size > size).unwrap_or(chosen);
        HeldOut::Nearest { larger, smaller: path.iter().find(|step| step.size < size) }
    }

    /// The point that the model is.
    pub fn own(self) -> Option<&'a SizePoint> {
        match self {
            HeldOut::Own(step) => Some(step),
            HeldOut::Nearest { .. } => None,
        }
    }
}

impl Feature {
    /// Weight times scale: the change of the score for a typical change of the feature.
    pub fn effect(&self) -> f64 {
        self.weight * self.scale
    }
}

/// The selection frequency of each feature, the largest over all outputs, in decreasing order.
pub fn selection_frequencies(model: &Model) -> Vec<f64> {
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for feature in model.outputs.iter().flat_map(|output| &output.features) {
        let Some(frequency) = feature.frequency else { continue };
        let known = best.entry(&feature.name).or_insert(frequency);
        *known = known.max(frequency);
    }
    let mut list: Vec<f64> = best.into_values().collect();
    list.sort_by(|a, b| b.total_cmp(a));
    list
}

/// The number of features with at least this selection frequency.
pub fn at_least(frequencies: &[f64], cutoff: f64) -> usize {
    frequencies.iter().filter(|&&frequency| frequency >= cutoff - 1e-9).count()
}

/// A q-value with as many digits as people read; tiny ones as a bound.
pub fn q_text(q: f64) -> String {
    match q {
        q if q < 0.001 => "<0.001".into(),
        q if q < 0.01 => format!("{q:.3}"),
        q => format!("{q:.2}"),
    }
}

/// A count with its noun: "1 feature", "1,234 features".
pub fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A count with a comma between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(loss: f64, error: Option<f64>, standard_error: f64) -> SizePoint {
        SizePoint {
            size: 3,
            gravity: 0.0,
            loss,
            error,
            standard_error,
            selected: 3.0,
            outputs: Vec::new(),
            cuts: Vec::new(),
            is_cut: false,
        }
    }

    #[test]
    fn an_estimate_has_an_interval_that_stays_above_zero() {
        let found = HeadlineMetric::Error.estimate(&step(0.3, Some(0.02), 0.02));
        assert_eq!((found.value, found.standard_error, found.low), (0.02, 0.02, 0.0));
        assert!((found.high - 0.0592).abs() < 1e-12);
        let found = HeadlineMetric::Loss.estimate(&step(0.3, Some(0.02), 0.01));
        assert_eq!((found.value, found.standard_error), (0.3, 0.01));
    }

    #[test]
    fn an_rmse_is_the_root_of_the_loss() {
        let found = HeadlineMetric::Rmse.estimate(&step(4.0, None, 1.0));
        assert_eq!((found.value, found.standard_error), (2.0, 0.25));
        assert!((found.low - 2.04f64.sqrt()).abs() < 1e-12 && (found.high - 5.96f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_frequency_at_the_cut_off_counts() {
        assert_eq!(at_least(&[1.0, 0.75, 0.7499], STABLE), 2);
    }

    #[test]
    fn counts_and_q_values_are_written_for_people() {
        assert_eq!([7, 1_000, 1_234_567].map(count), ["7", "1,000", "1,234,567"]);
        assert_eq!([0, 1, 1000].map(|number| plural(number, "row")), ["0 rows", "1 row", "1,000 rows"]);
        assert_eq!([0.0002, 0.0044, 0.08, 1.0].map(q_text), ["<0.001", "0.004", "0.08", "1.00"]);
    }
}
