//! What a model is worth, in a number with its uncertainty, and where that number is from.

use crate::html::{Html, prose};
use crate::table::{count, per_cent, short_number};
use tamis::eval::{Interval, Judged};
use tamis::loss::LossKind;
use tamis::model::{Model, Selection, Step, Task};

/// Standard errors on either side of an interval of 95 %.
const Z: f64 = 1.96;

/// The measure people know for a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Share of wrong classes.
    Error,
    /// Root of the mean square.
    Rmse,
    /// The loss.
    Loss,
}

impl Measure {
    /// The measure for a model.
    pub fn of(model: &Model) -> Self {
        match (&model.task, model.loss) {
            (Task::Classes(_), _) => Measure::Error,
            (Task::Regression, LossKind::Squared) => Measure::Rmse,
            (Task::Regression, _) => Measure::Loss,
        }
    }

    /// Its name, a term of the glossary.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Error => "error",
            Measure::Rmse => "RMSE",
            Measure::Loss => "loss",
        }
    }

    /// What a rung is worth, with its interval.
    pub fn of_step(self, step: &Step) -> Interval {
        let around = |value: f64, half: f64| Interval { value, low: (value - half).max(0.0), high: value + half };
        match (self, step.error) {
            (Measure::Error, Some(error)) => around(error, Z * step.standard_error),
            (Measure::Rmse, _) => {
                let square = around(step.loss.max(0.0), Z * step.standard_error);
                Interval { value: square.value.sqrt(), low: square.low.sqrt(), high: square.high.sqrt() }
            }
            _ => around(step.loss, Z * step.standard_error),
        }
    }

    /// A value as it is written.
    pub fn written(self, value: f64) -> String {
        if self == Measure::Error { per_cent(value) } else { short_number(value) }
    }

    /// A value as it is drawn: errors in per cent.
    pub fn drawn(self, value: f64) -> f64 {
        if self == Measure::Error { 100.0 * value } else { value }
    }

    /// The name of an axis.
    pub fn axis(self) -> &'static str {
        match self {
            Measure::Error => "error (%)",
            Measure::Rmse => "RMSE",
            Measure::Loss => "loss",
        }
    }

    /// A value and its interval.
    pub fn with_interval(self, worth: &Interval) -> String {
        format!("{} ({} to {})", self.written(worth.value), self.written(worth.low), self.written(worth.high))
    }
}

/// What is known of a model's worth.
pub struct Worth {
    /// The measure.
    pub measure: Measure,
    /// Its value.
    pub value: Interval,
    /// Whether the interval says anything.
    pub has_interval: bool,
    /// On which rows.
    pub on: Html,
}

impl Worth {
    /// The best that is known: other data before the rows of the training.
    pub fn of(model: &Model, judged: Option<(&str, &Judged)>) -> Option<Worth> {
        let measure = Measure::of(model);
        if let Some((name, judged)) = judged
            && let Some(value) = judged.error.or(judged.rmse)
        {
            let measure = if judged.error.is_some() { Measure::Error } else { Measure::Rmse };
            let rows = count(judged.measures.n);
            return Some(Worth {
                measure,
                value,
                has_interval: true,
                on: prose("on the {} rows of `{}`", &[&rows, name]),
            });
        }
        if let Some(selection) = &model.selection {
            let step = rung(model, selection)?;
            let on = prose("on rows its features were chosen without", &[]);
            return Some(Worth { measure, value: measure.of_step(step), has_interval: true, on });
        }
        let exact = |value: f64| Interval { value, low: value, high: value };
        let seen = &model.seen;
        match (measure, seen.progressive_error, &model.recipe) {
            (Measure::Error, Some(error), _) => {
                let on = prose("of predictions made before each row was learned ([progressive])", &[]);
                Some(Worth { measure, value: exact(error), has_interval: false, on })
            }
            (Measure::Rmse, _, tamis::recipe::Origin::Solve(_)) => {
                let on = prose("on the rows it was made from, which flatters it", &[]);
                Some(Worth { measure, value: exact(seen.progressive_loss.max(0.0).sqrt()), has_interval: false, on })
            }
            (Measure::Rmse, _, _) => {
                let on = prose("of predictions made before each row was learned ([progressive])", &[]);
                Some(Worth { measure, value: exact(seen.progressive_loss.max(0.0).sqrt()), has_interval: false, on })
            }
            _ => None,
        }
    }

    /// The value and, where there is one, the interval.
    pub fn text(&self) -> String {
        if self.has_interval { self.measure.with_interval(&self.value) } else { self.measure.written(self.value.value) }
    }
}

/// The rung a model is; nothing if it was cut from one and not judged itself.
pub fn rung<'a>(model: &Model, selection: &'a Selection) -> Option<&'a Step> {
    selection.ladder.get(selection.chosen).filter(|step| step.outputs == model.outputs)
}
