//! Visits of stored rows: their order in each pass, and how blocks are unpacked.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use rayon::prelude::*;

use super::row_chunk::{Chunk, ChunkOrder, ChunkOrders, Chunks, RowStoreError};
use super::row_codec::{StoredRows, unpack};
use super::row_store::{CHUNK_BYTES, Place};
use super::{Batch, RowStore};
use crate::rng::{RngStream, generator, shuffle};

/// Blocks that are read from disk at a time when they are unpacked in parallel.
const READ_TOGETHER: usize = 8;

impl RowStore {
    /// The bytes of a packed block.
    fn packed(&mut self, block: usize) -> Result<Cow<'_, [u8]>, RowStoreError> {
        Ok(match &self.blocks[block].place {
            Place::Memory(packed) => Cow::Borrowed(packed),
            &Place::File { start, length } => {
                let failed = |source| RowStoreError::Io { action: "read", source };
                let file = self.file.as_mut().expect("blocks on disk have a file");
                let mut packed = vec![0; length];
                file.seek(SeekFrom::Start(start)).map_err(failed)?;
                file.read_exact(&mut packed).map_err(failed)?;
                Cow::Owned(packed)
            }
        })
    }

    /// The rows of a block, with targets once these are known.
    fn unpack_block(&mut self, block: usize) -> Result<StoredRows, RowStoreError> {
        let rows = unpack(&self.packed(block)?).ok_or(RowStoreError::Damaged { block })?;
        Ok(self.finished(rows))
    }

    /// Unpacked rows with their targets and weights.
    fn finished(&self, rows: StoredRows) -> StoredRows {
        let rows = match &self.targets {
            Some(targets) => rows.with_targets(targets),
            None => rows,
        };
        let rows = if self.class_factors.is_empty() { rows } else { rows.with_class_factors(&self.class_factors) };
        if self.weight_unit == 1.0 { rows } else { rows.with_weight_unit(self.weight_unit) }
    }

    /// What `map` makes of the rows of some blocks, given the place of a block among these: in parallel, in the pool of the
    /// caller.
    pub fn map_blocks<T: Send>(
        &mut self,
        blocks: &[usize],
        map: impl Fn(usize, &Batch) -> T + Sync,
    ) -> Result<Vec<T>, RowStoreError> {
        if self.fits_one_chunk() {
            let unpacked = self.all_unpacked()?;
            return Ok(blocks
                .par_iter()
                .enumerate()
                .map(|(place, &block)| map(place, &unpacked[block].rows))
                .collect());
        }
        // Blocks on disk are read one after the other, and only some at a time.
        let mut mapped = Vec::with_capacity(blocks.len());
        for (number, some) in blocks.chunks(READ_TOGETHER).enumerate() {
            let on_disk: Vec<Option<Vec<u8>>> = some
                .iter()
                .map(|&block| match self.packed(block)? {
                    Cow::Owned(packed) => Ok(Some(packed)),
                    Cow::Borrowed(_) => Ok(None),
                })
                .collect::<Result<_, RowStoreError>>()?;
            let store = &*self;
            let one = |(place, (&block, on_disk)): (usize, (&usize, Option<Vec<u8>>))| {
                let packed = match (&store.blocks[block].place, &on_disk) {
                    (Place::Memory(packed), _) | (_, Some(packed)) => packed,
                    _ => return Err(RowStoreError::Damaged { block }),
                };
                let rows = store.finished(unpack(packed).ok_or(RowStoreError::Damaged { block })?);
                Ok(map(number * READ_TOGETHER + place, &rows.rows))
            };
            let some = some.par_iter().zip(on_disk).enumerate().map(one).collect::<Result<Vec<T>, RowStoreError>>()?;
            mapped.extend(some);
        }
        Ok(mapped)
    }

    /// All rows of pass number `pass` (from 0), chunk by chunk.
    pub fn chunks(&mut self, pass: u64) -> Chunks<'_> {
        Chunks { orders: self.orders(pass), store: self }
    }

    /// The order in which pass number `pass` (from 0) visits the rows, chunk by chunk.
    pub fn orders(&self, pass: u64) -> ChunkOrders {
        let mut rng = self.options.shuffle.map(|seed| generator(seed, RngStream::PassOrder, pass));
        let mut blocks: Vec<usize> = (0..self.blocks.len()).collect();
        if let (Some(rng), false) = (&mut rng, self.fits_one_chunk()) {
            shuffle(rng, &mut blocks);
        }
        let firsts = self.blocks.iter().map(|block| block.first).chain([self.closed]).collect();
        ChunkOrders { rng, firsts, groups: self.groups(&blocks).into_iter() }
    }

    fn groups(&self, blocks: &[usize]) -> Vec<Vec<usize>> {
        let limit = match (self.options.once, self.options.shuffle) {
            (true, _) => 0,
            (false, Some(_)) => CHUNK_BYTES,
            (false, None) => CHUNK_BYTES / 16,
        };
        let one_chunk = self.fits_one_chunk();
        let (mut groups, mut bytes) = (vec![Vec::new()], 0);
        for &block in blocks {
            if bytes + self.blocks[block].bytes > limit && !one_chunk && bytes > 0 {
                groups.push(Vec::new());
                bytes = 0;
            }
            groups.last_mut().expect("never empty").push(block);
            bytes += self.blocks[block].bytes;
        }
        groups
    }

    pub(super) fn chunk(&mut self, order: ChunkOrder) -> Result<Chunk, RowStoreError> {
        let blocks: Arc<[StoredRows]> = if self.fits_one_chunk() {
            self.all_unpacked()?
        } else {
            order.blocks.iter().map(|&block| self.unpack_block(block)).collect::<Result<_, _>>()?
        };
        Ok(Chunk { blocks, order })
    }

    /// The rows of all blocks, which fit in one chunk.
    fn all_unpacked(&mut self) -> Result<Arc<[StoredRows]>, RowStoreError> {
        if self.unpacked.is_none() {
            let all = (0..self.blocks.len()).map(|block| self.unpack_block(block));
            self.unpacked = Some(all.collect::<Result<_, _>>()?);
        }
        Ok(self.unpacked.clone().expect("just unpacked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Example, LabelCode, Row, RowStoreOptions};

    #[test]
    fn blocks_in_parallel_have_the_rows_of_a_pass() {
        for (rows, memory) in [(30_000u32, 0), (30_000, 1 << 40), (300, 1 << 40)] {
            let mut store = RowStore::new(RowStoreOptions { memory, folder: None, shuffle: Some(5), once: false });
            let ids: Vec<u32> = (0..200).collect();
            for row in 0..rows {
                let values: Vec<f64> = ids.iter().map(|&id| 1.0 + f64::from((id + row) % 7)).collect();
                let example = Example { row: Row { ids: &ids, values: &values }, target: 0.0, weight: 1.0 };
                store.push(example, LabelCode::Number(f64::from(row))).unwrap();
            }
            store.finish().unwrap();
            assert_eq!(store.fits_one_chunk(), rows < 1000);
            assert_eq!(store.entries(), 200 * u64::from(rows));
            let mut seen = 0;
            for order in store.orders(2) {
                let blocks = store.map_blocks(order.blocks(), |_, rows| rows.clone()).unwrap();
                let chunk = store.chunk(order).unwrap();
                for (&(block, row), example) in chunk.order.rows().iter().zip(chunk.examples()) {
                    let mapped = blocks[block as usize].example(row as usize);
                    assert_eq!((mapped.target, mapped.row.values), (example.target, example.row.values));
                    seen += 1;
                }
            }
            assert_eq!(seen, rows);
        }
    }
}
