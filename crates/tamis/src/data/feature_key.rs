//! The keys of features in the input: numbers and names.

use std::fmt;

/// The key of a feature in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FeatureKey<'a> {
    /// A number.
    Index(u32),
    /// A name.
    Name(&'a str),
}

impl<'a> FeatureKey<'a> {
    /// The key a name stands for: canonical decimal numbers are numbers.
    pub fn from_name(name: &'a str) -> Self {
        match canonical_index(name) {
            Some(index) => FeatureKey::Index(index),
            None => FeatureKey::Name(name),
        }
    }
}

impl fmt::Display for FeatureKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeatureKey::Index(index) => index.fmt(f),
            FeatureKey::Name(name) => f.write_str(name),
        }
    }
}

fn canonical_index(name: &str) -> Option<u32> {
    let bytes = name.as_bytes();
    let plain = !bytes.is_empty() && bytes.len() <= 10 && bytes.iter().all(u8::is_ascii_digit);
    let leading_zero = bytes.len() > 1 && bytes.first() == Some(&b'0');
    if plain && !leading_zero { name.parse().ok() } else { None }
}

/// The hash that chooses a name's bucket: 64-bit FNV-1a with a final mix, the same on every machine.
pub fn hash_name(name: &str) -> u64 {
    let hash =
        name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_decimal_names_are_numbers() {
        assert_eq!(FeatureKey::from_name("17"), FeatureKey::Index(17));
        assert_eq!(FeatureKey::from_name("0"), FeatureKey::Index(0));
        for name in ["", "017", "+17", "1.0", "4294967296"] {
            assert_eq!(FeatureKey::from_name(name), FeatureKey::Name(name));
        }
    }
}
