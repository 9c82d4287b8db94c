//! The kept sizes of a model with the moments of all rows so far. New rows update them.
//!
//! Variables, input maps, features, calibrations and held-out errors are those of the first training. New rows add to
//! the moments of each block, which is exact: the weights are those of a fit of the same features to all rows, with the
//! penalty that is best for all of them. Sensitivities follow from the same moments, but for the sines, which
//! are those of the first sample; curves are drawn over rows of the first sample, by the new weights.
//!
//! Memory and the checkpoint: eight blocks of (D + k)²/2 numbers for each kept size. Cost of an update: one pass.

use faer::Mat;
use rayon::prelude::*;

use super::curves::CurveRows;
use super::final_fit::{FinalFit, FittedSize};
use super::rows::BLOCKS;
use crate::data::{FeatureKey, State, StateError, fold_of_hash};
use crate::model::kernel::{KernelModel, KernelSize, KernelVariable};
use crate::threads::Threads;
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// Rows of a block that are added together.
const CHUNK: usize = 512;

/// The kept sizes.
pub(super) struct KeptSizes {
    /// The variables that some size uses.
    pub(super) variables: Vec<KernelVariable>,
    /// By output: mean and deviation of the codes.
    pub(super) units: Vec<(f64, f64)>,
    pub(super) curves: CurveRows,
    /// By size of the path.
    pub(super) fits: Vec<Option<FinalFit>>,
}

/// A row that waits: its inputs, target and weight.
type Waiting = (Vec<f64>, f64, f64);

impl KeptSizes {
    /// One pass over the rows. `sampled` gives the block of a row of the sample, by its number; other rows
    /// are assigned by their hashes.
    pub(super) fn add(
        &mut self,
        data: &TrainingData,
        rows: &mut BufferedRows,
        hashes: &[u64],
        sampled: impl Fn(usize) -> Option<usize>,
        threads: &Threads,
    ) -> Result<(), TrainError> {
        let mut places = vec![u32::MAX; data.vocabulary.span()];
        for (variable, place) in self.variables.iter().zip(0..) {
            if let Some(id) = data.vocabulary.get(FeatureKey::from_name(&variable.name)) {
                places[id as usize] = place;
            }
        }
        let zeros: Vec<f64> = self.variables.iter().map(|one| one.map.apply(0.0)).collect();
        // Rows wait until enough of a block are there; blocks of the sample and of the other rows are apart.
        let mut waiting: Vec<Vec<Waiting>> = vec![Vec::new(); 2 * BLOCKS];
        for chunk in rows.store.chunks(0) {
            let chunk = chunk?;
            for (number, example) in chunk.numbers().zip(chunk.examples()) {
                let mut inputs = zeros.clone();
                for (id, value) in example.row.iter() {
                    let place = places[id as usize] as usize;
                    if let Some(variable) = self.variables.get(place) {
                        inputs[place] = variable.map.apply(value);
                    }
                }
                let slot =
                    sampled(number).unwrap_or_else(|| BLOCKS + fold_of_hash(hashes[number], BLOCKS as u32) as usize);
                waiting[slot].push((inputs, example.target, example.weight));
                if waiting[slot].len() == CHUNK {
                    let full = std::mem::take(&mut waiting[slot]);
                    self.add_rows(data, slot, &full, threads);
                }
            }
        }
        for (slot, rest) in waiting.iter().enumerate().filter(|(_, rest)| !rest.is_empty()) {
            self.add_rows(data, slot, rest, threads);
        }
        Ok(())
    }

    fn add_rows(&mut self, data: &TrainingData, slot: usize, rows: &[Waiting], threads: &Threads) {
        let inputs = Mat::from_fn(rows.len(), self.variables.len(), |row, place| rows[row].0[place]);
        let targets = Mat::from_fn(rows.len(), self.units.len(), |row, output| {
            (data.targets.coding(output).code(rows[row].1) - self.units[output].0) / self.units[output].1
        });
        let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
        threads.install(|| {
            self.fits.par_iter_mut().flatten().for_each(|one| {
                one.add(slot % BLOCKS, inputs.as_ref(), targets.as_ref(), &weights, slot < BLOCKS);
            });
        });
    }

    /// The functions of all kept sizes.
    pub(super) fn finish(&self) -> Vec<Option<FittedSize>> {
        let finish = |one: &Option<FinalFit>| Some(one.as_ref()?.finish(&self.variables, &self.units, &self.curves));
        self.fits.par_iter().map(finish).collect()
    }

    /// The model with the weights of all rows so far.
    pub(super) fn update(&self, kernel: &KernelModel, rows: u64) -> KernelModel {
        let sizes = kernel.sizes.iter().zip(self.finish());
        let size = |(old, new): (&KernelSize, Option<FittedSize>)| match new {
            Some(new) => new.with_score(old.size, old.score),
            None => old.clone(),
        };
        KernelModel { sizes: sizes.map(size).collect(), rows_since: kernel.rows_since + rows, ..kernel.clone() }
    }

    /// The state of a complete training.
    pub(super) fn save(&self) -> State {
        let mut state = State::default();
        state.put("units", self.units.iter().flat_map(|&(mean, deviation)| [mean, deviation]).collect());
        self.curves.save(&mut state);
        for (number, fit) in self.fits.iter().enumerate() {
            if let Some(fit) = fit {
                state.set_prefix(format!("size.{number}."));
                fit.save(&mut state);
            }
        }
        state.set_prefix(String::new());
        state
    }

    /// The kept sizes of a complete training with the given model.
    pub(super) fn restore(state: &mut State, kernel: &KernelModel, outputs: usize) -> Result<Self, StateError> {
        let units = state.take("units")?;
        if units.len() != 2 * outputs {
            return Err(state.wrong_shape("units"));
        }
        let curves = CurveRows::restore(state, kernel.variables.len())?;
        let mut fits = Vec::new();
        for (number, size) in kernel.sizes.iter().enumerate() {
            state.set_prefix(format!("size.{number}."));
            let restored = || FinalFit::restore(state, kernel.variables.len(), outputs);
            let fit = size.function.is_some().then(restored).transpose()?;
            if fit.as_ref().is_some_and(|fit| fit.variables.len() != size.size) {
                return Err(state.wrong_shape("variables"));
            }
            fits.push(fit);
        }
        state.set_prefix(String::new());
        Ok(KeptSizes {
            variables: kernel.variables.clone(),
            units: units.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
            curves,
            fits,
        })
    }

    /// Bytes of the moments.
    pub(super) fn bytes(&self) -> usize {
        self.fits.iter().flatten().map(FinalFit::bytes).sum()
    }
}
