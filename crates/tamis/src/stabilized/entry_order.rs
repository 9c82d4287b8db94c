//! The order of the features at small sizes: that in which they enter an elastic-net path.
//!
//! Source: Zou & Hastie, *Regularization and variable selection via the elastic net* (JRSS B 67, 2005); coordinate
//! descent with covariance updates after Friedman, Hastie & Tibshirani (J. Stat. Softw. 33, 2010).
//!
//! Evidence ranks many features well. Among a few hundred, it depends on which neighbours of a feature are still active:
//! features that go together divide their evidence, and small changes of the rows decide which of them stays. The order of
//! entry into a regularisation path is more stable, and as good for predictions. From the first size of at most
//! [`LARGEST`] features on, an ensemble therefore keeps the features that enter first, of the [`CANDIDATES`] with the
//! most evidence; features that do not enter follow by evidence. Each cross-fitted ensemble has an order of its own, from
//! the rows it may see.
//! ```text
//! S: correlations of the columns, s: their correlations with the target (±1 for classes)
//! for λ = λ_max·q, λ_max·q², …, until enough features have entered:
//!     repeat for all j until nothing moves:  β_j ← soft(s_j − Σ_{i≠j} S_ji·β_i, λ)/(1 + ρ)
//! ```
//! A feature enters at the first λ with β_j ≠ 0; of those that enter together, the one with the larger |β_j| is first.
//! With several outputs, the largest λ counts: it is a correlation, and so comparable.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | ρ | [`RIDGE`] | 0.3 | 0.001, 0.03, 0.1, 0.3: the most stable at equal error; among correlated columns, more neighbours of true ones |
//! | q | [`FACTOR`] | 0.97 | few features enter together |
//!
//! Departures: the squared loss for classes, too; its order is as stable as that of the logistic loss, and it needs the
//! correlations only. Compared and not taken: backward elimination, and the mean rank over subsamples (both less stable);
//! `docs/why-this-size.md` has the numbers.
//!
//! Cost: one pass over the rows, or a sample of at most 2²² entries and 2³¹ products; then the square of the candidates
//! for each λ.

use rayon::prelude::*;

use super::cross_fit::{CrossFit, FOLDS, FoldedEnsemble};
use super::gram::{Gram, axpy};
use super::setup::hash_limit;
use super::stage::{ClassCoding, top_by_evidence};
use super::subsamples::HashedRows;
use crate::data::{Batch, FeatureId, fold_of_hash};
use crate::prox::soft_threshold;
use crate::rng::splitmix64;
use crate::trainer::{BufferedRows, TrainError};

/// The largest size whose features have an order.
pub(super) const LARGEST: usize = 512;
/// The features with the most evidence that may enter.
const CANDIDATES: usize = 256;
/// Features that enter, at most.
const MOST_ENTERED: usize = 128;
/// ρ.
const RIDGE: f64 = 0.3;
/// q.
const FACTOR: f64 = 0.97;
/// Values of λ, at most: the last one is a hundredth of the first.
const MOST_LAMBDAS: usize = 151;
/// A coefficient stands still if it moves by less than this.
const TOLERANCE: f64 = 1e-11;
/// Sweeps for each λ, at most.
const MOST_SWEEPS: usize = 1000;
/// Entries of the rows, and products of them, at most.
const MAX_ENTRIES: u64 = 1 << 22;
const MAX_PRODUCTS: u64 = 1 << 31;

/// A regression of a standardised target on standardised columns.
#[derive(Clone, Debug)]
pub struct Correlations {
    /// The correlations of the columns, row by row; zero for constant columns.
    pub columns: Vec<f64>,
    /// The correlations of the columns with the target.
    pub target: Vec<f64>,
}

/// When a column enters: λ and |β| there; zeros if it does not enter.
pub type Entry = (f64, f64);

impl Correlations {
    /// When each column enters.
    pub fn entries(&self) -> Vec<Entry> {
        let size = self.target.len();
        let mut entries = vec![(0.0, 0.0); size];
        let largest = self.target.iter().fold(0.0_f64, |most, s| most.max(s.abs()));
        if largest <= f64::MIN_POSITIVE || !largest.is_finite() {
            return entries;
        }
        let (mut beta, mut gradient) = (vec![0.0; size], self.target.clone());
        let mut level = 1.0;
        for _ in 1..MOST_LAMBDAS {
            level *= FACTOR;
            self.descend(largest * level, &mut beta, &mut gradient);
            for (entry, beta) in entries.iter_mut().zip(&beta).filter(|(entry, beta)| entry.0 == 0.0 && **beta != 0.0) {
                *entry = (largest * level, beta.abs());
            }
            if entries.iter().filter(|entry| entry.0 > 0.0).count() >= MOST_ENTERED {
                break;
            }
        }
        entries
    }

    /// Minimises over β for one λ; `gradient` is s − Sβ.
    fn descend(&self, lambda: f64, beta: &mut [f64], gradient: &mut [f64]) {
        let size = beta.len();
        for _ in 0..MOST_SWEEPS {
            let mut most = 0.0_f64;
            for j in 0..size {
                let row = &self.columns[j * size..(j + 1) * size];
                if row[j] == 0.0 {
                    continue;
                }
                let new = soft_threshold(gradient[j] + beta[j], lambda) / (1.0 + RIDGE);
                let step = new - beta[j];
                if step != 0.0 {
                    beta[j] = new;
                    axpy(-step, row, gradient);
                    most = most.max(step.abs());
                }
            }
            if most <= TOLERANCE {
                return;
            }
        }
    }
}

/// Determines the order of every ensemble.
pub(super) fn set_orders(ensembles: &mut CrossFit, rows: &mut BufferedRows) -> Result<(), TrainError> {
    let candidates: Vec<Vec<FeatureId>> = members(ensembles).map(candidates).collect();
    let mut columns: Vec<FeatureId> = candidates.concat();
    columns.sort_unstable();
    columns.dedup();
    let folds = gather(ensembles, rows, &columns)?;
    let codings = &ensembles.codings;
    let orders: Vec<Vec<FeatureId>> = ensembles.threads.install(|| {
        let sums: Vec<Gram> = folds.par_iter().map(|rows| products(rows, columns.len(), codings)).collect();
        let order = |(number, candidates): (usize, &Vec<FeatureId>)| {
            let own = sums.iter().enumerate().filter(|&(fold, _)| fold + 1 != number).map(|(_, sum)| sum);
            let total = sum_of(own);
            order(&total, &columns, candidates, codings.len())
        };
        candidates.par_iter().enumerate().map(order).collect()
    });
    let all = std::iter::once(&mut ensembles.main).chain(&mut ensembles.folds);
    all.zip(orders).for_each(|(member, order)| member.order = order);
    Ok(())
}

fn members(ensembles: &CrossFit) -> impl Iterator<Item = &FoldedEnsemble> {
    std::iter::once(&ensembles.main).chain(&ensembles.folds)
}

/// The features of an ensemble with the most evidence, ascending.
fn candidates(member: &FoldedEnsemble) -> Vec<FeatureId> {
    let (positions, _) = top_by_evidence(&member.ensemble.means(), CANDIDATES);
    positions.iter().map(|&position| member.ensemble.active()[position as usize]).collect()
}

/// The rows of each fold, scaled, over some columns: all rows, or a sample by hash.
fn gather(ensembles: &CrossFit, rows: &mut BufferedRows, columns: &[FeatureId]) -> Result<Vec<Batch>, TrainError> {
    let mut transform = ensembles.main.transform.clone();
    transform.set_active(columns);
    let entries = transform.entries(columns, rows.rows);
    let per_row = (entries / rows.rows.max(1)).max(1) + ensembles.codings.len() as u64;
    let limit = hash_limit(MAX_ENTRIES.min(MAX_PRODUCTS / per_row), entries);
    let mut folds = vec![HashedRows::default(); FOLDS as usize];
    for chunk in rows.store.chunks(0) {
        let chunk = chunk?;
        for (number, example) in chunk.numbers().zip(chunk.examples()) {
            let row_hash = ensembles.row_hashes[number];
            if splitmix64(row_hash ^ 4) <= limit && example.weight > 0.0 {
                transform.scale_and_restrict(example, row_hash, &mut folds[fold_of_hash(row_hash, FOLDS) as usize]);
            }
        }
    }
    Ok(folds.into_iter().map(|fold| fold.batch).collect())
}

/// Sums of products of the columns 1, the features and the coded targets.
fn products(rows: &Batch, features: usize, codings: &[ClassCoding]) -> Gram {
    let width = 1 + features + codings.len();
    let (mut gram, mut entries) = (Gram::new(width, width), Vec::new());
    for example in rows.examples() {
        entries.clear();
        entries.push((0, 1.0));
        entries.extend(example.row.iter().map(|(position, value)| (position + 1, value)));
        let targets = codings.iter().map(|coding| coding.output.code(example.target));
        entries.extend((1 + features as u32..).zip(targets));
        gram.add(&entries, example.weight);
    }
    gram.finish();
    gram
}

/// The sum of matrices, both halves.
fn sum_of<'a>(sums: impl Iterator<Item = &'a Gram>) -> Vec<f64> {
    let mut total = Vec::new();
    for matrix in sums.map(Gram::given) {
        total.resize(matrix.len(), 0.0);
        axpy(1.0, &matrix, &mut total);
    }
    total
}

/// The candidates that enter, in their order.
fn order(sums: &[f64], columns: &[FeatureId], candidates: &[FeatureId], outputs: usize) -> Vec<FeatureId> {
    let width = 1 + columns.len() + outputs;
    let rows = sums[0].max(f64::MIN_POSITIVE);
    let covariance = |a: usize, b: usize| sums[a * width + b] / rows - sums[a] / rows * (sums[b] / rows);
    let deviation = |a: usize| {
        let variance = covariance(a, a);
        // A variance that is rounding of a large square is none.
        if variance > 1e-12 * sums[a * width + a] / rows { variance.sqrt() } else { 0.0 }
    };
    let place = |id: &FeatureId| 1 + columns.binary_search(id).expect("candidates are gathered");
    let places: Vec<usize> = candidates.iter().map(place).collect();
    let deviations: Vec<f64> = (0..width).map(deviation).collect();
    let correlation = |a: usize, b: usize| {
        let scale = deviations[a] * deviations[b];
        if scale > 0.0 { covariance(a, b) / scale } else { 0.0 }
    };
    let table = |&a: &usize| places.iter().map(move |&b| (a, b)).collect::<Vec<_>>();
    let square: Vec<f64> = places.iter().flat_map(table).map(|(a, b)| correlation(a, b)).collect();
    let mut strongest: Vec<Entry> = vec![(0.0, 0.0); places.len()];
    let mut path = Correlations { columns: square, target: Vec::new() };
    for output in 0..outputs {
        path.target = places.iter().map(|&a| correlation(a, 1 + columns.len() + output)).collect();
        for (strongest, entry) in strongest.iter_mut().zip(path.entries()) {
            if entry > *strongest {
                *strongest = entry;
            }
        }
    }
    let mut order: Vec<usize> = (0..places.len()).filter(|&number| strongest[number].0 > 0.0).collect();
    let descending = |a: Entry, b: Entry| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1));
    order.sort_by(|&a, &b| descending(strongest[a], strongest[b]).then(a.cmp(&b)));
    order.into_iter().map(|number| candidates[number]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_columns_enter_by_their_correlation() {
        let identity = (0..9).map(|cell| f64::from(u8::from(cell % 4 == 0))).collect();
        let path = Correlations { columns: identity, target: vec![0.2, -0.6, 0.0] };
        let entries = path.entries();
        assert!(entries[1].0 > entries[0].0, "{entries:?}");
        assert_eq!(entries[1].0, 0.6 * FACTOR, "the first enters at once");
        assert!((entries[0].0 - 0.2).abs() < 0.03 * 0.2, "λ is the correlation: {entries:?}");
        assert_eq!(entries[2], (0.0, 0.0), "a column without correlation does not enter");
        assert_eq!(Correlations { target: vec![0.0; 3], ..path }.entries(), [(0.0, 0.0); 3]);
    }

    #[test]
    fn a_copy_shares_and_a_stand_in_waits() {
        // Column 1 equals column 0; column 2 correlates with the target through column 0 alone.
        let columns = vec![1.0, 1.0, 0.8, 1.0, 1.0, 0.8, 0.8, 0.8, 1.0];
        let entries = Correlations { columns, target: vec![0.5, 0.5, 0.4] }.entries();
        assert_eq!(entries[0].0, entries[1].0, "{entries:?}");
        assert!(entries[2].0 < entries[0].0, "{entries:?}");
    }
}
