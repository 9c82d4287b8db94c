//! Cache prefetching for the cells of a row, and for the table in which its features are looked up.
//!
//! The cells of a row lie far apart; with a million features, most are in no cache. While one row is learned, the cells
//! of the next one are prefetched. No result depends on it.
//!
//! Measured (200,000 rows of 75 features of a million, one pass from text, two cores): `ftrl` takes a tenth less time
//! than with all cells of a row read at its beginning, `truncated-gradient` 3 %. Reading the next row's cells between
//! those of this row, which needs no `unsafe`, is slower than not looking ahead at all: a read that waits holds up the
//! arithmetic behind it, a request does not. From a matrix in memory, on one thread, `ftrl` takes an eighth less
//! time if the ids of features are prefetched in their table before they are looked up.

use crate::data::FeatureId;

/// Prefetches the cells of these features. A feature without a cell does no harm, and need not be looked for.
#[inline]
pub(crate) fn prefetch<C>(cells: &[C], ids: &[FeatureId]) {
    for &id in ids {
        ask_for(cells.as_ptr().wrapping_add(id as usize));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "a tenth of the time of ftrl; the standard library's own hint is not stable")]
fn ask_for<C>(cell: *const C) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    /// The size of a cache line.
    const LINE: usize = 64;
    let start: *const i8 = cell.cast();
    for line in (0..size_of::<C>()).step_by(LINE) {
        // SAFETY: the instruction is part of every x86-64 (SSE). It neither reads nor writes as far as a program can
        // tell, and is allowed any address: one that is not mapped is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line)) }
    }
}

/// On other processors nothing is prefetched.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ask_for<C>(_cell: *const C) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_ids_may_be_asked_for_and_nothing_changes() {
        let cells: Vec<[f64; 4]> = (0..100).map(|i| [f64::from(i); 4]).collect();
        let before = cells.clone();
        prefetch(&cells, &[0, 99, 5, 5, 100, u32::MAX]);
        prefetch::<[f64; 4]>(&[], &[0, 1]);
        prefetch(&cells, &[]);
        assert_eq!(cells, before);
    }
}
