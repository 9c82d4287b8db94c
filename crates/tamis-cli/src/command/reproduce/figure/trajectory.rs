//! A number over the rows of a run: Ma & Zheng 2016, Figure 1; Ma 2017, Figures 3.4 and 3.5.
//!
//! Learners that take rows one by one are looked at after single rows; those with stages at the end of each. Test errors are
//! shown and nothing is chosen by them.

use serde::Deserialize;
use tamis::model::Model;
use tamis::report::Chart;
use tamis::train::{Observer, fit};

use crate::command::reproduce::cell::{Lab, Rows};
use crate::command::reproduce::plan::Fields;
use crate::error::CliError;

/// What is shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub data: String,
    /// Fields of every recipe.
    #[serde(default)]
    set: Fields,
    pub series: Vec<String>,
    measure: Shown,
    /// Every one of the last rows, counted back from the end of a run.
    last: Option<u64>,
    /// Otherwise so many looks, equally far apart.
    #[serde(default = "looks")]
    looks: u64,
}

fn looks() -> u64 {
    60
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shown {
    /// Non-zero weights, in per cent of all columns.
    Nonzero,
    /// The error on the test rows, in per cent.
    Error,
}

impl Plan {
    pub fn draw(&self, lab: &Lab<'_>, title: &str) -> Result<Vec<Chart>, CliError> {
        let rows = lab.data(&self.data)?;
        let (x, y) = match (self.last, self.measure) {
            (Some(_), Shown::Nonzero) => ("rows before the end of the run", "weights that are not zero (% of columns)"),
            (Some(_), Shown::Error) => ("rows before the end of the run", "test error (%)"),
            (None, Shown::Nonzero) => ("rows learned", "weights that are not zero (% of columns)"),
            (None, Shown::Error) => ("rows learned", "test error (%)"),
        };
        let mut chart = Chart::new(title).x(x).y(y).y_holds(0.0);
        for name in &self.series {
            let run = &lab.experiment.runs[name];
            chart = chart.line(&run.title, self.path(lab, &rows, name)?);
        }
        Ok(vec![chart])
    }

    fn path(&self, lab: &Lab<'_>, rows: &Rows, name: &str) -> Result<Vec<(f64, f64)>, CliError> {
        let recipe = lab.chosen_recipe(&self.data, rows, &lab.experiment.runs[name], &self.set)?;
        let end = u64::from(recipe.passes.unwrap_or(1)) * rows.about.rows;
        let columns = lab.experiment.data[&self.data].columns.unwrap_or(rows.about.features) as f64;
        let mut watcher = Watcher {
            first: self.last.map_or(1, |last| end.saturating_sub(last).max(1)),
            step: if self.last.is_some() { 1 } else { (end / self.looks.max(1)).max(1) },
            end,
            value: |model: &Model| match self.measure {
                Shown::Nonzero => Ok(100.0 * model.nonzeros() as f64 / columns),
                Shown::Error => lab.test(rows, model),
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

/// Points by their distance from the last one. A learner with stages stands still between them: the value it had when the
/// window opens is carried over from the stage before.
fn counted_back(points: Vec<(f64, f64)>, last: u64) -> Vec<(f64, f64)> {
    let end = points.last().map_or(0.0, |point| point.0);
    let start = end - last as f64;
    let before = points.iter().rev().find(|point| point.0 < start).map(|point| (-(last as f64), point.1));
    let within = points.iter().filter(|point| point.0 >= start).map(|point| (point.0 - end, point.1));
    before.into_iter().chain(within).collect()
}

/// Looks at the model after chosen rows.
struct Watcher<F> {
    first: u64,
    step: u64,
    end: u64,
    value: F,
    found: Result<Vec<(f64, f64)>, CliError>,
}

impl<F: Fn(&Model) -> Result<f64, CliError>> Observer for Watcher<F> {
    fn next_report(&self, rows: u64) -> u64 {
        match rows < self.first {
            true => self.first,
            false => ((rows / self.step + 1) * self.step).min(self.end.max(rows + 1)),
        }
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
    fn points_are_counted_back_from_the_end_and_the_stage_before_is_carried_over() {
        let points = vec![(100.0, 9.0), (400.0, 5.0), (1000.0, 3.0), (1200.0, 2.0)];
        assert_eq!(counted_back(points, 500), [(-500.0, 5.0), (-200.0, 3.0), (0.0, 2.0)]);
    }
}
