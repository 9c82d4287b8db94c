//! The survey: the rows, labels and columns of a part of the data. Surveys merge, in the order of the buckets.
//!
//! Columns are spread over [`BLOCKS`] blocks by a hash of their names, so that a reduction by blocks needs no machine that
//! holds all of them. The labels are a block of their own.

use serde::{Deserialize, Serialize};

use super::error::DistributedError;
use super::labels::{LabelRecord, LabelSurvey};
use super::packet::{Opened, Packet, open};
use super::rows::KeyedRows;
use super::tallies::Tally;
use crate::data::{ColumnMoments, FeatureKey, TextMap, ToF64s, Vocabulary};

/// Blocks of columns.
pub(super) const BLOCKS: u32 = 64;
/// The block of the labels.
pub(super) const LABELS: u32 = BLOCKS;
/// Columns of a block that are kept, at most: those of the fewest rows are no candidates.
const MOST_COLUMNS: usize = 1 << 14;

/// A column of a part of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ColumnSurvey {
    pub(super) moments: ColumnMoments,
    /// Σ |x|.
    pub(super) absolute: f64,
}

impl ColumnSurvey {
    fn merge(&mut self, other: &ColumnSurvey) {
        self.moments.merge(&other.moments);
        self.absolute += other.absolute;
    }
}

impl ToF64s for ColumnSurvey {
    const WIDTH: usize = ColumnMoments::WIDTH + 1;
    fn pack(&self, out: &mut Vec<f64>) {
        self.moments.pack(out);
        out.push(self.absolute);
    }
    fn unpack(fields: &[f64]) -> Self {
        let (moments, absolute) = (ColumnMoments::unpack(fields), fields[ColumnMoments::WIDTH]);
        ColumnSurvey { moments, absolute }
    }
}

/// The header of a block.
#[derive(Serialize, Deserialize)]
enum Header {
    Labels(LabelRecord),
    /// The number of columns, with those that were left out.
    Columns {
        seen: u64,
    },
}

/// Columns of a block by a hash of their names, then by name: names that share a hash are rare.
pub(super) struct ColumnBlock {
    pub(super) seen: u64,
    pub(super) columns: Vec<(Box<str>, ColumnSurvey)>,
}

/// A block after its reduction.
pub(super) enum SurveyBlock {
    Labels(LabelSurvey),
    Columns(ColumnBlock),
}

/// The tallies of the rows of a bucket.
pub(super) fn survey(bucket: u32, rows: &KeyedRows) -> Result<Vec<Tally>, DistributedError> {
    let mut vocabulary = Vocabulary::new(None);
    let mut columns: Vec<ColumnSurvey> = Vec::new();
    let mut labels = LabelSurvey::default();
    let mut last_row: Vec<usize> = Vec::new();
    for row in 0..rows.len() {
        labels.observe(&rows.rows, row)?;
        for (key, value) in rows.rows.entries(row) {
            let id = vocabulary.intern(key) as usize;
            if id == columns.len() {
                columns.push(ColumnSurvey::default());
                last_row.push(usize::MAX);
            }
            if std::mem::replace(&mut last_row[id], row) == row {
                return Err(DistributedError::Duplicate { row, name: key.to_string() });
            }
            columns[id].moments.add(value);
            columns[id].absolute += value.abs();
        }
    }
    let mut blocks: Vec<Vec<(Box<str>, ColumnSurvey)>> = vec![Vec::new(); BLOCKS as usize];
    for (id, column) in columns.into_iter().enumerate() {
        let block = vocabulary.name_hash(id as u32) >> 58;
        blocks[block as usize].push((vocabulary.name(id as u32).into(), column));
    }
    let filled = blocks.into_iter().enumerate().filter(|(_, columns)| !columns.is_empty());
    let tally = |(block, columns): (usize, Vec<_>)| Tally {
        block: block as u32,
        bucket,
        raw: ColumnBlock { seen: columns.len() as u64, columns: sorted(columns) }.bytes(),
    };
    let labels = Tally { block: LABELS, bucket, raw: Packet::default().bytes(&Header::Labels(labels.record())) };
    Ok(filled.map(tally).chain([labels]).collect())
}

/// Columns in the order of the hashes of their names.
fn sorted(columns: Vec<(Box<str>, ColumnSurvey)>) -> Vec<(Box<str>, ColumnSurvey)> {
    let mut keyed: Vec<(u64, (Box<str>, ColumnSurvey))> =
        columns.into_iter().map(|column| (crate::data::key_hash(FeatureKey::from_name(&column.0)), column)).collect();
    keyed.sort_by(|(a, one), (b, other)| a.cmp(b).then_with(|| one.0.cmp(&other.0)));
    keyed.into_iter().map(|(_, column)| column).collect()
}

impl ColumnBlock {
    fn bytes(&self) -> Vec<u8> {
        let mut numbers = Vec::with_capacity(self.columns.len() * ColumnSurvey::WIDTH);
        self.columns.iter().for_each(|(_, column)| column.pack(&mut numbers));
        let names = self.columns.iter().map(|(name, _)| &**name);
        Packet::default().put_texts("names", names).put("columns", numbers).bytes(&Header::Columns { seen: self.seen })
    }

    fn read(opened: &Opened<Header>, seen: u64) -> Result<Self, DistributedError> {
        let names = opened.texts("names")?;
        let numbers = opened.numbers("columns")?;
        let columns = numbers.chunks_exact(ColumnSurvey::WIDTH).map(ColumnSurvey::unpack);
        Ok(ColumnBlock { seen, columns: names.into_iter().zip(columns).collect() })
    }

    /// Leaves out columns of few rows if there are very many.
    fn bounded(self) -> Self {
        let most = MOST_COLUMNS;
        let of_rows = |least: f64| self.columns.iter().filter(|(_, one)| one.moments.count() >= least).count();
        let fewest = (1..).map(f64::from).find(|&least| of_rows(least) <= most).unwrap_or(1.0);
        let columns = self.columns.into_iter().filter(|(_, one)| one.moments.count() >= fewest).collect();
        ColumnBlock { columns, ..self }
    }
}

/// A block that was read.
pub(super) fn read_block(raw: &[u8]) -> Result<SurveyBlock, DistributedError> {
    let opened: Opened<Header> = open(raw)?;
    if let Header::Columns { seen } = opened.header {
        return ColumnBlock::read(&opened, seen).map(SurveyBlock::Columns);
    }
    let Header::Labels(record) = opened.header else { unreachable!("a block is one of the two") };
    Ok(SurveyBlock::Labels(record.into()))
}

/// Merges the parts of a block, in the order of their buckets.
pub(super) fn merge(parts: &[&[u8]]) -> Result<Vec<u8>, DistributedError> {
    let mut labels: Option<LabelSurvey> = None;
    let mut places: TextMap<Box<str>, usize> = TextMap::default();
    let mut columns: Vec<(Box<str>, ColumnSurvey)> = Vec::new();
    for part in parts {
        match read_block(part)? {
            SurveyBlock::Labels(other) => labels.get_or_insert_default().merge(other),
            SurveyBlock::Columns(other) => {
                for (name, column) in other.columns {
                    if let Some(&place) = places.get(&name) {
                        columns[place].1.merge(&column);
                    } else {
                        places.insert(name.clone(), columns.len());
                        columns.push((name, column));
                    }
                }
            }
        }
    }
    Ok(match labels {
        Some(labels) => Packet::default().bytes(&Header::Labels(labels.record())),
        None => ColumnBlock { seen: columns.len() as u64, columns: sorted(columns) }.bounded().bytes(),
    })
}
