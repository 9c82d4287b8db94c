//! The header of an npy file: the type and the shape of its array, written as a Python dict.

use std::io::{self, Read};

const MAGIC: &[u8] = b"\x93NUMPY";
const LONGEST_HEADER: usize = 1 << 16;
/// The numbers begin at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// The content of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// The type of an element, such as `<f8`.
    pub descr: String,
    /// The length of each dimension.
    pub shape: Vec<u64>,
    /// Whether a matrix is stored column by column.
    pub by_columns: bool,
}

/// A number that can be written to an npy file.
pub(super) trait Number: Copy {
    /// Its type in a header.
    const DESCR: &'static str;

    /// Appends its bytes, lowest first.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($number:ty = $descr:literal),+) => {$(
        impl Number for $number {
            const DESCR: &'static str = $descr;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )+};
}

numbers!(f64 = "<f8", i32 = "<i4", i64 = "<i8");
#[cfg(test)]
numbers!(f32 = "<f4", i8 = "|i1", i16 = "<i2", u64 = "<u8");

/// The bytes before the numbers of an array of at most one dimension; `None` is a single element.
pub(super) fn encode(descr: &str, length: Option<usize>) -> Vec<u8> {
    let shape = length.map_or(String::new(), |length| format!("{length},"));
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    text.extend(std::iter::repeat_n(' ', padded - text.len() - 1));
    text.push('\n');
    let size = u16::try_from(text.len()).expect("a header of one dimension is short");
    [MAGIC, &[1, 0], &size.to_le_bytes(), text.as_bytes()].concat()
}

/// Reads a header, and nothing after it.
pub(super) fn decode(bytes: &mut impl Read) -> io::Result<Header> {
    let text = text(bytes)?;
    let descr = quoted(&text, "descr").ok_or_else(|| invalid("the array is not a plain array"))?;
    let shape = shape(&text).ok_or_else(|| invalid("the header has no shape"))?;
    let by_columns = text.replace(' ', "").contains("'fortran_order':True");
    Ok(Header { descr, shape, by_columns })
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn text(bytes: &mut impl Read) -> io::Result<String> {
    let mut start = [0; 8];
    bytes.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(invalid("it is not an npy file"));
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

/// The text after a key of the dict.
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
    fn headers_as_numpy_writes_them_are_read() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }   \n";
        assert_eq!((quoted(text, "descr").as_deref(), shape(text)), (Some("<f8"), Some(vec![3, 1])));
        assert_eq!(shape("{'shape': ()}"), Some(vec![]));
        assert_eq!(shape("{\"shape\" : (3L,)}"), Some(vec![3]));
        assert_eq!(shape("{'shape': (-3,)}"), None);
        assert_eq!(quoted("{'descr': [('a', '<f8')]}", "descr"), None);
    }

    #[test]
    fn headers_are_written_as_numpy_writes_them() {
        let bytes = encode("<f8", Some(3));
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!(bytes.len(), 128);
        assert_eq!(bytes[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(bytes[10..10 + text.len()], *text.as_bytes());
        assert!(bytes[10 + text.len()..127].iter().all(|&byte| byte == b' ') && bytes[127] == b'\n');
        for (descr, length) in [("|S3", None), ("<i8", Some(0)), ("<i4", Some(usize::MAX))] {
            let bytes = encode(descr, length);
            assert_eq!(bytes.len() % ALIGNMENT, 0);
            let mut rest = &bytes[..];
            let shape = length.map(|length| length as u64).into_iter().collect();
            assert_eq!(decode(&mut rest).unwrap(), Header { descr: descr.into(), shape, by_columns: false });
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_long_header_is_refused_unread() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([2, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(decode(&mut &bytes[..]).unwrap_err().to_string(), "the header is too long");
        assert_eq!(decode(&mut &b"PK......"[..]).unwrap_err().to_string(), "it is not an npy file");
    }
}
