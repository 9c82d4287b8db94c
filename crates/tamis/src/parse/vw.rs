//! Vowpal Wabbit text: `[label [importance]] ['tag]|namespace[:scale] name[:value] … |namespace …`.
//!
//! A feature of namespace `ns` has the name `ns^name`, one of the unnamed namespace has `name`. Names are kept, not
//! hashed. The values of a repeated name are summed, as in Vowpal Wabbit.

use super::{LineError, LineParser, number, shown, utf8};
use crate::data::{Label, RawRows};

/// The parser.
#[derive(Clone, Copy, Debug, Default)]
pub struct VowpalWabbit;

impl LineParser for VowpalWabbit {
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        rows.adds_duplicates = true;
        let bar = memchr::memchr(b'|', line).ok_or((line.len(), LineError::NoBar))?;
        let head = head(&line[..bar])?;
        let mut at = bar;
        while at < line.len() {
            let end = memchr::memchr(b'|', &line[at + 1..]).map_or(line.len(), |length| at + 1 + length);
            namespace(&line[at + 1..end], at + 1, rows)?;
            at = end;
        }
        rows.end_row(head.label, head.weight, number);
        if !head.tag.is_empty() {
            rows.tags.resize(rows.len() - 1, "".into());
        }
        if !head.tag.is_empty() || !rows.tags.is_empty() {
            rows.tags.push(head.tag.into());
        }
        Ok(())
    }
}

struct Head<'a> {
    label: Label,
    weight: f64,
    tag: &'a str,
}

/// Everything before the first bar. A word that touches the bar, or begins with a quote, is the tag.
fn head(text: &[u8]) -> Result<Head<'_>, (usize, LineError)> {
    let mut words = words(text);
    let mut tag = "";
    if let Some(&(start, word)) = words.last() {
        let touches = start + word.len() == text.len();
        if word[0] == b'\'' || touches {
            tag = utf8(word.strip_prefix(b"'").unwrap_or(word), start)?;
            words.pop();
        }
    }
    if let Some(&(start, word)) = words.get(2) {
        return Err((start, LineError::Base { found: shown(word) }));
    }
    let label = match words.first() {
        None => Label::Absent,
        Some(&(start, word)) => Label::Number(finite("label", word, start)?),
    };
    let weight = match words.get(1) {
        None => 1.0,
        Some(&(start, word)) => match number::whole(word) {
            Some(weight) if weight.is_finite() && weight >= 0.0 => weight,
            _ => return Err((start, LineError::BadWeight { found: shown(word) })),
        },
    };
    Ok(Head { label, weight, tag })
}

/// One namespace, from after its bar to before the next.
fn namespace(text: &[u8], offset: usize, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
    let named = !matches!(text.first(), None | Some(b' ' | b'\t'));
    let mut words = words(text).into_iter();
    let (mut prefix, mut scale) = ("", 1.0);
    if named && let Some((start, word)) = words.next() {
        let (name, given) = split(word);
        prefix = utf8(name, offset + start)?;
        if let Some(given) = given {
            scale = finite("namespace scale", given, offset + start + name.len() + 1)?;
        }
    }
    let joint = if prefix.is_empty() { "" } else { "^" };
    for (start, word) in words {
        let (name, given) = split(word);
        let value = match given {
            None => 1.0,
            Some(given) => finite("feature value", given, offset + start + name.len() + 1)?,
        };
        if !(value * scale).is_finite() {
            let (what, found) = ("feature value times namespace scale", format!("{value:e} * {scale:e}"));
            return Err((offset + start, LineError::TooLarge { what, found }));
        }
        rows.push_name(&[prefix, joint, utf8(name, offset + start)?], value * scale);
    }
    Ok(())
}

fn split(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b':', word) {
        Some(colon) => (&word[..colon], Some(&word[colon + 1..])),
        None => (word, None),
    }
}

fn finite(what: &'static str, text: &[u8], at: usize) -> Result<f64, (usize, LineError)> {
    match number::whole(text) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err((at, LineError::NotFinite { what, found: shown(text) })),
        None => Err((at, LineError::NotANumber { what, found: shown(text) })),
    }
}

/// Words separated by spaces, with their offsets.
fn words(text: &[u8]) -> Vec<(usize, &[u8])> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(skip) = text[at..].iter().position(|byte| !blank(byte)) {
        let start = at + skip;
        let end = text[start..].iter().position(blank).map_or(text.len(), |length| start + length);
        found.push((start, &text[start..end]));
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{ParseError, parse_lines};

    fn parse(text: &str) -> (RawRows, Vec<ParseError>) {
        let (mut rows, mut errors) = (RawRows::by_name(), Vec::new());
        parse_lines(text.as_bytes(), &VowpalWabbit, &mut rows, &mut errors);
        (rows, errors)
    }

    fn features(rows: &RawRows, i: usize) -> Vec<(String, f64)> {
        rows.entries(i).map(|(key, value)| (format!("{key:?}"), value)).collect()
    }

    fn complaint(line: &str) -> String {
        let (_, errors) = parse(line);
        format!("{}: {}", errors[0].column, errors[0].problem)
    }

    #[test]
    fn labels_weights_tags_and_namespaces() {
        let (rows, errors) = parse("1 2.5 'first|a:0.5 x:4 y |b z\n-1 |x:2\n| p q:3\n0 tag| v\n");
        assert_eq!(errors, []);
        assert_eq!(rows.labels, [Label::Number(1.0), Label::Number(-1.0), Label::Absent, Label::Number(0.0)]);
        assert_eq!((rows.weight(0), rows.weight(1)), (2.5, 1.0));
        assert_eq!(rows.tags, ["first".into(), "".into(), "".into(), "tag".into()] as [Box<str>; 4]);
        let pairs = |list: &[(&str, f64)]| list.iter().map(|(n, v)| (format!("Name({n:?})"), *v)).collect::<Vec<_>>();
        assert_eq!(features(&rows, 0), pairs(&[("a^x", 2.0), ("a^y", 0.5), ("b^z", 1.0)]));
        assert_eq!(features(&rows, 1), [], "a namespace with a scale and no features");
        assert_eq!(features(&rows, 2), pairs(&[("p", 1.0), ("q", 3.0)]));
    }

    #[test]
    fn complaints_say_where_and_what() {
        assert_eq!(complaint("1 x y"), "6: expected '|' before the features");
        assert_eq!(complaint("one | x"), "1: label \"one\" is not a number");
        assert_eq!(complaint("1 -2 | x"), "3: importance weight \"-2\" is not a number of at least 0");
        assert_eq!(complaint("1 1 0.5 | x"), "5: an initial prediction (\"0.5\") is not supported; remove it");
        assert_eq!(complaint("1 | x:"), "7: feature value \"\" is not a number");
        assert_eq!(complaint("1 |n x:1 y:1e"), "12: feature value \"1e\" is not a number");
        assert_eq!(complaint("1 |n:z x"), "6: namespace scale \"z\" is not a number");
        assert!(complaint("1 | x:inf").contains("not finite"));
        assert_eq!(
            complaint("1 |a:1e308 x:1e308"),
            "12: feature value times namespace scale \"1e308 * 1e308\" is too large for a floating-point number"
        );
    }
}
