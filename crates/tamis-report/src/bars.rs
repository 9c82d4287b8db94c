//! A bar chart of named values, with an optional selection frequency for each.

use std::fmt::Write as _;

use super::svg::{escape, place};
use super::table::{per_cent, short_number};

const WIDTH: f64 = 460.0;
const ROW: f64 = 22.0;
/// The right end of the bars.
const END: f64 = 390.0;
/// The longest name that fits, in characters, and the width of a character.
const LETTERS: usize = 19;
const LETTER: f64 = 8.4;

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its length; a negative value extends to the left.
    pub value: f64,
    /// The selection frequency, from 0 to 1: a lower one gives a paler bar.
    pub frequency: Option<f64>,
}

/// The chart. `title` and `words` describe it to screen readers; `heading` names the frequencies at the right.
pub fn bars(title: &str, words: &str, heading: &str, bars: &[Bar]) -> String {
    let with_frequency = bars.iter().any(|bar| bar.frequency.is_some());
    let head = if with_frequency { 20.0 } else { 4.0 };
    let height = head + ROW * bars.len() as f64 + 4.0;
    let mut out = format!(
        "<svg class=\"tamis bars\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n",
        escape(title),
        escape(words)
    );
    if with_frequency {
        writeln!(out, "<text class=\"tick\" text-anchor=\"end\" x=\"{WIDTH}\" y=\"12\">{}</text>", escape(heading))
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
    let frequency = bar.frequency.filter(|frequency| frequency.is_finite());
    let tip = frequency.map(|frequency| format!(", selection frequency {}", per_cent(frequency))).unwrap_or_default();
    let middle = place(top + 15.0);
    writeln!(
        out,
        "<g><title>{}: {}{}</title><text text-anchor=\"end\" x=\"{}\" y=\"{middle}\">{}</text>\
         <rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\" rx=\"2\" fill-opacity=\"{:.2}\"/>",
        escape(&super::html::clipped(&bar.name, 300)),
        short_number(bar.value),
        escape(&tip),
        place(names),
        escape(&fitted(&bar.name)),
        place(from),
        place(top + 4.0),
        place((to - from).max(1.0)),
        0.3 + 0.7 * frequency.unwrap_or(1.0).clamp(0.0, 1.0),
    )
    .expect("text grows");
    if let Some(frequency) = frequency {
        writeln!(
            out,
            "<text class=\"tick\" text-anchor=\"end\" x=\"{WIDTH}\" y=\"{middle}\">{:.0} %</text>",
            100.0 * frequency
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
    fn every_bar_shows_its_name_and_numbers() {
        let one = |name: &str, value, frequency| Bar { name: name.into(), value, frequency };
        let svg = bars(
            "Weights",
            "two bars",
            "selection frequency",
            &[one("<b>", 2.0, Some(1.0)), one("c", -1.0, Some(0.5))],
        );
        assert!(
            svg.contains("&lt;b&gt;: 2, selection frequency 100\u{a0}%") && svg.contains("class=\"minus\""),
            "{svg}"
        );
        assert!(svg.contains("<desc>two bars</desc>"));
    }

    #[test]
    fn odd_numbers_and_names_still_give_a_picture() {
        let odd = [f64::NAN, f64::INFINITY, 0.0].map(|value| Bar { name: "é".repeat(10_000), value, frequency: None });
        let svg = bars("", "", "", &odd);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.len() < 8_000, "{}", svg.len());
    }
}
