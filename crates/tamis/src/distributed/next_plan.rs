//! From the tallies of a stage to the plan of the next one.

use std::collections::BTreeSet;

use super::error::DistributedError;
use super::labels::LabelSurvey;
use super::plan::{Columns, Facts, Plan, Stage};
use super::survey::{BLOCKS, ColumnBlock, LABELS, SurveyBlock, read_block};
use super::tallies::{BLOCK, BlockSums, Tally};
use crate::data::{ColumnMoments, ColumnScaler, FeatureId, TargetEncoder};
use crate::stabilized::{ENSEMBLES, PART_PATHS, fewest_rows};
use crate::trainer::class_factors;

/// Columns of an ensemble after narrowing, if nothing else is asked for.
const COLUMNS: u64 = 1 << 14;
/// A narrowing stage keeps one column in so many.
const NARROWING: usize = 16;
/// Rows of a bucket in a narrowing stage, at least: with fewer rows, there are fewer buckets.
const BUCKET_ROWS: u64 = 5_000;
/// The mean distance from the mean, in standard deviations, of a normal distribution: √(2/π).
const MEAN_DISTANCE: f64 = 0.797_884_560_802_865_4;

impl Plan {
    /// The plan of the next stage, given the reduced tallies of all blocks of this one, in any order.
    pub fn next(&self, tallies: &[Tally]) -> Result<Plan, DistributedError> {
        let mut blocks: Vec<&Tally> = tallies.iter().collect();
        blocks.sort_by_key(|tally| tally.block);
        if let Some(pair) = blocks.windows(2).find(|pair| pair[0].block == pair[1].block) {
            let reason = format!("block {} comes twice: its parts were not added", pair[0].block);
            return Err(DistributedError::OtherTallies { reason });
        }
        match self.stage {
            Stage::Survey => self.after_survey(&blocks),
            Stage::Narrow => self.after_narrowing(&blocks),
            Stage::Collect => Err(DistributedError::WrongStage { kind: "collect", wanted: "next stage" }),
        }
    }

    fn after_survey(&self, tallies: &[&Tally]) -> Result<Plan, DistributedError> {
        let mut labels = None;
        let mut blocks: Vec<ColumnBlock> = Vec::new();
        for tally in tallies {
            match read_block(&tally.raw)? {
                SurveyBlock::Labels(found) if tally.block == LABELS => labels = Some(found),
                SurveyBlock::Columns(found) if tally.block < BLOCKS => blocks.push(found),
                _ => return Err(DistributedError::OtherTallies { reason: format!("block {}", tally.block) }),
            }
        }
        let labels = labels.ok_or(DistributedError::NoRows)?;
        let features = blocks.iter().map(|block| block.seen).sum();
        if features == 0 {
            return Err(DistributedError::NoColumns);
        }
        let recipe = &self.settings.recipe;
        let targets = labels.stats()?.decide(&recipe.target_options(), self.settings.task)?;
        let (columns, scale) = self.candidates(blocks, labels.rows);
        let facts = self.facts_of(&labels, &targets, features, columns.names.len() as u64, scale.kind())?;
        let all: Vec<FeatureId> = (0..columns.names.len() as FeatureId).collect();
        let plan = Plan {
            settings: self.settings.clone(),
            stage: Stage::Narrow,
            number: self.number + 1,
            buckets: narrowing_buckets(self.settings.buckets, labels.rows),
            facts: Some(facts),
            columns,
            ensembles: vec![(all, 0.0); ENSEMBLES],
            sample: u64::MAX,
        };
        let fits = self.settings.columns.is_none() && plan.columns.entries() <= self.settings.entries;
        Ok(if fits || plan.columns.names.len() <= self.enough() { plan.to_collect() } else { plan })
    }

    /// Columns are narrowed to so many: twice those of the model, at least.
    fn enough(&self) -> usize {
        (self.settings.columns.unwrap_or(COLUMNS) as usize).max(2 * self.settings.recipe.k.unwrap_or(1))
    }

    /// The columns that enter, with their scaling.
    fn candidates(&self, blocks: Vec<ColumnBlock>, rows: u64) -> (Columns, ColumnScaler) {
        let recipe = &self.settings.recipe;
        let all: Vec<_> = blocks.into_iter().flat_map(|block| block.columns).collect();
        let moments: Vec<ColumnMoments> = all.iter().map(|(_, column)| column.moments).collect();
        let counts: Vec<u32> = moments.iter().map(|column| column.count().min(f64::from(u32::MAX)) as u32).collect();
        let least = fewest_rows(&counts, recipe.k);
        let scale = ColumnScaler::from_moments(recipe.scaling(), recipe.may_centre(), rows, moments);
        let mut columns = Columns::default();
        for (id, ((name, column), count)) in all.into_iter().zip(counts).enumerate().filter(|(_, (_, n))| *n >= least) {
            let (divisor, centre) = (scale.divisor(id as FeatureId), scale.centre(id as FeatureId));
            // A centred column has unit variance. How far its values lie from their mean was not measured.
            let size = if centre != 0.0 { MEAN_DISTANCE } else { column.absolute / rows as f64 / divisor };
            columns.names.push(name);
            columns.scaling.push((divisor, centre));
            columns.sizes.push(size);
            columns.rows.push(count);
        }
        (columns, scale)
    }

    fn facts_of(
        &self,
        labels: &LabelSurvey,
        targets: &TargetEncoder,
        features: u64,
        entered: u64,
        scale: crate::data::ScaleKind,
    ) -> Result<Facts, DistributedError> {
        let class_factors = class_factors(&self.settings.recipe, targets, |label| labels.of(label).0)?;
        let factor = |class: usize| class_factors.get(class).copied().unwrap_or(1.0);
        let classes: Vec<f64> =
            targets.classes().iter().enumerate().map(|(class, label)| factor(class) * labels.of(label).1).collect();
        let total = if targets.is_numbers() { labels.weight } else { classes.iter().sum() };
        let weight_unit = total / labels.rows as f64;
        Ok(Facts {
            rows: labels.rows,
            features,
            entered,
            scale,
            loss: targets.loss,
            targets: targets.kind.clone(),
            class_factors,
            classes,
            weight_unit: if weight_unit > 0.0 { weight_unit } else { 1.0 },
        })
    }

    fn after_narrowing(&self, tallies: &[&Tally]) -> Result<Plan, DistributedError> {
        let wanted = self.columns.names.len().div_ceil(BLOCK);
        if tallies.len() != wanted || tallies.iter().enumerate().any(|(number, tally)| tally.block != number as u32) {
            let reason = format!("{} blocks of {wanted}", tallies.len());
            return Err(DistributedError::OtherTallies { reason });
        }
        let blocks = tallies.iter().map(|tally| BlockSums::read(&tally.raw)).collect::<Result<Vec<_>, _>>()?;
        let (sums, parts) = self.join_blocks(&blocks)?;
        let size = halved(self.facts()?.entered as usize, self.enough()).max(self.ensembles[0].0.len() / NARROWING);
        // The evidence of a path in one bucket is that of all paths in all buckets, divided by this.
        let unit = ((parts as usize * PART_PATHS) as f64).sqrt();
        let kept = self.ensembles.iter().zip(&sums).map(|((active, _), outputs)| {
            let (places, cut) = strongest(outputs, size);
            (places.into_iter().map(|place| active[place]).collect::<Vec<FeatureId>>(), cut / unit)
        });
        let plan = self.with_ensembles(kept.collect());
        if size > self.enough() {
            return Ok(plan);
        }
        let mut plan = plan.to_collect();
        // Evidence grows with the square root of the rows: those of all buckets are learned together now.
        let more = (parts as f64 * plan.share()).sqrt();
        plan.ensembles.iter_mut().for_each(|(_, gravity)| *gravity *= more);
        Ok(plan)
    }

    /// The next plan with these active columns: columns of no ensemble are left out.
    fn with_ensembles(&self, ensembles: Vec<(Vec<FeatureId>, f64)>) -> Plan {
        let union: BTreeSet<FeatureId> = ensembles.iter().flat_map(|(active, _)| active.iter().copied()).collect();
        let union: Vec<FeatureId> = union.into_iter().collect();
        let place = |id: &FeatureId| union.binary_search(id).expect("one of the union") as FeatureId;
        let moved = |(active, gravity): (Vec<FeatureId>, f64)| (active.iter().map(place).collect(), gravity);
        let columns = Columns {
            names: union.iter().map(|&id| self.columns.names[id as usize].clone()).collect(),
            scaling: union.iter().map(|&id| self.columns.scaling[id as usize]).collect(),
            sizes: union.iter().map(|&id| self.columns.sizes[id as usize]).collect(),
            rows: union.iter().map(|&id| self.columns.rows[id as usize]).collect(),
        };
        Plan { number: self.number + 1, columns, ensembles: ensembles.into_iter().map(moved).collect(), ..self.clone() }
    }

    /// The plan that collects the rows: all of them, or a sample.
    fn to_collect(&self) -> Plan {
        let share = self.settings.entries as f64 / self.columns.entries().max(1) as f64;
        let sample = if share >= 1.0 { u64::MAX } else { (share * u64::MAX as f64) as u64 };
        Plan { stage: Stage::Collect, buckets: self.settings.buckets, sample, ..self.clone() }
    }
}

/// The first number that is small enough when the number of columns is halved again and again, as on one machine.
fn halved(columns: usize, enough: usize) -> usize {
    std::iter::successors(Some(columns), |&size| Some(size / 2)).find(|&size| size <= enough).unwrap_or(enough)
}

/// The number of buckets of a narrowing stage.
fn narrowing_buckets(most: u32, rows: u64) -> u32 {
    let wanted = (rows / BUCKET_ROWS).max(1);
    let below = 1 << (63 - wanted.leading_zeros());
    most.min(u32::try_from(below).unwrap_or(most))
}

/// The places of the `size` columns with the largest |Z|/√N in any output (ties by place), ascending, and the smallest
/// of these.
fn strongest(outputs: &[Vec<[f64; 2]>], size: usize) -> (Vec<usize>, f64) {
    let columns = outputs.first().map_or(0, Vec::len);
    let evidence = |[sum, norm]: [f64; 2]| if norm > 0.0 { sum.abs() / norm.sqrt() } else { 0.0 };
    let strength = |place: usize| outputs.iter().map(|output| evidence(output[place])).fold(0.0, f64::max);
    let mut ranked: Vec<(f64, usize)> = (0..columns).map(|place| (strength(place), place)).collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    ranked.truncate(size);
    let cut = ranked.last().map_or(0.0, |(strength, _)| *strength);
    let mut places: Vec<usize> = ranked.into_iter().map(|(_, place)| place).collect();
    places.sort_unstable();
    (places, cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_enough_rows() {
        let buckets = |rows| narrowing_buckets(64, rows);
        assert_eq!([0, 4_999, 10_000, 79_999, 80_000, 10_000_000].map(buckets), [1, 1, 2, 8, 16, 64]);
    }

    #[test]
    fn columns_are_halved_until_they_are_few_enough() {
        assert_eq!(
            [(65_000, 16_384), (16_385, 16_384), (100, 16_384), (9, 2)].map(|(p, most)| halved(p, most)),
            [16_250, 8_192, 100, 2]
        );
    }

    #[test]
    fn the_strongest_by_hand() {
        let outputs = [vec![[3.0, 9.0], [-4.0, 4.0], [0.0, 0.0]], vec![[0.0, 1.0], [1.0, 1.0], [1.5, 1.0]]];
        assert_eq!(strongest(&outputs, 2), (vec![1, 2], 1.5), "1, 2 and 1.5");
        assert_eq!(strongest(&outputs, 9), (vec![0, 1, 2], 1.0));
        assert_eq!(strongest(&[], 9), (vec![], 0.0));
    }
}
