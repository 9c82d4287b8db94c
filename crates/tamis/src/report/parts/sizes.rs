//! What if fewer: the ladder of sizes with their errors, and half as many features by name; or, where no ladder was built,
//! how much of all effects the strongest features carry.

use std::collections::BTreeSet;

use super::features::effect;
use super::worth::{Measure, rung};
use crate::model::{Cut, Model, Selection, Step};
use crate::report::axis::AxisKind;
use crate::report::chart::Chart;
use crate::report::html::{Html, clipped, command, paragraph, prose, shell, tag};
use crate::report::page::{Section, figure, row};
use crate::report::table::{Cell, Table, count, per_cent};

/// Names told of those that stay or leave.
const NAMES: usize = 40;

/// The section. `fit` is the command that would make a model of another size where it cannot be cut, `{}` for the size.
pub fn section(model: &Model, file: &str, fit: &str) -> Option<Section> {
    let size = model.nonzeros();
    if size < 2 {
        return None;
    }
    let body = match &model.selection {
        Some(selection) => ladder(model, selection, file),
        None => carried(model, size, fit),
    };
    Some(Section::new("fewer", "What if you want fewer?", body))
}

fn ladder(model: &Model, selection: &Selection, file: &str) -> Html {
    let recut = format!("tamis resize {} --k {{}} --out smaller.json", shell(file));
    let half = half(model, selection, &recut);
    let chart =
        figure(picture(model, selection), prose("Models of falling size from one training (the [ladder])", &[]));
    half.with(row([chart, slider(model, selection, &recut)])).with(table(model, selection, &recut).html())
}

/// Half as many: which stay, which leave, what it costs.
fn half(model: &Model, selection: &Selection, recut: &str) -> Html {
    let size = model.nonzeros();
    let wanted = size / 2;
    let Ok(smaller) = model.recut(Cut::Size(wanted)) else { return Html::new() };
    let (stay, all) = (names(&smaller), names(model));
    let kept: BTreeSet<&str> = stay.iter().copied().collect();
    let leave: Vec<&str> = all.into_iter().filter(|name| !kept.contains(name)).collect();
    let measure = Measure::of(model);
    let told = |step: &Step| measure.with_interval(&measure.of_step(step));
    let ladder = smaller.selection.as_ref().expect("it was cut");
    let worth = match (rung(&smaller, ladder), rung(model, selection)) {
        (Some(step), Some(now)) => prose(
            "its {} is *{}*; with all {} it is {}.",
            &[measure.name(), &told(step), &count(size as u64), &told(now)],
        ),
        (Some(step), None) => prose("its {} is *{}*.", &[measure.name(), &told(step)]),
        _ => {
            let next = selection.ladder.iter().find(|step| step.size < wanted);
            let larger = selection.ladder.iter().rfind(|step| step.size > wanted);
            let near: Vec<String> = [larger, next]
                .into_iter()
                .flatten()
                .map(|step| format!("{} features {}", count(step.size as u64), told(step)))
                .collect();
            prose("that size was not measured itself; near it, {}: {}.", &[measure.name(), &near.join(", ")])
        }
    };
    let first = tag("p", &[], prose("*Half as many, {} features*: ", &[&count(wanted as u64)]).with(worth));
    first
        .with(paragraph("Stay: {}.", &[&listed(&stay)]))
        .with(if leave.is_empty() { Html::new() } else { paragraph("Leave: {}.", &[&listed(&leave)]) })
        .with(command(&recut.replace("{}", &wanted.to_string())))
}

/// Different names, the strongest feature first.
fn names(model: &Model) -> Vec<&str> {
    let mut list: Vec<(f64, &str)> = Vec::new();
    for feature in model.outputs.iter().flat_map(|output| &output.features) {
        list.push((effect(feature).abs(), &feature.name));
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

fn picture(model: &Model, selection: &Selection) -> String {
    let measure = Measure::of(model);
    let point = |step: &Step| {
        let worth = measure.of_step(step);
        let [value, low, high] = [worth.value, worth.low, worth.high].map(|value| measure.drawn(value));
        (step.size as f64, value, low, high)
    };
    let spans: Vec<_> = selection.ladder.iter().filter(|step| step.size > 0).map(point).collect();
    let line = spans.iter().map(|&(x, y, ..)| (x, y)).collect();
    let chart = Chart::new("Error against the number of features")
        .size(460.0, 210.0)
        .x("features (each step, half as many)")
        .y(measure.axis())
        .x_kind(AxisKind::Logarithmic)
        .y_holds(0.0)
        .line("with 95 % interval", line)
        .spans("with 95 % interval", spans);
    match selection.ladder.get(selection.chosen) {
        Some(step) if rung(model, selection).is_some() => {
            let (x, y, ..) = point(step);
            chart.points("this model", vec![(x, y, 0.16)]).inline()
        }
        _ => chart.inline(),
    }
}

/// Any size up to the largest that is kept; the script tells of it.
fn slider(model: &Model, selection: &Selection, recut: &str) -> Html {
    let kept = selection.ladder.iter().filter(|step| !step.outputs.is_empty());
    let Some(most) = kept.map(distinct).max().filter(|&most| most > 1) else { return Html::new() };
    let measure = Measure::of(model);
    let written = |step: &Step| measure.with_interval(&measure.of_step(step)).replace(' ', "_");
    let rungs: Vec<String> = selection.ladder.iter().map(|step| format!("{}={}", step.size, written(step))).collect();
    let (most, now) = (most.to_string(), (model.nonzeros() / 2).max(1).to_string());
    let label = tag("label", &[("for", "size")], "What if it were another number?");
    let input = tag("input", &[("id", "size"), ("type", "range"), ("min", "1"), ("max", &most), ("value", &now)], "");
    let inside =
        label.with(input).with(tag("output", &[("for", "size")], "")).with(command(&recut.replace("{}", &now)));
    let rungs = rungs.join(" ");
    let attributes = [
        ("class", "what-if"),
        ("data-sizes", rungs.as_str()),
        ("data-measure", measure.name()),
        ("data-command", recut),
        ("hidden", ""),
    ];
    tag("div", &attributes, inside)
}

fn distinct(step: &Step) -> usize {
    step.outputs.iter().flat_map(|output| &output.features).map(|feature| &feature.name).collect::<BTreeSet<_>>().len()
}

fn table(model: &Model, selection: &Selection, recut: &str) -> Table {
    let measure = Measure::of(model);
    let mut table = Table::new("Ladder of sizes", &["features", measure.name(), "from", "to", "loss", "command"]);
    for (number, step) in selection.ladder.iter().enumerate() {
        let worth = measure.of_step(step);
        let shown = |value: f64| Cell::Shown(value, measure.written(value));
        let last = match (number == selection.chosen, step.outputs.is_empty()) {
            (true, _) if rung(model, selection).is_some() => Cell::Text("◄ this model".into()),
            (_, false) => Cell::Command(recut.replace("{}", &step.size.to_string())),
            (_, true) => Cell::Text("too large to be kept; fit again with --k".into()),
        };
        let (size, loss) = (Cell::Shown(step.size as f64, count(step.size as u64)), Cell::Number(step.loss));
        table.row(vec![size, shown(worth.value), shown(worth.low), shown(worth.high), loss, last]);
    }
    table.noted(prose(
        "Each size was judged on rows that its features were chosen without. From and to: the [interval].",
        &[],
    ))
}

/// Without a ladder: how much of all effects the strongest carry.
fn carried(model: &Model, size: usize, fit: &str) -> Html {
    let mut sizes: Vec<f64> =
        model.outputs.iter().flat_map(|output| &output.features).map(|feature| effect(feature).abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let total = sizes.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let shares: Vec<f64> = sizes
        .iter()
        .scan(0.0, |sum, size| {
            *sum += size;
            Some(*sum / total)
        })
        .collect();
    let part = shares[(sizes.len() / 2).max(1) - 1];
    let half = (size / 2).max(1);
    let text = paragraph(
        "The stronger half of the weights carries *{}* of all effects. This method built no [ladder], so what fewer \
         features cost is not known before it is tried. Exactly half as many:",
        &[&per_cent(part)],
    );
    let step = (shares.len() / 100).max(1);
    let points: Vec<(f64, f64)> = shares
        .iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at + 1 == shares.len())
        .map(|(at, share)| ((at + 1) as f64, 100.0 * share))
        .collect();
    let kind = if shares.len() > 200 { AxisKind::Logarithmic } else { AxisKind::Linear };
    let chart = Chart::new("Part of all effects that the strongest weights carry")
        .size(460.0, 190.0)
        .x("weights, the strongest first")
        .y("part of all effects (%)")
        .x_kind(kind)
        .y_holds(0.0)
        .y_holds(100.0)
        .line("", points);
    text.with(command(&fit.replace("{}", &half.to_string())))
        .with(row([figure(chart.inline(), "What the strongest weights carry")]))
}
