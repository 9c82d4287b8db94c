//! A linear model as one SQL query: a SELECT over a table with the columns of the model.
//!
//! Literals have an exponent, since `0.1` is a decimal in some dialects and `1e-1` a double in all. Sums are in groups:
//! a sum of a thousand terms would be nested deeper than some parsers allow. Arguments of EXP are bounded, since an overflow
//! is an error in PostgreSQL.

use std::collections::BTreeSet;

use super::linear_form::{Answer, InputKind, LevelTable, LinearForm};
use super::values::Value;
use super::{ExportError, ExportOptions};
use crate::data::Label;
use crate::parse::date::DatePart;

/// The most classes of the wide form: its length grows with their square.
const MOST_CLASSES: usize = 100;
/// Terms of a group of a sum.
const GROUP: usize = 40;

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Standard SQL, which SQLite understands too.
    #[default]
    Ansi,
    /// DuckDB.
    DuckDb,
    /// PostgreSQL.
    Postgres,
    /// Spark.
    Spark,
    /// BigQuery.
    BigQuery,
}

impl Dialect {
    /// All dialects, in the order of the documentation.
    pub const ALL: [Dialect; 5] =
        [Dialect::Ansi, Dialect::DuckDb, Dialect::Postgres, Dialect::Spark, Dialect::BigQuery];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Ansi => "ansi",
            Dialect::DuckDb => "duckdb",
            Dialect::Postgres => "postgres",
            Dialect::Spark => "spark",
            Dialect::BigQuery => "bigquery",
        }
    }

    /// The dialect with a name.
    pub fn of_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether strings have escapes with a backslash.
    fn has_escapes(self) -> bool {
        matches!(self, Dialect::Spark | Dialect::BigQuery)
    }

    /// A name as an identifier, whatever it holds.
    pub(super) fn identifier(self, name: &str) -> String {
        match self {
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
            Dialect::BigQuery => format!("`{}`", escaped(name).replace('`', "\\`")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A table, whose name may have parts.
    pub(super) fn table(self, name: &str) -> String {
        name.split('.').map(|part| self.identifier(part)).collect::<Vec<_>>().join(".")
    }

    /// A text.
    pub(super) fn string(self, text: &str) -> String {
        match self.has_escapes() {
            true => format!("'{}'", escaped(text).replace('\'', "\\'")),
            false => format!("'{}'", text.replace('\'', "''")),
        }
    }

    pub(super) fn label(self, label: &Label) -> String {
        match label {
            Label::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => format!("{number}"),
            Label::Number(number) => literal(*number),
            other => self.string(&other.to_string()),
        }
    }

    fn double(self) -> &'static str {
        match self {
            Dialect::Ansi | Dialect::Postgres => "DOUBLE PRECISION",
            Dialect::DuckDb | Dialect::Spark => "DOUBLE",
            Dialect::BigQuery => "FLOAT64",
        }
    }

    fn text_type(self) -> &'static str {
        match self {
            Dialect::Ansi | Dialect::DuckDb | Dialect::Postgres => "VARCHAR",
            Dialect::Spark | Dialect::BigQuery => "STRING",
        }
    }

    /// Days since 1970-01-01 of an expression, with the time of day as a fraction.
    fn days(self, cell: &str) -> String {
        let stamp = format!("CAST({cell} AS TIMESTAMP)");
        if matches!(self, Dialect::DuckDb | Dialect::Postgres) {
            return format!("(CAST(EXTRACT(EPOCH FROM {stamp}) AS {}) / 86400e0)", self.double());
        }
        let part = |name: &str| format!("EXTRACT({name} FROM {stamp})");
        let [year, month, day] = ["YEAR", "MONTH", "DAY"].map(part);
        let [hour, minute, second] = ["HOUR", "MINUTE", "SECOND"].map(part);
        // Years begin in March here, so that the leap day is the last of its year.
        let year = format!("({year} - CASE WHEN {month} <= 2 THEN 1 ELSE 0 END)");
        let month = format!("(CASE WHEN {month} > 2 THEN {month} - 3 ELSE {month} + 9 END)");
        format!(
            "(365e0 * {year} + FLOOR({year} / 4e0) - FLOOR({year} / 100e0) + FLOOR({year} / 400e0) \
             + FLOOR((153e0 * {month} + 2e0) / 5e0) + {day} - 719469e0 \
             + ({hour} * 3600e0 + {minute} * 60e0 + {second}) / 86400e0)"
        )
    }
}

/// Backslashes, line ends and control characters escaped.
fn escaped(text: &str) -> String {
    let mut found = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => found.push_str("\\\\"),
            '\n' => found.push_str("\\n"),
            '\r' => found.push_str("\\r"),
            '\t' => found.push_str("\\t"),
            letter => found.push(letter),
        }
    }
    found
}

/// A double, in every dialect.
pub(super) fn literal(number: f64) -> String {
    format!("{number:e}")
}

/// e to the power of an expression between −700 and 700.
pub(super) fn bounded_exp(argument: &str) -> String {
    format!("EXP(CASE WHEN {argument} > 700e0 THEN 700e0 WHEN {argument} < -700e0 THEN -700e0 ELSE {argument} END)")
}

/// √(σ(m)·eᵐ), to which the probabilities of several classes are proportional.
pub(super) fn class_part(margin: &str) -> String {
    let power = bounded_exp(margin);
    format!("{power} / SQRT(1e0 + {power})")
}

/// A name that cannot be part of a query.
pub(super) fn check_name(name: &str) -> Result<(), ExportError> {
    match name.contains('\0') {
        true => Err(ExportError::Name { name: name.into(), target: "SQL" }),
        false => Ok(()),
    }
}

/// The names of the columns that a query adds.
pub(super) struct Names {
    prefix: &'static str,
}

impl Names {
    /// Names that are no columns of the model.
    fn new(known: &BTreeSet<String>) -> Self {
        let is_taken = |name: &String| {
            let name = name.to_lowercase();
            ["label", "prediction", "margin"].contains(&name.as_str())
                || name.starts_with("margin_")
                || name.starts_with("probability_")
        };
        Names { prefix: if known.iter().any(is_taken) { "tamis_" } else { "" } }
    }

    fn of(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn margins(&self, answer: &Answer) -> Vec<String> {
        match answer {
            Answer::Classes { classes, .. } => {
                classes.iter().map(|class| self.of(&format!("margin_{class}"))).collect()
            }
            _ => vec![self.of("margin")],
        }
    }
}

/// The query of a model.
pub(super) fn write(form: &LinearForm, options: &ExportOptions) -> Result<String, ExportError> {
    let classes = form.answer.classes();
    if classes.len() > MOST_CLASSES {
        return Err(ExportError::Classes { classes: classes.len(), most: MOST_CLASSES });
    }
    let names = form.inputs.iter().map(|input| input.name.as_str());
    let levels = form.tables.iter().flat_map(|table| table.levels.iter().map(|(level, _)| level.as_str()));
    names.chain(levels).chain([options.table.as_str()]).try_for_each(check_name)?;
    let (dialect, names) = (options.dialect, Names::new(&form.known_columns));
    let margins = names.margins(&form.answer);
    let writer = Writer { form, dialect };
    let columns: Vec<String> = margins
        .iter()
        .enumerate()
        .map(|(output, name)| format!("    {}\n    AS {}", writer.margin(output), dialect.identifier(name)))
        .collect();
    let margins: Vec<String> = margins.iter().map(|name| format!("m.{}", dialect.identifier(name))).collect();
    Ok(format!(
        "-- The predictions of a Tamis model for each row of a table, in {} SQL.\n\
         WITH tamis_margins AS (\n  SELECT t.*,\n{}\n  FROM {} AS t\n)\nSELECT m.*,\n{}\nFROM tamis_margins AS m\n",
        dialect.name(),
        columns.join(",\n"),
        dialect.table(&options.table),
        answer(&form.answer, dialect, &names, &margins).join(",\n"),
    ))
}

/// The columns of the prediction, from those of the margins.
fn answer(answer: &Answer, dialect: Dialect, names: &Names, margins: &[String]) -> Vec<String> {
    let column = |expression: String, name: &str| format!("  {expression} AS {}", dialect.identifier(&names.of(name)));
    match answer {
        Answer::Number => vec![column(margins[0].clone(), "prediction")],
        Answer::Exponential => vec![column(bounded_exp(&margins[0]), "prediction")],
        Answer::TwoClasses { classes, boundary, has_probabilities } => {
            let [first, second] = classes.each_ref().map(|class| dialect.label(class));
            let margin = &margins[0];
            let label = format!(
                "CASE WHEN {margin} > {} THEN {second} WHEN {margin} IS NOT NULL THEN {first} END",
                literal(*boundary)
            );
            let mut columns = vec![column(label, "label")];
            if *has_probabilities {
                let negative = format!("(-{margin})");
                let probability = format!("1e0 / (1e0 + {})", bounded_exp(&negative));
                columns.push(column(format!("1e0 - {probability}"), &format!("probability_{}", classes[0])));
                columns.push(column(probability, &format!("probability_{}", classes[1])));
            }
            columns
        }
        Answer::Classes { classes, has_probabilities } => {
            let mut label = "CASE".to_string();
            // The first class that no later one exceeds: none of the earlier ones is the largest.
            for (number, class) in classes.iter().enumerate() {
                let later = margins[number + 1..].iter().map(|other| format!("{} >= {other}", margins[number]));
                let known = std::iter::once(format!("{} IS NOT NULL", margins[number]));
                let condition = known.chain(later).collect::<Vec<_>>().join(" AND ");
                label += &format!("\n    WHEN {condition} THEN {}", dialect.label(class));
            }
            let mut columns = vec![column(label + " END", "label")];
            if *has_probabilities {
                let parts: Vec<String> = margins.iter().map(|margin| class_part(margin)).collect();
                let total = sum(&parts);
                for (class, part) in classes.iter().zip(&parts) {
                    columns.push(column(format!("{part} / ({total})"), &format!("probability_{class}")));
                }
            }
            columns
        }
    }
}

/// A sum in groups, so that it is not nested deeply.
fn sum(parts: &[String]) -> String {
    if parts.len() <= GROUP {
        return parts.join(" + ");
    }
    let groups: Vec<String> = parts.chunks(GROUP).map(|group| format!("({})", group.join(" + "))).collect();
    sum(&groups)
}

/// Writes the expressions of a form.
struct Writer<'a> {
    form: &'a LinearForm,
    dialect: Dialect,
}

impl Writer<'_> {
    fn margin(&self, output: usize) -> String {
        let form = self.form;
        let mut parts = vec![literal(form.intercepts[output])];
        for term in form.terms.iter().filter(|term| term.weights[output] != 0.0) {
            parts.push(format!("{} * {}", literal(term.weights[output]), self.value(&term.value)));
        }
        let is_used = |table: &&LevelTable| {
            let weights = table.levels.iter().map(|(_, weights)| weights).chain([&table.unlisted]);
            weights.chain(&table.missing).any(|weights| weights[output] != 0.0) || table.missing.is_none()
        };
        parts.extend(form.tables.iter().filter(is_used).map(|table| self.table(table, output)));
        let lines: Vec<String> = parts.iter().map(|part| format!("\n      {part}")).collect();
        sum(&lines)
    }

    fn cell(&self, input: usize) -> String {
        format!("t.{}", self.dialect.identifier(&self.form.inputs[input].name))
    }

    fn text(&self, input: usize) -> String {
        format!("TRIM(CAST({} AS {}))", self.cell(input), self.dialect.text_type())
    }

    /// Whether a cell is missing.
    fn is_missing(&self, input: usize) -> String {
        let column = &self.form.inputs[input];
        let cell = self.cell(input);
        let markers: Vec<String> = match column.kind {
            InputKind::Category { .. } => column.markers.iter().map(|text| self.dialect.string(text)).collect(),
            InputKind::Number { .. } => column.numeric_markers().map(literal).collect(),
            InputKind::Date { .. } => Vec::new(),
        };
        let text = if matches!(column.kind, InputKind::Category { .. }) { self.text(input) } else { cell.clone() };
        match markers.is_empty() {
            true => format!("{cell} IS NULL"),
            false => format!("({cell} IS NULL OR {text} IN ({}))", markers.join(", ")),
        }
    }

    /// The value of a cell that is there, or what stands for one that is missing.
    fn or_missing(&self, input: usize, value: &Value, present: &str) -> String {
        let fill = value.when_missing(&self.form.inputs[input]).map_or("NULL".into(), literal);
        format!("CASE WHEN {} THEN {fill} ELSE {present} END", self.is_missing(input))
    }

    fn value(&self, value: &Value) -> String {
        let double = self.dialect.double();
        match value {
            Value::Number(input) => {
                let cell = self.cell(*input);
                match self.form.inputs[*input].kind {
                    InputKind::Date { .. } => self.or_missing(*input, value, &self.dialect.days(&cell)),
                    _ => self.or_missing(*input, value, &format!("CAST({cell} AS {double})")),
                }
            }
            Value::IsMissing(input) => self.or_missing(*input, value, "0e0"),
            Value::Level { input, level, or_unlisted, .. } => {
                let text = self.text(*input);
                let others = self.form.inputs[*input].levels_beside(level);
                let listed: Vec<String> = others.map(|one| self.dialect.string(one)).collect();
                let test = match (*or_unlisted, listed.is_empty()) {
                    (true, true) => "1 = 1".into(),
                    (true, false) => format!("{text} NOT IN ({})", listed.join(", ")),
                    (false, _) => format!("{text} = {}", self.dialect.string(level)),
                };
                self.or_missing(*input, value, &format!("CASE WHEN {test} THEN 1e0 ELSE 0e0 END"))
            }
            Value::DatePart(input, part) => self.or_missing(*input, value, &self.part(*input, *part)),
            Value::DatePartIs(input, part, number) => {
                let test = format!("{} = {number}", self.part(*input, *part));
                self.or_missing(*input, value, &format!("CASE WHEN {test} THEN 1e0 ELSE 0e0 END"))
            }
            Value::Product(pair) => format!("{} * {}", self.value(&pair[0]), self.value(&pair[1])),
        }
    }

    fn part(&self, input: usize, part: DatePart) -> String {
        let cell = self.cell(input);
        let extracted = |name: &str| format!("EXTRACT({name} FROM CAST({cell} AS TIMESTAMP))");
        match part {
            DatePart::Days => self.dialect.days(&cell),
            DatePart::Year => extracted("YEAR"),
            DatePart::Month | DatePart::Months => extracted("MONTH"),
            DatePart::Day => extracted("DAY"),
            DatePart::Hour => extracted("HOUR"),
            DatePart::Weekday | DatePart::Weekdays => {
                // 1970-01-01 was a Thursday.
                let days = format!("(FLOOR({}) + 3e0)", self.dialect.days(&cell));
                format!("({days} - 7e0 * FLOOR({days} / 7e0) + 1e0)")
            }
        }
    }

    fn table(&self, table: &LevelTable, output: usize) -> String {
        let mut text = "CASE".to_string();
        let missing = table.missing.as_ref().map(|weights| weights[output]);
        if missing != Some(table.unlisted[output]) {
            text += &format!(
                "\n        WHEN {} THEN {}",
                self.is_missing(table.input),
                missing.map_or("NULL".into(), literal)
            );
        }
        let cell = self.text(table.input);
        let said = table.levels.iter().filter(|(_, weights)| weights[output] != table.unlisted[output]);
        for (level, weights) in said {
            text +=
                &format!("\n        WHEN {cell} = {} THEN {}", self.dialect.string(level), literal(weights[output]));
        }
        match text.as_str() {
            "CASE" => literal(table.unlisted[output]),
            _ => text + &format!("\n        ELSE {} END", literal(table.unlisted[output])),
        }
    }
}
