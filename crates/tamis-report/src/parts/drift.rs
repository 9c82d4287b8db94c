//! Coefficients over time: one model for each period (Sun et al. 2018, Figure 5).

use crate::chart::Chart;
use crate::html::{clipped, paragraph};
use crate::page::{Section, figure, row};
use crate::table::{Cell, LONGEST_NAME, Table};

/// Features with a colour of their own.
const NAMED: usize = 6;
/// Features drawn.
const DRAWN: usize = 40;

/// The weights of a feature over time.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// Its weight in each period; 0 where it was not selected.
    pub weights: Vec<f64>,
}

impl Trace {
    /// The difference between its largest and its smallest weight.
    fn range(&self) -> f64 {
        let ends = self.weights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &w| (a.min(w), b.max(w)));
        ends.1 - ends.0
    }
}

/// The section; periods are in order of time, features in any order.
pub fn section(periods: &[String], mut traces: Vec<Trace>) -> Option<Section> {
    if periods.len() < 2 || traces.is_empty() {
        return None;
    }
    traces.sort_by(|a, b| b.range().total_cmp(&a.range()).then_with(|| a.name.cmp(&b.name)));
    let mut chart = Chart::new("Coefficients over time").size(460.0, 240.0).x("period").y("weight");
    for (number, trace) in traces.iter().take(DRAWN).enumerate() {
        let points = trace.weights.iter().enumerate().map(|(at, &weight)| ((at + 1) as f64, weight)).collect();
        let name = if number < NAMED { clipped(&trace.name, 28) } else { "others".into() };
        chart = chart.line(&name, points);
    }
    let first = &traces[0];
    let text = paragraph(
        "A model was solved for each of {} periods. The weight with the largest change is that of *{}*. A flat line means a constant \
         weight; a line that crosses zero means a change of sign.",
        &[&periods.len().to_string(), &clipped(&first.name, LONGEST_NAME)],
    );
    let mut columns = vec!["features".to_string(), "range".to_string()];
    columns.extend(periods.iter().map(|period| clipped(period, 40)));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Coefficients by period", &columns).searchable();
    for trace in traces.iter().take(1000) {
        let mut cells = vec![Cell::Text(trace.name.clone()), Cell::Number(trace.range())];
        cells.extend(trace.weights.iter().map(|&weight| Cell::Number(weight)));
        table.row(cells);
    }
    let body = text.with(row([figure(chart.inline(), "Coefficients over time")])).with(table.html());
    Some(Section::new("drift", "Coefficients over time", body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_change_comes_first() {
        let trace = |name: &str, weights: &[f64]| Trace { name: name.into(), weights: weights.to_vec() };
        let list = vec![trace("still", &[5.0, 5.0]), trace("<b>", &[1.0, -1.0])];
        let found = section(&["day1".into(), "day2".into()], list).unwrap();
        let text = found.body.as_str();
        assert!(text.contains("that of <strong>&lt;b&gt;</strong>"), "{text}");
        assert!(text.find("&lt;b&gt;").unwrap() < text.find("still").unwrap());
        assert!(section(&["day1".into()], vec![trace("a", &[1.0])]).is_none(), "one period has no trend");
    }
}
