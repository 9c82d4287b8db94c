//! Weights as bars, each with its name, its sign and how sure it is.

use std::fmt::Write as _;

use super::svg::{escape, place};
use super::table::{per_cent, short_number};

const WIDTH: f64 = 460.0;
const ROW: f64 = 22.0;
/// Where bars end.
const END: f64 = 390.0;
/// Characters of a name for which there is room, and how wide one is.
const LETTERS: usize = 19;
const LETTER: f64 = 8.4;

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// How long it is; to the left if below zero.
    pub value: f64,
    /// How sure it is, from 0 to 1: the surer, the stronger its colour.
    pub sure: Option<f64>,
}

/// A picture of bars. `title` and `words` are for those who hear it; `sureness` says what the numbers at the right are.
pub fn bars(title: &str, words: &str, sureness: &str, bars: &[Bar]) -> String {
    let with_sure = bars.iter().any(|bar| bar.sure.is_some());
    let head = if with_sure { 20.0 } else { 4.0 };
    let height = head + ROW * bars.len() as f64 + 4.0;
    let mut out = format!(
        "<svg class=\"tamis bars\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n",
        escape(title),
        escape(words)
    );
    if with_sure {
        writeln!(out, "<text class=\"tick\" text-anchor=\"end\" x=\"{WIDTH}\" y=\"12\">{}</text>", escape(sureness))
            .expect("text grows");
    }
    let finite = || bars.iter().map(|bar| bar.value).filter(|value| value.is_finite());
    let (low, high) = finite().fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    let span = if high > low { high - low } else { 1.0 };
    let longest = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let names = LETTER * longest.clamp(4, LETTERS) as f64;
    let start = names + 10.0;
    let across = |value: f64| start + (value - low) / span * (END - start);
    let zero = place(across(0.0));
    writeln!(out, "<path class=\"axis\" d=\"M{zero} {}V{}\"/>", head, height - 4.0).expect("text grows");
    for (at, bar) in bars.iter().enumerate() {
        one(bar, (names, head + ROW * at as f64), across, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

fn one(bar: &Bar, (names, top): (f64, f64), across: impl Fn(f64) -> f64, out: &mut String) {
    let value = if bar.value.is_finite() { bar.value } else { 0.0 };
    let (from, to) = (across(value.min(0.0)), across(value.max(0.0)));
    let class = if value < 0.0 { "minus" } else { "plus" };
    let sure = bar.sure.filter(|sure| sure.is_finite());
    let said = sure.map(|sure| format!(", selected in {}", per_cent(sure))).unwrap_or_default();
    let middle = place(top + 15.0);
    writeln!(
        out,
        "<g><title>{}: {}{}</title><text text-anchor=\"end\" x=\"{}\" y=\"{middle}\">{}</text>\
         <rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\" rx=\"2\" fill-opacity=\"{:.2}\"/>",
        escape(&super::html::clipped(&bar.name, 300)),
        short_number(bar.value),
        escape(&said),
        place(names),
        escape(&fitted(&bar.name)),
        place(from),
        place(top + 4.0),
        place((to - from).max(1.0)),
        0.3 + 0.7 * sure.unwrap_or(1.0).clamp(0.0, 1.0),
    )
    .expect("text grows");
    if let Some(sure) = sure {
        writeln!(
            out,
            "<text class=\"tick\" text-anchor=\"end\" x=\"{WIDTH}\" y=\"{middle}\">{:.0} %</text>",
            100.0 * sure
        )
        .expect("text grows");
    }
    out.push_str("</g>\n");
}

fn fitted(name: &str) -> String {
    match name.char_indices().nth(LETTERS) {
        Some(_) => name.chars().take(LETTERS - 1).chain(['…']).collect(),
        None => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_is_named_and_tells_its_numbers() {
        let one = |name: &str, value, sure| Bar { name: name.into(), value, sure };
        let svg = bars("Weights", "two bars", "stability", &[one("<b>", 2.0, Some(1.0)), one("c", -1.0, Some(0.5))]);
        assert!(svg.contains("&lt;b&gt;: 2, selected in 100\u{a0}%") && svg.contains("class=\"minus\""), "{svg}");
        assert!(svg.contains("<desc>two bars</desc>"));
    }

    #[test]
    fn odd_numbers_and_names_still_give_a_picture() {
        let odd = [f64::NAN, f64::INFINITY, 0.0].map(|value| Bar { name: "é".repeat(10_000), value, sure: None });
        let svg = bars("", "", "", &odd);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.len() < 8_000, "{}", svg.len());
    }
}
