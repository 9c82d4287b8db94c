//! The columns of moments (targets, features, products of two features) and how a row is mapped to them.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::MomentsError;
use crate::data::{FeatureId, FeatureKey, Label, Row, Vocabulary};

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    /// A number to predict.
    Target(String),
    /// 1 in the rows of a class, else 0.
    Class(Label),
    /// A feature, by its name.
    Feature(String),
    /// The product of two features, smaller name first.
    Product(String, String),
}

impl Column {
    /// The name in models and messages.
    pub fn name(&self) -> String {
        match self {
            Column::Target(name) | Column::Feature(name) => name.clone(),
            Column::Class(label) => label.to_string(),
            Column::Product(a, b) => format!("{a}*{b}"),
        }
    }

    /// Whether solvers may use the column as a feature.
    pub fn is_feature(&self) -> bool {
        matches!(self, Column::Feature(_) | Column::Product(..))
    }

    /// A key that is unique to the column.
    pub(super) fn key(&self) -> String {
        serde_json::to_string(self).expect("plain data becomes JSON")
    }
}

/// Which products of features become columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Products {
    /// None.
    #[default]
    None,
    /// Every pair of features, squares too (Sun et al. 2018, section 5.4).
    All,
    /// These pairs of names.
    Listed(Vec<[String; 2]>),
}

impl Products {
    /// A list from text: one product per line, two names separated by a tab, or by spaces if there is no tab.
    pub fn parse(text: &str) -> Result<Products, MomentsError> {
        let mut list = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let parts: Vec<&str> = match line.contains('\t') {
                true => line.split('\t').map(str::trim).collect(),
                false => line.split_whitespace().collect(),
            };
            let [a, b] = parts[..] else {
                let text = format!("line {}: two names were expected, apart by a tab, found {line:?}", number + 1);
                return Err(MomentsError::Choice(text.into()));
            };
            list.push([a.to_string(), b.to_string()]);
        }
        Ok(Products::Listed(list))
    }
}

const NONE: u32 = u32::MAX;

/// Assigns positions to columns as they occur.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnSpace {
    columns: Vec<Place>,
    /// The place of each feature, by id.
    features: Vec<u32>,
    /// The place of each class.
    classes: Vec<u32>,
    /// Whether each feature may become a column; empty if all may.
    kept: Vec<bool>,
    /// Features that are targets.
    targets: Vec<FeatureId>,
    all_pairs: bool,
    /// Places of pairs of all features: of `a <= b` at `b(b + 1)/2 + a`.
    pairs: Vec<u32>,
    /// Listed products of each first feature: the second, and the place.
    listed: FxHashMap<FeatureId, Vec<(FeatureId, u32)>>,
    /// Values of the current row by id, while listed products are computed.
    values: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Number,
    Class(usize),
    Feature(FeatureId),
    Product(FeatureId, FeatureId),
}

impl ColumnSpace {
    /// `numeric`: whether the label is a number (place 0) and not a class. `targets` are features to be predicted.
    pub(super) fn new(numeric: bool, targets: &[String], products: &Products, vocabulary: &mut Vocabulary) -> Self {
        let mut space = ColumnSpace { all_pairs: *products == Products::All, ..ColumnSpace::default() };
        if numeric {
            space.columns.push(Place::Number);
        }
        let mut intern = |name: &str| vocabulary.intern(FeatureKey::from_name(name));
        space.targets = targets.iter().map(|name| intern(name)).collect();
        if let Products::Listed(list) = products {
            for [a, b] in list {
                let (a, b) = (intern(a), intern(b));
                space.listed.entry(a.min(b)).or_default().push((a.max(b), NONE));
            }
            for list in space.listed.values_mut() {
                list.sort_unstable();
                list.dedup();
            }
        }
        space
    }

    /// Lets only these features, by id, become columns.
    pub(super) fn keep_only(&mut self, kept: Vec<bool>) {
        self.kept = kept;
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The columns of a row and their values. `target` is the number itself, or the number of the class.
    pub(super) fn entries(&mut self, row: Row<'_>, target: f64, numeric: bool, entries: &mut Vec<(u32, f64)>) {
        entries.clear();
        match numeric {
            true => entries.push((0, target)),
            false => entries.push((self.class(target as usize), 1.0)),
        }
        for (id, value) in row.iter() {
            if let Some(place) = self.feature(id) {
                entries.push((place, value));
            }
        }
        if self.all_pairs {
            self.add_all_pairs(row, entries);
        } else if !self.listed.is_empty() {
            self.add_listed(row, entries);
        }
        entries.retain(|entry| entry.1 != 0.0);
    }

    fn class(&mut self, class: usize) -> u32 {
        while self.classes.len() <= class {
            self.classes.push(self.columns.len() as u32);
            self.columns.push(Place::Class(self.classes.len() - 1));
        }
        self.classes[class]
    }

    fn feature(&mut self, id: FeatureId) -> Option<u32> {
        let at = id as usize;
        if self.features.len() <= at {
            self.features.resize(at + 1, NONE);
        }
        if self.features[at] == NONE {
            if !self.kept.is_empty() && !self.kept.get(at).copied().unwrap_or(false) && !self.targets.contains(&id) {
                return None;
            }
            self.features[at] = self.columns.len() as u32;
            self.columns.push(Place::Feature(id));
        }
        Some(self.features[at])
    }

    /// Whether a feature has a column and is not a target.
    fn may_multiply(&self, id: FeatureId) -> bool {
        self.features.get(id as usize).is_some_and(|&place| place != NONE) && !self.targets.contains(&id)
    }

    fn add_all_pairs(&mut self, row: Row<'_>, entries: &mut Vec<(u32, f64)>) {
        let usable: Vec<(FeatureId, f64)> = row.iter().filter(|(id, _)| self.may_multiply(*id)).collect();
        for (at, &(a, x)) in usable.iter().enumerate() {
            for &(b, y) in &usable[..=at] {
                let (low, high) = (a.min(b) as usize, a.max(b) as usize);
                let pair = high * (high + 1) / 2 + low;
                if self.pairs.len() <= pair {
                    self.pairs.resize(pair + 1, NONE);
                }
                if self.pairs[pair] == NONE {
                    self.pairs[pair] = self.columns.len() as u32;
                    self.columns.push(Place::Product(low as FeatureId, high as FeatureId));
                }
                entries.push((self.pairs[pair], x * y));
            }
        }
    }

    fn add_listed(&mut self, row: Row<'_>, entries: &mut Vec<(u32, f64)>) {
        let span = row.ids.iter().map(|&id| id as usize + 1).max().unwrap_or(0);
        self.values.resize(self.values.len().max(span), 0.0);
        row.iter().for_each(|(id, value)| self.values[id as usize] = value);
        for (id, value) in row.iter() {
            for (other, place) in self.listed.get_mut(&id).into_iter().flatten() {
                let product = value * self.values.get(*other as usize).copied().unwrap_or(0.0);
                if product != 0.0 {
                    if *place == NONE {
                        *place = self.columns.len() as u32;
                        self.columns.push(Place::Product(id, *other));
                    }
                    entries.push((*place, product));
                }
            }
        }
        row.ids.iter().for_each(|&id| self.values[id as usize] = 0.0);
    }

    /// A named feature that does not occur in the data.
    pub(super) fn never_met(&self) -> Option<FeatureId> {
        let met = |id: &FeatureId| self.features.get(*id as usize).is_some_and(|&place| place != NONE);
        let listed = self.listed.iter().flat_map(|(&id, list)| list.iter().map(|pair| pair.0).chain([id]));
        self.targets.iter().copied().chain(listed).filter(|id| !met(id)).min()
    }

    /// The named columns; `label` is the name of the label.
    pub(super) fn named(&self, vocabulary: &Vocabulary, label: &str, classes: &[Label]) -> Vec<Column> {
        let column = |place: &Place| match *place {
            Place::Number => Column::Target(label.to_string()),
            Place::Class(class) => Column::Class(classes[class].clone()),
            Place::Feature(id) if self.targets.contains(&id) => Column::Target(vocabulary.name(id)),
            Place::Feature(id) => Column::Feature(vocabulary.name(id)),
            Place::Product(a, b) => {
                let (a, b) = (vocabulary.name(a), vocabulary.name(b));
                if a <= b { Column::Product(a, b) } else { Column::Product(b, a) }
            }
        };
        self.columns.iter().map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(space: &mut ColumnSpace, ids: &[u32], values: &[f64]) -> Vec<(u32, f64)> {
        let mut found = Vec::new();
        space.entries(Row { ids, values }, 7.0, true, &mut found);
        found
    }

    fn vocabulary() -> Vocabulary {
        let mut vocabulary = Vocabulary::new(None);
        for name in ["b", "a", "c"] {
            vocabulary.intern(FeatureKey::Name(name));
        }
        vocabulary
    }

    #[test]
    fn all_pairs_have_squares_and_sorted_names() {
        let mut vocabulary = vocabulary();
        let mut space = ColumnSpace::new(true, &[], &Products::All, &mut vocabulary);
        let found = entries(&mut space, &[0, 1], &[2.0, 3.0]);
        assert_eq!(found, [(0, 7.0), (1, 2.0), (2, 3.0), (3, 4.0), (4, 6.0), (5, 9.0)]);
        let names: Vec<String> = space.named(&vocabulary, "y", &[]).iter().map(Column::name).collect();
        assert_eq!(names, ["y", "b", "a", "b*b", "a*b", "a*a"]);
        assert_eq!(entries(&mut space, &[2, 0], &[5.0, 1.0])[3..], [(7, 25.0), (8, 5.0), (3, 1.0)]);
    }

    #[test]
    fn listed_products_only_where_both_are() {
        let mut vocabulary = vocabulary();
        let products = Products::parse("a\tc\nc c\n\n").unwrap();
        let mut space = ColumnSpace::new(true, &[], &products, &mut vocabulary);
        assert_eq!(entries(&mut space, &[0, 1], &[2.0, 3.0]), [(0, 7.0), (1, 2.0), (2, 3.0)]);
        assert_eq!(entries(&mut space, &[1, 2], &[3.0, 4.0])[3..], [(4, 12.0), (5, 16.0)]);
        assert_eq!(space.never_met(), None);
        let lost = ColumnSpace::new(true, &[], &Products::parse("a d").unwrap(), &mut vocabulary);
        assert_eq!(lost.never_met(), Some(1));
        assert!(Products::parse("a b c").unwrap_err().to_string().contains("line 1: two names"));
    }

    #[test]
    fn classes_are_columns_of_zeros_and_ones() {
        let mut space = ColumnSpace::new(false, &[], &Products::None, &mut vocabulary());
        let mut found = Vec::new();
        space.entries(Row { ids: &[1], values: &[5.0] }, 1.0, false, &mut found);
        assert_eq!(found, [(1, 1.0), (2, 5.0)], "class 1 has place 1, its elder place 0");
    }

    #[test]
    fn what_is_not_kept_has_no_place() {
        let mut space = ColumnSpace::new(true, &[], &Products::All, &mut vocabulary());
        space.keep_only(vec![false, true, false]);
        assert_eq!(entries(&mut space, &[0, 1, 2], &[1.0, 2.0, 3.0]), [(0, 7.0), (1, 2.0), (2, 4.0)]);
    }
}
