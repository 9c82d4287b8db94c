//! A chart of curves, areas and points over two axes, as one SVG.
//!
//! Series get their colours in order; series of the same name share a colour. The legend is below the title; a tooltip shows
//! the numbers of a point without any script.

use std::fmt::Write as _;

use super::axis::AxisKind;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    pub(super) title: String,
    pub(super) x: Direction,
    pub(super) y: Direction,
    pub(super) series: Vec<Series>,
    /// The total width, and the height of the plot.
    pub(super) size: (f64, f64),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    pub(super) label: String,
    pub(super) kind: AxisKind,
    /// Numbers that the axis must contain.
    pub(super) holds: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) shape: Shape,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Line(Vec<(f64, f64)>),
    Band(Vec<(f64, f64, f64)>),
    /// Points with a size from 0 to 1: (x, y, size).
    Points(Vec<(f64, f64, f64)>),
    Level(f64),
    /// Points with an error bar: (x, y, low, high).
    Spans(Vec<(f64, f64, f64, f64)>),
}

impl Chart {
    /// An empty chart with a title.
    pub fn new(title: &str) -> Self {
        let [x, y] = [Direction::default(), Direction::default()];
        Self { title: title.into(), x, y, series: Vec::new(), size: (720.0, 300.0) }
    }

    /// Sets the total width and the height of the plot.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        self.size = (width, height);
        self
    }

    /// Labels the x axis; include the unit.
    pub fn x(mut self, label: &str) -> Self {
        self.x.label = label.into();
        self
    }

    /// Labels the y axis; include the unit.
    pub fn y(mut self, label: &str) -> Self {
        self.y.label = label.into();
        self
    }

    /// Sets the scale of the x axis.
    pub fn x_kind(mut self, kind: AxisKind) -> Self {
        self.x.kind = kind;
        self
    }

    /// Sets the scale of the y axis.
    pub fn y_kind(mut self, kind: AxisKind) -> Self {
        self.y.kind = kind;
        self
    }

    /// Extends the x axis to this value.
    pub fn x_holds(mut self, value: f64) -> Self {
        self.x.holds.push(value);
        self
    }

    /// Extends the y axis to this value.
    pub fn y_holds(mut self, value: f64) -> Self {
        self.y.holds.push(value);
        self
    }

    /// Adds a curve.
    pub fn line(self, name: &str, points: Vec<(f64, f64)>) -> Self {
        self.with(name, Shape::Line(points))
    }

    /// Adds an area between two curves: (x, low, high).
    pub fn band(self, name: &str, points: Vec<(f64, f64, f64)>) -> Self {
        self.with(name, Shape::Band(points))
    }

    /// Adds points with a size from 0 to 1: (x, y, size).
    pub fn points(self, name: &str, points: Vec<(f64, f64, f64)>) -> Self {
        self.with(name, Shape::Points(points))
    }

    /// Adds points with error bars: (x, y, low, high).
    pub fn spans(self, name: &str, points: Vec<(f64, f64, f64, f64)>) -> Self {
        self.with(name, Shape::Spans(points))
    }

    /// Adds a horizontal reference line.
    pub fn level(self, name: &str, value: f64) -> Self {
        self.with(name, Shape::Level(value))
    }

    fn with(mut self, name: &str, shape: Shape) -> Self {
        self.series.push(Series { name: name.into(), shape });
        self
    }

    /// The chart as a self-contained SVG.
    pub fn svg(&self) -> String {
        self.draw_all(Some(&self.title))
    }

    /// The chart as SVG for a page that has the style sheet and a caption.
    pub fn inline(&self) -> String {
        self.draw_all(None)
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Every series with its points; an area gives its upper curve.
    pub fn series(&self) -> impl Iterator<Item = (&str, Vec<(f64, f64)>)> {
        self.series.iter().map(|series| {
            let points = match &series.shape {
                Shape::Line(points) => points.clone(),
                Shape::Band(points) => points.iter().map(|&(x, _, high)| (x, high)).collect(),
                Shape::Points(points) => points.iter().map(|&(x, y, _)| (x, y)).collect(),
                Shape::Level(value) => vec![(f64::NAN, *value)],
                Shape::Spans(points) => points.iter().map(|&(x, y, ..)| (x, y)).collect(),
            };
            (series.name.as_str(), points)
        })
    }

    /// The numbers of the chart as CSV, one line per point: series, x, y, and a third number (the upper end of an area or the
    /// size of a point).
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
                Shape::Spans(points) => points.iter().map(|&(x, y, ..)| (x, y, None)).collect(),
            };
            for (x, y, more) in lines {
                let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
                let more = more.map_or_else(String::new, number);
                writeln!(out, "{},{},{},{more}", quoted(&series.name), number(x), number(y)).expect("text grows");
            }
        }
        out
    }
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
    fn a_chart_has_every_series_and_escapes_names() {
        let svg = sample().line("<script>alert(1)</script>", vec![(0.0, 0.0)]).svg();
        assert!(svg.contains("a &lt; b") && !svg.contains("<script"), "{svg}");
        assert_eq!(svg.matches("<path").count(), 3);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        assert!(
            svg.contains("role=\"img\"")
                && svg.contains("<desc>error against rows: one, two, limit, ")
                && svg.contains("one: from 1 at 0 to 3 at 2")
        );
    }

    #[test]
    fn tick_labels_stay_inside() {
        let chart = Chart::new("").line("one", vec![(0.0, 1.0), (1_000_000.0, 2.0)]);
        let (svg, width) = (chart.svg(), chart.size.0);
        let ticks = svg.split("class=\"tick\" text-anchor=\"middle\" x=\"").skip(1).map(|rest| {
            let (x, rest) = rest.split_once('"').unwrap();
            let text = rest.split_once('>').unwrap().1.split_once('<').unwrap().0;
            (x.parse::<f64>().unwrap(), text.chars().count() as f64)
        });
        let ends: Vec<f64> = ticks.map(|(x, letters)| x + 3.5 * letters).collect();
        assert!(ends.len() > 2 && ends.iter().all(|&end| end <= width), "{ends:?} of {width}");
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
        assert_eq!(svg.matches("color=\"#0072b2\" fill=\"currentColor\" fill-opacity=\"0.18\"").count(), 1);
    }

    #[test]
    fn all_numbers_are_exported_as_csv() {
        let csv = sample().points("a \"quoted\" name", vec![(5.0, 6.0, 0.5)]).csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "series,\"rows\",\"error\",and");
        assert_eq!(lines[1..4], ["\"one\",0,1,", "\"one\",1,,", "\"one\",2,3,"]);
        assert_eq!(lines.last(), Some(&"\"a \"\"quoted\"\" name\",5,6,0.5"));
    }

    #[test]
    fn an_empty_chart_is_valid() {
        let svg = Chart::new("nothing").svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn long_names_are_cut_in_the_legend() {
        let svg = Chart::new("").line(&"x".repeat(10_000), vec![(0.0, 1.0)]).points("", vec![]).svg();
        assert!(svg.contains('…'));
    }
}
