//! The schema of a table: the role of each column.
//!
//! A [`Survey`](super::survey::Survey) of the first rows gives a [`ModelSchema`]: how the cells of each column are read.
//! Models store it, so that new data is read as the training data was. [`Schema::resolve`] applies it to a header.

use thiserror::Error;

pub use super::model_schema::{DateColumn, ModelSchema};

use super::Missing;
use super::column::{MissingCells, Role};
use super::date::DatePart;
use crate::data::TextSet;
use crate::param::names;

/// The columns of a table with their roles, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The names.
    pub names: Vec<String>,
    /// The role of each.
    pub roles: Vec<Role>,
    /// The column whose text identifies a row, whatever its role.
    pub id: Option<usize>,
    /// What becomes of missing cells.
    pub missing: MissingCells,
    /// What a model stores.
    stored: ModelSchema,
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
    /// Columns of numbers, even if they look like ids.
    pub numeric: Vec<String>,
    /// Columns of free text, whose words are features.
    pub text: Vec<String>,
    /// Columns that are used whatever they look like, with every level: keys of rows, for example.
    pub keep: Vec<String>,
    /// What dates become; `None` is the usual: days, month and weekday, and the hour of columns that have times.
    pub dates: Option<Vec<DatePart>>,
    /// The fewest rows of a level with a feature of its own; `None` is 5, and fewer in tables of fewer than 100 rows.
    pub min_count: Option<u64>,
    /// Texts that stand for a missing value, beside the usual ones.
    pub na: Vec<String>,
    /// Whether a comma stands before the decimals; `None` lets the cells decide.
    pub decimal_comma: Option<bool>,
    /// The column whose text identifies a row. It is no feature unless the model knows it as one.
    pub id: Option<String>,
    /// The schema of the model, when predicting.
    pub known: Option<ModelSchema>,
    /// Columns that the model uses: a table without one of them is refused.
    pub required: Vec<String>,
    /// Whether rows must have a label.
    pub needs_target: bool,
    /// Whether labels come from elsewhere: no column is the label.
    pub has_own_labels: bool,
    /// What to do about missing values.
    pub missing: Missing,
}

impl SchemaOptions {
    /// Columns that the options name as features or as unused.
    fn named(&self) -> impl Iterator<Item = &String> {
        [&self.ignore, &self.categorical, &self.numeric, &self.text].into_iter().flatten()
    }
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
    #[error("the first line is data and not a header ({columns}): use {} if the file has no header", names::NO_HEADER)]
    NoHeader { columns: String },
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
    /// Decides the role of every column: by the options, then by the schema. A column that neither knows is not used.
    pub fn resolve(names: Vec<String>, known: ModelSchema, options: &SchemaOptions) -> Result<Schema, SchemaError> {
        check_names(&names, options)?;
        let target = find_target(&names, options)?;
        let weight = options.weight.as_ref().or(known.weight.as_ref());
        let mut by_schema = known.roles();
        let mut role = |name: &String| {
            if Some(name) == target.as_ref() {
                Role::Target(known.forms.get(name).cloned().unwrap_or_default())
            } else if Some(name) == weight {
                Role::Weight
            } else if options.ignore.contains(name) {
                Role::Ignored
            } else {
                by_schema.remove(name.as_str()).unwrap_or(Role::Ignored)
            }
        };
        let roles = names.iter().map(&mut role).collect();
        drop(by_schema);
        let rule = match (options.missing, known.missing) {
            (Missing::Auto, Missing::Auto) => Missing::Mean,
            (Missing::Auto, known) => known,
            (given, _) => given,
        };
        let mut markers: Vec<String> = options.na.iter().chain(&known.na).cloned().collect();
        markers.sort_unstable();
        markers.dedup();
        let weight = weight.cloned().filter(|name| names.contains(name));
        let stored = ModelSchema { target, weight, missing: rule, na: markers.clone(), ..known };
        let id = options.id.as_ref().and_then(|id| names.iter().position(|name| name == id));
        Ok(Schema { names, roles, missing: MissingCells { rule, markers }, stored, id })
    }

    /// The part that a model stores.
    pub fn stored(&self) -> &ModelSchema {
        &self.stored
    }
}

/// Complains about names that come twice, and about options that name no column.
fn check_names(names: &[String], options: &SchemaOptions) -> Result<(), SchemaError> {
    let mut met = TextSet::default();
    if let Some(name) = names.iter().find(|name| !met.insert(name.as_str())) {
        return Err(SchemaError::Twice { name: name.clone() });
    }
    match options.named().chain(&options.weight).chain(&options.id).find(|name| !met.contains(name.as_str())) {
        Some(name) => Err(SchemaError::Unknown { name: name.clone(), columns: list(names) }),
        None => check_required(names, &met, &options.required),
    }
}

/// The label's column among these.
pub(super) fn find_target(names: &[String], options: &SchemaOptions) -> Result<Option<String>, SchemaError> {
    if options.has_own_labels {
        return Ok(None);
    }
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
        None if options.needs_target && looks_like_data(names) => Err(SchemaError::NoHeader { columns: list(names) }),
        None if options.needs_target => Err(SchemaError::NoTarget { columns: list(names) }),
        _ => Ok(None),
    }
}

/// Whether most of the names of a header are numbers.
fn looks_like_data(names: &[String]) -> bool {
    let numbers = names.iter().filter(|name| super::number::whole(name.as_bytes()).is_some()).count();
    2 * numbers > names.len()
}

/// Every required column is there; a name that differs by its case or by blanks only is pointed out.
fn check_required(names: &[String], met: &TextSet<&str>, required: &[String]) -> Result<(), SchemaError> {
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
    fn roles_from_the_survey_and_from_words() {
        let options = SchemaOptions {
            ignore: names(&["id"]),
            weight: Some("w".into()),
            needs_target: true,
            ..Default::default()
        };
        let known = ModelSchema {
            numeric: names(&["id", "age", "w", "Class"]),
            categorical: names(&["zip", "town"]),
            ..Default::default()
        };
        let columns = names(&["id", "age", "zip", "town", "w", "Class", "new"]);
        let schema = Schema::resolve(columns, known, &options).unwrap();
        let shown: Vec<String> = schema.roles.iter().map(|role| format!("{role:?}")).collect();
        let starts = ["Ignored", "Numeric", "Category", "Category", "Weight", "Target", "Ignored"];
        assert!(shown.iter().zip(starts).all(|(role, start)| role.starts_with(start)), "{shown:?}");
        let stored = schema.stored();
        assert_eq!((&stored.categorical, stored.missing), (&names(&["zip", "town"]), Missing::Mean));
        assert_eq!((stored.target.as_deref(), stored.weight.as_deref()), (Some("Class"), Some("w")));
    }

    #[test]
    fn many_known_columns_are_found_in_linear_time() {
        let many: Vec<String> = (0..200_000).map(|at| format!("column{at}")).collect();
        let known = ModelSchema { numeric: many.clone(), ..Default::default() };
        let started = std::time::Instant::now();
        let schema = Schema::resolve(many, known, &SchemaOptions::default()).unwrap();
        assert!(schema.roles.iter().all(|role| matches!(role, Role::Numeric(_))));
        // Name by name this takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn columns_that_the_model_uses_must_be_there() {
        let options = |required: &[&str]| SchemaOptions { required: names(required), ..Default::default() };
        let table = || names(&["AGE", "town "]);
        assert!(Schema::resolve(table(), ModelSchema::default(), &options(&["AGE"])).is_ok());
        let text =
            |required| Schema::resolve(table(), ModelSchema::default(), &options(required)).unwrap_err().to_string();
        assert_eq!(
            text(&["age", "plan"]),
            "the model uses the columns \"age\", \"plan\", which this table does not have (is \"AGE\" the column \
             \"age\"?); the columns are \"AGE\", \"town \". With `missing-columns = zero` they count as zero"
        );
        assert!(text(&["plan"]).starts_with("the model uses the column \"plan\", which this table does not have; the"));
        let known = ModelSchema { target: Some("churned".into()), ..Default::default() };
        let labelled = SchemaOptions { known: Some(known), needs_target: true, ..Default::default() };
        let text = Schema::resolve(names(&["y", "age"]), ModelSchema::default(), &labelled).unwrap_err().to_string();
        assert!(text.starts_with("there is no column \"churned\", which was the label: name another"), "{text}");
    }

    #[test]
    fn an_id_is_a_feature_only_if_the_model_knows_it() {
        let options = SchemaOptions { id: Some("id".into()), ..Default::default() };
        let schema = Schema::resolve(names(&["a", "id"]), ModelSchema::default(), &options).unwrap();
        assert_eq!((&schema.roles[1], schema.id), (&Role::Ignored, Some(1)));
        let known = ModelSchema { numeric: names(&["id"]), ..Default::default() };
        let schema = Schema::resolve(names(&["a", "id"]), known, &options).unwrap();
        assert!(matches!(schema.roles[1], Role::Numeric(_)) && schema.id == Some(1));
    }

    #[test]
    fn complaints_list_the_columns() {
        let complaint = |columns: &[&str], options: &SchemaOptions| {
            Schema::resolve(names(columns), ModelSchema::default(), options).unwrap_err().to_string()
        };
        let missing = SchemaOptions { needs_target: true, ..Default::default() };
        assert_eq!(
            complaint(&["a", "b"], &missing),
            "no column is known to be the label: name it with `target`; the columns are \"a\", \"b\""
        );
        assert!(complaint(&["1", "2.5", "x"], &missing).contains("`no-header`"));
        let wrong = SchemaOptions { target: Some("c".into()), ..Default::default() };
        assert_eq!(complaint(&["a", "b"], &wrong), "no column \"c\"; the columns are \"a\", \"b\"");
        assert_eq!(complaint(&["a", "b", "a"], &missing), "the column \"a\" occurs twice in the header");
    }

    #[test]
    fn columns_of_later_tables_are_added() {
        let mut known = ModelSchema { numeric: names(&["a"]), target: Some("y".into()), ..Default::default() };
        let means = [("a".to_string(), 9.0), ("b".to_string(), 2.0)].into();
        known.extend(ModelSchema {
            numeric: names(&["b"]),
            categorical: names(&["a", "y"]),
            means,
            ..Default::default()
        });
        assert_eq!((known.numeric, known.categorical.len()), (names(&["a", "b"]), 0));
        assert_eq!(known.means, [("b".to_string(), 2.0)].into());
    }
}
