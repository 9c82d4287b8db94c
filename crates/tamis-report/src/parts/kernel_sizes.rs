//! Error against the number of variables of a kernel model, beside a constant and a linear model.

use tamis::eval::Interval;
use tamis::model::Model;
use tamis::model::kernel::{KernelModel, KernelScore};
use tamis::model::summary::HeadlineMetric;

use super::headline::{kernel_interval, with_interval, written};
use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::{Html, paragraph, shell};
use crate::page::{Section, figure, row};
use crate::table::{Cell, Table};

/// The section; nothing for other models.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let kernel = model.kernel.as_ref()?;
    let metric = HeadlineMetric::of(model);
    let body = findings(kernel)
        .with(row([figure(chart(kernel, metric), "Held-out error against the number of variables, 95 % intervals")]))
        .with(table(kernel, metric, context.file).html());
    Some(Section::new("sizes", "Error against number of variables", body))
}

fn findings(kernel: &KernelModel) -> Html {
    let first = paragraph(
        "Each number of variables was evaluated on rows of outer folds ([cross-validation]) that took no part in its \
         scan, its search or its weights.",
        &[],
    );
    let found = match (kernel.is_better_than_constant, kernel.is_linear_as_good) {
        (false, _) => paragraph(
            "*Nothing found*: no number of variables predicts [held-out] rows better than a constant, beyond one standard \
             error.",
            &[],
        ),
        (true, true) => paragraph(
            "*A linear model does as well* on the same rows, within one standard error: a method such as `stabilized` \
             gives a simpler model.",
            &[],
        ),
        (true, false) => paragraph(
            "The size is the smallest one whose squared error exceeds that of the best by at most one standard error, \
             without variables of less than a hundredth of the largest sensitivity. A linear model by forward selection is worse by more than that.",
            &[],
        ),
    };
    first.with(found)
}

fn chart(kernel: &KernelModel, metric: HeadlineMetric) -> String {
    let is_error = metric == HeadlineMetric::Error;
    let unit = if is_error { 100.0 } else { 1.0 };
    let spans: Vec<(f64, f64, f64, f64)> = kernel
        .sizes
        .iter()
        .map(|size| {
            let Interval { value, low, high } = kernel_interval(&size.score);
            (size.size as f64, unit * value, unit * low, unit * high)
        })
        .collect();
    let line = spans.iter().map(|&(x, y, ..)| (x, y)).collect();
    let chart = Chart::new("Error against number of variables")
        .size(560.0, 240.0)
        .x("number of variables")
        .y(if is_error { "error (%)" } else { metric.name() })
        .x_kind(crate::axis::AxisKind::Logarithmic)
        .y_holds(0.0)
        .line("held-out", line)
        .spans("held-out", spans.clone())
        .level("constant", unit * kernel_interval(&kernel.constant_score).value)
        .level("linear model", unit * kernel_interval(&kernel.linear_score).value);
    match kernel.chosen.map(|chosen| spans[chosen]) {
        Some((x, y, ..)) => chart.points("this model", vec![(x, y, 0.16)]).inline(),
        None => chart.inline(),
    }
}

fn table(kernel: &KernelModel, metric: HeadlineMetric, file: &str) -> Table {
    let columns = ["variables", metric.name(), "interval", "squared error", "resize"];
    let mut table = Table::new("Number of variables", &columns);
    let cells = |name: String, score: &KernelScore, last: Cell| {
        let found = kernel_interval(score);
        let text = with_interval(metric, found);
        let interval =
            text.split_once(' ').map_or(String::new(), |(_, rest)| rest.trim_matches(['(', ')']).to_string());
        vec![
            Cell::Text(name),
            Cell::Shown(found.value, written(metric, found.value)),
            Cell::Text(interval),
            Cell::Number(score.squared),
            last,
        ]
    };
    for (place, size) in kernel.sizes.iter().enumerate() {
        let last = match (kernel.chosen == Some(place), size.function.is_some()) {
            (true, _) => Cell::Text("this model".into()),
            (false, true) => Cell::Command(format!("tamis resize {} --k {} --out other.json", shell(file), size.size)),
            (false, false) => Cell::Empty,
        };
        table.row(cells(size.size.to_string(), &size.score, last));
    }
    table.row(cells("constant".into(), &kernel.constant_score, Cell::Empty));
    let linear = Cell::Text(format!("{:.1} features on average", kernel.linear_size));
    table.row(cells("linear model".into(), &kernel.linear_score, linear));
    table.with_note("Squared error in units of the variance of the target.".into())
}
