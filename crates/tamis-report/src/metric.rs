//! The report of a learned metric, from plain data.

use super::html::{clipped, paragraph, prose, shell};
use super::page::{Report, Tile};
use super::parts::metric::{projection, variables};
use super::parts::suggestions::{self, Idea};
use super::table::{count, per_cent};

/// For each class its name and the shares of its rows in bins.
pub type ByClass = [(String, Vec<f64>)];

/// What there is to say about a metric. Lists may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetricTold<'a> {
    /// The file of the metric.
    pub file: &'a str,
    /// The data it was learned from, as typed.
    pub data: &'a [String],
    /// Flags that reading the data needs, as typed.
    pub flags: &'a str,
    /// Rows it was learned from.
    pub rows: u64,
    /// Variables there were.
    pub of: usize,
    /// Its error on rows held out, and that of plain nearest neighbours, as far as measured.
    pub errors: (Option<f64>, Option<f64>),
    /// Variables and their shares, the largest first.
    pub variables: &'a [(String, f64)],
    /// Borders of bins on the first direction, and for each class the shares of its rows in them.
    pub first_axis: Option<(&'a [f64], &'a ByClass)>,
    /// The width of the images whose pixels the variables are.
    pub image_width: Option<usize>,
}

/// The report of a metric.
pub fn of_metric(told: &MetricTold<'_>) -> Report {
    let used: Vec<(String, f64)> = told.variables.iter().filter(|one| one.1 > 0.0).cloned().collect();
    let (kept, all) = (count(used.len() as u64), count(told.of as u64));
    let lead = match told.errors {
        (Some(own), Some(plain)) => paragraph(
            "*{} variables* of {} make a distance by which neighbours are wrong on *{}* of the rows held out; with plain \
             distances it is {}.",
            &[&kept, &all, &per_cent(own), &per_cent(plain)],
        ),
        (Some(own), None) => paragraph(
            "*{} variables* of {} make a distance by which neighbours are wrong on *{}* of the rows held out.",
            &[&kept, &all, &per_cent(own)],
        ),
        _ => paragraph("*{} variables* of {} make a distance that tells the classes apart.", &[&kept, &all]),
    };
    let mut tiles = vec![Tile { value: kept, what: prose("variables of {}", &[&all]) }];
    tiles.extend(
        told.errors.0.map(|error| Tile { value: per_cent(error), what: prose("[error] on rows held out", &[]) }),
    );
    tiles.push(Tile { value: count(told.rows), what: "rows learned from".into() });
    let file = shell(told.file);
    let ideas = [
        Idea {
            why: prose("How good is it on other data?", &[]),
            command: format!("tamis metric eval {file} TEST{}", told.flags),
        },
        Idea {
            why: prose("The coordinates in which plain distances are those of the metric.", &[]),
            command: format!("tamis metric transform {file} NEW > coordinates.csv"),
        },
    ];
    let title = format!("Metric report: {}", clipped(told.file, 120));
    Report { title, lead, tiles, sections: Vec::new() }
        .with(variables(&used, told.of, told.image_width))
        .with(told.first_axis.and_then(|(borders, classes)| projection(borders, classes)))
        .with(suggestions::section(&ideas))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_shows_its_variables_and_its_first_direction() {
        let list = [("3".to_string(), 0.75), ("<b>".to_string(), 0.25), ("unused".to_string(), 0.0)];
        let classes = [("x".to_string(), vec![1.0, 0.0]), ("y".to_string(), vec![0.0, 1.0])];
        let told = MetricTold {
            file: "m.metric",
            of: 9,
            rows: 50,
            errors: (Some(0.1), Some(0.2)),
            variables: &list,
            first_axis: Some((&[0.0, 1.0, 2.0], &classes)),
            ..MetricTold::default()
        };
        let page = of_metric(&told).html();
        assert!(
            page.contains("<strong>2 variables</strong> of 9") && !page.contains("unused"),
            "what has no part is out"
        );
        assert!(page.contains("Where do the classes lie?") && page.contains("&lt;b&gt;"));
        let empty = of_metric(&MetricTold::default()).html();
        assert!(empty.contains("<strong>0 variables</strong>"));
    }
}
