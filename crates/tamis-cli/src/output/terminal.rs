//! What the screen can show: how wide it is, which bars it has, where lines break.

use std::io::IsTerminal;

use terminal_size::{Width, terminal_size_of};

/// Narrower than this, lines are left to the terminal.
const NARROWEST: usize = 20;

/// The columns of the terminal: what COLUMNS says, else what the terminal says, else 80.
pub fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let asked = || terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    said.or_else(asked).filter(|&columns| columns > 0).unwrap_or(80)
}

/// The piece that bars are made of: a block on a terminal, a plain character for files and pipes.
pub fn block() -> &'static str {
    if std::io::stdout().is_terminal() { "█" } else { "#" }
}

/// The columns that a text takes: letters of East Asia and pictures take two, marks on letters none.
pub fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x200b..=0x200f | 0x2060..=0x2064 | 0xfe00..=0xfe0f | 0x20d0..=0x20ff => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Text filled up with blanks to so many columns.
pub fn padded(text: &str, width: usize) -> String {
    text.to_string() + &" ".repeat(width.saturating_sub(columns(text)))
}

/// A name on one line, what could move the cursor or turn the text around made visible, cut to fit.
pub fn clipped(name: &str, width: usize) -> String {
    let strange = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let safe: String = name.chars().map(|c| if strange(c) { '·' } else { c }).collect();
    if columns(&safe) <= width {
        return safe;
    }
    let (mut text, mut room) = (String::new(), width.saturating_sub(1));
    for character in safe.chars() {
        match room.checked_sub(columns_of(character)) {
            Some(rest) => room = rest,
            None => break,
        }
        text.push(character);
    }
    text + "…"
}

/// Lines broken between words where they are too long for the terminal. Lines of tables, which have two blanks in a row,
/// stay as they are.
pub fn wrapped(text: &str) -> String {
    let width = width().max(NARROWEST);
    let line = |line: &str| match columns(line) <= width || line.contains("  ") {
        true => line.to_string(),
        false => broken(line, width),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn broken(line: &str, width: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for word in line.split(' ') {
        let size = columns(word);
        if used > 0 && used + 1 + size > width {
            out.push('\n');
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += size;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_table() {
        assert_eq!(clipped("a\nb\u{1b}[31m", 20), "a·b·[31m");
        assert_eq!(clipped("right\u{202e}left", 20), "right·left");
        assert_eq!(columns(&clipped(&"x".repeat(100), 10)), 10);
        assert_eq!(clipped("日本語の名前", 7), "日本語…", "letters of two columns");
        assert_eq!(padded("日本", 6), "日本  ");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(broken("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(broken("endless-word-without-a-blank yes", 9), "endless-word-without-a-blank\nyes");
    }
}
