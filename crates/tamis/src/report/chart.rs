//! A chart of curves, areas and points over two axes, as one SVG.
//!
//! Colours follow the order in which series are given, and an area shares the colour of the series of the same name. Names
//! stand in a legend below the title; hovering over a point tells its numbers without any script.

use std::fmt::Write as _;

use super::axis::{Axis, AxisKind};
use super::svg::{COLOURS, STYLE, escape, place, short};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 18.0;
const HEIGHT: f64 = 300.0;
const FOOT: f64 = 56.0;
const LEGEND_LINE: f64 = 20.0;
/// A picture with more points than this is drawn without a note at each of them.
const NOTED: usize = 400;

/// A picture in the making.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    title: String,
    x: Direction,
    y: Direction,
    series: Vec<Series>,
}

#[derive(Clone, Debug, Default)]
struct Direction {
    label: String,
    kind: AxisKind,
    /// Numbers that must have a place even where no point lies.
    holds: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Line(Vec<(f64, f64)>),
    Band(Vec<(f64, f64, f64)>),
    /// Each with the share of the largest size at which it is drawn.
    Points(Vec<(f64, f64, f64)>),
    Level(f64),
}

/// Where the plot lies within the picture.
struct Frame {
    x: Axis,
    y: Axis,
    top: f64,
}

impl Frame {
    fn across(&self, value: f64) -> Option<f64> {
        Some(LEFT + self.x.place(value)? * (WIDTH - LEFT - RIGHT))
    }

    fn down(&self, value: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.y.place(value)?) * HEIGHT)
    }
}

impl Chart {
    /// An empty chart with a title.
    pub fn new(title: &str) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// What runs across, with its unit.
    pub fn x(mut self, label: &str) -> Self {
        self.x.label = label.into();
        self
    }

    /// What runs upward, with its unit.
    pub fn y(mut self, label: &str) -> Self {
        self.y.label = label.into();
        self
    }

    /// How x is laid out.
    pub fn x_kind(mut self, kind: AxisKind) -> Self {
        self.x.kind = kind;
        self
    }

    /// How y is laid out.
    pub fn y_kind(mut self, kind: AxisKind) -> Self {
        self.y.kind = kind;
        self
    }

    /// The y axis reaches this value.
    pub fn y_holds(mut self, value: f64) -> Self {
        self.y.holds.push(value);
        self
    }

    /// A curve.
    pub fn line(self, name: &str, points: Vec<(f64, f64)>) -> Self {
        self.with(name, Shape::Line(points))
    }

    /// An area between two curves: (x, low, high).
    pub fn band(self, name: &str, points: Vec<(f64, f64, f64)>) -> Self {
        self.with(name, Shape::Band(points))
    }

    /// Points, each with a size from 0 to 1.
    pub fn points(self, name: &str, points: Vec<(f64, f64, f64)>) -> Self {
        self.with(name, Shape::Points(points))
    }

    /// A level all across: a cut-off, a value to compare with.
    pub fn level(self, name: &str, value: f64) -> Self {
        self.with(name, Shape::Level(value))
    }

    fn with(mut self, name: &str, shape: Shape) -> Self {
        self.series.push(Series { name: name.into(), shape });
        self
    }

    /// The picture, complete in itself.
    pub fn svg(&self) -> String {
        let names = self.names();
        let legend = legend(&names);
        let lines = legend.last().map_or(0.0, |(_, line, _)| line + 1.0);
        let frame = self.frame(44.0 + LEGEND_LINE * lines);
        let height = frame.top + HEIGHT + FOOT;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tamis\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{STYLE}</style>\n",
            escape(&self.title),
            escape(&self.words(&names)),
        );
        writeln!(out, "<text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>", escape(&self.title))
            .expect("text grows");
        for (name, (across, line, text)) in names.iter().zip(&legend) {
            let (x, y) = (LEFT + across, 46.0 + LEGEND_LINE * line);
            let colour = COLOURS[self.colour(name) % COLOURS.len()];
            writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"18\" height=\"4\" rx=\"2\" fill=\"{colour}\"/><text x=\"{}\" y=\"{y}\">{}</text>",
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

    /// What is written above the picture.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Every series with its points, areas by their upper curve.
    pub fn series(&self) -> impl Iterator<Item = (&str, Vec<(f64, f64)>)> {
        self.series.iter().map(|series| {
            let points = match &series.shape {
                Shape::Line(points) => points.clone(),
                Shape::Band(points) => points.iter().map(|&(x, _, high)| (x, high)).collect(),
                Shape::Points(points) => points.iter().map(|&(x, y, _)| (x, y)).collect(),
                Shape::Level(value) => vec![(f64::NAN, *value)],
            };
            (series.name.as_str(), points)
        })
    }

    /// The numbers of the picture, a line a point: series, x, y, and a third number (the upper end of an area, the size of
    /// a point).
    pub fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut out = format!("series,{},{},and\n", quoted(&self.x.label), quoted(&self.y.label));
        for series in &self.series {
            let lines: Vec<(f64, f64, Option<f64>)> = match &series.shape {
                Shape::Line(points) => points.iter().map(|&(x, y)| (x, y, None)).collect(),
                Shape::Band(points) | Shape::Points(points) => {
                    points.iter().map(|&(x, y, more)| (x, y, Some(more))).collect()
                }
                Shape::Level(value) => vec![(f64::NAN, *value, None)],
            };
            for (x, y, more) in lines {
                let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
                let more = more.map_or_else(String::new, number);
                writeln!(out, "{},{},{},{more}", quoted(&series.name), number(x), number(y)).expect("text grows");
            }
        }
        out
    }

    /// The names for the legend, each once, in the order given.
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
        self.names().iter().position(|known| *known == name).unwrap_or(COLOURS.len() - 1)
    }

    /// What the picture shows, for those who hear it.
    fn words(&self, names: &[&str]) -> String {
        let what = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        format!("{} against {}{what}", self.y.label, self.x.label)
    }

    fn frame(&self, top: f64) -> Frame {
        let xs = self.series.iter().flat_map(|series| match &series.shape {
            Shape::Line(points) => points.iter().map(|point| point.0).collect::<Vec<_>>(),
            Shape::Band(points) | Shape::Points(points) => points.iter().map(|point| point.0).collect(),
            Shape::Level(_) => Vec::new(),
        });
        let ys = self.series.iter().flat_map(|series| match &series.shape {
            Shape::Line(points) => points.iter().map(|point| point.1).collect::<Vec<_>>(),
            Shape::Band(points) => points.iter().flat_map(|point| [point.1, point.2]).collect(),
            Shape::Points(points) => points.iter().map(|point| point.1).collect(),
            Shape::Level(value) => vec![*value],
        });
        Frame {
            x: Axis::over(self.x.kind, xs.chain(self.x.holds.iter().copied()), true),
            y: Axis::over(self.y.kind, ys.chain(self.y.holds.iter().copied()), false),
            top,
        }
    }

    fn axes(&self, frame: &Frame, out: &mut String) {
        let (bottom, right) = (frame.top + HEIGHT, WIDTH - RIGHT);
        for mark in &frame.y.marks {
            let Some(y) = frame.down(*mark) else { continue };
            writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{0}\" y2=\"{0}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{1}\" y=\"{2}\">{3}</text>",
                place(y),
                LEFT - 8.0,
                place(y + 4.0),
                short(*mark)
            )
            .expect("text grows");
        }
        for mark in &frame.x.marks {
            let Some(x) = frame.across(*mark) else { continue };
            writeln!(
                out,
                "<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{bottom}\" y2=\"{1}\"/>\
                 <text class=\"tick\" text-anchor=\"middle\" x=\"{0}\" y=\"{2}\">{3}</text>",
                place(x),
                bottom + 4.0,
                bottom + 18.0,
                short(*mark)
            )
            .expect("text grows");
        }
        let middle = frame.top + HEIGHT / 2.0;
        writeln!(
            out,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\n\
             <text text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n\
             <text text-anchor=\"middle\" transform=\"translate(18 {middle}) rotate(-90)\">{}</text>",
            place((LEFT + right) / 2.0),
            bottom + 42.0,
            escape(&self.x.label),
            escape(&self.y.label),
        )
        .expect("text grows");
    }

    fn draw(&self, series: &Series, frame: &Frame, out: &mut String) {
        let colour = COLOURS[self.colour(&series.name) % COLOURS.len()];
        match &series.shape {
            Shape::Line(points) => {
                let placed = |point: &(f64, f64)| Some((frame.across(point.0)?, frame.down(point.1)?));
                let path = path(points.iter().map(placed));
                writeln!(
                    out,
                    "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"{path}\"/>"
                )
                .expect("text grows");
                if points.len() <= NOTED {
                    let notes: Vec<_> = points.iter().map(|&(x, y)| (x, y, 0.0)).collect();
                    self.dots(series, &notes, frame, out);
                }
            }
            Shape::Band(points) => {
                let there = points.iter().map(|point| Some((frame.across(point.0)?, frame.down(point.1)?)));
                let back = points.iter().rev().map(|point| Some((frame.across(point.0)?, frame.down(point.2)?)));
                let path = path(there.chain(back).filter(Option::is_some));
                writeln!(out, "<path fill=\"{colour}\" fill-opacity=\"0.18\" d=\"{path}\"/>").expect("text grows");
            }
            Shape::Points(points) => self.dots(series, points, frame, out),
            Shape::Level(value) => {
                let Some(y) = frame.down(*value) else { return };
                let end = WIDTH - RIGHT;
                writeln!(
                    out,
                    "<line stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{0}\" y2=\"{0}\"/>",
                    place(y)
                )
                .expect("text grows");
            }
        }
    }

    fn dots(&self, series: &Series, points: &[(f64, f64, f64)], frame: &Frame, out: &mut String) {
        let colour = COLOURS[self.colour(&series.name) % COLOURS.len()];
        for &(x, y, size) in points {
            let (Some(across), Some(down)) = (frame.across(x), frame.down(y)) else { continue };
            // An area, not a radius, says how much.
            let radius = 2.2 + 12.0 * size.clamp(0.0, 1.0).sqrt();
            writeln!(
                out,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{}: {}, {}</title></circle>",
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

/// A path through places; one that is missing interrupts it.
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

/// Where the names stand: (pixels across, line, the name as far as it fits).
fn legend(names: &[&str]) -> Vec<(f64, f64, String)> {
    const LETTER: f64 = 7.2;
    const LONGEST: usize = 60;
    let (mut across, mut line) = (0.0, 0.0);
    let mut places = Vec::new();
    for name in names {
        let mut text: String = name.chars().take(LONGEST).collect();
        if text.len() < name.len() {
            text.push('…');
        }
        let width = 44.0 + LETTER * text.chars().count() as f64;
        if across > 0.0 && across + width > WIDTH - LEFT {
            (across, line) = (0.0, line + 1.0);
        }
        places.push((across, line, text));
        across += width;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Chart {
        Chart::new("a < b")
            .x("rows")
            .y("error")
            .line("one", vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)])
            .band("one", vec![(0.0, 0.5, 1.5), (2.0, 2.5, 3.5)])
            .points("two", vec![(1.0, 2.0, 1.0)])
            .level("limit", 2.0)
    }

    #[test]
    fn a_picture_holds_every_series_and_no_markup_of_names() {
        let svg = sample().line("<script>alert(1)</script>", vec![(0.0, 0.0)]).svg();
        assert!(svg.contains("a &lt; b") && !svg.contains("<script"), "{svg}");
        assert_eq!(svg.matches("<path").count(), 3);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        assert!(svg.contains("role=\"img\"") && svg.contains("<desc>error against rows: one, two, limit"));
    }

    #[test]
    fn a_missing_number_interrupts_the_curve() {
        let svg = Chart::new("").line("one", vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)]).svg();
        let path = svg.split("d=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn series_of_one_name_share_a_colour_and_a_line_of_the_legend() {
        let svg = sample().svg();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("fill=\"#0072b2\" fill-opacity=\"0.18\"").count(), 1);
    }

    #[test]
    fn all_numbers_can_be_had_as_csv() {
        let csv = sample().points("a \"quoted\" name", vec![(5.0, 6.0, 0.5)]).csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "series,\"rows\",\"error\",and");
        assert_eq!(lines[1..4], ["\"one\",0,1,", "\"one\",1,,", "\"one\",2,3,"]);
        assert_eq!(lines.last(), Some(&"\"a \"\"quoted\"\" name\",5,6,0.5"));
    }

    #[test]
    fn an_empty_chart_is_still_a_picture() {
        let svg = Chart::new("nothing").svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn long_names_are_cut_in_the_legend() {
        let svg = Chart::new("").line(&"x".repeat(10_000), vec![(0.0, 1.0)]).points("", vec![]).svg();
        assert!(svg.contains('…'));
    }
}
