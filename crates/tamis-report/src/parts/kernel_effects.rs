//! The variables of a kernel model: their sensitivities, a partial-dependence curve each, and a surface for strong pairs.

use std::fmt::Write as _;

use tamis::model::Model;
use tamis::model::kernel::{KernelEffect, KernelInteraction, KernelModel};

use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::{Html, clipped, paragraph};
use crate::page::{Section, figure, row};
use crate::svg::{escape, place};
use crate::table::{Cell, LONGEST_NAME, Table, short_number};

/// Curves on the page, and the side of a surface in pixels.
const CURVES: usize = 48;
const SIDE: f64 = 240.0;
/// Classes whose surfaces are drawn.
const SURFACE_CLASSES: usize = 4;

/// The section; nothing for other models, or for a constant.
pub fn section(model: &Model, _context: &ReportContext<'_>) -> Option<Section> {
    let kernel = model.kernel.as_ref()?;
    let size = kernel.size()?;
    let curves = size.variables.iter().take(CURVES).map(|effect| curve(model, kernel, effect));
    let mut body = paragraph(
        "A curve is the mean prediction over rows if the variable had this value in all of them (partial dependence). \
         Classes have log-odds.",
        &[],
    )
    .with(row(curves));
    let drawn: Vec<Html> = size.interactions.iter().flat_map(|pair| surfaces(model, kernel, pair)).collect();
    if !drawn.is_empty() {
        body = body
            .with(paragraph(
                "Pairs that interact: the mean prediction over rows at both values. Blue is above the mean of the picture, \
                 orange below.",
                &[],
            ))
            .with(row(drawn))
            .with(pairs(kernel, &size.interactions).html());
    }
    body = body.with(variables(kernel, &size.variables).html());
    Some(Section::new("effects", "Selected variables", body))
}

fn name(kernel: &KernelModel, variable: usize) -> String {
    clipped(&kernel.variables[variable].name, 40)
}

fn curve(model: &Model, kernel: &KernelModel, effect: &KernelEffect) -> Html {
    let name = name(kernel, effect.variable);
    let mut chart = Chart::new(&name).size(320.0, 160.0).x(&name).y(scale(model));
    for (number, margins) in effect.margins.iter().enumerate() {
        let label =
            model.outputs[number].class.as_ref().map(|class| clipped(&class.to_string(), 24)).unwrap_or_default();
        chart = chart.line(&label, effect.at.iter().copied().zip(margins.iter().copied()).collect());
    }
    figure(chart.inline(), name)
}

/// What margins are.
fn scale(model: &Model) -> &'static str {
    if model.classes().is_empty() { "prediction" } else { "log-odds" }
}

fn surfaces(model: &Model, kernel: &KernelModel, pair: &KernelInteraction) -> Vec<Html> {
    let [a, b] = pair.variables.map(|variable| name(kernel, variable));
    let surface = |(number, margins): (usize, &Vec<f64>)| {
        let class = model.outputs[number].class.as_ref();
        let of = class.map(|class| format!(", class {}", clipped(&class.to_string(), 24))).unwrap_or_default();
        figure(heat_map([&a, &b], &pair.at, margins), format!("{a} (upwards) × {b} (to the right){of}"))
    };
    if pair.at[0].is_empty() {
        return Vec::new();
    }
    pair.margins.iter().enumerate().take(SURFACE_CLASSES).map(surface).collect()
}

/// A picture of margins on a grid: the first variable ascends upwards, the second to the right.
fn heat_map([a, b]: [&str; 2], [up, right]: &[Vec<f64>; 2], margins: &[f64]) -> String {
    let mean = margins.iter().sum::<f64>() / margins.len().max(1) as f64;
    let largest = margins.iter().map(|margin| (margin - mean).abs()).fold(f64::MIN_POSITIVE, f64::max);
    let (width, height) = (SIDE / right.len() as f64, SIDE / up.len() as f64);
    let mut out = format!(
        "<svg class=\"tamis pixels\" width=\"{SIDE}\" height=\"{SIDE}\" viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\">\n\
         <title>{}</title>\n",
        escape(&format!("{a} and {b}"))
    );
    for (at, margin) in margins.iter().enumerate() {
        let (row, column) = (at / right.len(), at % right.len());
        let class = if *margin < mean { "minus" } else { "plus" };
        writeln!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2}\"><title>{}</title></rect>",
            place(column as f64 * width),
            place(SIDE - (row + 1) as f64 * height),
            place(width),
            place(height),
            (margin - mean).abs() / largest,
            escape(&format!(
                "{a} = {}, {b} = {}: {}",
                short_number(up[row]),
                short_number(right[column]),
                short_number(*margin)
            )),
        )
        .expect("text grows");
    }
    out.push_str("</svg>\n");
    out
}

fn variables(kernel: &KernelModel, effects: &[KernelEffect]) -> Table {
    let mut table =
        Table::new("Variables", &["name", "sensitivity", "least of four splits", "share of outer folds", "q"]);
    for effect in effects {
        let name = &kernel.variables[effect.variable].name;
        table.row(vec![
            Cell::Text(clipped(name, LONGEST_NAME)),
            Cell::Number(effect.sensitivity),
            Cell::Number(effect.least),
            Cell::Share(effect.share),
            q_cell(kernel, &[name]),
        ]);
    }
    table.with_note(
        "Sensitivity: the mean product of the derivatives of two half-sample fits, about 0 for a variable that does not matter. \
         q: of variables with at most this value, at most this share are false discoveries, on average; from rows of the outer folds."
            .into(),
    )
}

fn pairs(kernel: &KernelModel, interactions: &[KernelInteraction]) -> Table {
    let mut table = Table::new("Interactions", &["first", "second", "sensitivity", "least of four splits", "q"]);
    for pair in interactions {
        let names = pair.variables.map(|place| kernel.variables[place].name.as_str());
        let [a, b] = names.map(|name| Cell::Text(clipped(name, LONGEST_NAME)));
        let numbers = [pair.sensitivity, pair.least].map(Cell::Number);
        table.row([a, b].into_iter().chain(numbers).chain([q_cell(kernel, &names)]).collect());
    }
    table.with_note("q: tested on rows of the outer folds; for classes on the scale of log-odds.".into())
}

/// A q-value; empty for what was not tested.
fn q_cell(kernel: &KernelModel, names: &[&str]) -> Cell {
    kernel.q_value(names).map_or_else(|| Cell::Text(String::new()), Cell::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_has_a_cell_for_each_pair_of_values() {
        let svg = heat_map(["<a>", "b"], &[vec![0.0, 1.0], vec![5.0, 6.0, 7.0]], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(svg.matches("<rect").count(), 6);
        assert!(svg.contains("&lt;a&gt; = 1, b = 5: 4") && !svg.contains("<a>"), "{svg}");
        let first = svg.lines().find(|line| line.contains("= 0, b = 5")).unwrap();
        assert!(
            first.contains("x=\"0\" y=\"120\"") && first.contains("minus"),
            "the smallest values are below: {first}"
        );
    }
}
