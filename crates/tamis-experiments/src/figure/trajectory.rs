//! A number over the rows of a run: Ma & Zheng 2016, Figure 1; Ma 2017, Figures 3.4 and 3.5.
//!
//! Online learners are measured after single rows, learners with stages at the end of each stage. Test errors are
//! shown, and nothing is chosen by them.

use serde::Deserialize;
use tamis::model::Model;
use tamis::train::{Observer, fit};
use tamis_report::Chart;

use crate::error::Failure;
use crate::spec::Fields;
use crate::table_cell::{Rows, Session};

/// The data, the methods and the measure shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub data: String,
    /// Fields set in every recipe.
    #[serde(default)]
    set: Fields,
    pub series: Vec<String>,
    measure: Shown,
    /// Measure after each of the last rows, counted from the end of the run.
    last: Option<u64>,
    /// Otherwise, the number of points, equally spaced.
    #[serde(default = "looks")]
    looks: u64,
}

fn looks() -> u64 {
    60
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shown {
    /// Non-zero weights, in percent of all columns.
    Nonzero,
    /// The error on the test rows, in percent.
    Error,
}

impl Plan {
    pub fn draw(&self, session: &Session<'_>, title: &str) -> Result<Vec<Chart>, Failure> {
        let rows = session.data(&self.data)?;
        let (x, y) = match (self.last, self.measure) {
            (Some(_), Shown::Nonzero) => ("rows before the end of the run", "weights that are not zero (% of columns)"),
            (Some(_), Shown::Error) => ("rows before the end of the run", "test error (%)"),
            (None, Shown::Nonzero) => ("rows learned", "weights that are not zero (% of columns)"),
            (None, Shown::Error) => ("rows learned", "test error (%)"),
        };
        let mut chart = Chart::new(title).x(x).y(y).y_holds(0.0);
        for name in &self.series {
            let run = &session.experiment.runs[name];
            chart = chart.line(&run.title, self.path(session, &rows, name)?);
        }
        Ok(vec![chart])
    }

    fn path(&self, session: &Session<'_>, rows: &Rows, name: &str) -> Result<Vec<(f64, f64)>, Failure> {
        let recipe = session.chosen_recipe(&self.data, rows, &session.experiment.runs[name], &self.set)?;
        let end = u64::from(recipe.passes.unwrap_or(1)) * rows.about.rows;
        let columns = session.experiment.data[&self.data].columns.unwrap_or(rows.about.features) as f64;
        let mut watcher = Watcher {
            first: self.last.map_or(1, |last| end.saturating_sub(last).max(1)),
            step: if self.last.is_some() { 1 } else { (end / self.looks.max(1)).max(1) },
            end,
            value: |model: &Model| match self.measure {
                Shown::Nonzero => Ok(100.0 * model.nonzeros() as f64 / columns),
                Shown::Error => session.test(rows, model),
            },
            found: Ok(Vec::new()),
        };
        fit(&recipe, &rows.fit, None, &mut watcher)?;
        let points = watcher.found?;
        Ok(match self.last {
            None => points,
            Some(last) => counted_back(points, last),
        })
    }
}

/// Points by their distance from the last one. A learner with stages does not change between them, so the value at the
/// start of the window is that of the previous stage.
fn counted_back(points: Vec<(f64, f64)>, last: u64) -> Vec<(f64, f64)> {
    let end = points.last().map_or(0.0, |point| point.0);
    let start = end - last as f64;
    let before = points.iter().rev().find(|point| point.0 < start).map(|point| (-(last as f64), point.1));
    let within = points.iter().filter(|point| point.0 >= start).map(|point| (point.0 - end, point.1));
    before.into_iter().chain(within).collect()
}

/// Evaluates the model after some of the rows.
struct Watcher<F> {
    first: u64,
    step: u64,
    end: u64,
    value: F,
    found: Result<Vec<(f64, f64)>, Failure>,
}

impl<F: Fn(&Model) -> Result<f64, Failure>> Observer for Watcher<F> {
    fn next_report(&self, rows: u64) -> u64 {
        if rows < self.first {
            return self.first;
        }
        ((rows / self.step + 1) * self.step).min(self.end.max(rows + 1))
    }

    fn wants_models(&self) -> bool {
        true
    }

    fn model(&mut self, rows: u64, model: &Model) {
        let Ok(points) = &mut self.found else { return };
        match (self.value)(model) {
            Ok(value) => points.push((rows as f64, value)),
            Err(failure) => self.found = Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::counted_back;

    #[test]
    fn points_count_from_the_end_and_start_with_the_previous_stage() {
        let points = vec![(100.0, 9.0), (400.0, 5.0), (1000.0, 3.0), (1200.0, 2.0)];
        assert_eq!(counted_back(points, 500), [(-500.0, 5.0), (-200.0, 3.0), (0.0, 2.0)]);
    }
}
