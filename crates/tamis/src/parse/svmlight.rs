//! svmlight / LIBSVM text: `label [qid:n] index:value … # comment`, indices ascending.
//!
//! Most rows have a plain form and are read by `plain_rows`; this is the literal version, for all others.

use super::{LineError, LineParser, number, plain_rows, shown};
use crate::data::{Label, RawRows};

/// The parser.
#[derive(Clone, Copy, Debug, Default)]
pub struct Svmlight {
    /// Whether index 0 is allowed.
    pub zero_based: bool,
}

impl LineParser for Svmlight {
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        let mut at = skip_blanks(line, 0);
        if ends(line, at) {
            return Ok(());
        }
        let label = label(line, &mut at)?;
        self.features(line, at, rows)?;
        rows.end_row(Label::Number(label), 1.0, number);
        Ok(())
    }

    fn usual_lines(&self, block: &[u8], start: usize, first: u32, rows: &mut RawRows) -> (usize, u32) {
        plain_rows::read(block, start, self.zero_based, first, rows)
    }
}

impl Svmlight {
    fn features(&self, line: &[u8], mut at: usize, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        let (indices, values) = rows.index_columns();
        let mut before: Option<u32> = None;
        loop {
            at = skip_blanks(line, at);
            if ends(line, at) {
                return Ok(());
            }
            if before.is_none() && line[at..].starts_with(b"qid:") {
                at = query(line, at)?;
                continue;
            }
            let (index, value, next) = self.feature(line, at)?;
            if let Some(before) = before.filter(|&before| index <= before) {
                return Err((at, order_problem(index, before)));
            }
            before = Some(index);
            if value != 0.0 {
                indices.push(index);
                values.push(value);
            }
            at = next;
        }
    }

    fn feature(&self, line: &[u8], start: usize) -> Result<(u32, f64, usize), (usize, LineError)> {
        let (index, at) = index(line, start);
        if at == start || line.get(at) != Some(&b':') {
            return Err(index_problem(line, start));
        }
        if index >= u64::from(u32::MAX) {
            return Err((start, LineError::IndexTooLarge { found: index.to_string() }));
        }
        if index == 0 && !self.zero_based {
            return Err((start, LineError::IndexZero));
        }
        let (value, next) = value(line, at + 1)?;
        Ok((index as u32, value, next))
    }
}

/// An index of any length, and where it ends; one digit more than fits is enough to see that it is too large.
fn index(line: &[u8], start: usize) -> (u64, usize) {
    let (mut index, mut at) = (0_u64, start);
    while at < line.len() && line[at].is_ascii_digit() && at - start < 11 {
        index = index * 10 + u64::from(line[at] - b'0');
        at += 1;
    }
    (index, at)
}

/// A feature's value, and where it ends.
fn value(line: &[u8], start: usize) -> Result<(f64, usize), (usize, LineError)> {
    match number::prefix(&line[start..]) {
        Some((value, length)) if value.is_finite() && token_ends(line, start + length) => Ok((value, start + length)),
        _ => Err((start, value_problem("feature value", token(line, start)))),
    }
}

fn label(line: &[u8], at: &mut usize) -> Result<f64, (usize, LineError)> {
    let text = token(line, *at);
    if text.contains(&b':') {
        return Err((*at, LineError::NoLabel));
    }
    let start = *at;
    *at += text.len();
    match number::whole(text) {
        Some(value) if value.is_finite() => Ok(value),
        None if text.contains(&b',') => Err((start, LineError::ManyLabels { found: shown(text) })),
        _ => Err((start, value_problem("label", text))),
    }
}

fn query(line: &[u8], at: usize) -> Result<usize, (usize, LineError)> {
    let text = &token(line, at)[4..];
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err((at + 4, LineError::NotANumber { what: "qid", found: shown(text) }));
    }
    Ok(at + 4 + text.len())
}

fn value_problem(what: &'static str, text: &[u8]) -> LineError {
    match number::whole(text) {
        Some(_) => LineError::NotFinite { what, found: shown(text) },
        None => LineError::NotANumber { what, found: shown(text) },
    }
}

#[cold]
fn index_problem(line: &[u8], at: usize) -> (usize, LineError) {
    let text = token(line, at);
    let problem = match memchr::memchr(b':', text) {
        None => LineError::NoColon { found: shown(text) },
        Some(end) if end > 0 && text[..end].iter().all(u8::is_ascii_digit) => {
            LineError::IndexTooLarge { found: shown(&text[..end]) }
        }
        Some(end) => LineError::BadIndex { found: shown(&text[..end]) },
    };
    (at, problem)
}

fn order_problem(found: u32, before: u32) -> LineError {
    if found == before { LineError::DuplicateIndex { found } } else { LineError::DescendingIndex { found, before } }
}

#[inline]
fn skip_blanks(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

#[inline]
fn ends(line: &[u8], at: usize) -> bool {
    matches!(line.get(at), None | Some(b'#'))
}

#[inline]
fn token_ends(line: &[u8], at: usize) -> bool {
    matches!(line.get(at), None | Some(b' ' | b'\t' | b'#'))
}

fn token(line: &[u8], at: usize) -> &[u8] {
    let length = line[at..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'#'));
    &line[at..length.map_or(line.len(), |length| at + length)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::FeatureKey;
    use crate::parse::{ParseError, parse_lines};

    fn parse(text: &str, zero_based: bool) -> (RawRows, Vec<ParseError>) {
        let (mut rows, mut errors) = (RawRows::by_index(), Vec::new());
        parse_lines(text.as_bytes(), &Svmlight { zero_based }, &mut rows, &mut errors);
        (rows, errors)
    }

    fn complaint(line: &str) -> String {
        let (rows, errors) = parse(line, false);
        assert!(rows.is_empty(), "a bad line leaves no row");
        format!("{}: {}", errors[0].column, errors[0].problem)
    }

    #[test]
    fn rows_comments_queries_and_blank_lines() {
        let (rows, errors) = parse("# head\n+1 qid:3 1:0.5 4294967294:-2 # tail\r\n\n-1\n0 2:0 3:1e-3\n", false);
        assert_eq!(errors, []);
        assert_eq!(rows.labels, [Label::Number(1.0), Label::Number(-1.0), Label::Number(0.0)]);
        assert_eq!(rows.lines, [1, 3, 4]);
        let entries: Vec<_> = rows.entries(0).collect();
        assert_eq!(entries, [(FeatureKey::Index(1), 0.5), (FeatureKey::Index(4_294_967_294), -2.0)]);
        assert_eq!(rows.entries(2).count(), 1, "the explicit zero is absent");
    }

    #[test]
    fn complaints_say_where_and_what() {
        assert_eq!(complaint("1 3:0.3x"), "5: feature value \"0.3x\" is not a number");
        assert_eq!(complaint("1 3:"), "5: feature value \"\" is not a number");
        assert_eq!(complaint("x 3:1"), "1: label \"x\" is not a number");
        assert_eq!(complaint("1,2 3:1"), "1: label \"1,2\" is a list; rows with several labels are not supported");
        assert_eq!(complaint("3:1 4:1"), "1: the line has no label");
        assert_eq!(complaint("1 0:1"), "3: feature index 0 in a 1-based file; use `zero-based` if indices start at 0");
        assert_eq!(complaint("1 a:1"), "3: feature index \"a\" is not a whole number");
        assert_eq!(complaint("1 -3:1"), "3: feature index \"-3\" is not a whole number");
        assert_eq!(complaint("1 5"), "3: expected index:value, found \"5\"");
        assert_eq!(complaint("1 5:1 5:2"), "7: feature index 5 occurs twice");
        assert_eq!(complaint("1 5:1 4:2"), "7: feature index 4 after 5: indices must ascend");
        assert_eq!(complaint("1 4294967295:1"), "3: feature index 4294967295 is larger than 4294967294");
        assert_eq!(complaint("1 99999999999999:1"), "3: feature index 99999999999999 is larger than 4294967294");
        assert!(complaint("1 2:nan").starts_with("5: feature value \"nan\" is not finite"));
        assert!(complaint("inf 2:1").starts_with("1: label \"inf\" is not finite"));
        assert_eq!(complaint("1 qid:x 2:1"), "7: qid \"x\" is not a number");
    }

    #[test]
    fn zero_based_allows_index_zero() {
        assert_eq!(parse("1 0:1 1:1", true).0.entries(0).count(), 2);
    }

    #[test]
    fn a_bad_line_does_not_hurt_its_neighbours() {
        let (rows, errors) = parse("1 1:1\n1 1:1 x\n-1 2:1\n", false);
        assert_eq!((rows.len(), errors.len(), errors[0].line), (2, 1, 1));
        assert_eq!(rows.entries(1).next(), Some((FeatureKey::Index(2), 1.0)));
    }
}
