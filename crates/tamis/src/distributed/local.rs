//! All stages in one process, on rows in memory: what every engine must agree with.

use super::error::DistributedError;
use super::plan::{FitSettings, Plan, Stage};
use super::rows::{KeyedRows, bucket_of};
use super::tallies::{Tally, add, tallies};
use crate::model::Model;
use crate::train::{FitOptions, Observer};

/// What a fit has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FitCost {
    /// Passes over the rows.
    pub passes: u32,
    /// Bytes of the plans, each counted once.
    pub plan_bytes: u64,
    /// Bytes of the tallies before they are added.
    pub tally_bytes: u64,
    /// Non-zeros of the rows that were collected, and these rows.
    pub entries: u64,
    /// The number of these rows.
    pub rows: u64,
}

/// Fits a model to rows in memory, whose buckets are spread over so many partitions.
pub fn fit_local(
    settings: &FitSettings,
    rows: &KeyedRows,
    partitions: u32,
    options: &FitOptions,
    observer: &mut dyn Observer,
) -> Result<(Model, FitCost), DistributedError> {
    let mut cost = FitCost::default();
    let mut plan = Plan::first(settings.clone())?;
    loop {
        let bytes = plan.to_bytes();
        cost.passes += 1;
        cost.plan_bytes += bytes.len() as u64;
        plan = Plan::from_bytes(&bytes)?;
        if plan.stage() == Stage::Collect {
            break;
        }
        let mut parts: Vec<Tally> = Vec::new();
        for partition in 0..partitions {
            parts.extend(tallies(&plan, &partition_of(rows, &plan, partition, partitions))?);
        }
        cost.tally_bytes += parts.iter().map(|part| part.raw.len() as u64).sum::<u64>();
        plan = plan.next(&add(parts)?)?;
    }
    let mut collected = KeyedRows::new(rows.rows.has_names());
    for partition in 0..partitions {
        collected.append(&plan.collect(&partition_of(rows, &plan, partition, partitions))?);
    }
    cost.rows = collected.len() as u64;
    cost.entries = (0..collected.len()).map(|row| collected.rows.entries(row).count() as u64).sum();
    Ok((plan.finish(&collected, options, observer)?, cost))
}

/// The rows of every `partitions`-th bucket.
fn partition_of(rows: &KeyedRows, plan: &Plan, partition: u32, partitions: u32) -> KeyedRows {
    let mut part = KeyedRows::new(rows.rows.has_names());
    let is_here = |row: &usize| bucket_of(rows.identities[*row], plan.buckets()) % partitions == partition;
    (0..rows.len()).filter(is_here).for_each(|row| part.push_from(rows, row, |_| true));
    part
}
