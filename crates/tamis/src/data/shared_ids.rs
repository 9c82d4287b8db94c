//! A table of ids that other threads may read while one thread adds to it.
//!
//! Threads that parse look up the features that have an id by then, so that the thread that learns only has to give ids to new ones.
//! What they find depends on the moment, what comes of it does not: a feature that was not found yet is looked up again.
//!
//! An id that was found is right as long as no feature was removed, which each version of the table remembers.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Marks a number without an id.
pub(super) const NO_ID: u32 = u32::MAX;

/// The ids of numbers; [`NO_ID`] where there is none.
pub(super) type IdTable = Arc<[AtomicU32]>;

/// The newest version of a table, for other threads.
#[derive(Debug)]
pub struct SharedIds(Mutex<Snapshot>);

#[derive(Clone, Debug)]
struct Snapshot {
    version: u64,
    table: IdTable,
}

/// The ids of a list of numbers, as far as they were known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownIds {
    version: u64,
    /// An id for each number; [`NO_ID`] if it was not known.
    pub(super) ids: Vec<u32>,
    /// The places of those that were not known, ascending.
    pub(super) unknown: Vec<u32>,
}

impl KnownIds {
    /// Splits off the ids from `at` on.
    pub(super) fn split_off(&mut self, at: usize) -> KnownIds {
        let mut unknown = self.unknown.split_off(self.unknown.partition_point(|&place| (place as usize) < at));
        unknown.iter_mut().for_each(|place| *place -= at as u32);
        KnownIds { version: self.version, ids: self.ids.split_off(at), unknown }
    }
}

/// A table in which no number has an id.
pub(super) fn empty_table(span: usize) -> IdTable {
    (0..span).map(|_| AtomicU32::new(NO_ID)).collect()
}

/// A number that no other version of any table has.
fn new_version() -> u64 {
    static VERSIONS: AtomicU64 = AtomicU64::new(0);
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

impl SharedIds {
    /// A first version.
    pub(super) fn new(table: IdTable) -> Self {
        SharedIds(Mutex::new(Snapshot { version: new_version(), table }))
    }

    fn newest(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().expect("no thread panicked with the lock")
    }

    /// Replaces the table by a larger one with the same ids.
    pub(super) fn widen(&self, table: IdTable) {
        self.newest().table = table;
    }

    /// Makes all ids that were found before invalid: one of them was removed.
    pub(super) fn invalidate(&self) {
        self.newest().version = new_version();
    }

    /// Whether ids are still right.
    pub(super) fn are_valid(&self, known: &KnownIds) -> bool {
        self.newest().version == known.version
    }

    /// The ids of these numbers that are known now.
    pub(super) fn look_up(&self, numbers: &[u32]) -> KnownIds {
        let Snapshot { version, table } = self.newest().clone();
        let id = |number: &u32| table.get(*number as usize).map_or(NO_ID, |id| id.load(Ordering::Relaxed));
        let ids: Vec<u32> = numbers.iter().map(id).collect();
        // Each place is written, and overwritten by the next one if its number is known: a branch here could not be predicted.
        let (mut unknown, mut count) = (vec![0; ids.len()], 0);
        for (place, &id) in (0..).zip(&ids) {
            unknown[count] = place;
            count += usize::from(id == NO_ID);
        }
        unknown.truncate(count);
        KnownIds { version, ids, unknown }
    }
}
