//! Keys of learned requests: a request that is sent twice is learned once.

use std::collections::{HashMap, VecDeque};

use tamis::data::RawRows;
use tamis::parse::row_log::push_record;

/// What is known of a request that was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownKey {
    /// Its record in the log.
    pub sequence: u64,
    /// Its rows.
    pub accepted: u64,
    /// A checksum of its rows: a key stands for one content.
    pub checksum: u32,
}

/// The keys of the last requests.
pub struct Keys {
    known: HashMap<String, KnownKey>,
    order: VecDeque<String>,
    most: usize,
}

impl Keys {
    /// No keys; `most` are remembered.
    pub fn new(most: usize) -> Self {
        Keys { known: HashMap::new(), order: VecDeque::new(), most }
    }

    /// Remembers a key, and forgets the oldest if there are too many. An empty key is none.
    pub fn add(&mut self, key: &str, request: KnownKey) {
        if key.is_empty() {
            return;
        }
        if self.known.insert(key.into(), request).is_none() {
            self.order.push_back(key.into());
        }
        while self.order.len() > self.most {
            let oldest = self.order.pop_front().expect("there are some");
            self.known.remove(&oldest);
        }
    }

    /// The request with a key.
    pub fn get(&self, key: &str) -> Option<KnownKey> {
        self.known.get(key).copied()
    }
}

/// A checksum of all that rows contain.
pub fn rows_checksum(rows: &RawRows) -> u32 {
    let mut bytes = Vec::new();
    push_record(&mut bytes, 0, 0, "", rows);
    crc32fast::hash(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_keys_are_forgotten() {
        let request = |sequence| KnownKey { sequence, accepted: 1, checksum: 0 };
        let mut keys = Keys::new(2);
        keys.add("", request(1));
        ["a", "b", "a", "c"].iter().zip(2..).for_each(|(key, sequence)| keys.add(key, request(sequence)));
        assert_eq!(
            [keys.get(""), keys.get("a"), keys.get("b"), keys.get("c")],
            [None, None, Some(request(3)), Some(request(5))]
        );
    }
}
