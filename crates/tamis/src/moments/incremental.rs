//! Incremental moments: rows are added as they arrive, and the moments so far can be taken at any time.
//!
//! [`super::collect`] reads a whole stream instead. The moments are the same, bit for bit, however the rows were split
//! into calls.

use super::from_stream::{AS_THEY_ARE, CollectOptions, Collector, no_column, too_wide};
use super::{Moments, MomentsError, RowIdentity};
use crate::data::{DuplicateFeature, RawRows, TargetEncoder, TargetKind, Vocabulary};
use crate::loss::LossKind;
use crate::parse::schema::ModelSchema;

/// Moments to which rows can be added.
pub struct IncrementalMoments {
    options: CollectOptions,
    vocabulary: Vocabulary,
    targets: TargetEncoder,
    collector: Collector,
    identity: RowIdentity,
    table: Option<ModelSchema>,
}

impl IncrementalMoments {
    /// No rows yet. Labels are `numeric`, or classes, of which new ones may occur at any time. The options about
    /// sources, reading and screening are not used.
    pub fn new(numeric: bool, options: &CollectOptions) -> Result<Self, MomentsError> {
        options.check()?;
        let kind = if numeric {
            TargetKind::Numbers { centre: 0.0, spread: 1.0 }
        } else {
            TargetKind::Classes { classes: Vec::new(), single: false, may_grow: true }
        };
        let mut vocabulary = Vocabulary::new(None);
        let collector = Collector::new(numeric, options, &mut vocabulary);
        let targets = TargetEncoder::new(LossKind::Squared, AS_THEY_ARE.shape, kind);
        Ok(IncrementalMoments {
            options: options.clone(),
            vocabulary,
            targets,
            collector,
            identity: RowIdentity::empty(),
            table: None,
        })
    }

    /// Says how the rows are read from a table, so that rows to predict are read in the same way.
    pub fn set_table(&mut self, table: ModelSchema) {
        self.table = Some(table);
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.collector.rows()
    }

    /// Adds rows. `place` gives the position of a row for error messages.
    pub fn observe(&mut self, rows: RawRows, place: impl Fn(usize) -> String) -> Result<(), MomentsError> {
        let duplicate = |(row, name)| DuplicateFeature { place: place(row), name };
        self.identity.observe(&rows);
        let hashes: Option<Vec<u64>> = self.options.folds_by_content.then(|| rows.features_hashes().collect());
        let (batch, labels) = rows.intern(&mut self.vocabulary).map_err(duplicate)?;
        let target = |(row, label)| self.targets.encode(label, || place(row));
        let targets = labels.iter().enumerate().map(target).collect::<Result<Vec<f64>, _>>()?;
        let numeric = self.targets.is_numbers();
        self.collector.take(&batch, &targets, numeric, hashes.as_deref());
        if self.collector.is_full() { Err(too_wide(&self.options, &self.vocabulary)) } else { Ok(()) }
    }

    /// The moments so far.
    pub fn moments(&self) -> Result<Moments, MomentsError> {
        if let Some(id) = self.collector.never_met() {
            return Err(no_column(&self.vocabulary, id));
        }
        let (columns, folds) = self.collector.clone().finish(&self.vocabulary, "label", self.targets.classes());
        let decay = (self.options.decay > 0.0).then_some(self.options.decay);
        let identity = self.identity.clone().finish();
        let table = self.table.clone();
        let moments = Moments { columns, table, decay, screened: false, skipped: 0, folds, identity };
        moments.check_finite()?;
        Ok(moments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    fn rows(range: std::ops::Range<u32>) -> RawRows {
        let mut rows = RawRows::by_index();
        for row in range {
            rows.push_index(1, f64::from(row * 7 % 11));
            rows.push_index(2 + row % 3, 1.0 + f64::from(row % 5));
            rows.end_row(Label::Number(f64::from(row % 4)), 1.0, row);
        }
        rows
    }

    #[test]
    fn however_rows_are_cut_the_moments_are_the_same() {
        for (numeric, folds, decay) in [(true, 1, 0.0), (false, 3, 0.0), (true, 1, 0.01)] {
            let options = CollectOptions { folds, decay, memory: 1 << 30, ..CollectOptions::default() };
            let gathered = |cut: u32| {
                let mut gathering = IncrementalMoments::new(numeric, &options).unwrap();
                (0..2000 / cut)
                    .for_each(|at| gathering.observe(rows(at * cut..(at + 1) * cut), |_| String::new()).unwrap());
                gathering.moments().unwrap()
            };
            let whole = gathered(2000);
            assert_eq!(whole.rows(), 2000);
            for cut in [1, 10, 500] {
                assert_eq!(gathered(cut), whole);
            }
        }
    }

    #[test]
    fn looking_changes_nothing() {
        let mut gathering =
            IncrementalMoments::new(true, &CollectOptions { memory: 1 << 30, ..Default::default() }).unwrap();
        gathering.observe(rows(0..700), |_| String::new()).unwrap();
        gathering.moments().unwrap();
        gathering.observe(rows(700..900), |_| String::new()).unwrap();
        let mut whole =
            IncrementalMoments::new(true, &CollectOptions { memory: 1 << 30, ..Default::default() }).unwrap();
        whole.observe(rows(0..900), |_| String::new()).unwrap();
        assert_eq!(gathering.moments().unwrap(), whole.moments().unwrap());
    }

    #[test]
    fn folds_by_content_do_not_depend_on_the_order_of_the_rows() {
        let folds = |order: &[usize], by_content: bool| {
            let options =
                CollectOptions { folds: 3, folds_by_content: by_content, memory: 1 << 30, ..Default::default() };
            let mut open = IncrementalMoments::new(true, &options).unwrap();
            for &row in order {
                let mut rows = RawRows::by_index();
                rows.push_index(1, row as f64 + 0.5);
                rows.end_row(Label::Number((row % 7) as f64), 1.0, 0);
                open.observe(rows, |_| String::new()).unwrap();
            }
            open.moments().unwrap().folds.iter().map(|fold| fold.rows).collect::<Vec<_>>()
        };
        let forwards: Vec<usize> = (0..90).collect();
        let some: Vec<usize> = forwards.iter().copied().filter(|row| row % 4 != 0).collect();
        let rest: Vec<usize> = forwards.iter().copied().filter(|row| row % 4 == 0).collect();
        let whole = folds(&forwards, true);
        let sums: Vec<_> = folds(&some, true).iter().zip(folds(&rest, true)).map(|(one, other)| one + other).collect();
        assert_eq!(sums, whole, "the parts of the rows have the folds of all rows");
        assert!(whole.iter().all(|&rows| rows > 10), "{whole:?}");
        let sums: Vec<_> =
            folds(&some, false).iter().zip(folds(&rest, false)).map(|(one, other)| one + other).collect();
        assert_ne!(sums, folds(&forwards, false), "numbers of rows depend on the parts");
    }

    #[test]
    fn folds_without_rows_have_all_columns() {
        let options = CollectOptions { folds: 5, memory: 1 << 30, ..Default::default() };
        let mut moments = IncrementalMoments::new(true, &options).unwrap();
        moments.observe(rows(0..3), |_| String::new()).unwrap();
        let moments = moments.moments().unwrap();
        assert!(moments.folds.iter().any(|fold| fold.rows == 0));
        assert!(moments.folds.iter().all(|fold| fold.size() == moments.columns.len()));
        assert_eq!(Moments::from_bytes(&moments.to_bytes(), std::path::Path::new("m")).unwrap(), moments);
    }

    #[test]
    fn too_many_columns_are_told() {
        let options = CollectOptions { memory: 1000, ..CollectOptions::default() };
        let mut gathering = IncrementalMoments::new(true, &options).unwrap();
        let message = gathering.observe(rows(0..5), |_| String::new()).unwrap_err().to_string();
        assert!(message.contains("columns need"), "{message}");
    }
}
