//! Finds the dense columns of the first rows of a stream, which alone may be centred.
//!
//! The mean and the deviation of a column take 40 bytes. A wide stream has millions of columns, and hardly any that is dense. So the
//! values of each column are counted first, in 4 bytes, and the dense columns are observed when the stored rows are read again.

use super::{ColumnMoments, ColumnScaler, Row, ScaleKind};

impl ColumnScaler {
    /// The same scaler; whether it first counts the values of a column, and then observes the dense ones, which alone may be centred:
    /// see [`ColumnScaler::finds_dense`]. A wide stream has millions of columns, and hardly any that is dense.
    pub fn counting(mut self, counts: bool) -> Self {
        let needs_all = matches!(self.kind, ScaleKind::UnitVariance | ScaleKind::SqrtStd);
        self.counts = (counts && !needs_all).then(Vec::new);
        self
    }

    /// Reserves memory for this many columns, if it can be had. What is reserved for many columns is so much that the allocator gets
    /// it from the system and gives it back when the scaling is known; of that, only what is used takes memory.
    pub fn reserve(&mut self, columns: usize) {
        const MANY: usize = 1 << 16;
        const GIVEN_BACK: usize = 1 << 25;
        let Some(counts) = self.counts.as_mut().filter(|_| self.kind != ScaleKind::None) else { return };
        let room = |bytes: usize| if columns < MANY { columns } else { columns.max(GIVEN_BACK / bytes) };
        // What cannot be reserved now is asked for again when it is needed.
        let _ = self.divisors.try_reserve_exact(room(size_of::<f64>()));
        let _ = counts.try_reserve_exact(room(size_of::<u32>()));
    }

    pub(super) fn count(&mut self, row: Row<'_>) {
        let Some(counts) = &mut self.counts else { return };
        counts.resize(self.divisors.len(), 0);
        row.ids.iter().for_each(|&id| counts[id as usize] += 1);
    }

    /// Whether there are dense columns among those that were only counted. They are then to be observed: see
    /// [`ColumnScaler::observe_dense`].
    pub fn finds_dense(&mut self) -> bool {
        let (Some(counts), true) = (self.counts.take(), self.is_open()) else { return false };
        let is_dense = |count: &u32| ColumnMoments::is_dense_count(f64::from(*count), self.rows);
        let Some(last) = counts.iter().rposition(is_dense) else { return false };
        self.moments = vec![ColumnMoments::default(); last + 1];
        true
    }

    /// Observes the columns up to the last dense one, in a row that was observed before.
    pub fn observe_dense(&mut self, row: Row<'_>) {
        for (id, value) in row.iter() {
            if let Some(moments) = self.moments.get_mut(id as usize) {
                moments.add(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dense columns are centred as if all had been observed at once, wherever they are and whenever they begin.
    #[test]
    fn counting_first_gives_the_same_scaling() {
        let value = |row: u32, id: u32| 1000.0 + f64::from((row * 7 + id * 3) % 11);
        let begins = |row: u32, id: u32| id.is_multiple_of(2) || row >= 30;
        for columns in [[0, 1, 5], [900, 1, 901], [3, 3000, 70]] {
            for (dense, kind) in [(true, ScaleKind::Auto), (true, ScaleKind::MaxAbs), (false, ScaleKind::Auto)] {
                let has = |row: u32, id: u32| if dense { begins(row, id) } else { row % 7 == id % 7 };
                let rows: Vec<(Vec<u32>, Vec<f64>)> = (0..60)
                    .map(|row| columns.iter().filter(|id| has(row, **id)).map(|&id| (id, value(row, id))).unzip())
                    .collect();
                let of = |(ids, values): &(Vec<u32>, Vec<f64>), see: &mut dyn FnMut(Row<'_>)| see(Row { ids, values });
                let (mut all, mut counting) = (ColumnScaler::new(kind), ColumnScaler::new(kind).counting(true));
                rows.iter().for_each(|row| of(row, &mut |row| all.observe(row)));
                rows.iter().for_each(|row| of(row, &mut |row| counting.observe(row)));
                assert_eq!(counting.finds_dense(), dense);
                rows.iter().filter(|_| dense).for_each(|row| of(row, &mut |row| counting.observe_dense(row)));
                all.finish();
                counting.finish();
                assert_eq!(counting, all);
                assert_eq!(all.centred().is_empty(), !dense);
            }
        }
    }
}
