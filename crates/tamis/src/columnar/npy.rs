//! The arrays of an npz, read piece by piece: several at once, none of them whole.
//!
//! An npz is a zip of npy files, each a short header (a Python dict) and the numbers. Every size is held against the
//! zip's before a number is read, and the checksum against the bytes once all are.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use flate2::read::DeflateDecoder;
use npyz::npz::NpzArchive;
use npyz::zip::CompressionMethod;

use super::{ColumnarError, ColumnarKind};

const MAGIC: &[u8] = b"\x93NUMPY";
const LONGEST_HEADER: usize = 1 << 16;
const LONGEST_TEXT: usize = 1 << 10;
const BUFFER: usize = 1 << 16;

/// An npz and its arrays.
pub(super) struct Archive {
    file: Arc<File>,
    entries: Vec<(String, Entry)>,
}

/// Where an array's bytes are.
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    packed: u64,
    size: u64,
    checksum: u32,
    is_packed: bool,
}

impl Archive {
    pub fn open(file: File) -> Result<Archive, ColumnarError> {
        let damaged = |error: &dyn std::fmt::Display| ColumnarError::damaged(ColumnarKind::Npz, error);
        let mut archive = NpzArchive::new(BufReader::new(file.try_clone()?)).map_err(|error| damaged(&error))?;
        let zip = archive.zip_archive();
        let mut entries = Vec::new();
        for at in 0..zip.len() {
            let entry = zip.by_index_raw(at).map_err(|error| damaged(&error))?;
            let Some(name) = npyz::npz::array_name_from_file_name(entry.name()) else { continue };
            let is_packed = match entry.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::Deflated => true,
                other => return Err(ColumnarError::array(name, format!("packed by {other}; expected deflate"))),
            };
            let (start, packed, size) = (entry.data_start(), entry.compressed_size(), entry.size());
            entries.push((name.to_string(), Entry { start, packed, size, checksum: entry.crc32(), is_packed }));
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
        let bytes: Box<dyn Read + Send> = match entry.is_packed {
            true => Box::new(DeflateDecoder::new(BufReader::with_capacity(BUFFER, span))),
            false => Box::new(span),
        };
        let bytes = Checked { bytes, left: entry.size, sum: crc32fast::Hasher::new(), expected: entry.checksum };
        Array::open(name, BufReader::with_capacity(BUFFER, bytes)).map(Some)
    }
}

/// A part of a file that others read at the same time.
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

/// As many bytes as the zip says, and the checksum it says.
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

/// How a number is stored.
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
        match self.is_big_endian {
            true => bytes.iter().fold(0, push),
            false => bytes.iter().rev().fold(0, push),
        }
    }

    /// A whole number; one too large is the largest.
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

/// An array being read.
pub(super) struct Array {
    name: String,
    descr: String,
    element: Option<Element>,
    shape: Vec<u64>,
    len: u64,
    bytes: BufReader<Checked>,
    buffer: Vec<u8>,
}

impl Array {
    fn open(name: &str, mut bytes: BufReader<Checked>) -> Result<Array, ColumnarError> {
        let fault = |reason: &dyn std::fmt::Display| ColumnarError::array(name, reason);
        let text = header(&mut bytes).map_err(|error| fault(&error))?;
        let descr = quoted(&text, "descr").ok_or_else(|| fault(&"not a plain array"))?;
        let shape = shape(&text).ok_or_else(|| fault(&"the header has no shape"))?;
        let len = shape.iter().try_fold(1_u64, |len, &size| len.checked_mul(size));
        let element = Element::parse(&descr);
        let here = bytes.buffer().len() as u64 + bytes.get_ref().left;
        let letter = |element: Element| if element.kind == b'U' { 4 } else { 1 };
        let size = element.map_or(0, |element| (element.size as u64).saturating_mul(letter(element)));
        let claimed = len.and_then(|len| len.checked_mul(size));
        if claimed.is_none_or(|claimed| claimed > here) {
            return Err(fault(&format!("of shape {shape:?} and type {descr:?}, but holds only {here} bytes")));
        }
        let len = len.unwrap_or(0);
        Ok(Array { name: name.to_string(), descr, element, shape, len, bytes, buffer: Vec::new() })
    }

    /// How many elements there are in all.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn fault(&self, reason: impl std::fmt::Display) -> ColumnarError {
        ColumnarError::array(&self.name, reason)
    }

    /// This array, if it is of one dimension.
    pub fn flat(self) -> Result<Array, ColumnarError> {
        match self.shape.len() {
            1 => Ok(self),
            dimensions => Err(self.fault(format!("has {dimensions} dimensions, expected 1"))),
        }
    }

    /// Reads `count` whole numbers.
    pub fn integers(&mut self, count: usize, out: &mut Vec<i64>) -> Result<(), ColumnarError> {
        match self.element.filter(|element| element.is_integer()) {
            Some(element) => self.read(count, element, out, Element::integer),
            None => Err(self.fault(format!("of type {:?}, expected integers", self.descr))),
        }
    }

    /// Reads `count` numbers; booleans are 0 and 1.
    pub fn floats(&mut self, count: usize, out: &mut Vec<f64>) -> Result<(), ColumnarError> {
        match self.element.filter(|element| element.is_number()) {
            Some(element) => self.read(count, element, out, Element::float),
            None => Err(self.fault(format!("of type {:?}, expected numbers or booleans", self.descr))),
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
            _ => return Err(self.fault(format!("of type {:?}, expected one string", self.descr))),
        };
        let element = Element { kind: b'u', size: width, ..self.element.expect("found above") };
        let count = self.element.map_or(0, |text| text.size);
        let mut letters = Vec::new();
        self.read(count, element, &mut letters, Element::integer)?;
        let letter = |&code: &i64| u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
        Ok(letters.iter().take_while(|code| **code != 0).map(letter).collect())
    }

    /// Reads what is left, so that the checksum is looked at.
    pub fn finish(&mut self) -> Result<(), ColumnarError> {
        io::copy(&mut self.bytes, &mut io::sink()).map_err(|error| self.fault(error))?;
        match self.bytes.get_ref().left {
            0 => Ok(()),
            left => Err(self.fault(format!("ends {left} bytes early"))),
        }
    }
}

fn header(bytes: &mut impl Read) -> io::Result<String> {
    let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut start = [0; 8];
    bytes.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(invalid("not an npy file"));
    }
    let mut length = [0; 4];
    let digits = if start[6] == 1 { 2 } else { 4 };
    bytes.read_exact(&mut length[..digits])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_HEADER {
        return Err(invalid("the header is too long"));
    }
    let mut text = vec![0; length];
    bytes.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// What stands after a key of the header's dict.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
    Some(text[at + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
}

fn quoted(text: &str, key: &str) -> Option<String> {
    let value = after(text, key)?;
    let quote = value.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    value[1..].split_once(quote).map(|(inside, _)| inside.to_string())
}

fn shape(text: &str) -> Option<Vec<u64>> {
    let (inside, _) = after(text, "shape")?.strip_prefix('(')?.split_once(')')?;
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
    sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }   \n";
        assert_eq!((quoted(text, "descr").as_deref(), shape(text)), (Some("<f8"), Some(vec![3, 1])));
        assert_eq!(shape("{'shape': ()}"), Some(vec![]));
        assert_eq!(shape("{\"shape\" : (3L,)}"), Some(vec![3]));
        assert_eq!(shape("{'shape': (-3,)}"), None);
        assert_eq!(quoted("{'descr': [('a', '<f8')]}", "descr"), None);
    }

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

    #[test]
    fn a_long_header_is_refused_unread() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([2, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(header(&mut &bytes[..]).unwrap_err().to_string(), "the header is too long");
        assert_eq!(header(&mut &b"PK......"[..]).unwrap_err().to_string(), "not an npy file");
    }
}
