//! One stage of one block of paths, and the reduction that ends it.
//!
//! [`Block::learn`] is a function of a plan, a block and rows; [`reduce`] is one of the tallies of all blocks. Neither
//! depends on threads or on other blocks, and each sum has a fixed order, so that the result has the same bits on any
//! number of cores.

use super::path_block::{LANES, Lanes8, PathBlock, SoftThreshold};
use super::subsamples::{HashedRows, Subsamples};
use crate::data::{FeatureId, OutputCoding, ToF64s, prefetch};
use crate::loss::{AnyLoss, Loss};

/// How targets are coded for one output, and how its classes are weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassCoding {
    /// ±1 for classes, or the number itself.
    pub output: OutputCoding,
    /// The weights of rows of the other classes and of this class.
    pub class_weights: [f64; 2],
}

impl ClassCoding {
    #[inline]
    fn weight(&self, target: f64) -> f64 {
        match self.output.class {
            Some(class) => self.class_weights[usize::from(target == class)],
            None => 1.0,
        }
    }
}

/// What all blocks of a stage share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Turns evidence into weights.
    pub threshold: SoftThreshold,
    /// The loss of a row.
    pub loss: AnyLoss,
    /// Whether there is an intercept.
    pub intercept: bool,
    /// Which path learns from which rows.
    pub subsamples: Subsamples,
}

/// Up to eight paths of one output, and their tallies of a stage.
#[derive(Clone, Debug)]
pub struct Block {
    /// The number of the output.
    pub output: usize,
    /// The number of the first path.
    pub first: usize,
    /// The number of paths.
    pub count: usize,
    /// How targets are coded.
    pub coding: ClassCoding,
    /// The paths.
    pub paths: PathBlock,
    /// The tallies of each active feature.
    pub tallies: Vec<FeatureTally>,
    /// Σ b over paths and tallies.
    pub bias: f64,
    /// The rows visited since a path last changed.
    pub unchanged: u64,
}

/// Sums over the paths of a block and the tallies of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FeatureTally {
    /// Σ u.
    pub evidence: f64,
    /// Σ u².
    pub square: f64,
    /// Σ w.
    pub weight: f64,
    /// The number of paths and tallies with a non-zero weight.
    pub nonzeros: f64,
}

impl ToF64s for FeatureTally {
    const WIDTH: usize = 4;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.evidence, self.square, self.weight, self.nonzeros]);
    }
    fn unpack(fields: &[f64]) -> Self {
        FeatureTally { evidence: fields[0], square: fields[1], weight: fields[2], nonzeros: fields[3] }
    }
}

impl Block {
    /// Learns the rows of some batches, one after the other.
    pub fn learn(&mut self, plan: &Plan, batches: &[&HashedRows]) {
        // Dense rows rarely change the weights, so that it pays to keep them. The margins are the same.
        let mut weights = is_dense(batches, self.paths.cells.len()).then(|| self.paths.weights(plan.threshold));
        for rows in batches {
            self.learn_batch(plan, rows, &mut weights);
        }
    }

    fn learn_batch(&mut self, plan: &Plan, rows: &HashedRows, weights: &mut Option<Vec<Lanes8>>) {
        let (first, count) = (self.first, self.count);
        let owners = |number: usize| match rows.row_hashes.get(number) {
            Some(&row_hash) => plan.subsamples.block(first, count, row_hash),
            None => [false; LANES],
        };
        let mut next = owners(0);
        for (number, example) in rows.batch.examples().enumerate() {
            let owned = std::mem::replace(&mut next, owners(number + 1));
            if next != [false; LANES] {
                prefetch(&self.paths.cells, rows.batch.row(number + 1).ids);
            }
            self.unchanged += 1;
            if owned == [false; LANES] {
                continue;
            }
            let (target, weight) =
                (self.coding.output.code(example.target), example.weight * self.coding.weight(example.target));
            let margins = match &weights {
                Some(weights) => self.paths.dense_margins(example.row, weights),
                None => self.paths.margins(example.row, plan.threshold),
            };
            let slope = |path: usize| if owned[path] { plan.loss.slope(margins[path], target) * weight } else { 0.0 };
            let slopes: Lanes8 = std::array::from_fn(slope);
            if slopes != [0.0; LANES] {
                self.unchanged = 0;
                self.paths.step(example.row, slopes, plan.intercept);
                if let Some(weights) = weights {
                    self.paths.refresh(example.row, plan.threshold, weights);
                }
            }
        }
    }

    /// Adds the state of the paths to the tallies.
    pub fn tally(&mut self, threshold: SoftThreshold) {
        self.tallies.resize(self.paths.cells.len(), FeatureTally::default());
        self.paths.visit_evidence(threshold, &mut self.tallies, |tally, evidence, weights| {
            for (&evidence, &weight) in evidence.iter().zip(weights).take(self.count) {
                tally.evidence += evidence;
                tally.square += evidence * evidence;
                tally.weight += weight;
                tally.nonzeros += f64::from(u8::from(weight != 0.0));
            }
        });
        self.bias += self.paths.bias[..self.count].iter().sum::<f64>();
    }

    /// For each row, the sum of the margins of the paths whose subsample does not contain it.
    pub fn outside_sums(&self, plan: &Plan, rows: &HashedRows) -> Vec<f64> {
        let sum = |(example, row_hash): (crate::data::Example<'_>, u64)| {
            let owned = plan.subsamples.block(self.first, self.count, row_hash);
            let margins = self.paths.margins(example.row, plan.threshold);
            (0..self.count).filter(|&path| !owned[path]).map(|path| margins[path]).sum()
        };
        rows.iter().map(sum).collect()
    }

    /// Keeps the features at these positions and resets the tallies.
    pub fn keep(&mut self, positions: &[u32]) {
        self.tallies = Vec::new();
        self.paths.keep(positions);
        self.bias = 0.0;
    }
}

/// Whether rows have most of the features, but for those rows that have none.
fn is_dense(batches: &[&HashedRows], features: usize) -> bool {
    let used = |rows: &&HashedRows| (0..rows.len()).filter(|&row| !rows.batch.row(row).ids.is_empty()).count();
    let used: usize = batches.iter().map(used).sum();
    used > 1 && 2 * batches.iter().map(|rows| rows.batch.entries()).sum::<usize>() >= used * features
}

/// Means over paths and tallies of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct PathMeans {
    /// b.
    pub bias: f64,
    /// w of each active feature.
    pub weights: Vec<f64>,
    /// ū.
    pub evidence: Vec<f64>,
    /// The standard deviation of u over paths.
    pub spread: Vec<f64>,
    /// Π: the selection frequency, the share of paths and tallies with a non-zero weight.
    pub frequency: Vec<f64>,
}

impl PathMeans {
    /// Whether all weights are zero: the prediction is the same for every row.
    pub fn has_no_weights(&self) -> bool {
        self.weights.iter().all(|&weight| weight == 0.0)
    }
}

/// Combines the tallies of the blocks of an output, in a fixed order; `times` tallies were taken.
pub fn reduce(blocks: &[&Block], times: usize) -> PathMeans {
    let paths: usize = blocks.iter().map(|block| block.count).sum();
    let total = (paths * times.max(1)) as f64;
    let features = blocks.first().map_or(0, |block| block.tallies.len());
    let mut means = PathMeans {
        bias: blocks.iter().map(|block| block.bias).sum::<f64>() / total,
        weights: Vec::with_capacity(features),
        evidence: Vec::with_capacity(features),
        spread: Vec::with_capacity(features),
        frequency: Vec::with_capacity(features),
    };
    for position in 0..features {
        let mut sum = FeatureTally::default();
        for tally in blocks.iter().map(|block| block.tallies[position]) {
            sum.evidence += tally.evidence;
            sum.square += tally.square;
            sum.weight += tally.weight;
            sum.nonzeros += tally.nonzeros;
        }
        let evidence = sum.evidence / total;
        means.weights.push(sum.weight / total);
        means.evidence.push(evidence);
        means.spread.push((sum.square / total - evidence * evidence).max(0.0).sqrt());
        means.frequency.push(sum.nonzeros / total);
    }
    means
}

/// The `size` positions of largest evidence in any output (ties by position), ascending, and the least evidence among
/// them: the truncation threshold, which is the gravity of the next stage.
pub fn top_by_evidence(outputs: &[PathMeans], size: usize) -> (Vec<u32>, f64) {
    let features = outputs.first().map_or(0, |means| means.evidence.len());
    let mut ranked: Vec<(f64, u32)> =
        (0..features).map(|position| (largest_evidence(outputs, position), position as u32)).collect();
    let size = size.min(features);
    if size == 0 {
        return (Vec::new(), 0.0);
    }
    if size < features {
        ranked.select_nth_unstable_by(size - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.truncate(size);
    }
    let cut = ranked.iter().map(|&(strength, _)| strength).fold(f64::INFINITY, f64::min);
    let mut positions: Vec<u32> = ranked.into_iter().map(|(_, position)| position).collect();
    positions.sort_unstable();
    (positions, cut)
}

/// The positions of `size` active features (ascending) and the least evidence among them: first those that enter first,
/// then those with the most evidence.
pub fn first_in_order(active: &[FeatureId], order: &[FeatureId], means: &[PathMeans], size: usize) -> (Vec<u32>, f64) {
    if order.is_empty() {
        return top_by_evidence(means, size);
    }
    let mut kept: Vec<usize> = in_order(active, order, means).into_iter().take(size).collect();
    kept.sort_unstable();
    let least = kept.iter().map(|&position| largest_evidence(means, position)).fold(f64::INFINITY, f64::min);
    (kept.into_iter().map(|position| position as u32).collect(), if least.is_finite() { least } else { 0.0 })
}

/// The positions of all active features: first those that enter first, then those with the most evidence.
pub fn in_order(active: &[FeatureId], order: &[FeatureId], means: &[PathMeans]) -> Vec<usize> {
    let mut positions: Vec<usize> = order.iter().filter_map(|id| active.binary_search(id).ok()).collect();
    let mut has_entered = vec![false; active.len()];
    positions.iter().for_each(|&position| has_entered[position] = true);
    let entered = positions.len();
    positions.extend((0..active.len()).filter(|&position| !has_entered[position]));
    let evidence = |&position: &usize| largest_evidence(means, position);
    positions[entered..].sort_by(|a, b| evidence(b).total_cmp(&evidence(a)).then(a.cmp(b)));
    positions
}

/// |ū| of a feature, the largest over the outputs.
pub fn largest_evidence(outputs: &[PathMeans], position: usize) -> f64 {
    outputs.iter().map(|means| means.evidence[position].abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(evidence: &[f64]) -> PathMeans {
        let zeros = vec![0.0; evidence.len()];
        PathMeans {
            bias: 0.0,
            weights: zeros.clone(),
            evidence: evidence.to_vec(),
            spread: zeros.clone(),
            frequency: zeros,
        }
    }

    #[test]
    fn the_strongest_stay_and_the_weakest_of_them_is_the_threshold() {
        let one = [means(&[1.0, -3.0, 2.0, 2.0])];
        assert_eq!(top_by_evidence(&one, 2), (vec![1, 2], 2.0), "a tie goes to the earlier feature");
        assert_eq!(top_by_evidence(&one, 9), (vec![0, 1, 2, 3], 1.0));
        let two = [means(&[1.0, -3.0, 0.0]), means(&[5.0, 0.0, 2.0])];
        assert_eq!(top_by_evidence(&two, 2), (vec![0, 1], 3.0), "strong for one output is enough");
        assert_eq!(top_by_evidence(&[], 2), (vec![], 0.0));
    }

    #[test]
    fn those_that_entered_come_first_and_evidence_decides_about_the_others() {
        let (active, evidence) = ([3, 5, 7, 9], [means(&[1.0, -2.0, 4.0, 3.0])]);
        assert_eq!(first_in_order(&active, &[], &evidence, 2), (vec![2, 3], 3.0), "no order: evidence");
        assert_eq!(first_in_order(&active, &[5, 8, 3], &evidence, 1), (vec![1], 2.0));
        assert_eq!(first_in_order(&active, &[5, 8, 3], &evidence, 2), (vec![0, 1], 1.0), "8 is no longer active");
        assert_eq!(first_in_order(&active, &[5, 8, 3], &evidence, 3), (vec![0, 1, 2], 1.0));
        assert_eq!(first_in_order(&active, &[5], &evidence, 9), (vec![0, 1, 2, 3], 1.0));
    }

    #[test]
    fn tallies_become_means_over_paths_and_times() {
        let mut paths = PathBlock::new(1);
        paths.cells[0].sum[..2].copy_from_slice(&[-2.0, 4.0]);
        paths.cells[0].norm[..2].copy_from_slice(&[1.0, 1.0]);
        paths.bias[..2].copy_from_slice(&[1.0, 3.0]);
        let coding = ClassCoding { output: OutputCoding { class: None, codes: [-1.0, 1.0] }, class_weights: [1.0; 2] };
        let mut block =
            Block { output: 0, first: 0, count: 2, coding, paths, tallies: Vec::new(), bias: 0.0, unchanged: 0 };
        let threshold = SoftThreshold { gravity: 3.0, step: 1.0 };
        block.tally(threshold);
        block.tally(threshold);
        let means = reduce(&[&block], 2);
        assert_eq!((means.bias, means.evidence[0], means.spread[0]), (2.0, -1.0, 3.0), "u = 2 and −4");
        assert_eq!((means.weights[0], means.frequency[0]), (-0.5, 0.5), "w = 0 and −1");
    }
}
