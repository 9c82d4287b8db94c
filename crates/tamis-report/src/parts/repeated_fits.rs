//! Repeated fits of one recipe: selection frequencies, and the variation of error and size.

use tamis::model::summary::{STABLE, at_least, count};
use tamis::tune::{Measure, Repeated};

use super::selection_frequency::{frequency_chart, slider};
use crate::bars::{Bar, bars};
use crate::chart::Chart;
use crate::html::{paragraph, plain, prose};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, short_number};

const BARS: usize = 25;
const ROWS: usize = 1000;

/// The section on selection frequencies.
pub fn features(found: &Repeated) -> Section {
    let shares: Vec<f64> = found.selected.iter().map(|one| one.share).collect();
    let always = at_least(&shares, 1.0);
    let text = paragraph(
        "*{} features were selected in every run*, {} in at least 75 % of the runs, {} in at least one.",
        &[&count(always as u64), &count(at_least(&shares, STABLE) as u64), &count(shares.len() as u64)],
    );
    let text = text.with(match (found.nonzeros.0 > 0.5 * found.columns as f64, found.kappa) {
        (true, _) => paragraph(
            "Runs select more than half of all features, so a high selection frequency means little; [kappa] corrects for that.",
            &[],
        ),
        (_, kappa) if kappa >= 0.75 => {
            paragraph("The feature sets agree strongly: the selection does not depend on a few rows.", &[])
        }
        (_, kappa) if kappa >= 0.4 => {
            paragraph("The feature sets agree fairly: rely on features with a high frequency only.", &[])
        }
        _ => paragraph("The feature sets agree weakly: other rows would select other features.", &[]),
    });
    let list: Vec<Bar> = found
        .selected
        .iter()
        .take(BARS)
        .map(|one| Bar { name: one.name.clone(), value: one.weight.unwrap_or(one.share), frequency: Some(one.share) })
        .collect();
    let weighted = found.selected.iter().any(|one| one.weight.is_some());
    let title = if weighted { "Mean weights of the most frequent features" } else { "The most frequent features" };
    let words = format!("Bars of the {} features selected by most runs", list.len());
    let figures = [
        figure(bars(title, &words, "runs", &list), title),
        figure(frequency_chart(&shares), prose("Features by [selection frequency]", &[])),
    ];
    let mut table =
        Table::new("Selected features", &["feature|features", "selection frequency", "mean weight"]).searchable();
    for one in found.selected.iter().take(ROWS) {
        let weight = one.weight.map_or(Cell::Empty, Cell::Number);
        table.row(vec![Cell::Text(one.name.clone()), Cell::Share(one.share), weight]);
    }
    let hidden = found.selected.len().saturating_sub(ROWS);
    if hidden > 0 {
        table = table.with_note(prose("The table omits {} less frequent features.", &[&count(hidden as u64)]));
    }
    let body = text.with(row(figures)).with(slider(&shares, None)).with(table.html());
    Section::new("features", "Selection frequency", body)
}

/// The section on error and size.
pub fn variation(found: &Repeated) -> Section {
    let unit = if found.measure == Measure::Error { 100.0 } else { 1.0 };
    let name = match found.measure {
        Measure::Error => "error (%)",
        other => other.name(),
    };
    let of = |value: &dyn Fn(&tamis::tune::Run) -> f64| -> Vec<(f64, f64, f64)> {
        found.runs.iter().enumerate().map(|(at, run)| ((at + 1) as f64, value(run), 0.03)).collect()
    };
    let chart = |title: &str, y: &str, points, mean| {
        let chart = Chart::new(title).size(460.0, 190.0).x("run").y(y).y_holds(0.0);
        figure(chart.points("runs", points).level("mean", mean).inline(), title)
    };
    let (errors, sizes) = (of(&|run| unit * run.error), of(&|run| run.nonzeros as f64));
    let figures = [
        chart("Held-out error of each run", name, errors, unit * found.error.0),
        chart("Size of each run", "features", sizes, found.nonzeros.0),
    ];
    let mut table = Table::new("Runs", &["run", name, "rows", "features"]);
    for (at, run) in found.runs.iter().enumerate() {
        let cells = [(at + 1) as f64, unit * run.error, run.rows as f64, run.nonzeros as f64];
        table.row(cells.map(Cell::Number).into());
    }
    let text = plain(
        "p",
        prose(
            "Mean ± standard deviation over the runs: {} {} ± {}, features {} ± {}. The [kappa] of the feature sets is {} over {} \
             features.",
            &[
                name,
                &short_number(unit * found.error.0),
                &short_number(unit * found.error.1),
                &short_number(found.nonzeros.0),
                &short_number(found.nonzeros.1),
                &short_number(found.kappa),
                &count(found.columns),
            ],
        ),
    );
    Section::new(
        "variation",
        "Variation between runs",
        text.with(row(figures)).with(details("Show as a table", table.html())),
    )
}
