//! Feature frequencies: the share of rows in which each feature is not zero.

use super::EvalError;
use crate::data::{FeatureId, FeatureKey, RawRows, Vocabulary};
use crate::io::RowStream;
use crate::model::{Model, Predictor};

/// For every feature of some data, the rows in which it is not zero.
#[derive(Clone, Debug)]
pub struct FeatureFrequencies {
    rows: u64,
    vocabulary: Vocabulary,
    counts: Vec<u64>,
}

impl Default for FeatureFrequencies {
    fn default() -> Self {
        FeatureFrequencies { rows: 0, vocabulary: Vocabulary::new(None), counts: Vec::new() }
    }
}

impl FeatureFrequencies {
    /// Counts in all rows of a stream, with the products that a model uses.
    pub fn of(model: &Model, stream: &mut RowStream) -> Result<Self, EvalError> {
        let predictor = Predictor::new(model);
        let mut found = FeatureFrequencies::default();
        while let Some(block) = stream.next_block()? {
            let rows = predictor.with_products(&block.rows);
            (0..rows.len()).for_each(|row| found.observe(&rows, row));
        }
        Ok(found)
    }

    /// Counts one row.
    pub(super) fn observe(&mut self, rows: &RawRows, row: usize) {
        self.rows += 1;
        for (key, value) in rows.entries(row) {
            let id = self.vocabulary.intern(key) as usize;
            if id >= self.counts.len() {
                self.counts.resize(id + 1, 0);
            }
            self.counts[id] += u64::from(value != 0.0);
        }
    }

    /// The same counts under other names, where `other` has one.
    pub fn renamed(&self, other: impl Fn(&str) -> Option<String>) -> Self {
        let mut found = FeatureFrequencies { rows: self.rows, ..FeatureFrequencies::default() };
        for (id, &count) in self.counts.iter().enumerate() {
            let name = self.vocabulary.name(id as FeatureId);
            let name = other(&name).unwrap_or(name);
            let place = found.vocabulary.intern(FeatureKey::from_name(&name)) as usize;
            found.counts.resize(found.counts.len().max(place + 1), 0);
            found.counts[place] += count;
        }
        found
    }

    /// Rows counted.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The share of rows in which a feature is not zero; 0 for one never seen.
    pub fn share(&self, name: &str) -> f64 {
        let found = self.vocabulary.get(FeatureKey::from_name(name));
        found.map_or(0.0, |id: FeatureId| self.share_of(self.counts[id as usize]))
    }

    /// The shares of all features that occur.
    pub fn shares(&self) -> impl Iterator<Item = f64> + '_ {
        self.counts.iter().filter(|&&count| count > 0).map(|&count| self.share_of(count))
    }

    fn share_of(&self, count: u64) -> f64 {
        count as f64 / self.rows.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    #[test]
    fn only_what_is_not_zero_counts() {
        let mut rows = RawRows::by_name();
        for (a, b) in [(1.0, 0.0), (2.0, 3.0), (0.0, -1.0), (5.0, 0.0)] {
            rows.push_name(&["a"], a);
            rows.push_name(&["b"], b);
            rows.end_row(Label::Number(1.0), 1.0, 0);
        }
        let mut found = FeatureFrequencies::default();
        (0..4).for_each(|row| found.observe(&rows, row));
        assert_eq!((found.rows(), found.share("a"), found.share("b"), found.share("c")), (4, 0.75, 0.5, 0.0));
        assert_eq!(found.shares().collect::<Vec<_>>(), [0.75, 0.5]);
        let other = found.renamed(|name| (name == "a").then(|| "c".into()));
        assert_eq!((other.rows(), other.share("c"), other.share("b"), other.share("a")), (4, 0.75, 0.5, 0.0));
    }
}
