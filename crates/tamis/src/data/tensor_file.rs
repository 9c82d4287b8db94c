//! Checksummed files of named arrays: safetensors whose header has one entry, with version, checksum and JSON,
//! separated by spaces (one entry, so that equal content has equal bytes). Checkpoints, moments and metrics are such
//! files.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, View, serialize};
use thiserror::Error;

use super::f64_codec::{Checksum, bytes_of, checksum};

/// A kind of file: the name of its header entry, and the newest version.
#[derive(Clone, Copy, Debug)]
pub struct TensorFile {
    /// The name of the header entry.
    pub name: &'static str,
    /// The version this build writes, and the newest it reads.
    pub version: u32,
}

/// Why bytes are not such a file.
#[derive(Debug, Error, PartialEq)]
pub enum TensorFileError {
    /// The file is of another kind, or truncated.
    #[error("not a {name} file: {reason}")]
    NotThisKind {
        /// The kind that was expected.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A version above the newest.
    #[error("format version {version} is newer than {newest}, the newest this build reads; upgrade tamis")]
    Newer {
        /// The version of the file.
        version: u32,
        /// The newest version this build reads.
        newest: u32,
    },
    /// The checksum is wrong.
    #[error("damaged: checksum mismatch")]
    Damaged,
}

/// Arrays by name: type and bytes.
pub type Arrays = BTreeMap<String, (Dtype, Vec<u8>)>;

/// The content of an array that is written, borrowed from where it is: a file may be as large as what it saves.
#[derive(Clone, Copy, Debug)]
pub enum ArrayContent<'a> {
    /// Bytes of any type.
    Bytes(Dtype, &'a [u8]),
    /// Numbers, encoded piece by piece when they are written.
    Numbers(&'a [f64]),
}

/// Numbers that are encoded at a time.
const PIECE: usize = 1 << 13;

impl ArrayContent<'_> {
    fn parts(&self) -> (Dtype, usize) {
        match *self {
            ArrayContent::Bytes(kind, bytes) => (kind, bytes.len()),
            ArrayContent::Numbers(numbers) => (Dtype::F64, 8 * numbers.len()),
        }
    }

    /// Hands the bytes on, piece by piece.
    fn for_each_piece(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match *self {
            ArrayContent::Bytes(_, bytes) => take(bytes),
            ArrayContent::Numbers(numbers) => {
                numbers.chunks(PIECE).try_for_each(|piece| take(&bytes_of(piece.iter().copied())))
            }
        }
    }
}

/// The type and the length of an array without its bytes: safetensors makes the header of it.
struct Outline(Dtype, Vec<usize>, usize);

impl View for Outline {
    fn dtype(&self) -> Dtype {
        self.0
    }
    fn shape(&self) -> &[usize] {
        &self.1
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&[])
    }
    fn data_len(&self) -> usize {
        self.2
    }
}

impl TensorFile {
    /// The bytes of a file.
    pub fn write(&self, json: &str, arrays: &Arrays) -> Vec<u8> {
        let contents = arrays.iter().map(|(name, (kind, bytes))| (name.as_str(), ArrayContent::Bytes(*kind, bytes)));
        let mut out = Vec::new();
        self.write_to(&mut out, json, &contents.collect()).expect("memory takes all bytes");
        out
    }

    /// Writes a file piece by piece, so that its bytes need not be in memory together.
    pub fn write_to(
        &self,
        out: &mut dyn Write,
        json: &str,
        arrays: &BTreeMap<&str, ArrayContent<'_>>,
    ) -> io::Result<()> {
        let mut sum = Checksum::of(json);
        for (name, content) in arrays {
            sum.update(name.as_bytes());
            content.for_each_piece(|bytes| {
                sum.update(bytes);
                Ok(())
            })?;
        }
        let fields = HashMap::from([(self.name.to_string(), format!("{} {} {json}", self.version, sum.finish()))]);
        let outline = |content: &ArrayContent<'_>| {
            let (kind, length) = content.parts();
            Outline(kind, vec![length * 8 / kind.bitsize()], length)
        };
        let views = arrays.iter().map(|(name, content)| (*name, outline(content)));
        out.write_all(&serialize(views, Some(fields)).map_err(io::Error::other)?)?;
        // The order in which safetensors places arrays: by descending type, then by name. A file in another order would
        // not pass the checksum.
        let mut contents: Vec<&ArrayContent<'_>> = arrays.values().collect();
        contents.sort_by_key(|content| std::cmp::Reverse(content.parts().0));
        contents.into_iter().try_for_each(|content| content.for_each_piece(|bytes| out.write_all(bytes)))
    }

    /// The JSON and the arrays of a file. Their content is still to be checked.
    pub fn read<'a>(&self, bytes: &'a [u8]) -> Result<(String, BTreeMap<String, TensorView<'a>>), TensorFileError> {
        let other = |reason: String| TensorFileError::NotThisKind { name: self.name, reason };
        let invalid = |error: safetensors::SafeTensorError| other(error.to_string());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(invalid)?;
        let entry = header.metadata().as_ref().and_then(|fields| fields.get(self.name));
        let entry = entry.ok_or_else(|| other(format!("its header has no entry {}", self.name)))?;
        let parts: Vec<&str> = entry.splitn(3, ' ').collect();
        let &[version, stated, json] = &parts[..] else { return Err(other("its header is truncated".into())) };
        let version = version.parse().map_err(|_| other("its version is not a number".into()))?;
        if version == 0 {
            return Err(other("there is no version 0".into()));
        }
        if version > self.version {
            return Err(TensorFileError::Newer { version, newest: self.version });
        }
        let arrays: BTreeMap<String, TensorView<'a>> =
            SafeTensors::deserialize(bytes).map_err(invalid)?.tensors().into_iter().collect();
        if checksum(json, arrays.iter().map(|(name, view)| (name.as_str(), view.data()))) != stated {
            return Err(TensorFileError::Damaged);
        }
        Ok((json.to_string(), arrays))
    }
}
