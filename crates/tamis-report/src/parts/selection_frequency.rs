//! Selection frequency: the share of paths that select each feature, and the features that each cut-off keeps.

use std::fmt::Write as _;

use tamis::model::summary::{STABLE, at_least, count, selection_frequencies};
use tamis::model::{Model, SizePath};

use crate::axis::{Axis, AxisKind};
use crate::context::ReportContext;
use crate::html::{Html, command, paragraph, prose, shell, tag};
use crate::page::{Section, figure, row};
use crate::svg::{escape, place, short};
use crate::table::{Cell, Table};

const CUTOFFS: [f64; 6] = [0.5, 0.6, 0.75, 0.9, 0.95, 1.0];

/// The section, for a model whose features were selected by many paths.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let frequencies = selection_frequencies(model);
    if frequencies.is_empty() {
        return None;
    }
    let size_path = model.size_path.as_ref();
    let stable = at_least(&frequencies, STABLE);
    let resize = format!("tamis resize {} --frequency {{}} --out stable.json", shell(context.file));
    let resize = size_path.map(|_| resize.as_str());
    let caption = prose("Features by [selection frequency]", &[]);
    let body = summary(size_path, stable, frequencies.len())
        .with(row([figure(frequency_chart(&frequencies), caption), slider(&frequencies, resize)]))
        .with(table(&frequencies, resize).html());
    Some(Section::new("selection-frequency", "Selection frequency", body))
}

fn summary(size_path: Option<&SizePath>, stable: usize, all: usize) -> Html {
    let (stable, all) = (count(stable as u64), count(all as u64));
    match size_path {
        Some(size_path) => paragraph(
            "*{} of {} features were selected by at least 75 %* of {} [paths], each trained on a random half of the rows. The \
             selection frequency says how much the paths agree, not how sure a feature is: the paths share the features that \
             earlier stages kept.",
            &[&stable, &all, &size_path.paths.to_string()],
        ),
        None => paragraph("*{} of {} features have a [selection frequency] of at least 75 %.*", &[&stable, &all]),
    }
}

/// A slider for the cut-off; the script shows the result. `resize` is the command, with `{}` for the cut-off.
pub fn slider(frequencies: &[f64], resize: Option<&str>) -> Html {
    let mut steps: Vec<(f64, usize)> = Vec::new();
    for &frequency in frequencies {
        match steps.last_mut() {
            Some(last) if (last.0 - frequency).abs() < 1e-6 => last.1 += 1,
            _ => steps.push((frequency, 1)),
        }
    }
    // There are at most as many distinct frequencies as paths or runs; beyond 2000 the smallest do not matter.
    steps.truncate(2000);
    let steps: Vec<String> = steps.iter().map(|(frequency, number)| format!("{frequency:.4}:{number}")).collect();
    let label = tag("label", &[("for", "cutoff")], "Cut-off");
    let input = tag(
        "input",
        &[("id", "cutoff"), ("type", "range"), ("min", "0"), ("max", "1"), ("step", "0.01"), ("value", "0.75")],
        "",
    );
    let result = tag("output", &[("for", "cutoff")], "");
    let command = resize.map_or(Html::new(), |text| command(&text.replace("{}", "0.75")));
    let pattern = resize.map_or(("", ""), |text| ("data-command", text));
    let steps = steps.join(" ");
    let attributes = [("class", "what-if"), ("data-cut", steps.as_str()), pattern, ("hidden", "")];
    tag("div", &attributes, label.with(input).with(result).with(command))
}

fn table(frequencies: &[f64], resize: Option<&str>) -> Table {
    let mut columns = vec!["cut-off", "features kept"];
    columns.extend(resize.map(|_| "command"));
    let mut table = Table::new("Cut-offs", &columns);
    for cutoff in CUTOFFS {
        let kept = at_least(frequencies, cutoff);
        let mut cells = vec![Cell::Shown(cutoff, format!("{:.0} %", 100.0 * cutoff)), Cell::Number(kept as f64)];
        let text = resize.filter(|_| kept > 0).map(|text| text.replace("{}", &cutoff.to_string()));
        cells.extend(resize.map(|_| text.map_or(Cell::Empty, Cell::Command)));
        table.row(cells);
    }
    table
}

const WIDTH: f64 = 460.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const HEIGHT: f64 = 190.0;
const TOP: f64 = 10.0;

/// Frequencies in falling order, and the cut-off as a line that the script can move.
pub fn frequency_chart(frequencies: &[f64]) -> String {
    let x = Axis::over(AxisKind::Linear, [0.0, frequencies.len() as f64].into_iter(), true);
    let across = |rank: f64| LEFT + x.place(rank).unwrap_or(0.0) * (WIDTH - LEFT - RIGHT);
    let down = |frequency: f64| TOP + (1.0 - frequency) * HEIGHT;
    let (bottom, end, total) = (TOP + HEIGHT, WIDTH - RIGHT, TOP + HEIGHT + 44.0);
    let stable = at_least(frequencies, STABLE);
    let mut out = format!(
        "<svg class=\"tamis\" width=\"{WIDTH}\" height=\"{total}\" viewBox=\"0 0 {WIDTH} {total}\" role=\"img\">\n\
         <title>Selection frequency</title>\n<desc>{}</desc>\n",
        escape(&format!(
            "Selection frequencies of {} features in falling order; {stable} of them are at or above the cut-off of 75 per cent",
            frequencies.len()
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
    out.push_str(&format!(
        "<path class=\"frequency\" fill-opacity=\".55\" d=\"{}\"/>\n",
        area(frequencies, across, down)
    ));
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
    let cut = place(down(STABLE));
    writeln!(
        out,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
         <line class=\"cut\" stroke=\"currentColor\" stroke-width=\"2\" stroke-dasharray=\"7 4\" data-top=\"{TOP}\" \
         data-height=\"{HEIGHT}\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{cut}\" y2=\"{cut}\"/>\
         <text text-anchor=\"middle\" x=\"{}\" y=\"{}\">features, by falling selection frequency</text></svg>",
        place((LEFT + end) / 2.0),
        bottom + 38.0
    )
    .expect("text grows");
    out
}

/// The outline of a staircase: equal frequencies are one step.
fn area(frequencies: &[f64], across: impl Fn(f64) -> f64, down: impl Fn(f64) -> f64) -> String {
    let mut path = format!("M{} {}", place(across(0.0)), place(down(0.0)));
    let mut at = 0;
    while at < frequencies.len() {
        let equal = |other: &&f64| (**other - frequencies[at]).abs() < 1e-9;
        let end = at + frequencies[at..].iter().take_while(equal).count();
        let y = place(down(frequencies[at].clamp(0.0, 1.0)));
        write!(path, "L{} {y}L{} {y}", place(across(at as f64)), place(across(end as f64))).expect("text grows");
        at = end.max(at + 1);
    }
    write!(path, "L{} {}Z", place(across(frequencies.len() as f64)), place(down(0.0))).expect("text grows");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_frequencies_are_one_step() {
        let html = slider(&[1.0, 1.0, 0.5], Some("cut {}"));
        assert!(html.as_str().contains("data-cut=\"1.0000:2 0.5000:1\""), "{html:?}");
        assert!(html.as_str().contains("cut 0.75"));
        let svg = frequency_chart(&[1.0, 1.0, 0.5]);
        assert!(svg.contains("of 3 features in falling order; 2 of them are at or above the cut-off"), "{svg}");
    }

    #[test]
    fn many_features_are_a_small_picture() {
        let frequencies: Vec<f64> = (0..1_000_000).map(|at| f64::from(32 - at / 31_251) / 32.0).collect();
        assert!(frequency_chart(&frequencies).len() < 10_000);
    }
}
