//! Records of comma- or tab-separated text: where they begin and end, and their fields.
//!
//! A block without quotation marks is cut at delimiters and ends of lines, and its fields stay where they are. Other
//! blocks go through `csv-core`, which removes the marks and copies the fields. Both find the same records: only `\n`
//! ends one, because blocks are cut there and lines are counted there. A `\r` before it is a blank at the end of a field.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::swar::{self, Shapes};

/// Reads records one after the other from a block.
pub(super) struct Records<'a> {
    block: &'a [u8],
    delimiter: u8,
    /// Bytes and lines before the next record.
    at: usize,
    line: u32,
    /// For a block with quotation marks.
    quoted: Option<Quoted>,
}

struct Quoted {
    reader: Reader,
    fields: Vec<u8>,
    ends: Vec<usize>,
}

/// One record: its fields and where its bytes lie.
pub(super) struct Record<'a> {
    fields: Fields<'a>,
    /// The bytes of the record in its block, with the end of the line.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Lines of the block before it.
    pub(super) line: u32,
}

enum Fields<'a> {
    /// Those between delimiters in a part of the block.
    Plain { block: &'a [u8], start: usize, end: usize, delimiter: u8 },
    /// Copies, one after the other, and where each ends.
    Quoted { text: &'a [u8], ends: &'a [usize] },
}

impl<'a> Record<'a> {
    /// The number of cells.
    pub(super) fn count(&self) -> usize {
        match self.fields {
            Fields::Plain { block, start, end, delimiter } => {
                memchr::memchr_iter(delimiter, &block[start..end]).count() + 1
            }
            Fields::Quoted { ends, .. } => ends.len(),
        }
    }

    /// The bytes of cell `at` of `count` cells.
    pub(super) fn cell(&self, at: usize, count: usize) -> &'a [u8] {
        match self.fields {
            Fields::Plain { block, start, end, delimiter } => {
                let text = &block[start..end];
                if at <= count / 2 {
                    let before = at.checked_sub(1).and_then(|last| memchr::memchr_iter(delimiter, text).nth(last));
                    let rest = &text[before.map_or(0, |before| before + 1)..];
                    &rest[..memchr::memchr(delimiter, rest).unwrap_or(rest.len())]
                } else {
                    let after = count - 1 - at;
                    let end = after.checked_sub(1).and_then(|last| memchr::memrchr_iter(delimiter, text).nth(last));
                    let rest = &text[..end.unwrap_or(text.len())];
                    &rest[memchr::memrchr(delimiter, rest).map_or(0, |before| before + 1)..]
                }
            }
            Fields::Quoted { text, ends } => &text[at.checked_sub(1).map_or(0, |before| ends[before])..ends[at]],
        }
    }

    /// Whether there is one cell, and nothing in it.
    pub(super) fn is_blank(&self) -> bool {
        match self.fields {
            // A delimiter may be a blank, too.
            Fields::Plain { block, start, end, delimiter } => {
                block[start..end].trim_ascii().is_empty() && !block[start..end].contains(&delimiter)
            }
            Fields::Quoted { text, ends } => ends.len() == 1 && text.trim_ascii().is_empty(),
        }
    }

    /// The cells in their order: the bytes of each, and the number that fills them if it has a simple form.
    #[inline]
    pub(super) fn cells(&self) -> Cells<'a> {
        let (text, ends) = match self.fields {
            Fields::Plain { block, start, end, delimiter } => (block, Ends::Plain { at: Some(start), end, delimiter }),
            Fields::Quoted { text, ends } => (text, Ends::Quoted { start: 0, ends }),
        };
        Cells { text, ends, shapes: Shapes::default() }
    }
}

/// Goes through the cells of a record.
pub(super) struct Cells<'a> {
    text: &'a [u8],
    ends: Ends<'a>,
    shapes: Shapes,
}

enum Ends<'a> {
    Plain { at: Option<usize>, end: usize, delimiter: u8 },
    Quoted { start: usize, ends: &'a [usize] },
}

impl Cells<'_> {
    /// Adds the numbers of the next cells to a list, at most `most`, up to one that has no simple form, is a code or ends its record.
    #[inline]
    pub(super) fn short_numbers(&mut self, most: usize, to: &mut Vec<f64>) {
        let Ends::Plain { at: Some(start), end, delimiter } = &mut self.ends else { return };
        let mut at = *start;
        for _ in 0..most {
            let Some((value, stop)) = signed_number(self.text, at, &mut self.shapes) else { break };
            if stop >= *end || self.text[stop] != *delimiter || is_code(&self.text[at..stop]) {
                break;
            }
            to.push(value);
            at = stop + 1;
        }
        *start = at;
    }
}

/// As [`swar::number`], but without a branch for the sign, which cannot be predicted.
#[inline(always)]
fn signed_number(text: &[u8], at: usize, shapes: &mut Shapes) -> Option<(f64, usize)> {
    let is_negative = *text.get(at)? == b'-';
    let at = at + usize::from(is_negative);
    if text.get(at) == Some(&b'-') {
        return None;
    }
    let (size, end) = swar::number(text, at, shapes)?;
    Some((f64::from_bits(size.to_bits() ^ (u64::from(is_negative) << 63)), end))
}

/// Whether digits are a code and not a number: a number does not begin with a zero before other digits.
#[inline(always)]
pub(super) fn is_code(field: &[u8]) -> bool {
    matches!(field, [b'0', b'0'..=b'9', ..]) && field.iter().all(u8::is_ascii_digit)
}

impl<'a> Iterator for Cells<'a> {
    type Item = (&'a [u8], Option<f64>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.ends {
            Ends::Plain { at, end, delimiter } => {
                let start = (*at)?;
                let number = swar::number(self.text, start, &mut self.shapes)
                    .filter(|&(_, stop)| stop == *end || (stop < *end && self.text[stop] == *delimiter));
                let stop = match number {
                    Some((_, stop)) => stop,
                    None => memchr::memchr(*delimiter, &self.text[start..*end]).map_or(*end, |length| start + length),
                };
                *at = (stop < *end).then_some(stop + 1);
                Some((&self.text[start..stop], number.map(|(value, _)| value)))
            }
            Ends::Quoted { start, ends } => {
                let (&end, later) = ends.split_first()?;
                let field = &self.text[*start..end];
                (*start, *ends) = (end, later);
                Some((field, None))
            }
        }
    }
}

impl<'a> Records<'a> {
    pub(super) fn new(block: &'a [u8], delimiter: u8) -> Self {
        let has_quotes = memchr::memchr(b'"', block).is_some();
        Self::with_reader(block, delimiter, has_quotes)
    }

    /// For a block that is known to have quotation marks, or to have none.
    pub(super) fn with_reader(block: &'a [u8], delimiter: u8, has_quotes: bool) -> Self {
        let quoted = || Quoted {
            reader: ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build(),
            fields: vec![0; 1024],
            ends: vec![0; 64],
        };
        Records { block, delimiter, at: 0, line: 0, quoted: has_quotes.then(quoted) }
    }

    /// Whether the block has a quotation mark.
    pub(super) fn has_quotes(&self) -> bool {
        self.quoted.is_some()
    }

    /// The next record, blank lines skipped.
    pub(super) fn next(&mut self) -> Option<Record<'_>> {
        while self.block.get(self.at) == Some(&b'\n') {
            self.at += 1;
            self.line += 1;
        }
        if self.at == self.block.len() {
            return None;
        }
        let (start, line) = (self.at, self.line);
        let fields = match &mut self.quoted {
            None => {
                let rest = &self.block[start..];
                let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                self.at = self.block.len().min(end + 1);
                Fields::Plain { block: self.block, start, end, delimiter: self.delimiter }
            }
            Some(quoted) => quoted.read(self.block, &mut self.at)?,
        };
        self.line += match fields {
            Fields::Plain { end, .. } => u32::from(end < self.block.len()),
            Fields::Quoted { .. } => count_lines(&self.block[start..self.at]),
        };
        Some(Record { fields, start, end: self.at, line })
    }
}

impl Quoted {
    fn read(&mut self, block: &[u8], at: &mut usize) -> Option<Fields<'_>> {
        let (mut written, mut ended) = (0, 0);
        loop {
            let (result, read, wrote, ends) =
                self.reader.read_record(&block[*at..], &mut self.fields[written..], &mut self.ends[ended..]);
            *at += read;
            written += wrote;
            ended += ends;
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return None,
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
            }
        }
        Some(Fields::Quoted { text: &self.fields[..written], ends: &self.ends[..ended] })
    }
}

/// The number of line ends.
pub(crate) fn count_lines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}

/// The field of a record that a quotation mark opens and none closes. A mark within a field opens nothing.
pub(super) fn open_quote(record: &[u8], delimiter: u8) -> Option<usize> {
    let (mut field, mut is_quoted, mut is_start) = (0, false, true);
    for &byte in record {
        match byte {
            // Two marks within quotes are one of the text: they close and open.
            b'"' if is_quoted || is_start => is_quoted = !is_quoted,
            byte if byte == delimiter && !is_quoted => (field, is_start) = (field + 1, true),
            _ if !is_quoted => is_start = false,
            _ => {}
        }
    }
    is_quoted.then_some(field)
}

/// Where field number `field` starts within a record.
pub(super) fn field_offset(record: &[u8], delimiter: u8, field: usize) -> usize {
    let (mut quoted, mut passed) = (false, 0);
    for (at, &byte) in record.iter().enumerate() {
        if passed == field {
            return at;
        }
        quoted ^= byte == b'"';
        passed += usize::from(byte == delimiter && !quoted);
    }
    record.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Found = (Vec<Vec<u8>>, usize, usize, u32);

    fn all(mut records: Records<'_>) -> Vec<Found> {
        let mut found = Vec::new();
        while let Some(record) = records.next() {
            for (field, number) in record.cells() {
                assert!(number.is_none_or(|number| super::super::number::whole(field) == Some(number)));
            }
            let fields: Vec<Vec<u8>> = record.cells().map(|(field, _)| field.to_vec()).collect();
            assert_eq!(record.count(), fields.len());
            assert!((0..fields.len()).all(|at| record.cell(at, fields.len()) == fields[at]));
            for most in [2, fields.len()] {
                let (mut cells, mut numbers) = (record.cells(), Vec::new());
                cells.short_numbers(most, &mut numbers);
                let found: Vec<_> =
                    record.cells().take(numbers.len()).map(|(field, _)| super::super::number::whole(field)).collect();
                assert_eq!(numbers.iter().map(|number| Some(*number)).collect::<Vec<_>>(), found);
                assert_eq!(cells.next().map(|(field, _)| field), fields.get(numbers.len()).map(Vec::as_slice));
                assert!(numbers.len() <= most);
            }
            let is_blank = fields.len() == 1 && fields[0].trim_ascii().is_empty();
            assert_eq!(record.is_blank(), is_blank);
            found.push((fields, record.start, record.end, record.line));
        }
        found
    }

    #[test]
    fn places_and_lines() {
        let found = all(Records::new(b"\n\na,b\r\n\nc,\n", b','));
        let fields = |texts: [&str; 2]| texts.map(|text| text.as_bytes().to_vec()).to_vec();
        assert_eq!(found, [(fields(["a", "b\r"]), 2, 7, 2), (fields(["c", ""]), 8, 11, 4)]);
        let found = all(Records::new(b"\"a\nb\",1\n\nc,2", b','));
        assert_eq!(found, [(fields(["a\nb", "1"]), 0, 8, 0), (fields(["c", "2"]), 9, 12, 3)]);
    }

    proptest! {
        #[test]
        fn cutting_finds_the_records_of_the_reader(text in "[a1,;.\t\r\n -]{0,40}|([-]{0,2}[0-9]{0,3}[.]?[0-9]{0,9}[,\n]){0,12}") {
            for delimiter in [b',', b'\t', b';', b' '] {
                let reader = |has_quotes| all(Records::with_reader(text.as_bytes(), delimiter, has_quotes));
                prop_assert_eq!(reader(false), reader(true));
            }
        }
    }
}
