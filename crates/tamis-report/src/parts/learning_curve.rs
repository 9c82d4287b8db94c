//! How it went: features, loss and error over the stream.

use crate::axis::AxisKind;
use crate::chart::Chart;
use crate::html::{paragraph, plain, prose};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, count};
use tamis::model::{Model, Moment};

/// The section; nothing where rows were not learned one by one.
pub fn section(model: &Model) -> Option<Section> {
    let history = &model.seen.history;
    if history.len() < 3 {
        return None;
    }
    let of = |value: fn(&Moment) -> Option<f64>| -> Vec<(f64, f64)> {
        history.iter().filter_map(|moment| Some((moment.rows as f64, value(moment)?))).collect()
    };
    let chart = |title: &str, y: &str, points: Vec<(f64, f64)>| {
        let chart = Chart::new(title).size(460.0, 190.0).x("rows learned").y(y).y_holds(0.0);
        figure(chart.x_kind(AxisKind::Logarithmic).line("", points).inline(), title)
    };
    let mut figures = vec![chart("Features with a weight", "features", of(|moment| Some(moment.nonzeros as f64)))];
    let error = of(|moment| moment.error.map(|error| 100.0 * error));
    if !error.is_empty() {
        figures.push(chart("Error so far", "error (%)", error));
    }
    // The first rows are predicted by a model that knows nothing; what it loses there would hide all that follows.
    let losses = of(|moment| Some(moment.loss)).into_iter().filter(|point| point.0 >= 4.0).collect();
    figures.push(chart("Loss so far", "mean loss", losses));
    let passes = model.seen.passes;
    let text = match passes {
        0 | 1 => paragraph(
            "Each row was predicted before it was learned ([progressive]), so all of this is on rows not yet seen.",
            &[],
        ),
        passes => paragraph(
            "Each row was predicted before it was learned ([progressive]). There were {} passes over {} rows: from the second on, \
             rows had been seen before, and the curves are kinder than new rows would be.",
            &[&passes.to_string(), &count(model.seen.rows)],
        ),
    };
    let body = text.with(row(figures)).with(details("These numbers as a table", table(history).html()));
    Some(Section::new("stream", "How did it go?", body))
}

fn table(history: &[Moment]) -> Table {
    let errors = history.iter().any(|moment| moment.error.is_some());
    let mut columns = vec!["rows learned", "features", "loss"];
    columns.extend(errors.then_some("error"));
    let mut table = Table::new("Over the stream", &columns);
    for moment in history {
        let whole = |number: u64| Cell::Shown(number as f64, count(number));
        let mut cells = vec![whole(moment.rows), whole(moment.nonzeros), Cell::Number(moment.loss)];
        cells.extend(errors.then(|| moment.error.map_or(Cell::Empty, Cell::Share)));
        table.row(cells);
    }
    table.noted(plain("span", prose("Means over all rows up to there.", &[])))
}
