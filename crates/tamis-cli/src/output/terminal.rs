//! Text that fits the terminal: its width, padding, clipping and line breaks.

use std::io::IsTerminal;

use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lines are broken for terminals of at least this width.
const MIN_WIDTH: usize = 20;

/// The width of the terminal: COLUMNS if it is set, else the terminal's own, else 80.
pub fn width() -> usize {
    let variable = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    variable.or_else(terminal).filter(|&columns| columns > 0).unwrap_or(80)
}

/// The character that bars are made of: a block on a terminal, ASCII in files and pipes.
pub fn block() -> &'static str {
    if std::io::stdout().is_terminal() { "█" } else { "#" }
}

/// The columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Text padded with spaces to a width.
pub fn padded(text: &str, width: usize) -> String {
    text.to_string() + &" ".repeat(width.saturating_sub(columns(text)))
}

/// Whether a character can move the cursor, change colours, or change the order of the characters around it.
fn is_strange(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Text of several lines in which strange characters are replaced by a dot.
pub fn safe(text: &str) -> String {
    text.chars().map(|c| if is_strange(c) && c != '\n' && c != '\t' { '·' } else { c }).collect()
}

/// A name on one line: strange characters, line ends too, are replaced by a dot.
pub fn one_line(name: &str) -> String {
    name.chars().map(|c| if is_strange(c) { '·' } else { c }).collect()
}

/// A name clipped to a width, on one line.
pub fn clipped(name: &str, width: usize) -> String {
    let safe = one_line(name);
    if columns(&safe) <= width {
        return safe;
    }
    let (mut text, mut room) = (String::new(), width.saturating_sub(1));
    for character in safe.chars() {
        match room.checked_sub(character.width().unwrap_or(0)) {
            Some(rest) => room = rest,
            None => break,
        }
        text.push(character);
    }
    text + "…"
}

/// Long lines broken between words. Lines of tables, which have two spaces in a row, stay as they are.
pub fn wrapped(text: &str) -> String {
    let width = width().max(MIN_WIDTH);
    let line = |line: &str| {
        if columns(line) <= width || line.contains("  ") { line.to_string() } else { broken(line, width) }
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
        assert_eq!(clipped("right\u{202e}left\u{2028}", 20), "right·left·");
        assert_eq!(safe("two\nlines\tand\u{1b}[2J\r\u{9b}0m"), "two\nlines\tand·[2J··0m");
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
