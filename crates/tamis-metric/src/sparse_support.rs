//! The support of a direction from the stabilized learner: for very sparse, sparse rows.
//!
//! Source: Ma 2017, section 4.1.2, where the stabilized truncated stochastic gradient takes the place of step (c) of
//! Algorithm 2.2, without a formula (E47). Ours: the stabilized learner separates the classes on the rows weighted by
//! their residuals ρ, and its κ features are the support; on the support the direction is the leading eigenvector of A,
//! as for the power method. So features are chosen by stability on rows that are hard by now, and entries by the
//! metric's own objective. Rows are given as they were, not centred, so that zeros stay absent: O(non-zeros) a step for
//! the choice. Interactions are not used: `max_order` is 1.

use super::real::{Real, double};
use super::sample::Sample;
use tamis::data::TaskKind;
use tamis::io::{Csr, Labels, MatrixRows, memory_of_this_machine};
use tamis::recipe::Recipe;
use tamis::train::{FitOptions, fit_rows};

/// The rows as they were, sparse.
pub(super) struct SparseRows {
    offsets: Vec<i64>,
    places: Vec<i64>,
    values: Vec<f64>,
    classes: Vec<f64>,
    columns: usize,
}

impl SparseRows {
    /// The rows of a sample, each variable divided by its deviation.
    pub(super) fn new<T: Real>(sample: &Sample<T>) -> Self {
        let (rows, columns) = (sample.rows(), sample.variables.len());
        let (mut offsets, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows {
            for column in 0..columns {
                // What only rounding left of a zero is zero.
                let value = double(sample.values[column * rows + row]) - sample.zeros[column];
                if value.abs() > 1e-4 {
                    places.push(column as i64);
                    values.push(value);
                }
            }
            offsets.push(values.len() as i64);
        }
        let classes = sample.class_of.iter().map(|&class| f64::from(class)).collect();
        SparseRows { offsets, places, values, classes, columns }
    }

    /// The variables the stabilized learner keeps, ascending; none if it finds nothing.
    pub(super) fn support(&self, residuals: &[f64], max_terms: usize, seed: u64) -> Vec<u32> {
        let rows = residuals.len() as f64;
        let weights: Vec<f64> = residuals.iter().map(|residual| residual * rows).collect();
        let Ok(matrix) = Csr::new(&self.offsets, &self.places, &self.values, self.columns) else { return Vec::new() };
        let labels = Labels::Numbers(&self.classes);
        let Ok(mut stream) = MatrixRows::new(matrix, labels, Some(&weights), None) else { return Vec::new() };
        let recipe = Recipe { k: Some(max_terms), seed, ..Recipe::default() };
        let options =
            FitOptions { task: TaskKind::Multiclass, memory: memory_of_this_machine(), ..FitOptions::default() };
        let Ok(fitted) = fit_rows(&recipe, &options, &mut stream, None, &mut ()) else { return Vec::new() };
        let features = fitted.model.outputs.iter().flat_map(|output| &output.features);
        let mut found: Vec<(f64, u32)> = features
            .filter_map(|one| Some(((one.weight * one.scale).abs(), one.name.parse::<u32>().ok()?.checked_sub(1)?)))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut support: Vec<u32> = Vec::new();
        for (_, column) in found {
            if support.len() < max_terms && !support.contains(&column) {
                support.push(column);
            }
        }
        support.sort_unstable();
        support
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::tests::dataset;
    use super::*;

    /// Sparse rows: column 7 is there in one class only, others come and go.
    fn rows() -> String {
        let mut text = String::new();
        for row in 0..120 {
            let mut entries: Vec<String> =
                (1..40).filter(|at| (row * at + at) % 11 == 3 && *at != 7).map(|at| format!("{at}:1")).collect();
            if row % 2 == 0 {
                entries.insert(
                    entries.iter().filter(|one| one.split(':').next().unwrap().parse::<u32>().unwrap() < 7).count(),
                    "7:2.5".into(),
                );
            }
            text += &format!("{} {}\n", if row % 2 == 0 { 1 } else { -1 }, entries.join(" "));
        }
        text
    }

    #[test]
    fn zeros_stay_absent_and_the_column_that_tells_classes_apart_is_kept() {
        let dataset = dataset("t.svm", &rows()).unwrap();
        let sample = Sample::<f32>::new(&dataset, &(0..120).collect::<Vec<_>>());
        let sparse = SparseRows::new(&sample);
        let written = rows().matches(':').count();
        assert_eq!(sparse.values.len(), written, "as many entries as the file has");
        let support = sparse.support(&[1.0 / 120.0; 120], 2, 1);
        let names: Vec<&str> =
            support.iter().map(|&at| dataset.variables[sample.variables[at as usize]].name.as_str()).collect();
        assert!(names.contains(&"7") && names.len() <= 2, "{names:?}");
    }
}
