//! Flat JSON lines: `{"level": "error", "latency": 120.5, "tags": ["a", "b"], "y": 1}`, a row of a table a line.
//!
//! Keys are columns: numbers, texts and true or false have the roles of a survey, as in CSV. A key that a line lacks is
//! absent, null is a missing value. A list of texts holds several categories, a list of numbers is a vector.

use std::collections::BTreeSet;

use super::column::{self, Cell, Pushed, Role};
use super::jsonl::{Features, Scalar};
use super::schema::Schema;
use super::survey::{CellPlace, Survey};
use super::{LineError, LineParser, Missing};
use crate::data::{Label, RawRows, TextMap};

/// A parser of flat lines.
#[derive(Clone, Debug)]
pub struct JsonTable {
    schema: Schema,
    roles: TextMap<String, Role>,
    needs_target: bool,
}

impl JsonTable {
    /// A parser with this schema.
    pub fn new(schema: Schema, needs_target: bool) -> Self {
        let roles = schema.names.iter().cloned().zip(schema.roles.iter().cloned()).collect();
        JsonTable { schema, roles, needs_target }
    }

    /// Adds the features of a value; `None` if the row is skipped.
    fn push(&self, name: &str, role: &Role, value: &Scalar<'_>, rows: &mut RawRows) -> Result<Pushed, LineError> {
        match value {
            Scalar::List(items) => {
                let mut levels = BTreeSet::new();
                for (at, item) in items.iter().enumerate() {
                    match item {
                        Scalar::Number(value) => rows.push_name(&[name, "[", &at.to_string(), "]"], *value),
                        Scalar::Text(text) => drop(levels.insert(&**text)),
                        _ => return Err(list_error(name)),
                    }
                }
                levels.into_iter().for_each(|level| rows.push_name(&[name, "=", level], 1.0));
                Ok(Pushed::Yes)
            }
            value => role.push(name, cell(value), &self.schema.missing, rows),
        }
    }
}

fn list_error(name: &str) -> LineError {
    LineError::Json { reason: format!("the list {name:?} holds more than numbers and texts") }
}

fn cell<'a>(value: &'a Scalar<'_>) -> Cell<'a> {
    match value {
        Scalar::Flag(flag) => Cell::Number(f64::from(u8::from(*flag))),
        Scalar::Number(value) => Cell::Number(*value),
        Scalar::Text(text) => Cell::Text(text),
        Scalar::Null | Scalar::List(_) => Cell::Missing,
    }
}

fn pairs(line: &[u8]) -> Result<Features<'_>, (usize, LineError)> {
    serde_json::from_slice(line).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" at line").next().unwrap_or_default().to_string();
        (error.column().saturating_sub(1), LineError::FlatJson { reason })
    })
}

/// Whether the first line of a block is flat: an object without an object `x`.
pub fn is_flat(block: &[u8]) -> bool {
    let mut lines = block.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty()) else { return false };
    let value: Result<serde_json::Value, _> = serde_json::from_slice(line);
    value.is_ok_and(|value| value.is_object() && !value.get("x").is_some_and(serde_json::Value::is_object))
}

/// Observes the lines of a block until the survey has enough rows. Malformed lines are not counted.
pub fn survey(block: &[u8], file: &str, first_line: u64, survey: &mut Survey) {
    for (number, line) in block.split(|&byte| byte == b'\n').enumerate() {
        if survey.is_full() {
            return;
        }
        let Ok(pairs) = pairs(line) else { continue };
        survey.count_row();
        for (name, value) in &pairs.0 {
            let place = || CellPlace { file: file.into(), line: first_line + number as u64, column: 1 };
            match value {
                Scalar::List(_) => survey.observe_named(name, Cell::Text("list"), place),
                value => survey.observe_named(name, cell(value), place),
            }
        }
    }
}

impl LineParser for JsonTable {
    fn line(&self, line: &[u8], number: u32, rows: &mut RawRows) -> Result<(), (usize, LineError)> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let pairs = pairs(line)?;
        let mark = rows.mark();
        let (mut label, mut weight) = (Label::Absent, 1.0);
        for (name, value) in &pairs.0 {
            let Some(role) = self.roles.get(&**name) else { continue };
            let at = |problem| (memchr::memmem::find(line, name.as_bytes()).unwrap_or(0), problem);
            match role {
                Role::Ignored => {}
                Role::Target(_) => {
                    label = role.label(cell(value), &self.schema.missing).map_err(at)?.unwrap_or(Label::Absent);
                }
                Role::Weight => weight = column::weight(cell(value)).map_err(at)?,
                role => {
                    if self.push(name, role, value, rows).map_err(at)? == Pushed::SkipRow {
                        rows.rollback(mark);
                        rows.left_out.push(number);
                        return Ok(());
                    }
                }
            }
        }
        match label {
            Label::Absent if self.needs_target && self.schema.missing.rule == Missing::SkipRow => {
                rows.rollback(mark);
                rows.left_out.push(number);
            }
            Label::Absent if self.needs_target => return Err((0, LineError::NoLabel)),
            label => rows.end_row(label, weight, number),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_lines;
    use crate::parse::schema::SchemaOptions;

    fn parse(text: &str, options: &SchemaOptions) -> (Vec<String>, Vec<String>) {
        let mut seen = Survey::default();
        survey(text.as_bytes(), "f.jsonl", 1, &mut seen);
        let names = seen.names();
        let (known, _) = seen.decide(options, b',').unwrap();
        let table = JsonTable::new(Schema::resolve(names, known, options).unwrap(), options.needs_target);
        let (mut rows, mut errors) = (RawRows::by_name(), Vec::new());
        parse_lines(text.as_bytes(), &table, &mut rows, &mut errors);
        let row = |i: usize| {
            let entries: Vec<String> = rows.entries(i).map(|(key, value)| format!("{key:?}:{value}")).collect();
            format!("{} {}", rows.labels[i], entries.join(" "))
        };
        ((0..rows.len()).map(row).collect(), errors.iter().map(|error| error.problem.to_string()).collect())
    }

    #[test]
    fn keys_are_columns() {
        let text = "{\"level\":\"error\",\"ms\":120.5,\"ok\":true,\"tags\":[\"b\",\"a\",\"b\"],\"v\":[1,2.5],\"y\":1}\n\
                    {\"level\":\"info\",\"ms\":null,\"y\":0}\n";
        assert!(is_flat(text.as_bytes()) && !is_flat(b"{\"y\":1,\"x\":{}}\n"));
        let options = SchemaOptions { needs_target: true, ..Default::default() };
        let (rows, errors) = parse(text, &options);
        assert!(errors.is_empty(), "{errors:?}");
        let first = "1 Name(\"level=error\"):1 Name(\"ms\"):120.5 Name(\"ok\"):1 Name(\"tags=a\"):1 Name(\"tags=b\"):1 \
                     Name(\"v[0]\"):1 Name(\"v[1]\"):2.5";
        assert_eq!(rows, [first, "0 Name(\"level=info\"):1 Name(\"ms\"):120.5"], "null is the mean");
    }

    #[test]
    fn complaints_say_what_is_wrong() {
        let options = SchemaOptions { needs_target: true, ..Default::default() };
        let text = "{\"a\":1,\"y\":1}\n{\"a\":{\"b\":1},\"y\":0}\n{\"a\":2}\nnonsense\n";
        let (rows, errors) = parse(text, &options);
        assert_eq!(rows.len(), 1);
        assert!(errors[0].contains("not a flat JSON object"), "{errors:?}");
        assert_eq!(errors[1], "the line has no label");
        assert!(errors[2].contains("not a flat JSON object"), "{errors:?}");
    }
}
