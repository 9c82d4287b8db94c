//! Draws the sample: the rows with the smallest hashes, and the columns that are not constant.

use faer::Mat;
use rayon::prelude::*;

use super::inputs::fit_map;
use super::rows::{HALVES, Rows};
use super::sample::Sample;
use super::scan::scan;
use crate::data::{Batch, FeatureId};
use crate::recipe::InputKind;
use crate::trainer::{BufferedRows, TrainError, TrainingData};

/// Rows of the sample, at most.
const MOST_ROWS: usize = 6000;
/// Variables whose pairs are all scored, at most.
pub(super) const MOST_PAIRED: usize = 2000;
/// Fewer rows cannot be split into folds, halves and blocks.
pub(super) const LEAST_ROWS: usize = 48;

impl Sample {
    /// The rows with the smallest hashes, in their order.
    pub(super) fn draw(data: &TrainingData, rows: &mut BufferedRows, hashes: &[u64]) -> Result<Self, TrainError> {
        let mut order: Vec<usize> = (0..hashes.len()).collect();
        order.sort_unstable_by_key(|&row| (hashes[row], row));
        order.truncate(MOST_ROWS);
        let mut place = vec![usize::MAX; hashes.len()];
        order.iter().enumerate().for_each(|(at, &row)| place[row] = at);
        let (mut batch, mut found) = (Batch::new(), Vec::new());
        for chunk in rows.store.chunks(0) {
            let chunk = chunk?;
            for (number, example) in chunk.numbers().zip(chunk.examples()).filter(|(row, _)| place[*row] != usize::MAX)
            {
                batch.push(example);
                found.push(place[number]);
            }
        }
        let mut at = vec![0; found.len()];
        found.iter().enumerate().for_each(|(row, &place)| at[place] = row);
        let outputs = data.targets.outputs();
        let targets: Vec<f64> = at.iter().map(|&row| batch.example(row).target).collect();
        let codes = Mat::from_fn(at.len(), outputs, |row, output| data.targets.coding(output).code(targets[row]));
        let class = |row: usize| if data.targets.is_numbers() { 0 } else { targets[row] as u64 };
        let mut sample = Sample {
            ids: Vec::new(),
            values: Mat::zeros(at.len(), 0),
            keys: (0..at.len()).map(|row| (class(row), hashes[order[row]])).collect(),
            codes,
            weights: at.iter().map(|&row| batch.example(row).weight).collect(),
            targets,
            numbers: order,
            variables: 0,
        };
        sample.set_columns(data, &batch, &at);
        Ok(sample)
    }

    /// The columns that are not constant; of very many, those with the largest scores by themselves.
    fn set_columns(&mut self, data: &TrainingData, batch: &Batch, at: &[usize]) {
        let mut entries: Vec<Vec<(u32, f64)>> = vec![Vec::new(); data.vocabulary.span()];
        for (place, &row) in at.iter().enumerate() {
            batch.row(row).iter().for_each(|(id, value)| entries[id as usize].push((place as u32, value)));
        }
        let size = at.len();
        let dense = |id: FeatureId| {
            let mut column = vec![0.0; size];
            entries[id as usize].iter().for_each(|&(row, value)| column[row as usize] = value);
            column
        };
        let mut ids: Vec<FeatureId> = data.vocabulary.ids().collect();
        let varies = |entries: &[(u32, f64)]| match entries.len() {
            0 => false,
            // Zeros are not stored.
            count if count < size => true,
            _ => entries.windows(2).any(|pair| pair[0].1 != pair[1].1),
        };
        ids.retain(|&id| varies(&entries[id as usize]));
        self.variables = ids.len();
        if ids.len() > MOST_PAIRED {
            let members: Vec<usize> = (0..size).collect();
            let blocks = self.deal(&members);
            let scores: Vec<f64> = ids.par_iter().map(|&id| self.single_score(&dense(id), &blocks)).collect();
            let mut order: Vec<usize> = (0..ids.len()).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            order.truncate(MOST_PAIRED);
            ids = order.into_iter().map(|place| ids[place]).collect();
        }
        ids.sort_by_cached_key(|&id| data.vocabulary.name(id));
        self.values = Mat::zeros(size, ids.len());
        for (column, &id) in ids.iter().enumerate() {
            entries[id as usize].iter().for_each(|&(row, value)| self.values[(row as usize, column)] = value);
        }
        self.ids = ids;
    }

    /// The score of a variable by itself.
    fn single_score(&self, values: &[f64], blocks: &[usize]) -> f64 {
        let map = fit_map(values, &self.weights, InputKind::ZScore);
        let inputs = Mat::from_fn(values.len(), 1, |row, _| map.apply(values[row]));
        let (targets, _) = self.standardized(&(0..values.len()).collect::<Vec<_>>());
        let rows = Rows { inputs, targets, weights: self.weights.clone(), blocks: blocks.to_vec() };
        scan::<f32>(&rows, &HALVES[..1]).single[0]
    }
}
