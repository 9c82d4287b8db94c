//! Rows as learners see them: the one place where values are scaled.
//!
//! ```text
//! x'_j = (x_j − c_j) · f(x) / d_j        f: the factor of the row (RowScale)
//!                                        c, d: the mean and the divisor of the column (ColumnScaler)
//! ```
//!
//! Few columns are centred (c ≠ 0); every row has entries of these, also of those that are zero in it.

use serde::{Deserialize, Serialize};

use super::batch::Parts;
use super::{Batch, ColumnScaler, Example, FeatureId, Row, ScaleKind};

/// The factor by which the values of a row are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowScale {
    /// 1.
    #[default]
    None,
    /// 1/√(number of non-zeros) (Langford et al. 2009, section 3, caveat 1).
    SqrtCount,
}

impl RowScale {
    /// All of them, in the order of the documentation.
    pub const ALL: [RowScale; 2] = [RowScale::None, RowScale::SqrtCount];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            RowScale::None => "none",
            RowScale::SqrtCount => "sqrt-count",
        }
    }

    /// The factor of a row with `count` non-zeros.
    #[inline]
    pub fn factor(self, count: usize) -> f64 {
        match self {
            RowScale::SqrtCount if count > 0 => 1.0 / (count as f64).sqrt(),
            _ => 1.0,
        }
    }
}

/// Rows in which at most this many columns are centred, and not scaled, are copied as they are but for these.
const FEW: usize = 4;

/// A value after scaling, with the factor of its row and the divisor of its column.
#[inline]
pub fn scaled(value: f64, factor: f64, divisor: f64) -> f64 {
    value * factor / divisor
}

/// The place of an id, which is there at most once. All ids are compared, several at once: where to stop could not be predicted.
#[inline]
fn place_of(id: FeatureId, ids: &[FeatureId]) -> Option<usize> {
    let found = (1..).zip(ids).fold(0_u32, |found, (place, &other)| found | if other == id { place } else { 0 });
    (found as usize).checked_sub(1)
}

/// Scales rows by their own factor and by column.
#[derive(Clone, Copy, Debug)]
pub struct RowScaler<'a> {
    /// The scaling of rows.
    pub rows: RowScale,
    /// The scaling of columns.
    pub columns: &'a ColumnScaler,
}

impl RowScaler<'_> {
    /// Scales all rows of a batch where they are, if at most few columns are centred, nothing else is scaled and no value
    /// becomes zero. Otherwise the rows are given back as they were.
    pub fn scale_in_place(&self, mut batch: Batch) -> Result<Batch, Batch> {
        let centred = self.columns.centred();
        if self.rows != RowScale::None || self.columns.kind() != ScaleKind::None || centred.len() > FEW {
            return Err(batch);
        }
        let (mut shifts, mut added) = (Vec::new(), Vec::new());
        for row in (0..batch.len()).filter(|_| !centred.is_empty()) {
            let Parts { offsets, ids, values, .. } = batch.parts();
            let (start, end) = (offsets[row], offsets[row + 1]);
            for &id in centred {
                let centre = self.columns.centre(id);
                match place_of(id, &ids[start..end]) {
                    Some(place) if values[start + place] == centre => return Err(batch),
                    Some(place) => shifts.push((start + place, centre)),
                    None => added.push((row, id, -centre)),
                }
            }
        }
        batch.shift(&shifts, &added);
        Ok(batch)
    }

    /// Adds a scaled row to a batch.
    #[inline]
    pub fn push(&self, example: Example<'_>, batch: &mut Batch) {
        if !self.columns.centred().is_empty() {
            if !self.push_shifted(example, batch) {
                batch.push_entries(example, self.entries(example.row));
            }
            return;
        }
        match (self.columns.is_active(), self.rows.factor(example.row.len())) {
            (false, 1.0) => batch.push_mapped(example, |_, value| value),
            (false, factor) => batch.push_mapped(example, |_, value| value * factor),
            (true, factor) => batch.push_mapped(example, |id, value| scaled(value, factor, self.columns.divisor(id))),
        }
    }

    /// Adds a row of which only few values are changed, and none becomes zero; returns whether it is such a row.
    #[inline]
    fn push_shifted(&self, example: Example<'_>, batch: &mut Batch) -> bool {
        let (row, centred) = (example.row, self.columns.centred());
        if centred.len() > FEW || self.columns.kind() != ScaleKind::None || self.rows.factor(row.len()) != 1.0 {
            return false;
        }
        let mut places = [None; FEW];
        for (place, &id) in places.iter_mut().zip(centred) {
            *place = place_of(id, row.ids);
            if place.is_some_and(|place| row.values[place] == self.columns.centre(id)) {
                return false;
            }
        }
        let shifts = centred.iter().zip(places).map(|(&id, place)| (id, place, self.columns.centre(id)));
        batch.push_shifted(example, shifts);
        true
    }

    /// The scaled entries of a row: its own, then those of centred columns that are zero in it.
    pub fn entries<'a>(self, row: Row<'a>) -> impl Iterator<Item = (FeatureId, f64)> + 'a
    where
        Self: 'a,
    {
        let RowScaler { rows, columns } = self;
        let factor = rows.factor(row.len());
        let scale = move |(id, value)| (id, scaled(value - columns.centre(id), factor, columns.divisor(id)));
        // A centred value may be zero, and zeros are no entries.
        let is_entry = move |&(id, value): &(FeatureId, f64)| value != 0.0 || columns.centre(id) == 0.0;
        let absent = self.absent_centred(row).into_iter().map(|id| (id, 0.0));
        row.iter().chain(absent).map(scale).filter(is_entry)
    }

    /// The centred columns that a row does not contain. Most rows contain all of them.
    fn absent_centred(&self, row: Row<'_>) -> Vec<FeatureId> {
        let centred = self.columns.centred();
        let present = || row.ids.iter().copied().filter(|&id| self.columns.centre(id) != 0.0);
        if centred.is_empty() || present().count() == centred.len() {
            return Vec::new();
        }
        let mut present: Vec<FeatureId> = present().collect();
        present.sort_unstable();
        centred.iter().copied().filter(|id| present.binary_search(id).is_err()).collect()
    }

    /// ‖x‖² of a scaled row, with 1 for the intercept if there is one.
    pub fn squared_norm(&self, row: Row<'_>, intercept: bool) -> f64 {
        let intercept = if intercept { 1.0 } else { 0.0 };
        intercept + self.entries(row).map(|(_, value)| value.powi(2)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ScaleKind;

    #[test]
    fn values_are_scaled_by_row_and_by_column() {
        let row = Row { ids: &[0, 1, 3, 4], values: &[2.0, 8.0, -3.0, 1.0] };
        let mut columns = ColumnScaler::new(ScaleKind::MaxAbs);
        columns.observe(row);
        let scaler = RowScaler { rows: RowScale::SqrtCount, columns: &columns };
        assert_eq!(scaler.entries(row).collect::<Vec<_>>(), [(0, 0.5), (1, 0.5), (3, -0.5), (4, 0.5)]);
        let mut batch = Batch::new();
        scaler.push(Example { row, target: 1.0, weight: 1.0 }, &mut batch);
        assert_eq!(batch.row(0).values, [0.5, 0.5, -0.5, 0.5]);
        assert_eq!(scaler.squared_norm(row, true), 2.0);
        assert!(scaler.scale_in_place(batch.clone()).is_err(), "the rows are to be divided");
        let none = ColumnScaler::new(ScaleKind::None);
        assert_eq!(RowScaler { rows: RowScale::None, columns: &none }.scale_in_place(batch.clone()), Ok(batch));
    }

    /// Of three columns, two are centred and none is scaled.
    fn two_centred_columns() -> ColumnScaler {
        let mut columns = ColumnScaler::new(ScaleKind::Auto);
        for value in [1.0, 1.25, 1.0, 1.25] {
            columns.observe(Row { ids: &[0, 1, 2], values: &[value, 2.0 - value, 0.5] });
        }
        columns.finish();
        columns
    }

    #[test]
    fn rows_with_few_centred_columns_are_copied_and_shifted() {
        let columns = two_centred_columns();
        assert_eq!((columns.kind(), columns.centred()), (ScaleKind::None, &[0, 1][..]));
        let scaler = RowScaler { rows: RowScale::None, columns: &columns };
        let rows: [(&[u32], &[f64]); 5] = [
            (&[0, 1, 2], &[1.0, 0.75, 0.5]),
            (&[2, 0], &[0.5, 1.25]),
            (&[2], &[3.0]),
            (&[0, 1], &[1.125, 1.0]),
            (&[], &[]),
        ];
        let (mut raw, mut scaled) = (Batch::new(), Batch::new());
        for (ids, values) in rows {
            let row = Row { ids, values };
            let mut batch = Batch::new();
            scaler.push(Example { row, target: 1.0, weight: 2.0 }, &mut batch);
            assert_eq!(batch.row(0).iter().collect::<Vec<_>>(), scaler.entries(row).collect::<Vec<_>>());
            assert_eq!((batch.example(0).target, batch.example(0).weight), (1.0, 2.0));
            raw.push(Example { row, target: 1.0, weight: 2.0 });
            scaled.push(batch.example(0));
            // The last rows but one have a value that becomes zero.
            let has_zero = row.iter().any(|(id, value)| id < 2 && value == columns.centre(id));
            assert_eq!(scaler.scale_in_place(raw.clone()).is_err(), has_zero || raw.len() > 3, "{} rows", raw.len());
            if raw.len() <= 3 {
                assert_eq!(scaler.scale_in_place(raw.clone()), Ok(scaled.clone()));
            }
        }
    }

    /// Rows of which any may lack any of the centred columns.
    #[test]
    fn rows_are_shifted_where_they_are_as_one_by_one() {
        let columns = two_centred_columns();
        let scaler = RowScaler { rows: RowScale::None, columns: &columns };
        let (mut raw, mut one_by_one) = (Batch::new(), Batch::new());
        for number in 0..64_u32 {
            let ids: Vec<u32> = [5, 0, 7, 1, 9]
                .into_iter()
                .enumerate()
                .filter(|(bit, _)| number >> bit & 1 == 1)
                .map(|(_, id)| id)
                .collect();
            let values: Vec<f64> = ids.iter().map(|&id| f64::from(number + id) + 0.5).collect();
            let example = Example { row: Row { ids: &ids, values: &values }, target: f64::from(number), weight: 1.0 };
            raw.push(example);
            scaler.push(example, &mut one_by_one);
        }
        assert_eq!(scaler.scale_in_place(raw), Ok(one_by_one));
    }

    #[test]
    fn dense_columns_far_from_zero_are_centred() {
        let rows: [(&[u32], &[f64]); 4] = [
            (&[0, 1, 2], &[99.0, 1.0, 7.0]),
            (&[0, 2], &[101.0, 7.0]),
            (&[0, 1, 2], &[99.0, -1.0, 7.0]),
            (&[0, 2, 3], &[101.0, 7.0, 5.0]),
        ];
        let mut columns = ColumnScaler::new(ScaleKind::Auto);
        rows.iter().for_each(|(ids, values)| columns.observe(Row { ids, values }));
        columns.finish();
        let scaler = RowScaler { rows: RowScale::None, columns: &columns };
        let entries = |ids: &[u32], values: &[f64]| scaler.entries(Row { ids, values }).collect::<Vec<_>>();
        assert_eq!((columns.centred(), columns.centre(0)), (&[0][..], 100.0), "neither constant nor sparse columns");
        assert_eq!(entries(&[0, 1, 2], &[99.0, 1.0, 7.0]), [(0, -1.0), (1, 1.0), (2, 7.0)]);
        assert_eq!(entries(&[0, 3], &[100.0, 5.0]), [(3, 5.0)], "a zero is no entry");
        assert_eq!(entries(&[1], &[2.0]), [(1, 2.0), (0, -100.0)], "absent is zero");
        assert_eq!(entries(&[3, 1, 0], &[5.0, 2.0, 99.0]), [(3, 5.0), (1, 2.0), (0, -1.0)], "ids need not ascend");
        assert_eq!(entries(&[], &[]), [(0, -100.0)]);
        let mut batch = Batch::new();
        scaler.push(Example { row: Row { ids: &[1], values: &[2.0] }, target: 1.0, weight: 3.0 }, &mut batch);
        assert_eq!((batch.row(0).ids, batch.row(0).values), (&[1, 0][..], &[2.0, -100.0][..]));
        assert_eq!(scaler.squared_norm(Row { ids: &[1], values: &[2.0] }, true), 10005.0);
    }
}
