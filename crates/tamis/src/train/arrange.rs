//! The order of the input taken out of all that follows.
//!
//! A learner whose choice should not depend on the order of the rows must not see it at all: not in the order of its visits,
//! nor in the numbers of features (which decide between equals) nor in the rounding of sums. So rows are put in an order made
//! of what they hold, features are numbered by their names, and everything that was measured on the way is measured again.
//! The shuffling that follows starts from there: the same rows in any order lead to the same bits.
//!
//! Only rows that are held together can be put in order; of more than that, visits keep a trace of the input's order.

use super::TrainError;
use super::head::{Head, content};
use crate::data::{ColumnScale, Dictionary, Example, FeatureId, Row};
use crate::read::Held;

impl Head {
    /// Puts rows and features in an order of their own. The first `known` features keep their numbers: a state that is gone
    /// on with holds them.
    pub(super) fn arrange(
        &mut self,
        dictionary: &mut Dictionary,
        scale: &mut ColumnScale,
        known: usize,
    ) -> Result<(), TrainError> {
        if !self.held.is_together() || dictionary.len() < dictionary.span() {
            return Ok(());
        }
        let names: Vec<u64> = (0..dictionary.span() as FeatureId).map(|id| dictionary.name_hash(id)).collect();
        let mut order: Vec<FeatureId> = (0..dictionary.span() as FeatureId).collect();
        order[known..].sort_by_key(|&id| names[id as usize]);
        *dictionary = dictionary.reordered(&order);
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(number, &id)| numbers[id as usize] = number as FeatureId);
        let mut fresh = Held::new(self.held.options().clone());
        scale.restart();
        self.labels.restart_numbers();
        let labels = &mut self.labels;
        self.held.pass(0, |group| {
            let mut rows: Vec<(u64, Example<'_>)> =
                group.examples().map(|row| (content(row.row.iter(), &names), row)).collect();
            // Rows of the same content by label and importance, whose units leave no trace. Labels that are texts are held as
            // numbers in the order they came: among them, equals stay as they are.
            let label = |row: &Example<'_>| if row.target.is_nan() { 0.0 } else { row.target };
            rows.sort_by(|(a, one), (b, other)| {
                let by_label = || label(one).total_cmp(&label(other));
                a.cmp(b).then_with(by_label).then_with(|| one.weight.total_cmp(&other.weight))
            });
            for (_, example) in rows {
                let mut entries: Vec<(FeatureId, f64)> =
                    example.row.iter().map(|(id, value)| (numbers[id as usize], value)).collect();
                entries.sort_unstable_by_key(|(id, _)| *id);
                let (ids, values): (Vec<FeatureId>, Vec<f64>) = entries.into_iter().unzip();
                let row = Row { ids: &ids, values: &values };
                if scale.is_active() {
                    scale.observe(row);
                }
                labels.observe_number(example.target);
                fresh.push(Example { row, ..example })?;
            }
            Ok::<bool, TrainError>(true)
        })?;
        fresh.finish()?;
        self.held = fresh;
        Ok(())
    }
}
