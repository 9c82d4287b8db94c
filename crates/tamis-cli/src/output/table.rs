//! Tables of text.

use std::fmt::Write as _;

use super::terminal::{columns, width};

/// Rows of cells in aligned columns: the last column to the left, all others to the right.
pub fn aligned(rows: &[Vec<&str>]) -> String {
    let number = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max();
    let widths: Vec<usize> = (0..number).map(|column| widest(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &&str)| {
            let room = " ".repeat(widths[column] - columns(cell));
            if column + 1 == number { format!("{cell}{room}") } else { format!("{room}{cell}") }
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        writeln!(text, "{}", line.trim_end()).expect("text grows");
    }
    text
}

/// A table that fits the terminal: columns from the third on are omitted until it does, and a line names them.
pub fn narrowed(mut rows: Vec<Vec<String>>) -> String {
    let mut omitted = Vec::new();
    loop {
        let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let text = aligned(&cells);
        let widest = text.lines().map(columns).max().unwrap_or(0);
        if widest <= width() || rows[0].len() == 3 {
            return text + &omitted_columns(&omitted);
        }
        omitted.push(rows[0][2].clone());
        rows.iter_mut().for_each(|row| drop(row.remove(2)));
    }
}

/// A line that names the columns that were omitted, if any.
pub fn omitted_columns(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!("(terminal too narrow for {}; see --json)\n", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_in_columns() {
        let rows = [vec!["a", "κ", "mark"], vec!["10", "0.25 %", ""]];
        assert_eq!(aligned(&rows), " a       κ  mark\n10  0.25 %\n");
    }
}
