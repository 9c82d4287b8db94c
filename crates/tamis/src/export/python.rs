//! A linear model as one Python file that needs nothing but Python.
//!
//! Cells may be numbers, dates or texts as in the table that the model learned from; the file reads them as Tamis does.

use super::linear_form::{Answer, InputKind, LinearForm};
use super::values::Value;
use crate::data::Label;
use crate::parse::date::DateForm;

/// The file of a model.
pub(super) fn write(form: &LinearForm) -> String {
    let mut text = String::from(HEAD);
    text += &inputs(form);
    text += &format!("INTERCEPTS = {}\n", list(&form.intercepts));
    let terms = form
        .terms
        .iter()
        .map(|term| format!("    ({}, lambda row: {}),\n", list(&term.weights), value(form, &term.value)));
    text +=
        &format!("# Weights for each output, and the value of a feature.\nTERMS = [\n{}]\n", terms.collect::<String>());
    text += "# Categories: the weights of levels, of all other levels, and of a missing cell.\nLEVELS = {\n";
    for table in &form.tables {
        let levels =
            table.levels.iter().map(|(level, weights)| format!("        {}: {},\n", string(level), list(weights)));
        let missing = table.missing.as_ref().map_or("None".into(), |weights| list(weights));
        text += &format!(
            "    {}: ({{\n{}    }}, {}, {missing}),\n",
            string(&form.inputs[table.input].name),
            levels.collect::<String>(),
            list(&table.unlisted)
        );
    }
    text += "}\n";
    let classes: Vec<String> = form.answer.classes().iter().map(label).collect();
    if !classes.is_empty() {
        text += &format!("CLASSES = [{}]\n", classes.join(", "));
    }
    text += CELLS;
    text += match form.answer {
        Answer::Number => NUMBER,
        Answer::Exponential => EXPONENTIAL,
        Answer::TwoClasses { .. } => TWO_CLASSES,
        Answer::Classes { .. } => CLASSES,
    };
    if let Answer::TwoClasses { boundary, .. } = form.answer {
        text = text.replace("{boundary}", &format!("{boundary:?}"));
    }
    text += match (&form.answer, form.answer.has_probabilities()) {
        (Answer::TwoClasses { .. }, true) => TWO_PROBABILITIES,
        (Answer::Classes { .. }, true) => PROBABILITIES,
        _ => "",
    };
    text + MAIN
}

/// How the cells of each column are read.
fn inputs(form: &LinearForm) -> String {
    let mut text =
        "# Columns: what means a missing cell, how texts are read, and whether one that cannot be read is missing.\nCOLUMNS = {\n".to_string();
    for input in &form.inputs {
        let numbers = input.numeric_markers().map(|number| format!("{number:?}"));
        let markers: Vec<String> = input.markers.iter().map(|text| string(text)).chain(numbers).collect();
        let markers = if markers.is_empty() { "set()".into() } else { format!("{{{}}}", markers.join(", ")) };
        let how = match &input.kind {
            InputKind::Category { .. } => "None".into(),
            InputKind::Number { form } => {
                let comma = if form.decimal_comma { "True" } else { "False" };
                format!("lambda text: parse_number(text, {}, {comma})", string(&form.unit))
            }
            InputKind::Date { form } => format!("lambda text: parse_date(text, {})", date_formats(*form)),
        };
        let odd = if input.odd_is_missing { "True" } else { "False" };
        text += &format!("    {}: ({markers}, {how}, {odd}),\n", string(&input.name));
    }
    text + "}\n"
}

fn date_formats(form: DateForm) -> &'static str {
    match form {
        DateForm::YearMonthDay | DateForm::Days => "[\"%Y-%m-%d\", \"%Y/%m/%d\", \"%Y.%m.%d\"]",
        DateForm::DayMonthYear => "[\"%d/%m/%Y\", \"%d.%m.%Y\", \"%d-%m-%Y\", \"%d/%m/%y\", \"%Y-%m-%d\"]",
        DateForm::MonthDayYear => "[\"%m/%d/%Y\", \"%m-%d-%Y\", \"%m/%d/%y\", \"%Y-%m-%d\"]",
        DateForm::MonthName => {
            "[\"%d %b %Y\", \"%b %d, %Y\", \"%d-%b-%Y\", \"%d %B %Y\", \"%B %d, %Y\", \"%b %d %Y\", \"%Y-%m-%d\"]"
        }
        DateForm::Digits => "[\"%Y%m%d\", \"%Y-%m-%d\"]",
    }
}

/// The value of a feature as an expression of `row`.
fn value(form: &LinearForm, of: &Value) -> String {
    let name = |input: usize| string(&form.inputs[input].name);
    let fill = |input: usize| of.when_missing(&form.inputs[input]).map_or("NAN".into(), |number| format!("{number:?}"));
    match of {
        Value::Number(input) => format!("number(row, {}, {})", name(*input), fill(*input)),
        Value::IsMissing(input) => format!("float(cell(row, {}) is None)", name(*input)),
        Value::Level { input, level, or_unlisted, .. } => {
            let others = || form.inputs[*input].levels_beside(level).map(|one| string(one)).collect::<Vec<_>>();
            let test = match or_unlisted {
                true => format!("text not in [{}]", others().join(", ")),
                false => format!("text == {}", string(level)),
            };
            format!("level(row, {}, lambda text: {test}, {})", name(*input), fill(*input))
        }
        Value::DatePart(input, part) => {
            format!("date_part(row, {}, \"{}\", {})", name(*input), part.name(), fill(*input))
        }
        Value::DatePartIs(input, part, number) => {
            let part = part.name().trim_end_matches('s');
            format!("float(date_part(row, {}, \"{part}\", -1) == {number})", name(*input))
        }
        Value::Product(pair) => format!("{} * {}", value(form, &pair[0]), value(form, &pair[1])),
    }
}

/// A text as a literal: the escapes of JSON are those of Python.
pub(super) fn string(text: &str) -> String {
    serde_json::to_string(text).expect("text becomes JSON")
}

/// Numbers as a list.
pub(super) fn list(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
    format!("[{}]", numbers.join(", "))
}

/// A class as a literal.
pub(super) fn label(label: &Label) -> String {
    match label {
        Label::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => format!("{number}"),
        Label::Number(number) => format!("{number:?}"),
        other => string(&other.to_string()),
    }
}

const HEAD: &str = r#""""Predicts with a Tamis model. This file needs nothing but Python.

    predict(row)         the predicted class or number of a row: a dictionary of columns and cells
    margins(row)         the score of each output
    probabilities(row)   of models that give them, the probability of each class, in the order of CLASSES

A cell is a number, a text, a date, or None if it is missing. `python3 FILE < table.csv` prints a prediction for each row.
"""

import datetime
import math

NAN = float("nan")
"#;

const CELLS: &str = r#"

def parse_number(text, unit, decimal_comma):
    """The number that a text writes; None if it is none."""
    try:
        if not decimal_comma:
            return float(text.replace("_", "x"))
    except ValueError:
        pass
    negative = text.startswith("(") and text.endswith(")")
    text = text[1:-1] if negative else text
    text = text.replace("\u2212", "-")
    if unit:
        text = text.replace(unit, "", 1).strip()
    for separator in " \u00a0\u202f'\u2019" + ("." if decimal_comma else ","):
        text = text.replace(separator, "")
    try:
        value = float(text.replace(",", ".").replace("_", "x"))
    except ValueError:
        return None
    return -value if negative else value


def parse_date(text, formats):
    """The days since 1970-01-01 that a text writes, in UTC; None if it is no date."""
    try:
        return days(datetime.datetime.fromisoformat(text))
    except ValueError:
        pass
    for date in formats:
        for time in ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M:%S", " %I:%M %p"):
            try:
                return days(datetime.datetime.strptime(text, date + time))
            except ValueError:
                pass
    return None


def days(when):
    """The days since 1970-01-01 of a date or time."""
    if not isinstance(when, datetime.datetime):
        return float(when.toordinal() - 719163)
    offset = when.utcoffset() or datetime.timedelta()
    seconds = when.hour * 3600 + when.minute * 60 + when.second + when.microsecond / 1e6
    return when.toordinal() - 719163 + seconds / 86400 - offset.total_seconds() / 86400


def cell(row, column):
    """The cell of a column: a number, the days of a date, or the text of a category; None if it is missing."""
    found = row.get(column)
    markers, parse, odd_is_missing = COLUMNS[column]
    if found is None or found != found or found in markers:
        return None
    if isinstance(found, datetime.date):
        return days(found)
    if isinstance(found, str):
        text = found.strip()
        if text in markers or text.lower() == "nan" and markers:
            return None
        if parse is None:
            return text
        value = parse(text)
        if value is None and not odd_is_missing:
            raise ValueError(f"column {column!r}: {text!r} cannot be read")
        return None if value is None or value != value else value
    if parse is None:
        return str(int(found)) if isinstance(found, float) and found.is_integer() else str(found)
    return float(found)


def number(row, column, missing):
    value = cell(row, column)
    return missing if value is None else value


def level(row, column, test, missing):
    text = cell(row, column)
    return missing if text is None else float(test(text))


def date_part(row, column, part, missing):
    value = cell(row, column)
    if value is None:
        return missing
    exact = value + 0.0005 / 86400
    day = datetime.date.fromordinal(math.floor(exact) + 719163)
    hour = min(int((exact - math.floor(exact)) * 24), 23)
    return float({"year": day.year, "month": day.month, "day": day.day, "weekday": day.isoweekday(), "hour": hour}[part])


def margins(row):
    """The score of each output; not a number where a missing cell allows no prediction."""
    totals = list(INTERCEPTS)
    for weights, value in TERMS:
        amount = value(row)
        for output, weight in enumerate(weights):
            totals[output] += weight * amount
    for column, (levels, unlisted, missing) in LEVELS.items():
        text = cell(row, column)
        weights = missing if text is None else levels.get(text, unlisted)
        for output in range(len(totals)):
            totals[output] += NAN if weights is None else weights[output]
    return totals
"#;

const NUMBER: &str = r#"

def predict(row):
    """The predicted number of a row."""
    return margins(row)[0]
"#;

const EXPONENTIAL: &str = r#"

def predict(row):
    """The predicted number of a row."""
    return math.exp(margins(row)[0])
"#;

const TWO_CLASSES: &str = r#"

def predict(row):
    """The predicted class of a row; None where a missing cell allows none."""
    (margin,) = margins(row)
    return None if margin != margin else CLASSES[margin > {boundary}]
"#;

const CLASSES: &str = r#"

def predict(row):
    """The predicted class of a row; None where a missing cell allows none."""
    scores = margins(row)
    return None if any(score != score for score in scores) else CLASSES[scores.index(max(scores))]
"#;

const TWO_PROBABILITIES: &str = r#"

def probabilities(row):
    """The probability of each class."""
    (margin,) = margins(row)
    second = 1 / (1 + math.exp(-margin)) if margin > -700 else math.exp(margin)
    return [1 - second, second]
"#;

const PROBABILITIES: &str = r#"

def probabilities(row):
    """The probability of each class: proportional to the root of the logistic function of its score times e to it."""
    logs = [(score - max(-score, 0) - math.log1p(math.exp(-abs(score)))) / 2 for score in margins(row)]
    parts = [math.exp(log - max(logs)) for log in logs]
    return [part / sum(parts) for part in parts]
"#;

const MAIN: &str = r#"

if __name__ == "__main__":
    import csv
    import sys

    for line in csv.DictReader(sys.stdin):
        print(predict(line))
"#;
