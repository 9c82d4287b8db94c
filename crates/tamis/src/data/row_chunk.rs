//! A part of the stored rows, unpacked and in the order in which they are visited.

use std::io;
use std::sync::Arc;

use rand_pcg::Pcg64;
use thiserror::Error;

use super::label_stats::LabelCode;
use super::row_codec::StoredRows;
use super::{Example, RowStore};
use crate::param::names;
use crate::rng::shuffle;

/// Blocks that are visited together, and the order of their rows.
#[derive(Clone, Debug)]
pub struct ChunkOrder {
    /// The numbers of the blocks.
    pub(super) blocks: Vec<usize>,
    /// The number of each block's first row.
    pub(super) firsts: Vec<u64>,
    /// The place of the block among these, and the row in the block.
    pub(super) order: Vec<(u32, u32)>,
}

impl ChunkOrder {
    /// The numbers of the blocks.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// The number of each block's first row.
    pub fn firsts(&self) -> &[u64] {
        &self.firsts
    }

    /// The rows in visiting order: the place of the block among those of the chunk, and the row in the block.
    pub fn rows(&self) -> &[(u32, u32)] {
        &self.order
    }

    /// The row numbers, in the same order: each row has one number below [`RowStore::rows`], the same in every pass.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().map(|&(block, row)| (self.firsts[block as usize] + u64::from(row)) as usize)
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

/// The orders of the chunks of a pass.
pub struct ChunkOrders {
    pub(super) rng: Option<Pcg64>,
    /// The first row of each block, and of one after the last.
    pub(super) firsts: Vec<u64>,
    pub(super) groups: std::vec::IntoIter<Vec<usize>>,
}

impl Iterator for ChunkOrders {
    type Item = ChunkOrder;

    fn next(&mut self) -> Option<ChunkOrder> {
        let blocks = self.groups.next()?;
        let rows = |(place, &block): (usize, &usize)| {
            let count = (self.firsts[block + 1] - self.firsts[block]) as u32;
            (0..count).map(move |row| (place as u32, row))
        };
        let mut order: Vec<(u32, u32)> = blocks.iter().enumerate().flat_map(rows).collect();
        if let Some(rng) = &mut self.rng {
            shuffle(rng, &mut order);
        }
        let firsts = blocks.iter().map(|&block| self.firsts[block]).collect();
        Some(ChunkOrder { blocks, firsts, order })
    }
}

/// Blocks unpacked together, and the order in which their rows are visited.
pub struct Chunk {
    pub(super) blocks: Arc<[StoredRows]>,
    pub(super) order: ChunkOrder,
}

impl Chunk {
    /// The rows in visiting order.
    pub fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        self.order.order.iter().map(|&(block, row)| self.blocks[block as usize].rows.example(row as usize))
    }

    /// The label codes of the rows, in the same order.
    pub fn labels(&self) -> impl Iterator<Item = LabelCode> + '_ {
        self.order.order.iter().map(|&(block, row)| self.blocks[block as usize].label(row as usize))
    }

    /// The row numbers, in the same order: each row has one number below [`RowStore::rows`], the same in every pass.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.numbers()
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

/// The chunks of a pass.
pub struct Chunks<'a> {
    pub(super) store: &'a mut RowStore,
    pub(super) orders: ChunkOrders,
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk, RowStoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = self.orders.next()?;
        Some(self.store.chunk(order))
    }
}

/// Stored rows could not be written or read back.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum RowStoreError {
    #[error(
        "the temporary file for rows cannot be {action}: {source}; choose another folder with {}, or keep more rows in memory with {}",
        names::CACHE_DIR,
        names::MEMORY.with("N")
    )]
    Io { action: &'static str, source: io::Error },
    #[error("the temporary file for rows is damaged: checksum mismatch in block {block}")]
    Damaged { block: usize },
}
