//! The end of a distributed fit: the rows with the columns that are left, and the model fitted to them.

use super::error::DistributedError;
use super::plan::{Plan, Stage};
use super::rows::KeyedRows;
use crate::data::{ColumnScaler, FeatureKey};
use crate::model::Model;
use crate::rng::splitmix64;
use crate::train::{FitOptions, NarrowedColumns, Observer, fit_narrowed};

/// Which rows are sampled does not depend on folds, subsamples and buckets.
const SAMPLE: u64 = 0x7361_6d70;

impl Plan {
    fn expect_collect(&self) -> Result<(), DistributedError> {
        match self.stage {
            Stage::Collect => Ok(()),
            stage => Err(DistributedError::WrongStage { kind: stage.name(), wanted: "rows to collect" }),
        }
    }

    /// The rows of whole buckets, with the columns that are left, or a sample of them by their identities: copies of a row
    /// stay together.
    pub fn collect(&self, rows: &KeyedRows) -> Result<KeyedRows, DistributedError> {
        self.expect_collect()?;
        let vocabulary = self.vocabulary();
        let mut collected = KeyedRows::new(rows.rows.has_names());
        for (_, bucket) in rows.buckets(self.buckets) {
            for row in 0..bucket.len() {
                if splitmix64(bucket.identities[row] ^ SAMPLE) <= self.sample {
                    collected.push_from(&bucket, row, |key: FeatureKey<'_>| vocabulary.get(key).is_some());
                }
            }
        }
        Ok(collected)
    }

    /// The model of the collected rows, in any order.
    pub fn finish(
        &self,
        rows: &KeyedRows,
        options: &FitOptions,
        observer: &mut dyn Observer,
    ) -> Result<Model, DistributedError> {
        self.expect_collect()?;
        let facts = self.facts()?;
        let mut sorted = rows.buckets(1);
        let Some((_, rows)) = sorted.pop() else { return Err(DistributedError::NoRows) };
        if self.sample < u64::MAX {
            let (here, all) = (rows.len(), facts.rows);
            observer.note(&format!("the last stages learn from {here} of {all} rows, a sample by their identities"));
        }
        let (divisors, centres) = self.columns.scaling.iter().copied().unzip();
        let mut scale = ColumnScaler::new(facts.scale).centring(self.settings.recipe.may_centre());
        scale.restore(facts.scale, divisors, centres);
        let columns = NarrowedColumns {
            names: self.columns.names.iter().map(|name| &**name).collect(),
            scale,
            targets: self.targets()?,
            ensembles: self.ensembles.clone(),
            entered: facts.entered as usize,
            rows: facts.rows,
            features: facts.features,
            keyed: self.settings.keyed,
        };
        Ok(fit_narrowed(&self.settings.recipe, options, columns, rows.rows, rows.identities, observer)?)
    }
}
