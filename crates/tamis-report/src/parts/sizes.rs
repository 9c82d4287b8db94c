//! Error against model size: the size path with held-out errors, and the features that half the size would keep. For methods
//! without a size path: the share of the total effect in the strongest features.

use std::collections::BTreeSet;

use tamis::model::summary::{HeadlineMetric, HeldOut, count};
use tamis::model::{Model, Resize, SizePath, SizePoint};

use super::headline::{interval, with_interval, written};
use super::path;
use crate::axis::AxisKind;
use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::{Html, clipped, command, paragraph, prose, shell, tag};
use crate::page::{Section, figure, row};
use crate::table::{Cell, Table, per_cent};

/// Names listed of features that are kept or dropped.
const NAMES: usize = 40;

/// The section; nothing for a model that is shown on its solution path, or for a kernel model.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    if model.nonzeros() < 2 || path::is_shown(context) || model.kernel.is_some() {
        return None;
    }
    Some(match &model.size_path {
        Some(size_path) => {
            Section::new("sizes", "Error against model size", size_path_body(model, size_path, context.file))
        }
        None => Section::new("sizes", "Cumulative effect", cumulative_effect(model, &context.refit_command(model))),
    })
}

fn size_path_body(model: &Model, size_path: &SizePath, file: &str) -> Html {
    let resize = format!("tamis resize {} --k {{}} --out smaller.json", shell(file));
    let half = half(model, size_path, &resize);
    let chart = figure(size_chart(model, size_path), prose("Held-out error of each step of the [size path]", &[]));
    half.with(row([chart, slider(model, size_path, &resize)])).with(table(model, size_path, &resize).html())
}

/// Half the size: the features kept, the features dropped, and the held-out error.
fn half(model: &Model, size_path: &SizePath, resize: &str) -> Html {
    let size = model.nonzeros();
    let wanted = size / 2;
    let Ok(smaller) = model.resize(Resize::Size(wanted)) else { return Html::new() };
    let (kept, all) = (names(&smaller), names(model));
    let is_kept: BTreeSet<&str> = kept.iter().copied().collect();
    let dropped: Vec<&str> = all.into_iter().filter(|name| !is_kept.contains(name)).collect();
    let metric = HeadlineMetric::of(model);
    let estimate = |step: &SizePoint| with_interval(metric, interval(metric, step));
    let path = smaller.size_path.as_ref().expect("a model cut from a size path has one");
    let quality = match (HeldOut::of(&smaller, path), HeldOut::of(model, size_path)) {
        (HeldOut::Own(step), HeldOut::Own(now)) => prose(
            "[held-out] {} *{}*, compared with {} for all {} features.",
            &[metric.name(), &estimate(step), &estimate(now), &count(size as u64)],
        ),
        (HeldOut::Own(step), _) => prose("[held-out] {} *{}*.", &[metric.name(), &estimate(step)]),
        (HeldOut::Nearest { larger, smaller }, _) => {
            let sized = |step: &SizePoint| format!("{} with {} features", estimate(step), count(step.size as u64));
            let nearest: Vec<String> = std::iter::once(larger).chain(smaller).map(sized).collect();
            prose("no [held-out] estimate; nearest: {} {}.", &[metric.name(), &nearest.join(" and ")])
        }
    };
    let first = tag("p", &[], prose("*Half the size, {} features*: ", &[&count(wanted as u64)]).with(quality));
    first
        .with(paragraph("Kept: {}.", &[&listed(&kept)]))
        .with(if dropped.is_empty() { Html::new() } else { paragraph("Dropped: {}.", &[&listed(&dropped)]) })
        .with(command(&resize.replace("{}", &wanted.to_string())))
}

/// Distinct names, the feature with the largest effect first.
fn names(model: &Model) -> Vec<&str> {
    let mut list: Vec<(f64, &str)> = Vec::new();
    for feature in model.outputs.iter().flat_map(|output| &output.features) {
        list.push((feature.effect().abs(), &feature.name));
    }
    list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let mut seen = BTreeSet::new();
    list.into_iter().filter(|(_, name)| seen.insert(*name)).map(|(_, name)| name).collect()
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| clipped(name, 60)).collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), count(more as u64)),
    }
}

fn size_chart(model: &Model, size_path: &SizePath) -> String {
    let metric = HeadlineMetric::of(model);
    let is_error = metric == HeadlineMetric::Error;
    let unit = if is_error { 100.0 } else { 1.0 };
    let point = |step: &SizePoint| {
        let found = metric.estimate(step);
        let [value, low, high] = [found.value, found.low, found.high].map(|value| unit * value);
        (step.size as f64, value, low, high)
    };
    let spans: Vec<_> = size_path.sizes.iter().filter(|step| step.size > 0).map(point).collect();
    let line = spans.iter().map(|&(x, y, ..)| (x, y)).collect();
    let chart = Chart::new("Error against model size")
        .size(460.0, 210.0)
        .x("number of features")
        .y(if is_error { "error (%)" } else { metric.name() })
        .x_kind(AxisKind::Logarithmic)
        .y_holds(0.0)
        .line("held-out, 95 % interval", line)
        .spans("held-out, 95 % interval", spans);
    match HeldOut::of(model, size_path).own().map(point) {
        Some((x, y, ..)) => chart.points("this model", vec![(x, y, 0.16)]).inline(),
        None => chart.inline(),
    }
}

/// A slider over all sizes up to the largest whose weights are kept; the script shows the estimate.
fn slider(model: &Model, size_path: &SizePath, resize: &str) -> Html {
    let kept = size_path.sizes.iter().filter(|step| !step.outputs.is_empty());
    let Some(most) = kept.map(distinct).max().filter(|&most| most > 1) else { return Html::new() };
    let metric = HeadlineMetric::of(model);
    let estimate = |step: &SizePoint| with_interval(metric, interval(metric, step)).replace(' ', "_");
    let steps = size_path.sizes.iter().map(|step| format!("{}={}", step.size, estimate(step)));
    let steps = steps.collect::<Vec<_>>().join(" ");
    let (most, now) = (most.to_string(), (model.nonzeros() / 2).max(1).to_string());
    let label = tag("label", &[("for", "size")], "Number of features");
    let input = tag("input", &[("id", "size"), ("type", "range"), ("min", "1"), ("max", &most), ("value", &now)], "");
    let inside =
        label.with(input).with(tag("output", &[("for", "size")], "")).with(command(&resize.replace("{}", &now)));
    let attributes = [
        ("class", "what-if"),
        ("data-sizes", steps.as_str()),
        ("data-metric", metric.name()),
        ("data-command", resize),
        ("hidden", ""),
    ];
    tag("div", &attributes, inside)
}

fn distinct(step: &SizePoint) -> usize {
    step.outputs.iter().flat_map(|output| &output.features).map(|feature| &feature.name).collect::<BTreeSet<_>>().len()
}

fn table(model: &Model, size_path: &SizePath, resize: &str) -> Table {
    let metric = HeadlineMetric::of(model);
    let mut table =
        Table::new("Size path", &["features", metric.name(), "from|interval", "to|interval", "loss", "command"]);
    let is_own = HeldOut::of(model, size_path).own().is_some();
    for (number, step) in size_path.sizes.iter().enumerate() {
        let found = metric.estimate(step);
        let shown = |value: f64| Cell::Shown(value, written(metric, value));
        let last = match (number == size_path.chosen, step.outputs.is_empty()) {
            (true, _) if is_own => Cell::Text("◄ this model".into()),
            (_, false) => Cell::Command(resize.replace("{}", &step.size.to_string())),
            (_, true) => Cell::Text("weights not kept; fit again with --k".into()),
        };
        let (size, loss) = (Cell::Shown(step.size as f64, count(step.size as u64)), Cell::Number(step.loss));
        table.row(vec![size, shown(found.value), shown(found.low), shown(found.high), loss, last]);
    }
    table.with_note(prose("Errors and losses are measured on [held-out] rows. From and to: the [interval].", &[]))
}

/// The share of the total effect in the strongest features. `fit` is the command that fits another size, `{}` for the size.
fn cumulative_effect(model: &Model, fit: &str) -> Html {
    let mut sizes: Vec<f64> =
        model.outputs.iter().flat_map(|output| &output.features).map(|feature| feature.effect().abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let total = sizes.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let shares: Vec<f64> = sizes
        .iter()
        .scan(0.0, |sum, size| {
            *sum += size;
            Some(*sum / total)
        })
        .collect();
    let share = shares[(sizes.len() / 2).max(1) - 1];
    let half = (model.nonzeros() / 2).max(1);
    let text = paragraph(
        "The stronger half of the weights has *{}* of the total absolute effect. This method builds no [size path], so the error \
         of a smaller model is unknown until it is fitted. This command fits half the size:",
        &[&per_cent(share)],
    );
    let step = (shares.len() / 100).max(1);
    let points: Vec<(f64, f64)> = shares
        .iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at + 1 == shares.len())
        .map(|(at, share)| ((at + 1) as f64, 100.0 * share))
        .collect();
    let kind = if shares.len() > 200 { AxisKind::Logarithmic } else { AxisKind::Linear };
    let chart = Chart::new("Cumulative effect of the strongest weights")
        .size(460.0, 190.0)
        .x("weights, the largest effect first")
        .y("share of the total effect (%)")
        .x_kind(kind)
        .y_holds(0.0)
        .y_holds(100.0)
        .line("", points);
    text.with(command(&fit.replace("{}", &half.to_string())))
        .with(row([figure(chart.inline(), "Cumulative effect of the strongest weights")]))
}
