//! Rows kept for several passes: in memory while they fit, beyond that in a file without a name.
//!
//! Rows are packed into blocks (about 8 bytes an entry, 4 if all values are 1), each with a checksum. Blocks past the
//! memory limit go to a temporary file that has no name from the start: it vanishes with the process, however that
//! ends, and can never be mistaken for a finished one.
//!
//! When rows are to be shuffled, each is dealt at random into one of several open blocks, so every block is a fair
//! sample of the stream even if the input is sorted; a pass then visits blocks, and rows within a group of blocks, in
//! a fresh random order. Order depends on the seed alone, not on the memory limit.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use rand_pcg::Pcg64;

use super::ReadError;
use super::packed::{pack, unpack};
use crate::data::{Batch, Example};
use crate::random::{Purpose, below, generator, shuffle};

/// How rows are held.
#[derive(Clone, Debug)]
pub struct HeldOptions {
    /// Bytes that may stay in memory.
    pub memory: u64,
    /// Where the rest goes; `None` is the system's folder for temporary files.
    pub folder: Option<PathBuf>,
    /// Seed of the random order, or `None` for the order of the input.
    pub shuffle: Option<u64>,
}

/// Entries and rows at which a block is closed.
const BLOCK_ENTRIES: usize = 1 << 18;
const BLOCK_ROWS: usize = 1 << 14;
/// Open blocks among which rows are dealt.
const HANDS: usize = 16;
/// Unpacked bytes of the blocks whose rows are shuffled together.
const GROUP_BYTES: usize = 64 << 20;

/// Rows for several passes.
pub struct Held {
    options: HeldOptions,
    open: Vec<Batch>,
    dealer: Pcg64,
    blocks: Vec<Stored>,
    file: Option<File>,
    memory_used: u64,
    file_used: u64,
    rows: u64,
    /// Rows in closed blocks.
    closed: u64,
    unpacked: Option<Vec<Batch>>,
}

struct Stored {
    place: Place,
    /// The number of its first row.
    first: u64,
    /// Bytes once unpacked.
    bytes: usize,
}

enum Place {
    Memory(Vec<u8>),
    File { start: u64, length: usize },
}

/// Blocks unpacked together, and the order to visit their rows in.
pub struct Group<'a> {
    batches: &'a [Batch],
    /// The number of each batch's first row.
    firsts: &'a [u64],
    order: &'a [(u32, u32)],
}

impl<'a> Group<'a> {
    /// The rows in their order.
    pub fn examples(&self) -> impl Iterator<Item = Example<'a>> + use<'a> {
        let batches = self.batches;
        self.order.iter().map(move |&(batch, row)| batches[batch as usize].example(row as usize))
    }

    /// What the rows are numbered by, in the same order: each row has one number below [`Held::rows`], the same in every
    /// pass.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + use<'a> {
        let firsts = self.firsts;
        self.order.iter().map(move |&(batch, row)| (firsts[batch as usize] + u64::from(row)) as usize)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

impl Held {
    /// Holds nothing yet.
    pub fn new(options: HeldOptions) -> Self {
        let hands = if options.shuffle.is_some() { HANDS } else { 1 };
        Held {
            open: vec![Batch::new(); hands],
            dealer: generator(options.shuffle.unwrap_or(0), Purpose::Deal, 0),
            options,
            blocks: Vec::new(),
            file: None,
            memory_used: 0,
            file_used: 0,
            rows: 0,
            closed: 0,
            unpacked: None,
        }
    }

    /// The number of rows held.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How rows are held.
    pub fn options(&self) -> &HeldOptions {
        &self.options
    }

    /// Whether all rows are unpacked, and shuffled, together.
    pub fn is_together(&self) -> bool {
        self.blocks.iter().map(|block| block.bytes).sum::<usize>() <= GROUP_BYTES
    }

    /// Bytes in memory and bytes on disk.
    pub fn bytes(&self) -> (u64, u64) {
        (self.memory_used, self.file_used)
    }

    /// Adds a row.
    pub fn push(&mut self, example: Example<'_>) -> Result<(), ReadError> {
        let hand = if self.open.len() == 1 { 0 } else { below(&mut self.dealer, self.open.len()) };
        self.open[hand].push(example);
        self.rows += 1;
        if self.open[hand].entries() >= BLOCK_ENTRIES || self.open[hand].len() >= BLOCK_ROWS {
            self.close(hand)?;
        }
        Ok(())
    }

    /// Ends the adding of rows.
    pub fn finish(&mut self) -> Result<(), ReadError> {
        (0..self.open.len()).try_for_each(|hand| self.close(hand))?;
        self.open.clear();
        Ok(())
    }

    /// Gives back memory and disk; no rows remain.
    pub fn clear(&mut self) {
        (self.blocks, self.unpacked, self.file) = (Vec::new(), None, None);
        (self.memory_used, self.file_used, self.rows, self.closed) = (0, 0, 0, 0);
    }

    fn close(&mut self, hand: usize) -> Result<(), ReadError> {
        if self.open[hand].is_empty() {
            return Ok(());
        }
        let packed = pack(&self.open[hand]);
        let (bytes, first) = (self.open[hand].bytes(), self.closed);
        self.closed += self.open[hand].len() as u64;
        self.open[hand].clear();
        let fits = self.file.is_none() && self.memory_used + packed.len() as u64 <= self.options.memory;
        let place = if fits { self.keep(packed) } else { self.spill(&packed)? };
        self.blocks.push(Stored { place, first, bytes });
        Ok(())
    }

    fn keep(&mut self, packed: Vec<u8>) -> Place {
        self.memory_used += packed.len() as u64;
        Place::Memory(packed)
    }

    fn spill(&mut self, packed: &[u8]) -> Result<Place, ReadError> {
        let failed = |action| move |source| ReadError::Cache { action, source };
        if self.file.is_none() {
            let made = match &self.options.folder {
                Some(folder) => tempfile::tempfile_in(folder),
                None => tempfile::tempfile(),
            };
            self.file = Some(made.map_err(failed("made"))?);
        }
        let file = self.file.as_mut().expect("just made");
        file.seek(SeekFrom::Start(self.file_used)).map_err(failed("written"))?;
        file.write_all(packed).map_err(failed("written"))?;
        let place = Place::File { start: self.file_used, length: packed.len() };
        self.file_used += packed.len() as u64;
        Ok(place)
    }

    fn unpack_block(&mut self, block: usize) -> Result<Batch, ReadError> {
        let damaged = ReadError::CacheDamaged { block };
        match &self.blocks[block].place {
            Place::Memory(packed) => unpack(packed).ok_or(damaged),
            &Place::File { start, length } => {
                let failed = |source| ReadError::Cache { action: "read", source };
                let file = self.file.as_mut().expect("blocks on disk have a file");
                let mut packed = vec![0; length];
                file.seek(SeekFrom::Start(start)).map_err(failed)?;
                file.read_exact(&mut packed).map_err(failed)?;
                unpack(&packed).ok_or(damaged)
            }
        }
    }

    /// Visits all rows of pass number `pass` (from 0), group by group. `visit` returns false to stop.
    pub fn pass<E: From<ReadError>>(
        &mut self,
        pass: u64,
        mut visit: impl FnMut(&Group<'_>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut random = self.options.shuffle.map(|seed| generator(seed, Purpose::Pass, pass));
        let mut blocks: Vec<usize> = (0..self.blocks.len()).collect();
        let one_group = self.is_together();
        if let (Some(random), false) = (&mut random, one_group) {
            shuffle(random, &mut blocks);
        }
        for group in self.groups(&blocks) {
            let batches = match self.unpacked.take() {
                Some(batches) => batches,
                None => group.iter().map(|&block| self.unpack_block(block)).collect::<Result<_, _>>()?,
            };
            let rows = |(i, batch): (usize, &Batch)| {
                (0..batch.len() as u32).map(move |row| (i as u32, row)).collect::<Vec<_>>()
            };
            let mut order: Vec<(u32, u32)> = batches.iter().enumerate().flat_map(rows).collect();
            if let Some(random) = &mut random {
                shuffle(random, &mut order);
            }
            let firsts: Vec<u64> = group.iter().map(|&block| self.blocks[block].first).collect();
            let go_on = visit(&Group { batches: &batches, firsts: &firsts, order: &order })?;
            if one_group {
                self.unpacked = Some(batches);
            }
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    fn groups(&self, blocks: &[usize]) -> Vec<Vec<usize>> {
        let limit = if self.options.shuffle.is_some() { GROUP_BYTES } else { GROUP_BYTES / 16 };
        let one_group = self.is_together();
        let (mut groups, mut bytes) = (vec![Vec::new()], 0);
        for &block in blocks {
            if bytes + self.blocks[block].bytes > limit && !one_group && bytes > 0 {
                groups.push(Vec::new());
                bytes = 0;
            }
            groups.last_mut().expect("never empty").push(block);
            bytes += self.blocks[block].bytes;
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    fn hold(rows: u32, memory: u64, shuffle: Option<u64>) -> Held {
        let mut held = Held::new(HeldOptions { memory, folder: None, shuffle });
        for row in 0..rows {
            let ids: Vec<u32> = (0..row % 40).collect();
            let values: Vec<f64> = ids.iter().map(|&id| 0.1 + f64::from(id * row)).collect();
            let row_of = Row { ids: &ids, values: &values };
            held.push(Example { row: row_of, target: f64::from(row), weight: 1.0 + f64::from(row % 3) }).unwrap();
        }
        held.finish().unwrap();
        held
    }

    fn visit(held: &mut Held, pass: u64) -> Vec<(f64, f64, Vec<f64>)> {
        let mut seen = Vec::new();
        held.pass(pass, |group| {
            seen.extend(group.examples().map(|e| (e.target, e.weight, e.row.values.to_vec())));
            Ok::<_, ReadError>(true)
        })
        .unwrap();
        seen
    }

    #[test]
    fn the_order_of_the_input_is_kept_unless_asked() {
        let mut held = hold(60_000, 1 << 40, None);
        let seen = visit(&mut held, 0);
        assert!(seen.iter().enumerate().all(|(i, (target, weight, values))| {
            *target == i as f64 && *weight == 1.0 + (i % 3) as f64 && values.len() == i % 40
        }));
        assert_eq!(visit(&mut held, 1), seen);
    }

    #[test]
    fn memory_does_not_change_the_order() {
        let (mut all, mut none) = (hold(60_000, 1 << 40, Some(7)), hold(60_000, 0, Some(7)));
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
        let seen = visit(&mut hold(200_000, 1 << 40, Some(1)), 0);
        let early = seen[..20_000].iter().map(|(target, _, _)| target).sum::<f64>() / 20_000.0;
        assert!((early - 100_000.0).abs() < 3_000.0, "the mean row of the first tenth is {early}");
    }

    #[test]
    fn rows_keep_their_numbers_in_every_pass() {
        let mut held = hold(60_000, 0, Some(7));
        let numbered = |held: &mut Held, pass: u64| {
            let mut targets = vec![-1.0; 60_000];
            held.pass(pass, |group| {
                group.numbers().zip(group.examples()).for_each(|(number, example)| targets[number] = example.target);
                Ok::<_, ReadError>(true)
            })
            .unwrap();
            targets
        };
        let first = numbered(&mut held, 0);
        assert!(!first.contains(&-1.0), "each number is of one row");
        assert_eq!(numbered(&mut held, 5), first);
    }
}
