//! The solution path: the criterion for models of all sizes, the model chosen, and the weights along the path.

use tamis::model::Model;
use tamis::model::summary::{count, plural};
use tamis::recipe::Criterion;
use tamis::solve::{PathPoint, Solved};

use crate::axis::AxisKind;
use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::{Html, clipped, command, paragraph, prose, shell};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, short_number};

/// Features with a colour of their own in the chart of weights.
const NAMED: usize = 6;

/// The shortest path that gets a section, in models.
const SHORTEST: usize = 3;

/// Whether the section is part of the report.
pub fn is_shown(context: &ReportContext<'_>) -> bool {
    context.solved.is_some_and(|(solved, _)| solved.path.len() >= SHORTEST)
}

/// The section, for a model that was solved on a path.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let (solved, criterion) = context.solved.filter(|_| is_shown(context))?;
    let criterion = shown_criterion(solved, criterion);
    let point = &solved.path[solved.chosen];
    let half = (point.size / 2).max(1);
    let near = solved.path.iter().filter(|other| other.size <= half).max_by_key(|other| other.size);
    let mut text = paragraph(
        "The path has {} models. The chosen one has *{}* and explains {} of the variance ([R²]).",
        &[&count(solved.path.len() as u64), &plural(point.size as u64, "feature"), &crate::table::per_cent(point.r2)],
    );
    if let Some(near) = near.filter(|_| point.size > 1) {
        text = text.with(paragraph(
            "*Half the size, {}*, explains {}.",
            &[&plural(near.size as u64, "feature"), &crate::table::per_cent(near.r2)],
        ));
        let moments = context.data.first().map_or("MOMENTS", String::as_str);
        let (method, size) = (model.recipe.method_name(), near.size.max(1));
        let line = format!("tamis solve {} --method {method} --k {size} --out smaller.json", shell(moments));
        text = text.with(command(&line));
    }
    let mut figures = vec![criterion_chart(solved, criterion)];
    figures.extend(weights_chart(solved));
    let body = text.with(row(figures)).with(details("Show as a table", table(solved, criterion).html()));
    Some(Section::new("path", "Solution path", body))
}

/// The criterion to show: the one that chose, else cross-validation if there are folds, else BIC.
fn shown_criterion(solved: &Solved, chosen_by: Option<Criterion>) -> Criterion {
    let folds = solved.path.iter().any(|point| point.cv_error.is_some());
    chosen_by.unwrap_or(if folds { Criterion::Cv } else { Criterion::Bic })
}

/// The horizontal axis of the path: λ if there is one, else the size.
fn positions(solved: &Solved) -> (&'static str, AxisKind, Vec<f64>) {
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
        Criterion::Cv => "cross-validation error",
        Criterion::Aic => "AIC",
        Criterion::Bic => "BIC",
        Criterion::Ebic => "EBIC",
    }
}

fn criterion_chart(solved: &Solved, criterion: Criterion) -> Html {
    let (x, kind, positions) = positions(solved);
    let value = |point: &PathPoint| point.value(criterion).unwrap_or(f64::NAN);
    let points: Vec<(f64, f64)> = positions.iter().copied().zip(solved.path.iter().map(value)).collect();
    let spread = |(point, &x): (&PathPoint, &f64)| {
        let deviation = point.cv_deviation.filter(|_| criterion == Criterion::Cv)?;
        Some((x, value(point) - deviation, value(point) + deviation))
    };
    let band: Vec<_> = solved.path.iter().zip(&positions).filter_map(spread).collect();
    let chosen = points[solved.chosen];
    let name = title(criterion);
    let mut chart = Chart::new(&format!("{name} along the path")).size(460.0, 220.0).x(x).y(name).x_kind(kind);
    chart = chart.line(name, points);
    if !band.is_empty() {
        chart = chart.band(name, band);
    }
    chart = chart.points("this model", vec![(chosen.0, chosen.1, 0.12)]);
    figure(chart.inline(), prose("Criterion along the path; lower is better (see [BIC], [cross-validation])", &[]))
}

fn weights_chart(solved: &Solved) -> Option<Html> {
    if solved.traces.is_empty() {
        return None;
    }
    let (x, kind, positions) = positions(solved);
    let mut chart =
        Chart::new("Weights along the path").size(460.0, 220.0).x(x).y("weight on standardised columns").x_kind(kind);
    // The strongest features have a colour each; the others are grey, behind them.
    let line = |effects: &[f64]| positions.iter().copied().zip(effects.iter().copied()).collect::<Vec<_>>();
    let named = solved.traces.len().min(NAMED);
    for (number, trace) in solved.traces.iter().enumerate() {
        let name = if number < named { clipped(&trace.name, 28) } else { "others".into() };
        chart = chart.line(&name, line(&trace.effects));
    }
    Some(figure(chart.inline(), prose("Weights along the path", &[])))
}

fn table(solved: &Solved, criterion: Criterion) -> Table {
    let penalised = solved.path.iter().any(|point| point.lambda.is_some());
    let mut columns = Vec::new();
    columns.extend(penalised.then_some("penalty"));
    columns.extend(["features", "R²", title(criterion), "added", "removed", "chosen"]);
    let mut table = Table::new("Models of the path", &columns);
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
