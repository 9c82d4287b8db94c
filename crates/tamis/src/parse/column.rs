//! One column of a table: what its cells become.

use super::date::{DateForm, DatePart, WEEKDAYS, calendar};
use super::missing_cells::{Among, is_missing};
use super::number_form::NumberForm;
use super::words::words_and_pairs;
use super::{LONGEST_NAME, LineError, Missing, number, shown};
use crate::data::{Label, RawRows, TextSet};

/// The level that categories of few rows share.
pub const OTHER: &str = "other";

/// A cell as a file stores it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Missing,
    /// A number; of a column of dates, days since 1970-01-01.
    Number(f64),
    /// Text, which may be a number, a date or a marker of missing values.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// Its text, if it is one.
    pub fn text(self) -> Option<&'a str> {
        if let Cell::Text(text) = self { Some(text) } else { None }
    }
}

/// The role of a column, with what is needed to read its cells.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// The label; numbers may have a form.
    Target(NumberForm),
    /// The importance weight.
    Weight,
    /// A number: one feature with the name of the column.
    Numeric(NumberRule),
    /// A category: features with the names `column=value`.
    Category(CategoryRule),
    /// A date: a number of days, and parts.
    Date(DateRule),
    /// Text: features with the names `column:word` and `column:word word`.
    Text,
    /// A list of categories, or of as many numbers in each row: features with the names `column=value` or `column.0`,
    /// `column.1`, … In text, a cell is one category.
    List,
    /// Not used.
    Ignored,
}

/// How the cells of a numeric column are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumberRule {
    /// How numbers are written.
    pub form: NumberForm,
    /// Whether a cell that is not a number is missing; otherwise it is an error.
    pub odd_is_missing: bool,
    /// What stands for a missing cell.
    pub mean: Option<f64>,
}

/// How the cells of a column of categories are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CategoryRule {
    /// The levels with a feature of their own; the others share one. `None` if every level has its own.
    pub levels: Option<TextSet<Box<str>>>,
}

/// How the cells of a column of dates are read.
#[derive(Clone, Debug, PartialEq)]
pub struct DateRule {
    /// How dates are written.
    pub form: DateForm,
    /// The features to make.
    pub parts: Vec<DatePart>,
    /// Whether a cell that is not a date is missing; otherwise it is an error.
    pub odd_is_missing: bool,
    /// What stands for a missing cell, in days.
    pub mean: Option<f64>,
}

/// What becomes of missing cells, in all columns of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissingCells {
    /// The rule.
    pub rule: Missing,
    /// Texts that stand for a missing value, beside the usual ones.
    pub markers: Vec<String>,
}

/// Whether the row goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Yes,
    SkipRow,
}

impl Role {
    /// Adds the features of a cell to the current row.
    pub(crate) fn push(
        &self,
        name: &str,
        cell: Cell<'_>,
        missing: &MissingCells,
        rows: &mut RawRows,
    ) -> Result<Pushed, LineError> {
        match (self, cell) {
            (Role::Target(_) | Role::Weight | Role::Ignored, _) => Ok(Pushed::Yes),
            (Role::List, cell) => Role::Category(CategoryRule::default()).push(name, cell, missing, rows),
            (Role::Numeric(rule), Cell::Number(value)) => push_number(rule, name, value, missing, rows),
            (Role::Numeric(rule), Cell::Text(text)) => {
                let text = text.trim();
                match rule.form.parse(text) {
                    Some(value) if value.is_nan() || missing.markers.iter().any(|one| one == text) => {
                        push_missing(name, Fill::Mean(rule.mean), missing, rows)
                    }
                    Some(value) => push_number(rule, name, value, missing, rows),
                    None if rule.odd_is_missing || is_missing(text, Among::Numbers, &missing.markers) => {
                        push_missing(name, Fill::Mean(rule.mean), missing, rows)
                    }
                    None => Err(LineError::NotNumeric { column: name.into(), found: shown(text.as_bytes()) }),
                }
            }
            (Role::Numeric(rule), Cell::Missing) => push_missing(name, Fill::Mean(rule.mean), missing, rows),
            (Role::Category(rule), Cell::Text(text)) => {
                let text = text.trim();
                if is_missing(text, Among::Categories, &missing.markers) {
                    return push_missing(name, Fill::Nothing, missing, rows);
                }
                if text.len() > LONGEST_NAME {
                    return Err(LineError::LongName { length: text.len() });
                }
                let is_own = rule.levels.as_ref().is_none_or(|levels| levels.contains(text));
                rows.push_name(&[name, "=", if is_own { text } else { OTHER }], 1.0);
                Ok(Pushed::Yes)
            }
            (Role::Category(_), Cell::Number(value)) => self.push(name, Cell::Text(&value.to_string()), missing, rows),
            (Role::Date(rule), Cell::Number(days)) => push_date(rule, name, days, rows),
            (Role::Date(rule), Cell::Text(text)) => {
                let text = text.trim();
                let days = rule.form.parse(text).or_else(|| DateForm::YearMonthDay.parse(text));
                match days.filter(|_| !missing.markers.iter().any(|one| one == text)) {
                    Some(days) => push_date(rule, name, days, rows),
                    None if rule.odd_is_missing || is_missing(text, Among::Numbers, &missing.markers) => {
                        push_missing_date(rule, name, missing, rows)
                    }
                    None => Err(LineError::NotADate { column: name.into(), found: shown(text.as_bytes()) }),
                }
            }
            (Role::Date(rule), Cell::Missing) => push_missing_date(rule, name, missing, rows),
            (Role::Text, Cell::Text(text)) => {
                let words = words_and_pairs(text);
                words.iter().for_each(|word| rows.push_name(&[name, ":", word], 1.0));
                Ok(Pushed::Yes)
            }
            (Role::Text, Cell::Number(value)) => {
                rows.push_name(&[name, ":", &value.to_string()], 1.0);
                Ok(Pushed::Yes)
            }
            // A text without words says nothing either.
            (Role::Text, Cell::Missing) => Ok(Pushed::Yes),
            (Role::Category(_), Cell::Missing) => push_missing(name, Fill::Nothing, missing, rows),
        }
    }

    /// The label of a cell; `None` if it is missing.
    pub(crate) fn label(&self, cell: Cell<'_>, missing: &MissingCells) -> Result<Option<Label>, LineError> {
        let Role::Target(form) = self else { return Ok(None) };
        match cell {
            Cell::Missing => Ok(None),
            Cell::Number(value) if value.is_finite() => Ok(Some(Label::Number(value))),
            Cell::Number(value) => Err(LineError::NotFinite { what: "label", found: value.to_string() }),
            Cell::Text(text) => {
                let text = text.trim();
                if is_missing(text, Among::Labels, &missing.markers) {
                    return Ok(None);
                }
                let plain = *form == NumberForm::default();
                let number = if plain { None } else { form.parse(text).filter(|value| value.is_finite()) };
                let label = number.map(Label::Number).or_else(|| Label::parse(text));
                label.map(Some).ok_or_else(|| LineError::NotFinite { what: "label", found: shown(text.as_bytes()) })
            }
        }
    }
}

fn push_number(
    rule: &NumberRule,
    name: &str,
    value: f64,
    missing: &MissingCells,
    rows: &mut RawRows,
) -> Result<Pushed, LineError> {
    if value.is_finite() {
        rows.push_name(&[name], value);
        return Ok(Pushed::Yes);
    }
    match value.is_nan() {
        true => push_missing(name, Fill::Mean(rule.mean), missing, rows),
        false => Err(LineError::NotFinite { what: "cell", found: value.to_string() }),
    }
}

/// What stands for a missing cell of a column.
enum Fill {
    /// The mean, if it is known.
    Mean(Option<f64>),
    /// No level.
    Nothing,
}

fn push_missing(name: &str, fill: Fill, missing: &MissingCells, rows: &mut RawRows) -> Result<Pushed, LineError> {
    let empty = || LineError::Empty { column: name.into() };
    match missing.rule {
        Missing::Error => return Err(empty()),
        Missing::SkipRow => return Ok(Pushed::SkipRow),
        Missing::Zero => return Ok(Pushed::Yes),
        Missing::Auto | Missing::Mean | Missing::Indicator => {}
    }
    if let Fill::Mean(mean) = fill {
        rows.push_name(&[name], mean.ok_or_else(empty)?);
    }
    if missing.rule == Missing::Indicator {
        rows.push_name(&[name, "=missing"], 1.0);
    }
    Ok(Pushed::Yes)
}

fn push_missing_date(
    rule: &DateRule,
    name: &str,
    missing: &MissingCells,
    rows: &mut RawRows,
) -> Result<Pushed, LineError> {
    let fill = if rule.parts.contains(&DatePart::Days) { Fill::Mean(rule.mean) } else { Fill::Nothing };
    let is_filled = matches!(missing.rule, Missing::Auto | Missing::Mean | Missing::Indicator);
    if let (true, Some(mean)) = (is_filled, rule.mean) {
        // The middle of their ranges stands for the means of the parts.
        for part in &rule.parts {
            match part {
                DatePart::Year => rows.push_name(&[name, ".year"], calendar(mean).0 as f64),
                DatePart::Month => rows.push_name(&[name, ".month"], 6.5),
                DatePart::Day => rows.push_name(&[name, ".day"], 15.5),
                DatePart::Weekday => rows.push_name(&[name, ".weekday"], 4.0),
                DatePart::Hour => rows.push_name(&[name, ".hour"], 11.5),
                DatePart::Days | DatePart::Months | DatePart::Weekdays => {}
            }
        }
    }
    push_missing(name, fill, missing, rows)
}

fn push_date(rule: &DateRule, name: &str, days: f64, rows: &mut RawRows) -> Result<Pushed, LineError> {
    if !days.is_finite() {
        return Err(LineError::NotFinite { what: "cell", found: days.to_string() });
    }
    let (year, month, day, weekday, hour) = calendar(days);
    for part in &rule.parts {
        match part {
            DatePart::Days => rows.push_name(&[name], days),
            DatePart::Year => rows.push_name(&[name, ".year"], year as f64),
            DatePart::Month => rows.push_name(&[name, ".month"], f64::from(month)),
            DatePart::Months => rows.push_name(&[name, ".month=", &month.to_string()], 1.0),
            DatePart::Day => rows.push_name(&[name, ".day"], f64::from(day)),
            DatePart::Weekday => rows.push_name(&[name, ".weekday"], f64::from(weekday + 1)),
            DatePart::Weekdays => rows.push_name(&[name, ".weekday=", WEEKDAYS[weekday as usize]], 1.0),
            DatePart::Hour => rows.push_name(&[name, ".hour"], f64::from(hour)),
        }
    }
    Ok(Pushed::Yes)
}

/// The importance weight of a cell.
pub(crate) fn weight(cell: Cell<'_>) -> Result<f64, LineError> {
    let (value, found) = match cell {
        Cell::Number(value) => (Some(value), value.to_string()),
        Cell::Text(text) => (number::whole(text.trim().as_bytes()), shown(text.trim().as_bytes())),
        Cell::Missing => (None, "null".to_string()),
    };
    value.filter(|value| value.is_finite() && *value >= 0.0).ok_or(LineError::BadWeight { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(role: &Role, cell: Cell<'_>, rule: Missing) -> Result<Vec<String>, String> {
        let missing = MissingCells { rule, markers: vec!["-999".into()] };
        let mut rows = RawRows::by_name();
        let outcome = role.push("c", cell, &missing, &mut rows).map_err(|error| error.to_string())?;
        rows.end_row(Label::Absent, 1.0, 0);
        assert_eq!(outcome == Pushed::SkipRow, rule == Missing::SkipRow);
        Ok(rows.entries(0).map(|(key, value)| format!("{key:?} {value}")).collect())
    }

    #[test]
    fn a_missing_number_is_what_the_rule_says() {
        let role = Role::Numeric(NumberRule { mean: Some(2.5), ..NumberRule::default() });
        for cell in [Cell::Missing, Cell::Number(f64::NAN), Cell::Text("?"), Cell::Text(" - "), Cell::Text("-999")] {
            assert_eq!(pushed(&role, cell, Missing::Auto).unwrap(), ["Name(\"c\") 2.5"], "{cell:?}");
            let both = ["Name(\"c\") 2.5", "Name(\"c=missing\") 1"];
            assert_eq!(pushed(&role, cell, Missing::Indicator).unwrap(), both);
            assert!(pushed(&role, cell, Missing::Zero).unwrap().is_empty());
            assert!(pushed(&role, cell, Missing::Error).unwrap_err().contains("is empty"));
            pushed(&role, cell, Missing::SkipRow).unwrap();
        }
    }

    #[test]
    fn an_odd_cell_is_an_error_unless_the_column_had_some() {
        let mut rule = NumberRule { mean: Some(1.0), ..NumberRule::default() };
        let strict = pushed(&Role::Numeric(rule.clone()), Cell::Text("red"), Missing::Auto).unwrap_err();
        assert!(
            strict.starts_with("column \"c\": \"red\" is not a number") && strict.contains("`na = red`"),
            "{strict}"
        );
        rule.odd_is_missing = true;
        assert_eq!(pushed(&Role::Numeric(rule), Cell::Text("red"), Missing::Auto).unwrap(), ["Name(\"c\") 1"]);
    }

    #[test]
    fn dates_become_a_number_and_parts() {
        let rule = |parts: &[DatePart]| {
            let (form, mean) = (DateForm::YearMonthDay, Some(3.0));
            Role::Date(DateRule { form, parts: parts.to_vec(), odd_is_missing: false, mean })
        };
        let all = pushed(&rule(&DatePart::ALL), Cell::Text("2023-01-31 14:30"), Missing::Auto).unwrap();
        let days = 19_388.0 + 14.5 / 24.0;
        let names = ["", ".year", ".month", ".day", ".weekday", ".hour", ".month=1", ".weekday=Tuesday"];
        let values = [days, 2023.0, 1.0, 31.0, 2.0, 14.0, 1.0, 1.0];
        assert_eq!(all, std::array::from_fn::<String, 8, _>(|i| format!("Name(\"c{}\") {}", names[i], values[i])));
        assert_eq!(pushed(&rule(&[DatePart::Days]), Cell::Number(5.0), Missing::Auto).unwrap(), ["Name(\"c\") 5"]);
        let usual = pushed(&rule(&DatePart::USUAL), Cell::Missing, Missing::Auto).unwrap();
        assert_eq!(usual, ["Name(\"c.month\") 6.5", "Name(\"c.weekday\") 4", "Name(\"c\") 3"]);
        assert!(pushed(&rule(&DatePart::USUAL), Cell::Missing, Missing::Zero).unwrap().is_empty());
        assert!(pushed(&rule(&DatePart::USUAL), Cell::Text("soon"), Missing::Auto).unwrap_err().contains("not a date"));
    }

    #[test]
    fn levels_of_few_rows_share_a_feature() {
        let levels = Some(["red".into()].into_iter().collect());
        let role = Role::Category(CategoryRule { levels });
        assert_eq!(pushed(&role, Cell::Text("red "), Missing::Auto).unwrap(), ["Name(\"c=red\") 1"]);
        assert_eq!(pushed(&role, Cell::Text("mauve"), Missing::Auto).unwrap(), ["Name(\"c=other\") 1"]);
        assert!(pushed(&role, Cell::Text("?"), Missing::Auto).unwrap().is_empty());
        assert_eq!(pushed(&role, Cell::Missing, Missing::Indicator).unwrap(), ["Name(\"c=missing\") 1"]);
    }

    #[test]
    fn text_becomes_words() {
        let found = pushed(&Role::Text, Cell::Text("Not bad"), Missing::Auto).unwrap();
        assert_eq!(found, ["Name(\"c:bad\") 1", "Name(\"c:not\") 1", "Name(\"c:not bad\") 1"]);
    }
}
