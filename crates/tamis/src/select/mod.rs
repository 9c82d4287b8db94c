//! Model selection: an estimate with its standard error, and the rules that choose the smallest candidate about as good
//! as the best. Every choice of a size, a parameter or a number of features in this library is made here.

mod collinear;
mod false_discovery;
mod size_path;

pub use collinear::{Parts, representatives};
pub use false_discovery::{q_values, student_z, two_sided_p_value, two_steps};
pub use size_path::{N_SE, SizeScore, Slack, hardly_worse, slack, smallest_near_least, smallest_on_path};

/// A mean over rows or folds, and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl Estimate {
    /// The weighted mean of pairs (weight, value), and its standard error √(Σ w²(x − x̄)²)/Σ w.
    pub fn of(rows: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let total = rows.clone().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let mean = rows.clone().map(|(weight, value)| weight * value).sum::<f64>() / total;
        Estimate { mean, standard_error: standard_error(rows, mean) }
    }

    /// The weighted mean over n cross-validation folds of pairs (weight, value), and its standard error
    /// √(Σ w(x − x̄)² / (Σ w · (n − 1))).
    pub fn over_folds(folds: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let total: f64 = folds.clone().map(|(weight, _)| weight).sum();
        let mean = folds.clone().map(|(weight, value)| weight * value).sum::<f64>() / total;
        let spread = folds.clone().map(|(weight, value)| weight * (value - mean).powi(2)).sum::<f64>() / total;
        let others = folds.count().saturating_sub(1).max(1);
        Estimate { mean, standard_error: (spread / others as f64).sqrt() }
    }

    /// A share of `count` rows, and its binomial standard error.
    pub fn of_share(share: f64, count: usize) -> Self {
        let variance = (share * (1.0 - share) / count.max(1) as f64).max(0.0);
        Estimate { mean: share, standard_error: variance.sqrt() }
    }
}

/// The standard error √(Σ w²(x − x̄)²)/Σ w of a weighted mean x̄ of pairs (weight, value).
pub fn standard_error(rows: impl Iterator<Item = (f64, f64)> + Clone, mean: f64) -> f64 {
    let total = rows.clone().map(|(weight, _)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
    rows.map(|(weight, value)| (weight * (value - mean)).powi(2)).sum::<f64>().sqrt() / total
}

/// The one-standard-error rule (Breiman, Friedman, Olshen & Stone, *Classification and Regression Trees*, 1984, section
/// 3.4.3): of candidates whose loss is at most `n_se` standard errors above the least, the smallest; of equal sizes the
/// one of least loss, then the earliest. Candidates are pairs of estimated loss and size; `None` if there are none.
pub fn smallest_within_se(candidates: &[(Estimate, f64)], n_se: f64) -> Option<usize> {
    let best = candidates.iter().map(|(loss, _)| loss).min_by(|a, b| a.mean.total_cmp(&b.mean))?;
    smallest_below(candidates, best.mean + n_se * best.standard_error)
}

/// The smallest candidate whose loss is at most `limit`; of equal sizes the one of least loss, then the earliest.
pub fn smallest_below(candidates: &[(Estimate, f64)], limit: f64) -> Option<usize> {
    let within = candidates.iter().enumerate().filter(|(_, (loss, _))| loss.mean <= limit);
    within.min_by(|(_, (a, x)), (_, (b, y))| x.total_cmp(y).then(a.mean.total_cmp(&b.mean))).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(points: &[(f64, f64, f64)], n_se: f64) -> Option<usize> {
        let candidate = |&(mean, standard_error, size): &(f64, f64, f64)| (Estimate { mean, standard_error }, size);
        smallest_within_se(&points.iter().map(candidate).collect::<Vec<_>>(), n_se)
    }

    #[test]
    fn estimates_by_hand() {
        assert_eq!(
            Estimate::of([(1.0, 1.0), (1.0, 3.0)].into_iter()),
            Estimate { mean: 2.0, standard_error: 2f64.sqrt() / 2.0 }
        );
        assert_eq!(Estimate::of([(3.0, 1.0), (1.0, 3.0)].into_iter()).mean, 1.5);
        let folds = [(1.0, 1.0), (1.0, 3.0), (2.0, 4.0)];
        assert_eq!(
            Estimate::over_folds(folds.into_iter()),
            Estimate { mean: 3.0, standard_error: (6.0f64 / 4.0 / 2.0).sqrt() }
        );
        assert_eq!(Estimate::of_share(0.2, 100).standard_error, 0.04);
    }

    #[test]
    fn the_smallest_within_one_standard_error_is_chosen() {
        let points = [(0.10, 0.02, 900.0), (0.12, 0.03, 40.0), (0.121, 0.001, 7.0), (0.3, 0.1, 1.0)];
        assert_eq!(chosen(&points, 1.0), Some(1), "0.12 is within 0.10 + 0.02, 0.121 is not");
        assert_eq!(chosen(&points, 0.0), Some(0));
        assert_eq!(chosen(&[], 1.0), None);
    }

    #[test]
    fn ties_go_to_the_smaller_then_to_the_better_then_to_the_earlier() {
        assert_eq!(chosen(&[(0.1, 0.0, 9.0), (0.1, 0.0, 8.0)], 0.0), Some(1));
        assert_eq!(chosen(&[(0.11, 0.0, 9.0), (0.1, 0.1, 9.0)], 1.0), Some(1));
        assert_eq!(chosen(&[(0.1, 0.0, 9.0), (0.1, 0.0, 9.0)], 1.0), Some(0));
    }
}
