//! The report of a learned metric, from plain data.

use tamis::model::summary::count;

use super::html::{clipped, paragraph, prose, shell};
use super::page::{Report, Tile};
use super::parts::metric::{projection, variables};
use super::parts::suggestions::{Suggestion, list};
use super::table::per_cent;

/// For each class its name and the shares of its rows in bins.
pub type ByClass = [(String, Vec<f64>)];

/// The facts about a metric that its report shows. Lists may be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetricContext<'a> {
    /// The file of the metric.
    pub file: &'a str,
    /// The training data, as typed.
    pub data: &'a [String],
    /// The flags needed to read the data, as typed.
    pub flags: &'a str,
    /// The number of training rows.
    pub rows: u64,
    /// The number of variables in the data.
    pub of: usize,
    /// Its held-out error and that of nearest neighbours under the Euclidean distance, if they were measured.
    pub errors: (Option<f64>, Option<f64>),
    /// Variables and their shares, the largest first.
    pub variables: &'a [(String, f64)],
    /// Borders of bins on the first direction, and for each class the shares of its rows in them.
    pub first_axis: Option<(&'a [f64], &'a ByClass)>,
    /// The width of the images whose pixels are the variables.
    pub image_width: Option<usize>,
}

/// The report of a metric.
pub fn of_metric(context: &MetricContext<'_>) -> Report {
    let used: Vec<(String, f64)> = context.variables.iter().filter(|one| one.1 > 0.0).cloned().collect();
    let (kept, all) = (count(used.len() as u64), count(context.of as u64));
    let lead = match context.errors {
        (Some(own), Some(plain)) => paragraph(
            "*{} of {} variables* make up the metric. Nearest neighbours under it have a held-out [error] of *{}*, compared with {} \
             under the Euclidean distance.",
            &[&kept, &all, &per_cent(own), &per_cent(plain)],
        ),
        (Some(own), None) => paragraph(
            "*{} of {} variables* make up the metric. Nearest neighbours under it have a held-out [error] of *{}*.",
            &[&kept, &all, &per_cent(own)],
        ),
        _ => paragraph("*{} of {} variables* make up the metric.", &[&kept, &all]),
    };
    let mut tiles = vec![Tile { value: kept, what: prose("variables of {}", &[&all]) }];
    tiles.extend(context.errors.0.map(|error| Tile { value: per_cent(error), what: prose("held-out [error]", &[]) }));
    tiles.push(Tile { value: count(context.rows), what: "training rows".into() });
    let file = shell(context.file);
    let suggestions = [
        Suggestion::new(
            "Evaluate the metric on other data.",
            format!("tamis metric eval {file} TEST{}", context.flags),
        ),
        Suggestion::new(
            "Write coordinates in which the Euclidean distance is the metric.",
            format!("tamis metric transform {file} NEW > coordinates.csv"),
        ),
    ];
    let title = format!("Metric report: {}", clipped(context.file, 120));
    Report { title, lead, tiles, sections: Vec::new() }
        .with(variables(&used, context.of, context.image_width))
        .with(context.first_axis.and_then(|(borders, classes)| projection(borders, classes)))
        .with(list(&suggestions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_shows_its_variables_and_its_first_direction() {
        let list = [("3".to_string(), 0.75), ("<b>".to_string(), 0.25), ("unused".to_string(), 0.0)];
        let classes = [("x".to_string(), vec![1.0, 0.0]), ("y".to_string(), vec![0.0, 1.0])];
        let context = MetricContext {
            file: "m.metric",
            of: 9,
            rows: 50,
            errors: (Some(0.1), Some(0.2)),
            variables: &list,
            first_axis: Some((&[0.0, 1.0, 2.0], &classes)),
            ..MetricContext::default()
        };
        let page = of_metric(&context).html();
        assert!(
            page.contains("<strong>2 of 9 variables</strong>") && !page.contains("unused"),
            "a variable without a share is omitted"
        );
        assert!(page.contains("Class distributions") && page.contains("&lt;b&gt;"));
        let empty = of_metric(&MetricContext::default()).html();
        assert!(empty.contains("<strong>0 of 0 variables</strong>"));
    }
}
