//! Helpers for SVG: escaped text, short numbers, colours for a light and a dark background.

/// The colours of series, in order: the palette of Okabe and Ito, which is safe for colour-blind readers.
pub const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];

/// The style of every chart, for light and dark colour schemes.
pub const STYLE: &str = "\
svg.tamis{font:13px system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:100%;height:auto}\
svg.tamis text{fill:currentColor}\
svg.tamis .title{font-size:15px;font-weight:600}\
svg.tamis .tick{font-size:11px;opacity:.8}\
svg.tamis .grid{stroke:currentColor;stroke-opacity:.12}\
svg.tamis .axis{stroke:currentColor;stroke-opacity:.5}\
@media (prefers-color-scheme:dark){svg.tamis{color:#e6e6e6;background:#1b1b1b}\
.tamis .c0{color:#5fb0ea}.tamis .c1{color:#ff9d66}.tamis .c2{color:#4fc9a4}.tamis .c3{color:#e39cc3}\
.tamis .c4{color:#f0b93a}.tamis .c6{color:#a8a8a8}}";

/// Escapes markup in a text and removes control characters.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(' '),
            // These change the order or the lines of the text around them.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => {
                safe.push('·');
            }
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {}
            other => safe.push(other),
        }
    }
    safe
}

/// A coordinate, rounded to a tenth of a pixel.
pub fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".into(),
        Some(whole) => whole.into(),
        None => text,
    }
}

/// A number with few digits, thin spaces between thousands, and an exponent if it is very large or small.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').expect("written with a power");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e{power}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "-0" { "0" } else { text };
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, part) = rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len() > 4 && (whole.len() - index).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{}", part.map_or(String::new(), |part| format!(".{part}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_becomes_text() {
        assert_eq!(escape("<script>\"&'"), "&lt;script&gt;&quot;&amp;&#39;");
        assert_eq!(escape("a\u{0}\u{1b}b\tc"), "ab c");
        assert_eq!(escape("naïve 🧀"), "naïve 🧀");
    }

    #[test]
    fn numbers_have_few_digits() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (-3.0, "−3"),
            (1234.0, "1234"),
            (-12_345.5, "−12\u{2009}345.5"),
            (1e7, "1e7"),
            (2.5e-6, "2.5e-6"),
            (1_000_000.0, "1\u{2009}000\u{2009}000"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn coordinates_have_at_most_one_decimal() {
        assert_eq!(place(3.0), "3");
        assert_eq!(place(2.71), "2.7");
        assert_eq!(place(-0.01), "0");
    }
}
