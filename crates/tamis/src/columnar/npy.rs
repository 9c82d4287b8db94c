//! Reads the arrays of an npz in pieces, several arrays at a time.
//!
//! An npz is a zip of npy files; each is a short header and the numbers. Every declared size is checked before memory is
//! allocated for it, and the checksum once all bytes are read.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::error::ColumnarError;
use super::kind::ColumnarKind;
use super::npy_header::{self, Header};

/// The largest ratio of decompressed to compressed size of deflate.
const DEFLATE_MAX_EXPANSION: u64 = 1032;
const LONGEST_TEXT: usize = 1 << 10;
const BUFFER: usize = 1 << 16;

/// An npz and its arrays.
pub(super) struct Archive {
    file: Arc<File>,
    entries: Vec<(String, Entry)>,
}

/// The position of an array's bytes in the file.
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    packed: u64,
    size: u64,
    checksum: u32,
    is_compressed: bool,
}

impl Archive {
    pub fn open(file: File) -> Result<Archive, ColumnarError> {
        let damaged = |error: &dyn std::fmt::Display| ColumnarError::damaged(ColumnarKind::Npz, error);
        let mut zip = ZipArchive::new(BufReader::new(file.try_clone()?)).map_err(|error| damaged(&error))?;
        let mut entries = Vec::new();
        for at in 0..zip.len() {
            let entry = zip.by_index_raw(at).map_err(|error| damaged(&error))?;
            let path = entry.name().map_err(|error| damaged(&error))?;
            let Some(name) = path.strip_suffix(".npy") else { continue };
            let is_compressed = match entry.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::Deflated => true,
                other => {
                    return Err(ColumnarError::array(
                        name,
                        format!("it is compressed by {other}; only deflate is supported"),
                    ));
                }
            };
            let (packed, size) = (entry.compressed_size(), entry.size());
            let most = if is_compressed { packed.saturating_mul(DEFLATE_MAX_EXPANSION) } else { packed };
            if size > most {
                let reason = format!("it declares {size} bytes, but its {packed} stored bytes hold at most {most}");
                return Err(ColumnarError::array(name, reason));
            }
            let start = entry.data_start().ok_or_else(|| damaged(&"an array has no data"))?;
            entries.push((name.to_string(), Entry { start, packed, size, checksum: entry.crc32(), is_compressed }));
        }
        Ok(Archive { file: Arc::new(file), entries })
    }

    /// The array of that name.
    pub fn array(&self, name: &str) -> Result<Array, ColumnarError> {
        self.find(name)?.ok_or_else(|| ColumnarError::NoArray { name: name.to_string() })
    }

    /// The array of that name, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<Array>, ColumnarError> {
        let Some((_, entry)) = self.entries.iter().find(|(entry, _)| entry == name) else { return Ok(None) };
        let span = Span { file: self.file.clone(), at: entry.start, left: entry.packed };
        let bytes: Box<dyn Read + Send> = if entry.is_compressed {
            Box::new(DeflateDecoder::new(BufReader::with_capacity(BUFFER, span)))
        } else {
            Box::new(span)
        };
        let bytes = Checked { bytes, left: entry.size, sum: crc32fast::Hasher::new(), expected: entry.checksum };
        Array::open(name, BufReader::with_capacity(BUFFER, bytes)).map(Some)
    }
}

/// A part of a file. Several parts are read in turn.
struct Span {
    file: Arc<File>,
    at: u64,
    left: u64,
}

impl Read for Span {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(&mut buffer[..most])?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// A reader of an array that checks the size and the checksum the zip declares.
struct Checked {
    bytes: Box<dyn Read + Send>,
    left: u64,
    sum: crc32fast::Hasher,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.bytes.read(&mut buffer[..most])?;
        self.sum.update(&buffer[..read]);
        self.left -= read as u64;
        let is_whole = self.left == 0 && read > 0;
        if is_whole && self.sum.clone().finalize() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong"));
        }
        Ok(read)
    }
}

/// The type of a stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Element {
    kind: u8,
    size: usize,
    is_big_endian: bool,
}

impl Element {
    fn parse(descr: &str) -> Option<Element> {
        let [order @ (b'<' | b'>' | b'|' | b'='), kind, digits @ ..] = descr.as_bytes() else { return None };
        let size = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let is_big_endian = *order == b'>' || (*order == b'=' && cfg!(target_endian = "big"));
        Some(Element { kind: *kind, size, is_big_endian })
    }

    fn is_integer(self) -> bool {
        matches!((self.kind, self.size), (b'i' | b'u', 1 | 2 | 4 | 8))
    }

    fn is_number(self) -> bool {
        self.is_integer() || matches!((self.kind, self.size), (b'f', 4 | 8) | (b'b', 1))
    }

    /// The bits of a number, in the low bytes.
    fn bits(self, bytes: &[u8]) -> u64 {
        let push = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.is_big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
    }

    /// An integer. One that does not fit becomes the largest `i64`.
    fn integer(self, bytes: &[u8]) -> i64 {
        let (bits, unused) = (self.bits(bytes), 64 - 8 * self.size as u32);
        match self.kind {
            b'i' => ((bits << unused) as i64) >> unused,
            _ => i64::try_from(bits).unwrap_or(i64::MAX),
        }
    }

    fn float(self, bytes: &[u8]) -> f64 {
        match (self.kind, self.size) {
            (b'f', 4) => f32::from_bits(self.bits(bytes) as u32).into(),
            (b'f', _) => f64::from_bits(self.bits(bytes)),
            (b'i', _) => self.integer(bytes) as f64,
            _ => self.bits(bytes) as f64,
        }
    }
}

/// An array that is being read.
pub(super) struct Array {
    name: String,
    descr: String,
    element: Option<Element>,
    shape: Vec<u64>,
    /// Whether a matrix is stored column by column.
    pub by_columns: bool,
    len: u64,
    bytes: BufReader<Checked>,
    buffer: Vec<u8>,
}

impl Array {
    fn open(name: &str, mut bytes: BufReader<Checked>) -> Result<Array, ColumnarError> {
        let fault = |reason: &dyn std::fmt::Display| ColumnarError::array(name, reason);
        let Header { descr, shape, by_columns } = npy_header::decode(&mut bytes).map_err(|error| fault(&error))?;
        let len = shape.iter().try_fold(1_u64, |len, &size| len.checked_mul(size));
        let element = Element::parse(&descr);
        let here = bytes.buffer().len() as u64 + bytes.get_ref().left;
        let letter = |element: Element| if element.kind == b'U' { 4 } else { 1 };
        let size = element.map_or(0, |element| (element.size as u64).saturating_mul(letter(element)));
        let claimed = len.and_then(|len| len.checked_mul(size));
        if claimed.is_none_or(|claimed| claimed > here) {
            return Err(fault(&format!("it declares shape {shape:?} and type {descr:?}, but holds only {here} bytes")));
        }
        let len = len.unwrap_or(0);
        Ok(Array { name: name.to_string(), descr, element, shape, by_columns, len, bytes, buffer: Vec::new() })
    }

    /// The lengths of its dimensions.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn fault(&self, reason: impl std::fmt::Display) -> ColumnarError {
        ColumnarError::array(&self.name, reason)
    }

    /// This array, if it has one dimension.
    pub fn flat(self) -> Result<Array, ColumnarError> {
        match self.shape.len() {
            1 => Ok(self),
            dimensions => Err(self.fault(format!("it has {dimensions} dimensions, but 1 is expected"))),
        }
    }

    /// Reads `count` integers.
    pub fn integers(&mut self, count: usize, out: &mut Vec<i64>) -> Result<(), ColumnarError> {
        match self.element.filter(|element| element.is_integer()) {
            Some(element) => self.read(count, element, out, Element::integer),
            None => Err(self.fault(format!("it has type {:?}, but integers are expected", self.descr))),
        }
    }

    /// Reads `count` numbers; booleans are 0 and 1.
    pub fn floats(&mut self, count: usize, out: &mut Vec<f64>) -> Result<(), ColumnarError> {
        match self.element.filter(|element| element.is_number()) {
            Some(element) => self.read(count, element, out, Element::float),
            None => Err(self.fault(format!("it has type {:?}, but numbers or booleans are expected", self.descr))),
        }
    }

    fn read<T>(
        &mut self,
        count: usize,
        element: Element,
        out: &mut Vec<T>,
        number: impl Fn(Element, &[u8]) -> T,
    ) -> Result<(), ColumnarError> {
        out.clear();
        let mut left = count;
        while left > 0 {
            let now = left.min(BUFFER / element.size);
            self.buffer.resize(now * element.size, 0);
            if let Err(error) = self.bytes.read_exact(&mut self.buffer) {
                return Err(self.fault(error));
            }
            out.extend(self.buffer.chunks_exact(element.size).map(|bytes| number(element, bytes)));
            left -= now;
        }
        Ok(())
    }

    /// The text of an array of one string.
    pub fn text(mut self) -> Result<String, ColumnarError> {
        let width = match self.element {
            Some(Element { kind: b'S', size, .. }) if self.len == 1 && size <= LONGEST_TEXT => 1,
            Some(Element { kind: b'U', size, .. }) if self.len == 1 && size <= LONGEST_TEXT => 4,
            _ => return Err(self.fault(format!("it has type {:?}, but one string is expected", self.descr))),
        };
        let element = Element { kind: b'u', size: width, ..self.element.expect("found above") };
        let count = self.element.map_or(0, |text| text.size);
        let mut letters = Vec::new();
        self.read(count, element, &mut letters, Element::integer)?;
        let letter = |&code: &i64| u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
        Ok(letters.iter().take_while(|code| **code != 0).map(letter).collect())
    }

    /// Reads the remaining bytes, so that the checksum is checked.
    pub fn finish(&mut self) -> Result<(), ColumnarError> {
        io::copy(&mut self.bytes, &mut io::sink()).map_err(|error| self.fault(error))?;
        match self.bytes.get_ref().left {
            0 => Ok(()),
            left => Err(self.fault(format!("it ends {left} bytes early"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type() {
        let element = |descr| Element::parse(descr).unwrap();
        assert_eq!(element("<f4").float(&0.5_f32.to_le_bytes()), 0.5);
        assert_eq!(element(">f8").float(&(-0.1_f64).to_be_bytes()), -0.1);
        assert_eq!(element("<i2").integer(&(-7_i16).to_le_bytes()), -7);
        assert_eq!(element(">i8").integer(&i64::MIN.to_be_bytes()), i64::MIN);
        assert_eq!(element("<u8").integer(&u64::MAX.to_le_bytes()), i64::MAX);
        assert_eq!(element("|i1").float(&[0xff]), -1.0);
        assert_eq!(element("|b1").float(&[1]), 1.0);
        assert!(element("|b1").is_number() && !element("|b1").is_integer());
        assert!(!element("<c16").is_number() && !element("<U3").is_number() && !element("<f2").is_number());
        assert_eq!(Element::parse("f8"), None);
    }
}
