//! Output to the terminal: lines, aligned tables, and the progress of repeated fits on standard error.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Writes a line to standard output; the error is returned, since the reader may have closed it.
macro_rules! print_line {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)
    }};
}

/// Writes a line to standard error; a failure to write it is ignored.
macro_rules! note {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).ok();
    }};
}

pub(crate) use {note, print_line};

/// Shows how many of the fits are done: a bar on a terminal, otherwise a line at every tenth.
pub struct FitProgress {
    title: String,
    bar: ProgressBar,
    lines: bool,
}

impl FitProgress {
    /// `title` stands in front of the counts.
    pub fn new(quiet: bool, title: &str) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = if !quiet && terminal {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8))
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{msg} {bar:32} {pos} of {len} fits {elapsed}");
        bar.set_style(style.expect("the template is valid").progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_message(title.to_string());
        FitProgress { title: title.to_string(), bar, lines: !quiet && !terminal }
    }

    /// Shows that `done` fits of `of` are finished. Any thread may call it.
    pub fn watch(&self, done: usize, of: usize) {
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
        if self.lines && 10 * done / of > 10 * (done - 1) / of {
            note!("{}: {done} of {of} fits", self.title);
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A flag that Ctrl-C sets; a second Ctrl-C ends the program at once.
pub fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = stop.clone();
    let handler = move || {
        if raised.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        note!("tamis-experiments: stopping; press Ctrl-C again to stop at once");
    };
    // Without a handler, Ctrl-C simply ends the program.
    ctrlc::set_handler(handler).ok();
    stop
}

/// A table in columns: the last column is left-aligned, the others are right-aligned.
pub fn aligned(rows: &[Vec<&str>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &&str)| {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            if column + 1 == columns { cell.to_string() } else { format!("{padding}{cell}") }
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        writeln!(text, "{}", line.trim_end()).expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_in_columns() {
        let rows = [vec!["a", "κ", "mark"], vec!["10", "0.25 %", ""]];
        assert_eq!(aligned(&rows), " a       κ  mark\n10  0.25 %\n");
    }
}
