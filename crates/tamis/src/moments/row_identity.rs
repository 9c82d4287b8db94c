//! Which rows moments were computed from: enough to refuse rows that are added twice, or subtracted without having
//! been added.
//!
//! Sums do not show what they are sums of. So moments keep two small records beside them:
//! - `parts`: each stream of rows by its length and a hash of all its rows, with how often it was added (subtracted
//!   counts −1). The same file added a second time is noticed, however many were added in between.
//! - `sample`: the hashes of rows that are below a limit, at most [`SAMPLE`] of them. Hashes are spread evenly, so this
//!   is a random sample of the rows, and the same rows are in the sample of every set that contains them: a subtracted
//!   row below both limits must be in the sample. One row in `rows / SAMPLE` is examined in this way.

use serde::{Deserialize, Serialize};

use crate::data::RawRows;
use crate::rng::splitmix64;

/// The largest number of hashes in a sample.
const SAMPLE: usize = 1024;

/// A stream of rows: its length, the hash of its rows, and how often it was added.
type Part = (u64, u64, i64);

/// Which rows moments were computed from. The default knows nothing, and refuses nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowIdentity {
    parts: Vec<Part>,
    sample: Vec<u64>,
    limit: u64,
}

impl RowIdentity {
    /// No rows yet.
    pub(super) fn empty() -> Self {
        RowIdentity { limit: u64::MAX, parts: vec![(0, 0, 1)], sample: Vec::new() }
    }

    /// Adds the rows of a block, in order. Only for an identity that began as [`RowIdentity::empty`].
    pub(super) fn observe(&mut self, rows: &RawRows) {
        for hash in rows.row_hashes() {
            let part = &mut self.parts[0];
            (part.0, part.1) = (part.0 + 1, splitmix64(part.1 ^ hash));
            if hash < self.limit {
                self.sample.push(hash);
            }
        }
        if self.sample.len() > 2 * SAMPLE {
            self.cut();
        }
    }

    /// The identity of all rows observed.
    pub(super) fn finish(mut self) -> Self {
        self.cut();
        self
    }

    /// Sorts the sample, and lowers the limit until the sample is small enough.
    fn cut(&mut self) {
        self.sample.sort_unstable();
        if let Some(&first_beyond) = self.sample.get(SAMPLE) {
            self.limit = first_beyond;
            self.sample.retain(|&hash| hash < first_beyond);
        }
    }

    /// Whether some stream of rows would be counted twice by adding `other`; its number of rows.
    pub(super) fn overlap(&self, other: &RowIdentity) -> Option<u64> {
        let is_twice = |&&(rows, hash, count): &&Part| rows > 0 && count + self.count(rows, hash) > 1;
        other.parts.iter().find(is_twice).map(|part| part.0)
    }

    fn count(&self, rows: u64, hash: u64) -> i64 {
        let found = self.parts.iter().find(|part| (part.0, part.1) == (rows, hash));
        found.map_or(0, |part| part.2)
    }

    /// Adds the rows of another identity.
    pub(super) fn merge(&mut self, other: &RowIdentity) {
        self.add_parts(other, 1);
        self.limit = self.limit.min(other.limit);
        self.sample.extend_from_slice(&other.sample);
        self.sample.retain(|&hash| hash < self.limit);
        self.cut();
    }

    fn add_parts(&mut self, other: &RowIdentity, sign: i64) {
        for &(rows, hash, count) in &other.parts {
            match self.parts.iter_mut().find(|part| (part.0, part.1) == (rows, hash)) {
                Some(part) => part.2 = part.2.saturating_add(count.saturating_mul(sign)),
                None => self.parts.push((rows, hash, count.saturating_mul(sign))),
            }
        }
        self.parts.retain(|part| part.2 != 0 && part.0 > 0);
        self.parts.sort_unstable();
    }

    /// The identity without the rows of another; `None` if some of them were not among these rows, or were subtracted
    /// before.
    pub(super) fn without(&self, other: &RowIdentity) -> Option<RowIdentity> {
        let limit = self.limit.min(other.limit);
        let mut left = RowIdentity { parts: self.parts.clone(), sample: Vec::new(), limit };
        left.add_parts(other, -1);
        if left.parts.iter().any(|part| part.2 < -1) {
            return None;
        }
        let mut theirs = other.sample.iter().copied().filter(|&hash| hash < limit).peekable();
        for &hash in self.sample.iter().filter(|&&hash| hash < limit) {
            if theirs.peek() == Some(&hash) {
                theirs.next();
            } else {
                left.sample.push(hash);
            }
        }
        theirs.peek().is_none().then_some(left)
    }

    /// Whether the records can be those of rows: they are read from a file.
    pub(super) fn is_valid(&self) -> bool {
        let is_sorted = self.sample.is_sorted() && self.parts.is_sorted();
        is_sorted && self.sample.len() <= SAMPLE && self.sample.last().is_none_or(|&hash| hash < self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;

    fn rows(range: std::ops::Range<u32>) -> RowIdentity {
        let mut identity = RowIdentity::empty();
        for row in range {
            let mut rows = RawRows::by_index();
            rows.push_index(1 + row, 1.0);
            rows.end_row(Label::Number(1.0), 1.0, 0);
            identity.observe(&rows);
        }
        identity.finish()
    }

    #[test]
    fn parts_and_true_subsets_can_be_subtracted_and_nothing_else() {
        for length in [100, 5000] {
            let mut week = rows(0..length);
            week.merge(&rows(length..2 * length));
            assert_eq!(week.without(&rows(length..2 * length)), Some(rows(0..length).at_limit(week.limit)));
            let left = week.without(&rows(20..length / 2)).expect("a true subset");
            assert!(left.without(&rows(20..length / 2)).is_none(), "the same rows cannot be subtracted twice");
            assert!(week.without(&rows(2 * length..3 * length)).is_none(), "rows that were never added");
            assert!(week.is_valid() && week.sample.len() <= SAMPLE);
        }
    }

    #[test]
    fn the_same_part_is_noticed_and_may_return_after_it_was_subtracted() {
        let (monday, tuesday) = (rows(0..300), rows(300..700));
        let mut week = monday.clone();
        assert_eq!(week.overlap(&tuesday), None);
        week.merge(&tuesday);
        assert_eq!(week.overlap(&monday), Some(300));
        let rest = week.without(&monday).unwrap();
        assert_eq!(rest.overlap(&monday), None);
    }

    #[test]
    fn what_is_not_known_refuses_nothing() {
        let unknown = RowIdentity::default();
        assert!(unknown.without(&rows(0..10)).is_some() && rows(0..10).without(&unknown).is_some());
        assert_eq!(unknown.overlap(&unknown), None);
    }

    impl RowIdentity {
        /// The same rows seen with a lower limit.
        fn at_limit(mut self, limit: u64) -> Self {
            self.sample.retain(|&hash| hash < limit);
            RowIdentity { limit, ..self }
        }
    }
}
