//! JSON lines: `{"y": label, "weight": number, "x": {name: value, …}}`.
//!
//! A number is a value, a text is a category (`name=text`), true is 1, false is 0, null is missing. Labels may be
//! numbers, texts or booleans.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{LineError, LineParser, Missing, shown};
use crate::data::{Label, RawRows};

/// The parser.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonLines {
    /// What to do about null.
    pub missing: Missing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow, default)]
    y: Option<Scalar<'a>>,
    #[serde(default)]
    weight: Option<f64>,
    #[serde(borrow, default)]
    tag: Option<Cow<'a, str>>,
    #[serde(borrow)]
    x: Features<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar<'a> {
    Flag(bool),
    Number(f64),
    Text(#[serde(borrow)] Cow<'a, str>),
    List(#[serde(borrow)] Vec<Scalar<'a>>),
    Null,
}

/// The pairs of `x` in the order of the text: a map would hide duplicates.
pub(super) struct Features<'a>(pub(super) Vec<(Cow<'a, str>, Scalar<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Features<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Features<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    pairs.push((name, map.next_value()?));
                }
                Ok(Features(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A key that borrows where it can.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl LineParser for JsonLines {
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let parsed: Line<'_> = serde_json::from_slice(line).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" at line").next().unwrap_or_default().to_string();
            (error.column().saturating_sub(1), LineError::Json { reason })
        })?;
        if let Some(name) = duplicate(&parsed.x.0) {
            let quoted = format!("\"{name}\"");
            let at = memchr::memmem::rfind(line, quoted.as_bytes()).unwrap_or(0);
            return Err((at, LineError::DuplicateName { name: name.to_string() }));
        }
        let mark = rows.mark();
        for (name, value) in &parsed.x.0 {
            match value {
                Scalar::Number(value) => rows.push_name(&[name], *value),
                Scalar::Flag(flag) => rows.push_name(&[name], f64::from(u8::from(*flag))),
                Scalar::Text(text) => rows.push_name(&[name, "=", text], 1.0),
                Scalar::List(_) => {
                    let reason = format!("{name:?} is a list");
                    return Err((0, LineError::Json { reason }));
                }
                Scalar::Null => match self.missing {
                    Missing::Zero => {}
                    Missing::SkipRow => {
                        rows.rollback(mark);
                        rows.left_out.push(number);
                        return Ok(());
                    }
                    _ => return Err((0, LineError::Empty { column: name.to_string() })),
                },
            }
        }
        let weight = parsed.weight.unwrap_or(1.0);
        if weight < 0.0 {
            return Err((0, LineError::BadWeight { found: weight.to_string() }));
        }
        let label = match parsed.y {
            Some(Scalar::Number(value)) => Label::Number(value),
            Some(Scalar::Flag(flag)) => Label::Number(f64::from(u8::from(flag))),
            Some(Scalar::Text(text)) => {
                let not_finite = || LineError::NotFinite { what: "label", found: shown(text.as_bytes()) };
                Label::parse(&text).ok_or_else(|| (0, not_finite()))?
            }
            Some(Scalar::Null | Scalar::List(_)) | None => Label::Absent,
        };
        rows.end_row(label, weight, number);
        if let Some(tag) = parsed.tag {
            rows.tags.resize(rows.len() - 1, "".into());
            rows.tags.push(tag.into());
        } else if !rows.tags.is_empty() {
            rows.tags.push("".into());
        }
        Ok(())
    }
}

/// A name that occurs twice.
fn duplicate<'a>(pairs: &'a [(Cow<'_, str>, Scalar<'_>)]) -> Option<&'a str> {
    let mut names: Vec<&str> = pairs.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{ParseError, parse_lines};

    fn parse(text: &str, missing: Missing) -> (RawRows, Vec<ParseError>) {
        let (mut rows, mut errors) = (RawRows::by_name(), Vec::new());
        parse_lines(text.as_bytes(), &JsonLines { missing }, &mut rows, &mut errors);
        (rows, errors)
    }

    #[test]
    fn values_of_every_kind() {
        let line = r#"{"y": "spam", "weight": 2, "x": {"a\n\"": 1.5, "town": "Rome", "new": true, "old": false}}"#;
        let (rows, errors) = parse(line, Missing::Error);
        assert_eq!(errors, []);
        assert_eq!((rows.labels[0].clone(), rows.weight(0)), (Label::Text("spam".into()), 2.0));
        let names: Vec<_> = rows.entries(0).map(|(key, value)| format!("{key:?} {value}")).collect();
        assert_eq!(names, ["Name(\"a\\n\\\"\") 1.5", "Name(\"town=Rome\") 1", "Name(\"new\") 1"]);
    }

    #[test]
    fn rows_without_a_label_are_for_predicting() {
        assert_eq!(parse("{\"x\":{}}\n\n", Missing::Error).0.labels, [Label::Absent]);
    }

    #[test]
    fn complaints_say_what_was_expected() {
        let message = |line: &str| parse(line, Missing::Error).1[0].problem.to_string();
        assert!(message("[1,2]").starts_with("not a JSON object {\"y\": …, \"x\": {name: value}}"));
        assert!(message(r#"{"y":1}"#).contains("missing field `x`"));
        assert!(message(r#"{"y":1,"x":{"a":[1]}}"#).contains("not a JSON object"));
        assert!(message(r#"{"y":1,"z":1,"x":{}}"#).contains("unknown field `z`"));
        assert!(message(r#"{"y":1,"x":{"a":null}}"#).contains("`missing = zero`"));
        assert!(message(r#"{"y":1,"weight":-1,"x":{}}"#).contains("importance weight"));
        assert!(message(r#"{"y":1,"x":{"a":1e999}}"#).contains("out of range"));
    }

    #[test]
    fn a_name_comes_once() {
        let (rows, errors) = parse("{\"y\":1,\"x\":{\"a\":1,\"b\":2,\"a\":3}}\n{\"x\":{}}\n", Missing::Error);
        assert_eq!((rows.len(), errors[0].column), (1, 25));
        assert_eq!(errors[0].problem.to_string(), "feature \"a\" occurs twice");
    }

    #[test]
    fn null_may_be_zero_or_leave_the_row_out() {
        let line = r#"{"y":1,"x":{"a":1,"b":null}}"#;
        assert_eq!(parse(line, Missing::Zero).0.entries(0).count(), 1);
        assert!(parse(line, Missing::SkipRow).0.is_empty());
    }
}
