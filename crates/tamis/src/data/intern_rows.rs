//! Parsed rows get the ids of a vocabulary.

use super::raw_rows::Keys;
use super::row_builder::RowBuilder;
use super::{Batch, FeatureId, FeatureKey, Label, RawRows, Vocabulary};

impl RawRows {
    /// Interns every feature in the vocabulary and returns the rows with target 0. `Err` holds a row with a repeated
    /// name, and that name.
    pub fn intern(mut self, vocabulary: &mut Vocabulary) -> Result<(Batch, Vec<Label>), (usize, String)> {
        if let Keys::Index(indices) = &mut self.keys {
            let (numbers, known) = std::mem::take(indices).into_parts();
            let indices = vocabulary.intern_looked_up(numbers, known);
            if vocabulary.hash_bits().is_none() {
                let targets = vec![0.0; self.labels.len()];
                let batch = Batch::from_parts(self.offsets, indices, self.values, targets, self.weights);
                return Ok((batch, self.labels));
            }
            return self.rebuild_hashed(indices);
        }
        self.intern_names(vocabulary)
    }

    /// Two numbers may share a bucket: their values add up.
    fn rebuild_hashed(self, ids: Vec<FeatureId>) -> Result<(Batch, Vec<Label>), (usize, String)> {
        let mut builder = RowBuilder::default();
        for i in 0..self.labels.len() {
            let span = self.offsets[i]..self.offsets[i + 1];
            let entries = ids[span.clone()].iter().zip(&self.values[span]);
            builder.entries.extend(entries.map(|(&id, &value)| (u64::from(id), id, value)));
            builder.finish(self.weights[i], true).expect("sums are allowed");
        }
        Ok((builder.batch, self.labels))
    }

    /// New features of a row get ids in a fixed order, numbers first, and rows are in a fixed order, too. So neither the order of
    /// the features in the input matters, nor whether the format gives numbers or names.
    fn intern_names(self, vocabulary: &mut Vocabulary) -> Result<(Batch, Vec<Label>), (usize, String)> {
        let Keys::Name(names) = &self.keys else { unreachable!("numbers are interned as such") };
        let mut builder = RowBuilder::default();
        builder.batch.reserve(self.labels.len(), self.values.len());
        let adds = self.adds_duplicates || vocabulary.hash_bits().is_some();
        let mut ids = std::mem::take(&mut vocabulary.columns).of(names);
        let mut fresh: Vec<(usize, f64)> = Vec::new();
        for i in 0..self.labels.len() {
            let entries = self.offsets[i]..self.offsets[i + 1];
            let (numbers, values) = (names.numbers(entries.clone()), &self.values[entries]);
            if ids.push_row(numbers, values, self.weights[i], &mut builder.batch) {
                continue;
            }
            for (number, &value) in numbers.iter().map(|&number| number as usize).zip(values) {
                if ids.get(number).is_none() {
                    let key = FeatureKey::from_name(names.name(number));
                    if vocabulary.get(key).is_some() {
                        let (place, id) = interned(vocabulary, key);
                        ids.set(number, place, id);
                    }
                }
                match ids.get(number) {
                    Some((place, id)) => builder.entries.push((place, id, value)),
                    None => fresh.push((number, value)),
                }
            }
            fresh.sort_by(|a, b| place_of(names.name(a.0)).cmp(&place_of(names.name(b.0))));
            for (number, value) in fresh.drain(..) {
                let (place, id) = interned(vocabulary, FeatureKey::from_name(names.name(number)));
                builder.entries.push((place, id, value));
            }
            builder.finish(self.weights[i], adds).map_err(|id| (i, vocabulary.name(id)))?;
        }
        vocabulary.columns = ids.of_columns();
        Ok((builder.batch, self.labels))
    }

    /// The rows with the features a vocabulary knows; others are left out.
    pub fn lookup(&self, vocabulary: &Vocabulary) -> Batch {
        let mut builder = RowBuilder::default();
        let name_count = if let Keys::Name(names) = &self.keys { names.stored() } else { 0 };
        // The id of each name, once it was looked up.
        let mut looked_up: Vec<Option<Option<FeatureId>>> = vec![None; name_count];
        for i in 0..self.labels.len() {
            for at in self.offsets[i]..self.offsets[i + 1] {
                let id = match &self.keys {
                    Keys::Index(indices) => vocabulary.get(FeatureKey::Index(indices[at])),
                    Keys::Name(names) => {
                        let number = names.number(at);
                        let look_up = || vocabulary.get(FeatureKey::from_name(names.name(number)));
                        *looked_up[number].get_or_insert_with(look_up)
                    }
                };
                builder.entries.extend(id.map(|id| (u64::from(id), id, self.values[at])));
            }
            builder.finish(self.weights[i], true).expect("sums are allowed");
        }
        builder.batch
    }
}

/// The place of a feature in a row, and its id: numbers in ascending order as in svmlight rows, then names by id. So rows are
/// summed in the same order, and give the same bits, whatever their format.
fn interned(vocabulary: &mut Vocabulary, key: FeatureKey<'_>) -> (u64, FeatureId) {
    let id = vocabulary.intern(key);
    match key {
        FeatureKey::Index(index) if vocabulary.hash_bits().is_none() => (u64::from(index), id),
        FeatureKey::Name(_) if vocabulary.hash_bits().is_none() => ((1 << 32) + u64::from(id), id),
        _ => (u64::from(id), id),
    }
}

/// The place of a new name among the new names of a row: numbers ascending as in svmlight rows, then names by bytes.
fn place_of(name: &str) -> (bool, u32, &str) {
    match FeatureKey::from_name(name) {
        FeatureKey::Index(index) => (false, index, ""),
        FeatureKey::Name(name) => (true, 0, name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ColumnNames;
    use super::super::raw_rows::tests::named;
    use super::*;

    #[test]
    fn the_order_of_names_leaves_no_trace() {
        let a = named(&[&[("b", 1.0), ("a", 2.0)], &[("c", 3.0), ("7", 4.0), ("a", 5.0)]]);
        let b = named(&[&[("a", 2.0), ("b", 1.0)], &[("a", 5.0), ("c", 3.0), ("7", 4.0)]]);
        let (mut left, mut right) = (Vocabulary::new(None), Vocabulary::new(None));
        assert_eq!(a.intern(&mut left).unwrap().0, b.intern(&mut right).unwrap().0);
        assert!(left.export().eq(right.export()));
    }

    #[test]
    fn numbers_as_names_get_the_ids_of_numbers() {
        let by_name = named(&[&[("10", 1.0), ("9", 2.0), ("100", 3.0)], &[("x", 1.0), ("11", 2.0)]]);
        let (mut left, mut right) = (Vocabulary::new(None), Vocabulary::new(None));
        by_name.intern(&mut left).unwrap();
        right.intern_indices(&mut [9, 10, 100, 11]);
        assert!(left.export().take(4).eq(right.export()));
        assert_eq!(left.name(4), "x");
    }

    /// Rows of a table whose columns are in no order, with zeros, cells that are missing and categories.
    fn table_rows(columns: &std::sync::Arc<ColumnNames>, first: u32, rows: u32) -> [RawRows; 2] {
        let names = ["x9", "4", "x10", "b", "17"];
        let [mut shared, mut plain] = [RawRows::of_columns(columns.clone(), 0), RawRows::by_name()];
        for row in first..first + rows {
            for number in (0..5).filter(|number| (row + number) % 7 != 0 && (row % 5 != 4 || *number == 2)) {
                let value = f64::from((row * 3 + number) % 4) - 1.0;
                shared.push_column(number, value);
                plain.push_name(&[names[number as usize]], value);
            }
            for rows in [&mut shared, &mut plain] {
                if row % 3 == 0 {
                    rows.push_name(&["town=", &(row % 4).to_string()], 1.0);
                }
                rows.end_row(Label::Absent, f64::from(row), 0);
            }
        }
        [shared, plain]
    }

    #[test]
    fn columns_get_the_ids_of_their_names_in_every_block() {
        let columns = ColumnNames::new(["x9", "4", "x10", "b", "17"].into_iter());
        let mut vocabularies = [Vocabulary::new(None), Vocabulary::new(None)];
        for block in 0..12 {
            let batches: Vec<Batch> = table_rows(&columns, 10 * block, 10)
                .into_iter()
                .zip(&mut vocabularies)
                .map(|(rows, vocabulary)| rows.intern(vocabulary).unwrap().0)
                .collect();
            assert_eq!(batches[0], batches[1], "block {block}");
            let [shared, plain] = table_rows(&columns, 10 * block, 10).map(|rows| rows.lookup(&vocabularies[0]));
            assert_eq!(shared, plain);
            if block == 6 {
                vocabularies.iter_mut().for_each(|vocabulary| vocabulary.free(2));
            }
        }
        let [left, right] = vocabularies;
        assert!(left.export().eq(right.export()));
    }

    #[test]
    fn columns_that_share_a_bucket_or_a_name_add_up() {
        let columns = ColumnNames::new(["a", "a", "b"].into_iter());
        let rows = || {
            let mut rows = RawRows::of_columns(columns.clone(), 0);
            (0..3).for_each(|number| rows.push_column(number, 1.0));
            rows.end_row(Label::Absent, 1.0, 0);
            rows
        };
        let mut hashed = Vocabulary::new(Some(1));
        for _ in 0..2 {
            let (batch, _) = rows().intern(&mut hashed).unwrap();
            assert_eq!(batch.row(0).values.iter().sum::<f64>(), 3.0);
            assert!(batch.row(0).len() <= 2);
        }
        let mut plain = Vocabulary::new(None);
        for _ in 0..2 {
            assert_eq!(rows().intern(&mut plain).unwrap_err(), (0, "a".to_string()));
        }
    }

    #[test]
    fn a_name_twice_is_an_error_or_a_sum() {
        let mut parsed = named(&[&[("a", 1.0), ("a", 2.0)]]);
        assert_eq!(parsed.clone().intern(&mut Vocabulary::new(None)).unwrap_err(), (0, "a".to_string()));
        parsed.adds_duplicates = true;
        let (batch, _) = parsed.intern(&mut Vocabulary::new(None)).unwrap();
        assert_eq!(batch.row(0).values, [3.0]);
    }

    #[test]
    fn explicit_zeros_are_absent() {
        let parsed = named(&[&[("a", 0.0), ("b", 2.0)]]);
        let mut vocabulary = Vocabulary::new(None);
        let (batch, _) = parsed.intern(&mut vocabulary).unwrap();
        assert_eq!((batch.row(0).len(), vocabulary.len()), (1, 1));
    }

    #[test]
    fn unknown_features_are_left_out_of_a_lookup() {
        let mut vocabulary = Vocabulary::new(None);
        vocabulary.intern(FeatureKey::Name("b"));
        let batch = named(&[&[("a", 1.0), ("b", 2.0)]]).lookup(&vocabulary);
        assert_eq!(batch.row(0).values, [2.0]);
    }

    #[test]
    fn hashing_adds_what_shares_a_bucket() {
        let mut parsed = RawRows::by_index();
        (1..=64).for_each(|index| parsed.push_index(index, 1.0));
        parsed.end_row(Label::Absent, 1.0, 0);
        let (batch, _) = parsed.intern(&mut Vocabulary::new(Some(3))).unwrap();
        assert!(batch.row(0).len() <= 8);
        assert_eq!(batch.row(0).values.iter().sum::<f64>(), 64.0);
    }
}
