//! A paper's figures, drawn again: `[figures.NAME]` of an experiment.
//!
//! ```toml
//! [figures.1]
//! title = "Features that are not zero, at the end of a run"
//! caption = "what the paper shows, and what to look for in ours"
//! draw = { kind = "trajectory", data = "dexter", measure = "nonzero", series = ["truncated-gradient"], last = 1000 }
//! ```
//! Every kind is a file of this folder: from its part of the plan to charts. The picture, its numbers as CSV and a page
//! that holds both go to the folder of results.

mod along;
mod annealing;
mod at;
mod density;
mod pixels;
mod trajectory;

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tamis::report::Chart;

use super::cell::Lab;
use super::plan::Experiment;
use crate::error::CliError;

/// A figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigurePlan {
    pub title: String,
    /// What the paper shows, and what to look for in ours.
    #[serde(default)]
    pub caption: String,
    pub draw: Drawing,
}

/// What is drawn.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Drawing {
    Along(along::Plan),
    Annealing(annealing::Plan),
    At(at::Plan),
    Density(density::Plan),
    Pixels(pixels::Plan),
    Trajectory(trajectory::Plan),
}

impl Drawing {
    /// The data sets it needs, to say early that a name leads nowhere.
    pub fn data(&self) -> Option<&str> {
        match self {
            Drawing::Along(_) | Drawing::Annealing(_) | Drawing::At(_) => None,
            Drawing::Density(plan) => Some(&plan.data),
            Drawing::Pixels(plan) => Some(&plan.data),
            Drawing::Trajectory(plan) => Some(&plan.data),
        }
    }

    /// The table it draws.
    pub fn table(&self) -> Option<&str> {
        match self {
            Drawing::Along(plan) => Some(&plan.table),
            Drawing::At(plan) => Some(&plan.table),
            _ => None,
        }
    }

    /// The runs it shows.
    pub fn runs(&self) -> &[String] {
        match self {
            Drawing::Along(_) | Drawing::Annealing(_) | Drawing::At(_) => &[],
            Drawing::Density(plan) => &plan.series,
            Drawing::Pixels(plan) => &plan.series,
            Drawing::Trajectory(plan) => &plan.series,
        }
    }
}

/// The charts of a figure, or why there are none. Only an interruption ends the run.
pub fn draw(lab: &Lab<'_>, plan: &FigurePlan) -> Result<Result<Vec<Chart>, String>, CliError> {
    let drawn = match &plan.draw {
        Drawing::Along(stream) => stream.draw(lab, &plan.title),
        Drawing::Annealing(curves) => Ok(curves.draw(&plan.title)),
        Drawing::At(table) => table.draw(lab, &plan.title),
        Drawing::Density(levels) => levels.draw(lab, &plan.title),
        Drawing::Pixels(pixels) => pixels.draw(lab, &plan.title),
        Drawing::Trajectory(paths) => paths.draw(lab, &plan.title),
    };
    match drawn {
        Err(failure) if failure.exit_code() == 2 => Ok(Err(failure.to_string())),
        drawn => drawn.map(Ok),
    }
}

/// What to write: names of files and their content, the page first.
pub fn files(experiment: &Experiment, stem: &str, plan: &FigurePlan, charts: &[Chart]) -> Vec<(String, String)> {
    let mut page = format!("# {}\n\n{}\n\n{}\n\n", plan.title, experiment.paper, plan.caption.trim());
    let mut files = Vec::new();
    for (number, chart) in charts.iter().enumerate() {
        let name = if charts.len() == 1 { stem.to_string() } else { format!("{stem}-{}", number + 1) };
        writeln!(page, "![{}]({name}.svg)\n\nThe numbers: [{name}.csv]({name}.csv)\n", chart.title())
            .expect("text grows");
        files.push((format!("{name}.svg"), chart.svg()));
        files.push((format!("{name}.csv"), chart.csv()));
    }
    files.insert(0, (format!("{stem}.md"), page));
    files
}

/// What the screen shows of a figure: where each series begins and ends.
pub fn text(charts: &[Chart]) -> String {
    let mut rows =
        vec![vec!["", "first x", "y", "last x", "y", "least y", "largest y"].into_iter().map(String::from).collect()];
    for (name, points) in charts.iter().flat_map(Chart::series) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
        let ys = || points.iter().map(|point| point.1);
        let (least, largest) = (ys().fold(f64::INFINITY, f64::min), ys().fold(f64::NEG_INFINITY, f64::max));
        let numbers = [first.0, first.1, last.0, last.1, least, largest];
        rows.push(
            std::iter::once(name.to_string()).chain(numbers.map(|number| format!("{number:.4}"))).collect::<Vec<_>>(),
        );
    }
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    crate::output::table::aligned(&rows)
}

/// The figure for machines.
pub fn as_json(name: &str, plan: &FigurePlan, charts: &Result<Vec<Chart>, String>) -> Value {
    let series = |chart: &Chart| {
        let all = chart.series().map(|(name, points)| json!({"name": name, "points": points}));
        json!({"title": chart.title(), "series": all.collect::<Vec<_>>()})
    };
    let drawn = charts.as_ref().map(|charts| charts.iter().map(series).collect::<Vec<_>>());
    json!({"figure": name, "title": plan.title, "charts": drawn.as_ref().ok(), "missing": drawn.as_ref().err()})
}

/// The folder and the beginning of the names of a figure's files.
pub fn stem(folder: &Path, name: &str) -> String {
    format!("{}-figure-{name}", folder.file_name().unwrap_or_default().to_string_lossy())
}
