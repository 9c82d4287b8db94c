//! The literal sums of a narrowing stage of a distributed fit: dense rows of two classes, one bucket after the other.
//!
//! ```text
//! s_j: standard deviation of column j over all rows    S: mean of s_j over sparse columns
//! sparse: x'_ij = x_ij/√(s_j·S)        dense (half of the rows or more): x'_ij = (x_ij − mean_j)/s_j
//! a = α/Σ_j mean_i |x'_ij| (√(2/π) for a dense column)    class weights: (½/share)^¼
//! a bucket of n rows visits L = max(1600, min(2n, max(n, 80000))) rows; pass t is sorted by a hash of t and the row
//! Z_j = Σ z_j,  N_j = Σ n_j    over paths and buckets; from zero in each
//! ```
//! Ensemble 0 learns from all rows, ensemble f + 1 from those outside of fold f.

use tamis::data::{Example, OutputCoding, Row};
use tamis::loss::LossKind;
use tamis::rng::splitmix64;
use tamis::stabilized::{ClassCoding, Settings, Subsamples};

use super::stabilized::Stabilized;

/// A dense row, its class, its hash and its bucket.
pub struct LiteralRow {
    /// The values of all columns.
    pub values: Vec<f64>,
    /// Whether it is of the second class.
    pub positive: bool,
    /// Its hash.
    pub hash: u64,
    /// Its bucket.
    pub bucket: u32,
}

const PATHS: usize = 8;
const FOLDS: u32 = 4;

/// [Z, N] of each column, for each ensemble.
pub fn state_sums(rows: &[LiteralRow]) -> Vec<Vec<[f64; 2]>> {
    let (scaled, row_size) = scaled(rows);
    let share = rows.iter().filter(|row| row.positive).count() as f64 / rows.len() as f64;
    let class_weights = [1.0 - share, share].map(|share| (0.5 / share).powf(0.25));
    let coding = ClassCoding { output: OutputCoding { class: Some(1.0), codes: [-1.0, 1.0] }, class_weights };
    let settings = Settings { paths: PATHS, ..Settings::default() };
    let columns = rows[0].values.len();
    let buckets = rows.iter().map(|row| row.bucket).max().unwrap_or(0) + 1;
    let ensemble = |number: u32| {
        let mut total = vec![[0.0; 2]; columns];
        for bucket in 0..buckets {
            let subsamples = match number {
                0 => Subsamples::new(0.5),
                fold => Subsamples::excluding_fold(0.5, fold - 1, FOLDS),
            };
            let loss = LossKind::Hinge.build(1.0);
            let mut paths = Stabilized::new(settings, loss, &[coding], subsamples, columns);
            let ids: Vec<u32> = (0..columns as u32).collect();
            let visited: Vec<(Example<'_>, u64)> = visits(rows, bucket)
                .into_iter()
                .map(|row| {
                    let target = if rows[row].positive { 1.0 } else { 0.0 };
                    (Example { row: Row { ids: &ids, values: &scaled[row] }, target, weight: 1.0 }, rows[row].hash)
                })
                .collect();
            paths.stage(&visited, row_size);
            for (sum, [z, n]) in total.iter_mut().zip(paths.state_sums(0)) {
                *sum = [sum[0] + z, sum[1] + n];
            }
        }
        total
    };
    (0..=FOLDS).map(ensemble).collect()
}

/// The rows as the paths see them, and their mean ℓ₁ norm.
fn scaled(rows: &[LiteralRow]) -> (Vec<Vec<f64>>, f64) {
    let (count, columns) = (rows.len() as f64, rows[0].values.len());
    let column = |j: usize| rows.iter().map(move |row| row.values[j]);
    let mean: Vec<f64> = (0..columns).map(|j| column(j).sum::<f64>() / count).collect();
    let spread = |j: usize| (column(j).map(|x| (x - mean[j]).powi(2)).sum::<f64>() / count).sqrt();
    let spread: Vec<f64> = (0..columns).map(spread).collect();
    let is_dense = |j: usize| column(j).filter(|x| *x != 0.0).count() as f64 >= count / 2.0;
    let dense: Vec<bool> = (0..columns).map(is_dense).collect();
    let sparse: Vec<f64> = (0..columns).filter(|&j| !dense[j]).map(|j| spread[j]).collect();
    let usual = sparse.iter().sum::<f64>() / sparse.len() as f64;
    let value = |row: &LiteralRow, j: usize| match dense[j] {
        true => (row.values[j] - mean[j]) / spread[j],
        false => row.values[j] / (spread[j] * usual).sqrt(),
    };
    let scaled: Vec<Vec<f64>> = rows.iter().map(|row| (0..columns).map(|j| value(row, j)).collect()).collect();
    let size = |j: usize| match dense[j] {
        true => (2.0 / std::f64::consts::PI).sqrt(),
        false => scaled.iter().map(|row| row[j].abs()).sum::<f64>() / count,
    };
    let row_size = (0..columns).map(size).sum();
    (scaled, row_size)
}

/// The rows of a bucket in the order of their visits.
fn visits(rows: &[LiteralRow], bucket: u32) -> Vec<usize> {
    let mut here: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].bucket == bucket).collect();
    let length = (2 * here.len()).min(here.len().max(80_000)).max(1_600);
    let mut visits = Vec::new();
    for pass in 1.. {
        here.sort_by_key(|&row| splitmix64(rows[row].hash ^ splitmix64(pass)));
        visits.extend(&here);
        if visits.len() >= length || here.is_empty() {
            break;
        }
    }
    visits.truncate(length);
    visits
}
