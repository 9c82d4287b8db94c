//! From the nearest rows of each class to a class: by vote, and by the base classifier f_W.
//!
//! Source: Ma 2017, section 2.7 (k-NN with k = 3) and (2.3). f_W puts a row in the class whose k nearest rows are
//! nearest on average; for two classes that is the sign of d⁻ − d⁺.

use super::MetricError;
use super::nearest::Nearest;
use super::number::{Real, double};

/// A class and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The number of the class.
    pub class: usize,
    /// For two classes, larger where the second is likelier: its share of votes, or d(first) − d(second).
    pub score: f64,
}

/// Whether so many rows can vote.
pub(super) fn check_voters(voters: usize) -> Result<(), MetricError> {
    match (1..=1000).contains(&voters) {
        true => Ok(()),
        false => Err(MetricError::Choice("--voters must be from 1 to 1000".into())),
    }
}

/// The vote of the `voters` nearest rows of all classes; of classes with as many votes the one with the nearest row.
pub(super) fn vote<T: Real>(lists: &[Nearest<T>], voters: usize) -> Verdict {
    let with_class = |(class, list): (usize, &Nearest<T>)| {
        let one = move |&(distance, place): &(T, u32)| (double(distance), place, class);
        list.iter().take(voters).map(one).collect::<Vec<_>>()
    };
    let mut nearest: Vec<(f64, u32, usize)> = lists.iter().enumerate().flat_map(with_class).collect();
    nearest.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    nearest.truncate(voters);
    let votes = |class: usize| nearest.iter().filter(|one| one.2 == class).count();
    let best = nearest.iter().map(|one| one.2).fold(None, |best: Option<usize>, class| match best {
        Some(best) if votes(best) >= votes(class) => Some(best),
        _ => Some(class),
    });
    let score = votes(1) as f64 / nearest.len().max(1) as f64;
    Verdict { class: best.unwrap_or(0), score }
}

/// The base classifier: the class whose `neighbours` nearest rows are nearest on average.
pub(super) fn base<T: Real>(lists: &[Nearest<T>], neighbours: usize) -> Verdict {
    let mean = |list: &Nearest<T>| {
        let near = list.iter().take(neighbours);
        near.map(|(distance, _)| double(*distance)).sum::<f64>() / list.len().min(neighbours).max(1) as f64
    };
    let means: Vec<f64> = lists.iter().map(|list| if list.is_empty() { f64::INFINITY } else { mean(list) }).collect();
    let class = (1..means.len()).fold(0, |best, class| if means[class] < means[best] { class } else { best });
    Verdict { class, score: if means.len() > 1 { means[0] - means[1] } else { 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_three_decide() {
        let lists = vec![vec![(1.0, 0), (4.0, 1)], vec![(2.0, 5), (3.0, 6), (9.0, 7)]];
        assert_eq!(vote(&lists, 3), Verdict { class: 1, score: 2.0 / 3.0 });
        assert_eq!(vote(&lists, 1), Verdict { class: 0, score: 0.0 });
        // Means of two: 2.5 and 2.5, of three: 2.5 and 14/3.
        assert_eq!(base(&lists, 3), Verdict { class: 0, score: 2.5 - 14.0 / 3.0 });
    }

    #[test]
    fn of_equals_the_nearest_wins() {
        let lists = vec![vec![(3.0f32, 0)], vec![(1.0, 1)], vec![(2.0, 2)]];
        assert_eq!(vote(&lists, 3).class, 1);
    }
}
