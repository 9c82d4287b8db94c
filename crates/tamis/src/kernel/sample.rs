//! The rows that variables are searched on: a random sample, dense, with the columns that may matter.

use faer::Mat;

use super::inputs::{fit_map, moments};
use super::rows::{BLOCKS, Rows, deal};
use crate::data::FeatureId;
use crate::model::kernel::InputMap;
use crate::recipe::InputKind;

/// A sample of rows.
pub(super) struct Sample {
    /// The features of the columns, by name.
    pub(super) ids: Vec<FeatureId>,
    /// Raw values: a row each, a column for each feature.
    pub(super) values: Mat<f64>,
    /// A row each, a column for each output: ±1, or the standardised number.
    pub(super) codes: Mat<f64>,
    /// Class numbers, or standardised numbers.
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// Class and hash, by which rows are dealt.
    pub(super) keys: Vec<(u64, u64)>,
    /// The number of each row in the store.
    pub(super) numbers: Vec<usize>,
    /// Features that are not constant.
    pub(super) variables: usize,
}

/// Rows of a search with their input maps and the units of their targets.
pub(super) struct Prepared {
    pub(super) rows: Rows,
    pub(super) maps: Vec<InputMap>,
    /// By output: mean and deviation of the codes.
    pub(super) units: Vec<(f64, f64)>,
}

impl Prepared {
    /// The inputs of some rows of the sample, also those that are not prepared, for some columns.
    pub(super) fn inputs_of(&self, sample: &Sample, columns: &[usize], rows: &[usize]) -> Mat<f64> {
        let mut inputs = Mat::zeros(rows.len(), columns.len());
        for (place, &column) in columns.iter().enumerate() {
            let (map, values) = (&self.maps[column], sample.values.col_as_slice(column));
            let cells = inputs.col_as_slice_mut(place).iter_mut().zip(rows);
            cells.for_each(|(cell, &row)| *cell = map.apply(values[row]));
        }
        inputs
    }
}

impl Sample {
    pub(super) fn deal(&self, members: &[usize]) -> Vec<usize> {
        let keys: Vec<(u64, u64)> = members.iter().map(|&row| self.keys[row]).collect();
        deal(&keys, BLOCKS)
    }

    /// The fold of each row.
    pub(super) fn folds(&self, folds: usize) -> Vec<usize> {
        // Another hash than that of the blocks, so that the two assignments are independent.
        let keys: Vec<(u64, u64)> =
            self.keys.iter().map(|&(class, hash)| (class, crate::rng::splitmix64(hash ^ 0x666f_6c64))).collect();
        deal(&keys, folds)
    }

    /// Some rows, prepared for a search.
    pub(super) fn prepare(&self, members: &[usize], kind: InputKind) -> Prepared {
        let weights: Vec<f64> = members.iter().map(|&row| self.weights[row]).collect();
        let column = |at: usize| -> Vec<f64> {
            let values = self.values.col_as_slice(at);
            members.iter().map(|&row| values[row]).collect()
        };
        let maps: Vec<InputMap> = (0..self.ids.len()).map(|at| fit_map(&column(at), &weights, kind)).collect();
        let mut inputs = Mat::zeros(members.len(), self.ids.len());
        for (at, map) in maps.iter().enumerate() {
            let values = self.values.col_as_slice(at);
            let cells = inputs.col_as_slice_mut(at).iter_mut().zip(members);
            cells.for_each(|(cell, &member)| *cell = map.apply(values[member]));
        }
        let (targets, units) = self.standardized(members);
        let blocks = self.deal(members);
        Prepared { rows: Rows { inputs, targets, weights, blocks }, maps, units }
    }

    /// The codes of some rows with mean 0 and variance 1, and their units.
    pub(super) fn standardized(&self, members: &[usize]) -> (Mat<f64>, Vec<(f64, f64)>) {
        let units = self.units(members);
        let scaled =
            |row: usize, output: usize| (self.codes[(members[row], output)] - units[output].0) / units[output].1;
        (Mat::from_fn(members.len(), units.len(), scaled), units)
    }

    /// By output: mean and deviation of the codes of some rows.
    pub(super) fn units(&self, members: &[usize]) -> Vec<(f64, f64)> {
        let weights: Vec<f64> = members.iter().map(|&row| self.weights[row]).collect();
        let unit = |output: usize| {
            let (mean, deviation) = moments(members.iter().map(|&row| self.codes[(row, output)]), &weights);
            (mean, if deviation > 0.0 { deviation } else { 1.0 })
        };
        (0..self.codes.ncols()).map(unit).collect()
    }
}
