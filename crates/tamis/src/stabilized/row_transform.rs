//! HashedRows as they come, through the transform: scaled, then active features only, dense columns centred, each row with an row_hash.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::subsamples::HashedRows;
use crate::data::{ColumnScaler, Example, FeatureId, Row, RowScale, Vocabulary, scaled};
use crate::recipe::Recipe;
use crate::rng::splitmix64;
use crate::trainer::content_hash;

const NONE: u32 = u32::MAX;

/// Tells equal rows apart by counting them. They are equal in everything, so it does not matter which is called the
/// first. Without it, data of few different rows would have few row_hashes, and no path could learn what another is judged
/// by.
#[derive(Default)]
pub(super) struct DuplicateCounter {
    seen: FxHashMap<u64, u64>,
}

impl DuplicateCounter {
    /// The row_hash of a row with its label among its equals.
    pub(super) fn row_hash(&mut self, transform: &RowTransform, example: Example<'_>) -> u64 {
        let content = transform.row_hash(example.row);
        if transform.has_key(example.row) {
            return content;
        }
        let whole = splitmix64(content ^ splitmix64(example.target.to_bits() ^ splitmix64(example.weight.to_bits())));
        let count = self.seen.entry(whole).or_insert(0);
        *count += 1;
        if *count == 1 { content } else { splitmix64(whole ^ *count) }
    }
}

/// Prepares rows for the paths. Copies share what is known of the columns.
#[derive(Clone)]
pub(super) struct RowTransform {
    row_scale: RowScale,
    /// By feature: the hash of its name.
    names: Arc<[u64]>,
    /// By feature: whether it is (a value of) the key column; none are if rows go by their content.
    keys: Arc<[bool]>,
    /// By feature: what values are divided by, and the mean that is taken off first (0 for sparse columns).
    columns: Arc<[(f64, f64)]>,
    /// By feature: the mean absolute value as the paths see it.
    sizes: Arc<[f64]>,
    /// By feature: in how many rows it is.
    counts: Arc<[u32]>,
    /// By feature: its position in the active set.
    positions: Vec<u32>,
    /// By feature: its place among the centred active columns; empty if there are none.
    slots: Vec<u32>,
    /// The centred active columns' positions, and their values in a row without them.
    centred: Vec<(u32, f64)>,
    ids: Vec<u32>,
    values: Vec<f64>,
    /// Room for a row on its way.
    scaled: HashedRows,
}

impl RowTransform {
    pub(super) fn new(vocabulary: &Vocabulary, scale: &ColumnScaler, recipe: &Recipe) -> Self {
        let span = vocabulary.span() as FeatureId;
        let is_key = |key: &str, name: &str| matches!(name.strip_prefix(key), Some(rest) if rest.is_empty() || rest.starts_with('='));
        let key = recipe.row_id();
        RowTransform {
            row_scale: recipe.row_scaling(),
            keys: (0..span).map(|id| key.is_some_and(|key| is_key(key, &vocabulary.name(id)))).collect(),
            names: (0..span).map(|id| vocabulary.name_hash(id)).collect(),
            columns: (0..span).map(|id| (scale.divisor(id), scale.centre(id))).collect(),
            sizes: Arc::new([]),
            counts: Arc::new([]),
            positions: Vec::new(),
            slots: Vec::new(),
            centred: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
            scaled: HashedRows::default(),
        }
    }

    /// What a column's values are divided by, and the mean that is taken off first.
    pub(super) fn column(&self, id: FeatureId) -> (f64, f64) {
        self.columns[id as usize]
    }

    /// The means that are taken off, by feature.
    pub(super) fn centres(&self) -> Vec<f64> {
        self.columns.iter().map(|&(_, centre)| centre).collect()
    }

    /// Sets how large each feature's scaled values are on the whole, and in how many rows it is.
    pub(super) fn set_survey(&mut self, sizes: Vec<f64>, counts: Vec<u32>) {
        (self.sizes, self.counts) = (sizes.into(), counts.into());
    }

    /// The entries that so many rows have over these features; a centred column is in all of them.
    pub(super) fn entries(&self, active: &[FeatureId], rows: u64) -> u64 {
        let in_rows = |&id: &FeatureId| if self.column(id).1 != 0.0 { rows } else { self.counts[id as usize].into() };
        active.iter().map(in_rows).sum()
    }

    /// The mean ℓ₁ norm of a row over these features.
    pub(super) fn row_size(&self, active: &[FeatureId]) -> f64 {
        active.iter().map(|&id| self.sizes[id as usize]).sum()
    }

    /// Lets only these features through, ascending.
    pub(super) fn set_active(&mut self, active: &[FeatureId]) {
        self.positions = vec![NONE; self.names.len()];
        self.slots.clear();
        self.centred.clear();
        for (position, &id) in active.iter().enumerate() {
            self.positions[id as usize] = position as u32;
            let (divisor, centre) = self.column(id);
            if centre != 0.0 {
                self.slots.resize(self.names.len(), NONE);
                self.slots[id as usize] = self.centred.len() as u32;
                self.centred.push((position as u32, -centre / divisor));
            }
        }
    }

    /// Whether a feature is there to tell rows apart, not to learn from.
    pub(super) fn is_key(&self, id: FeatureId) -> bool {
        self.keys[id as usize]
    }

    /// Whether a row carries its key.
    fn has_key(&self, row: Row<'_>) -> bool {
        row.ids.iter().any(|&id| self.keys[id as usize])
    }

    /// What a row is known by: a hash of its features' names and values, whatever their order; of the key alone where
    /// there is one.
    pub(super) fn row_hash(&self, row: Row<'_>) -> u64 {
        let is_hashed = |id: FeatureId| self.keys[id as usize] || !self.has_key(row);
        content_hash(row.iter().filter(|&(id, _)| is_hashed(id)), &self.names)
    }

    /// Adds a row with its values scaled, over all features.
    pub(super) fn scale(&self, example: Example<'_>, row_hash: u64, rows: &mut HashedRows) {
        let factor = self.row_scale.factor(example.row.len());
        rows.batch.push_mapped(example, |id, value| scaled(value, factor, self.columns[id as usize].0));
        rows.row_hashes.push(row_hash);
    }

    /// Puts a row through as it comes.
    pub(super) fn scale_and_restrict(&mut self, example: Example<'_>, row_hash: u64, rows: &mut HashedRows) {
        let mut scaled = std::mem::take(&mut self.scaled);
        scaled.clear();
        self.scale(example, row_hash, &mut scaled);
        self.restrict(scaled.batch.example(0), row_hash, rows);
        self.scaled = scaled;
    }

    /// Puts a scaled row through.
    pub(super) fn restrict(&mut self, example: Example<'_>, row_hash: u64, rows: &mut HashedRows) {
        if self.centred.is_empty() {
            self.restrict_sparse(example.row)
        } else {
            self.restrict_centred(example.row)
        }
        let restricted = Row { ids: &self.ids, values: &self.values };
        rows.push(Example { row: restricted, ..example }, row_hash);
    }

    /// Every entry is written and the next one written over it if it is not let through: whether it is, cannot be guessed.
    fn restrict_sparse(&mut self, row: Row<'_>) {
        self.ids.resize(row.len(), 0);
        self.values.resize(row.len(), 0.0);
        let mut kept = 0;
        for (id, value) in row.iter() {
            let position = self.positions[id as usize];
            (self.ids[kept], self.values[kept]) = (position, value);
            kept += usize::from(position != NONE);
        }
        self.ids.truncate(kept);
        self.values.truncate(kept);
    }

    /// Centred columns are in every row, first.
    fn restrict_centred(&mut self, row: Row<'_>) {
        self.ids.clear();
        self.values.clear();
        self.ids.extend(self.centred.iter().map(|&(position, _)| position));
        self.values.extend(self.centred.iter().map(|&(_, value)| value));
        for (id, value) in row.iter() {
            match (self.positions[id as usize], self.slots[id as usize]) {
                (NONE, _) => {}
                (position, NONE) => {
                    self.ids.push(position);
                    self.values.push(value);
                }
                (_, slot) => self.values[slot as usize] += value,
            }
        }
    }
}
