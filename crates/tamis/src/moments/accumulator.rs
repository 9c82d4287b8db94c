//! Adds rows one at a time to [`Comoments`], by a dense or a sparse product, whichever costs less.
//!
//! Rows are buffered in chunks of fixed length, counted from the first row: the result depends on the rows and not on
//! how the stream was split. A chunk with few zeros is expanded and multiplied ([`Comoments::observe_dense`]). A sparse
//! chunk adds only the pairs of its non-zero entries, Σ nnz² in all:
//! ```text
//! R ← R + Σ w (x − c)(x − c)ᵀ       c_j = 0 for a sparse column j, the chunk's mean for a dense one
//! C_b = R − W_b·d·dᵀ,  d = mean − c   once enough pairs were added to pay for touching all p² numbers (`settle`)
//! ```
//! No digits are lost by leaving a sparse column uncentred: if it is zero in at least half of the rows, its mean square
//! is at most twice its variance (Cauchy–Schwarz). Columns with more entries are centred from the start of a period. A
//! new period begins when a column becomes dense.
//!
//! Exponential decay (Sun et al. 2018, section 3.8, equation (13)): in the average, a new row has the weight α_n =
//! max(A, 1/(n+1)); that is, old weights are scaled down so that their sum never exceeds 1/A. Within a chunk, each row
//! is scaled by the decay of the later rows of the chunk, so the result is the same as row by row.

use super::comoments::{CHUNK, Comoments};
use super::packed_symmetric::{PackedSymmetric, SparseRows};

/// A product of matrices does this many multiplications in the time of one scattered one.
const DENSE_GAIN: f64 = 12.0;
/// A column is centred in a period if it has entries in more than this share of the period's first chunk.
const CENTRED_SHARE: f64 = 0.25;
/// A column that is not centred may have entries in at most this share of a chunk.
const SPARSE_SHARE: f64 = 0.5;

/// Accumulates the moments of rows.
#[derive(Clone, Debug, Default)]
pub struct Accumulator {
    sums: Comoments,
    /// A: the smallest weight of a new row in the averages; 0 means no decay.
    decay: f64,
    rows: Rows,
    buffer: Vec<f64>,
    period: Epoch,
}

/// Buffered rows: row `i` has the entries `offsets[i] .. offsets[i + 1]`, columns ascending.
#[derive(Clone, Debug)]
struct Rows {
    offsets: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
    weights: Vec<f64>,
    sorting: Vec<(u32, f64)>,
}

impl Default for Rows {
    fn default() -> Self {
        let (places, values, weights, sorting) = Default::default();
        Rows { offsets: vec![0], places, values, weights, sorting }
    }
}

/// Sparse rows whose products are in the co-moments already, but whose means are not.
#[derive(Clone, Debug, Default)]
struct Epoch {
    /// c of the columns that are centred, by column.
    centred: Vec<(u32, f64)>,
    weight: f64,
    squares: f64,
    rows: u64,
    /// Σ w (x − c) of each column.
    sums: Vec<f64>,
    pairs: f64,
}

impl Accumulator {
    /// No rows yet; `decay` is A, or 0 for equal weights.
    pub fn new(decay: f64) -> Self {
        Accumulator { decay, ..Accumulator::default() }
    }

    /// Continues from existing moments.
    pub fn resume(sums: Comoments, decay: f64) -> Self {
        Accumulator { sums, decay, ..Accumulator::default() }
    }

    /// Adds a row: columns (each once, in any order) with their values; `size` is the number of columns so far.
    pub fn push(&mut self, entries: impl Iterator<Item = (u32, f64)>, weight: f64, size: usize) {
        let rows = &mut self.rows;
        rows.sorting.clear();
        rows.sorting.extend(entries);
        rows.sorting.sort_unstable_by_key(|entry| entry.0);
        rows.places.extend(rows.sorting.iter().map(|entry| entry.0));
        rows.values.extend(rows.sorting.iter().map(|entry| entry.1));
        rows.offsets.push(rows.places.len());
        rows.weights.push(weight);
        if rows.weights.len() == CHUNK {
            self.flush(size);
        }
    }

    /// The moments of all rows, over `size` columns.
    pub fn finish(mut self, size: usize) -> Comoments {
        self.flush(size);
        self.settle();
        // Columns that came after the last row of a fold are zero in it.
        self.sums.grow(size);
        self.sums
    }

    /// Adds the buffered rows.
    fn flush(&mut self, size: usize) {
        if self.rows.weights.is_empty() {
            return;
        }
        self.sums.grow(size);
        self.decay_old();
        let pairs: f64 = self.rows.offsets.windows(2).map(|b| ((b[1] - b[0]) as f64).powi(2) / 2.0).sum();
        let full = self.rows.weights.len() as f64 * (size as f64).powi(2) / 2.0;
        match full <= DENSE_GAIN * pairs {
            true => self.add_dense(size),
            false => self.add_sparse(size),
        }
        let rows = &mut self.rows;
        rows.offsets.truncate(1);
        [&mut rows.values, &mut rows.weights].into_iter().for_each(Vec::clear);
        rows.places.clear();
    }

    /// Applies the decay to the moments so far and to the weights of the buffered rows.
    fn decay_old(&mut self) {
        if self.decay <= 0.0 {
            return;
        }
        self.settle();
        let most = 1.0 / self.decay;
        let mut total = self.sums.weight;
        let keep = |weight: &f64| {
            let keep = ((most - weight).max(0.0) / total.max(f64::MIN_POSITIVE)).min(1.0);
            total = total * keep + weight;
            keep
        };
        let keeps: Vec<f64> = self.rows.weights.iter().map(keep).collect();
        let mut later = 1.0;
        for (weight, keep) in self.rows.weights.iter_mut().zip(keeps).rev() {
            *weight *= later;
            later *= keep;
        }
        self.sums.decay(later);
    }

    fn add_dense(&mut self, size: usize) {
        self.settle();
        let rows = &self.rows;
        let mut dense = vec![0.0; rows.weights.len() * size];
        for (cells, bounds) in dense.chunks_exact_mut(size).zip(rows.offsets.windows(2)) {
            let entries = rows.places[bounds[0]..bounds[1]].iter().zip(&rows.values[bounds[0]..bounds[1]]);
            entries.for_each(|(&place, &value)| cells[place as usize] = value);
        }
        self.sums.add_dense_chunk(&dense, &rows.weights, &mut self.buffer);
    }

    fn add_sparse(&mut self, size: usize) {
        let counts = self.rows.counts(size);
        let limit = SPARSE_SHARE * self.rows.weights.len() as f64;
        let is_centred = |place: u32| self.period.centred.binary_search_by_key(&place, |entry| entry.0).is_ok();
        let dense_now = |(place, &count): (usize, &u32)| f64::from(count) > limit && !is_centred(place as u32);
        if self.period.rows > 0 && counts.iter().enumerate().any(dense_now) {
            self.settle();
        }
        if self.period.rows == 0 {
            self.period.centred = self.rows.dense_means(&counts);
        }
        let shifted = self.rows.shifted(&self.period.centred);
        let period = &mut self.period;
        period.sums.resize(size.max(period.sums.len()), 0.0);
        for (bounds, weight) in shifted.offsets.windows(2).zip(&shifted.weights) {
            let span = bounds[0]..bounds[1];
            period.pairs += (span.len() as f64).powi(2) / 2.0;
            let entries = shifted.places[span.clone()].iter().zip(&shifted.values[span]);
            entries.for_each(|(&place, value)| period.sums[place as usize] += weight * value);
            period.weight += weight;
            period.squares += weight * weight;
            period.rows += 1;
        }
        let Rows { offsets, places, values, weights, .. } = &shifted;
        self.sums.comoments.add_pairs(SparseRows { offsets, places, values, weights });
        if self.period.pairs >= (size as f64).powi(2) / 2.0 {
            self.settle();
        }
    }

    /// Centres the contribution of sparse chunks and merges it with the other moments.
    fn settle(&mut self) {
        let Epoch { centred, weight, squares, rows, mut sums, .. } = std::mem::take(&mut self.period);
        if weight <= 0.0 {
            self.sums.rows += rows;
            return;
        }
        sums.resize(self.sums.size(), 0.0);
        sums.iter_mut().for_each(|sum| *sum /= weight);
        let mut shifts: Vec<f64> = sums.iter().zip(&self.sums.means).map(|(mean, before)| mean - before).collect();
        centred.iter().for_each(|&(place, centre)| shifts[place as usize] += centre);
        let total = self.sums.weight + weight;
        let between = self.sums.weight * weight / total;
        self.sums.comoments.add_outer(&[(-weight, &sums), (between, &shifts)]);
        let share = weight / total;
        self.sums.means.iter_mut().zip(&shifts).for_each(|(mean, shift)| *mean += share * shift);
        self.sums.weight = total;
        self.sums.squares += squares;
        self.sums.rows += rows;
    }

    /// The largest number of bytes that an accumulator of `size` columns takes, without its buffered rows.
    pub fn bytes_for(size: u64) -> u64 {
        PackedSymmetric::bytes_for(size).saturating_add(size.saturating_mul(8 * 4))
    }
}

impl Rows {
    /// Entries of each column.
    fn counts(&self, size: usize) -> Vec<u32> {
        let mut counts = vec![0; size];
        self.places.iter().for_each(|&place| counts[place as usize] += 1);
        counts
    }

    /// Columns with many entries, and their means.
    fn dense_means(&self, counts: &[u32]) -> Vec<(u32, f64)> {
        let limit = CENTRED_SHARE * self.weights.len() as f64;
        let total: f64 = self.weights.iter().sum();
        let mut means: Vec<(u32, f64)> =
            counts.iter().zip(0..).filter(|(c, _)| f64::from(**c) > limit).map(|(_, p)| (p, 0.0)).collect();
        for (bounds, weight) in self.offsets.windows(2).zip(&self.weights) {
            for at in bounds[0]..bounds[1] {
                if let Ok(found) = means.binary_search_by_key(&self.places[at], |entry| entry.0) {
                    means[found].1 += weight * self.values[at] / total.max(f64::MIN_POSITIVE);
                }
            }
        }
        means
    }

    /// The rows with `centred` columns shifted, so that these have an entry in every row.
    fn shifted(&self, centred: &[(u32, f64)]) -> Rows {
        if centred.is_empty() {
            return self.clone();
        }
        let mut rows = Rows { weights: self.weights.clone(), ..Rows::default() };
        for bounds in self.offsets.windows(2) {
            let mut entries =
                self.places[bounds[0]..bounds[1]].iter().zip(&self.values[bounds[0]..bounds[1]]).peekable();
            let mut put = |place: u32, value: f64| {
                rows.places.push(place);
                rows.values.push(value);
            };
            for &(column, centre) in centred {
                while let Some((&place, &value)) = entries.next_if(|(place, _)| **place < column) {
                    put(place, value);
                }
                let own = entries.next_if(|(place, _)| **place == column).map_or(0.0, |(_, value)| *value);
                put(column, own - centre);
            }
            entries.for_each(|(&place, &value)| put(place, value));
            rows.offsets.push(rows.places.len());
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (Vec<(u32, f64)>, f64);

    /// Rows of `size` columns, each cell filled with probability about `share`; column 0 always, near a million.
    fn rows(count: usize, size: u32, share: f64, seed: u64) -> Vec<Row> {
        let mut state = seed;
        let mut random = move || {
            state = crate::rng::splitmix64(state);
            state as f64 / u64::MAX as f64
        };
        let mut row = || {
            let mut entries = vec![(0, 1e6 + random())];
            for place in 1..size {
                if random() < share {
                    entries.push((place, random() - 0.3));
                }
            }
            (entries, 0.5 + random())
        };
        (0..count).map(|_| row()).collect()
    }

    fn accumulated(rows: &[Row], size: usize, decay: f64) -> Comoments {
        let mut gatherer = Accumulator::new(decay);
        rows.iter().for_each(|(entries, weight)| gatherer.push(entries.iter().rev().copied(), *weight, size));
        gatherer.finish(size)
    }

    /// Two passes, term by term.
    fn naive(rows: &[Row], size: usize) -> Comoments {
        let mut sums = Comoments::new(size);
        let dense = |(entries, _): &Row| {
            let mut cells = vec![0.0; size];
            entries.iter().for_each(|&(place, value)| cells[place as usize] = value);
            cells
        };
        for row in rows {
            sums.weight += row.1;
            dense(row).iter().zip(&mut sums.means).for_each(|(x, mean)| *mean += row.1 * x);
        }
        sums.means.iter_mut().for_each(|mean| *mean /= sums.weight);
        for row in rows {
            let cells: Vec<f64> = dense(row).iter().zip(&sums.means).map(|(x, mean)| x - mean).collect();
            sums.comoments.add_outer(&[(row.1, &cells)]);
        }
        sums
    }

    fn assert_close(found: &Comoments, expected: &Comoments, slack: f64) {
        assert!((found.weight / expected.weight - 1.0).abs() < 1e-12);
        for i in 0..found.size() {
            assert!((found.means[i] - expected.means[i]).abs() <= slack * (1.0 + expected.means[i].abs()), "mean {i}");
            for j in 0..=i {
                let (a, b) = (found.comoments.get(i, j), expected.comoments.get(i, j));
                let unit = (expected.comoments.get(i, i) * expected.comoments.get(j, j)).sqrt().max(1e-9);
                assert!((a - b).abs() <= slack * unit, "{i} {j}: {a} {b}");
            }
        }
    }

    #[test]
    fn dense_and_sparse_rows_give_the_moments_of_two_passes() {
        for (count, size, share) in [(1300, 40, 0.9), (3000, 300, 0.01), (700, 120, 0.2), (5, 30, 0.5)] {
            let rows = rows(count, size, share, 7);
            assert_close(&accumulated(&rows, size as usize, 0.0), &naive(&rows, size as usize), 1e-9);
        }
    }

    #[test]
    fn a_column_that_becomes_dense_is_centred_from_then_on() {
        let mut all = rows(2000, 200, 0.01, 3);
        all.iter_mut().skip(1000).enumerate().for_each(|(i, row)| {
            row.0.retain(|entry| entry.0 != 199);
            row.0.push((199, 1e5 + (i % 10) as f64));
        });
        assert_close(&accumulated(&all, 200, 0.0), &naive(&all, 200), 1e-9);
        let late = accumulated(&all[1000..], 200, 0.0);
        assert!((late.covariance(199, 199) - 8.25 * 1.0).abs() < 0.1, "{}", late.covariance(199, 199));
    }

    #[test]
    fn late_columns_were_zero_before() {
        let rows = rows(1500, 100, 0.05, 5);
        let mut gatherer = Accumulator::new(0.0);
        for (number, (entries, weight)) in rows.iter().enumerate() {
            let known = if number < 900 { 50 } else { 100 };
            gatherer.push(entries.iter().copied().filter(|entry| entry.0 < known), *weight, known as usize);
        }
        let kept: Vec<Row> = rows
            .iter()
            .enumerate()
            .map(|(number, (entries, weight))| {
                let known = if number < 900 { 50 } else { 100 };
                (entries.iter().copied().filter(|entry| entry.0 < known).collect(), *weight)
            })
            .collect();
        assert_close(&gatherer.finish(100), &naive(&kept, 100), 1e-9);
    }

    #[test]
    fn forgetting_in_chunks_is_forgetting_row_by_row() {
        for share in [0.02, 0.9] {
            let rows: Vec<Row> = rows(1100, 60, share, 9).into_iter().map(|(entries, _)| (entries, 1.0)).collect();
            let (alpha, size) = (0.01, 60);
            let found = accumulated(&rows, size, alpha);
            // Equation (13) literally, for means and for the mean of products about a fixed point.
            let (mut means, mut products) = (vec![0.0; size], vec![0.0; size]);
            for (number, (entries, _)) in rows.iter().enumerate() {
                let share = f64::max(alpha, 1.0 / (number as f64 + 1.0));
                let mut cells = vec![0.0; size];
                entries.iter().for_each(|&(place, value)| cells[place as usize] = value);
                for (j, cell) in cells.iter().enumerate() {
                    means[j] += share * (cell - means[j]);
                    products[j] += share * (cell * cells[1] - products[j]);
                }
            }
            assert!((found.weight - 100.0).abs() < 1e-9);
            for j in 1..size {
                assert!((found.means[j] - means[j]).abs() < 1e-12);
                assert!((found.covariance(j, 1) - (products[j] - means[j] * means[1])).abs() < 1e-12);
            }
        }
    }
}
