//! What counts in pictures: the pixels of a metric, and its first axis class by class. Ma 2017, Figures 4.2 and 4.3.

use serde::Deserialize;
use tamis::metric::{Metric, Share};
use tamis::report::Chart;

use crate::command::reproduce::cell::Lab;
use crate::error::CliError;

/// Rows that are pictures of two classes, pixel by pixel from the upper left, columns numbered from 1.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub data: String,
    pub series: Vec<String>,
    /// Pixels in a line.
    width: usize,
    /// Bins of the first axis.
    bins: usize,
}

impl Plan {
    pub fn draw(&self, lab: &Lab<'_>, title: &str) -> Result<Vec<Chart>, CliError> {
        let mut charts = Vec::new();
        for column in &self.series {
            let metric = lab.one_metric(&self.data, column)?;
            charts.push(self.pixels(title, &metric)?);
            charts.extend(self.axis(title, &metric));
        }
        Ok(charts)
    }

    /// Each pixel as large as its share of the trace.
    fn pixels(&self, title: &str, metric: &Metric) -> Result<Chart, CliError> {
        let shares = metric.variable_shares();
        let largest = shares.first().map_or(1.0, |one| one.share);
        let point = |one: &Share| -> Result<(f64, f64, f64), String> {
            let place: usize = one.name.parse().map_err(|_| format!("{:?} is not the number of a pixel", one.name))?;
            let [line, at] = [(place - 1) / self.width, (place - 1) % self.width];
            Ok((at as f64 + 1.0, -(line as f64) - 1.0, one.share / largest))
        };
        let points = shares.iter().map(point).collect::<Result<Vec<_>, String>>()?;
        let title = format!("{title}: {} pixels of {}", shares.len(), metric.width);
        let edge = -(self.width as f64);
        let chart = Chart::new(&title).x("column").y("line, from above").y_holds(edge).y_holds(-1.0);
        Ok(chart.points("share of the trace of W", points))
    }

    /// The share of the first class less that of the second, along the first axis.
    fn axis(&self, title: &str, metric: &Metric) -> Option<Chart> {
        let axis = metric.first_axis(self.bins)?;
        let [first, second] = [axis.shares.first()?, axis.shares.get(1)?];
        let middle = |at: usize| 0.5 * (axis.borders[at] + axis.borders[at + 1]);
        let points = first.iter().zip(second).enumerate();
        let points = points.map(|(at, (first, second))| (middle(at), 100.0 * (first - second))).collect();
        let name = format!("class {} less class {}", metric.classes[0], metric.classes[1]);
        let chart = Chart::new(&format!("{title}: along the first axis")).x("first axis of the embedding");
        Some(chart.y("share of rows (%)").y_holds(0.0).line(&name, points))
    }
}
