//! The evidence that a part of the rows gives for each feature.
//!
//! Data that are spread over several machines are narrowed in parts (`crate::distributed`). A part learns a stage of all
//! ensembles, the one that becomes the model and those of the folds, from zero, and returns sums over the paths:
//! ```text
//! Z_j = Σ_m z_mj,  N_j = Σ_m n_mj       over the paths m of an ensemble
//! ```
//! Sums of parts are added. |u_j| = |Z_j|/√N_j then ranks the features.

use std::sync::Arc;

use super::cross_fit::CHUNK;
use super::ensemble::{Ensemble, Settings};
use super::folded_ensemble::{FOLD_PATHS, FOLDS, FoldedEnsemble};
use super::member_rows::MemberRows;
use super::row_transform::RowTransform;
use super::setup::{codings, path_loss};
use super::subsamples::{HashedRows, Subsamples};
use crate::data::{Example, FeatureId, RowScale, TargetEncoder};
use crate::rng::splitmix64;

/// The number of ensembles: one that becomes the model, and one for each fold.
pub(crate) const ENSEMBLES: usize = 1 + FOLDS as usize;

/// Paths of the ensemble that becomes the model, in each part.
pub(crate) const PART_PATHS: usize = 8;
/// A part visits its rows twice, as the first stage of a training does...
const PASSES: u64 = 2;
/// ...at least this many...
const MIN_ROWS: u64 = 1_600;
/// ...and once if they are as many as these.
const MANY_ROWS: u64 = 80_000;

/// What a part is learned with.
pub(crate) struct Narrowing<'a> {
    pub(crate) intercept: bool,
    pub(crate) targets: &'a TargetEncoder,
    /// The weight of each class.
    pub(crate) classes: &'a [f64],
    /// The divisor and the mean of each column.
    pub(crate) columns: Arc<[(f64, f64)]>,
    /// The mean absolute value of each column, scaled.
    pub(crate) sizes: &'a [f64],
    /// The active features and the gravity of each ensemble.
    pub(crate) ensembles: &'a [(Vec<FeatureId>, f64)],
}

/// [Z, N] of each active feature: by ensemble, then by output.
pub(crate) type StateSums = Vec<Vec<Vec<[f64; 2]>>>;

impl Narrowing<'_> {
    /// Learns the rows of a part: ids are columns, targets are those of [`Narrowing::targets`]. Their order does not
    /// matter if no two have the same hash; rows of one hash must come in a fixed order.
    pub(crate) fn learn(&self, rows: &HashedRows) -> StateSums {
        let mut transform = RowTransform::of_columns(RowScale::None, self.columns.clone());
        transform.set_survey(self.sizes.to_vec(), Vec::new());
        let mut members: [FoldedEnsemble; ENSEMBLES] = std::array::from_fn(|number| self.member(number, &transform));
        let mut member_rows = MemberRows::new(&members.each_ref());
        let length = stage_length(rows.len() as u64);
        members.iter_mut().for_each(|member| member.begin(length, rows.len() as u64));
        let mut scaled = HashedRows::default();
        for pass in 0.. {
            let order = order_of_pass(rows, pass);
            let mut rest = &order[..];
            while !rest.is_empty() && !members[0].ensemble.stage_is_over() {
                let wanted = members[0].ensemble.rows_wanted().min(CHUNK) as usize;
                let (now, later) = rest.split_at(wanted.min(rest.len()));
                scaled.clear();
                for &row in now {
                    transform.scale(rows.batch.example(row), rows.row_hashes[row], &mut scaled);
                }
                let batch: Vec<(Example<'_>, u64)> = scaled.iter().collect();
                member_rows.learn(members.each_mut(), &batch);
                rest = later;
            }
            if members[0].ensemble.stage_is_over() || rows.is_empty() {
                break;
            }
        }
        let outputs = self.targets.outputs();
        let sums = |member: FoldedEnsemble| (0..outputs).map(|output| member.ensemble.state_sums(output)).collect();
        members.into_iter().map(sums).collect()
    }

    /// The ensemble that becomes the model (0), or that of a fold (from 1 on), before its first row.
    fn member(&self, number: usize, transform: &RowTransform) -> FoldedEnsemble {
        let fold = number.checked_sub(1).map(|fold| fold as u32);
        let paths = if fold.is_some() { FOLD_PATHS } else { PART_PATHS };
        let settings = Settings { paths, intercept: self.intercept, ..Settings::default() };
        let subsamples = match fold {
            Some(fold) => Subsamples::excluding_fold(settings.share, fold, FOLDS),
            None => Subsamples::new(settings.share),
        };
        let (active, gravity) = self.ensembles[number].clone();
        let codings = codings(self.targets, self.classes);
        let ensemble = Ensemble::new(settings, path_loss(self.targets), codings, active, subsamples);
        let mut transform = transform.clone();
        transform.set_active(ensemble.active());
        FoldedEnsemble::new(ensemble.with_gravity(gravity), transform, fold)
    }
}

/// The rows that a part visits.
fn stage_length(rows: u64) -> u64 {
    (PASSES * rows).min(rows.max(MANY_ROWS)).max(MIN_ROWS)
}

/// The order of the rows in a pass: by a hash of their hash.
fn order_of_pass(rows: &HashedRows, pass: u64) -> Vec<usize> {
    let key = splitmix64(pass + 1);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_cached_key(|&row| splitmix64(rows.row_hashes[row] ^ key));
    order
}
