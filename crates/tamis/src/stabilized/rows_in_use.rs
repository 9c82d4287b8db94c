//! The rows over the features in use: scaled, block by block, and kept once they are small.
//!
//! A stage needs the features of its ensembles only, and these are fewer in each stage. When a block of the row store is visited,
//! the entries of all other features are left out. Where little remains, it is kept: the next visit of the block begins with
//! it and not with the packed rows. Sets of features shrink from stage to stage, so that nothing is missing; a visit that needs
//! other features goes back to the store.
//!
//! | rule | where | value | from |
//! |---|---|---|---|
//! | rows are kept if they take this share of all of their entries, at most | [`KEPT_SHARE`] | a third | all of them together then take less memory than the paths have given back |
//!
//! Cost: one visit of the entries of a block, in parallel over blocks. Memory: that of the row store, at most.

use std::sync::Arc;

use rayon::prelude::*;

use super::row_transform::{FeatureSet, RowTransform};
use super::subsamples::HashedRows;
use crate::data::{ChunkOrder, Example, RowStore};
use crate::threads::Threads;
use crate::trainer::TrainError;

/// Rows over the features in use are kept if they take at most one of so many parts of their bytes.
const KEPT_SHARE: usize = 3;

/// The rows of a block over some features.
#[derive(Clone)]
struct KeptRows {
    rows: Arc<HashedRows>,
    features: Arc<FeatureSet>,
}

/// Rows over the features in use, by block of the row store.
#[derive(Default)]
pub(super) struct RowsInUse {
    kept: Vec<Option<KeptRows>>,
    /// Bytes of the kept rows.
    bytes: u64,
}

/// The rows of a chunk over some features, and the order in which they are visited.
pub(super) struct ChunkInUse {
    blocks: Vec<Arc<HashedRows>>,
    order: ChunkOrder,
}

impl ChunkInUse {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Rows with their hashes, from one in the order of visits on.
    pub(super) fn rows_from(&self, first: usize) -> impl Iterator<Item = (Example<'_>, u64)> {
        self.order.rows()[first..].iter().map(|&(block, row)| self.blocks[block as usize].row(row as usize))
    }
}

/// How rows of the store are prepared.
pub(super) struct Preparation<'a> {
    pub(super) transform: &'a RowTransform,
    /// The hash of each row, by row number.
    pub(super) row_hashes: &'a [u64],
    pub(super) threads: &'a Threads,
}

impl RowsInUse {
    /// The rows of a chunk over some features.
    pub(super) fn chunk(
        &self,
        store: &mut RowStore,
        order: ChunkOrder,
        features: &Arc<FeatureSet>,
        by: &Preparation<'_>,
    ) -> Result<ChunkInUse, TrainError> {
        let kept = |&block: &usize| {
            self.kept.get(block).and_then(Option::as_ref).filter(|kept| kept.features.contains_all(features))
        };
        let known: Vec<Option<&KeptRows>> = order.blocks().iter().map(kept).collect();
        let (places, unknown): (Vec<usize>, Vec<usize>) =
            order.blocks().iter().enumerate().filter(|&(place, _)| known[place].is_none()).unzip();
        let of_known = |kept: &KeptRows| match Arc::ptr_eq(&kept.features, features) {
            true => kept.rows.clone(),
            false => Arc::new(kept.rows.filtered(|id| features.contains(id))),
        };
        let (blocks, new) = by.threads.install(|| {
            let blocks: Vec<Option<Arc<HashedRows>>> = known.par_iter().map(|kept| kept.map(of_known)).collect();
            let new = store.map_blocks(&unknown, |number, batch| {
                let mut rows = HashedRows::default();
                rows.batch.reserve(batch.len(), batch.entries());
                let hashes = &by.row_hashes[order.firsts()[places[number]] as usize..];
                for (example, &row_hash) in batch.examples().zip(hashes) {
                    by.transform.scale_some(example, row_hash, features, &mut rows);
                }
                Arc::new(rows)
            });
            (blocks, new)
        });
        let mut new = new?.into_iter();
        let blocks = blocks.into_iter().map(|rows| rows.or_else(|| new.next()).expect("known or new")).collect();
        Ok(ChunkInUse { blocks, order })
    }

    /// Keeps the rows of a chunk that are small, if there is memory for them; `features` are those that they have.
    pub(super) fn keep(&mut self, chunk: &ChunkInUse, features: &Arc<FeatureSet>, store: &RowStore) {
        let room = store.options().memory.saturating_sub(store.bytes().0);
        for (&block, rows) in chunk.order.blocks().iter().zip(&chunk.blocks) {
            self.kept.resize(self.kept.len().max(block + 1), None);
            let before = self.kept[block].as_ref().map_or(0, |kept| kept.rows.batch.bytes() as u64);
            let bytes = self.bytes - before + rows.batch.bytes() as u64;
            if KEPT_SHARE * rows.batch.bytes() <= store.block_bytes(block) && bytes <= room {
                self.kept[block] = Some(KeptRows { rows: rows.clone(), features: features.clone() });
                self.bytes = bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{LabelCode, Row, RowScale, RowStoreOptions};

    /// Each row has the features 10 to 29, and one of the features 1 to 9.
    fn store() -> RowStore {
        let mut store = RowStore::new(RowStoreOptions { memory: 1 << 30, folder: None, shuffle: Some(3), once: false });
        for number in 0..500u32 {
            let ids: Vec<u32> = std::iter::once(1 + number % 9).chain(10..30).collect();
            let values = vec![1.0 + f64::from(number); ids.len()];
            let row = Row { ids: &ids, values: &values };
            store.push(Example { row, target: 0.0, weight: 1.0 }, LabelCode::Number(0.0)).unwrap();
        }
        store.finish().unwrap();
        store
    }

    fn set(features: &[u32]) -> Arc<FeatureSet> {
        Arc::new(FeatureSet::new(features.iter().copied(), 30))
    }

    #[test]
    fn kept_rows_are_those_of_the_store_without_some_features() {
        let transform = RowTransform::of_columns(RowScale::SqrtCount, vec![(2.0, 0.0); 30].into());
        let (hashes, threads): (Vec<u64>, _) = ((0..500).collect(), Threads::new(2));
        let by = Preparation { transform: &transform, row_hashes: &hashes, threads: &threads };
        let (mut store, mut rows) = (store(), RowsInUse::default());
        let visit = |rows: &RowsInUse, store: &mut RowStore, features: &Arc<FeatureSet>| {
            let order = store.orders(1).next().unwrap();
            rows.chunk(store, order, features, &by).unwrap()
        };
        let seen = |chunk: &ChunkInUse| -> Vec<(u64, Vec<(u32, f64)>)> {
            chunk.rows_from(0).map(|(example, hash)| (hash, example.row.iter().collect())).collect()
        };
        let (many, few, one) = (Arc::new(FeatureSet::new(2..30, 30)), set(&[2, 3]), set(&[3]));
        let all = visit(&rows, &mut store, &many);
        rows.keep(&all, &many, &store);
        assert!(rows.kept.iter().all(Option::is_none), "most features are not few");
        let small = visit(&rows, &mut store, &few);
        rows.keep(&small, &few, &store);
        assert!(rows.kept.iter().all(Option::is_some) && rows.bytes > 0);
        let fresh = RowsInUse::default();
        for features in [&many, &few, &one] {
            assert_eq!(seen(&visit(&rows, &mut store, features)), seen(&visit(&fresh, &mut store, features)));
        }
        // Numbers of the store are not those of the input, but a value says which row it is from.
        let (example, _) = small.rows_from(0).find(|(example, _)| example.row.ids == [3]).expect("a ninth of the rows");
        let number = example.row.values[0] * 21f64.sqrt() * 2.0 - 1.0;
        assert!(
            (number - number.round()).abs() < 1e-9 && number.round() as u32 % 9 == 2,
            "scaled as a row of 21: {number}"
        );
    }
}
