//! How a stream went: features, loss and error at a few rows of it.

use tamis::model::{Model, Moment};

use super::progress::number;
use super::table::count;
use super::terminal::block;

/// Rows of the table.
const ROWS: usize = 8;
/// Blocks of the longest bar.
const BAR: f64 = 20.0;

/// The history as a table with bars; nothing where rows were not learned one by one.
pub fn table(model: &Model) -> Option<String> {
    let history = &model.seen.history;
    if history.len() < 3 {
        return None;
    }
    let shown = || picked(history);
    let most = shown().map(|moment| moment.nonzeros).max().unwrap_or(0).max(1) as f64;
    let mut rows = vec![["rows".to_string(), "error".into(), "loss".into(), "features".into(), String::new()]];
    for moment in shown() {
        let error = moment.error.map(|error| format!("{:.2} %", 100.0 * error)).unwrap_or_default();
        let bar = block().repeat((BAR * moment.nonzeros as f64 / most).ceil() as usize);
        rows.push([count(moment.rows), error, number(moment.loss), count(moment.nonzeros), bar]);
    }
    let classes = history.iter().any(|moment| moment.error.is_some());
    let cells: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| {
            row.iter().enumerate().filter(|(at, _)| classes || *at != 1).map(|(_, cell)| cell.as_str()).collect()
        })
        .collect();
    let head = "over the stream: means so far of predictions made before learning";
    Some(format!("{head}\n{}", super::table::aligned(&cells).trim_end()))
}

/// A few moments, the last among them.
fn picked(history: &[Moment]) -> impl Iterator<Item = &Moment> {
    let step = (history.len() as f64 - 1.0) / (ROWS.min(history.len()) as f64 - 1.0);
    (0..ROWS.min(history.len())).map(move |number| &history[(number as f64 * step).round() as usize])
}
