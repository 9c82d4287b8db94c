//! Plans and tallies as bytes: checksummed files of arrays with a header in JSON, and the version of the program.
//!
//! Numbers of one version may mean something else in another one, so that a driver and its workers must have the same.

use std::collections::BTreeMap;

use safetensors::tensor::Dtype;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::DistributedError;
use crate::data::f64_codec::{bytes_of, doubles};
use crate::data::tensor_file::{Arrays, TensorFile};

const FILE: TensorFile = TensorFile { name: "tamis_distributed", version: 1 };
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize, Deserialize)]
struct Envelope {
    version: String,
    content: serde_json::Value,
}

/// Arrays to be written.
#[derive(Default)]
pub(super) struct Packet {
    arrays: Arrays,
}

impl Packet {
    pub(super) fn put(mut self, name: &str, numbers: impl IntoIterator<Item = f64>) -> Self {
        self.arrays.insert(name.into(), (Dtype::F64, bytes_of(numbers)));
        self
    }

    pub(super) fn put_ids(mut self, name: &str, ids: impl IntoIterator<Item = u32>) -> Self {
        self.arrays.insert(name.into(), (Dtype::U32, ids.into_iter().flat_map(u32::to_le_bytes).collect()));
        self
    }

    pub(super) fn put_texts<'a>(mut self, name: &str, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for text in texts {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len() as u32);
        }
        self.arrays.insert(name.into(), (Dtype::U8, bytes));
        self.put_ids(&format!("{name}.ends"), ends)
    }

    /// The bytes, with a header.
    pub(super) fn bytes(self, header: &impl Serialize) -> Vec<u8> {
        let content = serde_json::to_value(header).expect("plain data becomes JSON");
        let envelope = Envelope { version: VERSION.into(), content };
        FILE.write(&serde_json::to_string(&envelope).expect("plain data becomes JSON"), &self.arrays)
    }
}

/// What was read.
pub(super) struct Opened<H> {
    pub(super) header: H,
    arrays: BTreeMap<String, Vec<u8>>,
}

/// Reads bytes of the same version of the program.
pub(super) fn open<H: DeserializeOwned>(bytes: &[u8]) -> Result<Opened<H>, DistributedError> {
    let damaged = |reason: String| DistributedError::Damaged { reason };
    let (json, arrays) = FILE.read(bytes).map_err(|error| damaged(error.to_string()))?;
    let envelope: Envelope = serde_json::from_str(&json).map_err(|error| damaged(error.to_string()))?;
    if envelope.version != VERSION {
        return Err(DistributedError::OtherVersion { theirs: envelope.version, ours: VERSION });
    }
    let header = serde_json::from_value(envelope.content).map_err(|error| damaged(error.to_string()))?;
    let arrays = arrays.into_iter().map(|(name, view)| (name, view.data().to_vec())).collect();
    Ok(Opened { header, arrays })
}

impl<H> Opened<H> {
    fn array(&self, name: &str) -> Result<&[u8], DistributedError> {
        let missing = || DistributedError::Damaged { reason: format!("the array {name:?} is missing") };
        self.arrays.get(name).map(Vec::as_slice).ok_or_else(missing)
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>, DistributedError> {
        self.array(name).map(doubles)
    }

    pub(super) fn ids(&self, name: &str) -> Result<Vec<u32>, DistributedError> {
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        Ok(self.array(name)?.chunks_exact(4).map(word).collect())
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<Box<str>>, DistributedError> {
        let damaged = || DistributedError::Damaged { reason: format!("the texts of {name:?} are no texts") };
        let text = std::str::from_utf8(self.array(name)?).map_err(|_| damaged())?;
        let mut start = 0;
        let mut next = |end: u32| {
            let piece = text.get(start..end as usize).map(Box::from);
            start = end as usize;
            piece.ok_or_else(damaged)
        };
        self.ids(&format!("{name}.ends"))?.into_iter().map(&mut next).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_survives_and_damage_is_found() {
        let packet = Packet::default().put("x", [1.5, f64::MIN]).put_ids("i", [7]).put_texts("t", ["a", "", "βγ"]);
        let mut bytes = packet.bytes(&42);
        let opened: Opened<i32> = open(&bytes).unwrap();
        assert_eq!((opened.header, opened.numbers("x").unwrap()), (42, vec![1.5, f64::MIN]));
        assert_eq!(opened.texts("t").unwrap(), ["a".into(), "".into(), Box::<str>::from("βγ")]);
        assert!(opened.ids("none").unwrap_err().to_string().contains("\"none\" is missing"));
        *bytes.last_mut().unwrap() ^= 1;
        assert!(matches!(open::<i32>(&bytes), Err(DistributedError::Damaged { .. })));
    }

    #[test]
    fn another_version_is_told_in_words() {
        let envelope = Envelope { version: "0.0.0".into(), content: serde_json::json!(1) };
        let bytes = FILE.write(&serde_json::to_string(&envelope).unwrap(), &Arrays::new());
        let error = open::<i32>(&bytes).err().unwrap().to_string();
        assert!(error.contains("made by Tamis 0.0.0") && error.contains("the driver and all workers"), "{error}");
    }
}
