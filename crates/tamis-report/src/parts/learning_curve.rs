//! Learning curve: features, loss and error over the training rows.

use tamis::model::summary::count;
use tamis::model::{HistoryPoint, Model};

use crate::axis::AxisKind;
use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::{paragraph, prose};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table};

/// The section, for methods that learn row by row.
pub fn section(model: &Model, _: &ReportContext<'_>) -> Option<Section> {
    let history = &model.seen.history;
    if history.len() < 3 {
        return None;
    }
    let of = |value: fn(&HistoryPoint) -> Option<f64>| -> Vec<(f64, f64)> {
        history.iter().filter_map(|point| Some((point.rows as f64, value(point)?))).collect()
    };
    let chart = |title: &str, y: &str, points: Vec<(f64, f64)>| {
        let chart = Chart::new(title).size(460.0, 190.0).x("rows learned").y(y).y_holds(0.0);
        figure(chart.x_kind(AxisKind::Logarithmic).line("", points).inline(), title)
    };
    let mut figures = vec![chart("Non-zero weights", "features", of(|point| Some(point.nonzeros as f64)))];
    let error = of(|point| point.error.map(|error| 100.0 * error));
    if !error.is_empty() {
        figures.push(chart("Progressive validation error", "error (%)", error));
    }
    // The untrained model's loss on the first rows would dominate the scale of the axis.
    let losses = of(|point| Some(point.loss)).into_iter().filter(|(rows, _)| *rows >= 4.0).collect();
    figures.push(chart("Progressive validation loss", "mean loss", losses));
    let passes = model.seen.passes;
    let text = match passes {
        0 | 1 => paragraph(
            "[Progressive validation|progressive validation]: each row was predicted before it was learned.",
            &[],
        ),
        passes => paragraph(
            "[Progressive validation|progressive validation]: each row was predicted before it was learned. From the second of {} passes \
             over {} rows on, the rows had been seen before, so the curves are optimistic.",
            &[&passes.to_string(), &count(model.seen.rows)],
        ),
    };
    let body = text.with(row(figures)).with(details("Show as a table", table(history).html()));
    Some(Section::new("learning-curve", "Learning curve", body))
}

fn table(history: &[HistoryPoint]) -> Table {
    let errors = history.iter().any(|point| point.error.is_some());
    let mut columns = vec!["rows learned", "features", "loss"];
    columns.extend(errors.then_some("error"));
    let mut table = Table::new("Points of the learning curve", &columns);
    for point in history {
        let whole = |number: u64| Cell::Shown(number as f64, count(number));
        let mut cells = vec![whole(point.rows), whole(point.nonzeros), Cell::Number(point.loss)];
        cells.extend(errors.then(|| point.error.map_or(Cell::Empty, Cell::Share)));
        table.row(cells);
    }
    table.with_note(prose("Loss and error are means over all rows so far.", &[]))
}
