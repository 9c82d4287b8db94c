//! The survey of decoded rows.

use std::sync::Arc;

use super::cells::{Cells, are_finite};
use super::transpose::put_numbers;
use crate::parse::NumberRows;
use crate::parse::survey::{CellPlace, Survey};

/// Observes the first rows of a chunk until the survey has enough: the cells of columns of texts row by row, then those of
/// columns of numbers. Returns the numbers of these rows.
pub(super) fn survey_chunk(
    columns: &[&Cells],
    rows: usize,
    survey: &mut Survey,
    place: impl Fn(usize) -> CellPlace,
) -> Arc<NumberRows> {
    let (numeric, others): (Vec<usize>, Vec<usize>) =
        (0..columns.len()).partition(|&at| matches!(columns[at], Cells::Numbers(_)));
    survey.reserve_rows(rows);
    let mut counted = 0;
    while counted < rows && !survey.is_full() {
        survey.begin_row();
        others.iter().for_each(|&at| survey.observe(at, columns[at].at(counted), || place(counted)));
        counted += 1;
    }
    put_numbers(columns, 0..counted, survey.last_numbers(counted));
    for at in numeric.into_iter().filter(|&at| !columns[at].whole_numbers().is_some_and(are_finite)) {
        for row in (0..counted).filter(|&row| !columns[at].number(row).is_some_and(f64::is_finite)) {
            survey.last_numbers(counted)[row * columns.len() + at] = f64::NAN;
            survey.observe_empty(at, counted - 1 - row);
        }
    }
    survey.end_block()
}
