//! The log of a server that learns: every row that it learned, in order, with all bits of its numbers.
//!
//! ```text
//! file    frames, one after the other
//! frame   "TLF1", length of the body (u32), CRC-32 of the body (u32), body: what one write brought to disk
//! body    records, one for each request
//! record  sequence (u64), number of its first row (u64), key (u16 length, text), kind (u8), rows (u32), rows, late rows
//! row     label (0 and f64, or 1 and text), weight (f64), entries (u32), entries
//! entry   feature number (u32) or name (u32 length, text), value (f64, or f32 where no value needs more)
//! late    for each row whose label came later: its number (u64), its id (u32 length, text)
//! ```
//! All numbers are little-endian. A frame is written and synced before the next one, so a frame that is not whole is the
//! torn end of a file if no whole frame follows it, and damage otherwise.

use thiserror::Error;

use crate::data::{FeatureKey, Label, RawRows};

const MAGIC: [u8; 4] = *b"TLF1";
/// The bytes of a frame before its body.
const HEAD: usize = 12;
/// The longest body of a frame.
pub const LONGEST_FRAME: usize = 1 << 30;
/// Multiples of its length that are checked for whole frames behind a torn one, at most.
const MOST_CHECKS: usize = 32;
/// The longest key of a record.
pub const LONGEST_KEY: usize = 255;

const NAMED: u8 = 1;
const ADDS_DUPLICATES: u8 = 2;
const SINGLES: u8 = 4;
const LATE: u8 = 8;

/// A row that was scored before its label came.
#[derive(Clone, Debug, PartialEq)]
pub struct LateRow {
    /// Its number among the rows that waited for a label.
    pub number: u64,
    /// The id that it was scored with.
    pub id: String,
}

/// What a record says besides its rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordHead<'a> {
    /// Its number in the log, from 1.
    pub sequence: u64,
    /// The number of its first row in the training, from 1.
    pub first_row: u64,
    /// The key by which the sender can repeat the request; may be empty.
    pub key: &'a str,
    /// Where its rows waited for their labels: one for each row, or none.
    pub late: &'a [LateRow],
}

/// The rows of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its number in the log, from 1.
    pub sequence: u64,
    /// The number of its first row in the training, from 1.
    pub first_row: u64,
    /// The key by which the sender can repeat the request; may be empty.
    pub key: String,
    /// Where its rows waited for their labels: one for each row, or none.
    pub late: Vec<LateRow>,
    /// The rows.
    pub rows: RawRows,
}

/// A log cannot be read.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum RowLogError {
    #[error("damaged at byte {offset}: a frame whose checksum is wrong stands before whole ones")]
    Damaged { offset: usize },
    #[error("damaged at byte {offset}: the content of a frame is invalid ({what})")]
    Content { offset: usize, what: &'static str },
}

/// What is found at a position of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found<'a> {
    /// A whole frame: its body, and the position after it.
    Frame(&'a [u8], usize),
    /// The end of the file.
    End,
    /// The rest of the file is a frame that was not written to its end.
    Torn,
}

/// The next frame of a file from position `at` on.
pub fn next_frame(bytes: &[u8], at: usize) -> Result<Found<'_>, RowLogError> {
    if at >= bytes.len() {
        return Ok(Found::End);
    }
    if let Some((body, end)) = whole_frame(bytes, at) {
        return Ok(Found::Frame(body, end));
    }
    if has_later_frame(bytes, at + 1) { Err(RowLogError::Damaged { offset: at }) } else { Ok(Found::Torn) }
}

/// Whether a whole frame begins at `start` or later. A torn frame contains few beginnings of frames, if any: a file with so
/// many that checking them would take long is taken as one with whole frames.
fn has_later_frame(bytes: &[u8], start: usize) -> bool {
    let mut checked = 0;
    for found in memchr::memmem::find_iter(&bytes[start..], &MAGIC) {
        let rest = &bytes[start + found..];
        let length = rest.get(4..8).map_or(0, |length| u32::from_le_bytes(length.try_into().expect("four bytes")));
        checked += if length as usize <= rest.len() { length as usize } else { 0 };
        if whole_frame(bytes, start + found).is_some() || checked > MOST_CHECKS * bytes.len() {
            return true;
        }
    }
    false
}

/// The body of the frame at `at` and the position after it, if the frame is whole.
fn whole_frame(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let head = bytes.get(at..at + HEAD)?;
    let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let (length, checksum) = (number(4) as usize, number(8));
    let body = bytes.get(at + HEAD..at + HEAD + length)?;
    let is_whole = head[..4] == MAGIC && length <= LONGEST_FRAME && crc32fast::hash(body) == checksum;
    is_whole.then_some((body, at + HEAD + length))
}

/// A frame with this body, ready to be written.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Appends a record to the body of a frame. Returns a checksum of all that its rows contain.
pub fn push_record(body: &mut Vec<u8>, head: &RecordHead<'_>, rows: &RawRows) -> u32 {
    body.extend_from_slice(&head.sequence.to_le_bytes());
    body.extend_from_slice(&head.first_row.to_le_bytes());
    body.extend_from_slice(&(head.key.len() as u16).to_le_bytes());
    body.extend_from_slice(head.key.as_bytes());
    let start = body.len();
    push_rows(body, rows);
    let checksum = crc32fast::hash(&body[start..]);
    if !head.late.is_empty() {
        body[start] |= LATE;
        for LateRow { number, id } in head.late {
            body.extend_from_slice(&number.to_le_bytes());
            push_text(body, id);
        }
    }
    checksum
}

/// The checksum that [`push_record`] returns for these rows.
pub fn rows_checksum(rows: &RawRows) -> u32 {
    push_record(&mut Vec::new(), &RecordHead::default(), rows)
}

fn push_rows(body: &mut Vec<u8>, rows: &RawRows) {
    let singles = (0..rows.len()).all(|row| rows.entries(row).all(|(_, value)| f64::from(value as f32) == value));
    let named = rows.has_names();
    let kind = [(named, NAMED), (rows.adds_duplicates, ADDS_DUPLICATES), (singles, SINGLES)];
    body.push(kind.into_iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum());
    body.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    for row in 0..rows.len() {
        push_label(body, &rows.labels[row]);
        body.extend_from_slice(&rows.weight(row).to_le_bytes());
        body.extend_from_slice(&(rows.entries(row).count() as u32).to_le_bytes());
        for (key, value) in rows.entries(row) {
            match key {
                FeatureKey::Index(index) if !named => body.extend_from_slice(&index.to_le_bytes()),
                FeatureKey::Index(index) => push_text(body, &index.to_string()),
                FeatureKey::Name(name) => push_text(body, name),
            }
            match singles {
                true => body.extend_from_slice(&(value as f32).to_le_bytes()),
                false => body.extend_from_slice(&value.to_le_bytes()),
            }
        }
    }
}

fn push_text(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(&(text.len() as u32).to_le_bytes());
    body.extend_from_slice(text.as_bytes());
}

fn push_label(body: &mut Vec<u8>, label: &Label) {
    match label {
        Label::Number(number) => {
            body.push(0);
            body.extend_from_slice(&number.to_le_bytes());
        }
        Label::Text(text) => {
            body.push(1);
            push_text(body, text);
        }
        Label::Absent => body.push(2),
    }
}

/// The records of the body of a frame that stands at `offset` of its file.
pub fn records(body: &[u8], offset: usize) -> Result<Vec<Record>, RowLogError> {
    let mut reader = Reader { bytes: body };
    let mut records = Vec::new();
    while !reader.bytes.is_empty() {
        records.push(reader.record().map_err(|what| RowLogError::Content { offset, what })?);
    }
    Ok(records)
}

/// The rest of a body. Nothing is allocated before its bytes are there.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or("it ends early")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        Ok(self.take(N)?.try_into().expect("as many bytes as asked for"))
    }

    fn u32(&mut self) -> Result<u32, &'static str> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn text(&mut self, length: usize) -> Result<&'a str, &'static str> {
        std::str::from_utf8(self.take(length)?).map_err(|_| "a text is not UTF-8")
    }

    fn finite(&mut self) -> Result<f64, &'static str> {
        Some(f64::from_le_bytes(self.array()?)).filter(|number| number.is_finite()).ok_or("a number is not finite")
    }

    fn record(&mut self) -> Result<Record, &'static str> {
        let [sequence, first_row] = [u64::from_le_bytes(self.array()?), u64::from_le_bytes(self.array()?)];
        let length = u16::from_le_bytes(self.array()?);
        let key = self.text(length.into())?.to_string();
        let [kind] = self.array()?;
        if kind > NAMED + ADDS_DUPLICATES + SINGLES + LATE {
            return Err("a record of an unknown kind");
        }
        let mut rows = if kind & NAMED != 0 { RawRows::by_name() } else { RawRows::by_index() };
        rows.adds_duplicates = kind & ADDS_DUPLICATES != 0;
        for number in 0..self.u32()? {
            let label = self.label()?;
            let weight = self.finite()?;
            if weight < 0.0 {
                return Err("a weight is negative");
            }
            self.entries(kind, &mut rows)?;
            rows.end_row(label, weight, number);
        }
        let mut late = Vec::new();
        for _ in 0..if kind & LATE != 0 { rows.len() } else { 0 } {
            let number = u64::from_le_bytes(self.array()?);
            let length = self.u32()?;
            late.push(LateRow { number, id: self.text(length as usize)?.to_string() });
        }
        Ok(Record { sequence, first_row, key, late, rows })
    }

    fn label(&mut self) -> Result<Label, &'static str> {
        match self.array()? {
            [0] => Ok(Label::Number(self.finite()?)),
            [1] => {
                let length = self.u32()?;
                Ok(Label::Text(self.text(length as usize)?.into()))
            }
            [2] => Ok(Label::Absent),
            _ => Err("a label of an unknown kind"),
        }
    }

    fn entries(&mut self, kind: u8, rows: &mut RawRows) -> Result<(), &'static str> {
        let mut before = None;
        for _ in 0..self.u32()? {
            let (mut index, mut name) = (0, "");
            if kind & NAMED != 0 {
                let length = self.u32()?;
                name = self.text(length as usize)?;
            } else {
                index = self.u32()?;
                if index == u32::MAX || before.replace(index).is_some_and(|before| before >= index) {
                    return Err("feature numbers do not ascend");
                }
            }
            let value = match kind & SINGLES != 0 {
                true => f64::from(f32::from_le_bytes(self.array()?)),
                false => f64::from_le_bytes(self.array()?),
            };
            match value.is_finite() {
                false => return Err("a value is not finite"),
                true if kind & NAMED != 0 => rows.push_name(&[name], value),
                true => rows.push_index(index, value),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(values: &[f64]) -> RawRows {
        let mut rows = RawRows::by_index();
        for (line, &value) in values.iter().enumerate() {
            rows.push_index(3, 1.0);
            rows.push_index(7, value);
            rows.end_row(Label::Number(-1.0), 2.0, line as u32);
        }
        rows
    }

    fn named() -> RawRows {
        let mut rows = RawRows::by_name();
        rows.push_name(&["colour=", "rød"], 1.0);
        rows.push_name(&["17"], 0.1);
        rows.end_row(Label::Text("spam".into()), 0.5, 0);
        rows.end_row(Label::Number(1e300), 1.0, 1);
        rows
    }

    fn file() -> (Vec<u8>, Vec<Record>) {
        let mut bytes = Vec::new();
        let mut all = Vec::new();
        for (number, rows) in [numbered(&[0.5, 1e-300]), named(), numbered(&[2.0])].into_iter().enumerate() {
            let (sequence, key) = (number as u64 + 1, format!("key {number}"));
            let late =
                (0..rows.len() as u64 * (sequence % 2)).map(|number| LateRow { number, id: format!("é{number}") });
            let record = Record { sequence, first_row: 10, key, late: late.collect(), rows };
            let head = RecordHead { sequence, first_row: 10, key: &record.key, late: &record.late };
            let mut body = Vec::new();
            assert_eq!(push_record(&mut body, &head, &record.rows), rows_checksum(&record.rows));
            push_record(&mut body, &head, &record.rows);
            bytes.extend(frame(&body));
            all.extend([record.clone(), record]);
        }
        (bytes, all)
    }

    fn read(bytes: &[u8]) -> Result<(Vec<Record>, usize, Found<'_>), RowLogError> {
        let (mut at, mut found) = (0, Vec::new());
        loop {
            match next_frame(bytes, at)? {
                Found::Frame(body, end) => {
                    found.extend(records(body, at)?);
                    at = end;
                }
                other => return Ok((found, at, other)),
            }
        }
    }

    #[test]
    fn a_file_of_beginnings_is_refused_at_once() {
        let beginning = [&MAGIC[..], &(1_u32 << 18).to_le_bytes(), &[0; 4]].concat();
        let bytes = beginning.repeat(40_000);
        assert_eq!(next_frame(&bytes, 0), Err(RowLogError::Damaged { offset: 0 }));
    }

    #[test]
    fn all_bits_come_back() {
        let (bytes, all) = file();
        let (found, at, end) = read(&bytes).unwrap();
        assert_eq!((found, at, end), (all, bytes.len(), Found::End));
    }

    #[test]
    fn a_torn_end_is_told_from_damage() {
        let (bytes, all) = file();
        let first = whole_frame(&bytes, 0).unwrap().1;
        let second = whole_frame(&bytes, first).unwrap().1;
        for cut in second + 1..bytes.len() {
            let (found, at, end) = read(&bytes[..cut]).unwrap();
            assert_eq!((found.len(), at, end), (4, second, Found::Torn), "cut at {cut}");
        }
        for position in first..second {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x20;
            assert_eq!(read(&damaged).unwrap_err(), RowLogError::Damaged { offset: first }, "byte {position}");
            assert_eq!(read(&damaged[..second]).unwrap().2, Found::Torn);
        }
        let zeros = [&bytes[..second], &[0; 100]].concat();
        assert_eq!(read(&zeros).unwrap().0, all[..4], "a file may end with zeros after a crash");
    }

    #[test]
    fn invalid_content_with_a_right_checksum_is_refused() {
        let complaint = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut body = Vec::new();
            push_record(
                &mut body,
                &RecordHead { sequence: 1, first_row: 1, ..RecordHead::default() },
                &numbered(&[0.1]),
            );
            change(&mut body);
            records(&body, 5).unwrap_err().to_string()
        };
        let message = |what: &str| format!("damaged at byte 5: the content of a frame is invalid ({what})");
        assert_eq!(complaint(&|body| body.truncate(body.len() - 1)), message("it ends early"));
        assert_eq!(complaint(&|body| body[18] = 99), message("a record of an unknown kind"));
        assert_eq!(complaint(&|body| body[23] = 9), message("a label of an unknown kind"));
        assert_eq!(
            complaint(&|body| body[32..40].copy_from_slice(&(-1.0_f64).to_le_bytes())),
            message("a weight is negative")
        );
        assert_eq!(complaint(&|body| body[56] = 3), message("feature numbers do not ascend"));
        let last = |body: &mut Vec<u8>| body.splice(60..68, f64::NAN.to_le_bytes()).for_each(drop);
        assert_eq!(complaint(&last), message("a value is not finite"));
    }
}
