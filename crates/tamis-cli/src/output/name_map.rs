//! Numbers for names, so that rows of tables can be written as svmlight.

use std::collections::HashMap;

use tamis::data::{FeatureKey, Label, RawRows};

/// Names of features in the order of their numbers, from 1, and numbers of classes that are words.
#[derive(Default)]
pub struct NameMap {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    classes: Vec<String>,
}

impl NameMap {
    /// The rows with numbers. Classes that are words become 0, 1, … in the order in which they come.
    pub fn numbered(&mut self, rows: &RawRows) -> RawRows {
        let mut numbered = RawRows::by_index();
        for row in 0..rows.len() {
            let mut entries: Vec<(u32, f64)> =
                rows.entries(row).map(|(key, value)| (self.number(key), value)).collect();
            entries.sort_unstable_by_key(|(number, _)| *number);
            entries.into_iter().for_each(|(number, value)| numbered.push_index(number, value));
            let label = match &rows.labels[row] {
                Label::Text(text) => Label::Number(self.class(text)),
                label => label.clone(),
            };
            numbered.end_row(label, rows.weight(row), rows.lines[row]);
        }
        numbered
    }

    fn number(&mut self, key: FeatureKey<'_>) -> u32 {
        let name = match key {
            FeatureKey::Index(index) => index.to_string(),
            FeatureKey::Name(name) => name.to_string(),
        };
        let next = self.names.len() as u32 + 1;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    fn class(&mut self, text: &str) -> f64 {
        let known = self.classes.iter().position(|class| class == text);
        let at = known.unwrap_or_else(|| {
            self.classes.push(text.to_string());
            self.classes.len() - 1
        });
        at as f64
    }

    /// The names, one a line.
    pub fn text(&self) -> String {
        self.names.iter().map(|name| name.replace(['\n', '\r'], " ") + "\n").collect()
    }

    /// The classes that are words, in the order of their numbers.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }
}
