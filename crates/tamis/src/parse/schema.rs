//! What each column of a table is: target, weight, number, category, or nothing.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Missing;
use crate::param::names;

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The label.
    Target,
    /// The importance weight.
    Weight,
    /// A number: one feature called by the column.
    Numeric,
    /// A category: features called `column=value`.
    Category,
    /// Not used.
    Ignored,
}

/// Schema of a table with their roles, in the table's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The names.
    pub names: Vec<String>,
    /// The role of each.
    pub roles: Vec<Role>,
}

/// What a user, or the model, says about columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaOptions {
    /// The label's column.
    pub target: Option<String>,
    /// The importance weight's column.
    pub weight: Option<String>,
    /// Schema not to be used.
    pub ignore: Vec<String>,
    /// Schema that hold categories even if they look like numbers.
    pub categorical: Vec<String>,
    /// What the model learned from, when predicting.
    pub known: Option<ModelSchema>,
    /// Whether rows must have a label.
    pub needs_target: bool,
    /// What to do about missing values.
    pub missing: Missing,
}

/// Roles that a model keeps, so that new data is read as the old was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSchema {
    /// The label's column.
    pub target: Option<String>,
    /// The importance weight's column.
    pub weight: Option<String>,
    /// Schema of numbers.
    pub numeric: Vec<String>,
    /// Schema of categories.
    pub categorical: Vec<String>,
}

/// A column that is not there, or is there twice.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum SchemaError {
    #[error("no column {name:?}; the columns are {columns}")]
    Unknown { name: String, columns: String },
    #[error("no column is known to be the label: name it with {}; the columns are {columns}", names::TARGET)]
    NoTarget { columns: String },
    #[error("the column {name:?} occurs twice in the header")]
    Twice { name: String },
}

const USUAL_TARGETS: [&str; 4] = ["y", "label", "target", "class"];

impl Schema {
    /// Decides every column's role. `is_numeric` tells how a column looks.
    pub fn resolve(
        names: Vec<String>,
        is_numeric: impl Fn(usize) -> bool,
        options: &SchemaOptions,
    ) -> Result<Schema, SchemaError> {
        let mut met = std::collections::BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !met.insert(name.as_str())) {
            return Err(SchemaError::Twice { name: name.clone() });
        }
        let named = [&options.ignore, &options.categorical].into_iter().flatten();
        if let Some(name) = named.chain(&options.weight).find(|name| !names.contains(name)) {
            return Err(SchemaError::Unknown { name: name.clone(), columns: list(&names) });
        }
        let target = find_target(&names, options)?;
        let known = options.known.clone().unwrap_or_default();
        let weight = options.weight.as_ref().or(known.weight.as_ref());
        let role = |at: usize, name: &String| {
            if Some(name) == target.as_ref() {
                Role::Target
            } else if Some(name) == weight {
                Role::Weight
            } else if options.ignore.contains(name) {
                Role::Ignored
            } else if options.categorical.contains(name) || known.categorical.contains(name) {
                Role::Category
            } else if known.numeric.contains(name) || is_numeric(at) {
                Role::Numeric
            } else {
                Role::Category
            }
        };
        let roles = names.iter().enumerate().map(|(at, name)| role(at, name)).collect();
        Ok(Schema { names, roles })
    }

    /// What a model keeps of this.
    pub fn known(&self) -> ModelSchema {
        let with = |role| {
            let pairs = self.names.iter().zip(&self.roles);
            pairs.filter(|(_, r)| **r == role).map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        ModelSchema {
            target: with(Role::Target).pop(),
            weight: with(Role::Weight).pop(),
            numeric: with(Role::Numeric),
            categorical: with(Role::Category),
        }
    }
}

fn find_target(names: &[String], options: &SchemaOptions) -> Result<Option<String>, SchemaError> {
    if let Some(name) = &options.target {
        let found = names.contains(name);
        return match found {
            true => Ok(Some(name.clone())),
            false => Err(SchemaError::Unknown { name: name.clone(), columns: list(names) }),
        };
    }
    let known = options.known.as_ref().and_then(|known| known.target.clone());
    if let Some(name) = known.filter(|name| names.contains(name)) {
        return Ok(Some(name));
    }
    let usual = names.iter().find(|name| USUAL_TARGETS.contains(&name.to_lowercase().as_str()));
    match usual {
        Some(name) if options.known.is_none() || options.needs_target => Ok(Some(name.clone())),
        None if options.needs_target => Err(SchemaError::NoTarget { columns: list(names) }),
        _ => Ok(None),
    }
}

fn list(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(20).map(|name| format!("{name:?}")).collect();
    let more = if names.len() > 20 { format!(" and {} more", names.len() - 20) } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn roles_from_looks_and_words() {
        let options = SchemaOptions {
            ignore: names(&["id"]),
            categorical: names(&["zip"]),
            weight: Some("w".into()),
            needs_target: true,
            ..Default::default()
        };
        let columns =
            Schema::resolve(names(&["id", "age", "zip", "town", "w", "Class"]), |at| at != 3, &options).unwrap();
        use Role::*;
        assert_eq!(columns.roles, [Ignored, Numeric, Category, Category, Weight, Target]);
        let known = columns.known();
        assert_eq!(known.categorical, ["zip", "town"]);
        let again = SchemaOptions { known: Some(known), ..Default::default() };
        let new = Schema::resolve(names(&["zip", "age"]), |_| true, &again).unwrap();
        assert_eq!(new.roles, [Category, Numeric], "the model remembers that zip is a category");
    }

    #[test]
    fn complaints_list_the_columns() {
        let missing = SchemaOptions { needs_target: true, ..Default::default() };
        let text = Schema::resolve(names(&["a", "b"]), |_| true, &missing).unwrap_err().to_string();
        assert_eq!(text, "no column is known to be the label: name it with `target`; the columns are \"a\", \"b\"");
        let wrong = SchemaOptions { target: Some("c".into()), ..Default::default() };
        let text = Schema::resolve(names(&["a", "b"]), |_| true, &wrong).unwrap_err().to_string();
        assert_eq!(text, "no column \"c\"; the columns are \"a\", \"b\"");
        let twice = Schema::resolve(names(&["a", "b", "a"]), |_| true, &missing).unwrap_err();
        assert_eq!(twice.to_string(), "the column \"a\" occurs twice in the header");
    }
}
