//! Features that are products of two: `age*visits`, `town=Rome*plan=basic`, or `a^x*b^y` of two namespaces.
//!
//! The pairs of a recipe name columns or namespaces. A product has the names of its two features, in the order of the
//! pair. Training and prediction make products of raw rows by this one rule, so that the features agree.

use thiserror::Error;

use crate::data::{FeatureKey, RawRows};
use crate::param::names;
use crate::parse::schema::ModelSchema;
use crate::recipe::Interactions;

/// The largest number of products of a row.
pub const MOST_PRODUCTS: usize = 100_000;

/// Products cannot be made.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ProductError {
    #[error("{} names {name:?}, which is no column that is used; the columns are {columns}", names::INTERACTIONS)]
    NoColumn { name: String, columns: String },
    #[error("{found} products in a row are more than {MOST_PRODUCTS}; name other columns in {}", names::INTERACTIONS)]
    TooMany {
        /// The line of the row within its block.
        line: u32,
        found: usize,
    },
}

/// The products of some data.
#[derive(Clone, Debug)]
pub struct Products {
    pairs: Vec<[String; 2]>,
    schema: Option<ModelSchema>,
}

/// A feature of a row: its name, its value, and whether it is an indicator, whose square is itself.
struct Factor<'a> {
    name: &'a str,
    value: f64,
    is_indicator: bool,
}

impl Products {
    /// The products of a recipe for rows with this schema. Without a schema, names decide.
    pub fn new(interactions: &Interactions, schema: Option<ModelSchema>) -> Self {
        Products { pairs: interactions.pairs().to_vec(), schema }
    }

    /// Complains about a pair that names no column of the schema.
    pub fn check(&self) -> Result<(), ProductError> {
        let Some(schema) = &self.schema else { return Ok(()) };
        let used: Vec<&String> = schema.features().collect();
        match self.pairs.iter().flatten().find(|name| !used.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let columns: Vec<&str> = used.iter().take(20).map(|column| column.as_str()).collect();
                Err(ProductError::NoColumn { name: name.clone(), columns: columns.join(", ") })
            }
        }
    }

    /// The two columns of a feature that is a product.
    pub fn factors(&self, name: &str) -> Option<&[String; 2]> {
        self.pairs.iter().find(|pair| self.split_by(pair, name).is_some())
    }

    /// The two features of a feature that is a product.
    pub fn split<'a>(&self, name: &'a str) -> Option<(&'a str, &'a str)> {
        self.pairs.iter().find_map(|pair| self.split_by(pair, name))
    }

    fn split_by<'a>(&self, [a, b]: &[String; 2], name: &'a str) -> Option<(&'a str, &'a str)> {
        let mut splits = name.match_indices('*').map(|(at, _)| (&name[..at], &name[at + 1..]));
        splits.find(|(left, right)| self.place(left, a).is_some() && self.place(right, b).is_some())
    }

    /// Rows with their products beside their features.
    pub fn expand(&self, rows: &RawRows) -> Result<RawRows, ProductError> {
        self.with_products(rows, |_| true, MOST_PRODUCTS)
    }

    /// Rows with those products that `is_wanted`.
    pub fn expand_wanted(&self, rows: &RawRows, is_wanted: impl Fn(&str) -> bool) -> RawRows {
        self.with_products(rows, is_wanted, usize::MAX).expect("there is no limit")
    }

    fn with_products(
        &self,
        rows: &RawRows,
        is_wanted: impl Fn(&str) -> bool,
        most: usize,
    ) -> Result<RawRows, ProductError> {
        let mut expanded = RawRows::by_name();
        expanded.adds_duplicates = rows.adds_duplicates;
        (expanded.tags, expanded.left_out) = (rows.tags.clone(), rows.left_out.clone());
        let mut product = String::new();
        for row in 0..rows.len() {
            let entries: Vec<(String, f64)> = rows.entries(row).map(|(key, value)| (text(key), value)).collect();
            entries.iter().for_each(|(name, value)| expanded.push_name(&[name], *value));
            let mut made = 0;
            for [a, b] in &self.pairs {
                let (left, right) = (self.of_column(&entries, a), self.of_column(&entries, b));
                made += left.len() * right.len();
                if made > most {
                    return Err(ProductError::TooMany { line: rows.lines[row], found: made });
                }
                for one in &left {
                    for other in right.iter().filter(|other| a != b || is_first(one, other)) {
                        product.clear();
                        product.extend([one.name, "*", other.name]);
                        if is_wanted(&product) {
                            let value = (one.value * other.value).clamp(f64::MIN, f64::MAX);
                            expanded.push_name(&[&product], value);
                        }
                    }
                }
            }
            expanded.end_row(rows.labels[row].clone(), rows.weight(row), rows.lines[row]);
        }
        Ok(expanded)
    }

    /// The features of a column or namespace, by name.
    fn of_column<'a>(&self, entries: &'a [(String, f64)], column: &str) -> Vec<Factor<'a>> {
        let factor = |(name, value): &'a (String, f64)| {
            let is_indicator = self.place(name, column)?;
            Some(Factor { name, value: *value, is_indicator })
        };
        let mut found: Vec<Factor<'a>> = entries.iter().filter_map(factor).collect();
        found.sort_unstable_by(|one, other| one.name.cmp(other.name));
        found
    }

    /// Whether a feature is of a column or namespace, and then whether it is an indicator.
    fn place(&self, name: &str, column: &str) -> Option<bool> {
        let rest = name.strip_prefix(column)?;
        let is_part = rest.is_empty() || rest.starts_with(['=', ':', '.', '^']);
        let is_other = || self.schema.as_ref().is_some_and(|schema| schema.column_of(name) != Some(column));
        (is_part && !is_other()).then(|| rest.starts_with(['=', ':']))
    }
}

/// Of a column with itself, each pair comes once; squares of indicators are the indicators.
fn is_first(one: &Factor<'_>, other: &Factor<'_>) -> bool {
    one.name < other.name || (one.name == other.name && !one.is_indicator)
}

fn text(key: FeatureKey<'_>) -> String {
    match key {
        FeatureKey::Index(index) => index.to_string(),
        FeatureKey::Name(name) => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;
    use crate::recipe::table::Value;

    fn expanded(pairs: &str, schema: Option<ModelSchema>, row: &[(&str, f64)]) -> Vec<(String, f64)> {
        let mut rows = RawRows::by_name();
        row.iter().for_each(|(name, value)| rows.push_name(&[name], *value));
        rows.end_row(Label::Number(1.0), 2.0, 7);
        let products = Products::new(&Interactions::parse(pairs).unwrap(), schema);
        let found = products.expand(&rows).unwrap();
        assert_eq!((found.weight(0), found.lines[0], &found.labels[0]), (2.0, 7, &Label::Number(1.0)));
        found.entries(0).skip(row.len()).map(|(key, value)| (text(key), value)).collect()
    }

    fn pair(name: &str, value: f64) -> (String, f64) {
        (name.into(), value)
    }

    #[test]
    fn products_of_columns_and_namespaces() {
        let row = [("age", 3.0), ("town=Rome", 1.0), ("plan=basic", 1.0), ("aged", 9.0)];
        assert_eq!(expanded("age*town", None, &row), [pair("age*town=Rome", 3.0)]);
        assert_eq!(
            expanded("town*plan,age*age", None, &row),
            [pair("town=Rome*plan=basic", 1.0), pair("age*age", 9.0)]
        );
        assert_eq!(expanded("town*town,x*age", None, &row), [], "an indicator is its own square");
        let spaces = [("b^y", 2.0), ("a^x", 3.0), ("a^w", 5.0)];
        assert_eq!(expanded("a*b", None, &spaces), [pair("a^w*b^y", 10.0), pair("a^x*b^y", 6.0)]);
        let squares = [pair("a^w*a^w", 25.0), pair("a^w*a^x", 15.0), pair("a^x*a^x", 9.0)];
        assert_eq!(expanded("a*a", None, &spaces), squares);
    }

    #[test]
    fn a_schema_tells_columns_apart() {
        let numeric = ["a", "a.b", "c"].map(String::from).to_vec();
        let schema = ModelSchema { numeric, ..ModelSchema::default() };
        let row = [("a", 2.0), ("a.b", 3.0), ("c", 5.0)];
        assert_eq!(expanded("a*c", Some(schema.clone()), &row), [pair("a*c", 10.0)]);
        let unknown = Products::new(&Interactions::parse("a*z").unwrap(), Some(schema.clone()));
        assert!(unknown.check().unwrap_err().to_string().contains("names \"z\", which is no column"));
        let known = Products::new(&Interactions::parse("a*c").unwrap(), Some(schema));
        assert_eq!((known.check(), known.factors("a*c").is_some(), known.factors("a.b*c")), (Ok(()), true, None));
    }

    #[test]
    fn a_row_may_not_have_any_number_of_products() {
        let mut rows = RawRows::by_name();
        (0..400).for_each(|number| rows.push_name(&["a^", &number.to_string()], 1.0));
        rows.end_row(Label::Absent, 1.0, 3);
        let products = Products::new(&Interactions::parse("a*a").unwrap(), None);
        let error = products.expand(&rows).unwrap_err().to_string();
        assert!(error.contains("160000 products in a row are more than 100000"), "{error}");
        assert_eq!(products.expand_wanted(&rows, |name| name == "a^1*a^2").entries(0).count(), 401);
    }
}
