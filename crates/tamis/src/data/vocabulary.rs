//! The vocabulary: interns the names and numbers of features as dense ids.
//!
//! A feature has a number (svmlight, npz) or a name (all other formats). The name `"17"` and the number 17 are the same
//! feature, so a model learned from one format can read another. With hashing (`--hash-bits`), a name is first mapped
//! to a bucket; the first name seen in each bucket is kept, so selected features still have names.
//!
//! Ids are in the order of first appearance, so that the states of frequent features are next to each other in memory. Measured
//! (one pass over 200,000 Zipf rows of a million features): with the numbers of the file as ids, which need no table, `ftrl` takes
//! 1.3 times as long and `truncated-gradient` 1.4 times.

use std::sync::Arc;

use super::column_ids::ColumnIds;
use super::feature_keys::{Entry, FeatureKeys};
use super::{FeatureId, FeatureKey, SharedIds, SparseIndexMap, TextMap, hash_name};

/// A name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text {
    Name(Box<str>),
    /// A hash bucket, the first name seen in it, and whether other names share it.
    Bucket {
        bucket: u32,
        name: Box<str>,
        shared: bool,
    },
}

/// Dense ids for features, in the order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    pub(super) by_index: SparseIndexMap,
    /// The hash has a random key, so that nobody can choose names that collide. Ids do not depend on it.
    pub(super) by_name: TextMap<Box<str>, FeatureId>,
    pub(super) keys: FeatureKeys,
    pub(super) free: Vec<FeatureId>,
    texts: Vec<Text>,
    /// Free places of `texts`.
    vacant: Vec<u32>,
    name_bytes: usize,
    hash_bits: Option<u32>,
    /// The ids of the columns of a table, while none of them is freed.
    pub(super) columns: ColumnIds,
}

impl Vocabulary {
    /// An empty vocabulary; `hash_bits` bounds the number of features to `2^bits` by hashing names.
    pub fn new(hash_bits: Option<u32>) -> Self {
        Vocabulary { hash_bits, ..Self::default() }
    }

    /// Reserves memory for features with numbers up to this one.
    pub fn reserve(&mut self, largest: usize) {
        if self.hash_bits.is_none() {
            self.by_index.reserve(largest);
        }
    }

    /// One more than the largest id in use.
    pub fn span(&self) -> usize {
        self.keys.len()
    }

    /// The number of features known.
    pub fn len(&self) -> usize {
        self.keys.len() - self.free.len()
    }

    /// Whether no feature is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bits of hashing, if any.
    pub fn hash_bits(&self) -> Option<u32> {
        self.hash_bits
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.by_index.bytes()
            + self.by_name.capacity() * 25
            + self.keys.bytes()
            + self.texts.capacity() * std::mem::size_of::<Text>()
            + 2 * self.name_bytes
            + self.columns.bytes()
    }

    /// The id of a feature, if it is known.
    #[inline]
    pub fn get(&self, key: FeatureKey<'_>) -> Option<FeatureId> {
        match (key, self.hash_bits) {
            (FeatureKey::Index(index), None) => self.by_index.get(index),
            (FeatureKey::Name(name), None) => self.by_name.get(name).copied(),
            (FeatureKey::Index(index), Some(bits)) => self.by_index.get(bucket_of(&index.to_string(), bits)),
            (FeatureKey::Name(name), Some(bits)) => self.by_index.get(bucket_of(name, bits)),
        }
    }

    /// The ids of numbered features, for threads that read; none if names are hashed.
    pub fn shared_ids(&self) -> Option<Arc<SharedIds>> {
        self.hash_bits.is_none().then(|| self.by_index.shared().clone())
    }

    /// The id of a feature; a new feature gets a new id.
    pub fn intern(&mut self, key: FeatureKey<'_>) -> FeatureId {
        match (key, self.hash_bits) {
            (FeatureKey::Index(index), None) => self.intern_index(index),
            (FeatureKey::Name(name), None) => match self.by_name.get(name) {
                Some(&id) => id,
                None => self.add_text(Text::Name(name.into())),
            },
            (FeatureKey::Index(index), Some(bits)) => self.intern_bucket(&index.to_string(), bits),
            (FeatureKey::Name(name), Some(bits)) => self.intern_bucket(name, bits),
        }
    }

    #[inline]
    pub(super) fn intern_index(&mut self, index: u32) -> FeatureId {
        let new = self.free.last().copied().unwrap_or(self.keys.len() as FeatureId);
        let id = self.by_index.get_or_insert(index, new);
        if id == new {
            self.enter(Entry::Index(index));
        }
        id
    }

    fn intern_bucket(&mut self, name: &str, bits: u32) -> FeatureId {
        let bucket = bucket_of(name, bits);
        let Some(id) = self.by_index.get(bucket) else {
            return self.add_text(Text::Bucket { bucket, name: name.into(), shared: false });
        };
        if let Entry::Text(place) = self.entry(id)
            && let Text::Bucket { name: first, shared, .. } = &mut self.texts[place as usize]
        {
            *shared |= **first != *name;
        }
        id
    }

    pub(super) fn add_index(&mut self, index: u32) -> FeatureId {
        let id = self.enter(Entry::Index(index));
        self.by_index.insert(index, id);
        id
    }

    pub(super) fn add_text(&mut self, text: Text) -> FeatureId {
        let place = self.vacant.pop().unwrap_or(self.texts.len() as u32);
        let id = self.enter(Entry::Text(place));
        match &text {
            Text::Name(name) => {
                self.name_bytes += name.len();
                self.by_name.insert(name.clone(), id);
            }
            Text::Bucket { bucket, name, .. } => {
                self.name_bytes += name.len();
                self.by_index.insert(*bucket, id);
            }
        }
        match self.texts.get_mut(place as usize) {
            Some(vacant) => *vacant = text,
            None => self.texts.push(text),
        }
        id
    }

    /// Assigns an id to an entry: a freed one, or a new one.
    fn enter(&mut self, entry: Entry) -> FeatureId {
        match self.free.pop() {
            Some(id) => {
                self.keys.replace(id, entry, &self.by_index);
                id
            }
            None => {
                self.keys.push(entry, &self.by_index);
                self.keys.len() as FeatureId - 1
            }
        }
    }

    /// Removes a feature; its id can be reused.
    pub fn free(&mut self, id: FeatureId) {
        self.columns = ColumnIds::default();
        match self.keys.replace(id, Entry::Free, &self.by_index) {
            Entry::Index(index) => self.by_index.remove(index),
            Entry::Text(place) => self.release_text(place),
            Entry::Free => return,
        }
        self.free.push(id);
    }

    fn release_text(&mut self, place: u32) {
        match std::mem::replace(&mut self.texts[place as usize], Text::Name("".into())) {
            Text::Name(name) => {
                self.name_bytes -= name.len();
                self.by_name.remove(&name);
            }
            Text::Bucket { bucket, name, .. } => {
                self.name_bytes -= name.len();
                self.by_index.remove(bucket);
            }
        }
        self.vacant.push(place);
    }

    /// Ids in use, ascending.
    pub fn ids(&self) -> impl Iterator<Item = FeatureId> + '_ {
        let is_used = |&id: &FeatureId| !self.keys.is_listed() || self.entry(id) != Entry::Free;
        (0..self.keys.len() as FeatureId).filter(is_used)
    }

    /// The key of an id.
    fn entry(&self, id: FeatureId) -> Entry {
        self.keys.all(&self.by_index)[id as usize]
    }

    pub(super) fn text(&self, place: u32) -> &Text {
        &self.texts[place as usize]
    }

    /// The name to show for a feature. A bucket shared by several names says so with a trailing `|…`.
    pub fn name(&self, id: FeatureId) -> String {
        self.name_of(self.entry(id))
    }

    /// The names of some features, and the buckets of those that are hashed: needs little memory if there are few.
    pub fn names(&self, ids: &[FeatureId]) -> Vec<(String, Option<u32>)> {
        let entries = self.keys.some(ids, &self.by_index);
        entries.into_iter().map(|entry| (self.name_of(entry), self.bucket_of(entry))).collect()
    }

    fn name_of(&self, entry: Entry) -> String {
        match entry {
            Entry::Index(index) => index.to_string(),
            Entry::Text(place) => match self.text(place) {
                Text::Name(name) | Text::Bucket { name, shared: false, .. } => name.to_string(),
                Text::Bucket { name, shared: true, .. } => format!("{name}|…"),
            },
            Entry::Free => String::new(),
        }
    }

    /// A hash of the key of a feature, independent of its id.
    pub fn name_hash(&self, id: FeatureId) -> u64 {
        match self.entry(id) {
            Entry::Index(index) => crate::rng::splitmix64(u64::from(index)),
            Entry::Text(place) => match self.text(place) {
                Text::Name(name) => hash_name(name),
                Text::Bucket { bucket, .. } => crate::rng::splitmix64(u64::from(*bucket)),
            },
            Entry::Free => 0,
        }
    }

    fn bucket_of(&self, entry: Entry) -> Option<u32> {
        let Entry::Text(place) = entry else { return None };
        if let Text::Bucket { bucket, .. } = self.text(place) { Some(*bucket) } else { None }
    }

    /// Restores a hashed feature from a model: the bucket decides, the name is for show.
    pub fn insert_bucket(&mut self, bucket: u32, name: &str) -> FeatureId {
        match self.by_index.get(bucket) {
            Some(id) => id,
            None => self.add_text(Text::Bucket { bucket, name: name.into(), shared: false }),
        }
    }

    /// The same features with other ids: the one at `order[i]` gets the id i. Freed ids are not features.
    pub fn reordered(&self, order: &[FeatureId]) -> Self {
        let mut vocabulary = Vocabulary::new(self.hash_bits);
        for &id in order {
            match self.entry(id) {
                Entry::Index(index) => drop(vocabulary.add_index(index)),
                Entry::Text(place) => drop(vocabulary.add_text(self.text(place).clone())),
                Entry::Free => unreachable!("an id given back is no feature"),
            }
        }
        vocabulary
    }
}

fn bucket_of(name: &str, bits: u32) -> u32 {
    (hash_name(name) & ((1_u64 << bits) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_name_is_the_number() {
        let mut vocabulary = Vocabulary::new(None);
        let id = vocabulary.intern(FeatureKey::Index(17));
        assert_eq!(vocabulary.intern(FeatureKey::from_name("17")), id);
        assert_ne!(vocabulary.intern(FeatureKey::from_name("017")), id);
    }

    #[test]
    fn released_ids_are_used_again() {
        let mut vocabulary = Vocabulary::new(None);
        let ids: Vec<_> = ["a", "b", "c"].map(|name| vocabulary.intern(FeatureKey::Name(name))).into();
        vocabulary.free(ids[1]);
        assert_eq!(vocabulary.get(FeatureKey::Name("b")), None);
        assert_eq!((vocabulary.len(), vocabulary.span()), (2, 3));
        assert_eq!(vocabulary.intern(FeatureKey::Name("d")), ids[1]);
        assert_eq!(vocabulary.name(ids[1]), "d");
    }

    /// Names are the same whether the keys are listed by id or are looked for in the table.
    #[test]
    fn names_of_some_features_need_no_list_of_all() {
        let numbers: Vec<u32> = (0..3000u32).map(|i| i.wrapping_mul(2_654_435_761) >> (i % 20)).collect();
        let mut vocabulary = Vocabulary::new(None);
        vocabulary.intern_indices(&mut numbers.clone());
        let ids: Vec<FeatureId> = (0..vocabulary.span() as FeatureId).rev().step_by(7).chain([5, 5, 0]).collect();
        let unlisted = vocabulary.names(&ids);
        assert!(!vocabulary.keys.is_listed());
        let one_by_one: Vec<_> = ids.iter().map(|&id| (vocabulary.name(id), None)).collect();
        assert!(vocabulary.keys.is_listed());
        assert_eq!((&unlisted, &vocabulary.names(&ids)), (&one_by_one, &one_by_one));
        assert!(
            ids.iter().zip(&unlisted).all(|(&id, (name, _))| vocabulary.get(FeatureKey::from_name(name)) == Some(id))
        );
        vocabulary.intern(FeatureKey::Name("word"));
        vocabulary.free(3);
        let id = vocabulary.intern(FeatureKey::Index(4_000_000_007));
        assert_eq!((id, vocabulary.name(3), vocabulary.len()), (3, "4000000007".into(), vocabulary.span()));
    }

    #[test]
    fn hashing_bounds_the_features_and_keeps_names() {
        let mut vocabulary = Vocabulary::new(Some(4));
        for i in 0..1000 {
            vocabulary.intern(FeatureKey::Name(&format!("word{i}")));
        }
        assert_eq!(vocabulary.len(), 16);
        assert!(vocabulary.name(0).starts_with("word0") && vocabulary.name(0).ends_with('…'));
    }

    #[test]
    fn crafted_names_are_interned_as_fast_as_others() {
        use std::hash::BuildHasher;
        let names = crate::data::colliding_names::colliding_names(60_000);
        let unkeyed = |name: &String| rustc_hash::FxBuildHasher.hash_one(name.as_str());
        assert!(names.iter().all(|name| unkeyed(name) == unkeyed(&names[0])), "the attack is a real one");
        let mut vocabulary = Vocabulary::new(None);
        let started = std::time::Instant::now();
        for _ in 0..2 {
            for name in &names {
                vocabulary.intern(FeatureKey::Name(name));
            }
        }
        assert_eq!(vocabulary.len(), 60_000);
        // With colliding names this takes minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    }
}
