//! What is shown: tables for people, a bar while they wait.

/// A line on standard output. A reader that went away, or a full disk, is an error to be handed on.
macro_rules! print_line {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)
    }};
}

/// A line on standard error. Nobody may be listening: that must not end the work.
macro_rules! tell {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).ok();
    }};
}

pub(crate) use {print_line, tell};

pub mod fits;
pub mod ladder;
pub mod progress;
pub mod rows;
pub mod stream;
pub mod table;
pub mod terminal;
