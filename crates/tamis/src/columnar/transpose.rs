//! From columns to rows: the numbers of several columns, a tile of columns at a time. Row by row, each cell of a wide table would be in
//! another part of memory.

use std::ops::Range;

use super::cells::Cells;

/// Columns that are read side by side, few enough for their pages to stay in the processor's table of pages.
const TILE: usize = 32;

/// Writes the numbers of some rows into `to`, row by row. Other cells, and columns that do not hold numbers, are left as they are.
pub(super) fn put_numbers(columns: &[&Cells], rows: Range<usize>, to: &mut [f64]) {
    if columns.is_empty() {
        return;
    }
    for (tile, cells) in columns.chunks(TILE).enumerate() {
        let whole: Vec<&[f64]> = cells.iter().filter_map(|cells| cells.whole_numbers()).collect();
        for (row, to) in rows.clone().zip(to.chunks_exact_mut(columns.len())) {
            let to = &mut to[tile * TILE..][..cells.len()];
            if whole.len() == cells.len() {
                to.iter_mut().zip(&whole).for_each(|(to, numbers)| *to = numbers[row]);
            } else {
                let numbers = cells.iter().map(|cells| cells.number(row));
                to.iter_mut().zip(numbers).for_each(|(to, number)| *to = number.unwrap_or(*to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, StringArray};

    use super::*;

    #[test]
    fn numbers_are_put_in_rows() {
        let (rows, columns) = (5, 70);
        let cell = |row: usize, column: usize| (row * 100 + column) as f64;
        let cells: Vec<Cells> = (0..columns)
            .map(|column| {
                let numbers = (0..rows).map(|row| Some(cell(row, column)).filter(|_| column != 40 || row != 2));
                let array: ArrayRef = match column {
                    50 => Arc::new(StringArray::from(vec!["1"; rows])),
                    _ => Arc::new(numbers.collect::<Float64Array>()),
                };
                Cells::plain(&array).unwrap()
            })
            .collect();
        let mut found = vec![-1.0; 3 * columns];
        put_numbers(&cells.iter().collect::<Vec<_>>(), 1..4, &mut found);
        for (at, found) in found.into_iter().enumerate() {
            let (row, column) = (1 + at / columns, at % columns);
            let is_number = column != 50 && (row, column) != (2, 40);
            assert_eq!(found, if is_number { cell(row, column) } else { -1.0 }, "{row} {column}");
        }
    }
}
