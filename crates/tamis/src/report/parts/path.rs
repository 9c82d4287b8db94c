//! The solution path: what a criterion says of models of all sizes, which was chosen, and how weights grow along it.

use crate::recipe::Criterion;
use crate::report::axis::AxisKind;
use crate::report::chart::Chart;
use crate::report::html::{Html, clipped, command, paragraph, prose, shell};
use crate::report::page::{Section, details, figure, row};
use crate::report::table::{Cell, Table, count, short_number};
use crate::solve::{PathPoint, Solved};

/// Features named in the picture of weights; more would not be told apart.
const NAMED: usize = 6;

/// The section. `moments` is the file solved, for commands; `method` the solver's name.
pub fn section(solved: &Solved, criterion: Option<Criterion>, moments: &str, method: &str) -> Option<Section> {
    if solved.path.len() < 3 {
        return None;
    }
    let criterion = settled(solved, criterion);
    let point = &solved.path[solved.chosen];
    let half = (point.size / 2).max(1);
    let near = solved.path.iter().filter(|other| other.size <= half).max_by_key(|other| other.size);
    let mut text = paragraph(
        "{} models were made along the path. The one taken has *{} features* and explains {} of the variance ([R²]).",
        &[&count(solved.path.len() as u64), &count(point.size as u64), &crate::report::table::per_cent(point.r2)],
    );
    if let Some(near) = near.filter(|_| point.size > 1) {
        text = text.with(paragraph(
            "*Half as many, {} features*, would explain {}.",
            &[&count(near.size as u64), &crate::report::table::per_cent(near.r2)],
        ));
        let line =
            format!("tamis solve {} --method {method} --k {} --out smaller.json", shell(moments), near.size.max(1));
        text = text.with(command(&line));
    }
    let mut figures = vec![judged(solved, criterion)];
    figures.extend(weights(solved));
    let body = text.with(row(figures)).with(details("The path as a table", table(solved, criterion).html()));
    Some(Section::new("path", "What if you want fewer?", body))
}

/// The criterion that is shown: the one asked for, else cross-validation where there are folds, else BIC.
fn settled(solved: &Solved, asked: Option<Criterion>) -> Criterion {
    let folds = solved.path.iter().any(|point| point.cv_error.is_some());
    asked.unwrap_or(if folds { Criterion::Cv } else { Criterion::Bic })
}

/// Where a point lies along the path: λ if there is one, else the size.
fn places(solved: &Solved) -> (&'static str, AxisKind, Vec<f64>) {
    let penalties: Option<Vec<f64>> = solved.path.iter().map(|point| point.lambda).collect();
    let sizes = || solved.path.iter().map(|point| point.size as f64).collect::<Vec<_>>();
    match penalties {
        Some(list) => ("penalty λ", AxisKind::Logarithmic, list),
        None if solved.path.iter().any(|point| point.size > 60) => ("features", AxisKind::Logarithmic, sizes()),
        None => ("features", AxisKind::Linear, sizes()),
    }
}

fn title(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Cv => "cross-validated error",
        Criterion::Aic => "AIC",
        Criterion::Bic => "BIC",
        Criterion::Ebic => "EBIC",
    }
}

fn judged(solved: &Solved, criterion: Criterion) -> Html {
    let (x, kind, places) = places(solved);
    let value = |point: &PathPoint| point.value(criterion).unwrap_or(f64::NAN);
    let points: Vec<(f64, f64)> = places.iter().copied().zip(solved.path.iter().map(value)).collect();
    let spread = |(point, &x): (&PathPoint, &f64)| {
        let deviation = point.cv_deviation.filter(|_| criterion == Criterion::Cv)?;
        Some((x, value(point) - deviation, value(point) + deviation))
    };
    let band: Vec<_> = solved.path.iter().zip(&places).filter_map(spread).collect();
    let chosen = points[solved.chosen];
    let name = title(criterion);
    let mut chart = Chart::new(&format!("Path of models: {name}")).size(460.0, 220.0).x(x).y(name).x_kind(kind);
    chart = chart.line(name, points);
    if !band.is_empty() {
        chart = chart.band(name, band);
    }
    chart = chart.points("this model", vec![(chosen.0, chosen.1, 0.12)]);
    figure(
        chart.inline(),
        prose("What each model of the path is worth; lower is better (see [BIC], [cross-validation])", &[]),
    )
}

fn weights(solved: &Solved) -> Option<Html> {
    if solved.traces.is_empty() {
        return None;
    }
    let (x, kind, places) = places(solved);
    let mut chart =
        Chart::new("Weights along the path").size(460.0, 220.0).x(x).y("weight on standardised columns").x_kind(kind);
    // The strongest have names and colours; the others are grey, behind them.
    let line = |effects: &[f64]| places.iter().copied().zip(effects.iter().copied()).collect::<Vec<_>>();
    let named = solved.traces.len().min(NAMED);
    for (number, trace) in solved.traces.iter().enumerate() {
        let name = if number < named { clipped(&trace.name, 28) } else { "others".into() };
        chart = chart.line(&name, line(&trace.effects));
    }
    Some(figure(chart.inline(), prose("How weights grow as the pull to zero weakens", &[])))
}

fn table(solved: &Solved, criterion: Criterion) -> Table {
    let penalised = solved.path.iter().any(|point| point.lambda.is_some());
    let mut columns = Vec::new();
    columns.extend(penalised.then_some("penalty"));
    columns.extend(["features", "R²", title(criterion), "entering", "leaving", "taken"]);
    let mut table = Table::new("Path", &columns);
    let names = |list: &[String]| {
        let shown: Vec<String> = list.iter().take(8).map(|name| clipped(name, 30)).collect();
        match list.len().saturating_sub(8) {
            0 => shown.join(", "),
            more => format!("{} and {} more", shown.join(", "), count(more as u64)),
        }
    };
    for (at, point) in solved.path.iter().enumerate() {
        let mut cells = Vec::new();
        cells.extend(penalised.then(|| point.lambda.map_or(Cell::Empty, Cell::Number)));
        let value = point.value(criterion).map_or(Cell::Empty, |value| match point.cv_deviation {
            Some(spread) if criterion == Criterion::Cv => {
                Cell::Shown(value, format!("{} ± {}", short_number(value), short_number(spread)))
            }
            _ => Cell::Number(value),
        });
        let mark = if at == solved.chosen { "◄ this model" } else { "" };
        cells.extend([Cell::Number(point.size as f64), Cell::Number(point.r2), value]);
        cells.extend([names(&point.entered), names(&point.left), mark.to_string()].map(Cell::Text));
        table.row(cells);
    }
    table
}
