//! The rows of one run, sorted by class; each variable is standardized by these rows alone.
//!
//! Rows of a class are contiguous, so that a search for the nearest rows of a class scans one slice.

use std::ops::Range;

use super::dataset::{Dataset, mean_and_std};
use super::real::Real;

/// Rows of a dataset, sorted by class.
pub(super) struct Sample<T> {
    /// The row of the dataset at each place.
    pub(super) order: Vec<usize>,
    /// The places of each class.
    pub(super) classes: Vec<Range<usize>>,
    /// The class at each place.
    pub(super) class_of: Vec<u32>,
    /// The importance at each place.
    pub(super) weights: Vec<f64>,
    /// The variables of the dataset that vary here.
    pub(super) variables: Vec<usize>,
    /// Mean and deviation of each, in the dataset's units.
    pub(super) scales: Vec<(f64, f64)>,
    /// What a zero of the data became, variable by variable.
    pub(super) zeros: Vec<f64>,
    /// Variable by variable.
    pub(super) values: Vec<T>,
}

impl<T: Real> Sample<T> {
    /// Takes the rows named.
    pub(super) fn new(dataset: &Dataset, rows: &[usize]) -> Self {
        let mut order = rows.to_vec();
        order.sort_by_key(|&row| (dataset.class_of[row], row));
        let class_of: Vec<u32> = order.iter().map(|&row| dataset.class_of[row]).collect();
        let start = |class: usize| class_of.partition_point(|&one| (one as usize) < class);
        let classes = (0..dataset.classes.len()).map(|class| start(class)..start(class + 1)).collect();
        let weights = order.iter().map(|&row| dataset.weights[row]).collect();
        let (mut variables, mut scales, mut zeros) = (Vec::new(), Vec::new(), Vec::new());
        let mut values = Vec::with_capacity(order.len() * dataset.variables.len());
        for variable in 0..dataset.variables.len() {
            let column = dataset.values(variable);
            let column: Vec<f64> = order.iter().map(|&row| f64::from(column[row])).collect();
            if let Some((mean, std)) = mean_and_std(&column) {
                variables.push(variable);
                scales.push((mean, std));
                let of_dataset = &dataset.variables[variable];
                zeros.push((-of_dataset.mean / of_dataset.std - mean) / std);
                values.extend(column.iter().map(|value| T::of((value - mean) / std)));
            }
        }
        Sample { order, classes, class_of, weights, variables, scales, zeros, values }
    }

    /// So many neighbours, or fewer if the smallest class has fewer.
    pub(super) fn most_neighbors(&self, wanted: usize) -> usize {
        let smallest = self.classes.iter().map(|class| class.len()).min().unwrap_or(0);
        wanted.min(smallest.saturating_sub(1)).max(1)
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.order.len()
    }

    /// Other rows of the same dataset, scaled by these rows, variable by variable.
    pub(super) fn scaled(&self, dataset: &Dataset, rows: &[usize]) -> Vec<T> {
        let scaled = self.variables.iter().zip(&self.scales).flat_map(|(&variable, &(mean, std))| {
            let column = dataset.values(variable);
            rows.iter().map(move |&row| T::of((f64::from(column[row]) - mean) / std))
        });
        scaled.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::tests::dataset;
    use super::*;

    #[test]
    fn rows_lie_class_by_class_and_are_scaled_by_themselves() {
        let dataset = dataset("t.csv", "a,b,y\n5,0,q\n1,0,p\n3,0,p\n9,1,q\n100,0,p\n").unwrap();
        let sample = Sample::<f64>::new(&dataset, &[0, 1, 2, 3]);
        assert_eq!((&sample.order[..], &sample.classes[..]), (&[1, 2, 0, 3][..], &[0..2, 2..4][..]));
        let std = 8.75f64.sqrt();
        let expected = [-3.5, -1.5, 0.5, 4.5].map(|value| value / std);
        assert!(sample.values[..4].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", sample.values);
        let other = sample.scaled(&dataset, &[4]);
        assert!((other[0] - 95.5 / std).abs() < 1e-4 && other.len() == 2);
        assert_eq!(Sample::<f64>::new(&dataset, &[0, 1, 2]).variables, [0]);
    }
}
