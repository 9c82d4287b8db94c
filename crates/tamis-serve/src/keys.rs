//! Keys of learned requests: a request that is sent twice is learned once.

use std::collections::{HashMap, VecDeque};

use tamis::data::{Label, RawRows};
use tamis::parse::row_log::{LateRow, Record, rows_checksum};

/// What is known of a request that was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownKey {
    /// Its record in the log.
    pub sequence: u64,
    /// Its rows.
    pub accepted: u64,
    /// A checksum of its content, for which a key stands: of its rows, or of ids and labels.
    pub checksum: u32,
}

impl KnownKey {
    /// A request with these rows, whose checksum is `rows_checksum`.
    pub fn new(sequence: u64, late: &[LateRow], rows: &RawRows, rows_checksum: u32) -> Self {
        let checksum = match late.is_empty() {
            true => rows_checksum,
            false => labels_checksum(late.iter().map(|late| late.id.as_str()).zip(&rows.labels)),
        };
        KnownKey { sequence, accepted: rows.len() as u64, checksum }
    }

    /// The request of a record.
    pub fn of(record: &Record) -> Self {
        KnownKey::new(record.sequence, &record.late, &record.rows, rows_checksum(&record.rows))
    }
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

/// A checksum of labels and of the ids they belong to.
pub fn labels_checksum<'a>(labels: impl Iterator<Item = (&'a str, &'a Label)>) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    for (id, label) in labels {
        checksum.update(format!("{id:?} {label:?}\n").as_bytes());
    }
    checksum.finalize()
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
