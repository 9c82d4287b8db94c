//! What is printed: results on standard output; progress, notes and warnings on standard error.

/// Prints text for people on standard output: names and labels from data cannot move the cursor. A closed pipe or a full
/// disk is an error of the command.
macro_rules! print_line {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), "{}", $crate::output::terminal::safe(&format!($($text)*)))
    }};
}

/// Prints JSON or CSV on standard output, as it is: these formats have their own way to write strange characters.
macro_rules! print_data {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)
    }};
}

/// Prints text for people on standard error. It is no error if nobody reads it.
macro_rules! note {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), "{}", $crate::output::terminal::safe(&format!($($text)*))).ok();
    }};
}

pub(crate) use {note, print_data, print_line};

use tamis::param::worded;
use tamis::parse::survey::ColumnNote;

use crate::flag::flag;

pub mod classes;
pub mod csv;
pub mod format;
pub mod history;
pub mod kernel;
pub mod model;
pub mod name_map;
pub mod predictions;
pub mod progress;
pub mod row_writer;
pub mod sizes;
pub mod table;
pub mod terminal;

/// Says what was found out about the columns of a table.
pub fn show_notes(notes: &[ColumnNote]) {
    for one in notes {
        let kind = if one.is_warning { "warning" } else { "note" };
        note!("{kind}: {}", worded(one, flag));
    }
}

/// The same as JSON.
pub fn notes_json(notes: &[ColumnNote]) -> Vec<String> {
    notes.iter().map(|note| worded(note, flag)).collect()
}

/// Warns about malformed lines that were skipped.
pub fn warn_skipped(count: u64, first: &[String]) {
    if count > 0 {
        note!("warning: {} malformed lines skipped; the first ones:", format::count(count));
        first.iter().for_each(|line| note!("  {line}"));
    }
}
