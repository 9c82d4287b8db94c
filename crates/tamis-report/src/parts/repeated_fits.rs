//! One recipe learned many times: which features came again, how far errors and sizes spread.

use super::stability::{at_least, picture, slider};
use crate::bars::{Bar, bars};
use crate::chart::Chart;
use crate::html::{paragraph, plain, prose};
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, count, short_number};
use tamis::tune::{Measure, Repeated};

const BARS: usize = 25;
const ROWS: usize = 1000;

/// Which features came again.
pub fn features(found: &Repeated) -> Section {
    let shares: Vec<f64> = found.selected.iter().map(|one| one.share).collect();
    let always = at_least(&shares, 1.0);
    let text = paragraph(
        "*{} features were selected in every run*, {} in at least three of four, {} in any.",
        &[&count(always as u64), &count(at_least(&shares, 0.75) as u64), &count(shares.len() as u64)],
    );
    let text = text.with(match (found.nonzeros.0 > 0.5 * found.columns as f64, found.kappa) {
        (true, _) => paragraph(
            "Runs use more than half of all features, so that a feature comes again says little; [kappa] allows for that.",
            &[],
        ),
        (_, kappa) if kappa >= 0.75 => {
            paragraph("The sets agree strongly: what was selected does not hang on a few rows.", &[])
        }
        (_, kappa) if kappa >= 0.4 => {
            paragraph("The sets agree fairly: rely on the features near the top, doubt those near the bottom.", &[])
        }
        _ => paragraph("The sets agree weakly: other rows would give other features.", &[]),
    });
    let list: Vec<Bar> = found
        .selected
        .iter()
        .take(BARS)
        .map(|one| Bar { name: one.name.clone(), value: one.weight.unwrap_or(one.share), sure: Some(one.share) })
        .collect();
    let weighted = found.selected.iter().any(|one| one.weight.is_some());
    let title = if weighted { "Mean weights of the features selected most" } else { "Features selected most" };
    let words = format!("Bars of the {} features that most runs selected", list.len());
    let figures = [
        figure(bars(title, &words, "runs", &list), title),
        figure(picture(&shares), prose("Features by the share of runs that selected them ([stability])", &[])),
    ];
    let mut table = Table::new("Selected features", &["features", "stability", "mean weight"]).searchable();
    for one in found.selected.iter().take(ROWS) {
        let weight = one.weight.map_or(Cell::Empty, Cell::Number);
        table.row(vec![Cell::Text(one.name.clone()), Cell::Share(one.share), weight]);
    }
    let hidden = found.selected.len().saturating_sub(ROWS);
    if hidden > 0 {
        table = table.noted(prose("{} features that fewer runs selected are left out.", &[&count(hidden as u64)]));
    }
    let body = text.with(row(figures)).with(slider(&shares, None)).with(table.html());
    Section::new("features", "Which features come again?", body)
}

/// How far runs spread.
pub fn spread(found: &Repeated) -> Section {
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
        chart("Error of each run on rows it had not seen", name, errors, unit * found.error.0),
        chart("Features of each run", "features", sizes, found.nonzeros.0),
    ];
    let mut table = Table::new("Runs", &["run", name, "rows", "features"]);
    for (at, run) in found.runs.iter().enumerate() {
        let cells = [(at + 1) as f64, unit * run.error, run.rows as f64, run.nonzeros as f64];
        table.row(cells.map(Cell::Number).into());
    }
    let text = plain(
        "p",
        prose(
            "Over the runs: {} {} ± {}, features {} ± {} (mean and standard deviation); sets of features agree with [kappa] {} \
         over {} columns.",
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
        "spread",
        "How far do runs differ?",
        text.with(row(figures)).with(details("Runs as a table", table.html())),
    )
}
