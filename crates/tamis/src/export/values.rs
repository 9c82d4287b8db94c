//! The value of a feature, as a function of the cells of a row.

use super::linear_form::{Input, InputKind};
use super::{ExportError, Target};
use crate::model::Model;
use crate::parse::Missing;
use crate::parse::column::OTHER;
use crate::parse::date::{DatePart, WEEKDAYS, calendar};
use crate::parse::schema::ModelSchema;

/// The value of a feature. Inputs are given by their place in [`super::LinearForm::inputs`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The number of a cell, or the days of a date.
    Number(usize),
    /// 1 if the cell is this level.
    #[allow(missing_docs, reason = "the comments say what the fields are")]
    Level {
        input: usize,
        level: String,
        /// Also 1 for every level without a feature of its own.
        or_unlisted: bool,
        /// Also 1 for a missing cell.
        or_missing: bool,
    },
    /// 1 if the cell of a number or date is missing.
    IsMissing(usize),
    /// A part of a date, as a number.
    DatePart(usize, DatePart),
    /// 1 if a part of a date (months or weekdays, from 1) is this number.
    DatePartIs(usize, DatePart, u32),
    /// The product of two values.
    Product(Box<[Value; 2]>),
}

impl Value {
    /// What it is where the cell is missing: `None` if there is no prediction then. Products ask their factors.
    pub fn when_missing(&self, input: &Input) -> Option<f64> {
        match self {
            Value::Level { or_missing, .. } => input.missing.fill().map(|_| f64::from(u8::from(*or_missing))),
            Value::IsMissing(_) => input.missing.fill().map(|_| 1.0),
            Value::DatePartIs(..) => input.missing.fill().map(|_| 0.0),
            Value::DatePart(_, part) => {
                let days = input.missing.fill()?;
                // The means of the parts are those that reading a table takes.
                Some(match part {
                    _ if input.missing.is_zero() => 0.0,
                    DatePart::Year => calendar(days).0 as f64,
                    DatePart::Month => 6.5,
                    DatePart::Day => 15.5,
                    DatePart::Weekday => 4.0,
                    DatePart::Hour => 11.5,
                    DatePart::Days | DatePart::Months | DatePart::Weekdays => days,
                })
            }
            Value::Number(_) | Value::Product(_) => input.missing.fill(),
        }
    }

    /// The inputs that it depends on.
    pub fn inputs(&self) -> Vec<usize> {
        match self {
            Value::Number(input)
            | Value::Level { input, .. }
            | Value::IsMissing(input)
            | Value::DatePart(input, _)
            | Value::DatePartIs(input, ..) => vec![*input],
            Value::Product(pair) => pair.iter().flat_map(Value::inputs).collect(),
        }
    }
}

/// Finds inputs and values of features by their names.
pub(super) struct Resolver<'a> {
    schema: Option<&'a ModelSchema>,
    target: Target,
    pub inputs: Vec<Input>,
}

impl<'a> Resolver<'a> {
    pub fn new(model: &'a Model, target: Target) -> Self {
        Resolver { schema: model.columns.as_ref(), target, inputs: Vec::new() }
    }

    /// The value of a feature that is no product.
    pub fn value(&mut self, feature: &str) -> Result<Value, ExportError> {
        match self.schema {
            Some(schema) => self.of_schema(schema, feature),
            None => Ok(Value::Number(self.input(Input::sparse(feature)))),
        }
    }

    /// The input of a column; it is added if it is new.
    fn input(&mut self, input: Input) -> usize {
        self.inputs.iter().position(|known| known.name == input.name).unwrap_or_else(|| {
            self.inputs.push(input);
            self.inputs.len() - 1
        })
    }

    fn of_schema(&mut self, schema: &ModelSchema, feature: &str) -> Result<Value, ExportError> {
        let no_column = || ExportError::NoColumn { feature: feature.into() };
        let column = schema.column_of(feature).ok_or_else(no_column)?;
        let (input, rest) = (Input::of_column(schema, column), &feature[column.len()..]);
        let kind = input.as_ref().map(|input| input.kind.clone());
        let Some(input) = input else {
            return Err(ExportError::Feature {
                feature: feature.into(),
                what: "a word of a text or an element of a list",
                target: self.target.name(),
                instead: "export SQL in long form, whose rows are features",
            });
        };
        let input = self.input(input);
        match (kind.expect("an input has a kind"), rest) {
            (InputKind::Category { levels }, rest) => {
                let level = rest.strip_prefix('=').ok_or_else(no_column)?.to_string();
                let or_unlisted = levels.is_some() && level == OTHER;
                let or_missing = schema.missing == Missing::Indicator && level == "missing";
                Ok(Value::Level { input, level, or_unlisted, or_missing })
            }
            (_, "") => Ok(Value::Number(input)),
            (_, "=missing") => Ok(Value::IsMissing(input)),
            (InputKind::Date { .. }, rest) => date_value(input, rest).ok_or_else(no_column),
            (InputKind::Number { .. }, _) => Err(no_column()),
        }
    }
}

/// The part of a date that the end of a feature's name says.
fn date_value(input: usize, rest: &str) -> Option<Value> {
    let rest = rest.strip_prefix('.')?;
    if let Some(month) = rest.strip_prefix("month=") {
        return Some(Value::DatePartIs(input, DatePart::Months, month.parse().ok()?));
    }
    if let Some(day) = rest.strip_prefix("weekday=") {
        let day = WEEKDAYS.iter().position(|one| *one == day)?;
        return Some(Value::DatePartIs(input, DatePart::Weekdays, day as u32 + 1));
    }
    let part = DatePart::ALL.into_iter().find(|part| part.name() == rest)?;
    Some(Value::DatePart(input, part))
}
