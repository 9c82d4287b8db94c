//! The schema of a table: the role of each column (target, weight, number, category or ignored).

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Missing;
use crate::param::names;

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The label.
    Target,
    /// The importance weight.
    Weight,
    /// A number: one feature with the name of the column.
    Numeric,
    /// A category: features with the names `column=value`.
    Category,
    /// Not used.
    Ignored,
}

/// The columns of a table with their roles, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The names.
    pub names: Vec<String>,
    /// The role of each.
    pub roles: Vec<Role>,
    /// The column whose text identifies a row, whatever its role.
    pub id: Option<usize>,
}

/// The roles of columns that the user or the model gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaOptions {
    /// The label's column.
    pub target: Option<String>,
    /// The importance weight's column.
    pub weight: Option<String>,
    /// Columns to ignore.
    pub ignore: Vec<String>,
    /// Columns of categories, even if they look like numbers.
    pub categorical: Vec<String>,
    /// The column whose text identifies a row. It is no feature unless the model knows it as one.
    pub id: Option<String>,
    /// The schema of the model, when predicting.
    pub known: Option<ModelSchema>,
    /// Columns that the model uses: a table without one of them is refused.
    pub required: Vec<String>,
    /// Whether rows must have a label.
    pub needs_target: bool,
    /// What to do about missing values.
    pub missing: Missing,
}

/// The schema that a model stores, so that new data is read as the training data was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSchema {
    /// The label's column.
    pub target: Option<String>,
    /// The importance weight's column.
    pub weight: Option<String>,
    /// Columns of numbers.
    pub numeric: Vec<String>,
    /// Columns of categories.
    pub categorical: Vec<String>,
}

/// A missing or repeated column.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum SchemaError {
    #[error("no column {name:?}; the columns are {columns}")]
    Unknown { name: String, columns: String },
    #[error("no column is known to be the label: name it with {}; the columns are {columns}", names::TARGET)]
    NoTarget { columns: String },
    #[error(
        "there is no column {name:?}, which was the label: name another with {}; the columns are {columns}",
        names::TARGET
    )]
    NoKnownTarget { name: String, columns: String },
    #[error(
        "the model uses {missing}, which this table does not have{hint}; the columns are {columns}. With {} they count as zero",
        names::MISSING_COLUMNS.with("zero")
    )]
    MissingColumns { missing: String, hint: String, columns: String },
    #[error("the column {name:?} occurs twice in the header")]
    Twice { name: String },
}

const USUAL_TARGETS: [&str; 4] = ["y", "label", "target", "class"];

impl Schema {
    /// Decides the role of every column. `is_numeric` says whether a column holds numbers.
    pub fn resolve(
        names: Vec<String>,
        is_numeric: impl Fn(usize) -> bool,
        options: &SchemaOptions,
    ) -> Result<Schema, SchemaError> {
        let mut met = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !met.insert(name.as_str())) {
            return Err(SchemaError::Twice { name: name.clone() });
        }
        let named = [&options.ignore, &options.categorical].into_iter().flatten();
        if let Some(name) = named.chain(&options.weight).chain(&options.id).find(|name| !met.contains(name.as_str())) {
            return Err(SchemaError::Unknown { name: name.clone(), columns: list(&names) });
        }
        check_required(&names, &met, &options.required)?;
        let target = find_target(&names, options)?;
        let known = options.known.clone().unwrap_or_default();
        let weight = options.weight.as_ref().or(known.weight.as_ref());
        let set = |names: &[String]| names.iter().cloned().collect::<HashSet<String>>();
        let (ignored, categorical, numeric) = (set(&options.ignore), set(&known.categorical), set(&known.numeric));
        let role = |at: usize, name: &String| {
            if Some(name) == target.as_ref() {
                Role::Target
            } else if Some(name) == weight {
                Role::Weight
            } else if ignored.contains(name) {
                Role::Ignored
            } else if options.categorical.contains(name) || categorical.contains(name) {
                Role::Category
            } else if numeric.contains(name) {
                Role::Numeric
            } else if Some(name) == options.id.as_ref() {
                Role::Ignored
            } else if is_numeric(at) {
                Role::Numeric
            } else {
                Role::Category
            }
        };
        let roles = names.iter().enumerate().map(|(at, name)| role(at, name)).collect();
        let id = options.id.as_ref().and_then(|id| names.iter().position(|name| name == id));
        Ok(Schema { names, roles, id })
    }

    /// The part that a model stores.
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
    match options.known.as_ref().and_then(|known| known.target.clone()) {
        Some(name) if names.contains(&name) => return Ok(Some(name)),
        Some(name) if options.needs_target => {
            return Err(SchemaError::NoKnownTarget { name, columns: list(names) });
        }
        _ => {}
    }
    let usual = names.iter().find(|name| USUAL_TARGETS.contains(&name.to_lowercase().as_str()));
    match usual {
        Some(name) if options.known.is_none() || options.needs_target => Ok(Some(name.clone())),
        None if options.needs_target => Err(SchemaError::NoTarget { columns: list(names) }),
        _ => Ok(None),
    }
}

/// Every required column is there; a name that differs by its case or by blanks only is pointed out.
fn check_required(names: &[String], met: &BTreeSet<&str>, required: &[String]) -> Result<(), SchemaError> {
    let missing: Vec<String> = required.iter().filter(|name| !met.contains(name.as_str())).cloned().collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let plain =
        |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let hint = match names.iter().find(|name| plain(name) == plain(first)) {
        Some(name) => format!(" (is {name:?} the column {first:?}?)"),
        None => String::new(),
    };
    let (s, columns) = (if missing.len() == 1 { "" } else { "s" }, list(names));
    Err(SchemaError::MissingColumns { missing: format!("the column{s} {}", list(&missing)), hint, columns })
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
    fn many_known_columns_are_found_in_linear_time() {
        let many: Vec<String> = (0..200_000).map(|at| format!("column{at}")).collect();
        let first = Schema::resolve(many.clone(), |at| at % 2 == 0, &SchemaOptions::default()).unwrap();
        let again = SchemaOptions { known: Some(first.known()), ..Default::default() };
        let started = std::time::Instant::now();
        assert_eq!(Schema::resolve(many, |_| true, &again).unwrap().roles, first.roles);
        // Name by name this takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn columns_that_the_model_uses_must_be_there() {
        let options = |required: &[&str]| SchemaOptions { required: names(required), ..Default::default() };
        let table = || names(&["AGE", "town "]);
        assert!(Schema::resolve(table(), |_| true, &options(&["AGE"])).is_ok());
        let text = |required| Schema::resolve(table(), |_| true, &options(required)).unwrap_err().to_string();
        assert_eq!(
            text(&["age", "plan"]),
            "the model uses the columns \"age\", \"plan\", which this table does not have (is \"AGE\" the column \
             \"age\"?); the columns are \"AGE\", \"town \". With `missing-columns = zero` they count as zero"
        );
        assert!(text(&["plan"]).starts_with("the model uses the column \"plan\", which this table does not have; the"));
        let known = ModelSchema { target: Some("churned".into()), ..Default::default() };
        let labelled = SchemaOptions { known: Some(known), needs_target: true, ..Default::default() };
        let text = Schema::resolve(names(&["y", "age"]), |_| true, &labelled).unwrap_err().to_string();
        assert!(text.starts_with("there is no column \"churned\", which was the label: name another"), "{text}");
    }

    #[test]
    fn an_id_is_a_feature_only_if_the_model_knows_it() {
        let mut options = SchemaOptions { id: Some("id".into()), ..Default::default() };
        let schema = Schema::resolve(names(&["a", "id"]), |_| true, &options).unwrap();
        assert_eq!((schema.roles[1], schema.id), (Role::Ignored, Some(1)));
        options.known = Some(ModelSchema { numeric: names(&["id"]), ..Default::default() });
        let schema = Schema::resolve(names(&["a", "id"]), |_| true, &options).unwrap();
        assert_eq!((schema.roles[1], schema.id), (Role::Numeric, Some(1)));
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
