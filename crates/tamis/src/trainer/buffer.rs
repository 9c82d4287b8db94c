//! Rows that are buffered before learning begins: they decide the task, the scaling and the order.

use super::error::TrainError;
use super::fingerprint::{FirstRows, fingerprints};
use super::training_data::TrainingData;
use crate::data::{
    ColumnScaler, Example, FeatureId, FeatureKey, Label, LabelStats, RawRows, Row, RowStore, RowStoreOptions,
    ScaleKind, TargetEncoder, Vocabulary,
};
use crate::io::Block;
use crate::recipe::{ClassWeight, Family, ROW_NUMBER, Recipe};
use crate::rng::splitmix64;

/// The number of rows that are enough for one pass: smaller data is visited until this many rows are learned, up to 20
/// times.
const ENOUGH_ROWS: u64 = 200_000;
const MAX_PASSES: u64 = 20;
/// Rows that are buffered if a stream is learned in one pass.
pub(crate) const FIRST_ROWS: u64 = 4096;
/// The largest number of rows that are buffered in an incremental training if all have the same label.
const MAX_INCREMENTAL: u64 = 1 << 16;

/// How many rows are buffered, and in which order they are learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BufferPlan {
    /// The number of rows to buffer, if their labels differ.
    pub(crate) rows: u64,
    /// The largest number of rows to buffer, whatever the labels.
    pub(crate) max_rows: u64,
    /// Whether buffered rows are learned in random order.
    pub(crate) shuffle: bool,
    /// Whether each row is given its number, as the feature [`ROW_NUMBER`].
    is_numbered: bool,
}

impl BufferPlan {
    /// The plan of a fit, which may read rows several times.
    pub(crate) fn for_fit(recipe: &Recipe) -> Self {
        let everything = recipe.passes.is_some_and(|passes| passes > 1)
            || matches!(recipe.scaling(), ScaleKind::UnitVariance | ScaleKind::SqrtStd)
            || recipe.refits()
            || recipe.class_weight == Some(ClassWeight::Balanced)
            || recipe.method.info().family == Family::Staged
            || recipe.shuffle == Some(true);
        let rows = match recipe.passes {
            _ if everything => u64::MAX,
            Some(_) if recipe.method.info().partial_fit => FIRST_ROWS,
            // The number of passes is open, or the method surveys rows and assumes that they are independent draws.
            _ => ENOUGH_ROWS,
        };
        BufferPlan {
            rows,
            max_rows: u64::MAX,
            shuffle: recipe.shuffle.unwrap_or(rows > FIRST_ROWS),
            is_numbered: recipe.row_id() == Some(ROW_NUMBER),
        }
    }

    /// The plan of an incremental training, which sees each row once; `is_needed` says whether the training depends on
    /// the first rows.
    pub(crate) fn incremental(recipe: &Recipe, is_needed: bool) -> Self {
        let plan = BufferPlan::for_fit(&Recipe { passes: Some(1), ..recipe.clone() });
        if is_needed {
            BufferPlan { max_rows: MAX_INCREMENTAL, ..plan }
        } else {
            BufferPlan { rows: 0, max_rows: 0, ..plan }
        }
    }

    /// Whether buffered rows are learned once, in the order of the input.
    pub(crate) fn is_one_pass(&self) -> bool {
        self.rows <= FIRST_ROWS && !self.shuffle
    }
}

/// The first rows of a stream.
pub(crate) struct BufferedRows {
    pub(crate) store: RowStore,
    pub(crate) labels: LabelStats,
    pub(crate) rows: u64,
    mean_weight: f64,
    pub(crate) fingerprint: u64,
    pub(crate) first_rows: FirstRows,
    /// Whether the two are needed: if the training is never saved, nothing is compared with them.
    pub(crate) is_identified: bool,
    /// First rows that were learned before and must not come again.
    pub(crate) refused: Vec<FirstRows>,
    /// Whether the stream ended within the buffer.
    pub(crate) is_all: bool,
    /// The hash of each row, if rows were identified before and come in the order of their hashes.
    pub(crate) identities: Option<Vec<u64>>,
    plan: BufferPlan,
    numbering: Option<Numbering>,
}

impl BufferedRows {
    /// An empty buffer. Rows are numbered from `data.rows_before` on if the plan says so.
    pub(crate) fn new(plan: BufferPlan, store: RowStoreOptions, data: &mut TrainingData) -> Self {
        BufferedRows {
            store: RowStore::new(store),
            labels: LabelStats::default(),
            rows: 0,
            mean_weight: 0.0,
            fingerprint: 0,
            first_rows: (0, 0),
            is_identified: true,
            refused: Vec::new(),
            is_all: false,
            identities: None,
            plan,
            numbering: plan.is_numbered.then(|| Numbering::new(&mut data.vocabulary, data.rows_before)),
        }
    }

    /// A placeholder while a trainer uses the rows.
    pub(crate) fn empty() -> Self {
        let plan = BufferPlan { rows: 0, max_rows: 0, shuffle: false, is_numbered: false };
        BufferedRows {
            store: RowStore::new(RowStoreOptions { memory: 0, folder: None, shuffle: None, once: true }),
            labels: LabelStats::default(),
            rows: 0,
            mean_weight: 0.0,
            fingerprint: 0,
            first_rows: (0, 0),
            is_identified: true,
            refused: Vec::new(),
            is_all: false,
            identities: None,
            plan,
            numbering: None,
        }
    }

    /// Whether rows are learned in random order.
    pub(crate) fn is_shuffled(&self) -> bool {
        self.plan.shuffle
    }

    /// Adds a row that was buffered before the training was saved.
    pub(crate) fn restore(
        &mut self,
        example: Example<'_>,
        label: &Label,
        data: &mut TrainingData,
    ) -> Result<(), TrainError> {
        let code = self.labels.observe(label, String::new)?;
        if data.scale.is_active() {
            data.scale.observe(example.row);
        }
        self.store.push(example, code)?;
        self.count(example.weight);
        Ok(())
    }

    /// The mean weight of the rows, multiplied by the factors of their classes; exact if all weights are equal. Targets
    /// must be known.
    pub(crate) fn mean_weight_of(&mut self, class_factors: &[f64]) -> Result<f64, TrainError> {
        if self.rows == 0 || class_factors.is_empty() {
            return Ok(if self.rows == 0 { 1.0 } else { self.mean_weight });
        }
        let (mut mean, mut rows) = (0.0, 0u64);
        for chunk in self.store.chunks(0) {
            for example in chunk?.examples() {
                rows += 1;
                mean += (example.weight - mean) / rows as f64;
            }
        }
        Ok(mean)
    }

    fn count(&mut self, weight: f64) {
        self.rows += 1;
        self.mean_weight += (weight - self.mean_weight) / self.rows as f64;
    }

    /// Whether learning can begin.
    pub(crate) fn is_full(&self) -> bool {
        self.rows >= self.plan.max_rows || (self.rows >= self.plan.rows && self.labels.has_variety())
    }

    /// Adds rows until the buffer is full; returns the rest of the block. Rows are counted one by one, so that the
    /// result does not depend on how the input is split into blocks. `declared` holds the classes if they were given in
    /// advance.
    pub(crate) fn take(
        &mut self,
        block: Block,
        data: &mut TrainingData,
        declared: Option<&mut TargetEncoder>,
    ) -> Result<Option<Block>, TrainError> {
        let (prints, hashes) = if self.is_identified { self.identify(&block.rows) } else { Default::default() };
        let mut declared = declared;
        let may_end_here = self.rows + block.rows.len() as u64 > self.plan.rows.min(self.plan.max_rows);
        let mut copy = may_end_here.then(|| block.rows.clone());
        let (batch, labels, place) = block.intern(&mut data.vocabulary)?;
        for (row, (example, label)) in batch.examples().zip(&labels).enumerate() {
            if self.is_full() {
                let rest = copy.as_mut().map(|rows| rows.split_off(row));
                return Ok(rest.map(|rows| place.block(rows)));
            }
            if let Some(targets) = &mut declared {
                targets.encode(label, || place.of(row))?;
            }
            let code = self.labels.observe(label, || place.of(row))?;
            if data.scale.is_active() {
                if row + 1 < batch.len() {
                    data.scale.fetch(batch.row(row + 1).ids);
                }
                data.scale.observe(example.row);
            }
            let entries = match &mut self.numbering {
                Some(numbering) => numbering.number(example.row),
                None => example.row,
            };
            let identity = self.identities.as_ref().map(|identities| identities[self.rows as usize]);
            self.store.push_tagged(Example { row: entries, ..example }, code, identity)?;
            self.fingerprint = prints.get(row).copied().unwrap_or(0);
            self.count(example.weight);
            if let Some(hash) = hashes.get(row) {
                self.first_rows = (self.first_rows.0 + 1, splitmix64(self.first_rows.1 ^ hash));
                if self.refused.contains(&self.first_rows) {
                    return Err(TrainError::AlreadyLearned { rows: self.first_rows.0 });
                }
            }
        }
        Ok(None)
    }

    /// Observes the dense columns among those that were only counted, in the order in which the rows came.
    pub(crate) fn observe_dense(&mut self, scale: &mut ColumnScaler) -> Result<(), TrainError> {
        if scale.finds_dense() {
            for chunk in self.store.chunks(0) {
                chunk?.examples().for_each(|example| scale.observe_dense(example.row));
            }
        }
        Ok(())
    }

    /// The fingerprint after each row, and the hashes of those that are among the first of the training.
    fn identify(&self, rows: &RawRows) -> (Vec<u64>, Vec<u64>) {
        let first = rows.len().min(FIRST_ROWS.saturating_sub(self.first_rows.0) as usize);
        (fingerprints(rows, self.fingerprint), rows.row_hashes().take(first).collect())
    }

    /// The number of passes over the buffered rows; `rows` choose it if the recipe leaves it open, or else the buffered ones.
    pub(crate) fn passes(&self, recipe: &Recipe, rows: Option<u64>) -> u32 {
        match recipe.passes {
            Some(passes) => passes,
            None if !self.is_all => 1,
            None => ENOUGH_ROWS.div_ceil(rows.unwrap_or(self.rows).max(1)).clamp(1, MAX_PASSES) as u32,
        }
    }

    /// A copy of the rows, which must all be in memory.
    pub(crate) fn copy_in_memory(&self) -> Self {
        BufferedRows {
            store: self.store.copy_in_memory(),
            labels: self.labels.clone(),
            numbering: self.numbering.clone(),
            refused: self.refused.clone(),
            identities: self.identities.clone(),
            ..*self
        }
    }
}

/// Adds row numbers as a feature.
#[derive(Clone)]
struct Numbering {
    id: FeatureId,
    next: f64,
    ids: Vec<FeatureId>,
    values: Vec<f64>,
}

impl Numbering {
    fn new(vocabulary: &mut Vocabulary, rows_before: u64) -> Self {
        let id = vocabulary.intern(FeatureKey::from_name(ROW_NUMBER));
        Numbering { id, next: rows_before as f64 + 1.0, ids: Vec::new(), values: Vec::new() }
    }

    /// The row with its number; a row that already has one keeps it.
    fn number<'a>(&'a mut self, row: Row<'_>) -> Row<'a> {
        self.ids.clear();
        self.values.clear();
        self.ids.extend_from_slice(row.ids);
        self.values.extend_from_slice(row.values);
        // The ids of a row need not ascend.
        if !row.ids.contains(&self.id) {
            let at = row.ids.partition_point(|&id| id < self.id);
            self.ids.insert(at, self.id);
            self.values.insert(at, self.next);
        }
        self.next += 1.0;
        Row { ids: &self.ids, values: &self.values }
    }
}
