//! Many rows in one place (compressed sparse rows).

use super::{Example, FeatureId, Row};

/// Rows one after the other: row `i` owns the entries `offsets[i] .. offsets[i + 1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    offsets: Vec<usize>,
    ids: Vec<FeatureId>,
    values: Vec<f64>,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

/// The arrays of a batch: row `i` owns the entries `offsets[i] .. offsets[i + 1]`.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named for what they hold")]
pub struct Parts<'a> {
    pub offsets: &'a [usize],
    pub ids: &'a [FeatureId],
    pub values: &'a [f64],
    pub targets: &'a [f64],
    pub weights: &'a [f64],
}

impl Default for Batch {
    fn default() -> Self {
        Batch { offsets: vec![0], ids: Vec::new(), values: Vec::new(), targets: Vec::new(), weights: Vec::new() }
    }
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch from its parts.
    ///
    /// # Panics
    /// If the parts do not describe the same rows.
    pub fn from_parts(
        offsets: Vec<usize>,
        ids: Vec<FeatureId>,
        values: Vec<f64>,
        targets: Vec<f64>,
        weights: Vec<f64>,
    ) -> Self {
        assert_eq!(offsets.len(), targets.len() + 1, "one offset more than rows");
        assert_eq!(targets.len(), weights.len(), "one weight a row");
        assert_eq!(ids.len(), values.len(), "one value an id");
        assert_eq!(offsets.last(), Some(&ids.len()), "the last offset ends the entries");
        Batch { offsets, ids, values, targets, weights }
    }

    /// The same rows with other targets.
    ///
    /// # Panics
    /// If there is not one per row.
    pub fn with_targets(self, targets: Vec<f64>) -> Self {
        assert_eq!(targets.len(), self.targets.len(), "one target a row");
        Batch { targets, ..self }
    }

    /// The same rows with their weights multiplied by the factors of their classes; targets are numbers of classes.
    pub fn with_class_factors(mut self, factors: &[f64]) -> Self {
        let factor = |target: f64| factors.get(target as usize).copied().unwrap_or(1.0);
        self.weights.iter_mut().zip(&self.targets).for_each(|(weight, target)| *weight *= factor(*target));
        self
    }

    /// The importance weight of each row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The same rows with their weights divided by a number.
    pub fn with_weight_unit(mut self, unit: f64) -> Self {
        self.weights.iter_mut().for_each(|weight| *weight /= unit);
        self
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The number of non-zero entries.
    pub fn entries(&self) -> usize {
        self.ids.len()
    }

    /// Bytes the rows take.
    pub fn bytes(&self) -> usize {
        self.ids.len() * 12 + self.targets.len() * 24
    }

    /// Makes room for rows and entries.
    pub fn reserve(&mut self, rows: usize, entries: usize) {
        self.offsets.reserve(rows);
        self.ids.reserve(entries);
        self.values.reserve(entries);
        self.targets.reserve(rows);
        self.weights.reserve(rows);
    }

    /// Adds a row at the end. Explicit zeros are dropped: absent and zero are the same.
    pub fn push(&mut self, example: Example<'_>) {
        if example.row.values.contains(&0.0) {
            let entries = || example.row.iter().filter(|(_, value)| *value != 0.0);
            self.ids.extend(entries().map(|(id, _)| id));
            self.values.extend(entries().map(|(_, value)| value));
        } else {
            self.ids.extend_from_slice(example.row.ids);
            self.values.extend_from_slice(example.row.values);
        }
        self.end_row(example);
    }

    /// Ends a row whose entries are there, with the target and the weight of an example.
    #[inline]
    fn end_row(&mut self, example: Example<'_>) {
        self.offsets.push(self.ids.len());
        self.targets.push(example.target);
        self.weights.push(example.weight);
    }

    /// Row `i` without its target.
    #[inline(always)]
    pub fn row(&self, i: usize) -> Row<'_> {
        let span = self.offsets[i]..self.offsets[i + 1];
        Row { ids: &self.ids[span.clone()], values: &self.values[span] }
    }

    /// Row `i` with its target and weight.
    #[inline(always)]
    pub fn example(&self, i: usize) -> Example<'_> {
        Example { row: self.row(i), target: self.targets[i], weight: self.weights[i] }
    }

    /// All rows in order.
    #[inline]
    pub fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        (0..self.len()).map(|i| self.example(i))
    }

    /// Adds a row whose values go through `map` first.
    #[inline]
    pub fn push_mapped(&mut self, example: Example<'_>, map: impl Fn(FeatureId, f64) -> f64) {
        self.ids.extend_from_slice(example.row.ids);
        self.values.extend(example.row.iter().map(|(id, value)| map(id, value)));
        self.end_row(example);
    }

    /// Adds the entries of a row that are kept, their values mapped. Each entry is written, and overwritten by the next one if
    /// it is not kept: a branch here could not be predicted.
    pub fn push_some(
        &mut self,
        example: Example<'_>,
        keep: impl Fn(FeatureId) -> bool,
        map: impl Fn(FeatureId, f64) -> f64,
    ) {
        let start = self.ids.len();
        self.ids.resize(start + example.row.len(), 0);
        self.values.resize(start + example.row.len(), 0.0);
        let mut end = start;
        for (id, value) in example.row.iter() {
            (self.ids[end], self.values[end]) = (id, value);
            end += usize::from(keep(id));
        }
        self.ids.truncate(end);
        self.values.truncate(end);
        self.ids[start..].iter().zip(&mut self.values[start..]).for_each(|(&id, value)| *value = map(id, *value));
        self.end_row(example);
    }

    /// Adds a row in which some values are smaller by a number: id, place in the row and number. An entry without a place is
    /// added at the end.
    pub(super) fn push_shifted(
        &mut self,
        example: Example<'_>,
        shifts: impl Iterator<Item = (FeatureId, Option<usize>, f64)>,
    ) {
        let start = self.ids.len();
        self.ids.extend_from_slice(example.row.ids);
        self.values.extend_from_slice(example.row.values);
        for (id, place, shift) in shifts {
            match place {
                Some(place) => self.values[start + place] -= shift,
                None => {
                    self.ids.push(id);
                    self.values.push(-shift);
                }
            }
        }
        self.end_row(example);
    }

    /// Subtracts numbers from the entries at these places (of all entries), and adds entries to the ends of rows: row, id and
    /// value, rows ascending.
    pub(super) fn shift(&mut self, shifts: &[(usize, f64)], added: &[(usize, FeatureId, f64)]) {
        shifts.iter().for_each(|&(place, shift)| self.values[place] -= shift);
        let mut end = self.ids.len();
        self.ids.resize(end + added.len(), 0);
        self.values.resize(end + added.len(), 0.0);
        let mut left = added;
        // From the last row to the first, so that no entry is overwritten before it is moved.
        for row in (0..self.len()).rev() {
            let start = self.offsets[row];
            self.offsets[row + 1] = end + left.len();
            while let Some((&(_, id, value), before)) = left.split_last().filter(|(last, _)| last.0 == row) {
                (self.ids[end + before.len()], self.values[end + before.len()]) = (id, value);
                left = before;
            }
            if left.is_empty() {
                break;
            }
            self.ids.copy_within(start..end, start + left.len());
            self.values.copy_within(start..end, start + left.len());
            end = start;
        }
    }

    /// Adds a row with other entries.
    pub fn push_entries(&mut self, example: Example<'_>, entries: impl Iterator<Item = (FeatureId, f64)>) {
        for (id, value) in entries {
            self.ids.push(id);
            self.values.push(value);
        }
        self.end_row(example);
    }

    /// Removes all rows but keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.ids.clear();
        self.values.clear();
        self.targets.clear();
        self.weights.clear();
    }

    /// The parts, for storage.
    pub fn parts(&self) -> Parts<'_> {
        let Batch { offsets, ids, values, targets, weights } = self;
        Parts { offsets, ids, values, targets, weights }
    }
}
