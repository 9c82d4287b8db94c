//! The schema that a model stores: how the cells of each column are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Missing;
use super::column::{CategoryRule, DateRule, NumberRule, Role};
use super::date::{DateForm, DatePart};
use super::number_form::NumberForm;
use crate::data::{TextMap, TextSet};

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
    /// Columns of dates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dates: BTreeMap<String, DateColumn>,
    /// Columns of free text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// Columns of lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
    /// Columns that are not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// How numbers are written, where not plainly.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<String, NumberForm>,
    /// Columns of numbers or dates whose other cells are missing values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd_is_missing: Vec<String>,
    /// The levels with a feature of their own, of columns where levels of few rows share one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// The means of columns of numbers and dates, which stand for missing values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub means: BTreeMap<String, f64>,
    /// What became of missing values.
    #[serde(default, skip_serializing_if = "is_auto")]
    pub missing: Missing,
    /// Texts that stand for a missing value, beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub na: Vec<String>,
}

fn is_auto(missing: &Missing) -> bool {
    *missing == Missing::Auto
}

/// How a column of dates is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateColumn {
    /// How dates are written.
    pub form: DateForm,
    /// The features to make.
    pub parts: Vec<DatePart>,
}

impl ModelSchema {
    /// The columns that have a role.
    pub fn columns(&self) -> impl Iterator<Item = &String> {
        let lists = [&self.numeric, &self.categorical, &self.text, &self.lists, &self.ignored].into_iter().flatten();
        lists.chain(self.dates.keys()).chain(&self.target).chain(&self.weight)
    }

    /// The columns that give features.
    pub fn features(&self) -> impl Iterator<Item = &String> {
        [&self.numeric, &self.categorical, &self.text, &self.lists].into_iter().flatten().chain(self.dates.keys())
    }

    /// The column that a feature is of: its whole name, or the longest part before a sign. `=` comes before a category or
    /// `missing`, `:` before a word, `.` before a part of a date.
    pub fn column_of<'a>(&self, feature: &'a str) -> Option<&'a str> {
        let is_whole = |name: &str| self.numeric.iter().any(|one| one == name) || self.dates.contains_key(name);
        let is_parted =
            |name: &str| self.categorical.iter().chain(&self.text).chain(&self.lists).any(|one| one == name);
        if is_whole(feature) {
            return Some(feature);
        }
        let mut ends = feature.rmatch_indices(['=', ':', '.']).map(|(at, _)| &feature[..at]);
        ends.find(|column| is_parted(column) || is_whole(column))
    }

    /// Adds the columns of another schema that are not in this one. Label, weight and missing values stay.
    pub fn extend(&mut self, other: ModelSchema) {
        if other.columns().next().is_none() {
            return;
        }
        let mine: TextSet<String> = self.columns().cloned().collect();
        let is_new = |name: &String| !mine.contains(name);
        for (to, from) in [
            (&mut self.numeric, other.numeric),
            (&mut self.categorical, other.categorical),
            (&mut self.text, other.text),
            (&mut self.lists, other.lists),
            (&mut self.ignored, other.ignored),
            (&mut self.odd_is_missing, other.odd_is_missing),
        ] {
            to.extend(from.into_iter().filter(is_new));
        }
        self.dates.extend(other.dates.into_iter().filter(|(name, _)| is_new(name)));
        self.forms.extend(other.forms.into_iter().filter(|(name, _)| is_new(name)));
        self.levels.extend(other.levels.into_iter().filter(|(name, _)| is_new(name)));
        self.means.extend(other.means.into_iter().filter(|(name, _)| is_new(name)));
    }

    /// The roles of its columns by name.
    pub(super) fn roles(&self) -> TextMap<&str, Role> {
        let odd: TextSet<&String> = self.odd_is_missing.iter().collect();
        let mut roles = TextMap::default();
        for name in &self.numeric {
            let (form, mean) = (self.forms.get(name).cloned().unwrap_or_default(), self.means.get(name).copied());
            roles.insert(&**name, Role::Numeric(NumberRule { form, mean, odd_is_missing: odd.contains(name) }));
        }
        for name in &self.categorical {
            let own = self.levels.get(name).map(|levels| levels.iter().map(|level| level.as_str().into()).collect());
            roles.insert(name, Role::Category(CategoryRule { levels: own }));
        }
        for (name, DateColumn { form, parts }) in &self.dates {
            let (mean, odd_is_missing) = (self.means.get(name).copied(), odd.contains(name));
            roles.insert(name, Role::Date(DateRule { form: *form, parts: parts.clone(), odd_is_missing, mean }));
        }
        roles.extend(self.text.iter().map(|name| (name.as_str(), Role::Text)));
        roles.extend(self.lists.iter().map(|name| (name.as_str(), Role::List)));
        roles.extend(self.ignored.iter().map(|name| (name.as_str(), Role::Ignored)));
        roles
    }
}
