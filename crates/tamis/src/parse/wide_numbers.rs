//! The numbers of the surveyed rows of a wide table.

use super::column_survey::ColumnSurvey;
use super::number_columns::{self, NumberFacts};
use super::number_rows::PendingRows;

/// The numbers of a wide table, which stay in their rows.
pub(super) struct WideNumbers<'a> {
    rows: Vec<&'a [f64]>,
    /// By column of the survey: its place in the rows, and facts about its numbers.
    places: Vec<Option<(usize, NumberFacts)>>,
}

impl<'a> WideNumbers<'a> {
    /// For the columns with these numbers, whose hashes become those of all their cells.
    pub(super) fn new(pending: &'a PendingRows, current: &[usize], columns: &mut [ColumnSurvey]) -> Self {
        let (rows, mut places) = (pending.rows(), vec![None; columns.len()]);
        for ((at, &index), facts) in current.iter().enumerate().zip(number_columns::facts(&rows)) {
            columns[index].hash_numbers(facts.hash);
            places[index] = Some((at, facts));
        }
        WideNumbers { rows, places }
    }

    /// Adds the numbers of a column to it, unless it has them.
    pub(super) fn fill(&self, index: usize, column: &mut ColumnSurvey) {
        if let Some((at, facts)) = self.places[index]
            && column.numbers.is_empty()
        {
            column.numbers.extend(self.rows.iter().map(|row| row[at]).filter(|value| !value.is_nan()));
            column.mean = facts.mean;
        }
    }

    /// The mean of a column of nothing but numbers, of which one is not whole.
    pub(super) fn mean_of_fractions(&self, index: usize) -> Option<f64> {
        self.places[index].and_then(|(_, facts)| facts.mean.filter(|_| facts.has_fraction))
    }
}
