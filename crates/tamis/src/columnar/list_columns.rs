//! Columns of lists: of texts, of which each is a category, or of as many numbers in each row, of which each is a feature.

use super::cells::Cells;
use super::sparse_columns::Lists;
use crate::data::RawRows;
use crate::parse::column::{Cell, MissingCells, Pushed, Role};
use crate::parse::{LONGEST_NAME, LineError, Missing};

/// Adds the features of a list and returns their number; `None` if the row is skipped. A text counts once, however often it
/// comes: `column=text`. The numbers of a list are `column.0`, `column.1`, …
pub(super) fn push_list(
    name: &str,
    lists: &Lists,
    row: usize,
    missing: &MissingCells,
    rows: &mut RawRows,
) -> Result<Option<usize>, LineError> {
    let Some((start, end)) = lists.row(row) else {
        let pushed = Role::List.push(name, Cell::Missing, missing, rows)?;
        return Ok((pushed == Pushed::Yes).then_some(0));
    };
    if let Cells::Numbers(_) = lists.cells {
        return push_numbers(name, lists, (start, end), missing, rows);
    }
    let text = |at: usize| lists.cells.at(at).text().map(str::trim).filter(|text| !text.is_empty());
    let mut texts: Vec<&str> = (start..end).filter_map(text).collect();
    texts.sort_unstable();
    texts.dedup();
    for text in &texts {
        if text.len() > LONGEST_NAME {
            return Err(LineError::LongName { length: text.len() });
        }
        rows.push_name(&[name, "=", text], 1.0);
    }
    Ok(Some(texts.len()))
}

fn push_numbers(
    name: &str,
    lists: &Lists,
    (start, end): (usize, usize),
    missing: &MissingCells,
    rows: &mut RawRows,
) -> Result<Option<usize>, LineError> {
    for at in start..end {
        match lists.cells.at(at) {
            Cell::Number(value) if value.is_finite() => {
                rows.push_name(&[name, ".", &(at - start).to_string()], value);
            }
            Cell::Number(value) => {
                return Err(LineError::NotFinite { what: "feature value", found: value.to_string() });
            }
            _ if missing.rule == Missing::Zero => {}
            _ if missing.rule == Missing::SkipRow => return Ok(None),
            _ => return Err(LineError::Empty { column: name.into() }),
        }
    }
    Ok(Some(end - start))
}
