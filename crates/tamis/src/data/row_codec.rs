//! A block of stored rows as bytes, and back.

use super::f64_codec::doubles;
use super::label_stats::LabelCode;
use super::target::TargetMap;
use super::{Batch, Example, Parts};

const ALL_ONES: u8 = 0;
const SINGLES: u8 = 1;
const DOUBLES: u8 = 2;
const LISTED: u8 = 3;

/// Rows with their label codes, and with targets once these are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StoredRows {
    /// The rows. Their targets are the codes until targets are known.
    pub(super) rows: Batch,
    /// The codes, where the rows have targets.
    codes: Vec<f64>,
    /// Which labels are texts; empty if none are.
    is_text: Vec<bool>,
}

impl StoredRows {
    pub(super) fn push(&mut self, example: Example<'_>, label: LabelCode) {
        let (target, is_text) = match label {
            LabelCode::Number(number) => (number, false),
            LabelCode::Text(number) => (f64::from(number), true),
        };
        if is_text || !self.is_text.is_empty() {
            self.is_text.resize(self.rows.len(), false);
            self.is_text.push(is_text);
        }
        self.rows.push(Example { target, ..example });
    }

    pub(super) fn label(&self, row: usize) -> LabelCode {
        let code = self.codes.get(row).copied().unwrap_or_else(|| self.rows.example(row).target);
        let is_text = self.is_text.get(row).copied().unwrap_or(false);
        if is_text { LabelCode::Text(code as u32) } else { LabelCode::Number(code) }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.is_text.clear();
    }

    /// The rows with targets for label codes.
    pub(super) fn with_targets(self, targets: &TargetMap) -> Self {
        let encoded = (0..self.rows.len()).map(|row| targets.target(self.label(row))).collect();
        let codes = self.rows.parts().targets.to_vec();
        StoredRows { rows: self.rows.with_targets(encoded), codes, is_text: self.is_text }
    }

    /// The rows with their weights multiplied by the factors of their classes.
    pub(super) fn with_class_factors(self, factors: &[f64]) -> Self {
        StoredRows { rows: self.rows.with_class_factors(factors), ..self }
    }

    /// The rows with their weights divided by a number.
    pub(super) fn with_weight_unit(self, unit: f64) -> Self {
        StoredRows { rows: self.rows.with_weight_unit(unit), ..self }
    }
}

/// The different values of a block, if they are few: one byte then says which of them an entry has. Word counts, their logarithms
/// and codes of categories are few.
struct ValueList {
    values: Vec<f64>,
    /// By hash: the bits of a value and its place, or `None`.
    table: Vec<Option<(u64, u8)>>,
}

impl ValueList {
    const MOST: usize = 256;
    const SLOTS: usize = 4 * ValueList::MOST;

    /// `None` if there are too many.
    fn of(values: &[f64]) -> Option<Self> {
        let mut list = ValueList { values: Vec::new(), table: vec![None; ValueList::SLOTS] };
        for &value in values {
            let slot = list.slot(value.to_bits());
            if list.table[slot].is_none() {
                if list.values.len() == ValueList::MOST {
                    return None;
                }
                list.table[slot] = Some((value.to_bits(), list.values.len() as u8));
                list.values.push(value);
            }
        }
        Some(list)
    }

    /// The slot of a value, or the empty one where it belongs.
    fn slot(&self, bits: u64) -> usize {
        let mut slot = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % ValueList::SLOTS;
        while self.table[slot].is_some_and(|(other, _)| other != bits) {
            slot = (slot + 1) % ValueList::SLOTS;
        }
        slot
    }

    /// The number of values, the values, and the place of each entry's.
    fn pack(&self, values: &[f64], out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.values.len() as u16).to_le_bytes());
        self.values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        let place = |value: &f64| self.table[self.slot(value.to_bits())].map_or(0, |(_, place)| place);
        out.extend(values.iter().map(place));
    }
}

/// Rows as bytes: counts, row lengths, ids, values in the narrowest exact form, label codes, weights, checksum.
pub(super) fn pack(StoredRows { rows, is_text, .. }: &StoredRows) -> Vec<u8> {
    let Parts { offsets, ids, values, targets, weights } = rows.parts();
    let list = ValueList::of(values);
    let kind = if values.iter().all(|&value| value == 1.0) {
        ALL_ONES
    } else if list.is_some() {
        LISTED
    } else if values.iter().all(|&value| f64::from(value as f32) == value) {
        SINGLES
    } else {
        DOUBLES
    };
    let weighted = weights.iter().any(|&weight| weight != 1.0);
    let value_bytes = [0, 4, 8, 1][usize::from(kind)];
    let mut out = Vec::with_capacity(4096 + ids.len() * (4 + value_bytes) + targets.len() * 21);
    out.extend_from_slice(&(targets.len() as u32).to_le_bytes());
    out.extend_from_slice(&(ids.len() as u32).to_le_bytes());
    out.extend_from_slice(&[kind, u8::from(weighted), u8::from(!is_text.is_empty())]);
    offsets.windows(2).for_each(|pair| out.extend_from_slice(&((pair[1] - pair[0]) as u32).to_le_bytes()));
    extend(&mut out, ids.iter().map(|id| id.to_le_bytes()));
    match kind {
        ALL_ONES => {}
        LISTED => list.iter().for_each(|list| list.pack(values, &mut out)),
        SINGLES => extend(&mut out, values.iter().map(|&value| (value as f32).to_le_bytes())),
        _ => extend(&mut out, values.iter().map(|value| value.to_le_bytes())),
    }
    targets.iter().for_each(|target| out.extend_from_slice(&target.to_le_bytes()));
    if weighted {
        weights.iter().for_each(|weight| out.extend_from_slice(&weight.to_le_bytes()));
    }
    out.extend(is_text.iter().copied().map(u8::from));
    let sum = crc32fast::hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// Adds words to bytes: room is made for all at once, so that they are copied as one.
fn extend<const N: usize>(out: &mut Vec<u8>, words: impl ExactSizeIterator<Item = [u8; N]>) {
    let start = out.len();
    out.resize(start + N * words.len(), 0);
    out[start..].chunks_exact_mut(N).zip(words).for_each(|(to, word)| to.copy_from_slice(&word));
}

/// The rows that [`pack`] packed, or `None` if a byte changed.
pub(super) fn unpack(packed: &[u8]) -> Option<StoredRows> {
    let (body, sum) = packed.split_last_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = body;
    let mut take = |length: usize| {
        let (head, tail) = rest.split_at_checked(length)?;
        rest = tail;
        Some(head)
    };
    let rows = u32::from_le_bytes(take(4)?.try_into().ok()?) as usize;
    let entries = u32::from_le_bytes(take(4)?.try_into().ok()?) as usize;
    let flags = take(3)?;
    let lengths = words(take(4 * rows)?);
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    offsets.extend(lengths.scan(0, |end, length| {
        *end += length as usize;
        Some(*end)
    }));
    let ids: Vec<u32> = words(take(4 * entries)?).collect();
    let values = match flags[0] {
        ALL_ONES => vec![1.0; entries],
        LISTED => {
            let count = usize::from(u16::from_le_bytes(take(2)?.try_into().ok()?));
            let list = doubles(take(8 * count)?);
            take(entries)?.iter().map(|&place| list.get(usize::from(place)).copied()).collect::<Option<_>>()?
        }
        SINGLES => words(take(4 * entries)?).map(|bits| f64::from(f32::from_bits(bits))).collect(),
        _ => doubles(take(8 * entries)?),
    };
    let targets = doubles(take(8 * rows)?);
    let weights = if flags[1] == 1 { doubles(take(8 * rows)?) } else { vec![1.0; rows] };
    let is_text = if flags[2] == 1 { take(rows)?.iter().map(|&flag| flag == 1).collect() } else { Vec::new() };
    let rows = Batch::from_parts(offsets, ids, values, targets, weights);
    Some(StoredRows { rows, codes: Vec::new(), is_text })
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    #[test]
    fn values_of_any_kind_survive_to_the_last_bit() {
        let few = |row: u32| [0.1, -0.0, 1e-300, 3.0][row as usize % 4];
        let many = |row: u32| 0.1 + f64::from(row);
        let halves = |row: u32| 0.5 + f64::from(row);
        let kinds: [(&dyn Fn(u32) -> f64, u8); 4] =
            [(&few, LISTED), (&many, DOUBLES), (&halves, SINGLES), (&|_| 1.0, ALL_ONES)];
        for (value, kind) in kinds {
            let mut rows = StoredRows::default();
            for row in 0..300 {
                let example = Example { row: Row { ids: &[row], values: &[value(row)] }, target: 0.0, weight: 1.0 };
                rows.rows.push_mapped(example, |_, value| value);
            }
            let packed = pack(&rows);
            assert_eq!(packed[8], kind);
            let bits =
                |rows: &StoredRows| rows.rows.parts().values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(unpack(&packed).map(|rows| bits(&rows)), Some(bits(&rows)));
        }
    }

    #[test]
    fn a_flipped_byte_is_noticed() {
        let mut rows = StoredRows::default();
        let example = Example { row: Row { ids: &[3], values: &[1.5] }, target: 0.0, weight: 1.0 };
        rows.push(example, LabelCode::Number(1.0));
        rows.push(example, LabelCode::Text(0));
        let packed = pack(&rows);
        assert_eq!(unpack(&packed), Some(rows));
        for at in 0..packed.len() {
            let mut bad = packed.clone();
            bad[at] ^= 4;
            assert_eq!(unpack(&bad), None);
        }
    }
}
