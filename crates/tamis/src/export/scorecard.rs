//! A linear model as a scorecard: points for each condition, and a sentence that says what they mean.
//!
//! The score of a row is the base and the sum of points times values. For log-odds m it is offset + factor·m with factor =
//! (points that double the odds) / ln 2 and offset = base points − factor·ln(base odds): a row of the base odds has the base
//! points. Other margins are their own points.

use super::ExportError;
use super::linear_form::{Input, InputKind, LinearForm};
use super::values::Value;

/// How log-odds become points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points {
    /// Points that double the odds.
    pub double_odds: f64,
    /// The points of the base odds.
    pub base_points: f64,
    /// The base odds.
    pub base_odds: f64,
}

impl Default for Points {
    fn default() -> Self {
        Points { double_odds: 20.0, base_points: 600.0, base_odds: 50.0 }
    }
}

impl Points {
    fn check(&self) -> Result<(), ExportError> {
        let positive = |what: &'static str, found: f64| match found.is_finite() && found > 0.0 {
            true => Ok(()),
            false => Err(ExportError::Number { what, expected: "a number above 0", found }),
        };
        positive("the points to double the odds", self.double_odds)?;
        positive("the base odds", self.base_odds)?;
        match self.base_points.is_finite() {
            true => Ok(()),
            false => {
                Err(ExportError::Number { what: "the base points", expected: "a number", found: self.base_points })
            }
        }
    }

    /// Points for each unit of log-odds, and those of log-odds 0.
    pub fn factor_and_offset(&self) -> (f64, f64) {
        let factor = self.double_odds / std::f64::consts::LN_2;
        (factor, self.base_points - factor * self.base_odds.ln())
    }
}

/// A scorecard.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorecard {
    /// Its rows, output by output, the base first.
    pub rows: Vec<ScorecardRow>,
    /// How log-odds became points; `None` where margins are no log-odds.
    pub points: Option<Points>,
    /// The class whose odds rise with the score, for two classes.
    pub towards: Option<String>,
}

/// A row of a scorecard.
#[derive(Clone, Debug, PartialEq)]
pub struct ScorecardRow {
    /// The class that is scored, where there are more than two.
    pub class: Option<String>,
    /// The column, or columns; empty for the base.
    pub column: String,
    /// When the points count, and how often.
    pub condition: String,
    /// The points.
    pub points: f64,
    /// What stands for a missing number.
    pub if_missing: Option<f64>,
    /// What the points mean, as a sentence.
    pub reason: String,
}

impl Scorecard {
    /// The scorecard of a form.
    pub fn new(form: &LinearForm, points: Points) -> Result<Self, ExportError> {
        points.check()?;
        let points = form.answer.has_probabilities().then_some(points);
        let (factor, offset) = points.map_or((1.0, 0.0), |points| points.factor_and_offset());
        let classes = form.answer.classes();
        let several = form.intercepts.len() > 1;
        let mut rows = Vec::new();
        for (output, intercept) in form.intercepts.iter().enumerate() {
            let class = classes.get(output).filter(|_| several).map(ToString::to_string);
            let base = ("".into(), "base".into(), offset + factor * intercept, None);
            let listed = std::iter::once(base).chain(
                conditions(form, output)
                    .into_iter()
                    .map(|(column, condition, weight, if_missing)| (column, condition, factor * weight, if_missing)),
            );
            rows.extend(listed.map(|(column, condition, points, if_missing): Line| {
                let reason = reason(&column, &condition, points);
                ScorecardRow { class: class.clone(), column, condition, points, if_missing, reason }
            }));
        }
        let towards = classes.get(1).filter(|_| !several).map(ToString::to_string);
        Ok(Scorecard { rows, points, towards })
    }

    /// The scorecard as CSV, points with all digits.
    pub fn csv(&self) -> String {
        let mut text = String::from("class,column,condition,points,if_missing,reason\n");
        for row in &self.rows {
            let cells = [
                row.class.clone().unwrap_or_default(),
                row.column.clone(),
                row.condition.clone(),
                row.points.to_string(),
                row.if_missing.map(|number| number.to_string()).unwrap_or_default(),
                row.reason.clone(),
            ];
            let cells: Vec<String> = cells.into_iter().map(|cell| quoted(&no_formula(cell))).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }
}

/// A cell that a spreadsheet shows and does not compute: text that begins like a formula gets an apostrophe. Names come
/// from data, and `=cmd|…` could start a program. Numbers stay as they are.
pub fn no_formula(cell: String) -> String {
    let begins_one = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if begins_one && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.into(),
    }
}

/// Column, condition, weight, and what stands for a missing number.
type Line = (String, String, f64, Option<f64>);

/// The conditions of an output with their weights.
fn conditions(form: &LinearForm, output: usize) -> Vec<Line> {
    let name = |input: usize| form.inputs[input].name.clone();
    let mut found: Vec<Line> = Vec::new();
    for term in form.terms.iter().filter(|term| term.weights[output] != 0.0) {
        let columns: Vec<String> = term.value.inputs().into_iter().map(name).collect();
        let fill = match term.value.inputs()[..] {
            [input] => term.value.when_missing(&form.inputs[input]).filter(|_| form.inputs[input].markers.len() > 1),
            _ => None,
        };
        found.push((columns.join(" × "), condition(form, &term.value), term.weights[output], fill));
    }
    for table in &form.tables {
        let column = name(table.input);
        let levels = table.levels.iter().filter(|(_, weights)| weights[output] != 0.0);
        found.extend(levels.map(|(level, weights)| (column.clone(), format!("is {level}"), weights[output], None)));
        if table.unlisted[output] != 0.0 {
            let (condition, weight) = ("is a level that is not listed".into(), table.unlisted[output]);
            found.push((column.clone(), condition, weight, None));
        }
        if let Some(weight) = table.missing.as_ref().map(|weights| weights[output]).filter(|weight| *weight != 0.0) {
            found.push((column.clone(), "is missing".into(), weight, None));
        }
    }
    found
}

fn condition(form: &LinearForm, value: &Value) -> String {
    let is_date = |input: &Input| matches!(input.kind, InputKind::Date { .. });
    match value {
        Value::Number(input) if is_date(&form.inputs[*input]) => "each day since 1970-01-01".into(),
        Value::Number(_) => "each unit".into(),
        Value::Level { level, or_unlisted: false, .. } => format!("is {level}"),
        Value::Level { .. } => "is a level that is not listed".into(),
        Value::IsMissing(_) => "is missing".into(),
        Value::DatePart(_, part) => format!("each unit of its {}", part.name()),
        Value::DatePartIs(_, part, number) => format!("its {} is {number}", part.name().trim_end_matches('s')),
        Value::Product(pair) => format!("{} × {}", condition(form, &pair[0]), condition(form, &pair[1])),
    }
}

fn reason(column: &str, condition: &str, points: f64) -> String {
    let size = format!("{:.2}", points.abs());
    let size = size.trim_end_matches('0').trim_end_matches('.');
    let verb = if points < 0.0 { "takes" } else { "adds" };
    let noun = if size == "1" { "point" } else { "points" };
    match (column, condition) {
        ("", _) => format!("every row starts with {points:.2} points"),
        (_, condition) if condition.starts_with("each") => format!("{condition} of {column} {verb} {size} {noun}"),
        (_, condition) => format!("{column} {condition}: {verb} {size} {noun}"),
    }
}
