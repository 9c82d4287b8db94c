//! Rows kept for several passes: in memory up to a limit, beyond that in an unnamed temporary file.
//!
//! Rows are packed into blocks (5 to 12 bytes an entry, 4 if all values are 1), each with a checksum. Blocks past the
//! memory limit go to a temporary file that never has a name: it disappears with the process, however the process ends,
//! and cannot be mistaken for a finished file.
//!
//! When rows are to be shuffled, each row is assigned at random to one of several open blocks, so every block is a
//! random sample of the stream even if the input is sorted. A pass then visits blocks, and rows within a chunk of
//! blocks, in a new random order. The order depends on the seed alone, not on the memory limit.
//!
//! Rows enter with their labels as [`LabelCode`]s. Once the task is known, [`RowStore::set_targets`] says how codes
//! become targets, and every later pass yields rows with targets.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use rand_pcg::Pcg64;

use super::Example;
use super::label_stats::LabelCode;
use super::row_chunk::RowStoreError;
use super::row_codec::{StoredRows, pack};
use super::target::TargetMap;
use crate::rng::{RngStream, generator, uniform_below};

/// Where rows are kept, and in which order they are visited.
#[derive(Clone, Debug)]
pub struct RowStoreOptions {
    /// Bytes that may stay in memory.
    pub memory: u64,
    /// The folder of the temporary file; `None` is the system's folder for temporary files.
    pub folder: Option<PathBuf>,
    /// Seed of the random order, or `None` for the order of the input.
    pub shuffle: Option<u64>,
    /// Whether rows are visited once: few of them are then unpacked at a time.
    pub once: bool,
}

/// Entries and rows at which a block is closed.
const BLOCK_ENTRIES: usize = 1 << 18;
const BLOCK_ROWS: usize = 1 << 14;
/// The same of rows that are visited once.
const SMALL_BLOCK_ENTRIES: usize = 1 << 14;
/// Open blocks to which shuffled rows are assigned.
const SHARDS: usize = 16;
/// Unpacked bytes of the blocks whose rows are shuffled together.
pub(super) const CHUNK_BYTES: usize = 64 << 20;

/// Rows for several passes.
pub struct RowStore {
    pub(super) options: RowStoreOptions,
    open: Vec<StoredRows>,
    /// The tags of the rows in open blocks, and of all others by their numbers.
    open_tags: Vec<Vec<u64>>,
    tags: Vec<u64>,
    rng: Pcg64,
    pub(super) blocks: Vec<Block>,
    pub(super) file: Option<File>,
    memory_used: u64,
    file_used: u64,
    rows: u64,
    /// Rows in closed blocks.
    pub(super) closed: u64,
    pub(super) targets: Option<TargetMap>,
    /// The factors of the weights of each class; empty if there are none.
    pub(super) class_factors: Vec<f64>,
    pub(super) weight_unit: f64,
    /// The rows of the only chunk, once unpacked.
    pub(super) unpacked: Option<Arc<[StoredRows]>>,
}

/// Rows that were packed together.
pub(super) struct Block {
    pub(super) place: Place,
    /// The number of its first row.
    pub(super) first: u64,
    entries: usize,
    /// Bytes once unpacked.
    pub(super) bytes: usize,
}

pub(super) enum Place {
    Memory(Vec<u8>),
    File { start: u64, length: usize },
}

impl RowStore {
    /// An empty store.
    pub fn new(options: RowStoreOptions) -> Self {
        let shards = if options.shuffle.is_some() { SHARDS } else { 1 };
        RowStore {
            open: vec![StoredRows::default(); shards],
            open_tags: vec![Vec::new(); shards],
            tags: Vec::new(),
            rng: generator(options.shuffle.unwrap_or(0), RngStream::ShardRows, 0),
            options,
            blocks: Vec::new(),
            file: None,
            memory_used: 0,
            file_used: 0,
            rows: 0,
            closed: 0,
            targets: None,
            class_factors: Vec::new(),
            weight_unit: 1.0,
            unpacked: None,
        }
    }

    /// The number of rows stored.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How rows are stored.
    pub fn options(&self) -> &RowStoreOptions {
        &self.options
    }

    /// The number of entries of all rows. All rows must have been added.
    pub fn entries(&self) -> u64 {
        self.blocks.iter().map(|block| block.entries as u64).sum()
    }

    /// Whether all rows are unpacked, and shuffled, together.
    pub fn fits_one_chunk(&self) -> bool {
        !self.options.once && self.blocks.iter().map(|block| block.bytes).sum::<usize>() <= CHUNK_BYTES
    }

    /// Bytes of the rows of a block once unpacked.
    pub fn block_bytes(&self, block: usize) -> usize {
        self.blocks[block].bytes
    }

    /// Bytes in memory and bytes on disk.
    pub fn bytes(&self) -> (u64, u64) {
        (self.memory_used, self.file_used)
    }

    /// Adds a row. The label code takes the place of the example's target.
    pub fn push(&mut self, example: Example<'_>, label: LabelCode) -> Result<(), RowStoreError> {
        self.push_tagged(example, label, None)
    }

    /// Adds a row with a number that stays with it: see [`RowStore::tags`].
    pub fn push_tagged(
        &mut self,
        example: Example<'_>,
        label: LabelCode,
        tag: Option<u64>,
    ) -> Result<(), RowStoreError> {
        let shard = if self.open.len() == 1 { 0 } else { uniform_below(&mut self.rng, self.open.len()) };
        self.open[shard].push(example, label);
        self.open_tags[shard].extend(tag);
        self.rows += 1;
        let rows = &self.open[shard].rows;
        let most = if self.options.once { SMALL_BLOCK_ENTRIES } else { BLOCK_ENTRIES };
        if rows.entries() >= most || rows.len() >= BLOCK_ROWS {
            self.close(shard)?;
        }
        Ok(())
    }

    /// The tag of each row by its number, if all rows have one; the rows are not numbered in the order of the input.
    pub fn tags(&self) -> Option<&[u64]> {
        (self.rows > 0 && self.tags.len() as u64 == self.rows).then_some(&self.tags[..])
    }

    /// Ends the adding of rows.
    pub fn finish(&mut self) -> Result<(), RowStoreError> {
        (0..self.open.len()).try_for_each(|shard| self.close(shard))?;
        self.open.clear();
        Ok(())
    }

    /// Sets how label codes become targets, for all passes from here on.
    pub fn set_targets(&mut self, targets: TargetMap) {
        (self.targets, self.unpacked) = (Some(targets), None);
    }

    /// Sets the factors of the weights of each class, for all passes from here on. Targets must be known.
    pub fn set_class_factors(&mut self, factors: Vec<f64>) {
        (self.class_factors, self.unpacked) = (factors, None);
    }

    /// Sets the number by which weights are divided, for all passes from here on.
    pub fn set_weight_unit(&mut self, unit: f64) {
        (self.weight_unit, self.unpacked) = (unit, None);
    }

    /// Frees memory and disk; no rows remain.
    pub fn clear(&mut self) {
        (self.blocks, self.unpacked, self.file, self.tags) = (Vec::new(), None, None, Vec::new());
        (self.memory_used, self.file_used, self.rows, self.closed) = (0, 0, 0, 0);
    }

    fn close(&mut self, shard: usize) -> Result<(), RowStoreError> {
        if self.open[shard].rows.is_empty() {
            return Ok(());
        }
        let packed = pack(&self.open[shard]);
        let (entries, bytes, first) = (self.open[shard].rows.entries(), self.open[shard].rows.bytes(), self.closed);
        self.closed += self.open[shard].rows.len() as u64;
        self.open[shard].clear();
        self.tags.append(&mut self.open_tags[shard]);
        let fits = self.file.is_none() && self.memory_used + packed.len() as u64 <= self.options.memory;
        let place = if fits { self.keep(packed) } else { self.spill(&packed)? };
        self.blocks.push(Block { place, first, entries, bytes });
        Ok(())
    }

    fn keep(&mut self, packed: Vec<u8>) -> Place {
        self.memory_used += packed.len() as u64;
        Place::Memory(packed)
    }

    fn spill(&mut self, packed: &[u8]) -> Result<Place, RowStoreError> {
        let failed = |action| move |source| RowStoreError::Io { action, source };
        if self.file.is_none() {
            let created = match &self.options.folder {
                Some(folder) => tempfile::tempfile_in(folder),
                None => tempfile::tempfile(),
            };
            self.file = Some(created.map_err(failed("created"))?);
        }
        let file = self.file.as_mut().expect("just created");
        file.seek(SeekFrom::Start(self.file_used)).map_err(failed("written"))?;
        file.write_all(packed).map_err(failed("written"))?;
        let place = Place::File { start: self.file_used, length: packed.len() };
        self.file_used += packed.len() as u64;
        Ok(place)
    }

    /// A copy of a store whose rows are all in memory.
    ///
    /// # Panics
    /// If rows are on disk.
    pub fn copy_in_memory(&self) -> RowStore {
        assert!(self.file.is_none(), "rows on disk are not copied");
        let copy = |block: &Block| match &block.place {
            Place::Memory(packed) => Block { place: Place::Memory(packed.clone()), ..*block },
            Place::File { .. } => unreachable!("there is no file"),
        };
        RowStore {
            options: self.options.clone(),
            open: self.open.clone(),
            open_tags: self.open_tags.clone(),
            tags: self.tags.clone(),
            rng: self.rng.clone(),
            blocks: self.blocks.iter().map(copy).collect(),
            file: None,
            targets: self.targets.clone(),
            class_factors: self.class_factors.clone(),
            unpacked: self.unpacked.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    fn store(rows: u32, memory: u64, shuffle: Option<u64>) -> RowStore {
        store_of(rows, RowStoreOptions { memory, folder: None, shuffle, once: false })
    }

    fn store_of(rows: u32, options: RowStoreOptions) -> RowStore {
        let mut stored = RowStore::new(options);
        for row in 0..rows {
            let ids: Vec<u32> = (0..row % 40).collect();
            let values: Vec<f64> = ids.iter().map(|&id| 0.1 + f64::from(id * row)).collect();
            let row_of = Row { ids: &ids, values: &values };
            let example = Example { row: row_of, target: 0.0, weight: 1.0 + f64::from(row % 3) };
            stored.push(example, LabelCode::Number(f64::from(row))).unwrap();
        }
        stored.finish().unwrap();
        stored
    }

    fn visit(stored: &mut RowStore, pass: u64) -> Vec<(f64, f64, Vec<f64>)> {
        let mut seen = Vec::new();
        for chunk in stored.chunks(pass) {
            seen.extend(chunk.unwrap().examples().map(|e| (e.target, e.weight, e.row.values.to_vec())));
        }
        seen
    }

    #[test]
    fn the_order_of_the_input_is_kept_unless_asked() {
        let mut stored = store(60_000, 1 << 40, None);
        let seen = visit(&mut stored, 0);
        assert!(seen.iter().enumerate().all(|(i, (target, weight, values))| {
            *target == i as f64 && *weight == 1.0 + (i % 3) as f64 && values.len() == i % 40
        }));
        assert_eq!(visit(&mut stored, 1), seen);
    }

    #[test]
    fn rows_that_are_visited_once_are_unpacked_a_few_at_a_time() {
        for memory in [0, 1 << 40] {
            let mut once = store_of(60_000, RowStoreOptions { memory, folder: None, shuffle: None, once: true });
            assert_eq!(visit(&mut once, 0), visit(&mut store(60_000, memory, None), 0));
            let most = once.chunks(0).map(|chunk| chunk.unwrap().len()).max().unwrap();
            assert!(most < 2000, "{most} rows were unpacked together");
        }
    }

    #[test]
    fn memory_does_not_change_the_order() {
        let (mut all, mut none) = (store(60_000, 1 << 40, Some(7)), store(60_000, 0, Some(7)));
        assert_eq!(all.bytes().1, 0);
        assert_eq!(none.bytes().0, 0);
        for pass in 0..2 {
            assert_eq!(visit(&mut all, pass), visit(&mut none, pass));
        }
        let [first, second] = [0, 1].map(|pass| visit(&mut all, pass));
        assert_ne!(first, second);
        let sorted = |mut seen: Vec<(f64, f64, Vec<f64>)>| {
            seen.sort_by(|a, b| a.0.total_cmp(&b.0));
            seen
        };
        assert_eq!(sorted(first), sorted(second));
    }

    #[test]
    fn shuffled_rows_are_spread_over_the_whole_stream() {
        let seen = visit(&mut store(200_000, 1 << 40, Some(1)), 0);
        let early = seen[..20_000].iter().map(|(target, _, _)| target).sum::<f64>() / 20_000.0;
        assert!((early - 100_000.0).abs() < 3_000.0, "the mean row of the first tenth is {early}");
    }

    #[test]
    fn tags_follow_their_rows() {
        let mut stored = RowStore::new(RowStoreOptions { memory: 0, folder: None, shuffle: Some(3), once: false });
        for row in 0..500u32 {
            let example = Example { row: Row { ids: &[row], values: &[1.0] }, target: 0.0, weight: 1.0 };
            stored.push_tagged(example, LabelCode::Number(0.0), Some(u64::from(row))).unwrap();
        }
        stored.finish().unwrap();
        let tags = stored.tags().unwrap().to_vec();
        for chunk in stored.chunks(1) {
            let chunk = chunk.unwrap();
            let rows = chunk.numbers().zip(chunk.examples());
            rows.for_each(|(number, example)| assert_eq!(tags[number], u64::from(example.row.ids[0])));
        }
        assert!(store(3, 0, None).tags().is_none());
    }

    #[test]
    fn rows_keep_their_numbers_in_every_pass() {
        let mut stored = store(60_000, 0, Some(7));
        let numbered = |stored: &mut RowStore, pass: u64| {
            let mut targets = vec![-1.0; 60_000];
            for chunk in stored.chunks(pass) {
                let chunk = chunk.unwrap();
                chunk.numbers().zip(chunk.examples()).for_each(|(number, example)| targets[number] = example.target);
            }
            targets
        };
        let first = numbered(&mut stored, 0);
        assert!(!first.contains(&-1.0), "each number is of one row");
        assert_eq!(numbered(&mut stored, 5), first);
    }

    #[test]
    fn label_codes_survive_and_become_targets() {
        let mut stored = RowStore::new(RowStoreOptions { memory: 0, folder: None, shuffle: None, once: false });
        let codes = [LabelCode::Text(1), LabelCode::Number(-0.0), LabelCode::Text(0), LabelCode::Number(2.5)];
        for code in codes {
            let row = Row { ids: &[3], values: &[1.5] };
            stored.push(Example { row, target: 7.0, weight: 1.0 }, code).unwrap();
        }
        stored.finish().unwrap();
        let labels = |stored: &mut RowStore| stored.chunks(0).next().unwrap().unwrap().labels().collect::<Vec<_>>();
        assert_eq!(labels(&mut stored), codes);
        let numbers = [(0.0, 2.0), (2.5, 3.0)].map(|(label, class): (f64, f64)| (label.to_bits(), class));
        stored.set_targets(TargetMap::Classes { numbers: numbers.into_iter().collect(), texts: vec![0.0, 1.0] });
        let targets =
            |stored: &mut RowStore| visit(stored, 0).into_iter().map(|(target, ..)| target).collect::<Vec<_>>();
        assert_eq!(targets(&mut stored), [1.0, 2.0, 0.0, 3.0]);
    }

    #[test]
    fn a_copy_has_the_same_rows_in_the_same_order() {
        let mut original = store(500, 1 << 40, Some(3));
        let mut copy = original.copy_in_memory();
        assert_eq!(visit(&mut copy, 2), visit(&mut original, 2));
    }
}
