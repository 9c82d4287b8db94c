//! The features of rows as numbers, and their ids where another thread has looked them up.

use std::ops::Deref;

use super::shared_ids::{KnownIds, SharedIds};

/// Numbers of features. Rows are equal if their numbers are, whether ids were looked up or not.
#[derive(Clone, Debug, Default)]
pub struct FeatureNumbers {
    numbers: Vec<u32>,
    /// Their ids, in the same order.
    known: Option<KnownIds>,
}

impl PartialEq for FeatureNumbers {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl Deref for FeatureNumbers {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.numbers
    }
}

impl FeatureNumbers {
    /// No numbers, with room for some.
    pub(super) fn with_capacity(numbers: usize) -> Self {
        FeatureNumbers { numbers: Vec::with_capacity(numbers), known: None }
    }

    /// The numbers, to be changed; ids that were looked up are forgotten.
    #[inline]
    pub(super) fn to_mut(&mut self) -> &mut Vec<u32> {
        if self.known.is_some() {
            self.known = None;
        }
        &mut self.numbers
    }

    /// Splits off the numbers from `at` on, with their ids.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let known = self.known.as_mut().map(|known| known.split_off(at));
        FeatureNumbers { numbers: self.numbers.split_off(at), known }
    }

    /// Looks up the ids that are known now.
    pub(super) fn look_up(&mut self, ids: &SharedIds) {
        self.known = Some(ids.look_up(&self.numbers));
    }

    /// The numbers, and their ids as far as they were looked up.
    pub(super) fn into_parts(self) -> (Vec<u32>, Option<KnownIds>) {
        (self.numbers, self.known)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared_ids::NO_ID;
    use super::super::{FeatureKey, RawRows, Vocabulary};
    use crate::data::Label;

    fn rows(numbers: &[u32]) -> RawRows {
        let mut rows = RawRows::by_index();
        for row in numbers.chunks(3) {
            row.iter().for_each(|&number| rows.push_index(number, 1.0));
            rows.end_row(Label::Absent, 1.0, 0);
        }
        rows
    }

    /// Features that are new, known, removed, far apart, or come between the look-up and the use of it.
    #[test]
    fn ids_that_were_looked_up_early_are_those_of_now() {
        let [mut plain, mut shared] = [Vocabulary::new(None), Vocabulary::new(None)];
        let ids = shared.shared_ids().unwrap();
        let mut waiting = Vec::new();
        for block in 0..60_u32 {
            let numbers: Vec<u32> =
                (0..30).map(|at| (block * 7 + at * at) % 97 * if at % 9 == 0 { 40_000_000 } else { 3 }).collect();
            let mut looked_up = rows(&numbers);
            looked_up.look_up_ids(&ids);
            assert_eq!(looked_up, rows(&numbers));
            let cut = (block % 11) as usize;
            let second = looked_up.split_off(cut);
            waiting.extend([looked_up, second]);
            if block % 4 == 3 {
                for rows in waiting.drain(..) {
                    let expected = rows.keep(|_| true).intern(&mut plain).unwrap().0;
                    assert_eq!(rows.intern(&mut shared).unwrap().0, expected, "block {block}");
                }
            }
            if block % 13 == 5 {
                let freed = plain.ids().nth(block as usize % 20).unwrap();
                plain.free(freed);
                shared.free(freed);
            }
            if block == 40 {
                shared = shared.clone();
            }
        }
        assert!(plain.export().eq(shared.export()));
    }

    #[test]
    fn what_is_found_is_used_until_a_feature_is_removed() {
        let mut vocabulary = Vocabulary::new(None);
        vocabulary.intern_indices(&mut [5, 6, 7]);
        let ids = vocabulary.shared_ids().unwrap();
        let known = ids.look_up(&[7, 5, 9, u32::MAX]);
        assert_eq!(known.ids, [2, 0, NO_ID, NO_ID]);
        vocabulary.intern(FeatureKey::Index(9));
        vocabulary.intern(FeatureKey::Index(1 << 19));
        assert!(ids.are_valid(&known), "the table has grown, and ids are the same");
        assert_eq!(ids.look_up(&[1 << 19]).ids, [4]);
        vocabulary.free(0);
        assert!(!ids.are_valid(&known));
        assert!(
            !vocabulary.clone().shared_ids().unwrap().are_valid(&ids.look_up(&[6])),
            "the ids of another vocabulary"
        );
        assert!(Vocabulary::new(Some(4)).shared_ids().is_none(), "names are hashed");
    }
}
