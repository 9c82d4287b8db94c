//! A vocabulary as lines of text, as checkpoints store it.

use std::collections::BTreeSet;

use super::feature_keys::Entry;
use super::vocabulary::Text;
use super::{FeatureId, Vocabulary};

impl Vocabulary {
    /// The whole vocabulary as text lines, to be stored with [`Vocabulary::free_ids`].
    pub fn export(&self) -> impl Iterator<Item = String> + '_ {
        let line = move |entry: &Entry| match *entry {
            Entry::Index(index) => format!("i{index}"),
            Entry::Text(place) => match self.text(place) {
                Text::Name(name) => format!("n{name}"),
                Text::Bucket { bucket, name, shared } => format!("{}{bucket} {name}", if *shared { 's' } else { 'b' }),
            },
            Entry::Free => "f".to_string(),
        };
        self.keys.all(&self.by_index).iter().map(line)
    }

    /// Ids without a feature, in the order in which they will be used again.
    pub fn free_ids(&self) -> Vec<FeatureId> {
        self.free.clone()
    }

    /// The vocabulary that [`Vocabulary::export`] stored, or `None` if the lines are invalid.
    pub fn import<'a>(
        hash_bits: Option<u32>,
        lines: impl Iterator<Item = &'a str>,
        free: Vec<FeatureId>,
    ) -> Option<Self> {
        let mut vocabulary = Vocabulary::new(hash_bits);
        for line in lines {
            match (line.as_bytes().first()?, line.get(1..)?) {
                (b'i', index) => {
                    let index = index.parse().ok().filter(|&index| vocabulary.by_index.get(index).is_none())?;
                    vocabulary.add_index(index);
                }
                (b'n', name) if !vocabulary.by_name.contains_key(name) => {
                    vocabulary.add_text(Text::Name(name.into()));
                }
                (kind @ (b's' | b'b'), rest) => {
                    let (bucket, name) = rest.split_once(' ')?;
                    let (bucket, shared) = (bucket.parse().ok()?, *kind == b's');
                    if hash_bits.is_none_or(|bits| bucket >> bits > 0) || vocabulary.by_index.get(bucket).is_some() {
                        return None;
                    }
                    vocabulary.add_text(Text::Bucket { bucket, name: name.into(), shared });
                }
                (b'f', "") => vocabulary.keys.push(Entry::Free, &vocabulary.by_index),
                _ => return None,
            }
        }
        let has_free = vocabulary.keys.is_listed() || !free.is_empty();
        let entries = if has_free { vocabulary.keys.all(&vocabulary.by_index) } else { &[] };
        let vacant = entries.iter().filter(|entry| **entry == Entry::Free).count();
        let distinct: BTreeSet<FeatureId> = free.iter().copied().collect();
        let all_vacant =
            distinct.len() == free.len() && free.iter().all(|&id| entries.get(id as usize) == Some(&Entry::Free));
        let is_valid = vacant == free.len() && all_vacant;
        vocabulary.free = free;
        is_valid.then_some(vocabulary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::FeatureKey;

    #[test]
    fn export_and_import_are_inverse() {
        for bits in [None, Some(6)] {
            let mut vocabulary = Vocabulary::new(bits);
            for name in ["a", "17", "tab\tand space", "é", ""] {
                vocabulary.intern(FeatureKey::from_name(name));
            }
            vocabulary.free(1);
            let (lines, free) = (vocabulary.export().collect::<Vec<_>>(), vocabulary.free_ids());
            let back = Vocabulary::import(bits, lines.iter().map(String::as_str), free.clone()).unwrap();
            assert_eq!((back.export().collect::<Vec<_>>(), back.free_ids()), (lines, free));
            assert_eq!(back.get(FeatureKey::Name("é")), vocabulary.get(FeatureKey::Name("é")));
        }
        assert!(Vocabulary::import(None, ["x"].into_iter(), vec![]).is_none());
        assert!(Vocabulary::import(None, ["i1"].into_iter(), vec![0]).is_none());
        for twice in [["i1", "i1"], ["na", "na"], ["f", "f"]] {
            assert!(Vocabulary::import(None, twice.into_iter(), vec![0, 0]).is_none(), "{twice:?}");
        }
        assert!(Vocabulary::import(Some(3), ["b9 word"].into_iter(), vec![]).is_none(), "eight buckets");
    }
}
