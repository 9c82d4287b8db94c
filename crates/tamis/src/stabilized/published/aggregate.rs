//! The model of many paths: the mean of their weights (Ma & Zheng 2016, Algorithm 4, aggregation), summed in the order
//! of the paths.

use super::path::Path;

/// Mean weights and mean intercept.
pub(super) fn mean_model(paths: &[Path], span: usize) -> (Vec<f64>, f64) {
    let count = paths.len() as f64;
    let weights = (0..span).map(|id| paths.iter().map(|path| path.weight(id)).sum::<f64>() / count).collect();
    (weights, paths.iter().map(Path::bias).sum::<f64>() / count)
}

/// Whether no coordinate has moved by more than `tolerance` times the largest one.
pub(super) fn has_converged(old: &(Vec<f64>, f64), new: &(Vec<f64>, f64), tolerance: f64) -> bool {
    let moved = old.0.iter().zip(&new.0).fold((old.1 - new.1).abs(), |most, (old, new)| most.max((old - new).abs()));
    let largest = new.0.iter().fold(new.1.abs(), |most, weight| most.max(weight.abs()));
    moved <= tolerance * largest
}

#[cfg(test)]
mod tests {
    use super::super::path::{Plan, Rule};
    use super::*;
    use crate::data::{Batch, Example, Row};
    use crate::loss::LossKind;
    use crate::recipe::Count;

    #[test]
    fn the_model_is_the_mean_of_the_paths() {
        let mut rows = Batch::new();
        rows.push(Example { row: Row { ids: &[1], values: &[1.0] }, target: 1.0, weight: 1.0 });
        let rule = Rule { loss: LossKind::Hinge.build(1.0), rate: 0.25, intercept: true, count: Count::Informative };
        let mut paths: Vec<Path> = (0..4).map(|number| Path::new(0, number, 1, 2)).collect();
        // Steps of ¼ in the weight and the intercept: none, one, two and two.
        for (steps, path) in paths.iter_mut().enumerate().map(|(number, path)| (number.min(2), path)) {
            path.run_stage(&rows, &rule, &Plan { gravity: 0.0, burst: steps as u64, bursts: 1 });
        }
        paths[3].purge(1);
        assert_eq!(mean_model(&paths, 2), (vec![0.0, (0.25 + 0.5) / 4.0], (0.25 + 0.5 + 0.5) / 4.0));
    }

    #[test]
    fn convergence_is_relative_to_the_largest_weight() {
        let old = (vec![1.0, 0.0], 0.0);
        assert!(has_converged(&old, &(vec![1.05, 0.0], 0.0), 0.05));
        assert!(!has_converged(&old, &(vec![1.05, 0.0], 0.0), 0.04));
        assert!(!has_converged(&old, &(vec![1.0, 0.0], 0.5), 0.1), "the intercept counts");
        assert!(has_converged(&(vec![], 0.0), &(vec![], 0.0), 0.0));
    }
}
