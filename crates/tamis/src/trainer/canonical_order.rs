//! Puts buffered rows in a canonical order, which does not depend on the order of the input.
//!
//! The result of some methods must not depend on the order of the rows: neither through the order of visits, nor
//! through the ids of features (which break ties), nor through the rounding of sums. So rows are sorted by content,
//! features are numbered by name, and all statistics are computed again in the new order. Shuffling starts from there:
//! the same rows in any order give the same bits.
//!
//! Only rows that fit in one chunk of the store can be sorted. With larger data, visits depend on the order of the
//! input.

use super::buffer::BufferedRows;
use super::error::TrainError;
use super::training_data::TrainingData;
use crate::data::{Example, FeatureId, LabelCode, Row, RowStore, content_hash};

impl BufferedRows {
    /// Puts rows and features in a canonical order. The first `known` features keep their ids: a state that is
    /// continued refers to them.
    pub(crate) fn put_in_canonical_order(&mut self, data: &mut TrainingData, known: usize) -> Result<(), TrainError> {
        let vocabulary = &mut data.vocabulary;
        if !self.store.fits_one_chunk() || vocabulary.len() < vocabulary.span() {
            return Ok(());
        }
        let names: Vec<u64> = (0..vocabulary.span() as FeatureId).map(|id| vocabulary.name_hash(id)).collect();
        let mut order: Vec<FeatureId> = (0..vocabulary.span() as FeatureId).collect();
        order[known..].sort_by_key(|&id| names[id as usize]);
        *vocabulary = vocabulary.reordered(&order);
        let mut new_ids = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &id)| new_ids[id as usize] = new as FeatureId);
        let mut sorted = RowStore::new(self.store.options().clone());
        data.scale.restart();
        self.labels.restart_moments();
        for chunk in self.store.chunks(0) {
            let chunk = chunk?;
            let hashed = |(example, label): (_, _)| {
                let example: Example<'_> = example;
                (content_hash(example.row.iter().map(|(id, value)| (names[id as usize], value))), example, label)
            };
            let mut rows: Vec<(u64, Example<'_>, LabelCode)> =
                chunk.examples().zip(chunk.labels()).map(hashed).collect();
            // Rows of equal content are sorted by label and weight. The codes of text labels depend on the order of the
            // input: rows that differ only in their text labels keep their order.
            let number = |label: &LabelCode| if let LabelCode::Number(number) = *label { number } else { 0.0 };
            rows.sort_by(|(a, one, one_label), (b, other, other_label)| {
                let by_label = || number(one_label).total_cmp(&number(other_label));
                a.cmp(b).then_with(by_label).then_with(|| one.weight.total_cmp(&other.weight))
            });
            for (_, example, label) in rows {
                let mut entries: Vec<(FeatureId, f64)> =
                    example.row.iter().map(|(id, value)| (new_ids[id as usize], value)).collect();
                entries.sort_unstable_by_key(|(id, _)| *id);
                let (ids, values): (Vec<FeatureId>, Vec<f64>) = entries.into_iter().unzip();
                let row = Row { ids: &ids, values: &values };
                if data.scale.is_active() {
                    data.scale.observe(row);
                }
                self.labels.observe_again(label);
                sorted.push(Example { row, ..example }, label)?;
            }
        }
        sorted.finish()?;
        self.store = sorted;
        Ok(())
    }
}
