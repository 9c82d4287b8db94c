//! An ensemble with its view of the rows: its active features, the fold that it never sees, and the held-out rows of that fold.

use super::ensemble::Ensemble;
use super::row_transform::RowTransform;
use super::stage::{PathMeans, first_in_order};
use super::subsamples::HashedRows;
use crate::data::{Example, FeatureId, State, StateError, fold_of_hash};

/// Folds, and the paths of their ensembles.
pub(super) const FOLDS: u32 = 4;
pub(super) const FOLD_PATHS: usize = 8;

/// An ensemble and its view of the rows.
pub(super) struct FoldedEnsemble {
    pub(super) ensemble: Ensemble,
    pub(super) transform: RowTransform,
    /// Rows of the fold it never sees, or a sample of them.
    holdout_rows: HashedRows,
    /// The fold it never sees.
    excluded: Option<u32>,
    /// The features that come first at small sizes (`feature_order.rs`); empty before these.
    pub(super) order: Vec<FeatureId>,
}

impl FoldedEnsemble {
    /// The transform restricts rows to the active features of the ensemble.
    pub(super) fn new(ensemble: Ensemble, transform: RowTransform, excluded: Option<u32>) -> Self {
        FoldedEnsemble { ensemble, transform, holdout_rows: HashedRows::default(), excluded, order: Vec::new() }
    }

    /// Begins a stage of `length` rows, in passes over `rows` of them.
    pub(super) fn begin(&mut self, length: u64, rows: u64) {
        let row_size = self.transform.row_size(self.ensemble.active());
        self.ensemble.begin(length, rows, row_size);
    }

    /// Adds a scaled row of the fold it never sees.
    pub(super) fn hold_out(&mut self, example: Example<'_>, row_hash: u64) {
        self.transform.restrict(example, row_hash, &mut self.holdout_rows);
    }

    pub(super) fn holdout_rows(&self) -> &HashedRows {
        &self.holdout_rows
    }

    /// Whether its paths may learn from a row.
    pub(super) fn trains_on(&self, row_hash: u64) -> bool {
        self.excluded.is_none_or(|fold| fold != fold_of_hash(row_hash, FOLDS))
    }

    /// The positions of the first `size` features, given the means over its paths, and the least evidence among them.
    pub(super) fn first(&self, means: &[PathMeans], size: usize) -> (Vec<u32>, f64) {
        first_in_order(self.ensemble.active(), &self.order, means, size)
    }

    /// Keeps the first `size` features.
    pub(super) fn shrink_to(&mut self, means: &[PathMeans], size: usize) {
        let (positions, gravity) = self.first(means, size);
        let places = self.ensemble.keep(&positions, gravity);
        self.holdout_rows = self.holdout_rows.restricted_to(&places);
        self.transform.set_active(self.ensemble.active());
    }

    /// Restores the state of the ensemble.
    pub(super) fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        let before = self.ensemble.active().to_vec();
        self.ensemble.load(state)?;
        self.order = state.take("order")?.into_iter().map(|id| id as FeatureId).collect();
        let active = self.ensemble.active();
        // The file may be damaged.
        if active.iter().chain(&self.order).any(|&id| id as usize >= self.transform.span()) {
            return Err(state.wrong_shape("active"));
        }
        let place = |id| active.binary_search(id).ok().map(|place| place as u32);
        let places: Vec<Option<u32>> = before.iter().map(place).collect();
        self.holdout_rows = self.holdout_rows.restricted_to(&places);
        self.transform.set_active(active);
        Ok(())
    }

    /// Starts from the saved state of an ensemble with `outputs` outputs, multiplied by `kept`.
    pub(super) fn warm_start_from(&mut self, state: &mut State, outputs: usize, kept: f64) -> Result<(), StateError> {
        let mut old = self.ensemble.with_outputs(outputs);
        old.load(state)?;
        self.ensemble.warm_start_from(&old, kept);
        Ok(())
    }
}
