//! The labels of a matrix in memory.

use super::ReadError;
use super::error::bad_shape;
use crate::data::Label;

/// The labels of a matrix's rows.
#[derive(Clone, Copy, Debug)]
pub enum Labels<'a> {
    /// There are none.
    None,
    /// Numbers.
    Numbers(&'a [f64]),
    /// Places in a list of classes.
    Classes(&'a [i64], &'a [Label]),
}

impl Labels<'_> {
    /// The label of a row.
    pub(super) fn of(&self, row: usize) -> Label {
        match self {
            Labels::None => Label::Absent,
            Labels::Numbers(numbers) => Label::Number(numbers[row]),
            Labels::Classes(codes, classes) => classes[codes[row] as usize].clone(),
        }
    }

    /// The number of labels, if there are any, and the first row whose label is not finite or of no known class.
    fn length_and_bad_row(&self) -> (Option<usize>, Option<usize>) {
        match self {
            Labels::None => (None, None),
            Labels::Numbers(numbers) => (Some(numbers.len()), numbers.iter().position(|number| !number.is_finite())),
            Labels::Classes(codes, classes) => {
                let known = |code: &i64| usize::try_from(*code).is_ok_and(|code| code < classes.len());
                (Some(codes.len()), codes.iter().position(|code| !known(code)))
            }
        }
    }

    /// Checks that there is a valid label and a valid importance weight for each row; the number of rows may be unknown.
    pub fn check(&self, weights: Option<&[f64]>, rows: Option<usize>) -> Result<(), ReadError> {
        let (length, bad_row) = self.length_and_bad_row();
        for (length, what) in [(length, "labels"), (weights.map(<[f64]>::len), "weights")] {
            if let (Some(length), Some(rows)) = (length, rows)
                && length != rows
            {
                return Err(bad_shape(format!("{length} {what} for {rows} rows")));
            }
        }
        if let Some(row) = bad_row {
            return Err(bad_shape(format!("the label of row {row} is not finite, or of no known class")));
        }
        let is_bad = |weight: &f64| !(weight.is_finite() && *weight >= 0.0);
        if let Some((row, weight)) = weights.into_iter().flatten().enumerate().find(|(_, weight)| is_bad(weight)) {
            let problem = format!("the weight {weight} is not a number of at least 0");
            return Err(ReadError::Row { row: row as u64, problem });
        }
        Ok(())
    }
}
