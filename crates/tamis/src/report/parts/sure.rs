//! How sure: how often each feature was selected, the cut-off, and what would change if it moved.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::{Model, Selection};
use crate::report::axis::{Axis, AxisKind};
use crate::report::html::{Html, command, paragraph, prose, shell, tag};
use crate::report::page::{Section, figure, row};
use crate::report::svg::{escape, place, short};
use crate::report::table::{Cell, Table, count};

/// The cut-off at which things are told: half-way between chance and certainty.
pub const CUTOFF: f64 = 0.75;
const CUTOFFS: [f64; 6] = [0.5, 0.6, 0.75, 0.9, 0.95, 1.0];

/// The largest stability of each feature over all outputs, largest first.
pub fn stabilities(model: &Model) -> Vec<f64> {
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for feature in model.outputs.iter().flat_map(|output| &output.features) {
        let Some(stability) = feature.stability else { continue };
        let known = best.entry(&feature.name).or_insert(stability);
        *known = known.max(stability);
    }
    let mut list: Vec<f64> = best.into_values().collect();
    list.sort_by(|a, b| b.total_cmp(a));
    list
}

/// How many are selected at least so often.
pub fn at_least(shares: &[f64], cutoff: f64) -> usize {
    shares.iter().filter(|&&share| share >= cutoff - 1e-9).count()
}

/// The section of a model whose features were selected by many paths.
pub fn section(model: &Model, file: &str) -> Option<Section> {
    let shares = stabilities(model);
    if shares.is_empty() {
        return None;
    }
    let (stay, all) = (count(at_least(&shares, CUTOFF) as u64), count(shares.len() as u64));
    let paths = model.selection.as_ref().map(|selection| selection.paths.to_string());
    let body = match &paths {
        Some(paths) => paragraph(
            "{} [paths], each over another half of the rows, voted. *{} of {} features were selected by at least 75 %* of \
             them: other rows of the same kind would give these again. What fewer selected may be chance, or stand for a \
             relative of itself.",
            &[paths, &stay, &all],
        ),
        None => paragraph("*{} of {} features were selected at least 75 % of the time.*", &[&stay, &all]),
    };
    let chance = model.selection.as_ref().map_or(Html::new(), |selection| chance(selection, at_least(&shares, CUTOFF)));
    let recut = format!("tamis resize {} --frequency {{}} --out surer.json", shell(file));
    let recut = model.selection.as_ref().map(|_| recut.as_str());
    let picture = figure(picture(&shares), prose("Features by how often they were selected ([stability])", &[]));
    let body = body.with(chance).with(row([picture, slider(&shares, recut)]));
    let body = body.with(table(&shares, model.selection.as_ref(), recut).html());
    Some(Section::new("sure", "How sure is each?", body))
}

fn chance(selection: &Selection, stay: usize) -> Html {
    match selection.false_selections(CUTOFF) {
        Some(bound) if bound < stay as f64 => paragraph(
            "Expected among them by chance alone: at most {} (the bound of Meinshausen & Bühlmann, as an indication).",
            &[&bounded(bound)],
        ),
        _ => Html::new(),
    }
}

fn bounded(bound: f64) -> String {
    if bound < 0.01 { "0.01".into() } else { format!("{bound:.2}") }
}

/// A cut-off that can be moved; the script shows it. `recut` is the command, `{}` where the cut-off goes.
pub fn slider(shares: &[f64], recut: Option<&str>) -> Html {
    let mut steps: Vec<(f64, usize)> = Vec::new();
    for &share in shares {
        match steps.last_mut() {
            Some(last) if (last.0 - share).abs() < 1e-6 => last.1 += 1,
            _ => steps.push((share, 1)),
        }
    }
    // Distinct shares are as many as paths, or runs: few. Should they be many, the finest steps do not matter.
    steps.truncate(2000);
    let steps: Vec<String> = steps.iter().map(|(share, number)| format!("{share:.4}:{number}")).collect();
    let label = tag("label", &[("for", "cutoff")], "What if the cut-off moved?");
    let input = tag(
        "input",
        &[("id", "cutoff"), ("type", "range"), ("min", "0"), ("max", "1"), ("step", "0.01"), ("value", "0.75")],
        "",
    );
    let said = tag("output", &[("for", "cutoff")], "");
    let command = recut.map_or(Html::new(), |text| command(&text.replace("{}", "0.75")));
    let pattern = recut.map_or(("", ""), |text| ("data-command", text));
    let steps = steps.join(" ");
    let attributes = [("class", "what-if"), ("data-cut", steps.as_str()), pattern, ("hidden", "")];
    tag("div", &attributes, label.with(input).with(said).with(command))
}

fn table(shares: &[f64], selection: Option<&Selection>, recut: Option<&str>) -> Table {
    let bound = |cutoff: f64| selection.and_then(|selection| selection.false_selections(cutoff));
    let mut columns = vec!["cut-off", "features that stay"];
    columns.extend(selection.map(|_| "by chance at most"));
    columns.extend(recut.map(|_| "command"));
    let mut table = Table::new("Cut-offs", &columns);
    for cutoff in CUTOFFS {
        let stay = at_least(shares, cutoff);
        let mut cells = vec![Cell::Shown(cutoff, format!("{:.0} %", 100.0 * cutoff)), Cell::Number(stay as f64)];
        let chance = bound(cutoff).map_or(Cell::Empty, |bound| Cell::Shown(bound, bounded(bound)));
        cells.extend(selection.map(|_| chance));
        let text = recut.filter(|_| stay > 0).map(|text| text.replace("{}", &cutoff.to_string()));
        cells.extend(recut.map(|_| text.map_or(Cell::Empty, Cell::Command)));
        table.row(cells);
    }
    table
}

const WIDTH: f64 = 460.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const HEIGHT: f64 = 190.0;
const TOP: f64 = 10.0;

/// Shares in falling order, and the cut-off as a line that the script can move.
pub fn picture(shares: &[f64]) -> String {
    let x = Axis::over(AxisKind::Linear, [0.0, shares.len() as f64].into_iter(), true);
    let across = |rank: f64| LEFT + x.place(rank).unwrap_or(0.0) * (WIDTH - LEFT - RIGHT);
    let down = |share: f64| TOP + (1.0 - share) * HEIGHT;
    let (bottom, end, total) = (TOP + HEIGHT, WIDTH - RIGHT, TOP + HEIGHT + 44.0);
    let stay = at_least(shares, CUTOFF);
    let mut out = format!(
        "<svg class=\"tamis\" width=\"{WIDTH}\" height=\"{total}\" viewBox=\"0 0 {WIDTH} {total}\" role=\"img\">\n\
         <title>How often features were selected</title>\n<desc>{}</desc>\n",
        escape(&format!(
            "Shares of {} features in falling order; {stay} of them are at or above the cut-off of 75 per cent",
            shares.len()
        ))
    );
    for percent in [0, 25, 50, 75, 100] {
        let y = place(down(f64::from(percent) / 100.0));
        writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y}\" y2=\"{y}\"/>\
             <text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{percent} %</text>",
            LEFT - 6.0,
            place(down(f64::from(percent) / 100.0) + 4.0)
        )
        .expect("text grows");
    }
    out.push_str(&format!("<path class=\"sure\" fill-opacity=\".55\" d=\"{}\"/>\n", area(shares, across, down)));
    for mark in x.marks.iter().filter(|mark| mark.fract() == 0.0) {
        let at = place(across(*mark));
        writeln!(
            out,
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{at}\" y=\"{}\">{}</text>",
            bottom + 16.0,
            short(*mark)
        )
        .expect("text grows");
    }
    let cut = place(down(CUTOFF));
    writeln!(
        out,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
         <line class=\"cut\" stroke=\"currentColor\" stroke-width=\"2\" stroke-dasharray=\"7 4\" data-top=\"{TOP}\" \
         data-height=\"{HEIGHT}\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{cut}\" y2=\"{cut}\"/>\
         <text text-anchor=\"middle\" x=\"{}\" y=\"{}\">features, the most often selected first</text></svg>",
        place((LEFT + end) / 2.0),
        bottom + 38.0
    )
    .expect("text grows");
    out
}

/// A staircase: equal shares are one step.
fn area(shares: &[f64], across: impl Fn(f64) -> f64, down: impl Fn(f64) -> f64) -> String {
    let mut path = format!("M{} {}", place(across(0.0)), place(down(0.0)));
    let mut at = 0;
    while at < shares.len() {
        let end = at + shares[at..].iter().take_while(|share| (**share - shares[at]).abs() < 1e-9).count();
        let y = place(down(shares[at].clamp(0.0, 1.0)));
        write!(path, "L{} {y}L{} {y}", place(across(at as f64)), place(across(end as f64))).expect("text grows");
        at = end.max(at + 1);
    }
    write!(path, "L{} {}Z", place(across(shares.len() as f64)), place(down(0.0))).expect("text grows");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_one_step() {
        let html = slider(&[1.0, 1.0, 0.5], Some("cut {}"));
        assert!(html.as_str().contains("data-cut=\"1.0000:2 0.5000:1\""), "{html:?}");
        assert!(html.as_str().contains("cut 0.75"));
        let svg = picture(&[1.0, 1.0, 0.5]);
        assert!(svg.contains("1 of them") || svg.contains("2 of them are at or above"), "{svg}");
    }

    #[test]
    fn a_share_at_the_cut_off_stays() {
        assert_eq!(at_least(&[1.0, 0.75, 0.7499], 0.75), 2);
    }

    #[test]
    fn many_features_are_a_small_picture() {
        let shares: Vec<f64> = (0..1_000_000).map(|at| f64::from(32 - at / 31_251) / 32.0).collect();
        assert!(picture(&shares).len() < 10_000);
    }
}
