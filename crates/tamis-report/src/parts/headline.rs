//! The metric quoted at the top of a page: its value, its interval, and the rows it was measured on.

use tamis::eval::{Evaluation, Interval};
use tamis::model::Model;
use tamis::model::kernel::KernelScore;
use tamis::model::summary::{HeadlineMetric, HeldOut, count};
use tamis::recipe::Provenance;

use crate::html::{Html, prose};
use crate::table::{per_cent, short_number};

/// A value of a metric as text: errors in per cent.
pub fn written(metric: HeadlineMetric, value: f64) -> String {
    if metric == HeadlineMetric::Error { per_cent(value) } else { short_number(value) }
}

/// A value and its interval as text.
pub fn with_interval(metric: HeadlineMetric, value: Interval) -> String {
    let [value, low, high] = [value.value, value.low, value.high].map(|value| written(metric, value));
    format!("{value} ({low} to {high})")
}

/// The held-out estimate of a step of the size path.
pub fn interval(metric: HeadlineMetric, step: &tamis::model::SizePoint) -> Interval {
    let found = metric.estimate(step);
    Interval { value: found.value, low: found.low, high: found.high }
}

/// Standard errors on either side of an interval of 95 %.
const Z: f64 = 1.96;

/// The held-out error of classes, or the RMSE of numbers, with its interval.
pub fn kernel_interval(score: &KernelScore) -> Interval {
    let around = |value: f64, deviation: f64| Interval {
        value,
        low: (value - Z * deviation).max(0.0),
        high: value + Z * deviation,
    };
    match (score.error, score.error_se) {
        (Some(error), Some(deviation)) => around(error, deviation),
        _ => {
            let rmse = score.loss.max(0.0).sqrt();
            around(rmse, rmse * score.squared_se / (2.0 * score.squared).max(f64::MIN_POSITIVE))
        }
    }
}

/// The best known estimate of a model's quality.
pub struct Headline {
    /// The metric.
    pub metric: HeadlineMetric,
    value: Interval,
    has_interval: bool,
    /// The rows it was measured on.
    pub measured_on: Html,
}

impl Headline {
    /// The headline of a model: measured on other data if there is any, else on held-out rows of the training data, else by
    /// progressive validation.
    pub fn of(model: &Model, evaluation: Option<(&str, &Evaluation)>) -> Option<Headline> {
        let metric = HeadlineMetric::of(model);
        if let Some((name, found)) = evaluation
            && let Some(value) = found.error.or(found.rmse)
        {
            let metric = if found.error.is_some() { HeadlineMetric::Error } else { HeadlineMetric::Rmse };
            let measured_on = prose("on the {} rows of `{}`", &[&count(found.measures.n), name]);
            return Some(Headline { metric, value, has_interval: true, measured_on });
        }
        if let Some(size_path) = &model.size_path {
            let value = interval(metric, HeldOut::of(model, size_path).own()?);
            return Some(Headline { metric, value, has_interval: true, measured_on: prose("on [held-out] rows", &[]) });
        }
        if let Some(kernel) = &model.kernel {
            let value = kernel_interval(kernel.score());
            return Some(Headline { metric, value, has_interval: true, measured_on: prose("on [held-out] rows", &[]) });
        }
        let value = match metric {
            HeadlineMetric::Error => model.seen.progressive_error?,
            HeadlineMetric::Rmse => model.seen.progressive_loss.max(0.0).sqrt(),
            HeadlineMetric::Loss => return None,
        };
        let measured_on = match (metric, &model.recipe) {
            (HeadlineMetric::Rmse, Provenance::Solve(_)) => prose("on the training rows, which is optimistic", &[]),
            _ if model.seen.passes > 1 => {
                let text = "in [progressive validation] over {} passes, which is optimistic: the later ones predict rows that were learned";
                prose(text, &[&model.seen.passes.to_string()])
            }
            _ => prose("in [progressive validation]", &[]),
        };
        Some(Headline { metric, value: Interval { value, low: value, high: value }, has_interval: false, measured_on })
    }

    /// The value as text.
    pub fn value_text(&self) -> String {
        written(self.metric, self.value.value)
    }

    /// The ends of the interval as text, if there is an interval.
    pub fn interval_text(&self) -> Option<[String; 2]> {
        self.has_interval.then(|| [self.value.low, self.value.high].map(|end| written(self.metric, end)))
    }

    /// The value and, if there is one, the interval.
    pub fn text(&self) -> String {
        if self.has_interval { with_interval(self.metric, self.value) } else { self.value_text() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_errors_or_roots() {
        let error = KernelScore { error: Some(0.1), error_se: Some(0.01), ..KernelScore::default() };
        assert!((kernel_interval(&error).high - 0.1196).abs() < 1e-12);
        let number = KernelScore { squared: 0.25, squared_se: 0.05, loss: 4.0, ..KernelScore::default() };
        let found = kernel_interval(&number);
        assert!((found.value - 2.0).abs() < 1e-12 && (found.high - (2.0 + 1.96 * 0.2)).abs() < 1e-12, "{found:?}");
    }
}
