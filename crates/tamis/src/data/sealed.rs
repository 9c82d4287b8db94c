//! Files of named arrays: safetensors whose header has one entry, with version, checksum and the rest as JSON, apart by blanks
//! (one entry, so that the same content is the same bytes). Moments and metrics are kept so.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use super::bytes::checksum;

/// What a file is: the name of its entry, and the newest version.
pub struct Format {
    /// The key of the entry in the header.
    pub name: &'static str,
    /// The version that is written, and the newest that is read.
    pub version: u32,
}

/// Why bytes are no such file.
pub enum Broken {
    /// Something else, or cut short.
    NotOne(String),
    /// Of a version above the newest.
    Newer(u32),
    /// The checksum does not fit.
    Damaged,
}

/// Arrays by name: kind and bytes.
pub type Arrays = BTreeMap<String, (Dtype, Vec<u8>)>;

impl Format {
    /// The bytes of a file.
    pub fn seal(&self, about: &str, arrays: &Arrays) -> Vec<u8> {
        let sum = checksum(about, arrays.iter().map(|(name, (_, bytes))| (name.as_str(), &bytes[..])));
        let fields = HashMap::from([(self.name.to_string(), format!("{} {sum} {about}", self.version))]);
        let views = arrays.iter().map(|(name, (kind, bytes))| {
            let length = bytes.len() * 8 / kind.bitsize();
            (name.as_str(), TensorView::new(*kind, vec![length], bytes).expect("the shape is the length"))
        });
        serialize(views, Some(fields)).expect("arrays of known kinds can be written")
    }

    /// What [`Format::seal`] was given; what the JSON and the arrays say is still to be looked at.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Result<(String, BTreeMap<String, TensorView<'a>>), Broken> {
        let not_one = |error: safetensors::SafeTensorError| Broken::NotOne(error.to_string());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(not_one)?;
        let entry = header.metadata().as_ref().and_then(|fields| fields.get(self.name));
        let entry = entry.ok_or_else(|| Broken::NotOne(format!("its header has no {}", self.name)))?;
        let parts: Vec<&str> = entry.splitn(3, ' ').collect();
        let &[version, stated, about] = &parts[..] else {
            return Err(Broken::NotOne("its header is cut short".into()));
        };
        let version = version.parse().map_err(|_| Broken::NotOne("its version is not a number".into()))?;
        if version > self.version {
            return Err(Broken::Newer(version));
        }
        let arrays: BTreeMap<String, TensorView<'a>> =
            SafeTensors::deserialize(bytes).map_err(not_one)?.tensors().into_iter().collect();
        match checksum(about, arrays.iter().map(|(name, view)| (name.as_str(), view.data()))) == stated {
            true => Ok((about.to_string(), arrays)),
            false => Err(Broken::Damaged),
        }
    }
}
