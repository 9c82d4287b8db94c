//! The tallies of a stage: what the rows of a bucket say, as bytes, and the reduction over buckets.
//!
//! A stage is a function of the rows of a bucket and the plan. The parts of a block are added in the order of their
//! buckets, whatever order they come in; a part that comes twice, from a task that was repeated, counts once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::DistributedError;
use super::packet::{Opened, Packet, open};
use super::plan::{Plan, Stage};
use super::rows::KeyedRows;
use super::survey;
use crate::data::{FeatureKey, Vocabulary};
use crate::stabilized::{HashedRows, Narrowing, StateSums};
use crate::threads::Threads;

/// Columns of a block.
pub(super) const BLOCK: usize = 1 << 12;

/// A part of the tallies of a bucket, or of all buckets after their reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// The block of columns.
    pub block: u32,
    /// The bucket of the rows.
    pub bucket: u32,
    /// The tallies themselves.
    pub raw: Vec<u8>,
}

/// The tallies of the rows of whole buckets.
pub fn tallies(plan: &Plan, rows: &KeyedRows) -> Result<Vec<Tally>, DistributedError> {
    let mut found = Vec::new();
    let vocabulary = plan.vocabulary();
    for (bucket, rows) in rows.buckets(plan.buckets) {
        found.extend(match plan.stage {
            Stage::Survey => survey::survey(bucket, &rows)?,
            Stage::Narrow => narrow(plan, &vocabulary, bucket, &rows)?,
            Stage::Collect => return Err(DistributedError::WrongStage { kind: "collect", wanted: "tallies" }),
        });
    }
    Ok(found)
}

impl Plan {
    /// The columns that are left; their ids are their places.
    pub(super) fn vocabulary(&self) -> Vocabulary {
        let mut vocabulary = Vocabulary::new(None);
        for name in &self.columns.names {
            vocabulary.intern(FeatureKey::from_name(name));
        }
        vocabulary
    }
}

/// The header of the tallies of a narrowing stage: the number of tasks, the length of the sums, and whether only those
/// that are not zero are listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    parts: u64,
    length: usize,
    sparse: bool,
}

/// Sums of a block: [Z, N] for each ensemble, output and active column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockSums {
    /// Buckets that were added.
    pub(super) parts: u64,
    pub(super) sums: Vec<[f64; 2]>,
}

fn narrow(plan: &Plan, vocabulary: &Vocabulary, bucket: u32, rows: &KeyedRows) -> Result<Vec<Tally>, DistributedError> {
    let (facts, targets) = (plan.facts()?, plan.targets()?);
    let numbers = plan.encoded(rows)?;
    let row_hashes = rows.row_hashes(plan.settings.keyed, &numbers);
    let batch = rows.rows.lookup(vocabulary).with_targets(numbers);
    let batch = if facts.class_factors.is_empty() { batch } else { batch.with_class_factors(&facts.class_factors) };
    let rows = HashedRows { batch: batch.with_weight_unit(facts.weight_unit), row_hashes };
    let narrowing = Narrowing {
        intercept: plan.settings.recipe.intercept,
        targets: &targets,
        classes: &facts.classes,
        columns: plan.scaling(),
        sizes: &plan.columns.sizes,
        ensembles: &plan.ensembles,
    };
    // Workers share a machine: the buckets are what is done in parallel.
    let sums = Threads::new(1).install(|| narrowing.learn(&rows));
    let blocks = plan.columns.names.len().div_ceil(BLOCK);
    let tally = |block: usize| {
        let sums = BlockSums { parts: 1, sums: plan.sums_of_block(block, &sums) };
        Tally { block: block as u32, bucket, raw: sums.bytes() }
    };
    Ok((0..blocks).map(tally).collect())
}

impl Plan {
    /// The places of a block in the active columns of each ensemble.
    fn span(&self, ensemble: usize, block: usize) -> std::ops::Range<usize> {
        let active = &self.ensembles[ensemble].0;
        let place = |column: usize| active.partition_point(|&id| (id as usize) < column);
        place(block * BLOCK)..place((block + 1) * BLOCK)
    }

    fn sums_of_block(&self, block: usize, sums: &StateSums) -> Vec<[f64; 2]> {
        let of_ensemble = |number: usize| {
            let span = self.span(number, block);
            sums[number].iter().flat_map(move |output| output[span.clone()].iter().copied())
        };
        (0..self.ensembles.len()).flat_map(of_ensemble).collect()
    }

    /// The sums of the added tallies of a narrowing stage, by ensemble and output.
    pub fn state_sums(&self, tallies: &[Tally]) -> Result<Vec<Vec<Vec<[f64; 2]>>>, DistributedError> {
        let blocks = tallies.iter().map(|tally| BlockSums::read(&tally.raw)).collect::<Result<Vec<_>, _>>()?;
        self.join_blocks(&blocks).map(|(sums, _)| sums)
    }

    /// The sums of all blocks by ensemble and output, and the number of parts.
    pub(super) fn join_blocks(&self, blocks: &[BlockSums]) -> Result<(StateSums, u64), DistributedError> {
        let other = |reason: &str| DistributedError::OtherTallies { reason: reason.into() };
        let outputs = self.targets()?.outputs();
        let mut sums: StateSums = vec![vec![Vec::new(); outputs]; self.ensembles.len()];
        for (block, found) in blocks.iter().enumerate() {
            let mut rest = &found.sums[..];
            for (number, sums) in sums.iter_mut().enumerate() {
                let length = self.span(number, block).len();
                for output in sums {
                    let (now, later) = rest.split_at_checked(length).ok_or_else(|| other("a block is too short"))?;
                    output.extend_from_slice(now);
                    rest = later;
                }
            }
            if !rest.is_empty() {
                return Err(other("a block is too long"));
            }
        }
        let parts = blocks.first().map_or(0, |block| block.parts);
        if blocks.iter().any(|block| block.parts != parts) {
            return Err(other("blocks have different numbers of buckets"));
        }
        Ok((sums, parts))
    }
}

impl BlockSums {
    /// Only sums that are not zero are listed if that is shorter: most columns of wide data are absent from most buckets.
    fn bytes(&self) -> Vec<u8> {
        let nonzero = || self.sums.iter().enumerate().filter(|(_, sum)| **sum != [0.0; 2]);
        let sparse = nonzero().count() * 20 < self.sums.len() * 16;
        let header = Header { parts: self.parts, length: self.sums.len(), sparse };
        let packet = if sparse {
            let places = nonzero().map(|(place, _)| place as u32);
            Packet::default().put_ids("places", places).put("sums", nonzero().flat_map(|(_, sum)| *sum))
        } else {
            Packet::default().put("sums", self.sums.iter().flatten().copied())
        };
        packet.bytes(&header)
    }

    pub(super) fn read(raw: &[u8]) -> Result<Self, DistributedError> {
        let opened: Opened<Header> = open(raw)?;
        let Header { parts, length, sparse } = opened.header;
        let numbers = opened.numbers("sums")?;
        let pairs = numbers.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        let mut sums = vec![[0.0; 2]; length];
        let places = if sparse { opened.ids("places")? } else { (0..length as u32).collect() };
        if places.len() != pairs.len() || places.iter().any(|&place| place as usize >= length) {
            return Err(DistributedError::Damaged { reason: "the sums of a block do not fit".into() });
        }
        places.into_iter().zip(pairs).for_each(|(place, pair)| sums[place as usize] = pair);
        Ok(BlockSums { parts, sums })
    }

    fn merge(parts: &[&[u8]]) -> Result<Vec<u8>, DistributedError> {
        let mut total: Option<BlockSums> = None;
        for part in parts {
            let part = BlockSums::read(part)?;
            match &mut total {
                None => total = Some(part),
                Some(total) if total.sums.len() == part.sums.len() => {
                    total.parts += part.parts;
                    for (sum, other) in total.sums.iter_mut().zip(part.sums) {
                        *sum = [sum[0] + other[0], sum[1] + other[1]];
                    }
                }
                Some(_) => {
                    return Err(DistributedError::OtherTallies { reason: "parts of a block differ in length".into() });
                }
            }
        }
        Ok(total.map_or_else(Vec::new, |total| total.bytes()))
    }
}

/// Adds the parts of whole blocks, each in the order of its buckets. A part that comes twice counts once.
pub fn add(parts: Vec<Tally>) -> Result<Vec<Tally>, DistributedError> {
    let mut blocks: BTreeMap<u32, BTreeMap<u32, Vec<u8>>> = BTreeMap::new();
    for Tally { block, bucket, raw } in parts {
        let parts = blocks.entry(block).or_default();
        if parts.get(&bucket).is_some_and(|known| *known != raw) {
            return Err(DistributedError::Differing { block, bucket });
        }
        parts.insert(bucket, raw);
    }
    let added = |(block, parts): (u32, BTreeMap<u32, Vec<u8>>)| {
        let parts: Vec<&[u8]> = parts.values().map(Vec::as_slice).collect();
        let is_sums = open::<Header>(parts[0]).is_ok();
        let raw = if is_sums { BlockSums::merge(&parts)? } else { survey::merge(&parts)? };
        Ok(Tally { block, bucket: 0, raw })
    };
    blocks.into_iter().map(added).collect()
}
