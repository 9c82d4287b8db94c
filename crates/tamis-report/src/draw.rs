//! Drawing of charts: layout and SVG elements.

use std::fmt::Write as _;

use super::axis::Axis;
use super::chart::{Chart, Series, Shape};
use super::svg::{COLOURS, STYLE, escape, place, short};
use super::table::short_number;

/// The smallest width of the vertical axis.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 18.0;
const FOOT: f64 = 56.0;
/// The approximate width of a character.
const LETTER: f64 = 7.2;
const LEGEND_LINE: f64 = 20.0;
/// The number of curves whose ends are described in words.
const DESCRIBED: usize = 4;
/// Curves with more points than this have no tooltips.
const WITH_TOOLTIPS: usize = 400;
/// Curves with more points than this have invisible dots.
const DENSE: usize = 60;

/// The position of the plot within the chart.
struct Frame {
    x: Axis,
    y: Axis,
    top: f64,
    /// The left and right end of the plot, and its height.
    left: f64,
    right: f64,
    height: f64,
}

impl Frame {
    fn across(&self, value: f64) -> Option<f64> {
        Some(self.left + self.x.place(value)? * (self.right - self.left))
    }

    fn down(&self, value: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.y.place(value)?) * self.height)
    }
}

impl Chart {
    pub(super) fn draw_all(&self, title: Option<&str>) -> String {
        let names = self.names();
        let legend = legend(&names, self.size.0);
        let lines = legend.last().map_or(0.0, |(_, line, _)| line + 1.0);
        let head = if title.is_some() { 44.0 } else { 16.0 };
        let frame = self.frame(head + LEGEND_LINE * lines);
        let (width, height) = (self.size.0, frame.top + frame.height + FOOT);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tamis\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n",
            escape(&self.title),
            escape(&self.words(&names)),
        );
        if let Some(title) = title {
            writeln!(
                out,
                "<style>{STYLE}</style>\n<text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>",
                escape(title)
            )
            .expect("text grows");
        }
        for (name, (across, line, text)) in names.iter().zip(&legend) {
            let (x, y) = (LEFT + across, head + 2.0 + LEGEND_LINE * line);
            writeln!(
                out,
                "<rect {} x=\"{}\" y=\"{}\" width=\"18\" height=\"4\" rx=\"2\" fill=\"currentColor\"/><text x=\"{}\" y=\"{y}\">{}</text>",
                self.paint(name),
                place(x),
                place(y - 6.0),
                place(x + 24.0),
                escape(text),
            )
            .expect("text grows");
        }
        self.axes(&frame, &mut out);
        self.series.iter().for_each(|series| self.draw(series, &frame, &mut out));
        out.push_str("</svg>\n");
        out
    }

    /// The colour of a series, as a class that the dark style can override.
    fn paint(&self, name: &str) -> String {
        let number = self.colour(name) % COLOURS.len();
        format!("class=\"c{number}\" color=\"{}\"", COLOURS[number])
    }

    /// The distinct names of the legend, in order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in &self.series {
            if !series.name.is_empty() && !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    fn colour(&self, name: &str) -> usize {
        let names = self.names();
        // A curve without a name is the only one, or is behind all others.
        let nameless = if names.is_empty() { 0 } else { COLOURS.len() - 1 };
        names.iter().position(|known| *known == name).unwrap_or(nameless)
    }

    /// A description for screen readers: the axes, and both ends of each curve.
    fn words(&self, names: &[&str]) -> String {
        let what = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let mut text = format!("{} against {}{what}", self.y.label, self.x.label);
        for (name, points) in self.series().take(DESCRIBED) {
            let mut seen = points.into_iter().filter(|point| point.0.is_finite() && point.1.is_finite());
            let Some(first) = seen.next() else { continue };
            let last = seen.next_back().unwrap_or(first);
            let name = if name.is_empty() { "the curve" } else { name };
            let ends = [first.1, first.0, last.1, last.0].map(short_number);
            let [from, at, to, end] = ends;
            write!(text, "; {name}: from {from} at {at} to {to} at {end}").expect("text grows");
        }
        text
    }

    fn frame(&self, top: f64) -> Frame {
        let xs = self.series.iter().flat_map(|series| match &series.shape {
            Shape::Line(points) => points.iter().map(|point| point.0).collect::<Vec<_>>(),
            Shape::Band(points) | Shape::Points(points) => points.iter().map(|point| point.0).collect(),
            Shape::Spans(points) => points.iter().map(|point| point.0).collect(),
            Shape::Level(_) => Vec::new(),
        });
        let ys = self.series.iter().flat_map(|series| match &series.shape {
            Shape::Line(points) => points.iter().map(|point| point.1).collect::<Vec<_>>(),
            Shape::Band(points) => points.iter().flat_map(|point| [point.1, point.2]).collect(),
            Shape::Points(points) => points.iter().map(|point| point.1).collect(),
            Shape::Spans(points) => points.iter().flat_map(|point| [point.1, point.2, point.3]).collect(),
            Shape::Level(value) => vec![*value],
        });
        let y = Axis::over(self.y.kind, ys.chain(self.y.holds.iter().copied()), false);
        let longest = y.marks.iter().map(|mark| short(*mark).chars().count()).max().unwrap_or(0);
        Frame {
            x: Axis::over(self.x.kind, xs.chain(self.x.holds.iter().copied()), true),
            y,
            top,
            left: LEFT.max(40.0 + 7.0 * longest as f64),
            right: self.size.0 - RIGHT,
            height: self.size.1,
        }
    }

    fn axes(&self, frame: &Frame, out: &mut String) {
        let (bottom, left, right) = (frame.top + frame.height, frame.left, frame.right);
        for mark in &frame.y.marks {
            let Some(y) = frame.down(*mark) else { continue };
            writeln!(
                out,
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{0}\" y2=\"{0}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{1}\" y=\"{2}\">{3}</text>",
                place(y),
                left - 8.0,
                place(y + 4.0),
                short(*mark)
            )
            .expect("text grows");
        }
        for mark in &frame.x.marks {
            let Some(x) = frame.across(*mark) else { continue };
            let text = short(*mark);
            // The last label may be wider than the margin: it moves to the left.
            let middle = x.min(self.size.0 - LETTER * text.chars().count() as f64 / 2.0);
            writeln!(
                out,
                "<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{bottom}\" y2=\"{1}\"/>\
                 <text class=\"tick\" text-anchor=\"middle\" x=\"{3}\" y=\"{2}\">{text}</text>",
                place(x),
                bottom + 4.0,
                bottom + 18.0,
                place(middle),
            )
            .expect("text grows");
        }
        let middle = frame.top + frame.height / 2.0;
        writeln!(
            out,
            "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n\
             <text text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n\
             <text text-anchor=\"middle\" transform=\"translate(18 {middle}) rotate(-90)\">{}</text>",
            place((left + right) / 2.0),
            bottom + 42.0,
            escape(&self.x.label),
            escape(&self.y.label),
        )
        .expect("text grows");
    }

    fn draw(&self, series: &Series, frame: &Frame, out: &mut String) {
        let paint = self.paint(&series.name);
        match &series.shape {
            Shape::Line(points) => {
                let placed = |point: &(f64, f64)| Some((frame.across(point.0)?, frame.down(point.1)?));
                let path = path(points.iter().map(placed));
                writeln!(
                    out,
                    "<path {paint} fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"{path}\"/>"
                )
                .expect("text grows");
                if points.len() <= WITH_TOOLTIPS {
                    let notes: Vec<_> = points.iter().map(|&(x, y)| (x, y, 0.0)).collect();
                    self.dots(series, &notes, frame, out);
                }
            }
            Shape::Band(points) => {
                let there = points.iter().map(|point| Some((frame.across(point.0)?, frame.down(point.1)?)));
                let back = points.iter().rev().map(|point| Some((frame.across(point.0)?, frame.down(point.2)?)));
                let path = path(there.chain(back).filter(Option::is_some));
                writeln!(out, "<path {paint} fill=\"currentColor\" fill-opacity=\"0.18\" d=\"{path}\"/>")
                    .expect("text grows");
            }
            Shape::Points(points) => self.dots(series, points, frame, out),
            Shape::Level(value) => {
                let Some(y) = frame.down(*value) else { return };
                let (start, end) = (frame.left, frame.right);
                writeln!(
                    out,
                    "<line {paint} stroke=\"currentColor\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\" x1=\"{start}\" x2=\"{end}\" y1=\"{0}\" y2=\"{0}\"/>",
                    place(y)
                )
                .expect("text grows");
            }
            Shape::Spans(points) => {
                for &(x, _, low, high) in points {
                    let ends = (frame.across(x), frame.down(low), frame.down(high));
                    let (Some(x), Some(low), Some(high)) = ends else { continue };
                    let (x, low, high) = (place(x), place(low), place(high));
                    writeln!(
                        out,
                        "<path {paint} stroke=\"currentColor\" stroke-width=\"1.5\" d=\"M{x} {low}V{high}\"/>"
                    )
                    .expect("text grows");
                }
                let dots: Vec<_> = points.iter().map(|&(x, y, ..)| (x, y, 0.03)).collect();
                self.dots(series, &dots, frame, out);
            }
        }
    }

    fn dots(&self, series: &Series, points: &[(f64, f64, f64)], frame: &Frame, out: &mut String) {
        let paint = self.paint(&series.name);
        // Dots of a dense curve would only thicken it; they are invisible and carry the tooltips.
        let dense = matches!(series.shape, Shape::Line(_)) && points.len() > DENSE;
        let opacity = if dense { "0" } else { "0.75" };
        for &(x, y, size) in points {
            let (Some(across), Some(down)) = (frame.across(x), frame.down(y)) else { continue };
            // The area, not the radius, is proportional to the size.
            let radius = 2.2 + 12.0 * size.clamp(0.0, 1.0).sqrt();
            writeln!(
                out,
                "<circle {paint} cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"currentColor\" fill-opacity=\"{opacity}\"><title>{}: {}, {}</title></circle>",
                place(across),
                place(down),
                place(radius),
                escape(&series.name),
                short(x),
                short(y)
            )
            .expect("text grows");
        }
    }
}

/// A path through positions; a missing position interrupts it.
fn path(places: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let (mut text, mut pen_is_down) = (String::new(), false);
    for found in places {
        match found {
            Some((x, y)) => {
                let step = if pen_is_down { 'L' } else { 'M' };
                write!(text, "{step}{} {}", place(x), place(y)).expect("text grows");
                pen_is_down = true;
            }
            None => pen_is_down = false,
        }
    }
    text
}

/// The layout of the legend: (x, line, the name as far as it fits).
fn legend(names: &[&str], width: f64) -> Vec<(f64, f64, String)> {
    let longest = ((width - LEFT - 44.0) / LETTER).clamp(8.0, 60.0) as usize;
    let room = width - LEFT;
    let (mut across, mut line) = (0.0, 0.0);
    let mut places = Vec::new();
    for name in names {
        let mut text: String = name.chars().take(longest).collect();
        if text.len() < name.len() {
            text.push('…');
        }
        let width = 44.0 + LETTER * text.chars().count() as f64;
        if across > 0.0 && across + width > room {
            (across, line) = (0.0, line + 1.0);
        }
        places.push((across, line, text));
        across += width;
    }
    places
}
