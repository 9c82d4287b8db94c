//! Classification by the nearest rows of each class: k-NN, and the base classifier f_W.
//!
//! Source: Ma 2017, section 2.7 (k-NN with k = 3) and (2.3). f_W puts a row in the class whose k nearest rows are
//! nearest on average; for two classes that is the sign of d⁻ − d⁺.

use super::MetricError;
use super::knn::NeighborList;
use super::param::Param;
use super::params::check_range;
use super::real::{Real, double};

/// A class and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassScore {
    /// The number of the class.
    pub class: usize,
    /// For two classes, larger where the second is likelier: its share of the neighbours, or d(first) − d(second).
    pub score: f64,
}

/// An error unless k of the k-NN classifier is in range.
pub(super) fn check_neighbors(n_neighbors: usize) -> Result<(), MetricError> {
    check_range(Param::NNeighbors, (1..=1000).contains(&n_neighbors))
}

/// The nearest rows of all classes, nearest first: distance, place and class.
fn nearest_rows<T: Real>(lists: &[NeighborList<T>], n_neighbors: usize) -> Vec<(f64, u32, usize)> {
    let mut nearest: Vec<(f64, u32, usize)> = Vec::with_capacity(lists.len() * n_neighbors);
    for (class, list) in lists.iter().enumerate() {
        nearest.extend(list.iter().take(n_neighbors).map(|&(distance, place)| (double(distance), place, class)));
    }
    nearest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    nearest.truncate(n_neighbors);
    nearest
}

/// The share of each class among the `n_neighbors` nearest rows.
pub(super) fn shares<T: Real>(lists: &[NeighborList<T>], n_neighbors: usize) -> Vec<f64> {
    let nearest = nearest_rows(lists, n_neighbors);
    let mut shares = vec![0.0; lists.len()];
    nearest.iter().for_each(|&(_, _, class)| shares[class] += 1.0 / nearest.len() as f64);
    shares
}

/// k-NN: the majority of the `n_neighbors` nearest rows; ties go to the class with the nearest row.
pub(super) fn vote<T: Real>(lists: &[NeighborList<T>], n_neighbors: usize) -> ClassScore {
    let nearest = nearest_rows(lists, n_neighbors);
    let votes = |class: usize| nearest.iter().filter(|one| one.2 == class).count();
    let best = nearest.iter().fold(None, |best: Option<usize>, &(_, _, class)| match best {
        Some(best) if votes(best) >= votes(class) => Some(best),
        _ => Some(class),
    });
    let score = votes(1) as f64 / nearest.len().max(1) as f64;
    ClassScore { class: best.unwrap_or(0), score }
}

/// The base classifier: the class whose `neighbours` nearest rows are nearest on average.
pub(super) fn base<T: Real>(lists: &[NeighborList<T>], neighbours: usize) -> ClassScore {
    let mean = |list: &NeighborList<T>| {
        let near = list.iter().take(neighbours);
        near.map(|(distance, _)| double(*distance)).sum::<f64>() / list.len().min(neighbours).max(1) as f64
    };
    let means: Vec<f64> = lists.iter().map(|list| if list.is_empty() { f64::INFINITY } else { mean(list) }).collect();
    let class = (1..means.len()).fold(0, |best, class| if means[class] < means[best] { class } else { best });
    ClassScore { class, score: if means.len() > 1 { means[0] - means[1] } else { 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_three_decide() {
        let lists = vec![vec![(1.0, 0), (4.0, 1)], vec![(2.0, 5), (3.0, 6), (9.0, 7)]];
        assert_eq!(vote(&lists, 3), ClassScore { class: 1, score: 2.0 / 3.0 });
        assert_eq!(vote(&lists, 1), ClassScore { class: 0, score: 0.0 });
        let found = shares(&lists, 3);
        assert!((found[0] - 1.0 / 3.0).abs() < 1e-15 && (found[1] - 2.0 / 3.0).abs() < 1e-15, "{found:?}");
        // Means of two: 2.5 and 2.5, of three: 2.5 and 14/3.
        assert_eq!(base(&lists, 3), ClassScore { class: 0, score: 2.5 - 14.0 / 3.0 });
    }

    #[test]
    fn of_equals_the_nearest_wins() {
        let lists = vec![vec![(3.0f32, 0)], vec![(1.0, 1)], vec![(2.0, 2)]];
        assert_eq!(vote(&lists, 3).class, 1);
    }
}
