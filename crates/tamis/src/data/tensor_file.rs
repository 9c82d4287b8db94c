//! Checksummed files of named arrays: safetensors whose header has one entry, with version, checksum and JSON,
//! separated by spaces (one entry, so that equal content has equal bytes). Checkpoints, moments and metrics are such
//! files.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use thiserror::Error;

use super::f64_codec::checksum;

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

impl TensorFile {
    /// The bytes of a file.
    pub fn write(&self, json: &str, arrays: &Arrays) -> Vec<u8> {
        let sum = checksum(json, arrays.iter().map(|(name, (_, bytes))| (name.as_str(), &bytes[..])));
        let fields = HashMap::from([(self.name.to_string(), format!("{} {sum} {json}", self.version))]);
        let views = arrays.iter().map(|(name, (kind, bytes))| {
            let length = bytes.len() * 8 / kind.bitsize();
            (name.as_str(), TensorView::new(*kind, vec![length], bytes).expect("the shape is the length"))
        });
        serialize(views, Some(fields)).expect("arrays of known types can be written")
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
