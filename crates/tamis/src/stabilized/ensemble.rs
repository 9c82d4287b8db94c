//! The ensemble: blocks of SGD paths that share one active set and go through the size path together.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::holdout::{CutScore, HoldoutScore};
use super::path_block::{Cell, LANES, Lanes8, PathBlock, SoftThreshold};
use super::stage::{Block, ClassCoding, PathMeans, Plan, reduce, top_by_evidence};
use super::subsamples::{HashedRows, Subsamples};
use crate::data::{FeatureId, State, StateError};
use crate::loss::AnyLoss;

/// The parameters of the ensemble; the head of [`super`] says where their defaults come from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// M: paths.
    pub paths: usize,
    /// ρ: the share of the rows in the subsample of a path.
    pub share: f64,
    /// α: the step size, multiplied by the mean ℓ₁ norm of a row.
    pub alpha: f64,
    /// n_K: how often the paths are tallied in the second half of a stage.
    pub tallies: u64,
    /// Whether there is an intercept.
    pub intercept: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { paths: 32, share: 0.5, alpha: 3.0, tallies: 4, intercept: true }
    }
}

/// A finished size: its model, and the statistics of its features.
#[derive(Clone, Debug)]
pub struct SizeStep {
    /// The features, ascending.
    pub active: Vec<FeatureId>,
    /// The gravity its weights were learned with.
    pub gravity: f64,
    /// Means over the paths, for each output; weights and intercepts are before calibration.
    pub outputs: Vec<PathMeans>,
    /// Its held-out score.
    pub holdout: HoldoutScore,
    /// Its held-out score before refinement, if its weights were refined: the size is chosen by it.
    pub before_refinement: Option<HoldoutScore>,
    /// The sizes down to the next smaller one (`cut_sizes.rs`).
    pub cuts: Vec<CutScore>,
}

impl SizeStep {
    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let biases = self.outputs.iter().all(|means| means.bias.is_finite());
        biases && self.holdout.loss.is_finite() && self.not_finite().is_none()
    }

    /// A feature whose weight is not finite.
    pub fn not_finite(&self) -> Option<FeatureId> {
        let bad = |means: &PathMeans| {
            let numbers = means.weights.iter().zip(&means.evidence).zip(&means.spread);
            numbers.map(|((w, u), s)| w + u + s).position(|sum| !sum.is_finite())
        };
        self.outputs.iter().find_map(bad).map(|position| self.active[position])
    }
}

/// All paths of all outputs, at one size of the size path.
#[derive(Clone, Debug)]
pub struct Ensemble {
    settings: Settings,
    plan: Plan,
    codings: Vec<ClassCoding>,
    blocks: Vec<Block>,
    active: Vec<FeatureId>,
    /// Rows of a pass. Each pass visits all of them, in an order of its own.
    pass_rows: u64,
    /// Rows of this stage, rows visited so far, and tallies taken so far.
    length: u64,
    visited: u64,
    tallied: u64,
}

impl Ensemble {
    /// Paths in their initial state, with these active features (ascending) and one output for each coding.
    pub fn new(
        settings: Settings,
        loss: AnyLoss,
        codings: Vec<ClassCoding>,
        active: Vec<FeatureId>,
        subsamples: Subsamples,
    ) -> Self {
        let mut blocks = Vec::new();
        for (output, &coding) in codings.iter().enumerate() {
            for first in (0..settings.paths).step_by(LANES) {
                let (count, paths) = ((settings.paths - first).min(LANES), PathBlock::new(active.len()));
                blocks.push(Block {
                    output,
                    first,
                    count,
                    coding,
                    paths,
                    tallies: Vec::new(),
                    bias: 0.0,
                    unchanged: 0,
                });
            }
        }
        let plan = Plan {
            threshold: SoftThreshold { gravity: 0.0, step: 0.0 },
            loss,
            intercept: settings.intercept,
            subsamples,
        };
        Ensemble { settings, plan, codings, blocks, active, pass_rows: u64::MAX, length: 0, visited: 0, tallied: 0 }
    }

    /// M.
    pub fn paths(&self) -> usize {
        self.settings.paths
    }

    /// The gravity of this stage.
    pub fn gravity(&self) -> f64 {
        self.plan.threshold.gravity
    }

    /// The same ensemble with another gravity.
    pub fn with_gravity(mut self, gravity: f64) -> Self {
        self.plan.threshold.gravity = gravity;
        self
    }

    /// Σz and Σn over the paths of an output, for each active feature.
    pub fn state_sums(&self, output: usize) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; self.active.len()];
        for block in self.blocks_of(output) {
            for (sum, cell) in sums.iter_mut().zip(&block.paths.cells) {
                for path in 0..block.count {
                    sum[0] += cell.sum[path];
                    sum[1] += cell.norm[path];
                }
            }
        }
        sums
    }

    /// The active features, ascending.
    pub fn active(&self) -> &[FeatureId] {
        &self.active
    }

    /// Begins a stage of `length` rows; `row_size` is the mean ℓ₁ norm of a row over the active set. Every pass visits the
    /// same `pass_rows` rows.
    pub fn begin(&mut self, length: u64, pass_rows: u64, row_size: f64) {
        self.pass_rows = pass_rows;
        self.blocks.iter_mut().for_each(|block| block.unchanged = 0);
        self.plan.threshold.step = self.settings.alpha / row_size.max(f64::MIN_POSITIVE);
        (self.length, self.visited, self.tallied) = (length.max(1), 0, 0);
    }

    /// The number of rows that may be learned at once: up to the next tally, or the end of the stage.
    pub fn rows_wanted(&self) -> u64 {
        self.next_tally().min(self.length) - self.visited
    }

    /// The row of the next tally: the second half of the stage in equal parts, the last tally at its end.
    fn next_tally(&self) -> u64 {
        let half = self.length / 2;
        half + (self.length - half) * (self.tallied + 1) / self.settings.tallies
    }

    /// Learns rows, all blocks in parallel.
    ///
    /// # Panics
    /// If there are more than [`Ensemble::rows_wanted`].
    pub fn learn(&mut self, rows: &HashedRows) {
        assert!(rows.len() as u64 <= self.rows_wanted(), "rows stop at a tally");
        let plan = &self.plan;
        self.blocks.par_iter_mut().for_each(|block| block.learn(plan, &[rows]));
        self.visit(rows.len() as u64);
    }

    /// The blocks, to learn rows that are then counted by [`Ensemble::visit`].
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = (Plan, &mut Block)> {
        let plan = self.plan;
        self.blocks.iter_mut().map(move |block| (plan, block))
    }

    /// Whether no path has changed in a whole pass: then none changes in the rest of the stage, and its rows need not be
    /// learned. The loss of a classifier is flat where a row is on the right side by a margin.
    pub fn has_converged(&self) -> bool {
        // A pass is complete after at most two lengths of it.
        self.blocks.iter().all(|block| block.unchanged / 2 >= self.pass_rows)
    }

    /// Counts rows as visited, and tallies the paths where that is due.
    pub fn visit(&mut self, rows: u64) {
        let plan = &self.plan;
        self.visited += rows;
        while self.tallied < self.settings.tallies && self.next_tally() <= self.visited {
            self.blocks.par_iter_mut().for_each(|block| block.tally(plan.threshold));
            self.tallied += 1;
        }
    }

    /// The rows of the stage, those visited, and the tallies taken.
    pub fn progress(&self) -> (u64, u64, u64) {
        (self.length, self.visited, self.tallied)
    }

    /// Whether all rows of the stage are visited.
    pub fn stage_is_over(&self) -> bool {
        self.visited == self.length
    }

    /// Frees the tallies of the stage, once its means are known.
    pub(super) fn drop_tallies(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.tallies = Vec::new());
    }

    /// The means over paths and tallies of the stage, for each output.
    pub fn means(&self) -> Vec<PathMeans> {
        let reduced = |output| reduce(&self.blocks_of(output), self.tallied as usize);
        (0..self.codings.len()).map(reduced).collect()
    }

    fn blocks_of(&self, output: usize) -> Vec<&Block> {
        self.blocks.iter().filter(|block| block.output == output).collect()
    }

    /// Out-of-bag scores: the mean margin of the paths whose subsample does not contain a row, a list for each output.
    pub fn scores(&self, rows: &HashedRows) -> Vec<Vec<f64>> {
        let sums: Vec<Vec<f64>> = self.blocks.par_iter().map(|block| block.outside_sums(&self.plan, rows)).collect();
        let outside = |&row_hash: &u64| {
            (0..self.settings.paths).filter(|&path| !self.plan.subsamples.contains(path, row_hash)).count().max(1)
                as f64
        };
        let counts: Vec<f64> = rows.row_hashes.iter().map(outside).collect();
        let score = |output: usize| {
            let mut scores = vec![0.0; rows.len()];
            for (_, sums) in self.blocks.iter().zip(&sums).filter(|(block, _)| block.output == output) {
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score += sum);
            }
            scores.iter_mut().zip(&counts).for_each(|(score, count)| *score /= count);
            scores
        };
        (0..self.codings.len()).map(score).collect()
    }

    /// Keeps the `size` features with the most evidence; the least evidence among them is the next gravity. Returns the
    /// new position of each old one.
    pub fn shrink_to(&mut self, means: &[PathMeans], size: usize) -> Vec<Option<u32>> {
        let (positions, gravity) = top_by_evidence(means, size);
        self.keep(&positions, gravity)
    }

    /// Keeps the features at these positions (ascending), with a new gravity. Returns the new position of each old one.
    pub fn keep(&mut self, positions: &[u32], gravity: f64) -> Vec<Option<u32>> {
        let mut places = vec![None; self.active.len()];
        positions.iter().enumerate().for_each(|(place, &position)| places[position as usize] = Some(place as u32));
        self.active = positions.iter().map(|&position| self.active[position as usize]).collect();
        self.blocks.par_iter_mut().for_each(|block| block.keep(positions));
        self.plan.threshold.gravity = gravity;
        places
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let block = |block: &Block| {
            block.paths.cells.capacity() * std::mem::size_of::<Cell>()
                + block.tallies.capacity() * std::mem::size_of::<super::stage::FeatureTally>()
        };
        self.blocks.iter().map(block).sum::<usize>() + self.active.capacity() * 4
    }

    /// An ensemble with the same settings in its initial state, for the first `outputs` outputs only.
    pub fn with_outputs(&self, outputs: usize) -> Ensemble {
        let codings = self.codings.iter().copied().take(outputs).collect();
        Ensemble::new(self.settings, self.plan.loss, codings, Vec::new(), self.plan.subsamples)
    }

    /// Starts from the state of another ensemble, multiplied by `kept` (0 to 1), for the features that both have.
    pub fn warm_start_from(&mut self, other: &Ensemble, kept: f64) {
        let place = |id: &FeatureId| self.active.binary_search(id).ok();
        let places: Vec<Option<usize>> = other.active.iter().map(place).collect();
        for (block, old) in self.blocks.iter_mut().zip(&other.blocks) {
            for (cell, place) in old.paths.cells.iter().zip(&places) {
                if let Some(place) = *place {
                    let scaled = |lane: &Lanes8| lane.map(|number| number * kept);
                    block.paths.cells[place] = Cell { sum: scaled(&cell.sum), norm: scaled(&cell.norm) };
                }
            }
            block.paths.bias = old.paths.bias;
            block.paths.bias_norm = old.paths.bias_norm.map(|number| number * kept);
        }
    }

    /// Writes the state.
    pub fn save(&self, state: &mut State) {
        state.put("active", self.active.iter().map(|&id| f64::from(id)).collect());
        state.put("threshold", vec![self.plan.threshold.gravity, self.plan.threshold.step]);
        for (name, count) in [("length", self.length), ("visited", self.visited), ("tallied", self.tallied)] {
            state.put_count(name, count);
        }
        for (number, block) in self.blocks.iter().enumerate() {
            state.put_all(&format!("block{number}.cells"), &block.paths.cells);
            state.put_all(&format!("block{number}.tallies"), &block.tallies);
            let biases = block.paths.bias.iter().chain(&block.paths.bias_norm).copied().chain([block.bias]);
            state.put(&format!("block{number}.bias"), biases.collect());
        }
    }

    /// Reads a state written by [`Ensemble::save`].
    pub fn load(&mut self, state: &mut State) -> Result<(), StateError> {
        self.active = state.take("active")?.into_iter().map(|id| id as FeatureId).collect();
        let threshold = state.take("threshold")?;
        let [gravity, step] = threshold[..] else { return Err(state.wrong_shape("threshold")) };
        self.plan.threshold = SoftThreshold { gravity, step };
        self.length = state.take_count("length")?;
        self.visited = state.take_count("visited")?;
        self.tallied = state.take_count("tallied")?;
        // The file may be damaged.
        let is_possible = self.length < 1 << 53 && self.tallied <= self.settings.tallies;
        if !is_possible || self.next_tally().min(self.length) < self.visited || !self.active.is_sorted_by(|a, b| a < b)
        {
            return Err(state.wrong_shape("length"));
        }
        for (number, block) in self.blocks.iter_mut().enumerate() {
            block.paths.cells = state.take_all(&format!("block{number}.cells"))?;
            block.tallies = state.take_all(&format!("block{number}.tallies"))?;
            let name = format!("block{number}.bias");
            let biases = state.take(&name)?;
            if biases.len() != 2 * LANES + 1 || block.paths.cells.len() != self.active.len() {
                return Err(state.wrong_shape(&name));
            }
            block.paths.bias.copy_from_slice(&biases[..LANES]);
            block.paths.bias_norm.copy_from_slice(&biases[LANES..2 * LANES]);
            block.bias = biases[2 * LANES];
        }
        Ok(())
    }
}
