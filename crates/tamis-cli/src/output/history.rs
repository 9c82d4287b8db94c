//! The learning curve of a model: features, loss and error at a few points of the training.

use tamis::model::{HistoryPoint, Model};

use super::format::{count, loss, percent};
use super::table::aligned;
use super::terminal::block;

/// Rows of the table.
const ROWS: usize = 8;
/// Length of the longest bar.
const BAR: f64 = 20.0;

/// The learning curve as a table with bars; `None` if the method does not learn row by row.
pub fn table(model: &Model) -> Option<String> {
    let history = &model.seen.history;
    if history.len() < 3 {
        return None;
    }
    let shown: Vec<&HistoryPoint> = sample(history).collect();
    let most = shown.iter().map(|point| point.nonzeros).max().unwrap_or(0).max(1) as f64;
    let has_error = history.iter().any(|point| point.error.is_some());
    let row = |rows: String, error: String, rest: [String; 3]| -> Vec<String> {
        std::iter::once(rows).chain(has_error.then_some(error)).chain(rest).collect()
    };
    let mut rows = vec![row("rows".into(), "error".into(), ["loss".into(), "features".into(), String::new()])];
    for point in shown {
        let error = point.error.map(percent).unwrap_or_default();
        let bar = block().repeat((BAR * point.nonzeros as f64 / most).ceil() as usize);
        rows.push(row(count(point.rows), error, [loss(point.loss), count(point.nonzeros), bar]));
    }
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let head = "learning curve: progressive validation, each row predicted before it is learned";
    let note = if model.seen.passes > 1 { "; optimistic after the first pass" } else { "" };
    Some(format!("{head}{note}\n{}", aligned(&cells).trim_end()))
}

/// Evenly spaced points, the last one included.
fn sample(history: &[HistoryPoint]) -> impl Iterator<Item = &HistoryPoint> {
    let number = ROWS.min(history.len());
    let step = (history.len() as f64 - 1.0) / (number as f64 - 1.0);
    (0..number).map(move |at| &history[(at as f64 * step).round() as usize])
}
