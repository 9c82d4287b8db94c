//! Coefficients over time: one model a period, the same features in all (Sun et al. 2018, Figure 5).

use crate::report::chart::Chart;
use crate::report::html::{clipped, paragraph};
use crate::report::page::{Section, figure, row};
use crate::report::table::{Cell, LONGEST_NAME, Table};

/// Features with a name and a colour of their own.
const NAMED: usize = 6;
/// Features drawn.
const DRAWN: usize = 40;

/// A feature over time.
#[derive(Clone, Debug)]
pub struct Course {
    /// Its name.
    pub name: String,
    /// Its weight in each period; 0 where it was not selected.
    pub weights: Vec<f64>,
}

impl Course {
    /// How far it moves.
    fn range(&self) -> f64 {
        let ends = self.weights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &w| (a.min(w), b.max(w)));
        ends.1 - ends.0
    }
}

/// The section; periods in their order, features in any.
pub fn section(periods: &[String], mut courses: Vec<Course>) -> Option<Section> {
    if periods.len() < 2 || courses.is_empty() {
        return None;
    }
    courses.sort_by(|a, b| b.range().total_cmp(&a.range()).then_with(|| a.name.cmp(&b.name)));
    let mut chart = Chart::new("Weights over time").size(460.0, 240.0).x("period").y("weight");
    for (number, course) in courses.iter().take(DRAWN).enumerate() {
        let points = course.weights.iter().enumerate().map(|(at, &weight)| ((at + 1) as f64, weight)).collect();
        let name = if number < NAMED { clipped(&course.name, 28) } else { "others".into() };
        chart = chart.line(&name, points);
    }
    let first = &courses[0];
    let text = paragraph(
        "{} periods were solved one by one. The weight that moved most is that of *{}*. Lines that stay flat are the same \
         all along; lines that cross zero have changed their meaning.",
        &[&periods.len().to_string(), &clipped(&first.name, LONGEST_NAME)],
    );
    let mut columns = vec!["features".to_string(), "moved by".to_string()];
    columns.extend(periods.iter().map(|period| clipped(period, 40)));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Weights over time", &columns).searchable();
    for course in courses.iter().take(1000) {
        let mut cells = vec![Cell::Text(course.name.clone()), Cell::Number(course.range())];
        cells.extend(course.weights.iter().map(|&weight| Cell::Number(weight)));
        table.row(cells);
    }
    let body = text.with(row([figure(chart.inline(), "Weights over time")])).with(table.html());
    Some(Section::new("drift", "What changed over time?", body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_most_comes_first() {
        let course = |name: &str, weights: &[f64]| Course { name: name.into(), weights: weights.to_vec() };
        let list = vec![course("still", &[5.0, 5.0]), course("<b>", &[1.0, -1.0])];
        let found = section(&["day1".into(), "day2".into()], list).unwrap();
        let text = found.body.as_str();
        assert!(text.contains("that of <strong>&lt;b&gt;</strong>"), "{text}");
        assert!(text.find("&lt;b&gt;").unwrap() < text.find("still").unwrap());
        assert!(section(&["day1".into()], vec![course("a", &[1.0])]).is_none(), "one period has no course");
    }
}
