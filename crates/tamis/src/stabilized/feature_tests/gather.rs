//! The rows of the tests: scaled, over the tested and the given columns, fold by fold.

use std::sync::Arc;

use super::fold::{ColumnStats, Determined, Link, TestFold};
use super::nuisance::FoldNuisance;
use super::score::ScoreTest;
use crate::data::{FeatureId, Row, fold_of_hash};
use crate::rng::splitmix64;
use crate::stabilized::cross_fit::CrossFit;
use crate::stabilized::folded_ensemble::FOLDS;
use crate::stabilized::row_transform::FeatureSet;
use crate::stabilized::rows_in_use::RowsInUse;
use crate::stabilized::setup::hash_limit;
use crate::stabilized::subsamples::HashedRows;
use crate::trainer::{BufferedRows, TrainError};

/// Entries of all rows, at most.
const MAX_ENTRIES: u64 = 1 << 24;
const ENTRIES_PER_ROW: u64 = 6;

/// The rows of all folds, and what their ensembles say.
pub(super) struct Gathered {
    /// The columns, ascending.
    columns: Vec<FeatureId>,
    pub(super) stats: Vec<ColumnStats>,
    pub(super) folds: Vec<TestFold>,
    /// By fold: the target of each row (a number, or the number of its class) and its margins, a list for each output.
    targets: Vec<Vec<f64>>,
    margins: Vec<Vec<Vec<f64>>>,
    link: Link,
}

/// Reads the rows once.
pub(super) fn gather(
    ensembles: &CrossFit,
    rows: &mut BufferedRows,
    in_use: &RowsInUse,
    tested: &[FeatureId],
) -> Result<Gathered, TrainError> {
    let (known, outputs) = (&ensembles.nuisance.folds, ensembles.codings.len());
    let columns = union(known, tested);
    let view = |features: &[FeatureId]| {
        let mut view = ensembles.main.transform.clone();
        view.set_active(features);
        view
    };
    let mut transform = view(&columns);
    // A row costs as much as some entries, even if it has none.
    let entries = transform.entries(&columns, rows.rows) + ENTRIES_PER_ROW * rows.rows;
    let limit = hash_limit(MAX_ENTRIES / outputs as u64, entries);
    let mut views: Vec<_> = known.iter().map(|fold| view(&fold.features)).collect();
    let mut gathered: Vec<HashedRows> = vec![HashedRows::default(); known.len()];
    let mut margins = vec![vec![Vec::new(); outputs]; known.len()];
    let mut scratch = HashedRows::default();
    let needed = columns.iter().chain(known.iter().flat_map(|fold| &fold.features)).copied();
    let features = Arc::new(FeatureSet::new(needed, transform.span()));
    for order in rows.store.orders(0) {
        let chunk = in_use.chunk(&mut rows.store, order, &features, &ensembles.preparation())?;
        for (example, row_hash) in chunk.rows_from(0) {
            if splitmix64(row_hash ^ 3) > limit || example.weight <= 0.0 {
                continue;
            }
            let fold = fold_of_hash(row_hash, FOLDS) as usize;
            transform.restrict(example, row_hash, &mut gathered[fold]);
            scratch.clear();
            views[fold].restrict(example, row_hash, &mut scratch);
            let row = scratch.batch.row(0);
            margins[fold].iter_mut().enumerate().for_each(|(output, list)| list.push(known[fold].margin(output, row)));
        }
    }
    let fold = |rows: HashedRows| TestFold { rows: rows.batch, ..TestFold::default() };
    let folds: Vec<TestFold> = gathered.into_iter().map(fold).collect();
    let is_classes = ensembles.codings[0].output.class.is_some();
    Ok(Gathered {
        stats: stats(&folds, columns.len()),
        targets: folds.iter().map(|fold| fold.rows.parts().targets.to_vec()).collect(),
        link: if is_classes { Link::Logistic } else { Link::Identity },
        columns,
        folds,
        margins,
    })
}

/// All columns that are tested or given, ascending.
fn union(known: &[FoldNuisance], tested: &[FeatureId]) -> Vec<FeatureId> {
    let given = known.iter().flat_map(|fold| fold.given.iter().flatten()).copied();
    let mut columns: Vec<FeatureId> = given.chain(tested.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl FoldNuisance {
    /// The margin of a row over the known features.
    fn margin(&self, output: usize, row: Row<'_>) -> f64 {
        let weights = &self.weights[output];
        self.intercepts[output] + row.iter().map(|(position, value)| weights[position as usize] * value).sum::<f64>()
    }
}

impl Gathered {
    /// The columns of features.
    pub(super) fn columns_of(&self, features: &[FeatureId]) -> Vec<u32> {
        let column = |id: &FeatureId| self.columns.binary_search(id).expect("gathered") as u32;
        features.iter().map(column).collect()
    }

    /// The number of rows that contain a feature.
    pub(super) fn rows_with(&self, id: FeatureId) -> f64 {
        let rows: usize = self.folds.iter().map(|fold| fold.rows.len()).sum();
        self.stats[self.columns_of(&[id])[0] as usize].share * rows as f64
    }

    /// Makes an output the one that is tested: its coded targets, margins, own weights and given columns.
    pub(super) fn set_output(&mut self, ensembles: &CrossFit, output: usize, determined: &[Determined]) {
        let coding = ensembles.codings[output].output;
        for (number, known) in ensembles.nuisance.folds.iter().enumerate() {
            let mut given = self.columns_of(&known.given[output]);
            let own = |id: &FeatureId| known.features.binary_search(id).map_or(0.0, |at| known.weights[output][at]);
            let code = |&target: &f64| match self.link {
                Link::Identity => coding.code(target),
                Link::Logistic => f64::from(u8::from(coding.code(target) > 0.0)),
            };
            let targets = self.targets[number].iter().map(code).collect();
            let fold = &mut self.folds[number];
            let rows = std::mem::take(&mut fold.rows).with_targets(targets);
            let mut own: Vec<f64> = self.columns.iter().map(own).collect();
            Determined::substitute(determined, &mut own, &mut given);
            let margins = self.margins[number][output].clone();
            *fold = TestFold { rows, margins, own, given };
        }
    }

    /// The test of the present output.
    pub(super) fn test(&self) -> ScoreTest<'_> {
        ScoreTest { link: self.link, folds: &self.folds, columns: &self.stats }
    }
}

/// Facts about the columns over the rows of all folds.
fn stats(folds: &[TestFold], columns: usize) -> Vec<ColumnStats> {
    let mut sums = vec![[0.0; 3]; columns];
    let (mut total, mut rows) = (0.0, 0.0);
    for example in folds.iter().flat_map(|fold| fold.rows.examples()) {
        total += example.weight;
        rows += 1.0;
        for (column, value) in example.row.iter() {
            let [sum, square, count] = &mut sums[column as usize];
            *sum += example.weight * value;
            *square += example.weight * value * value;
            *count += 1.0;
        }
    }
    let stats = |[sum, square, count]: [f64; 3]| {
        let mean = sum / f64::max(total, f64::MIN_POSITIVE);
        let variance = (square / f64::max(total, f64::MIN_POSITIVE) - mean * mean).max(0.0);
        ColumnStats { mean, variance, share: count / f64::max(rows, 1.0) }
    };
    sums.into_iter().map(stats).collect()
}
